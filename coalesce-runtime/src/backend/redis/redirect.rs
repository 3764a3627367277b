//! What a node of a cluster says when it does not answer itself, and what to do then. Decisions, without I/O.

use std::mem::replace;
use std::time::Duration;

use fred::error::Error;

use super::fault::fault_of;
use super::slots::{NAMELESS, Place};
use crate::words::clock::{Instant, now};
use crate::words::fault::Fault;

/// In a cluster a question is sent on so often: two nodes that name each other must not keep it for ever.
const STEPS: u8 = 5;

/// Before a question is asked again because its keys, or their slot, are just being moved.
const PAUSE: Duration = Duration::from_millis(25);

/// Why there is no answer from the node that was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Setback {
    Fault(Fault),
    /// That node serves the slot.
    Moved(Place),
    /// The slot is being moved to that node: this one question is to be asked there.
    Ask(Place),
    /// Some of the keys have been moved and some have not.
    Again,
    /// That server is another's copy and takes no writes.
    Copy,
}

impl From<Fault> for Setback {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl From<&Error> for Setback {
    fn from(error: &Error) -> Self {
        Self::told(error.details()).unwrap_or_else(|| fault_of(error).into())
    }
}

impl Setback {
    /// What a node says of another, like `MOVED 3999 127.0.0.1:6381`, or of its own part.
    pub(super) fn told(text: &str) -> Option<Self> {
        // Older servers put the code of an error behind "ERR Error running script". RENEW tells it by the same.
        if text.contains("READONLY You can't write") {
            return Some(Self::Copy);
        }
        let mut words = text.split(' ');
        let there = match words.next()? {
            "MOVED" => Self::Moved,
            "ASK" => Self::Ask,
            "TRYAGAIN" => return Some(Self::Again),
            _ => return None,
        };
        let (host, port) = words.nth(1)?.rsplit_once(':')?;
        let port = port.parse().ok().filter(|port| *port > 0)?;
        if host == NAMELESS {
            // Where it is says the table alone.
            return None;
        }
        Some(there(Place::new(host, port)))
    }

    /// The fault that it is to those who go no further.
    fn fault(&self) -> Fault {
        match self {
            Self::Fault(fault) => *fault,
            _ => Fault::Refused,
        }
    }
}

/// One turn of a question.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turn {
    /// When the answer must be there.
    pub(super) until: Instant,
    /// Whether ASKING goes before it.
    pub(super) asking: bool,
}

impl Turn {
    pub(super) fn within(patience: Duration) -> Self {
        Self {
            until: now() + patience,
            asking: false,
        }
    }

    /// What is left of it. Never nothing, which would mean no limit to the client.
    pub(super) fn left(&self) -> Duration {
        let left = self.until.saturating_duration_since(now());
        left.max(Duration::from_millis(1))
    }
}

/// What to do with a setback.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Ask there, so much later, and from now on everything of this slot.
    Follow(Place, Duration),
    /// Ask there, this time.
    Visit(Place),
    /// Ask whoever serves the slot, a little later.
    Wait(Duration),
    End(Fault),
}

/// The way of one question.
#[derive(Debug)]
pub(super) struct Way {
    steps_left: u8,
    /// None is waited for where a slot has moved; two nodes that name each other have not both heard of it.
    pause: Duration,
}

impl Way {
    /// The way through a cluster, or to a server that has nobody to send to.
    pub(super) fn new(clustered: bool) -> Self {
        let steps_left = if clustered { STEPS } else { 0 };
        Self {
            steps_left,
            pause: Duration::ZERO,
        }
    }

    /// Goes on behind what the node at `asked` has said.
    pub(super) fn next(&mut self, setback: Setback, asked: &Place) -> Next {
        let fault = setback.fault();
        let Some(steps_left) = self.steps_left.checked_sub(1) else {
            return Next::End(fault);
        };
        self.steps_left = steps_left;
        match setback {
            Setback::Fault(_) | Setback::Copy => Next::End(fault),
            Setback::Moved(place) => {
                let pause = replace(&mut self.pause, PAUSE);
                Next::Follow(place.seen_from(asked), pause)
            }
            Setback::Ask(place) => Next::Visit(place.seen_from(asked)),
            Setback::Again => Next::Wait(PAUSE),
        }
    }
}

