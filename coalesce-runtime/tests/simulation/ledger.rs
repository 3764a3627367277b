//! The ledger: every run of a body, every call, every change from outside and every fault, as they happened.

use coalesce_runtime::Fault;

/// Microseconds since the scenario began.
pub type At = u64;

/// A moment, and its place among everything that happened in the same one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment {
    pub seq: u64,
    pub at: At,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    Running,
    Value,
    Large,
    Error,
    Panic,
    Dropped,
    /// The value was put, not computed.
    Put,
}

/// One execution of a body. Its nonce is its place in the ledger.
#[derive(Clone, Debug)]
pub struct Run {
    pub key: usize,
    pub pod: usize,
    pub call: usize,
    pub started: Moment,
    pub ended: Option<At>,
    pub how: How,
}

/// How a call was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// The body runs in a task of its own.
    Detached,
    /// The body runs in the caller's task.
    Inline,
    /// Asks for a newer value than the stored one.
    Refresh,
    /// Looks and runs nothing.
    Peek,
}

/// What a call was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Value { key: usize, nonce: usize },
    Error { key: usize, nonce: usize },
    Ours(String),
    Nothing,
    Panicked,
    Cancelled,
}

/// One call.
#[derive(Clone, Debug)]
pub struct Call {
    pub key: usize,
    pub pod: usize,
    pub style: Style,
    pub arrived: Moment,
    pub answered: Option<Moment>,
    pub outcome: Option<Outcome>,
}

/// An invalidation, a value put, or a turn of the kill switch.
#[derive(Clone, Debug)]
pub struct Change {
    pub key: usize,
    pub pod: usize,
    pub what: What,
    pub asked: Moment,
    pub answered: Option<Moment>,
    pub succeeded: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    Invalidate,
    Put { nonce: usize },
    SwitchOff,
    SwitchOn,
}

/// A fault that was injected.
#[derive(Clone, Debug)]
pub struct Injected {
    /// `None`: it concerns every pod.
    pub pod: Option<usize>,
    /// `None`: it concerns every key.
    pub key: Option<usize>,
    pub from: At,
    /// When its consequences at the server were over.
    pub to: At,
    pub what: &'static str,
    /// What the asker was told.
    pub told: Option<Fault>,
}

/// All of it.
#[derive(Debug, Default)]
pub struct Ledger {
    pub runs: Vec<Run>,
    pub calls: Vec<Call>,
    pub changes: Vec<Change>,
    pub faults: Vec<Injected>,
    /// When each dead pod died.
    pub deaths: Vec<(usize, At)>,
    /// What was wrong in the end, or was seen to be wrong on the way: promise and sentence.
    pub wrongs: Vec<(&'static str, String)>,
    seq: u64,
}

impl Ledger {
    pub fn moment(&mut self, at: At) -> Moment {
        self.seq += 1;
        Moment { seq: self.seq, at }
    }

    pub fn arrive(&mut self, at: At, key: usize, pod: usize, style: Style) -> usize {
        let arrived = self.moment(at);
        self.calls.push(Call {
            key,
            pod,
            style,
            arrived,
            answered: None,
            outcome: None,
        });
        self.calls.len() - 1
    }

    pub fn answer(&mut self, at: At, call: usize, outcome: Outcome) {
        let answered = self.moment(at);
        let call = &mut self.calls[call];
        if call.outcome.is_none() {
            call.answered = Some(answered);
            call.outcome = Some(outcome);
        }
    }

    /// A run begins; the answer is its nonce.
    pub fn start(&mut self, at: At, key: usize, pod: usize, call: usize) -> usize {
        let started = self.moment(at);
        self.runs.push(Run {
            key,
            pod,
            call,
            started,
            ended: None,
            how: How::Running,
        });
        self.runs.len() - 1
    }

    pub fn end(&mut self, at: At, nonce: usize, how: How) {
        let run = &mut self.runs[nonce];
        if run.how == How::Running {
            run.ended = Some(at);
            run.how = how;
        }
    }

    /// A value that is put from outside; the answer is its nonce.
    pub fn put(&mut self, at: At, key: usize, pod: usize) -> usize {
        let nonce = self.start(at, key, pod, usize::MAX);
        self.runs[nonce].how = How::Put;
        nonce
    }

    pub fn died(&self, pod: usize) -> Option<At> {
        self.deaths
            .iter()
            .find(|(dead, _)| *dead == pod)
            .map(|(_, at)| *at)
    }

    pub fn wrong(&mut self, promise: &'static str, sentence: String) {
        self.wrongs.push((promise, sentence));
    }

    /// The runs of a key that a body made, with their nonces, in the order of their starts.
    pub fn runs_of(&self, key: usize) -> impl Iterator<Item = (usize, &Run)> {
        self.runs
            .iter()
            .enumerate()
            .filter(move |(_, run)| run.key == key && run.how != How::Put)
    }

    /// When a run ended at the latest: with its pod, if it had not before.
    pub fn end_of(&self, run: &Run) -> At {
        run.ended.or_else(|| self.died(run.pod)).unwrap_or(At::MAX)
    }
}
