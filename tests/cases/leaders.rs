//! Leaders that go away, panic, come too late, or meet themselves.

use std::pin::Pin;

use coalesce::coalesce;
use tokio::time::Instant;

use crate::scene::{Failure, Gate, MS, Pod, Scene, answers, callers, eventually};

#[coalesce(key = id, skip(pod, gate), coalescer = pod.coalescer, fresh_ttl = "60s")]
async fn detached(pod: &Pod, id: u64, gate: &Gate) -> u64 {
    pod.ledger.run_until(gate.passed()).await
}

#[coalesce(key = id, skip(pod, gate), coalescer = pod.coalescer, inline)]
async fn in_place(pod: &Pod, id: u64, gate: &Gate) -> u64 {
    pod.ledger.run_until(gate.passed()).await
}

#[coalesce(key = id, skip(pod), coalescer = pod.coalescer)]
async fn panics_first(pod: &Pod, id: u64) -> Result<Vec<u64>, Failure> {
    let run = pod.ledger.run(50 * MS).await;
    assert!(run > 1, "the first run panics");
    Ok(vec![run])
}

#[coalesce(key = id, skip(pod), coalescer = pod.coalescer)]
async fn panics_always(pod: &Pod, id: u64) -> Result<Vec<u64>, Failure> {
    pod.ledger.run(50 * MS).await;
    panic!("every run panics")
}

/// The first run lasts until the gate opens, far beyond pending; later ones end at once.
#[coalesce(
    key = id,
    skip(pod, gate),
    coalescer = pod.coalescer,
    fresh_ttl = "60s",
    pending_ttl = "200ms",
    wait_timeout = "20s"
)]
async fn overdue(pod: &Pod, id: u64, gate: &Gate) -> u64 {
    let first = pod.ledger.runs() == 0;
    let end = async {
        if first {
            gate.passed().await;
        }
    };
    pod.ledger.run_until(end).await
}

#[coalesce(key = id, skip(pod, depth), coalescer = pod.coalescer)]
fn recursive(pod: Pod, id: u64, depth: u32) -> Pin<Box<dyn Future<Output = u64> + Send>> {
    Box::pin(async move {
        match depth {
            0 => pod.ledger.run(10 * MS).await,
            _ => recursive(pod.clone(), id, depth - 1).await,
        }
    })
}

///
#[tokio::test]
async fn a_leader_whose_caller_goes_away_goes_on_for_the_others() {
    let scene = Scene::new();
    let (pods, gate) = (scene.pods(2).await, Gate::closed());
    let call = |pod: &Pod| {
        let (pod, gate) = (pod.clone(), gate.clone());
        tokio::spawn(async move { detached(&pod, 1, &gate).await })
    };
    let leading = call(&pods[0]);
    eventually("the body runs", || scene.ledger.runs() == 1).await;
    let following = [call(&pods[0]), call(&pods[1])];
    eventually("the other pod listens", || scene.channels() == 1).await;
    leading.abort();
    assert!(leading.await.unwrap_err().is_cancelled());
    gate.open();
    for caller in following {
        assert_eq!(caller.await.unwrap(), 1);
    }
    assert_eq!(scene.ledger.runs(), 1);
    scene.assert_nothing_left(&pods).await;
}

/// X-09, where the body is the caller's own and ends with it.
#[tokio::test]
async fn an_inline_leader_that_goes_away_frees_its_key_at_once() {
    let scene = Scene::new();
    let (pods, gate) = (scene.pods(2).await, Gate::closed());
    let call = |pod: &Pod| {
        let (pod, gate) = (pod.clone(), gate.clone());
        tokio::spawn(async move { in_place(&pod, 1, &gate).await })
    };
    let leading = call(&pods[0]);
    eventually("the body runs", || scene.ledger.runs() == 1).await;
    let following = call(&pods[1]);
    eventually("the other pod listens", || scene.channels() == 1).await;
    let gone = Instant::now();
    leading.abort();
    eventually("it has been replaced", || scene.ledger.runs() == 2).await;
    // Told by a message: a lease would have lasted three seconds.
    assert!(gone.elapsed() < 1_000 * MS, "{:?}", gone.elapsed());
    gate.open();
    assert_eq!(following.await.unwrap(), 2);
    scene.assert_nothing_left(&pods).await;
}

