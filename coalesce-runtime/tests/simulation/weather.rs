//! Weather: which faults a seed has in store for the questions and messages of its pods.

use std::time::Duration;

use coalesce_runtime::Fault;

use crate::dice::Dice;

/// The longest a question may take, as in production.
pub const DEADLINE: Duration = Duration::from_millis(250);

/// What kind of scenario a seed is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Climate {
    /// Latency, nothing else.
    Calm,
    /// Messages get lost, are late, or cannot be listened to.
    Deaf,
    /// Pods die, callers go away, bodies panic.
    Deadly,
    /// All of it, and questions that fail in every way.
    Stormy,
}

/// How often what happens. All chances are per question, or per message and pod.
#[derive(Clone, Debug, Default)]
pub struct Weather {
    pub latency: u64,
    pub slow: f64,
    pub lost_request: f64,
    pub lost_reply: f64,
    /// Executed, but after the asker has given up.
    pub overdue: f64,
    pub twice: f64,
    pub broken: f64,
    pub refused: f64,
    pub deaf: f64,
    pub notice_lost: f64,
    pub notice_gap: f64,
    pub notice_late: f64,
    pub outages: Vec<Outage>,
    /// How far off a pod's idea of the server's clock may be, in milliseconds.
    pub clock_error: u64,
}

/// A time in which a pod, or every pod, is cut off.
#[derive(Clone, Copy, Debug)]
pub struct Outage {
    pub pod: Option<usize>,
    pub from: Duration,
    pub to: Duration,
    /// The server is frozen and answers afterwards, instead of not being there.
    pub frozen: bool,
}

/// What becomes of one question.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fate {
    /// When it is executed, if it is.
    pub executed: Option<Duration>,
    /// Executed once more after this.
    pub again: Option<Duration>,
    /// When the answer is there, behind the last execution. `None`: never.
    pub answered: Option<Duration>,
    /// The asker learns this so soon, instead of an answer.
    pub fails: Option<(Duration, Fault)>,
}

impl Weather {
    /// What becomes of a question that is asked at `now`.
    pub fn fate(&self, dice: &mut Dice, pod: usize, now: Duration) -> Fate {
        let mut fate = Fate {
            executed: Some(dice.span(0, self.latency)),
            again: None,
            answered: Some(dice.span(0, self.latency)),
            fails: None,
        };
        if let Some(outage) = self.outage(pod, now) {
            return self.cut_off(dice, outage, now);
        }
        let chances = [
            self.slow,
            self.lost_request,
            self.lost_reply,
            self.overdue,
            self.twice,
            self.broken,
            self.refused,
        ];
        match chances.iter().position(|chance| dice.happens(*chance)) {
            Some(0) => {
                fate.executed = Some(dice.span(0, 240));
                fate.answered = Some(dice.span(0, 240));
            }
            Some(1) => fate.executed = None,
            Some(2) => fate.answered = None,
            Some(3) => fate.executed = Some(dice.span(251, 900)),
            Some(4) => fate.again = Some(dice.span(1, 200)),
            Some(5) => {
                fate.executed = fate.executed.filter(|_| dice.happens(0.5));
                fate.fails = Some((dice.span(0, 100), Fault::Disconnected));
            }
            Some(6) => {
                fate.executed = None;
                fate.fails = Some((dice.span(0, 5), Fault::Refused));
            }
            _ => {}
        }
        fate
    }

    /// Whether the pod is cut off, and until when.
    pub fn outage(&self, pod: usize, now: Duration) -> Option<Outage> {
        let concerns = |outage: &&Outage| {
            outage.pod.is_none_or(|cut| cut == pod) && outage.from <= now && now < outage.to
        };
        self.outages.iter().find(concerns).copied()
    }

    fn cut_off(&self, dice: &mut Dice, outage: Outage, now: Duration) -> Fate {
        let left = outage.to.saturating_sub(now);
        if outage.frozen {
            return Fate {
                executed: Some(left + dice.span(0, self.latency)),
                again: None,
                answered: Some(dice.span(0, self.latency)),
                fails: None,
            };
        }
        Fate {
            executed: None,
            again: None,
            answered: None,
            fails: Some((
                Duration::ZERO,
                dice.one_of(&[Fault::Disconnected, Fault::Paused]),
            )),
        }
    }
}

impl Fate {
    /// Whether it may be executed behind what is sent later: over a connection that was lost since.
    pub fn overtakes(&self) -> bool {
        self.fails.is_some() || self.executed.is_some_and(|executed| executed > DEADLINE)
    }

    /// Nothing happens on the way.
    pub fn is_immediate(&self) -> bool {
        self.executed == Some(Duration::ZERO)
            && self.answered == Some(Duration::ZERO)
            && self.again.is_none()
            && self.fails.is_none()
    }
}

impl Fate {
    /// Whether it is more than latency.
    pub fn is_trouble(&self) -> bool {
        let way = self
            .executed
            .zip(self.answered)
            .map(|(there, back)| there + back);
        self.fails.is_some()
            || self.again.is_some()
            || way.is_none_or(|way| way > Duration::from_millis(60))
    }
}
