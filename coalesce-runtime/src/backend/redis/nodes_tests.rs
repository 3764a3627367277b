//! Tests of the nodes: who is asked, by whose clock answers are judged, and who comes and goes. Nobody answers.

use fred::types::Value;

use tokio::runtime::Runtime;

use super::*;
use crate::backend::redis::Inner;
use crate::backend::redis::connect::Address;
use crate::words::clock::{ServerTime, now};

const SECOND: Duration = Duration::from_secs(1);
const HALF: u16 = 8_192;

fn place(port: u16) -> Place {
    Place::new("127.0.0.1", port)
}

/// A table in which these serve half of the slots each.
fn table(ports: [u16; 2]) -> SlotTable {
    halves(ports.map(|port| vec!["127.0.0.1".into(), i64::from(port).into()]))
}

fn halves(nodes: [Vec<Value>; 2]) -> SlotTable {
    let range = |from: i64, to: i64, node| Value::Array(vec![from.into(), to.into(), node]);
    let [low, high] = nodes.map(Value::Array);
    let ranges = vec![range(0, 8_191, low), range(8_192, 16_383, high)];
    SlotTable::read(Value::Array(ranges), &place(1), true).unwrap()
}

/// A cluster of which nothing is known.
fn unknown() -> Nodes {
    let address = Address::parse("redis-cluster://127.0.0.1:1").unwrap();
    let (server, seeds) = (address.place(), address.seeds());
    let profile = Profile::new(address, SECOND).unwrap();
    Nodes::new(profile, SECOND, server, seeds)
}

/// A cluster with a node at each of these ports, on which nobody listens.
fn of(ports: [u16; 2]) -> Nodes {
    let nodes = unknown();
    nodes.settle(table(ports));
    nodes
}

fn set_clock(nodes: &Nodes, slot: u16, seconds: u64) {
    let time = ServerTime::from_micros(seconds * 1_000_000);
    nodes.of(slot).unwrap().clock.refine(time, now());
}

fn seconds(nodes: &Nodes, slot: u16) -> u64 {
    nodes.clock(slot).server_at(now()).as_micros() / 1_000_000
}

#[tokio::test]
async fn each_slot_is_judged_by_the_clock_of_the_node_that_serves_it() {
    let nodes = of([1, 2]);
    set_clock(&nodes, 0, 1_000_000);
    set_clock(&nodes, HALF, 5_000_000);
    for (slot, expected) in [(0, 1_000_000), (HALF, 5_000_000), (HALF - 1, 1_000_000)] {
        assert!((expected..expected + 60).contains(&seconds(&nodes, slot)));
    }
    nodes.moved(0, &place(2));
    assert!((5_000_000..5_000_060).contains(&seconds(&nodes, 0)));
}

#[tokio::test]
async fn who_is_sent_on_to_a_new_node_judges_by_its_clock() {
    let nodes = of([1, 2]);
    let question = |node: Arc<Node>, _| {
        let there = node.place.port == 3;
        std::future::ready(if there {
            Ok(())
        } else {
            Err(Setback::Moved(place(3)))
        })
    };
    let meeting = async {
        nodes.bell.notified().await;
        nodes.meet_strangers();
    };
    let (answer, ()) = tokio::join!(nodes.ask(0, SECOND, question), meeting);
    assert_eq!((answer, &nodes.of(0).unwrap().place), (Ok(()), &place(3)));
}

#[tokio::test]
async fn until_a_node_has_told_the_time_anothers_is_better_than_none() {
    let nodes = of([1, 2]);
    set_clock(&nodes, 0, 1_000_000);
    assert!((1_000_000..1_000_060).contains(&seconds(&nodes, HALF)));
}

#[tokio::test]
async fn nodes_that_leave_the_table_are_dropped_and_the_others_stay_as_they_are() {
    let nodes = of([1, 2]);
    let [stays, leaves] = [0, HALF].map(|slot| Arc::downgrade(&nodes.of(slot).unwrap()));
    nodes.settle(table([1, 3]));
    assert!(leaves.upgrade().is_none());
    assert!(Arc::ptr_eq(
        &stays.upgrade().unwrap(),
        &nodes.of(0).unwrap()
    ));
    assert_eq!(nodes.of(HALF).unwrap().place, place(3));
    assert_eq!(nodes.all().len(), 2);
}

#[tokio::test]
async fn a_slot_that_nobody_serves_is_refused_and_somebody_is_asked_for_it() {
    let nodes = unknown();
    assert_eq!(nodes.of(0).err(), Some(Fault::Disconnected));
    let half = Value::Array(vec![
        0.into(),
        8_191.into(),
        Value::Array(vec!["127.0.0.1".into(), 1.into()]),
    ]);
    nodes.settle(SlotTable::read(Value::Array(vec![half]), &place(1), true).unwrap());
    let asked = nodes.ask(HALF, SECOND, async |_, _| Ok(()));
    assert_eq!(asked.await, Err(Fault::Refused));
    nodes.bell.notified().await;
    assert!(!nodes.health().connected);
}

/// Asks a cluster whose nodes answer as told, and says who was asked, and whether with ASKING.
async fn asked(
    nodes: &Nodes,
    answers: &[Result<u8, Setback>],
) -> (Result<u8, Fault>, Vec<(u16, bool)>) {
    let asked = Mutex::new(Vec::new());
    let question = |node: Arc<Node>, turn: Turn| {
        let mut asked = asked.lock().unwrap();
        asked.push((node.place.port, turn.asking));
        std::future::ready(answers[asked.len() - 1].clone())
    };
    // Nobody is at these ports, and who is new is waited for.
    let answer = nodes.ask(0, Duration::from_millis(20), question).await;
    (answer, asked.into_inner().unwrap())
}

