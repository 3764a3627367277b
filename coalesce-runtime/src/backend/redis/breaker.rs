//! The breaker: after a few faults in a row nobody is made to wait for a server that does not answer.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::ports::health::BreakerState;
use crate::words::clock::{Instant, now};
use crate::words::fault::Fault;
use crate::words::limiter::Limiter;

/// Faults in a row that open it.
const TOLERATED: u8 = 3;

/// How long it stays open before a trial, and how long a trial may take before the next.
const PAUSE: Duration = Duration::from_secs(1);

/// The breaker of a line. Each line has its own, because a paused write must not keep anybody from reading.
#[derive(Debug, Default)]
pub(super) struct Breaker(Mutex<State>);

impl Breaker {
    /// Whether a question may be asked now.
    pub(super) fn admit(&self) -> Result<(), Fault> {
        self.state().admit(now())
    }

    /// What came of an admitted question.
    pub(super) fn report(&self, fault: Option<Fault>) {
        match fault {
            Some(fault @ (Fault::Timeout | Fault::Disconnected)) => {
                let opened = self.state().fault(now());
                if let Some(left_out) = opened {
                    let fault = fault.label();
                    tracing::warn!(
                        fault,
                        left_out,
                        "Redis gave no answer three times in a row: calls run on their own until it does"
                    );
                }
            }
            // An answer nobody likes is an answer.
            _ => self.state().close(),
        }
    }

    /// The server is there again, so the next question is the trial, without waiting for the pause.
    ///
    /// It is not closed yet: a server that answers PING may still keep scripts waiting.
    pub(super) fn allow_trial(&self) {
        self.state().allow_trial(now());
    }

    pub(super) fn state_now(&self) -> BreakerState {
        self.state().at(now())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The decisions, without a clock.
#[derive(Debug, Default)]
struct State {
    faults: u8,
    next_trial: Option<Instant>,
    said: Limiter,
}

impl State {
    fn is_open(&self) -> bool {
        self.faults >= TOLERATED
    }

    fn at(&self, now: Instant) -> BreakerState {
        match self.next_trial {
            _ if !self.is_open() => BreakerState::Closed,
            Some(at) if now < at => BreakerState::Open,
            _ => BreakerState::HalfOpen,
        }
    }

    fn admit(&mut self, now: Instant) -> Result<(), Fault> {
        match self.at(now) {
            BreakerState::Closed => return Ok(()),
            BreakerState::HalfOpen => {}
            BreakerState::Open => return Err(Fault::Paused),
        }
        // A trial whose asker goes away never reports, so the next one does not wait for it.
        self.next_trial = Some(now + PAUSE);
        Ok(())
    }

    /// Counts a fault. Where that opens it and it is time to say so: how many times that was not said.
    fn fault(&mut self, now: Instant) -> Option<u64> {
        let was_open = self.is_open();
        self.faults = (self.faults + 1).min(TOLERATED);
        self.next_trial = Some(now + PAUSE);
        if was_open || !self.is_open() {
            return None;
        }
        self.said.admit(now)
    }

    fn allow_trial(&mut self, now: Instant) {
        self.next_trial = Some(now);
    }

    fn close(&mut self) {
        self.faults = 0;
        self.next_trial = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn opened_at(start: Instant) -> State {
        let mut state = State::default();
        for _ in 0..TOLERATED {
            state.fault(start);
        }
        state
    }

    #[test]
    fn it_opens_after_three_faults_in_a_row_and_not_before() {
        let start = now();
        let mut state = State::default();
        state.fault(start);
        state.fault(start);
        assert_eq!(state.admit(start), Ok(()));
        state.close();
        state.fault(start);
        state.fault(start);
        assert_eq!(state.admit(start), Ok(()));
        state.fault(start);
        assert_eq!(state.admit(start), Err(Fault::Paused));
    }

    #[test]
    fn that_it_opens_is_said_once_and_not_for_each_trial_that_fails() {
        let (start, mut state) = (now(), State::default());
        let mut faults = |at| (0..TOLERATED).filter_map(|_| state.fault(at)).collect();
        let said: Vec<Vec<u64>> = vec![faults(start), faults(start + PAUSE)];
        assert_eq!(said, [vec![0], vec![]]);
        state.close();
        let flapping: Vec<_> = (0..TOLERATED)
            .map(|_| state.fault(start + 2 * PAUSE))
            .collect();
        assert_eq!(
            flapping, [None; TOLERATED as usize],
            "too soon to say it again"
        );
        state.close();
        let later: Vec<_> = (0..TOLERATED)
            .map(|_| state.fault(start + 20 * PAUSE))
            .collect();
        assert_eq!(later, [None, None, Some(1)]);
    }

    #[test]
    fn one_trial_at_a_time_after_the_pause() {
        let start = now();
        let mut state = opened_at(start);
        assert_eq!(state.admit(start + PAUSE - MS), Err(Fault::Paused));
        assert_eq!(state.admit(start + PAUSE), Ok(()));
        assert_eq!(state.admit(start + PAUSE + MS), Err(Fault::Paused));
    }

    #[test]
    fn a_trial_that_answers_closes_it_and_one_that_fails_pauses_again() {
        let start = now();
        let mut state = opened_at(start);
        assert_eq!(state.admit(start + PAUSE), Ok(()));
        state.fault(start + PAUSE + 250 * MS);
        assert_eq!(state.admit(start + 2 * PAUSE), Err(Fault::Paused));
        assert_eq!(state.admit(start + 2 * PAUSE + 250 * MS), Ok(()));
        state.close();
        assert_eq!(state.admit(start + 2 * PAUSE + 251 * MS), Ok(()));
        assert_eq!(state.admit(start + 2 * PAUSE + 251 * MS), Ok(()));
    }

    #[test]
    fn a_trial_that_is_never_reported_does_not_block_the_next() {
        let start = now();
        let mut state = opened_at(start);
        assert_eq!(state.admit(start + PAUSE), Ok(()));
        assert_eq!(state.admit(start + 2 * PAUSE), Ok(()));
    }

    #[test]
    fn a_server_that_is_back_is_tried_once_before_the_pause_is_over() {
        let start = now();
        let mut state = opened_at(start);
        state.allow_trial(start + MS);
        assert_eq!(state.admit(start + MS), Ok(()));
        assert_eq!(state.admit(start + MS), Err(Fault::Paused));
    }

    #[test]
    fn a_refusal_is_an_answer() {
        let breaker = Breaker::default();
        for fault in [
            Fault::Refused,
            Fault::Denied,
            Fault::Garbled,
            Fault::ForeignType,
        ] {
            breaker.report(Some(Fault::Timeout));
            breaker.report(Some(Fault::Disconnected));
            breaker.report(Some(fault));
        }
        assert_eq!(breaker.state().at(now()), BreakerState::Closed);
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_asks_while_it_is_open_and_one_asks_when_there_is_hope() {
        let breaker = Breaker::default();
        for _ in 0..TOLERATED {
            assert_eq!(breaker.admit(), Ok(()));
            assert_eq!(breaker.state_now(), BreakerState::Closed);
            breaker.report(Some(Fault::Timeout));
        }
        assert_eq!(breaker.state_now(), BreakerState::Open);
        assert_eq!(breaker.admit(), Err(Fault::Paused));
        breaker.allow_trial();
        assert_eq!(breaker.state_now(), BreakerState::HalfOpen);
        assert_eq!(breaker.admit(), Ok(()));
        assert_eq!(breaker.admit(), Err(Fault::Paused));
        breaker.report(None);
        assert_eq!(breaker.state_now(), BreakerState::Closed);
    }
}
