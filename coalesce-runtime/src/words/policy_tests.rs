//! Policies and their clocks: what is refused, what is brought down, and what each setting changes.

use super::*;

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[test]
fn stale_defaults_to_fresh_and_may_equal_it() {
    let clocks = Clocks::new(secs(60), None, secs(30), Some(secs(45))).unwrap();
    assert_eq!((clocks.fresh(), clocks.stale()), (secs(60), secs(60)));
    assert_eq!(
        (clocks.pending(), clocks.wait()),
        (secs(30), Some(secs(45)))
    );
    assert!(clocks.retains() && !Clocks::default().retains());
    assert!(Clocks::new(secs(60), Some(secs(60)), secs(30), None).is_ok());
}

#[test]
fn stale_below_fresh_is_refused() {
    let problem = Clocks::new(secs(120), Some(secs(60)), secs(30), None).unwrap_err();
    assert_eq!(problem.option(), "stale_ttl");
}

#[test]
fn a_wait_at_or_below_the_longest_flight_is_refused_and_says_why() {
    for wait in [3, 10] {
        let problem = Clocks::new(secs(0), None, secs(10), Some(secs(wait))).unwrap_err();
        assert!(
            problem.to_string().contains("take over after a crash"),
            "{problem}"
        );
    }
}

#[test]
fn each_setting_changes_itself_and_nothing_else() {
    let clocks = Clocks::new(secs(60), None, secs(30), None).unwrap();
    let policy = Policy::new(clocks);
    assert_eq!(policy.clocks(), &clocks);
    let same = || policy.clone();
    let changes = [
        ("on_error: Retry", same().on_error(OnError::Retry)),
        (
            "on_redis_error: Fail",
            same().on_redis_error(OnRedisError::Fail),
        ),
        ("keep_errors: 7s", same().keep_errors(secs(7))),
        ("max_payload: 9", same().max_payload(9)),
        ("self_bypass: true", same().self_bypass()),
    ];
    let before = format!("{policy:?}");
    for (new, changed) in changes {
        let (name, _) = new.split_once(": ").unwrap();
        let (_, old) = before.split_once(&format!("{name}: ")).unwrap();
        let old = old.split([',', ' ']).next().unwrap();
        let after = before.replace(&format!("{name}: {old}"), new);
        assert_ne!(before, after, "{new}");
        assert_eq!(format!("{changed:?}"), after, "{new}");
    }
}

#[test]
fn a_problem_names_the_option_to_change_and_its_value() {
    let said = |fresh, stale, pending, wait| {
        let problem = Clocks::new(secs(fresh), stale, secs(pending), wait).unwrap_err();
        format!("{}: {problem}", problem.option())
    };
    let below = said(120, Some(secs(60)), 30, None);
    assert!(below.starts_with("stale_ttl: stale_ttl (60s) must not be below fresh_ttl (120s)"));
    let wait = said(0, None, 10, Some(secs(3)));
    assert!(wait.starts_with("wait_timeout: wait_timeout (3s) must be above pending_ttl (10s)"));
    let zero = said(0, None, 0, None);
    assert_eq!(
        zero,
        "pending_ttl: pending_ttl is 0ns: it must be at least 1ms and at most 365 days"
    );
}

#[test]
fn what_redis_would_not_take_is_brought_down_to_what_it_takes() {
    let policy = Policy::default()
        .max_payload(usize::MAX)
        .keep_errors(Duration::MAX);
    assert_eq!(policy.max_payload, 535_822_336);
    assert_eq!(policy.keep_errors, secs(31_536_000));
    assert_eq!(Policy::default().max_payload, 1_048_576);
}

#[test]
fn a_clock_that_redis_would_refuse_never_gets_there() {
    let tiny = Duration::from_micros(400);
    assert!(Clocks::new(tiny, None, secs(30), None).is_err());
    assert!(Clocks::new(secs(0), None, Duration::ZERO, None).is_err());
    assert!(Clocks::new(secs(0), None, secs(30), Some(Duration::ZERO)).is_err());
    assert!(Clocks::new(Duration::from_secs(u64::MAX), None, secs(30), None).is_err());
    assert!(Clocks::new(Duration::from_millis(1), None, secs(30), None).is_ok());
    assert!(Clocks::new(Clocks::MAX, None, secs(30), None).is_ok());
}
