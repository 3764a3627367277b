//! RENEW: how an owner stays one, and when it is one no longer.

use coalesce_runtime::coordination::{RenewAnswer, RenewAsk, Seen, Token};

use crate::asks::{
    LONG, SHORT, begin, done, followed, invalidation, is_lead, lead, lead_for, leave_value, ms,
    put, renew,
};
use crate::world::World;

/// A live leader slower than its lease is not doubled.
pub(crate) async fn c024_a_renewal_prolongs_the_lease(w: &World) {
    let key = w.key("k");
    let token = lead_for(&w.here, &key, SHORT).await;
    assert_eq!(w.here.renew(renew(&key, token)).await, RenewAnswer::Held);
    w.pass(SHORT).await;
    let other = w.there.begin(&key, begin(Token::random())).await;
    assert_eq!(followed(&other), Some(token));
}

/// A renewal sets the lease: near the longest time for a flight it is shorter than the one before.
pub(crate) async fn c025_a_renewal_can_shorten_the_lease(w: &World) {
    let key = w.key("k");
    let token = lead(&w.here, &key).await;
    let ask = RenewAsk {
        lease: SHORT,
        ..renew(&key, token)
    };
    assert_eq!(w.here.renew(ask).await, RenewAnswer::Held);
    w.pass(SHORT).await;
    assert!(is_lead(&w.there.begin(&key, begin(Token::random())).await));
}

/// An owner that was superseded learns it.
pub(crate) async fn c026_a_renewal_after_a_takeover_is_lost(w: &World) {
    let key = w.key("k");
    let old = lead_for(&w.here, &key, SHORT).await;
    w.pass(SHORT).await;
    let new = lead(&w.there, &key).await;
    assert_eq!(w.here.renew(renew(&key, old)).await, RenewAnswer::Lost);
    let answer = w.there.begin(&key, begin(Token::random())).await;
    assert_eq!(followed(&answer), Some(new));
}

/// A stranger's renewal of a held lock neither takes nor prolongs it.
pub(crate) async fn c027_a_strangers_renewal_does_nothing(w: &World) {
    let key = w.key("k");
    lead_for(&w.here, &key, SHORT).await;
    let stranger = Token::random();
    assert_eq!(
        w.there.renew(renew(&key, stranger)).await,
        RenewAnswer::Lost
    );
    w.pass(SHORT).await;
    assert!(is_lead(&w.there.begin(&key, begin(Token::random())).await));
}

/// A lock that is merely gone (Redis restarted, evicted, a late beat) is taken again.
pub(crate) async fn c028_a_lock_that_is_merely_gone_is_retaken(w: &World) {
    let key = w.key("k");
    let token = lead_for(&w.here, &key, SHORT).await;
    w.pass(SHORT).await;
    assert_eq!(w.here.renew(renew(&key, token)).await, RenewAnswer::Held);
    let answer = w.there.begin(&key, begin(Token::random())).await;
    assert_eq!(followed(&answer), Some(token));
}

/// A retaken lock has a lease like any other.
pub(crate) async fn c029_a_retaken_lock_ends_with_its_lease(w: &World) {
    let key = w.key("k");
    let token = lead_for(&w.here, &key, SHORT).await;
    w.pass(SHORT).await;
    let ask = RenewAsk {
        lease: SHORT,
        ..renew(&key, token)
    };
    assert_eq!(w.here.renew(ask).await, RenewAnswer::Held);
    w.pass(SHORT).await;
    assert!(is_lead(&w.there.begin(&key, begin(Token::random())).await));
}

/// An unchanged old state is no reason to give up a lock that is merely gone.
pub(crate) async fn c030_a_lock_is_retaken_below_the_state_of_its_election(w: &World) {
    let key = w.key("k");
    let old = leave_value(&w.here, &key, b"old").await;
    let token = lead_for(&w.here, &key, SHORT).await;
    w.pass(SHORT).await;
    let ask = RenewAsk {
        seen: old.into(),
        ..renew(&key, token)
    };
    assert_eq!(w.here.renew(ask).await, RenewAnswer::Held);
}

/// Somebody else has been here and has finished: the lock is not retaken.
pub(crate) async fn c031_a_lock_is_not_retaken_when_the_state_has_changed(w: &World) {
    let key = w.key("k");
    let token = lead_for(&w.here, &key, SHORT).await;
    w.pass(SHORT).await;
    leave_value(&w.there, &key, b"newer").await;
    assert_eq!(w.here.renew(renew(&key, token)).await, RenewAnswer::Lost);
    assert!(is_lead(&w.there.begin(&key, begin(Token::random())).await));
}

/// An invalidation counts as a change, or a flight could slip out of its fence.
pub(crate) async fn c032_a_lock_is_not_retaken_after_an_invalidation(w: &World) {
    let key = w.key("k");
    let token = lead_for(&w.here, &key, SHORT).await;
    w.there.replace(&key, invalidation()).await;
    w.pass(SHORT).await;
    assert_eq!(w.here.renew(renew(&key, token)).await, RenewAnswer::Lost);
}

