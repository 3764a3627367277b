//! What a follower does next, for each thing that can happen to it.

use super::*;

const LEASE: Duration = Duration::from_secs(3);
const ME: Token = Token::from_bytes([1; 16]);
const LEADER: Token = Token::from_bytes([2; 16]);
const OLD: Token = Token::from_bytes([3; 16]);
const OTHER: Token = Token::from_bytes([4; 16]);

fn key() -> Key {
    Key::new("shop::get_order", &[&42])
}

fn envelope(token: Token) -> Envelope {
    let computed_at = ServerTime::from_micros(5_000);
    Envelope {
        computed_at,
        ..Envelope::new(Status::Done, 1, token, LEASE, Bytes::from_static(b"\x07"))
    }
}

fn outcome(token: Token, fenced_at: Option<u64>) -> Message {
    Message::Outcome {
        envelope: envelope(token),
        fenced_at: fenced_at.map(ServerTime::from_micros),
    }
}

fn follower() -> Follower {
    let mut follower = Follower::new(key(), ME, LEASE, PollPlan::default(), Some(OLD.into()));
    let answer = BeginAnswer::Follow {
        leader: LEADER,
        lease_left: LEASE,
        seen: OLD.into(),
    };
    assert_eq!(
        follower.answered(answer, 0.0),
        Step::Wait(Duration::from_millis(50))
    );
    follower
}

#[test]
fn the_role_is_taken_from_the_answer() {
    let mut fresh = Follower::new(key(), ME, LEASE, PollPlan::default(), None);
    let lead = BeginAnswer::Lead {
        seen: Seen::NOTHING,
    };
    assert_eq!(
        fresh.answered(lead, 0.0),
        Step::Lead {
            seen: Seen::NOTHING,
            takeover: false
        }
    );
}

#[test]
fn a_follower_takes_over_when_the_lease_has_ended() {
    let step = follower().answered(BeginAnswer::Lead { seen: OLD.into() }, 0.0);
    assert_eq!(
        step,
        Step::Lead {
            seen: OLD.into(),
            takeover: true
        }
    );
}

#[test]
fn the_leaders_outcome_settles_and_the_old_one_does_not() {
    assert!(matches!(
        follower().heard(outcome(LEADER, None)),
        Step::Settle(_)
    ));
    assert_eq!(follower().heard(outcome(OLD, None)), Step::KeepWaiting);
}

#[test]
fn another_flights_retained_outcome_settles_too() {
    assert!(matches!(
        follower().heard(outcome(OTHER, None)),
        Step::Settle(_)
    ));
}

#[test]
fn a_fenced_outcome_is_for_those_who_followed_that_flight_by_then() {
    for (fenced, until) in [(4_000, 4_000), (6_000, 5_000)] {
        let Step::Settle(arrived) = follower().heard(outcome(LEADER, Some(fenced))) else {
            panic!("not settled")
        };
        assert_eq!(arrived.for_arrivals_until.as_micros(), until);
    }
    assert_eq!(
        follower().heard(outcome(OTHER, Some(4_000))),
        Step::KeepWaiting
    );
}

#[test]
fn an_outcome_too_big_for_a_message_is_read() {
    let mut follower = follower();
    assert_eq!(
        follower.heard(Message::Stored { token: LEADER }),
        Step::Look
    );
    let state = envelope(LEADER).encode(&key());
    assert!(matches!(follower.looked(Some(&state)), Step::Settle(_)));
}

#[test]
fn only_the_leader_it_follows_makes_it_ask_again_when_abandoned() {
    assert!(matches!(
        follower().heard(Message::Abandoned { token: LEADER }),
        Step::Ask(_)
    ));
    assert_eq!(
        follower().heard(Message::Abandoned { token: OTHER }),
        Step::KeepWaiting
    );
}

#[test]
fn after_two_abandoned_flights_it_stops_trying() {
    let mut follower = follower();
    follower.heard(Message::Abandoned { token: LEADER });
    let next = BeginAnswer::Follow {
        leader: OTHER,
        lease_left: LEASE,
        seen: OLD.into(),
    };
    follower.answered(next, 0.0);
    assert_eq!(
        follower.heard(Message::Abandoned { token: OTHER }),
        Step::StopTrying
    );
}

#[test]
fn a_gap_is_closed_by_asking() {
    assert!(matches!(follower().missed(), Step::Ask(_)));
}

#[test]
fn the_second_look_finds_what_ended_before_the_subscription() {
    let state = envelope(LEADER).encode(&key());
    assert!(matches!(follower().looked(Some(&state)), Step::Settle(_)));
    let old = envelope(OLD).encode(&key());
    assert_eq!(follower().looked(Some(&old)), Step::KeepWaiting);
    assert_eq!(follower().looked(None), Step::KeepWaiting);
}

#[test]
fn an_unreadable_state_is_passed_over_at_the_next_election() {
    let garbage = Bytes::from_static(&[9; 60]);
    let mut follower = follower();
    let Step::Ask(ask) = follower.answered(BeginAnswer::State(garbage.clone()), 0.0) else {
        panic!("no ask")
    };
    assert_eq!(ask.seen, Some(Seen::of_state(Some(&garbage))));
}

#[test]
fn one_failed_poll_is_forgiven_and_a_second_in_a_row_is_not() {
    let mut follower = follower();
    assert!(matches!(
        follower.failed(Fault::Timeout, Duration::ZERO, 0.0),
        Step::Wait(_)
    ));
    assert_eq!(
        follower.failed(Fault::Timeout, Follower::CUT, 0.0),
        Step::GiveUp(Fault::Timeout)
    );
}

#[test]
fn a_first_question_without_an_answer_gives_up_at_once() {
    let mut fresh = Follower::new(key(), ME, LEASE, PollPlan::default(), None);
    assert_eq!(
        fresh.failed(Fault::Disconnected, Duration::ZERO, 0.0),
        Step::GiveUp(Fault::Disconnected)
    );
}

#[test]
fn failed_polls_while_a_cut_connection_is_made_anew_are_forgiven() {
    let mut follower = follower();
    let cut = Follower::CUT.saturating_sub(Duration::from_millis(1));
    for silence in [Duration::ZERO, cut / 2, cut] {
        let step = follower.failed(Fault::Disconnected, silence, 0.0);
        assert!(matches!(step, Step::Wait(_)), "{step:?}");
    }
    let step = follower.failed(Fault::Disconnected, Follower::CUT, 0.0);
    assert_eq!(step, Step::GiveUp(Fault::Disconnected));
}
