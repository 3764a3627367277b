//! An address that leads elsewhere by now: all lines go there, whatever made one of them look.

use std::time::Instant;

use coalesce_rig::{Proxy, RedisServer, eventually};
use coalesce_runtime::coordination::{
    AbandonAsk, Coordinator as _, Message, Notice, RenewAnswer, RenewAsk, Seen, ServerTime,
};
use coalesce_runtime::{Fault, RedisCoordinator, RedisSettings};

use crate::scene::{LEAD, MS, SECOND, begin, key, soon, token};

/// A coordinator at an address that may lead to another server, with deadlines for a busy machine.
async fn at_the_address(proxy: &Proxy) -> RedisCoordinator {
    let settings = RedisSettings::new(proxy.url()).deadline(5 * 250 * MS);
    let coordinator = RedisCoordinator::connect(settings).await.unwrap();
    // A start waits for a second, and a busy machine may need longer.
    soon("it is connected", async || {
        let health = coordinator.health();
        health.connected && health.subscribed
    })
    .await;
    coordinator
}

fn is_a_copy(old: &RedisServer, new: &RedisServer) {
    old.ask(&["REPLICAOF", "127.0.0.1", &new.port().to_string()]);
    eventually("it is a copy", || {
        old.info("replication", "master_link_status").as_deref() == Some("up")
    });
}

/// A line of the coordinator, by what a server knows it by.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Scripts,
    Reads,
    Ears,
}

/// What a server calls the connection of one line.
async fn id_of(line: Kind, server: &RedisServer, coordinator: &RedisCoordinator) -> String {
    let sign = match line {
        Kind::Scripts => " cmd=evalsha ",
        Kind::Reads => " cmd=getrange ",
        Kind::Ears => " sub=1 ",
    };
    let mut id = None;
    soon("the line is known by what it does", async || {
        // Each is asked something else now and then.
        let _ = coordinator.read(&key(9)).await;
        let _ = coordinator.begin(&key(9), &begin(token(9))).await;
        let list = server.ask(&["CLIENT", "LIST"]);
        let line = list.lines().find(|line| line.contains(sign));
        id = line.and_then(|line| Some(line.strip_prefix("id=")?.split(' ').next()?.to_owned()));
        id.is_some()
    })
    .await;
    id.unwrap()
}

/// Ends that connection, and no other.
fn cut(id: &str, server: &RedisServer) {
    assert_eq!(server.ask(&["CLIENT", "KILL", "ID", id]), "1");
}

/// The old primary lives on, as a copy or as a primary that nobody has told. Only one line has met the new one.
#[tokio::test(flavor = "multi_thread")]
async fn lines_do_not_stay_behind_when_one_of_them_is_made_again_elsewhere() {
    for (line, copied) in [
        (Kind::Scripts, true),
        (Kind::Scripts, false),
        (Kind::Reads, false),
        (Kind::Ears, false),
    ] {
        let [old, new] = [RedisServer::start(), RedisServer::start()];
        let proxy = Proxy::before(old.port());
        let coordinator = at_the_address(&proxy).await;
        let mut listener = coordinator.listen(&key(1)).await.unwrap();
        assert_eq!(coordinator.read(&key(1)).await, Ok(None));
        let id = id_of(line, &old, &coordinator).await;
        if copied {
            // Nobody writes to it, so nobody looks.
            is_a_copy(&old, &new);
        }
        proxy.lead_to(new.port());
        cut(&id, &old);
        eventually("nobody is left behind", || old.clients() == 0);
        let mut next = async || tokio::time::timeout(5 * SECOND, listener.next()).await;
        assert_eq!(next().await, Ok(Notice::Gap), "{line:?}");
        soon("it has a leader", async || {
            coordinator.begin(&key(1), &begin(token(1))).await == Ok(LEAD)
        })
        .await;
        let abandoned = AbandonAsk::body_failed(token(1));
        assert_eq!(coordinator.abandon(&key(1), abandoned).await, Ok(true));
        let told = Message::Abandoned {
            token: token(1),
            body_failed: true,
        };
        assert_eq!(next().await, Ok(Notice::Message(told)), "{line:?}");
        eventually("there are three connections", || new.clients() == 3);
    }
}

