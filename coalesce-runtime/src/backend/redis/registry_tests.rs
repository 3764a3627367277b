//! Tests of the registry: who hears what, and how long a channel stays.

use super::*;
use crate::format::envelope::{Envelope, Status};
use crate::words::clock::now;
use crate::words::token::Token;

const LINGER: Duration = Duration::from_secs(10);
const SECOND: Duration = Duration::from_secs(1);

fn key(number: u32) -> Key {
    Key::new("shop", &[&number])
}

fn outcome(number: u32) -> Bytes {
    let token = Token::from_bytes([7; 16]);
    let envelope = Envelope::new(Status::Done, 1, token, SECOND, Bytes::new());
    Message::wrap_outcome(&envelope.encode(&key(number)), None)
}

/// A registry with one confirmed channel `"c"` of key 1, and its listener.
fn confirmed() -> (Registry, Ear) {
    let mut registry = Registry::default();
    let (ear, _) = registry.join("c", &key(1));
    let names = registry.take_wanted();
    registry.answer(&names, Ok(()), now());
    (registry, ear)
}

#[test]
fn who_joins_behind_the_answer_is_told_it_at_once() {
    let mut registry = Registry::default();
    let (_ear, mut first) = registry.join("c", &key(1));
    let names = registry.take_wanted();
    assert!(first.try_recv().is_err());
    registry.answer(&names, Ok(()), now());
    let (_late, mut confirmation) = registry.join("c", &key(1));
    assert_eq!(first.try_recv(), Ok(Ok(())));
    assert_eq!(confirmation.try_recv(), Ok(Ok(())));
    // On the next connection it is asked for again.
    registry.forget();
    let (_later, mut confirmation) = registry.join("c", &key(1));
    assert!(confirmation.try_recv().is_err());
}

#[test]
fn one_subscription_however_many_listen() {
    let mut registry = Registry::default();
    let ears: Vec<_> = (0..3).map(|_| registry.join("c", &key(1))).collect();
    assert_eq!(registry.take_wanted(), ["c"]);
    let late = registry.join("c", &key(1));
    assert!(registry.take_wanted().is_empty());
    registry.answer(&["c".to_owned()], Ok(()), now());
    for (_, mut confirmation) in ears.into_iter().chain([late]) {
        assert_eq!(confirmation.try_recv(), Ok(Ok(())));
    }
}

#[test]
fn nobody_joins_without_asking_before_the_server_has_confirmed() {
    let mut registry = Registry::default();
    assert!(registry.join_confirmed("c").is_none());
    let (_ear, _) = registry.join("c", &key(1));
    assert!(registry.join_confirmed("c").is_none());
    let names = registry.take_wanted();
    assert!(registry.join_confirmed("c").is_none());
    registry.answer(&names, Ok(()), now());
    assert!(registry.join_confirmed("c").is_some());
}

#[test]
fn every_listener_hears_its_key_and_no_other() {
    let (mut registry, (_, mut first)) = confirmed();
    let (_, mut second) = registry.join_confirmed("c").unwrap();
    assert_eq!(registry.hear("c", &outcome(1)), Heard::Told);
    for ear in [&mut first, &mut second] {
        assert!(matches!(ear.try_recv(), Ok(Notice::Message(_))));
    }
    assert_eq!(registry.hear("c", &outcome(2)), Heard::OtherKey);
    let garbage = Bytes::from_static(b"garbage");
    assert_eq!(registry.hear("c", &garbage), Heard::Ignored);
    assert_eq!(registry.hear("d", &outcome(1)), Heard::Ignored);
    assert!(first.try_recv().is_err());
}

#[test]
fn a_confirmed_channel_lingers_and_can_be_joined_again() {
    let start = now();
    let (mut registry, (listener, _)) = confirmed();
    registry.leave("c", listener, start);
    assert_eq!(registry.next_farewell(LINGER), Some(start + LINGER));
    let (again, _) = registry.join_confirmed("c").unwrap();
    assert_eq!(registry.next_farewell(LINGER), None);
    registry.leave("c", again, start + SECOND);
    assert!(registry.take_overdue(start + LINGER, LINGER).is_empty());
    let overdue = registry.take_overdue(start + SECOND + LINGER, LINGER);
    assert_eq!(overdue, ["c"]);
    assert_eq!(registry.len(), 0);
}

#[test]
fn a_refused_channel_is_forgotten_with_its_listener() {
    let mut registry = Registry::default();
    let ((listener, _), mut confirmation) = registry.join("c", &key(1));
    let names = registry.take_wanted();
    registry.answer(&names, Err(Fault::Refused), now());
    assert_eq!(confirmation.try_recv(), Ok(Err(Fault::Refused)));
    registry.leave("c", listener, now());
    assert_eq!(registry.len(), 0);
}

/// The server may have the subscription already, so the channel must not be forgotten.
#[test]
fn a_listener_that_leaves_while_the_server_is_asked_leaves_a_lingering_channel() {
    let mut registry = Registry::default();
    let ((listener, _), _) = registry.join("c", &key(1));
    let names = registry.take_wanted();
    registry.leave("c", listener, now());
    assert_eq!(registry.len(), 1);
    registry.answer(&names, Ok(()), now());
    assert!(registry.next_farewell(LINGER).is_some());
}

