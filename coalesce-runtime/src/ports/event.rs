//! Events: everything that a coalescer says about what it does, in words that form closed sets.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::words::fault::Fault;

/// A closed set of words: an enum, the label of each of its words, and a struct with one number for each.
macro_rules! closed_set {
    (
        $(#[$doc:meta])* $name:ident,
        $(#[$tally_doc:meta])* $tally:ident:
        $($(#[$variant_doc:meta])* $variant:ident = $field:ident,)*
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$variant_doc])* $variant,)*
        }

        impl $name {
            /// Every one of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Its name in snapshots and in the labels of metrics.
            pub const fn label(self) -> &'static str {
                match self { $(Self::$variant => stringify!($field),)* }
            }
        }

        $(#[$tally_doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(default)]
        #[non_exhaustive]
        pub struct $tally {
            $($(#[$variant_doc])* pub $field: u64,)*
        }

        impl $tally {
            /// The sum of all.
            pub fn total(&self) -> u64 {
                0 $(+ self.$field)*
            }

            /// The number that belongs to one word.
            pub const fn get(&self, word: $name) -> u64 {
                match word { $($name::$variant => self.$field,)* }
            }

            /// Asks for the number of each word.
            pub(crate) fn each(mut number: impl FnMut($name) -> u64) -> Self {
                Self { $($field: number($name::$variant),)* }
            }
        }
    };
}

closed_set! {
    /// How a call ended. Each call ends once, so the calls of a namespace are the sum of these.
    CallOutcome,
    /// How many calls ended in which way.
    CallOutcomes:
    /// Answered by a fresh stored value.
    Fresh = fresh,
    /// Answered by a stale stored value.
    Stale = stale,
    /// Answered by its own body: as the key's flight, or for its process alone.
    Led = led,
    /// Answered by a body that another call ran, here or in another process.
    Followed = followed,
    /// Ran as if the attribute were not there.
    Bypassed = bypassed,
    /// Waited for `wait_timeout`, and got that error or ran its body after all.
    TimedOut = timed_out,
    /// Got an error of ours other than a wait timeout.
    Failed = failed,
    /// Never answered: its future was dropped, or it panicked.
    Cancelled = cancelled,
}

closed_set! {
    /// Why a call ran as if the attribute were not there.
    BypassReason,
    /// How many calls were bypassed for which reason.
    BypassReasons:
    /// `COALESCE_DISABLED` is set in this process.
    Disabled = disabled,
    /// The kill switch is off.
    SwitchedOff = switched_off,
    /// The call site says `enabled = false`.
    NotEnabled = not_enabled,
    /// The coalescer is being shut down.
    ShuttingDown = shutting_down,
    /// It was made inside a flight of its own key.
    Reentrant = reentrant,
    /// A header that is part of the key is absent, and the call site says to go on without sharing.
    MissingHeader = missing_header,
    /// As much was in progress in this process as may be.
    Capped = capped,
    /// The call site says `self_bypass`, and coalescing has measurably saved nothing lately.
    NotWorthIt = not_worth_it,
}

closed_set! {
    /// Why a body ran.
    Cause,
    /// How many bodies ran for which cause.
    Causes:
    /// Nobody was at it, and there was no value to be had.
    Cold = cold,
    /// Behind a stale answer.
    Refresh = refresh,
    /// The flight before it had lost its leader, or had been given up.
    Takeover = takeover,
    /// The flight before it failed, and the call site says `errors = "retry"`.
    Retry = retry,
    /// `Entry::refresh` asked for it.
    Requested = requested,
    /// For this process alone: the coordinator gave no answer.
    FailOpen = fail_open,
    /// For this process alone: the value is one that is never stored.
    TooLarge = too_large,
    /// For this process alone: the wait was over, and the return type can carry no error.
    TimedOut = timed_out,
    /// For this process alone: flight after flight was given up.
    Abandoned = abandoned,
    /// For this process alone: the outcome could not be read as the type that is called for.
    Undecodable = undecodable,
}

impl Cause {
    /// Whether the body runs for its process alone.
    pub const fn is_solo(self) -> bool {
        matches!(
            self,
            Self::FailOpen | Self::TooLarge | Self::TimedOut | Self::Abandoned | Self::Undecodable
        )
    }
}

closed_set! {
    /// How a body ended.
    Ending,
    /// How many bodies ended in which way.
    Endings:
    /// It returned a value.
    Value = value,
    /// It returned an error.
    Error = error,
    /// It returned nothing: it panicked, or its task was dropped.
    Abandoned = abandoned,
}

closed_set! {
    /// A question to the coordinator.
    Operation,
    /// How many questions were answered.
    Operations:
    /// Look at the state: one `GETRANGE`.
    Read = read,
    /// Look at the state again, then try the lock: one script.
    Begin = begin,
    /// Give the leases of this process their time again: one pipeline.
    Renew = renew,
    /// Store an outcome, free the lock and tell: one script.
    Finish = finish,
    /// Free the lock and tell: one script.
    Abandon = abandon,
    /// Store or remove from outside a flight: one script.
    Replace = replace,
    /// Hear of a key: one `SUBSCRIBE`, or none where there is one already.
    Listen = listen,
    /// Read or turn the kill switch.
    Switch = switch,
}

closed_set! {
    /// A thing that happened and has no measure.
    Incident,
    /// How often which thing happened.
    Incidents:
    /// A flight was led after another leader's lease had ended or it had given up.
    Takeover = takeovers,
    /// A refresh ended without a value.
    RefreshFailed = refresh_failures,
    /// An outcome was refused because the flight was no longer the key's.
    Fenced = fenced,
    /// The lease of a running flight was lost: its lock was another's, or gone for good.
    LeaseLost = leases_lost,
    /// A value was above `max_payload`, more than 128 levels deep, or not encodable.
    TooLarge = too_large,
    /// Stored bytes could not be read.
    Undecodable = undecodable,
    /// A follower found its outcome by a poll although it was listening.
    LostWakeUp = lost_wake_ups,
    /// A value that the first look had not found was there when the lock was asked for.
    DoubleCheckHit = double_check_hits,
}

/// How many questions to the coordinator got no usable answer, and why.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Faults {
    /// [`Fault::Timeout`]
    pub timeout: u64,
    /// [`Fault::Disconnected`]
    pub disconnected: u64,
    /// [`Fault::Refused`]
    pub refused: u64,
    /// [`Fault::Denied`]
    pub denied: u64,
    /// [`Fault::Garbled`]
    pub garbled: u64,
    /// [`Fault::ForeignType`]
    pub foreign_type: u64,
    /// [`Fault::Paused`]
    pub paused: u64,
}

impl Faults {
    /// The sum of all.
    pub const fn total(&self) -> u64 {
        let Self {
            timeout,
            disconnected,
            refused,
            denied,
            garbled,
            foreign_type,
            paused,
        } = self;
        *timeout + *disconnected + *refused + *denied + *garbled + *foreign_type + *paused
    }

    /// Asks for the number of each kind.
    pub(crate) fn each(number: impl Fn(Fault) -> u64) -> Self {
        Self {
            timeout: number(Fault::Timeout),
            disconnected: number(Fault::Disconnected),
            refused: number(Fault::Refused),
            denied: number(Fault::Denied),
            garbled: number(Fault::Garbled),
            foreign_type: number(Fault::ForeignType),
            paused: number(Fault::Paused),
        }
    }
}

/// Something that happened in a namespace.
///
/// What it holds is one of our own words, a time or a size, and never a value of the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// A call came in.
    #[non_exhaustive]
    CallStarted {
        /// A number that is the same for calls of one key in every process, to count distinct keys with: eight bytes
        /// of a SHA-256 over namespace and arguments, without a secret. Whoever sees it can try guesses at the
        /// arguments, so it belongs in counts and not in logs, labels or traces. `None`: the key could not be made.
        key: Option<u64>,
        /// How long an outcome counts as fresh.
        fresh_ttl: Duration,
    },
    /// A call ended; for each start there is one end. The time that a follower waited is the time of a
    /// call that [`CallOutcome::Followed`].
    #[non_exhaustive]
    CallEnded {
        /// How.
        outcome: CallOutcome,
        /// Since it had come in.
        took: Duration,
    },
    /// A call runs its body as if the attribute were not there. It ends as [`CallOutcome::Bypassed`], unless it is
    /// cancelled, or had waited for `wait_timeout` before: then it ends as [`CallOutcome::TimedOut`].
    #[non_exhaustive]
    Bypassed {
        /// Why.
        reason: BypassReason,
    },
    /// A body starts.
    #[non_exhaustive]
    ExecutionStarted {
        /// Why.
        cause: Cause,
    },
    /// A body ended; for each start there is one end.
    #[non_exhaustive]
    ExecutionEnded {
        /// Why it had started.
        cause: Cause,
        /// How it ended.
        ending: Ending,
        /// Since it had started.
        took: Duration,
    },
    /// An outcome was written down for other callers.
    #[non_exhaustive]
    Encoded {
        /// Its size in bytes.
        bytes: usize,
    },
    /// A question to the coordinator was answered.
    #[non_exhaustive]
    RoundTrip {
        /// Which.
        operation: Operation,
        /// Since it had been asked.
        took: Duration,
    },
    /// A question to the coordinator got no usable answer.
    #[non_exhaustive]
    Faulted {
        /// Which.
        operation: Operation,
        /// Why.
        fault: Fault,
    },
    /// A thing without a measure.
    Incident(Incident),
}
