//! FINISH: an outcome becomes the key's state, once, and only its owner's.

use coalesce_runtime::Key;
use coalesce_runtime::coordination::{
    BeginAnswer, FinishAnswer, FinishAsk, Seen, Status, Token, Traceparent,
};

use crate::asks::{
    ANY_TIME, LONG, SHORT, begin, done, envelope, finish, followed, invalidation, is_lead, lead,
    lead_for, leave_value, ms, put,
};
use crate::world::World;

/// What the leader hands over is what anybody reads: status, codec, token, run time and payload.
pub(crate) async fn c039_a_finish_stores_the_outcome(w: &World) {
    let key = w.key("k");
    let token = lead(&w.here, &key).await;
    let ask = done(token, b"value");
    let handed_over = ask.envelope.clone();
    assert_eq!(w.here.finish(&key, ask).await, FinishAnswer::Stored);
    let mut stored = w.there.state(&key).await;
    stored.computed_at = handed_over.computed_at;
    assert_eq!(stored, handed_over);
}

/// The lock goes with the outcome: whoever does not want it may lead at once.
pub(crate) async fn c040_a_finish_frees_the_lock(w: &World) {
    let key = w.key("k");
    let token = leave_value(&w.here, &key, b"value").await;
    let answer = w.there.begin(&key, begin(Token::random())).await;
    assert_eq!(answer, BeginAnswer::Lead { seen: token.into() });
}

/// Whoever hears of an outcome can read it: it is published after it is stored.
pub(crate) async fn c041_an_outcome_is_stored_before_it_is_published(w: &World) {
    for round in 0..20 {
        let key = w.key(&round.to_string());
        let mut ear = w.there.listen(&key).await;
        let token = leave_value(&w.here, &key, b"value").await;
        let (heard, fenced_at) = ear.hears_outcome().await;
        assert_eq!((heard.token, fenced_at), (token, None));
        assert_eq!(w.there.state(&key).await, heard);
    }
}

/// The message holds the very outcome that is stored, its time included.
pub(crate) async fn c042_a_published_outcome_is_the_stored_one(w: &World) {
    let key = w.key("k");
    let mut ear = w.there.listen(&key).await;
    leave_value(&w.here, &key, b"value").await;
    let (heard, _) = ear.hears_outcome().await;
    assert_eq!(heard, w.here.state(&key).await);
}

/// A finish whose answer was lost is asked again: same answer, same state, no second message.
pub(crate) async fn c043_a_finish_asked_again_is_the_same_finish(w: &World) {
    let key = w.key("k");
    let mut ear = w.there.listen(&key).await;
    let token = leave_value(&w.here, &key, b"value").await;
    let stored = w.there.read(&key).await;
    w.pass(ms(5)).await;
    // A refresh that has a value has nothing to spare.
    for spare_value in [None, Some(ms(1_000))] {
        let again = FinishAsk {
            spare_value,
            ..done(token, b"value")
        };
        assert_eq!(w.here.finish(&key, again).await, FinishAnswer::Stored);
        assert_eq!(w.there.read(&key).await, stored);
    }
    assert_eq!(ear.hears_outcome().await.0.token, token);
    ear.has_heard_nothing(&w.here, &key).await;
}

/// A finish asked again while the next flight runs leaves that one's lock alone.
pub(crate) async fn c044_a_finish_asked_again_leaves_the_next_flight_alone(w: &World) {
    let key = w.key("k");
    let token = leave_value(&w.here, &key, b"value").await;
    let next = lead(&w.there, &key).await;
    assert_eq!(
        w.here.finish(&key, done(token, b"value")).await,
        FinishAnswer::Stored
    );
    let answer = w.there.begin(&key, begin(Token::random())).await;
    assert_eq!(followed(&answer), Some(next));
}

/// A superseded leader writes nothing, tells nobody and frees nothing that is another's.
pub(crate) async fn c045_a_late_finish_is_refused(w: &World) {
    let key = w.key("k");
    let old = lead_for(&w.here, &key, SHORT).await;
    w.pass(SHORT).await;
    let new = lead(&w.there, &key).await;
    let mut ear = w.there.listen(&key).await;
    let late = retaking(done(old, b"late"));
    assert_eq!(w.here.finish(&key, late).await, FinishAnswer::Lost);
    assert_eq!(w.there.read(&key).await, None);
    let answer = w.here.begin(&key, begin(Token::random())).await;
    assert_eq!(followed(&answer), Some(new));
    ear.has_heard_nothing(&w.here, &key).await;
}

/// The outcome of a flight that began earlier never replaces that of one that began later.
pub(crate) async fn c046_a_late_finish_does_not_overwrite_newer_state(w: &World) {
    let key = w.key("k");
    let old = lead_for(&w.here, &key, SHORT).await;
    w.pass(SHORT).await;
    let new = leave_value(&w.there, &key, b"new").await;
    let late = retaking(done(old, b"late"));
    assert_eq!(w.here.finish(&key, late).await, FinishAnswer::Lost);
    assert_eq!(w.there.state(&key).await.token, new);
}