#[test]
fn a_lost_connection_makes_every_channel_wanted_again() {
    let (mut registry, (_, mut ear)) = confirmed();
    registry.forget();
    assert!(registry.join_confirmed("c").is_none());
    assert_eq!(registry.take_wanted(), ["c"]);
    registry.tell_gap();
    assert_eq!(ear.try_recv(), Ok(Notice::Gap));
}

#[test]
fn too_many_lingering_channels_go_oldest_first_and_in_one_batch() {
    let start = now();
    let mut registry = Registry::default();
    let names: Vec<String> = (0..=MOST_LINGERING).map(|n| format!("c{n}")).collect();
    let ears: Vec<_> = names
        .iter()
        .map(|name| registry.join(name, &key(1)).0.0)
        .collect();
    let asked = registry.take_wanted();
    registry.answer(&asked, Ok(()), start);
    for (name, listener) in names.iter().zip(ears) {
        registry.leave(name, listener, start);
    }
    assert_eq!(registry.next_farewell(LINGER), Some(start));
    let gone = registry.take_overdue(start, LINGER);
    assert_eq!(gone, names[..=AT_ONCE]);
    assert_eq!(registry.next_farewell(LINGER), Some(start + LINGER));
}

/// Everything of one registry goes to another.
fn moved(from: &mut Registry, to: &mut Registry) {
    for channel in from.release(|_| true) {
        to.adopt(channel);
    }
}

#[test]
fn a_channel_that_moves_takes_its_listeners_along_and_tells_them_of_a_gap_once_it_is_subscribed() {
    let ((mut from, (listener, mut ear)), mut to) = (confirmed(), Registry::default());
    moved(&mut from, &mut to);
    assert_eq!((from.len(), to.len()), (0, 1));
    assert_eq!(from.take_left(), ["c"], "it is still subscribed there");
    assert_eq!(to.take_wanted(), ["c"]);
    assert!(
        ear.try_recv().is_err(),
        "who looks too early misses what comes"
    );
    to.answer(&["c".to_owned()], Ok(()), now());
    assert_eq!(ear.try_recv(), Ok(Notice::Gap));
    assert!(ear.try_recv().is_err());
    assert_eq!(to.hear("c", &outcome(1)), Heard::Told);
    assert!(matches!(ear.try_recv(), Ok(Notice::Message(_))));
    from.leave("c", listener, now());
    to.leave("c", listener, now());
    assert!(
        to.next_farewell(LINGER).is_some(),
        "nobody listens any more"
    );
}

#[test]
fn who_waits_for_a_channel_that_moves_is_answered_by_the_other_server() {
    let (mut from, mut to) = (Registry::default(), Registry::default());
    let (_ear, mut confirmation) = from.join("c", &key(1));
    moved(&mut from, &mut to);
    assert!(from.take_wanted().is_empty() && from.take_left().is_empty());
    let names = to.take_wanted();
    to.answer(&names, Ok(()), now());
    assert_eq!(confirmation.try_recv(), Ok(Ok(())));
}

#[test]
fn a_channel_that_comes_to_where_it_is_heard_already_is_one_with_it() {
    let ((mut from, (_, mut first)), (mut to, (_, mut second))) = (confirmed(), confirmed());
    moved(&mut from, &mut to);
    assert!(to.take_wanted().is_empty(), "it is subscribed");
    assert_eq!(first.try_recv(), Ok(Notice::Gap));
    to.hear("c", &outcome(1));
    assert!(matches!(first.try_recv(), Ok(Notice::Message(_))));
    assert_eq!(second.try_recv(), Ok(Notice::Gap));
    assert!(matches!(second.try_recv(), Ok(Notice::Message(_))));
}

#[test]
fn channels_that_nobody_listens_to_do_not_move() {
    let ((mut from, (listener, _)), mut to) = (confirmed(), Registry::default());
    from.leave("c", listener, now());
    moved(&mut from, &mut to);
    assert_eq!((from.len(), to.len()), (0, 0));
    assert_eq!(from.next_farewell(LINGER), None);
    // One whose listener left on the way.
    let (mut from, ear) = confirmed();
    let channels = from.release(|_| true);
    drop(ear);
    for channel in channels {
        to.adopt(channel);
    }
    assert_eq!(to.len(), 0);
}

#[test]
fn a_channel_that_is_wanted_again_is_not_unsubscribed() {
    let ((mut from, _ear), mut to) = (confirmed(), Registry::default());
    moved(&mut from, &mut to);
    moved(&mut to, &mut from);
    assert_eq!(from.take_wanted(), ["c"]);
    assert!(from.take_left().is_empty());
    moved(&mut from, &mut to);
    let _ear = from.join("c", &key(1));
    assert!(from.take_left().is_empty());
    moved(&mut to, &mut from);
    from.forget();
    assert!(from.take_left().is_empty());
}
