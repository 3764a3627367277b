//! How long callers wait, and what becomes of those who give up.

use coalesce::coalesce;
use tokio::time::Instant;

use crate::scene::{Failure, Gate, MS, Pod, Scene, answers, callers, eventually};

/// Clocks differ from pod to pod, as they do while a new configuration is rolled out.
#[coalesce(
    key = customer,
    skip(pod, gate),
    coalescer = pod.coalescer,
    pending_ttl = "${PENDING:200ms}",
    wait_timeout = "${WAIT:400ms}"
)]
async fn impatient(pod: &Pod, customer: &str, gate: &Gate) -> Result<u64, Failure> {
    Ok(pod.ledger.run_until(gate.passed()).await)
}

#[coalesce(key = id, skip(pod, gate), coalescer = pod.coalescer, wait_timeout = "none")]
async fn endless(pod: &Pod, id: u64, gate: &Gate) -> u64 {
    pod.ledger.run_until(gate.passed()).await
}

#[coalesce(
    key = id,
    skip(pod),
    coalescer = pod.coalescer,
    pending_ttl = "100ms",
    wait_timeout = "200ms"
)]
async fn plain(pod: &Pod, id: u64) -> u64 {
    pod.ledger.run(300 * MS).await
}

async fn patient_pod(scene: &Scene) -> Pod {
    scene
        .pod_with(|builder| builder.value("PENDING", "20s").value("WAIT", "30s"))
        .await
}

/// I-10, I-11, X-06.
#[tokio::test]
async fn who_gives_up_is_told_of_the_function_only_and_who_comes_later_joins_the_same_flight() {
    let scene = Scene::new();
    let (leader, follower, gate) = (patient_pod(&scene).await, scene.pod().await, Gate::closed());
    let call = |pod: &Pod| {
        let (pod, gate) = (pod.clone(), gate.clone());
        async move {
            let begun = Instant::now();
            let answer = impatient(&pod, "customer-4711", &gate).await;
            (answer, begun.elapsed())
        }
    };
    let leading = tokio::spawn(call(&leader));
    eventually("the body runs", || scene.ledger.runs() == 1).await;
    for (answer, waited) in answers(callers(9, |_| call(&follower))).await {
        let Err(Failure::Coalesce(text)) = answer else {
            panic!("{answer:?}")
        };
        assert!(
            text.contains("wait timeout") && text.contains("waiting::impatient"),
            "{text}"
        );
        assert!(!text.contains("4711"), "{text}");
        assert!(waited >= 400 * MS && waited < 1_400 * MS, "{waited:?}");
    }
    let late_pod = patient_pod(&scene).await;
    let late = tokio::spawn(call(&late_pod));
    eventually("it follows", || late_pod.coalescer.subscriptions() == 1).await;
    gate.open();
    for joined in [leading, late] {
        assert_eq!(joined.await.unwrap().0, Ok(1));
    }
    assert_eq!(scene.ledger.runs(), 1);
    assert_eq!(follower.coalescer.counts().timed_out, 9);
}

/// I-10 with the clocks in the relation that is asked for: who waits can always take over first.
#[tokio::test]
async fn a_flight_that_outlives_pending_is_taken_over_once_before_the_rest_give_up() {
    let scene = Scene::new();
    let (pod, gate) = (scene.pod().await, Gate::closed());
    let waiting = callers(10, |_| {
        let (pod, gate) = (pod.clone(), gate.clone());
        async move { impatient(&pod, "a", &gate).await }
    });
    eventually("eight have given up", || {
        pod.coalescer.counts().timed_out == 8
    })
    .await;
    gate.open();
    let answers = answers(waiting).await;
    let mut values: Vec<_> = answers.iter().filter_map(|it| it.as_ref().ok()).collect();
    values.sort_unstable();
    assert_eq!(values, [&1, &2], "{answers:?}");
    assert_eq!((scene.ledger.runs(), answers.len()), (2, 10));
    scene.assert_nothing_left(&[pod]).await;
}

/// I-12.
#[tokio::test]
async fn who_waits_without_a_limit_gets_the_outcome_of_a_flight_longer_than_its_lease() {
    let scene = Scene::new();
    let lease = 200 * MS;
    let (mut pods, gate) = (Vec::new(), Gate::closed());
    for _ in 0..2 {
        pods.push(scene.pod_with(|builder| builder.lease(lease)).await);
    }
    let begun = Instant::now();
    let waiting = callers(10, |number| {
        let (pod, gate) = (pods[number % 2].clone(), gate.clone());
        async move { endless(&pod, 1, &gate).await }
    });
    eventually("several leases have passed", || begun.elapsed() > 6 * lease).await;
    gate.open();
    assert_eq!(answers(waiting).await, [1; 10]);
    assert_eq!(scene.ledger.runs(), 1);
}

/// D4: where there is no error to return, giving up must not start a herd.
#[tokio::test]
async fn plain_functions_that_give_up_run_once_per_process() {
    let scene = Scene::new();
    let pods = scene.pods(4).await;
    let lock = "coalesce:lock:{cases::waiting::plain:1}";
    let stranger = "f".repeat(32);
    scene
        .server
        .command(&["SET", lock, &stranger, "PX", "60000"]);
    let runs = answers(callers(60, |number| {
        let pod = pods[number % 4].clone();
        async move { plain(&pod, 1).await }
    }));
    assert_eq!(runs.await.len(), 60);
    assert_eq!(scene.ledger.runs(), 4);
    scene.server.command(&["DEL", lock]);
    scene.assert_nothing_left(&pods).await;
}
