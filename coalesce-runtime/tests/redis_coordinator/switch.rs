//! The kill switch in Redis: what stands there that is not ours, what slides onto its reply, and a flood of news.

use std::collections::BTreeSet;
use std::time::Instant;

use coalesce_rig::{Connection, Proxy, RedisServer, holds};
use coalesce_runtime::coordination::{Coordinator as _, Message};
use coalesce_runtime::{Coalescer, Fault, Key, RedisCoordinator, RedisSettings, Scope};

use crate::scene::{Coordinated, MS, SECOND, soon};

const SWITCH: &[u8] = b"coalesce:switch";

fn is_off(coalescer: &Coalescer, scope: &Scope) -> bool {
    coalescer.position(scope).is_some_and(|it| !it.on)
}

/// A GET of nothing, a PING, a TIME and a script's answer are no position, and an empty list is not "everything is on".
#[tokio::test(flavor = "multi_thread")]
async fn a_switch_that_is_off_stays_off_whatever_slides_onto_its_reply() {
    let server = RedisServer::start();
    let proxy = Proxy::before(server.port());
    let coordinator = RedisCoordinator::connect(RedisSettings::new(proxy.url())).await;
    let coordinator = coordinator.unwrap();
    let off = vec![("~all".to_owned(), "co1 off".to_owned())];
    server.ask(&["HSET", "coalesce:switch", "~all", "co1 off"]);
    server.ask(&["ZADD", "coalesce:namespaces", "1", "shop"]);
    let strays: [&[u8]; 8] = [
        b"_\r\n",
        b"*0\r\n",
        b"+1790000000\r\n",
        b":1\r\n",
        b"$0\r\n\r\n",
        b"*2\r\n$10\r\n1790000000\r\n$6\r\n123456\r\n",
        b"*4\r\n$1\r\n7\r\n$5\r\nstate\r\n$1\r\nv\r\n:1790000000123456\r\n",
        b"%1\r\n$5\r\nproto\r\n:3\r\n",
    ];
    for stray in strays {
        let shown = String::from_utf8_lossy(stray).into_owned();
        let misrouted = coordinator.health().misrouted;
        proxy.send_stray(stray, |request| holds(request, b"HGETALL"));
        let read = coordinator.switches().await;
        assert_eq!(read, Err(Fault::Garbled), "{shown:?}");
        assert!(coordinator.health().misrouted > misrouted, "{shown:?}");
        soon("it is read again", async || {
            let read = coordinator.switches().await;
            assert!(read.is_err() || read.as_ref() == Ok(&off), "{read:?}");
            read.is_ok()
        })
        .await;
    }
    // Nor is a namespace unknown because of one; but an empty list is what that question may be answered with.
    for stray in strays.into_iter().filter(|stray| *stray != b"*0\r\n") {
        let shown = String::from_utf8_lossy(stray).into_owned();
        proxy.send_stray(stray, |request| holds(request, b"ZRANGE"));
        let read = coordinator.announced().await;
        assert_eq!(read, Err(Fault::Garbled), "{shown:?}");
        soon("they are read again", async || {
            let read = coordinator.announced().await;
            let right = |names: &Vec<String>| names == &["shop"];
            assert!(read.as_ref().map_or(true, right), "{read:?}");
            read.is_ok()
        })
        .await;
    }
}