/// A stranger's finish does nothing, whatever it claims.
pub(crate) async fn c047_a_strangers_finish_is_refused(w: &World) {
    let key = w.key("k");
    let owner = lead(&w.here, &key).await;
    let forged = retaking(done(Token::random(), b"forged"));
    let answer = w.there.finish(&key, forged.clone()).await;
    assert_eq!(answer, FinishAnswer::Lost);
    w.here.replace(&key, invalidation()).await;
    assert_eq!(w.there.finish(&key, forged).await, FinishAnswer::Lost);
    let answer = w.here.finish(&key, done(owner, b"value")).await;
    assert!(matches!(answer, FinishAnswer::Fenced { .. }), "{answer:?}");
}

pub(super) fn retaking(ask: FinishAsk) -> FinishAsk {
    FinishAsk {
        retake_until: ANY_TIME,
        ..ask
    }
}

/// A lock that is merely gone does not cost the outcome.
pub(crate) async fn c048_a_finish_after_the_lock_is_gone_may_retake_it(w: &World) {
    let key = w.key("k");
    let token = ended_lease(w, &key).await;
    let mut ear = w.there.listen(&key).await;
    let ask = retaking(done(token, b"value"));
    assert_eq!(w.here.finish(&key, ask).await, FinishAnswer::Stored);
    assert_eq!(w.there.state(&key).await.token, token);
    assert_eq!(ear.hears_outcome().await.0.token, token);
}

/// Once the longest time for a flight is over, its outcome is too late even for an empty place.
pub(crate) async fn c049_a_finish_after_the_lock_is_gone_is_refused_when_it_may_not_retake(
    w: &World,
) {
    let key = w.key("k");
    let token = ended_lease(w, &key).await;
    let mut ear = w.there.listen(&key).await;
    assert_eq!(
        w.here.finish(&key, done(token, b"value")).await,
        FinishAnswer::Lost
    );
    assert_eq!(w.there.read(&key).await, None);
    ear.has_heard_nothing(&w.here, &key).await;
}

/// A retake is for a place where nothing has happened.
pub(crate) async fn c050_a_finish_does_not_retake_when_the_state_has_changed(w: &World) {
    let key = w.key("k");
    let token = ended_lease(w, &key).await;
    let newer = put(Token::random(), b"put");
    let mark = newer.envelope.token;
    w.there.replace(&key, newer).await;
    let ask = retaking(done(token, b"value"));
    assert_eq!(w.here.finish(&key, ask).await, FinishAnswer::Lost);
    assert_eq!(w.there.state(&key).await.token, mark);
}

/// What was invalidated is not brought back by a flight that had lost its lock.
pub(crate) async fn c051_a_finish_does_not_retake_after_an_invalidation(w: &World) {
    let key = w.key("k");
    let token = ended_lease(w, &key).await;
    w.there.replace(&key, invalidation()).await;
    let ask = retaking(done(token, b"value"));
    assert_eq!(w.here.finish(&key, ask).await, FinishAnswer::Lost);
    assert_eq!(w.there.state(&key).await.status, Status::Invalidated);
}

async fn ended_lease(w: &World, key: &Key) -> Token {
    let token = lead_for(&w.here, key, SHORT).await;
    w.pass(SHORT).await;
    token
}

/// The old state may expire under a running flight; a lock that is held is enough.
pub(crate) async fn c052_an_owner_finishes_whatever_has_become_of_the_old_state(w: &World) {
    let key = w.key("k");
    let old = lead(&w.here, &key).await;
    let brief = FinishAsk {
        life: SHORT,
        ..done(old, b"old")
    };
    w.here.finish(&key, brief).await;
    let token = lead(&w.here, &key).await;
    w.pass(SHORT).await;
    let ask = FinishAsk {
        seen: Seen::from(old),
        ..done(token, b"new")
    };
    assert_eq!(w.here.finish(&key, ask).await, FinishAnswer::Stored);
}

/// A fenced flight's outcome is for those who had joined it: published with the fence, not stored.
pub(crate) async fn c053_a_fenced_finish_is_published_and_not_stored(w: &World) {
    let key = w.key("k");
    let token = lead(&w.here, &key).await;
    w.there.replace(&key, invalidation()).await;
    let mut ear = w.there.listen(&key).await;
    let FinishAnswer::Fenced { at } = w.here.finish(&key, done(token, b"value")).await else {
        panic!("not fenced")
    };
    let (heard, fenced_at) = ear.hears_outcome().await;
    assert_eq!((heard.token, fenced_at), (token, Some(at)));
    assert_eq!(&heard.payload[..], b"value");
    assert_eq!(w.there.state(&key).await.status, Status::Invalidated);
}

/// A fenced flight frees its lock like any other.
pub(crate) async fn c054_a_fenced_finish_frees_the_lock(w: &World) {
    let key = w.key("k");
    let token = lead(&w.here, &key).await;
    let invalidation = invalidation();
    let mark = Seen::from(invalidation.envelope.token);
    w.there.replace(&key, invalidation).await;
    w.here.finish(&key, done(token, b"value")).await;
    let late_follower = coalesce_runtime::coordination::BeginAsk {
        following: Some(token),
        ..begin(Token::random())
    };
    let answer = w.there.begin(&key, late_follower).await;
    assert_eq!(answer, BeginAnswer::Lead { seen: mark });
}

