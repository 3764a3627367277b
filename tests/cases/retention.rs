//! Stored values: typed, complete, served while fresh, and refreshed behind the answer.

use coalesce::coalesce;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::scene::{MS, Pod, Scene, answers, callers, eventually};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Order {
    id: u64,
    lines: Vec<Line>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Line {
    Article { number: String, pieces: u32 },
    Freight,
}

fn order(id: u64) -> Order {
    let article = Line::Article {
        number: format!("A-{id}"),
        pieces: 3,
    };
    Order {
        id,
        lines: vec![article, Line::Freight],
    }
}

macro_rules! retained {
    ($($function:ident -> $output:ty { $value:expr })*) => {$(
        #[coalesce(key = "one", skip(pod), coalescer = pod.coalescer, fresh_ttl = "60s")]
        async fn $function(pod: &Pod) -> $output {
            pod.ledger.run(MS).await;
            $value
        }
    )*};
}

retained! {
    orders -> Vec<Order> { vec![order(1), order(2), order(3)] }
    numbers -> Vec<u64> { vec![3, 1, 2] }
    nothing -> () { () }
    none -> Option<Order> { None }
    empty -> Vec<Order> { vec![] }
    blank -> String { String::new() }
    looks_like_a_failure -> String { "FAILED: db down".to_owned() }
}

/// J-I05, J-D01, J-D02, J-D03, J-E02, J-E04.
#[tokio::test]
async fn a_stored_value_comes_back_in_its_type_and_whole_even_when_it_is_nothing() {
    let scene = Scene::new();
    // The second pod has nothing but what Redis gives it.
    let pods = scene.pods(2).await;
    for pod in &pods {
        assert_eq!(orders(pod).await, [order(1), order(2), order(3)]);
        assert_eq!(numbers(pod).await, [3, 1, 2]);
        assert_eq!(nothing(pod).await, ());
        assert_eq!((none(pod).await, empty(pod).await), (None, vec![]));
        assert_eq!(blank(pod).await, "");
        assert_eq!(looks_like_a_failure(pod).await, "FAILED: db down");
        assert_eq!(scene.ledger.runs(), 7);
    }
    assert_eq!(pods[1].coalescer.counts().fresh, 7);
}

#[coalesce(
    key = id,
    skip(pod),
    coalescer = pod.coalescer,
    fresh_ttl = "200ms",
    stale_ttl = "60s"
)]
async fn stale(pod: &Pod, id: u64) -> u64 {
    pod.ledger.run(500 * MS).await
}

/// J-I06, J-I07.
#[tokio::test]
async fn stale_readers_are_answered_at_once_and_start_one_refresh_between_them() {
    for readers in [1, 10] {
        let scene = Scene::new();
        let pods = scene.pods(2).await;
        assert_eq!(stale(&pods[0], 1).await, 1);
        let stored = Instant::now();
        eventually("it is not fresh any more", || stored.elapsed() > 250 * MS).await;
        let begun = Instant::now();
        let read = answers(callers(readers, |number| {
            let pod = pods[number % 2].clone();
            async move { stale(&pod, 1).await }
        }));
        assert_eq!(read.await, vec![1; readers]);
        assert!(begun.elapsed() < 400 * MS, "{:?}", begun.elapsed());
        let refreshes = || -> u64 {
            let counts = pods.iter().map(|pod| pod.coalescer.counts());
            counts.map(|counts| counts.refreshes).sum()
        };
        eventually("a refresh has begun", || scene.ledger.runs() == 2).await;
        scene.assert_nothing_left(&pods).await;
        assert_eq!(stale(&pods[1], 1).await, 2);
        assert_eq!((scene.ledger.runs(), refreshes()), (2, 1));
    }
}
