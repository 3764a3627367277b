//! Setups: how large a model is, which faults may befall it, and which mistake is built in.

/// One model. Times are in ticks; a poll and a beat come once per tick.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    /// How many callers come to the key, each once.
    pub(crate) callers: usize,
    /// How long a lock lives without a renewal.
    pub(crate) lease: u8,
    /// The longest that a body runs whose process is well.
    pub(crate) body: u8,
    /// How long a leader may hold its key: it renews no longer, and retakes no lock that is gone.
    pub(crate) pending: u8,
    /// How long a follower waits.
    pub(crate) wait: u8,
    /// How long an outcome is kept.
    pub(crate) life: u8,
    /// Whether leaders renew.
    pub(crate) beats: bool,
    /// Whether callers also hear what was said before they came, as on a subscription that lingers.
    pub(crate) lingers: bool,
    /// What may happen, and how often.
    pub(crate) faults: Faults,
    /// What is done wrong on purpose.
    pub(crate) mistake: Option<Mistake>,
}

/// How often each thing may still happen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Faults {
    /// A process dies.
    pub(crate) crashes: u8,
    /// A question, or its answer, is lost.
    pub(crate) losses: u8,
    /// A leader takes any time it likes from now on.
    pub(crate) stalls: u8,
    /// A body panics.
    pub(crate) panics: u8,
    /// The key is invalidated.
    pub(crate) invalidations: u8,
}

/// Rules that must not be broken, broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mistake {
    /// An outcome is written whoever holds the lock.
    UnfencedFinish,
    /// A follower looks at the state and never at the lock.
    NoTakeover,
    /// A caller that asks again has a new token, so it does not recognise its own lock.
    NewTokenEachTime,
    /// A caller takes any outcome that is not the one it saw when it began.
    AnyOutcome,
    /// A caller takes the outcome of a flight that was fenced after it came, whenever that ended.
    FenceBeforeEnd,
    /// A caller that starts again does not free the lock that it may have won unawares.
    NoFarewell,
    /// A leader retakes a lock that is gone however long it has heard nothing of it.
    LateRetake,
}

impl Default for Setup {
    /// Three callers of a short body; a follower waits longer than two leases and a body.
    fn default() -> Self {
        Self {
            callers: 3,
            lease: 2,
            body: 1,
            pending: 4,
            wait: 6,
            life: 100,
            beats: false,
            lingers: false,
            faults: Faults::default(),
            mistake: None,
        }
    }
}