/// After a fence the newcomer's flight is the key's; the fenced one has nothing left to finish.
pub(crate) async fn c055_a_fenced_finish_after_a_newcomers_election_is_refused(w: &World) {
    let key = w.key("k");
    let fenced = lead(&w.here, &key).await;
    w.there.replace(&key, invalidation()).await;
    let newcomer = lead(&w.there, &key).await;
    let mut ear = w.there.listen(&key).await;
    assert_eq!(
        w.here.finish(&key, retaking(done(fenced, b"old"))).await,
        FinishAnswer::Lost
    );
    assert_eq!(
        w.there.finish(&key, done(newcomer, b"new")).await,
        FinishAnswer::Stored
    );
    assert_eq!(ear.hears_outcome().await.0.token, newcomer);
}

/// A value of no bytes is a value.
pub(crate) async fn c056_an_empty_payload_is_stored_as_a_value(w: &World) {
    let key = w.key("k");
    leave_value(&w.here, &key, b"").await;
    let stored = w.there.state(&key).await;
    assert_eq!((stored.status, stored.payload.len()), (Status::Done, 0));
}

/// Payloads are bytes, not text, and come back whole.
pub(crate) async fn c057_any_bytes_come_back_as_they_were(w: &World) {
    let key = w.key("k");
    let token = lead(&w.here, &key).await;
    let payload = (0..=255).cycle().take(1024 * 1024).collect::<Vec<u8>>();
    let ask = finish(envelope(Status::Done, token, payload.clone()));
    assert_eq!(w.here.finish(&key, ask).await, FinishAnswer::Stored);
    let stored = w.there.state(&key).await;
    assert!(stored.payload == payload, "the payload has changed");
}

/// "Too large" is an outcome of its own, so that nobody waits for a value that never comes.
pub(crate) async fn c058_a_too_large_marker_is_stored_and_published(w: &World) {
    let key = w.key("k");
    let mut ear = w.there.listen(&key).await;
    let token = lead(&w.here, &key).await;
    let ask = finish(envelope(Status::TooLarge, token, &b""[..]));
    assert_eq!(w.here.finish(&key, ask).await, FinishAnswer::Stored);
    assert_eq!(ear.hears_outcome().await.0.status, Status::TooLarge);
    assert_eq!(w.there.state(&key).await.status, Status::TooLarge);
}

/// Two flights, one after the other: the later state stands, and both were told in their order.
pub(crate) async fn c059_the_next_flight_replaces_the_state(w: &World) {
    let key = w.key("k");
    let mut ear = w.there.listen(&key).await;
    let first = leave_value(&w.here, &key, b"one").await;
    let second = leave_value(&w.there, &key, b"two").await;
    assert_eq!(w.here.state(&key).await.token, second);
    assert_eq!(ear.hears_outcome().await.0.token, first);
    assert_eq!(ear.hears_outcome().await.0.token, second);
}

/// A finish on a key that nobody began is nobody's.
pub(crate) async fn c060_a_finish_without_a_flight_is_refused(w: &World) {
    let key = w.key("k");
    assert_eq!(
        w.here.finish(&key, done(Token::random(), b"value")).await,
        FinishAnswer::Lost
    );
    assert!(is_lead(&w.there.begin(&key, begin(Token::random())).await));
}

/// A FINISH that a server kept for long could undo what came and went in the meantime.
pub(crate) async fn c133_a_finish_does_not_retake_behind_its_time(w: &World) {
    let key = w.key("k");
    let token = ended_lease(w, &key).await;
    let by = |retake_until| FinishAsk {
        retake_until,
        ..done(token, b"value")
    };
    let late = by(w.here.now().minus(ms(50)));
    assert_eq!(w.here.finish(&key, late).await, FinishAnswer::Lost);
    assert_eq!(w.there.read(&key).await, None);
    let in_time = by(w.here.now().plus(LONG));
    assert_eq!(w.here.finish(&key, in_time).await, FinishAnswer::Stored);
}

/// What links a follower to its leader is behind the payload, and no business of a script.
pub(crate) async fn c137_a_trace_context_comes_back_as_it_was_and_is_told_with_the_outcome(
    w: &World,
) {
    let (key, trace) = (w.key("k"), Traceparent::from_bytes(&[7; Traceparent::LEN]));
    let mut ear = w.there.listen(&key).await;
    let token = lead(&w.here, &key).await;
    let mut ask = done(token, b"value");
    ask.envelope.trace = trace;
    assert_eq!(w.here.finish(&key, ask).await, FinishAnswer::Stored);
    let stored = w.there.state(&key).await;
    assert_eq!((&stored.payload[..], stored.trace), (&b"value"[..], trace));
    assert_eq!(ear.hears_outcome().await, (stored, None));
}