/// A flight whose own outcome is stored is over, and a beat that comes late does not revive it.
pub(crate) async fn c033_a_beat_after_the_finish_does_not_take_the_lock_again(w: &World) {
    let key = w.key("k");
    let token = lead(&w.here, &key).await;
    w.here.finish(&key, done(token, b"value")).await;
    assert_eq!(w.here.renew(renew(&key, token)).await, RenewAnswer::Lost);
    assert!(is_lead(&w.there.begin(&key, begin(Token::random())).await));
}

/// A fenced leader learns since when it has been running for its own followers only.
pub(crate) async fn c034_a_fenced_owner_learns_since_when(w: &World) {
    let key = w.key("k");
    let token = lead(&w.here, &key).await;
    let before = w.here.now().minus(ms(50));
    w.there.replace(&key, invalidation()).await;
    let RenewAnswer::Fenced { at } = w.here.renew(renew(&key, token)).await else {
        panic!("not fenced")
    };
    assert!(
        before < at && at < w.here.now().plus(ms(50)),
        "{at:?} is not now"
    );
}

/// A renewal prolongs a fenced flight without lifting its fence.
pub(crate) async fn c035_a_renewal_keeps_the_fence_and_its_moment(w: &World) {
    let key = w.key("k");
    let token = lead_for(&w.here, &key, SHORT).await;
    w.there.replace(&key, put(Token::random(), b"put")).await;
    let first = w.here.renew(renew(&key, token)).await;
    assert!(matches!(first, RenewAnswer::Fenced { .. }), "{first:?}");
    w.pass(SHORT).await;
    assert_eq!(w.here.renew(renew(&key, token)).await, first);
}

/// One answer for each question, in the order of the questions, whatever the others are.
pub(crate) async fn c036_a_batch_is_answered_in_its_order(w: &World) {
    let keys = ["held", "lost", "fenced", "gone", "new"].map(|name| w.key(name));
    let [held, lost, fenced, gone, unknown] = &keys;
    let of_held = lead(&w.here, held).await;
    let of_lost = lead_for(&w.here, lost, SHORT).await;
    let of_fenced = lead(&w.here, fenced).await;
    let of_gone = lead_for(&w.here, gone, SHORT).await;
    w.there.replace(fenced, invalidation()).await;
    w.pass(SHORT).await;
    lead(&w.there, lost).await;
    let elsewhere = RenewAsk {
        seen: Seen::from(Token::random()),
        ..renew(unknown, Token::random())
    };
    let asks = [
        renew(held, of_held),
        renew(lost, of_lost),
        renew(fenced, of_fenced),
        renew(gone, of_gone),
        elsewhere,
    ];
    let answers = w.here.renew_all(&asks).await;
    assert_eq!(answers.len(), 5);
    assert_eq!(answers[0], RenewAnswer::Held);
    assert_eq!(answers[1], RenewAnswer::Lost);
    assert!(matches!(answers[2], RenewAnswer::Fenced { .. }));
    assert_eq!(answers[3], RenewAnswer::Held);
    assert_eq!(answers[4], RenewAnswer::Lost);
}

/// A process that leads nothing asks nothing, and is answered.
pub(crate) async fn c037_an_empty_batch_has_no_answers(w: &World) {
    assert!(w.here.renew_all(&[]).await.is_empty());
}

/// All the flights of a busy process are renewed in one go.
pub(crate) async fn c038_a_batch_of_five_hundred_is_renewed(w: &World) {
    let mut asks = Vec::new();
    for number in 0..500 {
        let key = w.key(&number.to_string());
        let token = lead_for(&w.here, &key, LONG).await;
        asks.push(renew(&key, token));
    }
    let answers = w.here.renew_all(&asks).await;
    assert_eq!(answers, vec![RenewAnswer::Held; 500]);
}

/// A beat that arrives late could undo what came and went in the meantime.
pub(crate) async fn c132_a_lock_is_not_retaken_behind_its_time(w: &World) {
    let key = w.key("k");
    let token = lead_for(&w.here, &key, SHORT).await;
    w.pass(SHORT).await;
    let by = |retake_until| RenewAsk {
        retake_until,
        ..renew(&key, token)
    };
    let late = by(w.here.now().minus(ms(50)));
    assert_eq!(w.here.renew(late).await, RenewAnswer::Lost);
    let in_time = by(w.here.now().plus(LONG));
    assert_eq!(w.here.renew(in_time).await, RenewAnswer::Held);
    let held = by(w.here.now().minus(ms(50)));
    assert_eq!(
        w.here.renew(held).await,
        RenewAnswer::Held,
        "it is not gone"
    );
}