#[cfg(test)]
mod tests {
    use fred::error::ErrorKind;

    use super::*;

    fn there(host: &str) -> Place {
        Place::new(host, 6_381)
    }

    #[test]
    fn a_node_names_the_node_that_it_sends_to() {
        let told = |text| Setback::told(text);
        let moved = |host| Some(Setback::Moved(there(host)));
        assert_eq!(told("MOVED 3999 127.0.0.1:6381"), moved("127.0.0.1"));
        assert_eq!(told("MOVED 3999 ::1:6381"), moved("::1"));
        assert_eq!(told("MOVED 3999 :6381"), moved(""));
        assert_eq!(told("ASK 3999 h:6381"), Some(Setback::Ask(there("h"))));
        let again = "TRYAGAIN Multiple keys request during rehashing of slot";
        assert_eq!(told(again), Some(Setback::Again));
        let of_no_place = ["MOVED 1 h", "MOVED 1 h:0", "MOVED 1 ?:1"];
        let copy = "READONLY You can't write against a read only replica.";
        let behind = format!("ERR Error running script: @user_script: 7: -{copy}");
        for text in [copy, &behind] {
            assert_eq!(told(text), Some(Setback::Copy), "{text}");
        }
        for text in ["", "MOVED", "MOVED 3999", "OOM"]
            .iter()
            .chain(&of_no_place)
        {
            assert_eq!(told(text), None, "{text}");
        }
    }

    #[test]
    fn every_other_error_is_a_fault() {
        let down = Error::new(ErrorKind::Cluster, "CLUSTERDOWN Hash slot not served");
        assert_eq!(Setback::from(&down), Setback::Fault(Fault::Refused));
        let garbled = Error::new(ErrorKind::Cluster, "MOVED 1 h:0");
        assert_eq!(Setback::from(&garbled), Setback::Fault(Fault::Refused));
        let silent = Error::new(ErrorKind::Timeout, "");
        assert_eq!(Setback::from(&silent), Setback::Fault(Fault::Timeout));
    }

    #[test]
    fn who_is_sent_to_a_node_without_a_host_stays_at_this_one() {
        let (asked, mut way) = (Place::new("here", 7_000), Way::new(true));
        let moved = way.next(Setback::Moved(there("")), &asked);
        assert_eq!(moved, Next::Follow(there("here"), Duration::ZERO));
        let ask = way.next(Setback::Ask(there("h")), &asked);
        assert_eq!(ask, Next::Visit(there("h")));
    }

    #[test]
    fn two_nodes_that_name_each_other_do_not_keep_a_question() {
        let (asked, mut way) = (Place::new("here", 7_000), Way::new(true));
        for step in 0..STEPS {
            let next = way.next(Setback::Moved(there("h")), &asked);
            let pause = if step == 0 { Duration::ZERO } else { PAUSE };
            assert_eq!(next, Next::Follow(there("h"), pause));
        }
        let next = way.next(Setback::Moved(there("h")), &asked);
        assert_eq!(next, Next::End(Fault::Refused));
    }

    #[test]
    fn a_server_that_is_no_part_of_our_cluster_sends_nobody_anywhere() {
        let (asked, mut way) = (Place::new("here", 7_000), Way::new(false));
        let next = way.next(Setback::Moved(there("h")), &asked);
        assert_eq!(next, Next::End(Fault::Refused));
        let next = way.next(Setback::Fault(Fault::Timeout), &asked);
        assert_eq!(next, Next::End(Fault::Timeout));
        let next = way.next(Setback::Copy, &asked);
        assert_eq!(next, Next::End(Fault::Refused));
    }

    #[test]
    fn keys_that_are_being_moved_are_asked_for_again_and_faults_are_not() {
        let (asked, mut way) = (Place::new("here", 7_000), Way::new(true));
        assert_eq!(way.next(Setback::Again, &asked), Next::Wait(PAUSE));
        let down = Setback::Fault(Fault::Timeout);
        assert_eq!(way.next(down, &asked), Next::End(Fault::Timeout));
    }

    #[tokio::test(start_paused = true)]
    async fn a_turn_never_has_nothing_left() {
        let turn = Turn::within(Duration::from_secs(1));
        assert_eq!(turn.left(), Duration::from_secs(1));
        assert!(!turn.asking);
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(turn.left(), Duration::from_millis(1));
    }
}
