//! Times to live down to the millisecond: honoured, and never without an end.

use coalesce::{Coalescer, coalesce};
use tokio::time::Instant;

use crate::scene::{MS, Pod, Scene, eventually};

macro_rules! fresh_for {
    ($($function:ident $ttl:literal)*) => {$(
        #[coalesce(key = "one", skip(pod), coalescer = pod.coalescer, fresh_ttl = $ttl)]
        async fn $function(pod: &Pod) -> u64 {
            pod.ledger.run(MS).await
        }
    )*};
}

fresh_for! {
    for_1_ms "1ms"
    for_999_ms "999ms"
    for_1000_ms "1000ms"
    for_1500_ms "1500ms"
}

/// What is left of the life of a function's stored value, in milliseconds; -2 when there is none.
fn life(scene: &Scene, function: &str) -> i64 {
    let name = format!("coalesce:state:{{cases::clocks::{function}:one}}");
    scene.server.command(&["PTTL", &name]).number()
}

/// D5.
#[tokio::test]
async fn times_to_live_are_honoured_to_the_millisecond() {
    let scene = Scene::new();
    let pod = scene.pod_with(|builder| builder.delivery_window(MS)).await;
    for_1_ms(&pod).await;
    eventually("a millisecond ends", || life(&scene, "for_1_ms") == -2).await;
    for ttl in [999, 1_000, 1_500] {
        let (runs, stored) = (scene.ledger.runs(), Instant::now());
        let call = async || match ttl {
            999 => for_999_ms(&pod).await,
            1_000 => for_1000_ms(&pod).await,
            _ => for_1500_ms(&pod).await,
        };
        let value = call().await;
        let left = life(&scene, &format!("for_{ttl}_ms"));
        // More than a whole second below it would be a life that was cut to whole seconds.
        assert!((ttl - 500..=ttl).contains(&left), "{ttl} ms: {left} left");
        assert_eq!(call().await, value, "{ttl} ms: still fresh");
        eventually("its life ends", || {
            life(&scene, &format!("for_{ttl}_ms")) == -2
        })
        .await;
        let lived = i64::try_from(stored.elapsed().as_millis()).unwrap();
        assert!((ttl..ttl + 1_000).contains(&lived), "{ttl} ms: {lived}");
        assert_eq!(call().await, value + 1, "{ttl} ms: gone");
        assert_eq!(scene.ledger.runs(), runs + 2);
    }
    assert_eq!(scene.server.immortal_keys(), Vec::<String>::new());
}

#[coalesce(
    key = "one",
    fresh_ttl = "${CASES_FRESH:30s}",
    stale_ttl = "1m",
    max_payload = "${CASES_PAYLOAD:1KiB}"
)]
async fn configured() -> u64 {
    0
}

/// J-A08, J-A09, J-A14, J-A15, W19: what is configured is checked when the process starts.
#[tokio::test]
async fn configured_clocks_are_refused_at_the_start_with_the_raw_and_the_resolved_text() {
    assert_eq!(configured().await, 0);
    for (fresh, complaint) in [
        ("soon", "soon"),
        ("-5", "-5"),
        ("400us", "1ms"),
        ("2m", "stale_ttl"),
    ] {
        let built = Coalescer::builder()
            .in_process()
            .value("CASES_FRESH", fresh);
        let text = built.build().await.unwrap_err().to_string();
        assert!(text.contains(complaint), "{fresh}: {text}");
        assert!(
            text.contains("clocks.rs") && text.contains("configured"),
            "{text}"
        );
    }
    for (name, value) in [("CASES_FRESH", "1m"), ("CASES_PAYLOAD", "2048")] {
        let built = Coalescer::builder().in_process().value(name, value);
        assert!(built.build().await.is_ok(), "{name} {value}");
    }
}
