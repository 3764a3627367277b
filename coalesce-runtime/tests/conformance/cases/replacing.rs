//! REPLACE: invalidation and `put`, with and without a flight in progress.

use coalesce_runtime::coordination::{
    BeginAnswer, FinishAnswer, Message, RenewAnswer, ReplaceAsk, Seen, Status, Token,
};

use crate::asks::{
    SHORT, begin_below, done, invalidation, lead, lead_for, leave_value, ms, put, renew,
};
use crate::world::World;

/// After an invalidation the old value is gone for everybody.
pub(crate) async fn c078_an_invalidation_removes_the_value(w: &World) {
    let key = w.key("k");
    leave_value(&w.here, &key, b"value").await;
    w.there.replace(&key, invalidation()).await;
    let state = w.here.state(&key).await;
    assert_eq!(
        (state.status, state.payload.len()),
        (Status::Invalidated, 0)
    );
}

/// The answer says whether there was a flight to fence.
pub(crate) async fn c079_a_replacement_says_whether_a_flight_was_fenced(w: &World) {
    let key = w.key("k");
    assert!(!w.here.replace(&key, invalidation()).await);
    let token = lead(&w.here, &key).await;
    assert!(w.there.replace(&key, invalidation()).await);
    w.here.finish(&key, done(token, b"value")).await;
    assert!(!w.there.replace(&key, put(Token::random(), b"put")).await);
}

/// A lease that has ended is no flight to fence.
pub(crate) async fn c080_an_ended_lease_is_not_fenced(w: &World) {
    let key = w.key("k");
    lead_for(&w.here, &key, SHORT).await;
    w.pass(SHORT).await;
    assert!(!w.there.replace(&key, invalidation()).await);
    let newcomer = lead(&w.here, &key).await;
    assert_eq!(w.here.renew(renew(&key, newcomer)).await, RenewAnswer::Held);
}

/// Listeners hear of an invalidation as one.
pub(crate) async fn c081_an_invalidation_is_told(w: &World) {
    let key = w.key("k");
    let mut ear = w.there.listen(&key).await;
    w.here.replace(&key, invalidation()).await;
    let at = w.there.state(&key).await.computed_at;
    assert_eq!(ear.hears().await, Message::Invalidated { at });
}

/// A value that is put is an outcome like any other to those who wait.
pub(crate) async fn c082_a_put_value_is_told_as_an_outcome(w: &World) {
    let key = w.key("k");
    let mut ear = w.there.listen(&key).await;
    let token = Token::random();
    w.here.replace(&key, put(token, b"put")).await;
    let (heard, fenced_at) = ear.hears_outcome().await;
    assert_eq!((heard.token, fenced_at), (token, None));
    assert_eq!(heard, w.there.state(&key).await);
}

/// What is put while a flight runs is newer than what the flight computes from older facts.
pub(crate) async fn c083_a_value_put_during_a_flight_wins(w: &World) {
    let key = w.key("k");
    let leader = lead(&w.here, &key).await;
    let token = Token::random();
    assert!(w.there.replace(&key, put(token, b"put")).await);
    let answer = w.here.finish(&key, done(leader, b"computed")).await;
    assert!(matches!(answer, FinishAnswer::Fenced { .. }), "{answer:?}");
    let state = w.there.state(&key).await;
    assert_eq!((state.token, &state.payload[..]), (token, &b"put"[..]));
}

/// A value put is the answer to whoever waits for one.
pub(crate) async fn c084_a_put_value_answers_the_next_asker(w: &World) {
    let key = w.key("k");
    let old = leave_value(&w.here, &key, b"old").await;
    w.here.replace(&key, put(Token::random(), b"put")).await;
    let answer = w.there.begin(&key, begin_below(Token::random(), old)).await;
    assert!(matches!(answer, BeginAnswer::State(_)), "{answer:?}");
    let answer = w
        .there
        .begin(&key, begin_below(Token::random(), Seen::NOTHING))
        .await;
    assert!(matches!(answer, BeginAnswer::State(_)), "{answer:?}");
}

/// A flight is fenced once: whoever joined between two invalidations had joined too late.
pub(crate) async fn c085_the_first_fence_counts(w: &World) {
    let key = w.key("k");
    let token = lead(&w.here, &key).await;
    assert!(w.there.replace(&key, invalidation()).await);
    let first = w.here.renew(renew(&key, token)).await;
    w.pass(ms(20)).await;
    assert!(w.there.replace(&key, invalidation()).await);
    assert_eq!(w.here.renew(renew(&key, token)).await, first);
    let RenewAnswer::Fenced { at } = first else {
        panic!("{first:?}")
    };
    assert_eq!(
        w.here.finish(&key, done(token, b"value")).await,
        FinishAnswer::Fenced { at }
    );
}

/// The time of a replacement is the coordinator's, whatever the asker wrote.
pub(crate) async fn c086_a_replacement_is_stamped_with_the_coordinators_time(w: &World) {
    let key = w.key("k");
    let before = w.here.now().minus(ms(50));
    let mut ask = put(Token::random(), b"put");
    ask.envelope.computed_at = w.here.now().minus(ms(500));
    w.here.replace(&key, ask).await;
    let at = w.there.state(&key).await.computed_at;
    assert!(before < at && at < w.here.now().plus(ms(50)), "{at:?}");
}

/// What is put in place goes when its life is over.
pub(crate) async fn c087_a_replacement_ends_with_its_life(w: &World) {
    let key = w.key("k");
    let brief = ReplaceAsk {
        life: SHORT,
        ..put(Token::random(), b"put")
    };
    w.here.replace(&key, brief).await;
    assert!(w.there.read(&key).await.is_some());
    w.pass(SHORT).await;
    assert_eq!(w.there.read(&key).await, None);
}

/// A fence holds after the state that set it has expired.
pub(crate) async fn c088_a_fence_outlives_the_state_that_set_it(w: &World) {
    let key = w.key("k");
    let token = lead(&w.here, &key).await;
    let brief = ReplaceAsk {
        life: SHORT,
        ..invalidation()
    };
    w.there.replace(&key, brief).await;
    w.pass(SHORT).await;
    let answer = w.here.finish(&key, done(token, b"value")).await;
    assert!(matches!(answer, FinishAnswer::Fenced { .. }), "{answer:?}");
    assert_eq!(w.there.read(&key).await, None);
}

/// A replacement whose answer was lost is asked again and leaves the same state.
pub(crate) async fn c089_a_replacement_asked_again_leaves_the_same_outcome(w: &World) {
    let key = w.key("k");
    let ask = put(Token::random(), b"put");
    w.here.replace(&key, ask.clone()).await;
    w.here.replace(&key, ask.clone()).await;
    let state = w.there.state(&key).await;
    assert_eq!(state.token, ask.envelope.token);
    assert_eq!(state.payload, ask.envelope.payload);
}

/// A question that is done twice is one: the flight behind it knows nothing of what was replaced.
pub(crate) async fn c136_a_replacement_asked_again_does_not_fence_the_flight_behind_it(w: &World) {
    let key = w.key("k");
    let ask = put(Token::random(), b"put");
    let before = lead(&w.here, &key).await;
    assert!(w.here.replace(&key, ask.clone()).await);
    assert!(w.here.replace(&key, ask.clone()).await, "it was fenced");
    w.here.abandon(&key, before).await;
    let behind = lead(&w.here, &key).await;
    assert!(!w.here.replace(&key, ask).await);
    let answer = w.here.finish(&key, done(behind, b"value")).await;
    assert_eq!(answer, FinishAnswer::Stored);
}
