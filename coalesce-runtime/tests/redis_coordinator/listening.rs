//! Listening: confirmed before it is answered, one subscription per key, and found again after a cut.

use coalesce_rig::{RedisServer, eventually};
use coalesce_runtime::coordination::{Coordinator as _, Listener, Message, Notice, Status};
use coalesce_runtime::{Fault, RedisCoordinator, RedisSettings};

use crate::scene::{Coordinated, LEAD, MS, SECOND, begin, envelope, finish, key, soon, token};

fn channel(number: u32) -> String {
    format!("coalesce:notify:{{shop::get_order:{number}}}")
}

async fn heard(listener: &mut Listener) -> Notice {
    let notice = tokio::time::timeout(5 * SECOND, listener.next()).await;
    notice.expect("something is heard")
}

async fn tell(coordinator: &RedisCoordinator, number: u32, byte: u8) {
    let (key, token) = (key(number), token(byte));
    let seen = coordinator.read(&key).await.unwrap();
    let seen = coalesce_runtime::coordination::Seen::of_state(seen.as_deref());
    let ask = coalesce_runtime::coordination::BeginAsk {
        seen: Some(seen),
        ..begin(token)
    };
    coordinator.begin(&key, &ask).await.unwrap();
    let outcome = finish(envelope(Status::Done, token, &[byte]));
    coordinator.finish(&key, &outcome).await.unwrap();
}

