//! Time and the rest: lives to the millisecond, stamps, the clock, and questions that nobody awaits.

use std::future::Future as _;
use std::pin::pin;
use std::task::{Context, Waker};
use std::time::Duration;

use coalesce_runtime::Key;
use coalesce_runtime::coordination::{BeginAsk, FinishAsk, ServerTime, Token};

use crate::asks::{begin, done, followed, is_lead, lead, lead_for, leave_value, ms};
use crate::world::World;

async fn leave_for(w: &World, name: &str, life: Duration) -> Key {
    let key = w.key(name);
    let token = lead(&w.here, &key).await;
    let ask = FinishAsk {
        life,
        ..done(token, b"value")
    };
    w.here.finish(&key, ask).await;
    key
}

/// The shortest life is a life, and it ends.
pub(crate) async fn c115_a_state_may_live_for_a_millisecond(w: &World) {
    let key = leave_for(w, "k", ms(1)).await;
    w.pass(ms(1)).await;
    assert_eq!(w.there.read(&key).await, None);
}

/// A life below a second is not rounded down to none, nor up.
pub(crate) async fn c116_a_state_may_live_for_999_milliseconds(w: &World) {
    let key = leave_for(w, "k", ms(999)).await;
    w.pass(ms(500)).await;
    assert!(w.there.read(&key).await.is_some());
    w.pass(ms(499)).await;
    assert_eq!(w.there.read(&key).await, None);
}

/// A life is not cut to whole seconds.
pub(crate) async fn c117_a_state_may_live_for_1500_milliseconds(w: &World) {
    let key = leave_for(w, "k", ms(1_500)).await;
    w.pass(ms(1_100)).await;
    assert!(w.there.read(&key).await.is_some());
    w.pass(ms(400)).await;
    assert_eq!(w.there.read(&key).await, None);
}

/// Leases have the same grain: 1.5 s is not 1 s.
pub(crate) async fn c118_a_lease_may_last_for_1500_milliseconds(w: &World) {
    let key = w.key("k");
    let token = lead_for(&w.here, &key, ms(1_500)).await;
    w.pass(ms(1_100)).await;
    let ask = begin(Token::random());
    assert_eq!(followed(&w.there.begin(&key, ask).await), Some(token));
    w.pass(ms(400)).await;
    assert!(is_lead(&w.there.begin(&key, ask).await));
}

/// A lease of less than the coordinator's grain is a lease, and ends.
pub(crate) async fn c119_a_lease_below_the_grain_is_rounded_up(w: &World) {
    let key = w.key("k");
    let ask = BeginAsk {
        lease: Duration::from_micros(1),
        ..begin(Token::random())
    };
    assert!(is_lead(&w.here.begin(&key, ask).await));
    w.pass(ms(1)).await;
    lead(&w.there, &key).await;
}

/// A year is a life as well.
pub(crate) async fn c120_a_state_may_live_for_a_year(w: &World) {
    let key = leave_for(w, "k", Duration::from_hours(365 * 24)).await;
    assert!(w.there.read(&key).await.is_some());
}

/// An outcome is as old as its body, not as the answer of a slow coordinator.
pub(crate) async fn c121_computed_at_is_when_the_body_ended(w: &World) {
    let key = w.key("k");
    let token = lead(&w.here, &key).await;
    let ended_ago = Duration::from_secs(30);
    let before = w.here.now().minus(ended_ago + ms(50));
    let ask = FinishAsk {
        ended_ago,
        ..done(token, b"value")
    };
    w.here.finish(&key, ask).await;
    let at = w.there.state(&key).await.computed_at;
    let after = w.here.now().minus(ended_ago).plus(ms(50));
    assert!(before < at && at < after, "{at:?} in {before:?}..{after:?}");
}

/// A leader knows best when its body ended; the way to the coordinator is not part of an outcome's age.
pub(crate) async fn c122_the_leaders_own_date_is_believed_when_it_can_be_true(w: &World) {
    let key = w.key("k");
    // The longer way: the server stood still with the question before it.
    for way in [ms(500), Duration::from_secs(30)] {
        let at = w.here.now().minus(way);
        leave_dated(w, &key, at).await;
        assert_eq!(w.there.state(&key).await.computed_at, at);
    }
}

