//! The operator's page: its rule of rights is enough for all that the library does, and none of it is too much.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod day;

use std::collections::BTreeSet;
use std::sync::Arc;

use coalesce_rig::{RedisServer, Value};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

/// The rights that no day with a single node needs, and where they are seen to be needed: keys of a slot that is being
/// moved, `coalesce-runtime/tests/redis_coordinator/moving.rs`.
const NEEDED_ELSEWHERE: [&str; 1] = ["+asking"];

const PAGE: &str = include_str!("../../docs/operating.md");

/// The words of the page's rules, `user` and its name taken off. The second is for a cluster.
fn rules() -> Vec<Vec<&'static str>> {
    let rules: Vec<Vec<_>> = PAGE
        .lines()
        .filter_map(|line| line.strip_prefix("user coalesce "))
        .map(|rule| rule.split_whitespace().collect())
        .collect();
    assert_eq!(
        rules.len(),
        2,
        "the page has a rule for one server and one for a cluster"
    );
    rules
}

/// Lives one day with the library under a rule. Says what was missing, by the answers and by the server's own log.
async fn a_day_under(rule: &[&str], clustered: bool) -> Result<(), String> {
    let server = day::server(clustered);
    let words: Vec<_> = ["ACL", "SETUSER", "coalesce"]
        .into_iter()
        .chain(rule.iter().copied())
        .collect();
    assert_eq!(
        server.command(&words),
        Value::Text(b"OK".to_vec()),
        "{rule:?}"
    );
    let lived = day::live(&server, clustered).await;
    let refused = refused(&server);
    if !refused.is_empty() {
        return Err(format!("refused {refused:?}, {lived:?}"));
    }
    lived
}

/// What the server has refused to the library's user, as `ACL LOG` has it.
fn refused(server: &RedisServer) -> BTreeSet<String> {
    let log = server.command(&["ACL", "LOG"]).list();
    let field = |entry: &[Value], name: &str| {
        let at = entry
            .iter()
            .position(|word| *word == Value::Text(name.into()));
        at.map_or(String::new(), |at| entry[at + 1].text())
    };
    log.into_iter()
        .map(Value::list)
        .filter(|entry| field(entry, "username") == "coalesce")
        .map(|entry| format!("{} {}", field(&entry, "reason"), field(&entry, "object")))
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_rule_of_the_page_is_enough_for_a_flight_a_refresh_an_invalidation_and_the_switch() {
    assert_eq!(a_day_under(&rules()[0], false).await, Ok(()));
    assert_eq!(a_day_under(&rules()[1], true).await, Ok(()));
}

/// Each right is there for something: without it the server refuses, says so in its log, and here that is seen.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_rule_with_any_one_right_less_is_noticed() {
    let mut days = JoinSet::new();
    let few = Arc::new(Semaphore::new(4));
    for (rule, clustered) in rules().into_iter().zip([false, true]) {
        // For a cluster, what it needs beyond the other rule.
        let known = if clustered {
            rules().remove(0)
        } else {
            Vec::new()
        };
        for right in rule.clone() {
            let is_right = ["+", "~", "&"].iter().any(|sign| right.starts_with(sign));
            if !is_right || known.contains(&right) || NEEDED_ELSEWHERE.contains(&right) {
                continue;
            }
            let less: Vec<_> = rule.iter().copied().filter(|word| *word != right).collect();
            let few = Arc::clone(&few);
            days.spawn(async move {
                let _turn = few.acquire().await.unwrap();
                (right, a_day_under(&less, clustered).await)
            });
        }
    }
    let mut unneeded = Vec::new();
    let mut tried = 0;
    while let Some(day) = days.join_next().await {
        let (right, lived) = day.unwrap();
        println!("without {right}: {lived:?}");
        tried += 1;
        if lived.is_ok() {
            unneeded.push(right);
        }
    }
    assert!(tried > 20, "only {tried} rights were taken away");
    assert_eq!(unneeded, Vec::<&str>::new(), "nobody misses these");
}
