//! Tests of the catalog: replicas that share one memory, a repository that counts, and paused time.

mod counting;
mod late;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use coalesce::coordination::Coordinator;
use coalesce::{Coalescer, MemoryCoordinator};
use rust_decimal::Decimal;
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep, timeout};

use super::*;
use counting::Counting;
use late::Late;

fn lamp() -> Product {
    Product {
        id: 7,
        name: "Lamp".to_owned(),
        description: "It shines.".to_owned(),
        price: Decimal::new(1990, 2),
        stocks: 3,
        available: true,
    }
}

fn renamed(name: &str) -> Changes {
    Changes {
        name: name.to_owned(),
        description: "It shines.".to_owned(),
        price: Decimal::new(1990, 2),
        stocks: 3,
        available: true,
    }
}

/// A replica; those with one coordinator are to each other what processes with one Redis are.
async fn replica(coordinator: Arc<dyn Coordinator>, repository: &Arc<Counting>) -> Catalog {
    let coalescer = Coalescer::builder().coordinator(coordinator);
    let repository = Arc::clone(repository) as Arc<dyn Repository>;
    Catalog::new(repository, coalescer.build().await.unwrap())
}

async fn replicas<const N: usize>(repository: &Arc<Counting>) -> [Catalog; N] {
    let memory = Arc::new(MemoryCoordinator::new());
    let mut replicas = Vec::new();
    for _ in 0..N {
        replicas.push(replica(Arc::clone(&memory) as _, repository).await);
    }
    replicas.try_into().unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_hit_makes_no_repository_call() {
    let repository = Counting::with(Some(lamp()));
    let [one, other] = replicas(&repository).await;
    one.product(7).await.unwrap();
    assert_eq!(repository.reads(), 1);
    for catalog in [&one, &other] {
        assert_eq!(catalog.product(7).await, Ok(Some(lamp())));
    }
    assert_eq!(repository.reads(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_miss_fills_the_cache_until_it_is_no_longer_fresh() {
    let repository = Counting::with(Some(lamp()));
    let [one, other] = replicas(&repository).await;
    assert_eq!(one.product_entry(7).peek().await.unwrap(), None);
    one.product(7).await.unwrap();
    let filled = other.product_entry(7).peek().await.unwrap();
    assert_eq!(filled, Some(Ok(Some(lamp()))));
    sleep(Duration::from_millis(10_001)).await;
    assert_eq!(other.product_entry(7).peek().await.unwrap(), None);
    other.product(7).await.unwrap();
    assert_eq!(repository.reads(), 2);
}

#[tokio::test(start_paused = true)]
async fn callers_in_all_replicas_share_one_read() {
    let repository = Counting::with(Some(lamp()));
    let replicas: [Catalog; 3] = replicas(&repository).await;
    let mut callers = tokio::task::JoinSet::new();
    for caller in 0..300 {
        let catalog = replicas[caller % 3].clone();
        callers.spawn(async move { catalog.product(7).await });
    }
    for product in callers.join_all().await {
        assert_eq!(product, Ok(Some(lamp())));
    }
    assert_eq!(repository.reads(), 1);
}

#[tokio::test(start_paused = true)]
async fn that_there_is_no_such_product_is_shared_and_kept_like_a_product() {
    let repository = Counting::with(None);
    let [one, other] = replicas(&repository).await;
    let both = tokio::join!(one.product(7), other.product(7));
    assert_eq!(both, (Ok(None), Ok(None)));
    assert_eq!(other.product(7).await, Ok(None));
    assert_eq!(repository.reads(), 1);
    // Somebody else puts it there, and tells nobody.
    *repository.row.lock().await = Some(lamp());
    sleep(Duration::from_millis(10_001)).await;
    assert_eq!(one.product(7).await, Ok(Some(lamp())));
}

#[tokio::test(start_paused = true)]
async fn the_winner_checks_again_before_it_asks_the_database() {
    let repository = Counting::with(Some(lamp()));
    let memory = Arc::new(MemoryCoordinator::new());
    let may_answer = Arc::new(Semaphore::new(0));
    let late = Late {
        memory: Arc::clone(&memory),
        may_answer: Arc::clone(&may_answer),
    };
    let one = replica(memory, &repository).await;
    let other = replica(Arc::new(late), &repository).await;
    // It looks, and finds nothing. Before it hears of that, the product is read and stored.
    let looking = tokio::spawn({
        let other = other.clone();
        async move { other.product(7).await }
    });
    tokio::task::yield_now().await;
    one.product(7).await.unwrap();
    may_answer.add_permits(1);
    assert_eq!(looking.await.unwrap(), Ok(Some(lamp())));
    assert_eq!(repository.reads(), 1);
    // Its first look had found nothing, and the second did.
    let page = other.coalescer.snapshot_of("products").unwrap();
    assert_eq!(page.outcomes.fresh, 0);
    assert_eq!(page.incidents.double_check_hits, 1);
    // Its call has followed, which the status does not count a second time.
    assert_eq!(page.outcomes.followed, 1);
}

#[tokio::test(start_paused = true)]
async fn a_caller_waits_for_no_longer_than_it_may() {
    let repository = Counting::that_takes(Duration::from_secs(60), Some(lamp()));
    let [one, other] = replicas(&repository).await;
    let leads = tokio::spawn(async move { one.product(7).await });
    tokio::task::yield_now().await;
    let begun = Instant::now();
    // The read holds its product for 7 s; one of the two that wait takes over, and the other has waited enough.
    let waited = tokio::select! {
        waited = other.product(7) => waited,
        waited = other.product(7) => waited,
    };
    assert_eq!(waited, Err(ReadError::TookTooLong));
    assert_eq!(begun.elapsed().as_secs(), 8);
    assert_eq!(repository.reads(), 2);
    leads.abort();
}

#[tokio::test(start_paused = true)]
async fn the_lock_is_released_after_a_failure() {
    let repository = Counting::with(Some(lamp()));
    repository.fails.store(1, Ordering::SeqCst);
    let [one, other] = replicas(&repository).await;
    let begun = Instant::now();
    // Everybody who waited has the failure of the one read; nobody tries it again for himself.
    let failed = tokio::join!(one.product(7), one.product(7), other.product(7));
    let down = Err(ReadError::Database);
    assert_eq!(failed, (down.clone(), down.clone(), down));
    assert_eq!(repository.reads(), 1);
    // The next caller does, without waiting for any lock to end.
    assert_eq!(other.product(7).await, Ok(Some(lamp())));
    assert_eq!(repository.reads(), 2);
    assert_eq!(begun.elapsed().as_millis(), 200);
}

#[tokio::test(start_paused = true)]
async fn after_a_write_no_replica_answers_what_was_read_before() {
    let repository = Counting::with(Some(lamp()));
    let [one, other] = replicas(&repository).await;
    let old = tokio::spawn({
        let one = one.clone();
        async move { one.product(7).await }
    });
    sleep(Duration::from_millis(50)).await;
    // The old row is on its way, and the write overtakes it.
    let written = other.write(7, renamed("Torch")).await.unwrap().unwrap();
    assert_eq!(written.name, "Torch");
    let (here, there) = tokio::join!(one.product(7), other.product(7));
    for product in [here, there] {
        assert_eq!(product.unwrap().unwrap().name, "Torch");
    }
    // Who had asked before the write was answered what was true then.
    assert_eq!(old.await.unwrap(), Ok(Some(lamp())));
    sleep(Duration::from_secs(1)).await;
    assert_eq!(one.product(7).await.unwrap().unwrap().name, "Torch");
    assert_eq!(repository.reads(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_writer_that_goes_away_leaves_no_old_product() {
    let repository = Counting::with(Some(lamp()));
    *repository.confirms_in.lock().await = Duration::from_millis(100);
    let [one, other] = replicas(&repository).await;
    assert_eq!(other.product(7).await, Ok(Some(lamp())));
    // The row is written, and the client does not wait until that is said.
    let begun = Instant::now();
    let gone = timeout(Duration::from_millis(50), one.write(7, renamed("Torch")));
    assert!(gone.await.is_err());
    one.writes_have_ended().await;
    assert_eq!(begun.elapsed().as_millis(), 100);
    assert_eq!(other.product(7).await.unwrap().unwrap().name, "Torch");
}

#[tokio::test(start_paused = true)]
async fn a_write_that_nobody_confirmed_leaves_no_old_product() {
    let repository = Counting::with(Some(lamp()));
    repository.is_cut_off.store(true, Ordering::SeqCst);
    let [one, other] = replicas(&repository).await;
    assert_eq!(other.product(7).await, Ok(Some(lamp())));
    let written = one.write(7, renamed("Torch")).await;
    assert_eq!(written, Err(WriteError::Database));
    assert_eq!(other.product(7).await.unwrap().unwrap().name, "Torch");
}

#[tokio::test(start_paused = true)]
async fn what_is_not_there_cannot_be_written() {
    let repository = Counting::with(None);
    let [one] = replicas(&repository).await;
    assert_eq!(one.write(7, renamed("Torch")).await, Ok(None));
}
