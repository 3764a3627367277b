//! `doctor`, `top`, and the ways in which the program ends.

use std::process::{Command, Stdio};

use coalesce_rig::RedisServer;
use coalesce_runtime::Coalescer;
use coalesce_runtime::admin::{AdminAccess, router};
use serde_json::Value;

use crate::scene::{MS, ctl, ctl_at, price};

const PAGE: &str = include_str!("../../../docs/operating.md");

/// What the doctor found about one thing.
fn of<'a>(said: &'a Value, name: &str) -> &'a Value {
    let findings = said["findings"].as_array().unwrap();
    let found = findings.iter().find(|finding| finding["of"] == name);
    found.unwrap_or_else(|| panic!("{name} in {said:#}"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_doctor_finds_nothing_wrong_with_a_redis_that_is_well_and_writes_nothing_there() {
    let server = RedisServer::start();
    let said = ctl(&server, &["doctor", "--json"]).await;
    assert_eq!(said.code, 0, "{said:?}");
    let said = said.json();
    for name in [
        "connection",
        "version",
        "eviction",
        "scripts",
        "messages",
        "clock",
        "right +zadd",
    ] {
        assert_eq!(of(&said, name)["well"], true, "{said:#}");
    }
    assert_eq!(of(&said, "right +eval")["found"], "allowed");
    assert_eq!(server.command(&["DBSIZE"]).number(), 0);
}

/// The page's rule is enough, and each right that is taken away is named.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_doctor_names_each_right_that_is_missing_and_is_content_with_the_rule_of_the_page() {
    let server = RedisServer::start();
    let rule = PAGE
        .lines()
        .find_map(|line| line.strip_prefix("user coalesce "))
        .unwrap();
    let url = format!("redis://coalesce:secret@127.0.0.1:{}", server.port());
    let rights: Vec<_> = rule
        .split(' ')
        .filter(|word| word.starts_with('+'))
        .collect();
    assert!(rights.len() > 20);
    // Without these there is no answer to be had at all, or none of the tool's own questions.
    let asked_with = ["+ping", "+eval", "+time", "+client|id", "+info"];
    let taken = rights.iter().filter(|right| !asked_with.contains(right));
    for right in [""].iter().chain(taken) {
        let words = ["ACL", "SETUSER", "coalesce", "reset"].into_iter();
        let words: Vec<_> = words
            .chain(rule.split(' ').filter(|word| word != right))
            .collect();
        server.command(&words);
        let said = ctl_at(url.clone(), &["doctor", "--json"]).await;
        let found = said.json();
        let missing: Vec<_> = found["findings"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|finding| {
                finding["of"]
                    .as_str()?
                    .strip_prefix("right ")
                    .filter(|_| finding["well"] == false)
            })
            .collect();
        let expected: Vec<_> = Some(*right)
            .filter(|right| !right.is_empty())
            .into_iter()
            .collect();
        assert_eq!(missing, expected, "{found:#}");
        assert_eq!(said.code, i32::from(!right.is_empty()), "{found:#}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_doctor_finds_an_eviction_policy_and_says_what_it_means() {
    let server =
        RedisServer::start_with(&["--maxmemory", "50mb", "--maxmemory-policy", "allkeys-lru"]);
    let said = ctl(&server, &["doctor"]).await;
    assert_eq!(said.code, 1, "{said:?}");
    assert!(
        said.text.contains("allkeys-lru") && said.text.contains("an evicted lock costs"),
        "{said:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_ends_with_2_when_it_is_asked_wrongly_and_with_3_when_nobody_answers() {
    let server = RedisServer::start();
    for words in [
        &["swich"][..],
        &["switch", "off"],
        &["switch", "off", "a", "--all"],
        &["switch", "off", "a", "--for", "soon"],
        &["switch", "off", "--all", "--for", "0s"],
        &["switch", "on", "--all", "--for", "1m"],
        &["inspect", "a", "two words"],
        &["status", "--url", "nonsense://"],
    ] {
        let said = ctl(&server, words).await;
        assert_eq!(said.code, 2, "{words:?} {said:?}");
        assert!(!said.complaint.is_empty());
    }
    let port = server.port();
    drop(server);
    for words in [&["status"][..], &["doctor", "--json"], &["switch", "list"]] {
        let said = ctl_at(format!("redis://user:hunter2@127.0.0.1:{port}"), words).await;
        assert_eq!(said.code, 3, "{words:?} {said:?}");
        assert!(!(said.text + &said.complaint).contains("hunter2"));
    }
}

/// Three seconds are more than it waits for one answer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redis_that_is_busy_for_a_moment_is_waited_for() {
    let server = RedisServer::start();
    server.freeze();
    let asked = tokio::spawn(ctl_at(server.url(), &["status", "--json"]));
    tokio::time::sleep(3_000 * MS).await;
    server.go_on();
    let said = asked.await.unwrap();
    assert_eq!(said.code, 0, "{said:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn completions_name_the_commands_without_any_redis() {
    for shell in ["bash", "zsh", "fish"] {
        let said = ctl_at(String::new(), &["completions", shell]).await;
        assert!(
            said.code == 0 && said.text.contains("invalidate"),
            "{said:?}"
        );
    }
}

/// As in `top … | head -1`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn top_ends_when_nobody_reads_it() {
    let coalescer = Coalescer::builder().in_process().build().await.unwrap();
    let app = router(coalescer, AdminAccess::inner_listener());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let from = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, app).await });
    let mut top = Command::new(env!("CARGO_BIN_EXE_coalesce-ctl"))
        .args(["top", "--from", &from, "--every", "100ms"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    drop(top.stdout.take());
    let started = std::time::Instant::now();
    let code = loop {
        if let Some(ended) = top.try_wait().unwrap() {
            break ended.code();
        }
        if started.elapsed() > 10_000 * MS {
            top.kill().unwrap();
        }
        tokio::time::sleep(5 * MS).await;
    };
    assert_eq!(code, Some(0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn top_adds_up_what_processes_say_and_names_those_that_are_silent() {
    let coalescer = Coalescer::builder().in_process().build().await.unwrap();
    price(&coalescer, 7, MS).await;
    let token = "a token of this test alone";
    let app = router(coalescer.clone(), AdminAccess::token(token).unwrap());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let from = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, app).await });
    let busy = tokio::spawn(async move {
        loop {
            price(&coalescer, 7, MS).await;
            tokio::time::sleep(MS).await;
        }
    });
    let words = [
        "top", "--from", &from, "--token", token, "--every", "300ms", "--looks", "1",
    ];
    let said = ctl_at(String::new(), &words).await;
    assert_eq!(said.code, 0, "{said:?}");
    assert!(
        said.text.contains("shop::price") && said.text.contains("100 %"),
        "{said:?}"
    );
    let said = ctl_at(String::new(), &[&words[..], &["--json"]].concat()).await;
    let row = &said.json()["namespaces"][0];
    assert!(row["calls_per_second"].as_f64().unwrap() > 5.0, "{row}");
    assert_eq!(
        (&row["saving"], &row["executions_per_second"]),
        (&1.0.into(), &0.0.into())
    );

    let silent = [&words[..], &["--from", "http://127.0.0.1:1"]].concat();
    let said = ctl_at(String::new(), &silent).await;
    assert!(
        said.code == 1 && said.text.contains("http://127.0.0.1:1: "),
        "{said:?}"
    );
    let wrong = [
        "top",
        "--from",
        &from,
        "--token",
        "not the token at all",
        "--looks",
        "1",
    ];
    assert_eq!(ctl_at(String::new(), &wrong).await.code, 3);
    busy.abort();
}