/// After a fail-over a whole fleet comes to the new primary. The old one lives on, and takes whatever comes.
#[tokio::test(flavor = "multi_thread")]
async fn a_new_primary_that_has_no_room_at_first_is_looked_for_until_all_lines_are_there() {
    let [old, new] = [RedisServer::start(), RedisServer::start()];
    let proxy = Proxy::before(old.port());
    let coordinator = at_the_address(&proxy).await;
    let mut listener = coordinator.listen(&key(1)).await.unwrap();
    let id = id_of(Kind::Scripts, &old, &coordinator).await;
    eventually("nobody else is at the new one", || new.clients() == 0);
    let mut herd = new.connection();
    // Room for this one and one line.
    herd.command(&["CONFIG", "SET", "maxclients", "2"]).unwrap();
    proxy.lead_to(new.port());
    cut(&id, &old);
    eventually("it turns away whoever looks, again and again", || {
        let report = herd.command(&["INFO", "stats"]).unwrap().text();
        let turned_away = report
            .lines()
            .find_map(|line| line.strip_prefix("rejected_connections:"));
        // One that comes with a line might be looked for once more, and then never again.
        turned_away.unwrap().parse::<u32>().unwrap() > 3
    });
    assert_eq!(old.clients(), 2, "whoever is there is answered");
    herd.command(&["CONFIG", "SET", "maxclients", "100"])
        .unwrap();
    eventually("nobody is left behind", || old.clients() == 0);
    let notice = tokio::time::timeout(5 * SECOND, listener.next()).await;
    assert_eq!(notice.ok(), Some(Notice::Gap));
    drop(herd);
    eventually("there are three connections", || new.clients() == 3);
}

/// A process that begins nothing new still asks for one thing that its copy cannot do.
#[tokio::test(flavor = "multi_thread")]
async fn renewals_that_a_copy_refuses_make_all_lines_look_for_its_primary() {
    let [old, new] = [RedisServer::start(), RedisServer::start()];
    let proxy = Proxy::before(old.port());
    let coordinator = at_the_address(&proxy).await;
    let lease = RenewAsk {
        key: key(1),
        token: token(1),
        seen: Seen::NOTHING,
        lease: 60 * SECOND,
        // It is gone there, and may be taken again for as long as this test lasts.
        retake_until: ServerTime::from_micros(u64::MAX / 2),
    };
    let renewed = async || coordinator.renew(std::slice::from_ref(&lease)).await;
    assert_eq!(renewed().await, Ok(vec![Ok(RenewAnswer::Held)]));
    is_a_copy(&old, &new);
    proxy.lead_to(new.port());
    assert_eq!(renewed().await, Ok(vec![Err(Fault::Refused)]));
    soon("it is renewed at the new one", async || {
        renewed().await == Ok(vec![Ok(RenewAnswer::Held)])
    })
    .await;
    eventually("nobody is left behind", || old.clients() == 0);
}

/// As a name does after a fail-over, while the old primary lives on as the new one's copy.
#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_leads_to_another_primary_is_followed_and_one_that_does_not_disturbs_nobody()
 {
    let [old, new] = [RedisServer::start(), RedisServer::start()];
    let proxy = Proxy::before(old.port());
    let coordinator = at_the_address(&proxy).await;
    let mut listener = coordinator.listen(&key(1)).await.unwrap();
    is_a_copy(&old, &new);
    let (started, connections) = (Instant::now(), proxy.connections());
    while started.elapsed() < 2 * SECOND {
        let begun = coordinator.begin(&key(1), &begin(token(1))).await;
        assert_eq!(begun, Err(Fault::Refused));
        assert_eq!(coordinator.read(&key(1)).await, Ok(None));
        tokio::time::sleep(5 * MS).await;
    }
    assert!(coordinator.health().subscribed);
    // Somebody has looked, and not at every refusal, but ever more rarely.
    let looks = u128::from(proxy.connections() - connections);
    let most = 5 + started.elapsed().as_millis() / 600;
    assert!((1..=most).contains(&looks), "{looks}");

    proxy.lead_to(new.port());
    let recovery = soon("it leads there", async || {
        coordinator.begin(&key(1), &begin(token(1))).await == Ok(LEAD)
    });
    let recovery = recovery.await;
    assert!(recovery < 5 * SECOND, "{recovery:?}");
    let notice = tokio::time::timeout(5 * SECOND, listener.next()).await;
    assert_eq!(notice.ok(), Some(Notice::Gap));
    soon("all of it is there", async || {
        coordinator.read(&key(1)).await.is_ok()
    })
    .await;
    eventually("nobody is left behind", || old.clients() == 0);
}
