//! Calls without the attribute: generic code, so that what a body returns is known by what serde says of it.

use std::sync::Arc;

use coalesce_runtime::contract::{CallSite, place, register};
use coalesce_runtime::coordination::{Coordinator as _, Envelope, Status};
use coalesce_runtime::{
    Coalescer, Error, Fault, Headers, Key, MemoryCoordinator, OnRedisError, Policy, call_sites,
};

use crate::fleet::{Failure, Fleet, Ledger, MS, all, in_flight_only, retaining};
use crate::way::Way;

/// What followers in another process and a later caller are given of a value.
async fn shared<T>(value: T) -> Vec<T>
where
    T: Clone + Send + Sync + serde::Serialize + serde::de::DeserializeOwned + 'static,
{
    let (fleet, ledger) = (Fleet::of(2).await, Ledger::default());
    let call = |pod: Coalescer| {
        let (value, ledger) = (value.clone(), ledger.clone());
        let call = pod.call("n").key(1).policy(retaining(60_000, 60_000));
        call.run(move || async move {
            ledger.run(10 * MS).await;
            value
        })
    };
    let mut answers = all(&fleet, 6, |pod, _| call(pod)).await;
    answers.push(call(fleet.pods[0].clone()).await);
    assert_eq!(ledger.runs(), 1);
    answers
}

#[tokio::test(start_paused = true)]
async fn an_option_reaches_everybody_as_it_was() {
    for value in [None, Some(None), Some(Some(None)), Some(Some(Some(7_u8)))] {
        assert_eq!(shared(value).await, vec![value; 7]);
    }
    assert_eq!(shared(Some(())).await, [Some(()); 7]);
    let fallible = Ok::<_, String>(Some(None::<u8>));
    assert_eq!(shared(fallible.clone()).await, vec![fallible; 7]);
}

#[tokio::test(start_paused = true)]
async fn an_option_in_a_result_reaches_everybody_as_it_was() {
    let fleet = Fleet::of(2).await;
    let answers = all(&fleet, 6, |pod, _| async move {
        let call = pod.call("n").key(1);
        call.try_run(|| async {
            tokio::time::sleep(10 * MS).await;
            Ok::<_, Failure>(Some(None::<u8>))
        })
        .await
    });
    assert_eq!(answers.await, vec![Ok(Some(None)); 6]);
}

type Answer = Result<u64, String>;

async fn answer(pod: &Coalescer, policy: impl Into<Arc<Policy>>, answer: Answer) -> Answer {
    let call = pod.call("n").key(1).policy(policy);
    call.run(move || async move { answer }).await
}

#[tokio::test(start_paused = true)]
async fn an_err_that_run_meets_is_shared_as_a_failure_and_never_retained_as_a_value() {
    let (fleet, ledger) = (Fleet::of(2).await, Ledger::default());
    let answers = all(&fleet, 6, |pod, _| {
        let ledger = ledger.clone();
        async move {
            let call = pod.call("n").key(1).policy(retaining(60_000, 60_000));
            call.run(move || async move {
                ledger.run(10 * MS).await;
                Err::<u64, _>("down".to_owned())
            })
            .await
        }
    });
    assert_eq!(answers.await, vec![Err("down".to_owned()); 6]);
    assert_eq!(ledger.runs(), 1);
    let state = fleet.coordinator.read(&Key::new("n", &[&1])).await.unwrap();
    let envelope = Envelope::decode(&Key::new("n", &[&1]), &state.unwrap()).unwrap();
    assert_eq!(envelope.status, Status::Failed);
    let pages = fleet.pods.iter().filter_map(|pod| pod.snapshot_of("n"));
    let endings = pages.map(|page| (page.endings.error, page.endings.value));
    assert_eq!(endings.max(), Some((1, 0)));
    let next = answer(&fleet.pods[1], retaining(60_000, 60_000), Ok(2)).await;
    assert_eq!(next, Ok(2));
}

