//! Setting up: one builder makes everything, and each part of it can be the application's own.

use std::sync::Arc;

use coalesce::{Coalescer, MemoryCoordinator, Position, Scope, coalesce};

use crate::scene::{Ledger, MS, Pod, Scene};

#[coalesce(skip(pod), coalescer = pod.coalescer, fresh_ttl = "60s", max_payload = "${SETUP_PAYLOAD:1MiB}")]
async fn text_of(pod: &Pod, length: usize) -> String {
    pod.ledger.run(MS).await;
    "x".repeat(length)
}

/// J-S01, J-S02.
#[tokio::test]
async fn an_url_is_all_it_takes() {
    let scene = Scene::new();
    let coalescer = Coalescer::builder().redis(scene.server.url()).build();
    let pod = Pod {
        coalescer: coalescer.await.unwrap(),
        ledger: Ledger::default(),
    };
    assert_eq!(pod.coalescer.backend(), "redis");
    assert_eq!(pod.coalescer.counts(), coalesce::Counts::default());
    text_of(&pod, 5).await;
    let stored = scene.server.command(&["KEYS", "coalesce:state:*"]).list();
    assert_eq!(stored.len(), 1);
    let on = Position::on();
    let replaced = pod.coalescer.switch(&Scope::Everything, &on).await;
    assert_eq!(replaced.unwrap().replaced, None);
    let position = scene.server.command(&["HLEN", "coalesce:switch"]);
    assert_eq!(position.number(), 1, "the switch is in Redis");
}

/// J-S05, J-S12.
#[tokio::test]
async fn a_coordinator_of_the_applications_own_takes_the_place_of_redis() {
    let coordinator = Arc::new(MemoryCoordinator::new());
    let mut pods = Vec::new();
    for _ in 0..2 {
        let builder = Coalescer::builder().coordinator(coordinator.clone());
        pods.push(Pod {
            coalescer: builder.build().await.unwrap(),
            ledger: Ledger::default(),
        });
    }
    for pod in &pods {
        assert_eq!(pod.coalescer.backend(), "memory");
        assert_eq!(text_of(pod, 5).await, "xxxxx");
    }
    assert_eq!((pods[0].ledger.runs(), pods[1].ledger.runs()), (1, 0));
}

/// J-S09.
#[tokio::test]
async fn the_payload_limit_can_be_configured() {
    let scene = Scene::new();
    let pod = scene
        .pod_with(|builder| builder.value("SETUP_PAYLOAD", "2048"))
        .await;
    // Three bytes of the encoding are not the text's.
    for (length, runs) in [(2_045, 1), (2_046, 2)] {
        let before = scene.ledger.runs();
        for _ in 0..2 {
            assert_eq!(text_of(&pod, length).await.len(), length);
        }
        assert_eq!(scene.ledger.runs() - before, runs, "{length} bytes");
    }
}
