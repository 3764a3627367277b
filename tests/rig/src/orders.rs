//! What is said between a test and its pods: which calls to make, and how they went.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Which annotated function a pod calls.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum Site {
    /// Retains nothing.
    InFlight,
    /// Retains nothing; followers of a failed flight elect once more.
    Retry,
    /// Fresh for a minute.
    Fresh,
    /// Fresh for a second, stale for a minute.
    Stale,
    /// Fresh for a second.
    Brief,
    /// Retains nothing, ceiling of 1,000 bytes, value of 5,000.
    Oversized,
    /// Pending 2 s, wait 5 s.
    Short,
    /// Retains nothing; every argument is part of the key, the caller's name among them.
    EveryCaller,
    /// The same with the caller's name skipped.
    AnyCaller,
    /// Pending `RIG_PENDING` or 200 ms, wait `RIG_WAIT` or 400 ms.
    Patient,
    /// The same, with an error rather than a run of its own when Redis cannot be asked.
    Strict,
    /// Waits as long as it takes.
    Endless,
    /// Enabled unless `RIG_ENABLED` says otherwise.
    Switched,
    /// The key is a hash map, whose order is another in every process.
    Mapped,
    /// A method `get` of a type `Service` in one module.
    OneService,
    /// A method `get` of a type `Service` in another module.
    OtherService,
    /// Calls itself with its own key, twice over.
    Recursive,
    /// The key is a number, and its body asks for the one below, down to nought.
    Nested,
    /// Fresh for a minute; what it returns differs between the deployments that `RIG_DEPLOYMENT` names.
    Deployed,
}

/// When a body fails.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum Fails {
    /// Never.
    Never,
    /// Always.
    Always,
    /// When it is the first in the ledger.
    First,
    /// Always, with an error that says nothing.
    Silently,
    /// When it is the first in the ledger, by a panic.
    FirstPanics,
}

/// Calls to make at once.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Burst {
    /// The function.
    pub site: Site,
    /// Caller number n calls key n modulo their number.
    pub keys: Vec<String>,
    /// How many callers.
    pub callers: usize,
    /// How often each calls, back to back.
    pub rounds: usize,
    /// For how long each calls, back to back, instead; in milliseconds.
    pub lasts_ms: Option<u64>,
    /// How many bytes more than usual the value has.
    pub filler: usize,
    /// How long a caller of a load rests between two calls, in milliseconds.
    pub pause_ms: u64,
    /// How long after one another callers start, in milliseconds.
    pub gap_ms: u64,
    /// When the first caller starts, in milliseconds.
    pub delay_ms: u64,
    /// How long the body takes.
    pub body_ms: u64,
    /// When the body fails.
    pub fails: Fails,
    /// How long a caller lives, in milliseconds; then its call is dropped, as by a client that disconnects.
    pub dropped_after_ms: Option<u64>,
}

impl Burst {
    /// `callers` of one key at once, with a body of 100 ms that never fails.
    pub fn of(site: Site, callers: usize) -> Self {
        let keys = vec!["a".to_owned()];
        Self {
            site,
            keys,
            callers,
            rounds: 1,
            lasts_ms: None,
            filler: 0,
            pause_ms: 0,
            gap_ms: 0,
            delay_ms: 0,
            body_ms: 100,
            fails: Fails::Never,
            dropped_after_ms: None,
        }
    }
}

/// How one call was answered.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Answer {
    /// The key it asked for.
    pub key: String,
    /// The key that the value says it is of.
    pub of_key: Option<String>,
    /// The run that made the value.
    pub run: Option<String>,
    /// When that run was about to return, by its own account.
    pub ended: Option<u64>,
    /// The name of the caller whose arguments that run had.
    pub caller: Option<String>,
    /// The error's text.
    pub error: Option<String>,
    /// The process that called.
    pub pid: u32,
    /// When it called, in microseconds since the Unix epoch.
    pub arrived: u64,
    /// When it was answered.
    pub answered: u64,
}

/// What a pod says of itself.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PodState {
    /// Local entries.
    pub in_flight: usize,
    /// Subscriptions, lingering ones included.
    pub subscriptions: usize,
    /// Takeovers counted.
    pub takeovers: u64,
    /// Its books, by namespace.
    pub books: BTreeMap<String, Page>,
    /// Whether everything is switched off, as far as the pod knows.
    pub switched_off: bool,
    /// Bodies started.
    pub executions: u64,
    /// Calls answered without a run of their own.
    pub saved: u64,
    /// Calls that went past the coordinator.
    pub bypassed: u64,
    /// Questions to Redis without an answer.
    pub faults: u64,
    /// Why the last of those had none, by the name of the fault; nothing where all had one.
    pub last_fault: String,
    /// Whether messages are heard.
    pub subscribed: bool,
    /// Replies and messages of another key, or of another request. Each was discarded.
    pub misrouted: u64,
    /// Whether questions to Redis are asked, by the name of a breaker's state.
    pub breaker: String,
    /// Values that could not be read.
    pub undecodable: u64,
    /// Tasks of its runtime.
    pub tasks: usize,
    /// Calls of loads begun.
    pub begun: u64,
    /// Calls of loads answered.
    pub answered: u64,
}

/// What a pod's books say of one namespace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Page {
    /// Calls that came in.
    pub calls: u64,
    /// How many of them ended, however they did.
    pub outcomes: u64,
    /// Bodies started for flights.
    pub executions: u64,
    /// Bodies that ended.
    pub endings: u64,
    /// Calls that ran their bodies as if the attribute were not there.
    pub bypassed: u64,
}

/// How many calls of loads a pod has made.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Tally {
    /// Begun.
    pub begun: u64,
    /// Answered.
    pub answered: u64,
}

/// What befalls a process of itself, and no server or signal has to do with.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum Affliction {
    /// The next body panics.
    Panic,
    /// The next body of `Site::Patient` does not end.
    EndlessBody,
    /// Bodies end again, and none that was to be endless will be.
    Relief,
    /// A worker is busy with something else.
    Hog {
        /// For so many milliseconds.
        lasts_ms: u64,
    },
    /// Half of the callers of a load go away, by chance, and their calls are dropped.
    Departure,
}

/// A question to a pod.
#[derive(Debug, Serialize, Deserialize)]
pub enum Order {
    /// Make these calls and say how they were answered.
    Burst(Burst),
    /// Make calls for as long as this lasts, write the answers to a file, and say how many there were.
    Load {
        /// The calls.
        burst: Burst,
        /// The file, one answer a line.
        answers: PathBuf,
    },
    /// Remove the stored value of `Site::Fresh`.
    Invalidate {
        /// Its key.
        key: String,
    },
    /// Turn the kill switch of everything.
    Switch {
        /// Whether calls are coalesced.
        on: bool,
    },
    /// Say when everything is switched off, or on, as far as you know: looked at every millisecond.
    Obey {
        /// Whether calls are coalesced.
        on: bool,
    },
    /// Something befalls you. There is no answer.
    Suffer(Affliction),
    /// Make no more calls of loads, and shut down in an orderly way once those in progress are answered.
    Retire {
        /// How long flights in progress may go on, in milliseconds.
        grace_ms: u64,
    },
    /// Say how you are.
    State,
    /// Shut down in an orderly way.
    ShutDown {
        /// How long flights in progress may go on, in milliseconds.
        grace_ms: u64,
    },
}
