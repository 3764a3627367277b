//! Switches: off means that the body runs as if the attribute were not there, and that Redis is asked nothing.

use coalesce::{Position, Scope, coalesce};
use coalesce_rig::Monitor;

use crate::scene::{MS, Pod, Scene, answers, callers, eventually};

#[coalesce(skip(pod), coalescer = pod.coalescer, enabled = "${ENABLED:true}")]
async fn switched(pod: &Pod, id: u64) -> u64 {
    pod.ledger.run(50 * MS).await
}

#[coalesce(skip(pod), coalescer = pod.coalescer, enabled = false)]
async fn never_on(pod: &Pod, id: u64) -> u64 {
    pod.ledger.run(50 * MS).await
}

#[coalesce(skip(pod), coalescer = pod.coalescer, namespace = "other")]
async fn other(pod: &Pod, id: u64) -> u64 {
    pod.ledger.run(50 * MS).await
}

/// How many runs fifty callers make.
async fn runs_of_fifty(pod: &Pod) -> usize {
    let before = pod.ledger.runs();
    let calls = callers(50, |_| {
        let pod = pod.clone();
        async move { switched(&pod, 1).await }
    });
    assert_eq!(answers(calls).await.len(), 50);
    pod.ledger.runs() - before
}

/// I-17, J-A10: a value is resolved when its coalescer is built, and belongs to that one.
#[tokio::test]
async fn a_function_that_is_not_enabled_runs_for_every_caller_and_asks_redis_nothing() {
    let scene = Scene::new();
    let on = scene.pod().await;
    let off = scene.pod_with(|it| it.value("ENABLED", "false")).await;
    let mut monitor = Monitor::start(&scene.server);
    for _ in 0..2 {
        assert_eq!(runs_of_fifty(&off).await, 50);
        assert_eq!(monitor.take().all_sent(), 0);
        assert_eq!(runs_of_fifty(&on).await, 1);
        assert!(monitor.take().all_sent() > 0);
    }
    let counts = off.coalescer.counts();
    assert_eq!((counts.bypassed, counts.led, counts.followed), (100, 0, 0));
    let calls = callers(50, |_| {
        let pod = on.clone();
        async move { never_on(&pod, 1).await }
    });
    answers(calls).await;
    assert_eq!(scene.ledger.runs(), 100 + 2 + 50);
    assert_eq!(monitor.take().all_sent(), 0);
}

/// I-17, J-I08, J-I10, J-T02, J-D05.
#[tokio::test]
async fn turning_the_switch_off_and_on_in_one_pod_acts_on_the_other_without_a_restart() {
    let scene = Scene::new();
    let pods = scene.pods(2).await;
    let everything = Scope::Everything;
    assert_eq!(pods[1].coalescer.position(&everything), None);
    let set = pods[0]
        .coalescer
        .switch(&everything, &Position::off())
        .await;
    assert_eq!(set.unwrap().replaced, None);
    eventually("the other pod knows", || {
        pods[1].coalescer.position(&everything).is_some()
    })
    .await;
    let mut monitor = Monitor::start(&scene.server);
    assert_eq!(runs_of_fifty(&pods[1]).await, 50);
    assert_eq!(monitor.take().all_sent(), 0);
    let counts = pods[1].coalescer.counts();
    assert_eq!(counts.bypassed, 50);
    assert_eq!((counts.led, counts.followed, counts.fresh), (0, 0, 0));
    let cleared = pods[0].coalescer.clear_switch(&everything).await;
    assert_eq!(cleared, Ok(Some(Position::off())));
    eventually("the other pod knows", || {
        pods[1].coalescer.position(&everything).is_none()
    })
    .await;
    assert_eq!(runs_of_fifty(&pods[1]).await, 1);
    assert_eq!(pods[1].coalescer.counts().bypassed, 50);
}

/// J-I09, J-T05, J-T06.
#[tokio::test]
async fn one_namespace_can_be_off_while_another_goes_on() {
    let scene = Scene::new();
    let pod = scene.pod().await;
    let scope = Scope::namespace("other");
    let coalescer = &pod.coalescer;
    let set = coalescer.switch(&scope, &Position::off()).await;
    assert_eq!(set.unwrap().replaced, None);
    eventually("it knows", || coalescer.position(&scope).is_some()).await;
    let calls = callers(10, |_| {
        let pod = pod.clone();
        async move { other(&pod, 1).await }
    });
    answers(calls).await;
    assert_eq!(scene.ledger.runs(), 10);
    assert_eq!(runs_of_fifty(&pod).await, 1);
    let replaced = coalescer.switch(&scope, &Position::on()).await;
    assert_eq!(replaced.unwrap().replaced, Some(Position::off()));
    let cleared = coalescer.clear_switch(&scope).await;
    assert_eq!(cleared, Ok(Some(Position::on())));
    eventually("it knows", || coalescer.position(&scope).is_none()).await;
    let before = scene.ledger.runs();
    let calls = callers(10, |_| {
        let pod = pod.clone();
        async move { other(&pod, 1).await }
    });
    answers(calls).await;
    assert_eq!(scene.ledger.runs(), before + 1);
}
