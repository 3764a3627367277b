//! Failed flights and flights without an outcome: what they leave, and what they leave alone.

use std::time::Duration;

use coalesce_runtime::Key;
use coalesce_runtime::coordination::{
    BeginAnswer, Envelope, FinishAnswer, FinishAsk, Message, Seen, Status, Token,
};

use crate::asks::{
    ANY_TIME, SHORT, begin, begin_below, done, failed, followed, invalidation, is_lead, lead,
    lead_for, leave_value, ms,
};
use crate::world::World;

const PAUSE: Duration = Duration::from_secs(2);

fn sparing(ask: FinishAsk) -> FinishAsk {
    FinishAsk {
        spare_value: Some(PAUSE),
        ..ask
    }
}

/// A refresh of the key's value that fails.
async fn failed_refresh(w: &World, key: &Key) -> FinishAnswer {
    let token = lead(&w.here, key).await;
    w.here.finish(key, sparing(failed(token, b"error"))).await
}

/// The pause noted in a state, as it is left now.
fn pause_left(w: &World, state: &Envelope) -> Duration {
    w.here.now().until(state.refresh_after)
}

/// A failed refresh never removes a good value.
pub(crate) async fn c061_a_failed_refresh_spares_the_value(w: &World) {
    let key = w.key("k");
    leave_value(&w.here, &key, b"value").await;
    let before = w.there.state(&key).await;
    assert_eq!(failed_refresh(w, &key).await, FinishAnswer::Spared);
    let after = w.there.state(&key).await;
    assert_eq!(after.status, Status::Done);
    assert_eq!(
        (after.payload, after.computed_at, after.ran_for),
        (before.payload, before.computed_at, before.ran_for)
    );
}

/// A failed refresh notes, in the value itself, that the next one waits.
pub(crate) async fn c062_a_failed_refresh_notes_the_pause(w: &World) {
    let key = w.key("k");
    leave_value(&w.here, &key, b"value").await;
    failed_refresh(w, &key).await;
    let state = w.there.state(&key).await;
    assert_eq!(state.failed_refreshes, 1);
    let left = pause_left(w, &state);
    assert!(left > PAUSE / 2 && left <= PAUSE + ms(50), "{left:?}");
}

/// Refresh after failed refresh, the pause grows.
pub(crate) async fn c063_the_pause_grows_with_each_failure(w: &World) {
    let key = w.key("k");
    leave_value(&w.here, &key, b"value").await;
    for (number, factor) in [(1, 1), (2, 2), (3, 4), (4, 8), (5, 16), (6, 30), (7, 30)] {
        assert_eq!(failed_refresh(w, &key).await, FinishAnswer::Spared);
        let state = w.there.state(&key).await;
        assert_eq!(state.failed_refreshes, number);
        let (left, pause) = (pause_left(w, &state), PAUSE * factor);
        assert!(
            left + PAUSE / 2 > pause && left <= pause + ms(50),
            "{left:?} after {number}"
        );
    }
}

/// A value that is refreshed forgets the failures before.
pub(crate) async fn c064_a_new_value_ends_the_pause(w: &World) {
    let key = w.key("k");
    leave_value(&w.here, &key, b"value").await;
    failed_refresh(w, &key).await;
    leave_value(&w.here, &key, b"fresh").await;
    let state = w.there.state(&key).await;
    assert_eq!(
        (state.failed_refreshes, state.refresh_after.as_micros()),
        (0, 0)
    );
}

/// A spared value lives as long as it would have lived.
pub(crate) async fn c065_a_spared_value_keeps_its_life(w: &World) {
    let key = w.key("k");
    let token = lead(&w.here, &key).await;
    let brief = FinishAsk {
        life: 2 * SHORT,
        ..done(token, b"value")
    };
    w.here.finish(&key, brief).await;
    w.pass(SHORT).await;
    assert_eq!(failed_refresh(w, &key).await, FinishAnswer::Spared);
    assert!(w.there.read(&key).await.is_some());
    w.pass(SHORT).await;
    assert_eq!(w.there.read(&key).await, None);
}

/// A failed refresh frees the lock.
pub(crate) async fn c066_a_failed_refresh_frees_the_lock(w: &World) {
    let key = w.key("k");
    leave_value(&w.here, &key, b"value").await;
    failed_refresh(w, &key).await;
    let seen = Seen::from(w.there.state(&key).await.token);
    let answer = w.there.begin(&key, begin(Token::random())).await;
    assert_eq!(answer, BeginAnswer::Lead { seen });
}

/// Those who joined a refresh that fails get its error, though it is not stored.
pub(crate) async fn c067_the_followers_of_a_failed_refresh_hear_its_error(w: &World) {
    let key = w.key("k");
    leave_value(&w.here, &key, b"value").await;
    let mut ear = w.there.listen(&key).await;
    failed_refresh(w, &key).await;
    let (heard, fenced_at) = ear.hears_outcome().await;
    assert_eq!((heard.status, fenced_at), (Status::Failed, None));
    assert_eq!(&heard.payload[..], b"error");
}

/// Without a value to spare an error is the outcome, for the followers to read.
pub(crate) async fn c068_an_error_is_stored_where_there_is_no_value(w: &World) {
    let key = w.key("k");
    assert_eq!(failed_refresh(w, &key).await, FinishAnswer::Stored);
    let state = w.there.state(&key).await;
    assert_eq!(
        (state.status, &state.payload[..]),
        (Status::Failed, &b"error"[..])
    );
}