#[tokio::test(start_paused = true)]
async fn an_err_that_run_meets_behind_a_stale_value_leaves_the_value_where_it_is() {
    let fleet = Fleet::of(1).await;
    let pod = &fleet.pods[0];
    let policy = retaining(1_000, 60_000);
    assert_eq!(answer(pod, policy.clone(), Ok(1)).await, Ok(1));
    tokio::time::sleep(1_500 * MS).await;
    for _ in 0..2 {
        let stale = answer(pod, policy.clone(), Err("down".to_owned())).await;
        assert_eq!(stale, Ok(1));
        tokio::time::sleep(100 * MS).await;
    }
    let counts = pod.counts();
    assert_eq!((counts.refreshes, counts.refresh_failures), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn an_err_that_run_meets_is_kept_for_as_long_as_the_policy_says() {
    let fleet = Fleet::of(1).await;
    let kept = in_flight_only(30_000, 45_000).keep_errors(20_000 * MS);
    let kept: Arc<Policy> = kept.into();
    let down = || Err("down".to_owned());
    assert_eq!(answer(&fleet.pods[0], kept.clone(), down()).await, down());
    assert_eq!(answer(&fleet.pods[0], kept.clone(), Ok(1)).await, down());
    tokio::time::sleep(20_000 * MS).await;
    assert_eq!(answer(&fleet.pods[0], kept, Ok(1)).await, Ok(1));
}

static TENANTS: CallSite = CallSite::new("of_a_tenant", place!())
    .header_keys(&["x-tenant"])
    .missing_header("error");
register!(&TENANTS);

/// The policy of an annotated function, as code beside the attribute takes it.
fn tenants() -> Arc<Policy> {
    let sites = call_sites();
    let mut sites = sites.iter().map(|site| (site.function(), site.policy()));
    let policy = sites.find_map(|(name, policy)| (name == "of_a_tenant").then_some(policy));
    Arc::new(policy.unwrap().clone())
}

#[tokio::test(start_paused = true)]
async fn the_headers_of_a_call_sites_policy_are_part_of_the_key() {
    let (fleet, ledger) = (Fleet::of(2).await, Ledger::default());
    let answers = all(&fleet, 8, |pod, index| {
        let ledger = ledger.clone();
        let tenant = ["acme", "globex"][index / 4];
        async move {
            let call = pod.call("n").key(1).policy(tenants());
            let call = call.run(move || async move {
                ledger.run(10 * MS).await;
                tenant.to_owned()
            });
            Headers::new([("X-Tenant", tenant)]).scope(call).await
        }
    });
    let expected = [["acme"; 4], ["globex"; 4]].concat();
    assert_eq!(
        (answers.await, ledger.runs()),
        (expected.iter().map(ToString::to_string).collect(), 2)
    );
}

#[tokio::test(start_paused = true)]
async fn a_header_that_is_missing_is_an_error_where_the_policy_says_so() {
    let (fleet, ledger) = (Fleet::of(1).await, Ledger::default());
    let pod = &fleet.pods[0];
    let call = || pod.call("n").key(1).policy(tenants());
    let missing = Error::MissingHeader {
        namespace: "n".into(),
        header: "x-tenant".into(),
    };
    let body = ledger.clone();
    let tried = call().try_run(|| async move { Ok::<_, Failure>(body.run(MS).await) });
    assert_eq!(tried.await, Err(Failure::Ours(missing)));
    // Who cannot say an error runs the body.
    let body = ledger.clone();
    assert_eq!(call().run(|| async move { body.run(MS).await }).await, 1);
    assert_eq!(ledger.runs(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_direct_call_has_an_entry_that_looks_stores_and_removes() {
    let fleet = Fleet::of(2).await;
    let [one, two] = &fleet.pods[..] else {
        panic!("two pods")
    };
    let call = |pod: &Coalescer| pod.call("n").key(1).policy(retaining(60_000, 60_000));
    let entry = |pod| call(pod).entry(|| async { 1_u64 });
    assert_eq!(entry(one).peek().await, Ok(None));
    entry(one).put(7).await.unwrap();
    assert_eq!(entry(two).peek().await, Ok(Some(7)));
    assert_eq!(call(two).run(|| async { 1_u64 }).await, 7);
    assert_eq!(entry(two).refresh().await, 1);
    call(one).invalidate().await.unwrap();
    assert_eq!(entry(two).peek().await, Ok(None));
    let tried = |value: Result<u64, Failure>| call(one).try_entry(|| async { value });
    assert_eq!(tried(Ok(3)).call().await, Ok(3));
    assert_eq!(tried(Ok(4)).peek().await, Ok(Some(Ok(3))));
}

/// One key, two callers in one process that come at the same moment, each with a policy of its own.
async fn together(policies: [Policy; 2], way: &Arc<Way>) -> [Result<u64, Failure>; 2] {
    let builder = Coalescer::builder().coordinator(way.clone());
    let (pod, mut calls) = (builder.build().await.unwrap(), Vec::new());
    for policy in policies {
        let call = pod.call("n").key(1).policy(policy);
        let body = || async { Ok::<u64, Failure>(2) };
        calls.push(tokio::spawn(call.try_run(body)));
    }
    let [one, two] = &mut calls[..] else {
        panic!("two calls")
    };
    [one.await.unwrap(), two.await.unwrap()]
}

#[tokio::test(start_paused = true)]
async fn each_caller_of_a_key_is_told_what_its_own_policy_says_of_a_stored_value() {
    let policies = [retaining(60_000, 60_000), retaining(1_000, 1_000)];
    let [long, short] = policies.map(Arc::unwrap_or_clone);
    for (one, two, expected) in [
        (long.clone(), short.clone(), [1, 2]),
        // The second joins the flight of the first.
        (short, long.clone(), [2, 2]),
        (long.clone(), in_flight_only(30_000, 45_000), [1, 2]),
        (long.clone(), long.clone(), [1, 1]),
    ] {
        let inner = MemoryCoordinator::new();
        let first = Coalescer::builder().coordinator(Arc::new(inner.clone()));
        let first = first.build().await.unwrap();
        let call = first.call("n").key(1).policy(long.clone());
        let stored = call.try_run(|| async { Ok::<u64, Failure>(1) });
        assert_eq!(stored.await, Ok(1));
        tokio::time::sleep(5_000 * MS).await;
        let way = Way::long(&inner, 10 * MS);
        assert_eq!(together([one, two], &way).await, expected.map(Ok));
    }
}

#[tokio::test(start_paused = true)]
async fn each_caller_of_a_key_fails_or_runs_without_a_coordinator_as_its_own_policy_says() {
    let way = Way::to(&MemoryCoordinator::new());
    way.cut(Fault::Timeout);
    let [runs, fails] = [OnRedisError::Run, OnRedisError::Fail]
        .map(|on_redis_error| in_flight_only(30_000, 45_000).on_redis_error(on_redis_error));
    let [failed, ran] = together([fails, runs], &way).await;
    assert_eq!(ran, Ok(2));
    assert!(
        matches!(failed, Err(Failure::Ours(Error::Unavailable { .. }))),
        "{failed:?}"
    );
}
