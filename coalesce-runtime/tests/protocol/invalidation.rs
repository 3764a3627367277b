//! Invalidation: what was computed before it is not served behind it.

use std::sync::Arc;

use coalesce_runtime::contract::{Call, CallSite, path_of, place, register, shape};
use coalesce_runtime::{Coalescer, Entry, MemoryCoordinator};
use tokio::time::Instant;

use crate::fleet::{Failure, Fleet, Ledger, MS};
use crate::way::Way;

static SITE: CallSite = CallSite::new("get", place!()).fresh_ttl("60s");
register!(&SITE);

fn call_on(pod: &Coalescer) -> Call {
    Call::new(&SITE, path_of(|| {})).key(&[&1]).on(pod)
}

fn entry(pod: &Coalescer, ledger: &Ledger, span: u32) -> Entry<'static, u64> {
    let ledger = ledger.clone();
    call_on(pod).entry(
        shape!(u64),
        move || async move { ledger.run(span * MS).await },
    )
}

#[tokio::test(start_paused = true)]
async fn the_next_caller_behind_an_invalidation_leads_a_new_flight() {
    let (fleet, ledger) = (Fleet::of(2).await, Ledger::default());
    let [one, two] = &fleet.pods[..] else {
        panic!("two pods")
    };
    assert_eq!(entry(one, &ledger, 10).call().await, 1);
    assert_eq!(entry(two, &ledger, 10).peek().await, Ok(Some(1)));
    entry(two, &ledger, 10).invalidate().await.unwrap();
    assert_eq!(entry(one, &ledger, 10).peek().await, Ok(None));
    assert_eq!(entry(one, &ledger, 10).call().await, 2);
}