/// D8: what a caller's end takes with it must not be needed to tidy up.
#[tokio::test]
async fn when_every_caller_goes_away_the_flight_still_stores_its_value_and_frees_its_key() {
    let scene = Scene::new();
    let (pods, gate) = (scene.pods(2).await, Gate::closed());
    let waiting = callers(10, |number| {
        let (pod, gate) = (pods[number % 2].clone(), gate.clone());
        async move { detached(&pod, 1, &gate).await }
    });
    eventually("the body runs", || scene.ledger.runs() == 1).await;
    for caller in &waiting {
        caller.abort();
    }
    for caller in waiting {
        assert!(caller.await.unwrap_err().is_cancelled());
    }
    assert_eq!(scene.server.immortal_keys(), Vec::<String>::new());
    gate.open();
    let opened = Instant::now();
    scene.assert_nothing_left(&pods).await;
    assert!(opened.elapsed() < 1_000 * MS, "{:?}", opened.elapsed());
    assert_eq!(detached(&pods[1], 1, &gate).await, 1);
    assert_eq!(scene.ledger.runs(), 1);
}

/// X-10, D10.
#[tokio::test]
async fn a_panic_is_the_leading_callers_own_and_one_other_takes_over_at_once() {
    let scene = Scene::new();
    let pods = scene.pods(2).await;
    let begun = Instant::now();
    let waiting = callers(20, |number| {
        let pod = pods[number % 2].clone();
        async move { panics_first(&pod, 1).await }
    });
    let mut panicked = 0;
    for caller in waiting {
        match caller.await {
            Ok(answer) => assert_eq!(answer, Ok(vec![2])),
            Err(error) => panicked += usize::from(error.is_panic()),
        }
    }
    assert_eq!((panicked, scene.ledger.runs()), (1, 2));
    assert!(begun.elapsed() < 1_000 * MS, "{:?}", begun.elapsed());
    scene.assert_nothing_left(&pods).await;
}

/// D10, X-10.
#[tokio::test]
async fn a_body_that_always_panics_gives_nobody_an_empty_value() {
    let scene = Scene::new();
    let pods = scene.pods(2).await;
    let waiting = callers(20, |number| {
        let pod = pods[number % 2].clone();
        async move { panics_always(&pod, 1).await }
    });
    let (mut panicked, mut told) = (0, 0);
    for caller in waiting {
        match caller.await {
            Ok(Err(Failure::Coalesce(text))) => told += usize::from(text.contains("abandoned")),
            Ok(answer) => panic!("{answer:?}"),
            Err(error) => panicked += usize::from(error.is_panic()),
        }
    }
    assert_eq!(panicked + told, 20);
    assert_eq!(panicked, scene.ledger.runs());
    assert!(panicked <= 4, "{panicked} runs");
    scene.assert_nothing_left(&pods).await;
}

/// I-11 with a lease below the body, D6.
#[tokio::test]
async fn a_leader_that_is_overdue_is_replaced_and_its_late_value_refused() {
    let scene = Scene::new();
    let (pods, gate) = (scene.pods(2).await, Gate::closed());
    let call = |pod: &Pod| {
        let (pod, gate) = (pod.clone(), gate.clone());
        tokio::spawn(async move { overdue(&pod, 1, &gate).await })
    };
    let leading = call(&pods[0]);
    eventually("the body runs", || scene.ledger.runs() == 1).await;
    let following = [call(&pods[0]), call(&pods[1]), call(&pods[1])];
    for caller in following {
        assert_eq!(caller.await.unwrap(), 2);
    }
    gate.open();
    assert_eq!(leading.await.unwrap(), 1, "its own caller gets its own");
    for pod in &pods {
        assert_eq!(overdue(pod, 1, &gate).await, 2, "the newer value stays");
    }
    assert_eq!(scene.ledger.runs(), 2);
    assert_eq!(pods[0].coalescer.counts().fenced, 1);
    scene.assert_nothing_left(&pods).await;
}

///
#[tokio::test]
async fn a_body_that_reaches_its_own_key_runs_through() {
    let scene = Scene::new();
    let pods = scene.pods(2).await;
    let begun = Instant::now();
    let runs = answers(callers(10, |number| {
        recursive(pods[number % 2].clone(), 1, 3)
    }));
    assert_eq!(runs.await, [1; 10]);
    assert_eq!(scene.ledger.runs(), 1);
    assert!(begun.elapsed() < 500 * MS, "{:?}", begun.elapsed());
    scene.assert_nothing_left(&pods).await;
}
