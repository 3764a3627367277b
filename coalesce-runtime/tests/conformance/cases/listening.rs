//! Listening: who hears what, and what is left when nobody listens any more.

use std::time::Duration;

use coalesce_runtime::coordination::{BeginAnswer, Envelope, FinishAnswer, Message, Status, Token};
use tokio::time::{Instant, sleep};

use crate::asks::{begin_below, envelope, finish, invalidation, lead, leave_value};
use crate::world::{Ear, Side, World};

/// The largest payload that travels inside a message.
const INLINE: usize = 8 * 1024;

async fn leave_bytes(side: &Side, key: &coalesce_runtime::Key, len: usize) -> Token {
    let token = lead(side, key).await;
    let ask = finish(envelope(Status::Done, token, vec![7; len]));
    assert_eq!(side.finish(key, ask).await, FinishAnswer::Stored);
    token
}

/// A message is for the listeners of its key and no others.
pub(crate) async fn c090_only_the_keys_listeners_hear_a_message(w: &World) {
    let (mine, other) = (w.key("mine"), w.key("other"));
    let mut ear = w.there.listen(&mine).await;
    let mut other_ear = w.there.listen(&other).await;
    leave_value(&w.here, &other, b"other").await;
    let token = leave_value(&w.here, &mine, b"mine").await;
    assert_eq!(ear.hears_outcome().await.0.token, token);
    assert_eq!(&other_ear.hears_outcome().await.0.payload[..], b"other");
    other_ear.has_heard_nothing(&w.here, &other).await;
}

/// Everybody who listens hears, in one process or in several.
pub(crate) async fn c091_all_listeners_of_a_key_hear_it(w: &World) {
    let key = w.key("k");
    let mut ears = [
        w.here.listen(&key).await,
        w.here.listen(&key).await,
        w.there.listen(&key).await,
    ];
    let token = leave_value(&w.here, &key, b"value").await;
    for ear in &mut ears {
        assert_eq!(ear.hears_outcome().await.0.token, token);
    }
}

/// What was said before a listener came is not said to it; it looks at the state instead.
pub(crate) async fn c092_a_listener_hears_nothing_from_before_it_came(w: &World) {
    let key = w.key("k");
    leave_value(&w.here, &key, b"before").await;
    let mut ear = w.there.listen(&key).await;
    ear.has_heard_nothing(&w.here, &key).await;
}

/// Messages arrive in the order of what they tell.
pub(crate) async fn c093_messages_arrive_in_order(w: &World) {
    let key = w.key("k");
    let mut ear = w.there.listen(&key).await;
    let mut said = Vec::new();
    for _ in 0..50 {
        said.push(leave_value(&w.here, &key, b"value").await);
    }
    for token in said {
        assert_eq!(ear.hears_outcome().await.0.token, token);
    }
}

/// One channel serves all the waiters of a process.
pub(crate) async fn c094_many_listeners_of_a_key_are_one_subscription(w: &World) {
    let key = w.key("k");
    let before = w.there.coordinator().subscriptions();
    let mut ears = Vec::new();
    for _ in 0..100 {
        ears.push(w.there.listen(&key).await);
    }
    assert_eq!(w.there.coordinator().subscriptions(), before + 1);
    let token = leave_value(&w.here, &key, b"value").await;
    for ear in &mut ears {
        assert_eq!(ear.hears_outcome().await.0.token, token);
    }
}

/// Listeners that come at the same moment share one subscription too.
pub(crate) async fn c095_listeners_that_come_at_once_all_hear(w: &World) {
    let key = w.key("k");
    let before = w.there.coordinator().subscriptions();
    let mut coming = tokio::task::JoinSet::new();
    for _ in 0..20 {
        let (side, key) = (w.there.clone(), key.clone());
        coming.spawn(async move { side.listen(&key).await });
    }
    let ears: Vec<Ear> = coming.join_all().await;
    assert_eq!(w.there.coordinator().subscriptions(), before + 1);
    let token = leave_value(&w.here, &key, b"value").await;
    for mut ear in ears {
        assert_eq!(ear.hears_outcome().await.0.token, token);
    }
}

/// A listener that goes takes nothing from those who stay.
pub(crate) async fn c096_the_listeners_that_stay_go_on_hearing(w: &World) {
    let key = w.key("k");
    let gone = w.there.listen(&key).await;
    let mut stays = w.there.listen(&key).await;
    drop(gone);
    let token = leave_value(&w.here, &key, b"value").await;
    assert_eq!(stays.hears_outcome().await.0.token, token);
}