fn ask(plain: &mut Connection, words: &[&str]) -> String {
    let bytes = plain.command(words).unwrap().bytes();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The connections of everybody but of who asks.
fn others(plain: &mut Connection) -> BTreeSet<String> {
    let own = ask(plain, &["CLIENT", "ID"]);
    let list = ask(plain, &["CLIENT", "LIST"]);
    let ids = list.lines().filter_map(|line| {
        let id = line.strip_prefix("id=")?.split(' ').next()?;
        (id != own).then(|| id.to_owned())
    });
    ids.collect()
}

async fn read_again(server: &RedisServer, times: u64) {
    server.reset_stats();
    soon("the switch is read again and again", async || {
        server.calls("hgetall") >= times
    })
    .await;
}

/// Otherwise one byte of anybody would take the whole fleet's hands off the switch, and its connections away each second.
#[tokio::test(flavor = "multi_thread")]
async fn a_byte_that_is_no_text_costs_its_own_field_alone() {
    let server = RedisServer::start();
    server.ask(&["HSET", "coalesce:switch", "~all", "co1 off"]);
    // Nothing may be given up because a busy machine is slow.
    let builder = Coalescer::builder().redis(server.url());
    let coalescer = builder.operation_deadline(500 * MS).build();
    let coalescer = coalescer.await.unwrap();
    soon("it is off", async || is_off(&coalescer, &Scope::Everything)).await;
    let mut plain = server.connection();
    let connections = others(&mut plain);
    assert_eq!(connections.len(), 3, "for reads, scripts and messages");
    let plants: [&[&[u8]]; 4] = [
        &[b"HSET", SWITCH, b"shop", b"\xff"],
        &[b"HSET", SWITCH, b"\xff", b"co1 off"],
        &[b"HSET", SWITCH, b"\xfe", b"co1 on\xff"],
        &[b"ZADD", b"coalesce:namespaces", b"inf", b"\xff"],
    ];
    for plant in plants {
        assert_eq!(plain.command_bytes(plant).unwrap().number(), 1);
    }
    server.ask(&["ZADD", "coalesce:namespaces", "inf", "orders"]);
    read_again(&server, 3).await;
    assert!(is_off(&coalescer, &Scope::Everything));
    // And what is turned by hand meanwhile is obeyed.
    server.ask(&["HSET", "coalesce:switch", "orders", "co1 off"]);
    server.ask(&["HDEL", "coalesce:switch", "~all"]);
    soon("the other positions are read", async || {
        is_off(&coalescer, &Scope::namespace("orders"))
    })
    .await;
    assert_eq!(coalescer.position(&Scope::Everything), None);
    assert_eq!(coalescer.position(&Scope::namespace("shop")), None);
    assert_eq!(coalescer.health().misrouted, 0);
    assert_eq!(others(&mut plain), connections);

    let coordinator = server.coordinator().await;
    let names = coordinator.announced().await.unwrap();
    assert!(names.contains(&"orders".to_owned()), "{names:?}");
    assert_eq!(coordinator.health().misrouted, 0);
}

/// Whoever says again and again that the switch was turned costs a few reads, and not one each.
#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_news_costs_few_reads_and_the_last_word_is_obeyed() {
    let server = RedisServer::start();
    let coalescer = Coalescer::builder().redis(server.url()).build();
    let coalescer = coalescer.await.unwrap();
    let operator = server.coordinator().await;
    operator.set_switch("~all", Some("co1 off")).await.unwrap();
    soon("it hears of the switch", async || {
        is_off(&coalescer, &Scope::Everything)
    })
    .await;
    let mut plain = server.connection();
    server.reset_stats();
    let began = Instant::now();
    let flood: &[u8] = b"for _ = 1, 1000 do redis.call('PUBLISH', KEYS[1], ARGV[1]) end";
    let news = Message::encode_changed(&Key::new("coalesce:switch", &[]));
    let flood = plain.command_bytes(&[b"EVAL", flood, b"1", SWITCH, &news]);
    flood.unwrap();
    operator.set_switch("~all", None).await.unwrap();
    soon("the last word is obeyed", async || {
        coalescer.position(&Scope::Everything).is_none()
    })
    .await;
    // Room for a read of each.
    soon("a second is over", async || began.elapsed() > SECOND).await;
    let reads = server.calls("hgetall");
    // One in ten milliseconds, one in a second, and one at the beginning.
    let milliseconds = began.elapsed().as_millis();
    let most = milliseconds / 10 + milliseconds / 1_000 + 1;
    assert!(u128::from(reads) <= most, "{reads} reads, {most} at most");
}
