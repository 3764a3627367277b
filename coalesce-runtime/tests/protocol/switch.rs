//! The kill switch: known to every process without a round trip per call.

use std::time::Duration;

use coalesce_runtime::coordination::{Coordinator as _, ServerTime};
use coalesce_runtime::{Coalescer, Key, Position, Scope};

use crate::advice::logged;
use crate::fleet::{Fleet, Ledger, MS, all};

/// How many runs ten calls in each pod make.
async fn runs_of_a_burst(fleet: &Fleet, namespace: &'static str) -> usize {
    let ledger = Ledger::default();
    all(fleet, 10 * fleet.pods.len(), |pod, _| {
        let ledger = ledger.clone();
        async move {
            pod.call(namespace)
                .key(1)
                .run(move || async move { ledger.run(MS).await })
                .await
        }
    })
    .await;
    ledger.runs()
}

/// Lets the pods hear the news, also when they have read a moment ago; far less than the second after which they would
/// read by themselves.
async fn news() {
    tokio::time::sleep(11 * MS).await;
}

async fn turn(pod: &Coalescer, scope: &Scope, position: Position) {
    let turned = pod.switch(scope, &position).await;
    assert!(turned.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_switch_for_a_namespace_that_nobody_has_says_so() {
    let fleet = Fleet::of(1).await;
    let pod = &fleet.pods[0];
    let scope = Scope::namespace("shop::get_ordr");
    let turned = pod.switch(&scope, &Position::off()).await.unwrap();
    assert!(!turned.known);
    assert_eq!(runs_of_a_burst(&fleet, "shop::get_ordr").await, 10);
    let turned = pod.switch(&scope, &Position::on()).await.unwrap();
    assert_eq!(
        (turned.replaced, turned.known),
        (Some(Position::off()), true)
    );
}

#[tokio::test(start_paused = true)]
async fn everything_is_switched_off_and_on_in_every_process() {
    let fleet = Fleet::of(3).await;
    news().await;
    let [pod, ..] = &fleet.pods[..] else {
        panic!("a pod")
    };
    assert_eq!(runs_of_a_burst(&fleet, "n").await, 1);
    let off = Position::off().because("ada", "too slow");
    let turned = pod.switch(&Scope::Everything, &off).await.unwrap();
    assert_eq!((turned.replaced, turned.known), (None, true));
    news().await;
    assert_eq!(runs_of_a_burst(&fleet, "n").await, 30);
    assert_eq!(
        fleet.pods[2].position(&Scope::Everything),
        Some(off.clone())
    );
    assert_eq!(
        fleet.pods[2].clear_switch(&Scope::Everything).await,
        Ok(Some(off))
    );
    news().await;
    assert_eq!(runs_of_a_burst(&fleet, "n").await, 1);
}

#[tokio::test(start_paused = true)]
async fn a_namespaces_own_position_counts_more_than_that_of_everything() {
    let fleet = Fleet::of(2).await;
    news().await;
    let pod = &fleet.pods[0];
    let slow = Scope::namespace("slow");
    turn(pod, &slow, Position::off()).await;
    news().await;
    assert_eq!(runs_of_a_burst(&fleet, "slow").await, 20);
    assert_eq!(runs_of_a_burst(&fleet, "n").await, 1);
    turn(pod, &Scope::Everything, Position::off()).await;
    turn(pod, &slow, Position::on()).await;
    news().await;
    assert_eq!(runs_of_a_burst(&fleet, "slow").await, 1);
    assert_eq!(runs_of_a_burst(&fleet, "n").await, 20);
}

#[tokio::test(start_paused = true)]
async fn a_position_with_an_end_ends_by_itself() {
    let fleet = Fleet::of(1).await;
    news().await;
    let until: ServerTime = fleet
        .coordinator
        .clock(&Key::new("any", &[]))
        .server_at(tokio::time::Instant::now())
        .plus(5_000 * MS);
    let off = Position::off().until(until);
    turn(&fleet.pods[0], &Scope::Everything, off).await;
    let pod = &fleet.pods[0];
    assert_eq!(runs_of_a_burst(&fleet, "n").await, 10);
    assert!(pod.position(&Scope::Everything).is_some_and(|it| !it.on));
    assert!(pod.positions().0.is_some());
    tokio::time::sleep(5_000 * MS).await;
    assert_eq!(runs_of_a_burst(&fleet, "n").await, 1);
    assert_eq!(pod.position(&Scope::Everything), None);
    assert_eq!(pod.positions().0, None);
}

#[tokio::test(start_paused = true)]
async fn a_change_that_nobody_told_of_is_seen_within_a_second() {
    let fleet = Fleet::of(1).await;
    news().await;
    // As an operator does by hand: the text alone, and garbage beside it.
    fleet
        .coordinator
        .set_switch("~all", Some("co1 off"))
        .await
        .unwrap();
    fleet
        .coordinator
        .set_switch("n", Some("perhaps"))
        .await
        .unwrap();
    tokio::time::sleep(Duration::from_millis(1_001)).await;
    assert_eq!(runs_of_a_burst(&fleet, "n").await, 10);
}

/// As it is with an answer that does not come: what cannot be read says nothing, and least of all "on".
#[tokio::test(start_paused = true)]
async fn garbage_over_a_position_leaves_it_where_it_was() {
    let fleet = Fleet::of(2).await;
    let [everything, slow] = [Scope::Everything, Scope::namespace("slow")];
    news().await;
    turn(&fleet.pods[0], &everything, Position::off()).await;
    turn(&fleet.pods[0], &slow, Position::on()).await;
    news().await;
    for (round, garbage) in ["perhaps", "", "co2 off", "co1 off soon"]
        .into_iter()
        .enumerate()
    {
        for field in ["~all", "slow"] {
            let set = fleet.coordinator.set_switch(field, Some(garbage)).await;
            set.unwrap();
        }
        if round % 2 == 0 {
            news().await;
        } else {
            tokio::time::sleep(Duration::from_millis(2_001)).await;
        }
        assert_eq!(runs_of_a_burst(&fleet, "n").await, 20, "{garbage:?}");
        assert_eq!(runs_of_a_burst(&fleet, "slow").await, 1, "{garbage:?}");
        assert_eq!(fleet.pods[1].position(&everything), Some(Position::off()));
    }
    // Who was not there when it could be read knows of nothing, and is on.
    let new = Coalescer::builder().coordinator(fleet.coordinator.clone());
    let new = new.build().await.unwrap();
    news().await;
    assert_eq!(
        (new.position(&everything), new.position(&slow)),
        (None, None)
    );
    // What is taken away is readable: it is away.
    fleet.coordinator.set_switch("~all", None).await.unwrap();
    news().await;
    assert_eq!(fleet.pods[1].position(&everything), None);
    assert_eq!(runs_of_a_burst(&fleet, "n").await, 1);
    assert_eq!(fleet.pods[1].position(&slow), Some(Position::on()));
    turn(&new, &slow, Position::off()).await;
    news().await;
    assert_eq!(fleet.pods[1].position(&slow), Some(Position::off()));
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_read_is_logged_once_in_ten_seconds_and_not_each_time() {
    let (written, _guard) = logged();
    let fleet = Fleet::of(1).await;
    news().await;
    fleet
        .coordinator
        .set_switch("n", Some("perhaps"))
        .await
        .unwrap();
    tokio::time::sleep(19_500 * MS).await;
    let text = String::from_utf8(written.lock().unwrap().clone()).unwrap();
    let lines: Vec<_> = text
        .lines()
        .filter(|line| line.contains("a position of the kill switch cannot be read"))
        .collect();
    assert_eq!(lines.len(), 2, "{text}");
    assert!(!lines[1].contains("left_out=0"), "{text}");
}

/// Several runtimes in one process, one after the other, as tests have them.
#[test]
fn a_coalescer_that_outlives_its_runtime_goes_on_obeying() {
    let runtime = || {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_all().build().unwrap()
    };
    let first = runtime();
    let fleet = first.block_on(Fleet::of(1));
    first.block_on(news());
    drop(first);
    let second = runtime();
    second.block_on(async {
        let operator = Coalescer::builder().coordinator(fleet.coordinator.clone());
        let operator = operator.build().await.unwrap();
        // Nobody follows the switch until there is a call.
        assert_eq!(runs_of_a_burst(&fleet, "n").await, 1);
        turn(&operator, &Scope::Everything, Position::off()).await;
        let obeys = async {
            while fleet.pods[0].position(&Scope::Everything).is_none() {
                news().await;
            }
        };
        let obeys = tokio::time::timeout(Duration::from_secs(10), obeys).await;
        assert!(obeys.is_ok(), "it never heard of it");
        assert_eq!(runs_of_a_burst(&fleet, "n").await, 10);
    });
}