/// A leader with a wrong idea of the time neither makes an outcome younger nor older than it can be.
pub(crate) async fn c123_a_date_that_cannot_be_true_is_not_believed(w: &World) {
    let far = Duration::from_secs(90);
    for (name, at) in [
        ("none", ServerTime::default()),
        ("early", w.here.now().minus(far)),
        ("late", w.here.now().plus(far)),
    ] {
        let key = w.key(name);
        let before = w.here.now().minus(ms(50));
        leave_dated(w, &key, at).await;
        let stamped = w.there.state(&key).await.computed_at;
        let after = w.here.now().plus(ms(50));
        assert!(before < stamped && stamped < after, "{name}: {stamped:?}");
    }
}

async fn leave_dated(w: &World, key: &Key, computed_at: ServerTime) {
    let token = lead(&w.here, key).await;
    let mut ask = done(token, b"value");
    ask.envelope.computed_at = computed_at;
    w.here.finish(key, ask).await;
}

/// Later is later, also across processes.
pub(crate) async fn c124_stamps_of_successive_flights_grow(w: &World) {
    let key = w.key("k");
    let mut last = ServerTime::default();
    for side in [&w.here, &w.there, &w.here, &w.there] {
        leave_value(side, &key, b"value").await;
        let at = w.there.state(&key).await.computed_at;
        assert!(at > last, "{at:?} after {last:?}");
        last = at;
        w.pass(ms(2)).await;
    }
}

/// What a process knows of the coordinator's clock agrees with what the coordinator stamps.
pub(crate) async fn c125_the_clock_agrees_with_the_stamps(w: &World) {
    let key = w.key("k");
    leave_value(&w.here, &key, b"value").await;
    for side in [&w.here, &w.there] {
        let stamped = side.state(&key).await.computed_at;
        let (now, slack) = (side.now(), ms(100));
        assert!(now.plus(slack) > stamped, "the clock is behind");
        assert!(stamped.until(now) < ms(1_000), "the clock is ahead");
    }
}

/// The coordinator's clock goes as fast as the process's.
pub(crate) async fn c126_the_clock_goes_with_time(w: &World) {
    let before = w.here.now();
    w.pass(ms(300)).await;
    let passed = before.until(w.here.now());
    assert!(passed >= ms(290), "{passed:?}");
}

/// A question whose asker goes away is asked to its end or not at all; the key stays usable.
pub(crate) async fn c127_a_question_that_nobody_awaits_wedges_nothing(w: &World) {
    let key = w.key("k");
    let token = Token::random();
    for polls in 0..3 {
        let ask = begin(token);
        let mut question = pin!(w.here.coordinator().begin(&key, &ask));
        for _ in 0..polls {
            let mut context = Context::from_waker(Waker::noop());
            if question.as_mut().poll(&mut context).is_ready() {
                break;
            }
        }
    }
    assert!(is_lead(&w.here.begin(&key, begin(token)).await));
    let other = w.there.begin(&key, begin(Token::random())).await;
    assert_eq!(followed(&other), Some(token));
}

/// Unrelated keys do not wait for one another.
pub(crate) async fn c128_a_thousand_keys_are_led_at_once(w: &World) {
    let mut asked = tokio::task::JoinSet::new();
    for number in 0..1_000 {
        let (side, key) = (w.here.clone(), w.key(&number.to_string()));
        asked.spawn(async move { side.begin(&key, begin(Token::random())).await });
    }
    assert!(asked.join_all().await.iter().all(is_lead));
}

/// A coordinator has a name for people, and can be closed.
pub(crate) async fn c129_a_coordinator_has_a_kind_and_closes(w: &World) {
    let coordinator = w.here.coordinator();
    assert!(!coordinator.kind().is_empty());
    assert_eq!(coordinator.close().await, Ok(()));
}