#[tokio::test(start_paused = true)]
async fn a_flight_in_progress_is_fenced_its_joiners_get_its_value_and_newcomers_do_not() {
    for invalidating_pod in 0..3 {
        let (fleet, ledger) = (Fleet::of(3).await, Ledger::default());
        let call =
            |pod: usize, span: u32| tokio::spawn(entry(&fleet.pods[pod], &ledger, span).call());
        let early = [call(0, 500), call(0, 500), call(1, 500)];
        tokio::time::sleep(100 * MS).await;
        entry(&fleet.pods[invalidating_pod], &ledger, 0)
            .invalidate()
            .await
            .unwrap();
        let late = [call(0, 50), call(1, 50), call(2, 50)];
        let (mut old, mut new) = (Vec::new(), Vec::new());
        for task in early {
            old.push(task.await.unwrap());
        }
        for task in late {
            new.push(task.await.unwrap());
        }
        assert_eq!(new, [2, 2, 2], "pod {invalidating_pod} invalidated");
        // Those who had joined may also have been given the newer value, but nobody waits in vain.
        assert!(old.iter().all(|run| [1, 2].contains(run)), "{old:?}");
        assert!(
            old.contains(&1),
            "the leader's own caller gets its own value: {old:?}"
        );
        assert_eq!(ledger.runs(), 2);
        assert_eq!(
            entry(&fleet.pods[2], &ledger, 0).peek().await,
            Ok(Some(2)),
            "the older value never comes back"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_fenced_flight_without_newcomers_still_reaches_its_joiners_and_is_not_retained() {
    let (fleet, ledger) = (Fleet::of(2).await, Ledger::default());
    let calls = [0, 0, 1, 1].map(|pod| tokio::spawn(entry(&fleet.pods[pod], &ledger, 500).call()));
    tokio::time::sleep(100 * MS).await;
    entry(&fleet.pods[1], &ledger, 0)
        .invalidate()
        .await
        .unwrap();
    for call in calls {
        assert_eq!(call.await.unwrap(), 1);
    }
    assert_eq!(entry(&fleet.pods[0], &ledger, 0).peek().await, Ok(None));
    fleet.assert_nothing_left().await;
}

#[tokio::test(start_paused = true)]
async fn a_value_put_during_a_flight_wins_over_it() {
    let (fleet, ledger) = (Fleet::of(2).await, Ledger::default());
    let flight = tokio::spawn(entry(&fleet.pods[0], &ledger, 500).call());
    tokio::time::sleep(100 * MS).await;
    entry(&fleet.pods[1], &ledger, 0).put(77).await.unwrap();
    assert_eq!(entry(&fleet.pods[1], &ledger, 0).call().await, 77);
    assert_eq!(
        flight.await.unwrap(),
        1,
        "its own caller gets its own value"
    );
    assert_eq!(entry(&fleet.pods[0], &ledger, 0).call().await, 77);
}

#[tokio::test(start_paused = true)]
async fn a_refresh_by_hand_gives_a_new_value_while_others_are_served_the_old_one() {
    let (fleet, ledger) = (Fleet::of(2).await, Ledger::default());
    assert_eq!(entry(&fleet.pods[0], &ledger, 10).call().await, 1);
    let refreshes = [0, 0, 1].map(|pod| entry(&fleet.pods[pod], &ledger, 100).refresh());
    let refreshes = refreshes.map(tokio::spawn);
    tokio::time::sleep(50 * MS).await;
    for pod in &fleet.pods {
        let begun = Instant::now();
        assert_eq!(entry(pod, &ledger, 10).call().await, 1);
        assert!(begun.elapsed() < MS, "nobody waits for the refresh");
    }
    for refresh in refreshes {
        assert_eq!(refresh.await.unwrap(), 2);
    }
    for pod in &fleet.pods {
        assert_eq!(entry(pod, &ledger, 10).call().await, 2);
    }
}

#[tokio::test(start_paused = true)]
async fn a_refresh_by_hand_that_fails_is_seen_by_nobody_else() {
    let fleet = Fleet::of(2).await;
    let down = || Err(Failure::Body("down".to_owned()));
    let entry = |pod: usize, answer: Result<u64, Failure>| {
        let call = call_on(&fleet.pods[pod]);
        call.entry(shape!(Result<u64, Failure>), move || async move {
            tokio::time::sleep(50 * MS).await;
            answer
        })
    };
    assert_eq!(entry(0, Ok(1)).call().await, Ok(1));
    let refresh = tokio::spawn(entry(0, down()).refresh());
    tokio::time::sleep(10 * MS).await;
    let meanwhile = [0, 1].map(|pod| tokio::spawn(entry(pod, Ok(2)).call()));
    assert_eq!(refresh.await.unwrap(), down());
    for call in meanwhile {
        assert_eq!(call.await.unwrap(), Ok(1));
    }
    assert_eq!(entry(0, Ok(2)).call().await, Ok(1));
}

#[tokio::test(start_paused = true)]
async fn who_finds_nothing_while_an_entry_is_refreshed_by_hand_shares_that_run() {
    let (fleet, ledger) = (Fleet::of(2).await, Ledger::default());
    let refresh = tokio::spawn(entry(&fleet.pods[0], &ledger, 100).refresh());
    tokio::time::sleep(10 * MS).await;
    let calls = [0, 0, 1].map(|pod| tokio::spawn(entry(&fleet.pods[pod], &ledger, 100).call()));
    assert_eq!(refresh.await.unwrap(), 1);
    for call in calls {
        assert_eq!(call.await.unwrap(), 1);
    }
    fleet.assert_nothing_left().await;
}

#[tokio::test(start_paused = true)]
async fn a_flight_may_invalidate_its_own_entry() {
    let (fleet, ledger) = (Fleet::of(1).await, Ledger::default());
    let (pod, inner) = (fleet.pods[0].clone(), ledger.clone());
    let call = call_on(&fleet.pods[0]);
    let value = call
        .run(shape!(u64), move || async move {
            entry(&pod, &inner, 0).invalidate().await.unwrap();
            inner.run(10 * MS).await
        })
        .await;
    assert_eq!(value, 1);
}

#[tokio::test(start_paused = true)]
async fn a_flight_that_refreshes_its_own_entry_runs_through() {
    let (fleet, ledger) = (Fleet::of(1).await, Ledger::default());
    let (pod, inner) = (fleet.pods[0].clone(), ledger.clone());
    let call = call_on(&fleet.pods[0]);
    let begun = Instant::now();
    let refreshed = call
        .run(shape!(u64), move || async move {
            entry(&pod, &inner, 10).refresh().await
        })
        .await;
    assert_eq!((refreshed, begun.elapsed()), (1, 10 * MS));
}

#[tokio::test(start_paused = true)]
async fn behind_a_shutdown_a_refresh_by_hand_runs_as_if_the_attribute_were_not_there() {
    let (fleet, ledger) = (Fleet::of(1).await, Ledger::default());
    fleet.pods[0].shutdown(MS).await;
    assert_eq!(entry(&fleet.pods[0], &ledger, 10).refresh().await, 1);
    let counts = fleet.pods[0].counts();
    assert_eq!((counts.bypassed, counts.led), (1, 0));
}

/// The leader's process learns of it with its next renewal.
#[tokio::test(start_paused = true)]
async fn who_comes_to_the_leaders_process_before_it_knows_of_an_invalidation_waits_for_no_fenced_body()
 {
    let (fleet, ledger) = (Fleet::of(2).await, Ledger::default());
    let [one, two] = &fleet.pods[..] else {
        panic!("two pods")
    };
    let early = [(); 2].map(|()| tokio::spawn(entry(one, &ledger, 20_000).call()));
    tokio::time::sleep(100 * MS).await;
    entry(two, &ledger, 0).invalidate().await.unwrap();
    tokio::time::sleep(100 * MS).await;
    let begun = Instant::now();
    assert_eq!(entry(one, &ledger, 50).call().await, 2);
    assert!(begun.elapsed() < 1_200 * MS, "{:?}", begun.elapsed());
    for call in early {
        assert_eq!(call.await.unwrap(), 1, "who had joined gets its value");
    }
    assert_eq!(ledger.runs(), 2);
}

/// A process that follows learns of it with the message.
#[tokio::test(start_paused = true)]
async fn who_comes_to_a_process_that_is_told_of_an_invalidation_late_waits_for_no_fenced_body() {
    let (inner, ledger) = (MemoryCoordinator::new(), Ledger::default());
    let way = Way::to(&inner);
    way.delays_messages(100 * MS);
    let one = Coalescer::builder().coordinator(Arc::new(inner));
    let two = Coalescer::builder().coordinator(way);
    // Its polls are those at the end of the lease.
    let two = two.polls(60_000 * MS, 60_000 * MS);
    let (one, two) = (one.build().await.unwrap(), two.build().await.unwrap());
    let leader = tokio::spawn(entry(&one, &ledger, 20_000).call());
    tokio::time::sleep(100 * MS).await;
    let follower = tokio::spawn(entry(&two, &ledger, 20_000).call());
    tokio::time::sleep(500 * MS).await;
    entry(&one, &ledger, 0).invalidate().await.unwrap();
    tokio::time::sleep(10 * MS).await;
    let begun = Instant::now();
    assert_eq!(entry(&two, &ledger, 50).call().await, 2);
    assert_eq!(begun.elapsed(), 140 * MS);
    assert_eq!(leader.await.unwrap(), 1);
    assert!([1, 2].contains(&follower.await.unwrap()));
    assert_eq!(ledger.runs(), 2);
}

/// A process that follows learns of it with its next poll, when the message is lost.
#[tokio::test(start_paused = true)]
async fn who_comes_to_a_process_that_has_missed_an_invalidation_waits_for_no_fenced_body() {
    let (inner, ledger) = (MemoryCoordinator::new(), Ledger::default());
    let way = Way::to(&inner);
    way.loses_messages();
    let one = Coalescer::builder().coordinator(Arc::new(inner));
    let two = Coalescer::builder().coordinator(way);
    let (one, two) = (one.build().await.unwrap(), two.build().await.unwrap());
    let leader = tokio::spawn(entry(&one, &ledger, 20_000).call());
    tokio::time::sleep(100 * MS).await;
    let follower = tokio::spawn(entry(&two, &ledger, 20_000).call());
    tokio::time::sleep(5_000 * MS).await;
    entry(&one, &ledger, 0).invalidate().await.unwrap();
    tokio::time::sleep(10 * MS).await;
    let begun = Instant::now();
    assert_eq!(entry(&two, &ledger, 50).call().await, 2);
    assert!(begun.elapsed() < 1_500 * MS, "{:?}", begun.elapsed());
    assert_eq!(leader.await.unwrap(), 1);
    assert!([1, 2].contains(&follower.await.unwrap()));
    assert_eq!(ledger.runs(), 2);
}

/// A process that invalidates itself knows of it with the answer, and not with its next renewal or message.
#[tokio::test(start_paused = true)]
async fn who_comes_to_a_process_while_it_invalidates_waits_for_no_fenced_body() {
    for leads in [true, false] {
        let (inner, ledger) = (MemoryCoordinator::new(), Ledger::default());
        let way = Way::long(&inner, 20 * MS);
        way.loses_messages();
        let builder = Coalescer::builder().coordinator(way);
        let pod = builder.polls(60_000 * MS, 60_000 * MS).build();
        let pod = pod.await.unwrap();
        let other = Coalescer::builder().coordinator(Arc::new(inner));
        let other = other.build().await.unwrap();
        let leader = if leads { &pod } else { &other };
        let leader = tokio::spawn(entry(leader, &ledger, 5_000).call());
        tokio::time::sleep(100 * MS).await;
        let early = tokio::spawn(entry(&pod, &ledger, 5_000).call());
        // Just behind a renewal and a question.
        tokio::time::sleep(1_000 * MS).await;
        let invalidation = tokio::spawn(entry(&pod, &ledger, 0).invalidate());
        tokio::time::sleep(10 * MS).await;
        let begun = Instant::now();
        assert_eq!(entry(&pod, &ledger, 50).call().await, 2);
        // Half of a trip, a look, BEGIN, the body and FINISH.
        assert_eq!(begun.elapsed(), 120 * MS, "leads: {leads}");
        invalidation.await.unwrap().unwrap();
        assert_eq!(leader.await.unwrap(), 1);
        assert!([1, 2].contains(&early.await.unwrap()));
        assert_eq!(ledger.runs(), 2);
    }
}
