//! Task-locals of the application: flights and refreshes see those that were chosen, and no others.

use std::sync::Arc;

use coalesce_runtime::{Clocks, Coalescer, Policy};

use crate::fleet::MS;

tokio::task_local! {
    static CHOSEN: u32;
    static OTHER: u32;
}

/// What the body sees, retained for a minute and fresh for 100 ms.
async fn seen(coalescer: &Coalescer) -> (Option<u32>, Option<u32>) {
    let clocks = Clocks::new(100 * MS, Some(60_000 * MS), 900 * MS, Some(1_000 * MS));
    let policy = Arc::new(Policy::new(clocks.unwrap()));
    let call = coalescer.call("n").key(1).policy(policy);
    call.run(|| async {
        let of = |local: &'static tokio::task::LocalKey<u32>| local.try_with(|it| *it).ok();
        (of(&CHOSEN), of(&OTHER))
    })
    .await
}

#[tokio::test(start_paused = true)]
async fn the_body_of_a_flight_and_of_a_refresh_has_the_chosen_task_locals_of_its_own_caller() {
    let builder = Coalescer::builder().in_process();
    let coalescer = builder.carry_task_local(&CHOSEN).build().await.unwrap();
    let call = |number| CHOSEN.scope(number, OTHER.scope(number, seen(&coalescer)));
    assert_eq!(call(1).await, (Some(1), None), "the flight's");
    assert_eq!(call(2).await, (Some(1), None), "a stored value");
    tokio::time::sleep(200 * MS).await;
    assert_eq!(
        call(3).await,
        (Some(1), None),
        "stale, and starts a refresh"
    );
    while coalescer.in_flight() > 0 {
        tokio::time::sleep(MS).await;
    }
    assert_eq!(call(4).await, (Some(3), None), "the refresh's");
}
