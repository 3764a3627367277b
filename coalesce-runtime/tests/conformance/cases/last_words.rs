//! FINISH said again, or by somebody who never heard that it leads: its lock may be younger than its body.

use coalesce_runtime::coordination::{FinishAnswer, FinishAsk, Status};

use super::finish::retaking;
use crate::asks::{done, invalidation, lead, leave_value, ms};
use crate::world::World;

/// A body that began before an invalidation, under a lock that was granted behind it: a BEGIN may be late.
pub(crate) async fn c134_an_outcome_from_before_the_state_is_not_stored_under_a_late_lock(
    w: &World,
) {
    let key = w.key("k");
    let began = w.here.now().minus(ms(50));
    w.there.replace(&key, invalidation()).await;
    let token = lead(&w.here, &key).await;
    let mut ear = w.there.listen(&key).await;
    let late = FinishAsk {
        began: Some(began),
        ..done(token, b"value")
    };
    assert_eq!(w.here.finish(&key, late).await, FinishAnswer::Lost);
    assert_eq!(w.there.state(&key).await.status, Status::Invalidated);
    ear.has_heard_nothing(&w.here, &key).await;
    assert!(w.here.abandon(&key, token).await, "the lock is its own");
}

/// A state from before the body is what every flight replaces.
pub(crate) async fn c135_an_outcome_from_behind_the_state_is_stored_under_a_late_lock(w: &World) {
    let key = w.key("k");
    leave_value(&w.there, &key, b"old").await;
    w.pass(ms(50)).await;
    let began = w.here.now();
    let token = lead(&w.here, &key).await;
    let ask = FinishAsk {
        began: Some(began),
        ..done(token, b"value")
    };
    assert_eq!(w.here.finish(&key, ask.clone()).await, FinishAnswer::Stored);
    assert_eq!(
        w.here.finish(&key, ask).await,
        FinishAnswer::Stored,
        "again"
    );
    assert_eq!(w.there.state(&key).await.token, token);
}

/// A FINISH that did not arrive at first, and then behind an invalidation: who had joined gets the outcome all the same.
pub(crate) async fn c138_a_fenced_finish_said_again_tells_those_who_had_joined(w: &World) {
    let key = w.key("k");
    let began = w.here.now().minus(ms(50));
    let token = lead(&w.here, &key).await;
    w.there.replace(&key, invalidation()).await;
    let mut ear = w.there.listen(&key).await;
    let again = FinishAsk {
        began: Some(began),
        ..retaking(done(token, b"value"))
    };
    let FinishAnswer::Fenced { at } = w.here.finish(&key, again.clone()).await else {
        panic!("not fenced")
    };
    assert!(at > began);
    let (heard, fenced_at) = ear.hears_outcome().await;
    assert_eq!((heard.token, fenced_at), (token, Some(at)));
    assert_eq!(w.there.state(&key).await.status, Status::Invalidated);
    assert_eq!(w.here.finish(&key, again).await, FinishAnswer::Lost);
    ear.has_heard_nothing(&w.here, &key).await;
}

/// The same by somebody who never heard that it leads: an earlier invalidation may have come before its lock.
pub(crate) async fn c139_an_outcome_under_a_late_lock_is_for_those_from_before_its_body(w: &World) {
    let key = w.key("k");
    let began = w.here.now().minus(ms(50));
    w.there.replace(&key, invalidation()).await;
    let token = lead(&w.here, &key).await;
    w.there.replace(&key, invalidation()).await;
    let mut ear = w.there.listen(&key).await;
    let late = FinishAsk {
        began: Some(began),
        ..done(token, b"value")
    };
    let answer = w.here.finish(&key, late).await;
    assert_eq!(answer, FinishAnswer::Fenced { at: began });
    let (heard, fenced_at) = ear.hears_outcome().await;
    assert_eq!((heard.token, fenced_at), (token, Some(began)));
}
