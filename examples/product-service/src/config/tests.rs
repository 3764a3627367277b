//! Tests of the configuration: what is read, what is refused, and what is never shown.

use super::*;

const DATABASE: (&str, &str) = ("DATABASE_URL", "postgres://shop:hidden@db/shop");

fn read(pairs: &[(&str, &str)]) -> Result<Config, ConfigError> {
    Config::read(|name| {
        let found = pairs.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| (*value).to_owned())
    })
}

#[test]
fn only_the_database_has_to_be_named() {
    let config = read(&[DATABASE]).unwrap();
    assert_eq!(config.listen, "0.0.0.0:8080".parse().unwrap());
    assert_eq!(config.redis_url.as_str(), "redis://127.0.0.1:6379");
    let seconds = [
        config.fresh_ttl,
        config.pending_ttl,
        config.read_limit,
        config.wait_timeout,
    ];
    assert_eq!(seconds.map(|clock| clock.as_secs()), [10, 5, 7, 8]);
    assert_eq!(config.on_redis_error, OnRedisError::Fail);
    let none = Limit {
        limit: 0,
        window_ms: 10_000,
    };
    assert_eq!((config.limit, config.rate_by), (none, RateBy::Global));
    assert_eq!((config.trusted_proxy, config.admin_token), (None, None));
    assert_eq!(config.database_delay, Duration::ZERO);
    assert!(!config.database_fails);
}

#[test]
fn everything_that_is_wrong_is_said_at_once() {
    let wrong = read(&[
        ("LISTEN", "here"),
        ("REDIS_URL", "http://redis"),
        ("FRESH_TTL", "5 parsecs"),
        ("RATE_LIMIT", "-1"),
        ("RATE_BY", "moon"),
        ("ON_REDIS_ERROR", "run"),
        ("TRUSTED_PROXY", "nginx"),
        ("DATABASE_FAILS", "often"),
        ("ADMIN_TOKEN", "short"),
    ]);
    let problems = wrong.unwrap_err().0;
    let names: Vec<_> = problems
        .iter()
        .map(|problem| problem.split(' ').next().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "LISTEN",
            "DATABASE_URL",
            "REDIS_URL",
            "FRESH_TTL",
            "ON_REDIS_ERROR",
            "RATE_LIMIT",
            "RATE_BY",
            "TRUSTED_PROXY",
            "DATABASE_FAILS",
            "ADMIN_TOKEN"
        ]
    );
    let window = read(&[DATABASE, ("RATE_WINDOW", "0s")]).unwrap_err();
    assert!(window.to_string().contains("RATE_WINDOW"), "{window}");
}

#[test]
fn no_secret_is_shown() {
    let config = read(&[
        DATABASE,
        ("REDIS_URL", "redis://:hidden@redis:6379/0?password=hidden"),
        ("ADMIN_TOKEN", "hidden, and long enough"),
    ]);
    let config = config.unwrap();
    for shown in [config.to_string(), format!("{config:?}")] {
        assert!(!shown.contains("hidden"), "{shown}");
        assert!(shown.contains("postgres://shop:***@db/shop"), "{shown}");
        assert!(shown.contains("ADMIN_TOKEN=***"), "{shown}");
    }
    assert_eq!(config.database_url.as_str(), DATABASE.1);
    let wrong = read(&[("DATABASE_URL", "mysql://shop:hidden@db/shop")]);
    let said = wrong.unwrap_err().to_string();
    assert!(said.contains("DATABASE_URL") && !said.contains("hidden"));
}

#[test]
fn what_is_shown_is_what_is_read() {
    let pairs = [
        DATABASE,
        ("INSTANCE", "blue"),
        ("LISTEN", "127.0.0.1:1"),
        ("PENDING_TTL", "2s"),
        ("RATE_LIMIT", "100"),
        ("RATE_WINDOW", "1m"),
        ("RATE_BY", "client"),
        ("ON_REDIS_ERROR", "open"),
        ("TRUSTED_PROXY", "::1"),
        ("DATABASE_WAIT", "1m"),
        ("DATABASE_DELAY", "100ms"),
        ("DATABASE_FAILS", "true"),
    ];
    let shown = read(&pairs).unwrap().to_string();
    for (name, value) in pairs.iter().skip(1) {
        let pair = format!("{name}={value} ");
        assert!(shown.contains(&pair), "{pair} in {shown}");
    }
    assert!(shown.contains("ADMIN_TOKEN=none"), "{shown}");
}