#[tokio::test]
async fn a_question_is_sent_on_and_a_slot_that_has_moved_is_remembered() {
    let nodes = of([1, 2]);
    let there = || place(2);
    let ask = [Err(Setback::Ask(there())), Ok(7)];
    let way = vec![(1, false), (2, true)];
    assert_eq!(asked(&nodes, &ask).await, (Ok(7), way.clone()));
    // That was for one question.
    assert_eq!(asked(&nodes, &ask).await, (Ok(7), way));
    let moved = [Err(Setback::Moved(there())), Ok(7)];
    let way = vec![(1, false), (2, false)];
    assert_eq!(asked(&nodes, &moved).await, (Ok(7), way));
    assert_eq!(asked(&nodes, &[Ok(7)]).await, (Ok(7), vec![(2, false)]));
    // Who looks again at the table is rung for.
    nodes.bell.notified().await;
}

#[tokio::test]
async fn who_is_sent_to_the_address_of_a_node_with_a_host_name_is_sent_to_that_node() {
    let nodes = unknown();
    let name = Value::Array(vec!["hostname".into(), "localhost".into()]);
    let named = vec!["10.0.0.2".into(), 2.into(), "id".into(), name];
    nodes.settle(halves([vec!["127.0.0.1".into(), 1.into()], named]));
    let called = || Place::new("10.0.0.2", 2);
    for setback in [Setback::Ask(called()), Setback::Moved(called())] {
        let asking = matches!(setback, Setback::Ask(_));
        let answers = [Err(setback), Ok(7)];
        let way = vec![(1, false), (2, asking)];
        assert_eq!(asked(&nodes, &answers).await, (Ok(7), way));
    }
    assert_eq!(nodes.of(0).unwrap().place, Place::new("localhost", 2));
    assert_eq!(nodes.all().len(), 2);
}

#[tokio::test]
async fn a_refusal_makes_somebody_look_again_who_serves_the_slot() {
    let nodes = of([1, 2]);
    let refused = [Err(Setback::Fault(Fault::Refused))];
    assert_eq!(asked(&nodes, &refused).await.0, Err(Fault::Refused));
    let rung = timeout(SECOND, nodes.bell.notified()).await;
    assert!(rung.is_ok());
}

/// A slot changes hands at one node after the other. Who asks in between is sent back and forth.
#[tokio::test(start_paused = true)]
async fn two_nodes_that_name_each_other_are_asked_until_both_have_heard() {
    let (nodes, start) = (of([1, 2]), now());
    let question = async |node: Arc<Node>, _: Turn| match node.place.port {
        2 if now() >= start + SECOND / 20 => Ok(2),
        port => Err(Setback::Moved(place(3 - port))),
    };
    // Nobody is at these ports, and who is new is waited for.
    for node in nodes.all() {
        node.clock.refine(ServerTime::from_micros(1), start);
    }
    assert_eq!(nodes.ask(0, SECOND, question).await, Ok(2));
    assert_eq!(nodes.of(0).unwrap().place, place(2));
}

#[tokio::test]
async fn a_question_whose_keys_are_being_moved_is_asked_again_where_the_slot_is() {
    let nodes = of([1, 2]);
    let (ask, again) = (Setback::Ask(place(2)), Setback::Again);
    let answers = [Err(ask), Err(again), Ok(7)];
    let way = vec![(1, false), (2, true), (1, false)];
    assert_eq!(asked(&nodes, &answers).await, (Ok(7), way));
}

#[tokio::test]
async fn nobody_is_sent_to_a_node_that_cannot_be_reached_for_longer_than_a_question_may_take() {
    let nodes = of([1, 2]);
    let answers = [Err(Setback::Moved(place(3)))];
    let way = vec![(1, false)];
    assert_eq!(asked(&nodes, &answers).await, (Err(Fault::Timeout), way));
    assert_eq!(nodes.of(0).unwrap().place, place(1));
    nodes.meet_strangers();
    assert_eq!(nodes.all().len(), 3);
}

#[tokio::test]
async fn a_node_that_another_has_just_named_outlives_tables_without_it_and_concerns_nobody_else() {
    let nodes = of([1, 2]);
    let stranger = Err(Setback::Ask(place(3)));
    assert_eq!(
        asked(&nodes, std::slice::from_ref(&stranger)).await.0,
        Err(Fault::Timeout)
    );
    nodes.meet_strangers();
    let there = || nodes.map().nodes.get(&place(3)).map(Arc::downgrade);
    let met = there().unwrap();
    nodes.settle(table([1, 2]));
    // Not met again: that would cost three connections with each table.
    assert!(there().is_some_and(|node| node.ptr_eq(&met)));
    let way = vec![(1, false), (3, true)];
    assert_eq!(asked(&nodes, &[stranger, Ok(7)]).await, (Ok(7), way));
    assert_eq!((nodes.all().len(), nodes.primaries().len()), (3, 2));
    let later = now() + 10 * SECOND;
    nodes.strangers().forget(later);
    nodes.settle(table([1, 2]));
    assert_eq!(nodes.all().len(), 2);
}

#[test]
fn nodes_whose_runtime_ends_later_than_that_of_the_survey_are_connected_again() {
    let runtime = || Runtime::new().unwrap();
    let inner = runtime().block_on(async { Inner::start(unknown(), "") });
    let stays = runtime();
    let revive = || stays.block_on(async { inner.revive() });
    assert_eq!([revive(), revive()], [true, false]);
    let nodes = Arc::clone(&inner.shared.nodes);
    runtime().block_on(async { nodes.settle(table([1, 2])) });
    assert_eq!([revive(), revive()], [true, false]);
    stays.block_on(inner.close());
    assert!(!revive());
}
