//! `switch` and `status`: what is turned, for how long, by whom, and what nobody has.

use std::time::Duration;

use coalesce_rig::RedisServer;
use coalesce_runtime::Scope;

use crate::scene::{ctl, ctl_at, eventually, price, process, user_without};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_namespace_is_turned_off_and_on_and_the_process_obeys() {
    let server = RedisServer::start();
    let coalescer = process(&server).await;
    let words = "switch off shop::price --for 10m --reason slow --by ada";
    let said = ctl(&server, &words.split(' ').collect::<Vec<_>>()).await;
    assert_eq!(said.code, 0, "{said:?}");
    assert!(
        said.text.contains("OFF for 9m 59s") || said.text.contains("OFF for 10m"),
        "{said:?}"
    );
    let scope = Scope::namespace("shop::price");
    eventually("it is off", || {
        coalescer.position(&scope).is_some_and(|it| !it.on)
    })
    .await;
    assert_eq!(price(&coalescer, 8, Duration::ZERO).await, 8);
    let position = coalescer.position(&scope).unwrap();
    assert_eq!((&*position.author, &*position.reason), ("ada", "slow"));

    let listed = ctl(&server, &["switch", "list", "--json"]).await;
    let stands = &listed.json()["shop::price"];
    assert_eq!((listed.code, stands["on"].as_bool()), (0, Some(false)));
    let left = stands["seconds_left"].as_f64().unwrap();
    assert!((540.0..=600.0).contains(&left), "{left}");

    let said = ctl(&server, &["switch", "on", "shop::price"]).await;
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.text.contains("by ada: slow"), "{said:?}");
    eventually("it is on", || coalescer.position(&scope).is_none()).await;
    assert_eq!(server.command(&["EXISTS", "coalesce:switch"]).number(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_namespace_that_nobody_has_is_unknown_and_not_turned_unless_it_is_meant() {
    let server = RedisServer::start();
    let _process = process(&server).await;
    let said = ctl(&server, &["switch", "off", "shop::prize", "--json"]).await;
    assert_eq!(
        (said.code, said.json()["known"].as_bool()),
        (1, Some(false))
    );
    assert_eq!(server.command(&["EXISTS", "coalesce:switch"]).number(), 0);
    let said = ctl(&server, &["switch", "off", "shop::prize", "--force"]).await;
    assert_eq!(said.code, 1, "turned, and still a finding: {said:?}");
    assert_eq!(server.command(&["HLEN", "coalesce:switch"]).number(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_position_that_has_ended_keeps_nothing_off() {
    let server = RedisServer::start();
    let _process = process(&server).await;
    let words = ["switch", "off", "--all", "--for", "1ms"];
    assert_eq!(ctl(&server, &words).await.code, 0);
    let listed = ctl(&server, &["switch", "list", "--json"]).await.json();
    assert_eq!(listed["everything"]["holds"], false, "{listed}");
    let said = ctl(&server, &["switch", "on", "shop::price", "--json"]).await;
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(said.json()["everything_is_off"], false);
}

/// In an incident not everything answers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_meant_is_turned_also_when_the_namespaces_or_the_positions_cannot_be_read() {
    let server = RedisServer::start();
    let set = || server.command(&["HLEN", "coalesce:switch"]).number();
    let url = user_without(&server, "zrange");
    let said = ctl_at(url.clone(), &["switch", "off", "shop::price"]).await;
    assert_eq!((said.code, set()), (3, 0), "{said:?}");
    let said = ctl_at(url.clone(), &["switch", "off", "shop::price", "--force"]).await;
    assert_eq!((said.code, set()), (1, 1), "{said:?}");
    assert!(said.text.contains("no process is known"), "{said:?}");
    let said = ctl_at(url, &["switch", "on", "shop::price"]).await;
    assert_eq!((said.code, set()), (1, 0), "{said:?}");

    let _process = process(&server).await;
    let url = user_without(&server, "hgetall");
    let said = ctl_at(url.clone(), &["switch", "off", "shop::price"]).await;
    assert_eq!((said.code, set()), (0, 1), "{said:?}");
    assert!(said.text.contains("shop::price is OFF"), "{said:?}");
    let said = ctl_at(url, &["switch", "on", "shop::price", "--json"]).await;
    assert_eq!((said.code, set()), (1, 0), "{said:?}");
    assert!(said.json()["everything_is_off"].is_null(), "{said:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_namespace_stays_off_with_everything_and_the_tool_says_so() {
    let server = RedisServer::start();
    let coalescer = process(&server).await;
    assert_eq!(ctl(&server, &["switch", "off", "--all"]).await.code, 0);
    let said = ctl(&server, &["switch", "on", "shop::price"]).await;
    assert!(
        said.code == 1 && said.text.contains("everything is off"),
        "{said:?}"
    );
    let said = ctl(&server, &["switch", "on", "shop::price", "--force"]).await;
    assert_eq!(said.code, 0, "{said:?}");
    let scope = Scope::namespace("shop::price");
    eventually("it has a position", || {
        coalescer.position(&scope).is_some_and(|it| it.on)
    })
    .await;
    assert_eq!(price(&coalescer, 8, Duration::ZERO).await, 7);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_status_knows_processes_namespaces_and_the_switch() {
    let server = RedisServer::start();
    let coalescer = process(&server).await;
    ctl(
        &server,
        &["switch", "off", "--all", "--reason", "two words"],
    )
    .await;
    let said = ctl(&server, &["status", "--json"]).await;
    let status = said.json();
    assert_eq!(said.code, 0);
    assert!(
        status["namespaces"]["shop::price"]["said_seconds_ago"]
            .as_f64()
            .unwrap()
            < 60.0
    );
    assert_eq!(status["switch"]["everything"]["reason"], "two words");
    assert_eq!(status["switch"]["everything"]["author"], "grace");
    assert_eq!(status["processes"], 1);
    let said = ctl(&server, &["status"]).await;
    assert!(
        said.text.contains("shop::price") && said.text.contains("two words"),
        "{said:?}"
    );
    let nobody = ctl(&server, &["status", "--prefix", "elsewhere", "--json"])
        .await
        .json();
    assert_eq!(nobody["processes"], 0);
    assert_eq!(nobody["namespaces"].as_object().unwrap().len(), 0);
    assert!(
        server.immortal_keys().is_empty(),
        "{:?}",
        server.immortal_keys()
    );
    drop(coalescer);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_status_does_not_take_a_refusal_for_no_namespaces() {
    let server = RedisServer::start();
    let url = user_without(&server, "zrange");
    let said = ctl_at(url.clone(), &["status"]).await;
    assert!(said.text.contains("  not told\n"), "{said:?}");
    let said = ctl_at(url, &["status", "--json"]).await;
    assert!(said.json()["namespaces"].is_null(), "{said:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_somebody_wrote_neither_moves_the_cursor_nor_begins_a_line() {
    let server = RedisServer::start();
    let reason = "slow\nshop::price: ON\u{1b}[2J";
    let said = ctl(&server, &["switch", "off", "--all", "--reason", reason]).await;
    assert_eq!(said.code, 0, "{said:?}");
    for words in [&["switch", "list"][..], &["status"]] {
        let said = ctl(&server, words).await;
        assert!(
            said.text.contains("slowshop::price: ON[2J"),
            "{words:?} {said:?}"
        );
        assert!(!said.text.contains('\u{1b}'), "{words:?} {said:?}");
    }
    let listed = ctl(&server, &["switch", "list", "--json"]).await;
    assert_eq!(listed.json()["everything"]["reason"], reason);
}
