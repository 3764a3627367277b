//! What a whole program is configured to do: listed, and refused as a whole when the coalescer is built.

use coalesce::{Coalescer, CoalescerBuilder, call_sites, coalesce};

// One function per line that is named below.
#[coalesce(
    fresh_ttl = "${CONFIGURATION_FRESH}",
    stale_ttl = "1m",
    max_payload = "${CONFIGURATION_SIZE:1MiB}"
)]
async fn first(id: u64) -> u64 {
    id
}

mod inner {
    //! Another module.
    pub(super) struct Shop;

    impl Shop {
        #[coalesce::coalesce(
            namespace = "${CONFIGURATION_APP:${CONFIGURATION_TEAM:shop}}.get",
            pending_ttl = "${CONFIGURATION_PENDING:10s}",
            wait_timeout = "20s",
            errors = "${CONFIGURATION_ERRORS:share}",
            header_keys = ["${CONFIGURATION_HEADERS:X-Tenant,X-User}"],
            missing_header = "${CONFIGURATION_MISSING:error}",
            version = 3
        )]
        pub(super) async fn get(id: u64) -> Result<u64, coalesce::Error> {
            Ok(id)
        }
    }
}

#[coalesce(
    enabled = false,
    wait_timeout = "none",
    keep_errors = "2s",
    on_redis_error = "fail"
)]
async fn last(id: u64) -> Option<u64> {
    Some(id)
}

fn builder() -> CoalescerBuilder {
    Coalescer::builder().in_process()
}

#[tokio::test]
async fn every_problem_of_the_program_is_reported_with_file_and_line_when_the_coalescer_is_built() {
    let values = [
        ("CONFIGURATION_SIZE", "enormous"),
        ("CONFIGURATION_PENDING", "25s"),
        ("CONFIGURATION_ERRORS", "retri"),
        ("CONFIGURATION_TEAM", " "),
    ];
    let builder = values
        .into_iter()
        .fold(builder(), |builder, (name, value)| {
            builder.value(name, value)
        });
    let error = builder.build().await.unwrap_err();
    let mut found: Vec<_> = error
        .problems()
        .iter()
        .map(|it| format!("{} {}: {}", it.place, it.option, it.message))
        .collect();
    found.sort();
    assert_eq!(
        found,
        [
            "tests/configuration.rs:20 (get) errors: `retri` is neither `share` nor `retry` \
             (written `${CONFIGURATION_ERRORS:share}`, which is `retri` here)",
            "tests/configuration.rs:20 (get) namespace: `CONFIGURATION_TEAM` is set, but empty \
             (written `${CONFIGURATION_APP:${CONFIGURATION_TEAM:shop}}.get`)",
            "tests/configuration.rs:20 (get) wait_timeout: wait_timeout (20s) must be above \
             pending_ttl (25s): a follower that gives up first can never take over after a crash",
            "tests/configuration.rs:6 (first) fresh_ttl: `CONFIGURATION_FRESH` is not set, and there \
             is no default: write `${CONFIGURATION_FRESH:default}` (written \
             `${CONFIGURATION_FRESH}`)",
            "tests/configuration.rs:6 (first) max_payload: `enormous` is not a size such as `64KiB` \
             or `1MiB` (written `${CONFIGURATION_SIZE:1MiB}`, which is `enormous` here)",
        ]
    );
    let printed = error.to_string();
    assert!(
        found.len() == 5 && printed.lines().count() == 6,
        "{printed}"
    );
}

#[tokio::test]
async fn every_call_site_is_listed_with_what_is_configured_for_it() {
    let built = builder()
        .value("CONFIGURATION_FRESH", "${not a placeholder any more}")
        .build()
        .await;
    assert!(built.is_err(), "values are not interpolated again");

    let coalescer = builder()
        .value("CONFIGURATION_FRESH", "5s")
        .value("CONFIGURATION_TEAM", "orders")
        .build()
        .await
        .unwrap();
    let list = coalescer.call_sites();
    let lines: Vec<_> = list.iter().map(ToString::to_string).collect();
    assert_eq!(
        lines,
        [
            "tests/configuration.rs:6 configuration::first fresh 5s stale 1m pending 30s wait 45s \
             errors share on_redis_error run max_payload 1.0 MiB",
            "tests/configuration.rs:20 orders.get (configuration::inner::get) version 3 fresh 0s \
             stale 0s pending 10s wait 20s errors share on_redis_error run max_payload 1.0 MiB \
             headers x-tenant,x-user missing error",
            "tests/configuration.rs:35 configuration::last DISABLED fresh 0s stale 0s pending 30s \
             wait none errors share kept 2s on_redis_error fail max_payload 1.0 MiB",
        ]
    );
    assert_eq!(list[1].namespace(), Some("orders.get"));
    assert!(list.iter().all(|site| site.problems().is_empty()));

    // Before there is a process-wide coalescer, values come from the environment alone.
    let list = call_sites();
    assert_eq!(list[1].namespace(), Some("shop.get"));
    let problems = list.iter().map(|site| site.problems().len());
    assert_eq!(problems.collect::<Vec<_>>(), [1, 0, 0]);
    assert_eq!((list[2].function(), list[2].enabled()), ("last", false));

    coalescer.make_default().unwrap();
    assert_eq!(call_sites()[1].namespace(), Some("orders.get"));
    assert_eq!(
        (first(1).await, inner::Shop::get(1).await.is_err()),
        (1, true)
    );
    assert_eq!(last(1).await, Some(1));
}