/// When the last listener is gone and has been forgotten, so is the channel.
pub(crate) async fn c097_nothing_is_left_of_listeners_that_are_gone(w: &World) {
    let coordinator = w.there.coordinator();
    let before = coordinator.subscriptions();
    let mut ears = Vec::new();
    for name in ["a", "b", "c"] {
        ears.push(w.there.listen(&w.key(name)).await);
    }
    assert_eq!(coordinator.subscriptions(), before + 3);
    drop(ears);
    let start = Instant::now();
    while coordinator.subscriptions() > before {
        assert!(
            start.elapsed() < Duration::from_secs(10),
            "still subscribed"
        );
        sleep(Duration::from_millis(20)).await;
    }
    assert!(w.there.listening(&w.key("a")).is_none());
}

/// After everybody has gone a key is listened on like a new one.
pub(crate) async fn c098_a_channel_that_was_left_is_joined_again(w: &World) {
    let key = w.key("k");
    for _ in 0..3 {
        let mut ear = w.there.listen(&key).await;
        let token = leave_value(&w.here, &key, b"value").await;
        assert_eq!(ear.hears_outcome().await.0.token, token);
    }
}

/// Without a subscription nobody can listen for free.
pub(crate) async fn c099_nobody_is_listening_before_somebody_listens(w: &World) {
    assert!(w.there.listening(&w.key("k")).is_none());
    assert_eq!(w.there.coordinator().subscriptions(), 0);
}

/// With a subscription the next listener costs no round trip and hears as well.
pub(crate) async fn c100_a_listener_on_an_existing_subscription_hears(w: &World) {
    let key = w.key("k");
    let first = w.there.listen(&key).await;
    let mut second = w.there.listening(&key).expect("a subscription");
    drop(first);
    let token = leave_value(&w.here, &key, b"value").await;
    assert_eq!(second.hears_outcome().await.0.token, token);
}

/// An outcome of exactly 8 KiB travels inside the message.
pub(crate) async fn c101_an_outcome_of_8_kib_is_inline(w: &World) {
    let key = w.key("k");
    let mut ear = w.there.listen(&key).await;
    leave_bytes(&w.here, &key, INLINE).await;
    let (heard, _) = ear.hears_outcome().await;
    assert_eq!(heard.payload, vec![7; INLINE]);
}

/// One byte more, and the message says where the outcome is instead.
pub(crate) async fn c102_a_bigger_outcome_is_in_the_state(w: &World) {
    let key = w.key("k");
    let mut ear = w.there.listen(&key).await;
    let token = leave_bytes(&w.here, &key, INLINE + 1).await;
    assert_eq!(ear.hears().await, Message::Stored { token });
    let answer = w
        .there
        .begin(&key, begin_below(Token::random(), Token::random()))
        .await;
    let BeginAnswer::State(bytes) = answer else {
        panic!("{answer:?}")
    };
    let stored = Envelope::decode(&key, &bytes).unwrap();
    assert_eq!((stored.token, stored.payload.len()), (token, INLINE + 1));
}

/// A fenced outcome stands in no state, so it travels whole, whatever its size.
pub(crate) async fn c103_a_big_fenced_outcome_is_inline(w: &World) {
    let key = w.key("k");
    let token = lead(&w.here, &key).await;
    w.there.replace(&key, invalidation()).await;
    let mut ear = w.there.listen(&key).await;
    let ask = finish(envelope(Status::Done, token, vec![7; 20 * INLINE]));
    let answer = w.here.finish(&key, ask).await;
    assert!(matches!(answer, FinishAnswer::Fenced { .. }), "{answer:?}");
    let (heard, fenced_at) = ear.hears_outcome().await;
    assert_eq!((heard.token, fenced_at.is_some()), (token, true));
    assert_eq!(heard.payload.len(), 20 * INLINE);
}

/// A big value that is put is told by name as well.
pub(crate) async fn c104_a_big_put_value_is_in_the_state(w: &World) {
    let key = w.key("k");
    let mut ear = w.there.listen(&key).await;
    let token = Token::random();
    let ask = crate::asks::replace(envelope(Status::Done, token, vec![7; INLINE + 1]));
    w.here.replace(&key, ask).await;
    assert_eq!(ear.hears().await, Message::Stored { token });
    assert_eq!(w.there.state(&key).await.token, token);
}