fn is_outcome(notice: &Notice, byte: u8) -> bool {
    matches!(notice, Notice::Message(Message::Outcome { envelope, .. }) if envelope.payload[..] == [byte])
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_published_after_the_answer_is_heard() {
    let server = RedisServer::start();
    let coordinator = server.coordinator().await;
    for number in 0..50 {
        let mut listener = coordinator.listen(&key(number)).await.unwrap();
        // The server has the subscription already: there is nothing to wait for.
        assert_eq!(
            server
                .ask(&["PUBSUB", "NUMSUB", &channel(number)])
                .lines()
                .last(),
            Some("1")
        );
        tell(&coordinator, number, 7).await;
        assert!(is_outcome(&heard(&mut listener).await, 7));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn many_listeners_of_one_key_cost_one_subscribe() {
    let server = RedisServer::start();
    let coordinator = server.coordinator().await;
    server.ask(&["CONFIG", "RESETSTAT"]);
    let mut listening = tokio::task::JoinSet::new();
    for _ in 0..100 {
        let coordinator = coordinator.clone();
        listening.spawn(async move { coordinator.listen(&key(1)).await.unwrap() });
    }
    let mut listeners = listening.join_all().await;
    assert_eq!(server.calls("subscribe"), 1);
    assert_eq!(coordinator.subscriptions(), 1);
    tell(&coordinator, 1, 9).await;
    for listener in &mut listeners {
        assert!(is_outcome(&heard(listener).await, 9));
    }
    assert!(coordinator.listening(&key(1)).is_some());
    assert!(coordinator.listening(&key(2)).is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subscription_lingers_and_then_goes() {
    let server = RedisServer::start();
    let settings = server.settings().linger(300 * MS);
    let coordinator = RedisCoordinator::connect(settings).await.unwrap();
    let listeners: Vec<_> = {
        let mut listeners = Vec::new();
        for number in 0..20 {
            listeners.push(coordinator.listen(&key(number)).await.unwrap());
        }
        listeners
    };
    server.ask(&["CONFIG", "RESETSTAT"]);
    drop(listeners);
    assert_eq!(coordinator.subscriptions(), 20);
    assert!(coordinator.listening(&key(3)).is_some());
    soon("nothing is subscribed", async || {
        coordinator.subscriptions() == 0
    })
    .await;
    eventually("the server knows", || {
        server.ask(&["PUBSUB", "CHANNELS"]).is_empty()
    });
    assert!(
        server.calls("unsubscribe") <= 5,
        "{}",
        server.calls("unsubscribe")
    );
    assert!(coordinator.listening(&key(3)).is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_cut_everything_is_subscribed_again_and_everybody_is_told_of_the_gap() {
    let server = RedisServer::start();
    let coordinator = server.coordinator().await;
    let mut first = coordinator.listen(&key(1)).await.unwrap();
    let mut second = coordinator.listen(&key(2)).await.unwrap();
    for round in 1..=5 {
        server.ask(&["CLIENT", "KILL", "TYPE", "pubsub"]);
        assert_eq!(heard(&mut first).await, Notice::Gap);
        assert_eq!(heard(&mut second).await, Notice::Gap);
        // From the gap on, everything is heard again.
        tell(&coordinator, 1, round).await;
        assert!(is_outcome(&heard(&mut first).await, round));
    }
    let channels = server.ask(&["PUBSUB", "CHANNELS"]);
    assert_eq!(channels.lines().count(), 2);
    assert_eq!(coordinator.health().misrouted, 0);
}

/// A refused SUBSCRIBE shifts every later reply of its connection. It is a fault of `listen`, nobody
/// else notices, and it does not become an endless reconnect.
#[tokio::test(flavor = "multi_thread")]
async fn a_refused_subscription_is_a_fault_and_no_reply_goes_astray() {
    let server = RedisServer::start();
    let rule = ["~*", "resetchannels", "+@all"];
    server.ask(&[&["ACL", "SETUSER", "deaf", "on", ">pw"], &rule[..]].concat());
    let url = format!("redis://deaf:pw@127.0.0.1:{}", server.port());
    let coordinator = RedisCoordinator::connect(RedisSettings::new(url))
        .await
        .unwrap();
    assert!(coordinator.health().subscribed);
    let connections = server.connections_taken();
    for round in 0..200_u32 {
        let (key, token) = (key(round), token(1));
        let (heard, read, begun) =
            tokio::join!(coordinator.listen(&key), coordinator.read(&key), async {
                coordinator.begin(&key, &begin(token)).await
            });
        assert_eq!(heard.err(), Some(Fault::Denied));
        assert_eq!(read, Ok(None));
        assert_eq!(begun, Ok(LEAD));
    }
    assert_eq!(coordinator.health().misrouted, 0);
    let more = server.connections_taken() - connections;
    assert!(more < 20, "{more} connections for 200 refusals");
    server.ask(&["ACL", "SETUSER", "deaf", "allchannels"]);
    soon("listening is possible again", async || {
        coordinator.listen(&key(1)).await.is_ok()
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_of_another_key_is_not_passed_on() {
    let server = RedisServer::start();
    let coordinator = server.coordinator().await;
    let mut listener = coordinator.listen(&key(1)).await.unwrap();
    let other = envelope(Status::Done, token(1), b"secret").encode(&key(2));
    let message = Message::wrap_outcome(&other, None);
    let mut plain = server.connection();
    let published = plain.command_bytes(&[b"PUBLISH", channel(1).as_bytes(), &message]);
    published.unwrap();
    // The connection it came on is given up.
    assert_eq!(heard(&mut listener).await, Notice::Gap);
    assert_eq!(coordinator.health().misrouted, 1);
    server.ask(&["PUBLISH", &channel(1), "garbage"]);
    tell(&coordinator, 1, 3).await;
    assert!(is_outcome(&heard(&mut listener).await, 3));
}

/// Whoever may publish may do so as often as he likes. A connection that is in order is not given up each time.
#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_other_keys_messages_costs_one_connection_in_ten_seconds() {
    let server = RedisServer::start();
    let coordinator = server.coordinator().await;
    let mut listeners = Vec::new();
    for number in 1..=20 {
        listeners.push(coordinator.listen(&key(number)).await.unwrap());
    }
    let other = envelope(Status::Done, token(1), b"secret").encode(&key(99));
    let message = Message::wrap_outcome(&other, None);
    let mut plain = server.connection();
    let before = server.connections_taken();
    let began = std::time::Instant::now();
    for _ in 0..20 {
        let noticed = coordinator.health().misrouted;
        // Said again, since nobody hears what is said while he reconnects.
        soon("they are noticed", async || {
            for number in 1..=20 {
                let channel = channel(number);
                let told = plain.command_bytes(&[b"PUBLISH", channel.as_bytes(), &message]);
                told.unwrap();
            }
            coordinator.health().misrouted > noticed
        })
        .await;
    }
    soon("it listens", async || coordinator.health().subscribed).await;
    // One of them asks for this.
    let connections = server.connections_taken() - before - 1;
    let most = 1 + began.elapsed().as_secs() / 10;
    assert!((1..=most).contains(&connections), "{connections} of {most}");
    // What is ours is heard all the same.
    for listener in &mut listeners {
        assert_eq!(heard(listener).await, Notice::Gap);
    }
    tell(&coordinator, 1, 3).await;
    assert!(is_outcome(&heard(&mut listeners[0]).await, 3));
}

#[tokio::test(flavor = "multi_thread")]
async fn thousands_of_channels_are_found_again() {
    let server = RedisServer::start();
    // A busy machine needs more than the usual deadline for that many at once.
    let settings = server.settings().deadline(5 * SECOND);
    let coordinator = RedisCoordinator::connect(settings).await.unwrap();
    let mut listening = tokio::task::JoinSet::new();
    for number in 0..3_000 {
        let coordinator = coordinator.clone();
        listening.spawn(async move { coordinator.listen(&key(number)).await });
    }
    let mut listeners = Vec::new();
    for listener in listening.join_all().await {
        listeners.push(listener.unwrap());
    }
    assert!(
        server.calls("subscribe") < 1_000,
        "{}",
        server.calls("subscribe")
    );
    server.ask(&["CLIENT", "KILL", "TYPE", "pubsub"]);
    for listener in &mut listeners {
        assert_eq!(heard(listener).await, Notice::Gap);
    }
    assert_eq!(server.ask(&["PUBSUB", "CHANNELS"]).lines().count(), 3_000);
    drop(listeners);
    // Most of them are too many to linger.
    soon("the oldest are gone", async || {
        coordinator.subscriptions() <= 1_000
    })
    .await;
}
