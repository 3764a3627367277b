//! The kill switch in Redis: what slides onto its reply.

use coalesce_rig::{Proxy, holds};
use coalesce_runtime::coordination::Coordinator as _;
use coalesce_runtime::{Fault, RedisCoordinator, RedisSettings};

use crate::server::{Server, soon};

/// A GET of nothing, a PING, a TIME and a script's answer are no position, and an empty list is not "everything is on".
#[tokio::test(flavor = "multi_thread")]
async fn a_switch_that_is_off_stays_off_whatever_slides_onto_its_reply() {
    let server = Server::start();
    let proxy = Proxy::before(server.port);
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