/// Whoever does not ask to spare the value overwrites it.
pub(crate) async fn c069_an_error_overwrites_a_value_that_is_not_to_be_spared(w: &World) {
    let key = w.key("k");
    leave_value(&w.here, &key, b"value").await;
    let token = lead(&w.here, &key).await;
    let answer = w.here.finish(&key, failed(token, b"error")).await;
    assert_eq!(answer, FinishAnswer::Stored);
    assert_eq!(w.there.state(&key).await.status, Status::Failed);
}

/// Only values are spared: an error, a marker or an invalidation makes way for a newer error.
pub(crate) async fn c070_only_a_value_is_spared(w: &World) {
    let key = w.key("error");
    failed_refresh(w, &key).await;
    assert_eq!(failed_refresh(w, &key).await, FinishAnswer::Stored);
    let key = w.key("invalidated");
    w.here.replace(&key, invalidation()).await;
    assert_eq!(failed_refresh(w, &key).await, FinishAnswer::Stored);
}

/// The wish to spare a value is about errors: a value is replaced by a value.
pub(crate) async fn c071_a_value_is_replaced_by_a_value_that_would_have_spared_it(w: &World) {
    let key = w.key("k");
    leave_value(&w.here, &key, b"value").await;
    let token = lead(&w.here, &key).await;
    let answer = w.here.finish(&key, sparing(done(token, b"fresh"))).await;
    assert_eq!(answer, FinishAnswer::Stored);
    assert_eq!(w.there.state(&key).await.token, token);
}

/// A failed refresh of a superseded leader changes nothing, the pause included.
pub(crate) async fn c072_a_late_failure_notes_no_pause(w: &World) {
    let key = w.key("k");
    let value = leave_value(&w.here, &key, b"value").await;
    let old = lead_for(&w.here, &key, SHORT).await;
    w.pass(SHORT).await;
    lead(&w.there, &key).await;
    let late = FinishAsk {
        seen: Seen::from(value),
        retake_until: ANY_TIME,
        ..sparing(failed(old, b"error"))
    };
    assert_eq!(w.here.finish(&key, late).await, FinishAnswer::Lost);
    assert_eq!(w.there.state(&key).await.failed_refreshes, 0);
}

/// A failed refresh that is told twice has failed once.
pub(crate) async fn c130_a_failed_refresh_told_again_is_noted_once(w: &World) {
    let key = w.key("k");
    let value = leave_value(&w.here, &key, b"value").await;
    let token = lead(&w.here, &key).await;
    let ask = FinishAsk {
        seen: Seen::from(value),
        retake_until: ANY_TIME,
        ..sparing(failed(token, b"error"))
    };
    for _ in 0..2 {
        assert_eq!(w.here.finish(&key, ask.clone()).await, FinishAnswer::Spared);
        assert_eq!(w.there.state(&key).await.failed_refreshes, 1);
    }
}

/// Whoever looked before a refresh failed, and would refresh the value behind that, does not.
pub(crate) async fn c131_a_value_seen_before_its_refresh_failed_is_not_refreshed(w: &World) {
    let key = w.key("k");
    let value = leave_value(&w.here, &key, b"value").await;
    failed_refresh(w, &key).await;
    let answer = w
        .there
        .begin(&key, begin_below(Token::random(), value))
        .await;
    assert!(matches!(answer, BeginAnswer::State(_)), "{answer:?}");
}

/// A flight that ends without an outcome frees the key and says so, by name.
pub(crate) async fn c073_an_abandoned_flight_frees_the_lock_and_is_told(w: &World) {
    let key = w.key("k");
    let token = lead(&w.here, &key).await;
    let mut ear = w.there.listen(&key).await;
    assert!(w.here.abandon(&key, token).await);
    assert_eq!(
        ear.hears().await,
        Message::Abandoned {
            token,
            body_failed: true
        }
    );
    assert!(is_lead(&w.there.begin(&key, begin(Token::random())).await));
}

/// Only the owner frees a lock.
pub(crate) async fn c074_a_strangers_abandon_does_nothing(w: &World) {
    let key = w.key("k");
    let owner = lead(&w.here, &key).await;
    let mut ear = w.there.listen(&key).await;
    assert!(!w.there.abandon(&key, Token::random()).await);
    let answer = w.there.begin(&key, begin(Token::random())).await;
    assert_eq!(followed(&answer), Some(owner));
    ear.has_heard_nothing(&w.here, &key).await;
}

/// A lease that has ended is not given back: the lock may be another's by now.
pub(crate) async fn c075_an_abandon_after_the_lease_is_a_no_op(w: &World) {
    let key = w.key("k");
    let old = lead_for(&w.here, &key, SHORT).await;
    w.pass(SHORT).await;
    let new = lead(&w.there, &key).await;
    assert!(!w.here.abandon(&key, old).await);
    let answer = w.there.begin(&key, begin(Token::random())).await;
    assert_eq!(followed(&answer), Some(new));
}

/// Abandoning again changes nothing and is not told again.
pub(crate) async fn c076_an_abandon_asked_again_is_a_no_op(w: &World) {
    let key = w.key("k");
    let token = lead(&w.here, &key).await;
    let mut ear = w.there.listen(&key).await;
    assert!(w.here.abandon(&key, token).await);
    assert!(!w.here.abandon(&key, token).await);
    assert_eq!(
        ear.hears().await,
        Message::Abandoned {
            token,
            body_failed: true
        }
    );
    ear.has_heard_nothing(&w.here, &key).await;
}

/// A flight without an outcome takes nothing away.
pub(crate) async fn c077_an_abandoned_flight_leaves_the_state_as_it_is(w: &World) {
    let key = w.key("k");
    leave_value(&w.here, &key, b"value").await;
    let before = w.there.read(&key).await;
    let token = lead(&w.here, &key).await;
    assert!(w.here.abandon(&key, token).await);
    assert_eq!(w.there.read(&key).await, before);
}
