//! What a follower does next, for each thing that can happen to it.

use super::*;

const LEASE: Duration = Duration::from_secs(3);
const PATIENCE: Duration = Duration::from_millis(500);
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
    let mut follower = Follower::new(
        key(),
        ME,
        LEASE,
        PollPlan::default(),
        PATIENCE,
        Some(OLD.into()),
    );
    let answer = BeginAnswer::Follow {
        leader: LEADER,
        lease_left: LEASE,
        seen: OLD.into(),
        trace: None,
    };
    assert_eq!(
        follower.answered(answer, 0.0),
        Step::Wait(Duration::from_millis(50))
    );
    follower
}

#[test]
fn the_role_is_taken_from_the_answer() {
    let mut fresh = Follower::new(key(), ME, LEASE, PollPlan::default(), PATIENCE, None);
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
fn a_grant_is_old_behind_its_lease_and_behind_any_answer_that_comes_in_time() {
    let of = |lease| Follower::new(key(), ME, lease, PollPlan::default(), PATIENCE, None);
    for (lease, old) in [(2 * PATIENCE, 2 * PATIENCE), (PATIENCE / 2, PATIENCE)] {
        assert!(of(lease).may_be_gone(old));
        assert!(!of(lease).may_be_gone(old.mul_f64(0.999)));
    }
}

#[test]
fn whom_it_follows_and_in_which_trace_is_known_from_the_answer() {
    let trace = Traceparent::parse("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
    let mut fresh = Follower::new(key(), ME, LEASE, PollPlan::default(), PATIENCE, None);
    assert_eq!((fresh.has_followed(), fresh.led_in()), (false, None));
    let follow = BeginAnswer::Follow {
        leader: LEADER,
        lease_left: LEASE,
        seen: Seen::NOTHING,
        trace,
    };
    fresh.answered(follow, 0.0);
    assert_eq!((fresh.has_followed(), fresh.led_in()), (true, trace));
    assert!(trace.is_some());
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
    // The one below which it joined is not what it waits for.
    let old = follower.heard(Message::Stored { token: OLD });
    assert_eq!(old, Step::KeepWaiting);
    assert_eq!(
        follower.heard(Message::Stored { token: LEADER }),
        Step::Look
    );
    let state = envelope(LEADER).encode(&key());
    assert!(matches!(follower.looked(Some(&state)), Step::Settle(_)));
}

#[test]
fn an_invalidated_state_is_no_outcome() {
    let marker = Envelope {
        status: Status::Invalidated,
        ..envelope(OTHER)
    };
    let state = marker.encode(&key());
    assert_eq!(follower().looked(Some(&state)), Step::KeepWaiting);
}

fn abandoned(token: Token) -> Message {
    let body_failed = true;
    Message::Abandoned { token, body_failed }
}

#[test]
fn only_the_leader_it_follows_makes_it_ask_again_when_abandoned() {
    assert!(matches!(follower().heard(abandoned(LEADER)), Step::Ask(_)));
    assert_eq!(follower().heard(abandoned(OTHER)), Step::KeepWaiting);
}

#[test]
fn after_two_abandoned_flights_it_stops_trying() {
    let mut follower = follower();
    follower.heard(abandoned(LEADER));
    let next = BeginAnswer::Follow {
        leader: OTHER,
        lease_left: LEASE,
        seen: OLD.into(),
        trace: None,
    };
    follower.answered(next, 0.0);
    assert_eq!(follower.heard(abandoned(OTHER)), Step::StopTrying);
}

/// A rolling deployment, or locks of askers that gave up: bodies have nothing to do with it.
#[test]
fn flights_that_give_way_are_no_reason_to_stop_trying() {
    let mut follower = follower();
    for leader in [LEADER, OTHER, OLD] {
        let next = BeginAnswer::Follow {
            leader,
            lease_left: LEASE,
            seen: OLD.into(),
            trace: None,
        };
        follower.answered(next, 0.0);
        let gives_way = Message::Abandoned {
            token: leader,
            body_failed: false,
        };
        assert!(matches!(follower.heard(gives_way), Step::Ask(_)));
    }
    assert!(matches!(follower.heard(abandoned(OLD)), Step::KeepWaiting));
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
    let told = [follower.met_unreadable(), follower.met_unreadable()];
    assert_eq!(told, [true, false], "it is told once");
}

#[test]
fn a_first_question_without_an_answer_gives_up_at_once() {
    let fresh = Follower::new(key(), ME, LEASE, PollPlan::default(), PATIENCE, None);
    assert_eq!(
        fresh.failed(Fault::Disconnected, Duration::ZERO, 0.0),
        Step::GiveUp(Fault::Disconnected)
    );
}

/// However long it has waited, and however wide its polls are by then.
#[test]
fn a_leader_is_believed_in_for_two_deadlines_without_an_answer_and_no_longer() {
    let mut follower = follower();
    for _ in 0..9 {
        follower.wait(0.0);
    }
    for (silence, pause) in [(0, 50), (250, 50), (480, 20)] {
        let silence = Duration::from_millis(silence);
        let step = follower.failed(Fault::Disconnected, silence, 0.0);
        assert_eq!(step, Step::AskAgainIn(Duration::from_millis(pause)));
    }
    let step = follower.failed(Fault::Disconnected, PATIENCE, 0.0);
    assert_eq!(step, Step::GiveUp(Fault::Disconnected));
}

#[test]
fn behind_an_answer_that_was_waited_for_in_vain_it_asks_at_once() {
    let step = follower().failed(Fault::Timeout, PATIENCE / 2, 1.0);
    assert_eq!(step, Step::AskAgainIn(Duration::ZERO));
}

#[test]
fn an_abandoned_leader_is_not_believed_in() {
    let mut follower = follower();
    follower.heard(abandoned(LEADER));
    let step = follower.failed(Fault::Refused, Duration::ZERO, 0.0);
    assert_eq!(step, Step::GiveUp(Fault::Refused));
}

#[test]
fn a_flight_that_is_said_to_be_abandoned_twice_is_one() {
    let mut follower = follower();
    follower.heard(abandoned(LEADER));
    let again = follower.heard(abandoned(LEADER));
    assert_eq!(again, Step::KeepWaiting);
}

#[test]
fn a_fence_that_no_message_told_of_is_met_once() {
    let mut follower = follower();
    let mut meets = |leader, seen| {
        let follow = BeginAnswer::Follow {
            leader,
            lease_left: LEASE,
            seen,
            trace: None,
        };
        follower.answered(follow, 0.0);
        follower.met_fence()
    };
    assert!(!meets(LEADER, OLD.into()), "nothing has changed");
    assert!(!meets(LEADER, Seen::NOTHING), "the old state has expired");
    assert!(meets(LEADER, OTHER.into()));
    assert!(!meets(LEADER, OTHER.into()), "once");
    assert!(!meets(OTHER, OLD.into()), "another flight");
}
