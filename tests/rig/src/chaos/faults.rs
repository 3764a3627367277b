//! The faults there are, and what each is a reason for.

use serde::Serialize;

use super::servers::Layout;

/// Something that is done to pods, servers, or the way between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// A pod is killed, and another started in its place.
    PodKill,
    /// A pod stands still, for less than its lease.
    PodStop,
    /// A pod stands still until its lease has ended, and goes on.
    PodStopPastLease,
    /// A pod is told to end while it is called, and another is started in its place.
    PodEnd,
    /// A body panics.
    BodyPanic,
    /// A body does not end, until well behind the time that it may hold its key.
    EndlessBody,
    /// Half of a pod's callers go away, and their calls are dropped.
    CallersGo,
    /// The kill switch is turned off, and on again.
    SwitchOff,
    /// The server is killed and comes back empty.
    RedisKill,
    /// The server stands still.
    RedisStop,
    /// Clients are paused.
    RedisPause,
    /// There is no memory to write to.
    RefuseWrites,
    /// Everything is removed.
    Flush,
    /// Locks are removed.
    DeleteLocks,
    /// States are removed.
    DeleteStates,
    /// States are overwritten with bytes that are nobody's.
    Garbage,
    /// Locks are overwritten with a type that is nobody's.
    ForeignType,
    /// The pods' user may not run scripts.
    ForbidScripts,
    /// The pods' user may not publish.
    ForbidMessages,
    /// Scripts are forgotten.
    ForgetScripts,
    /// Connections for commands are closed by the server.
    KillClients,
    /// Connections for messages are closed by the server.
    KillSubscribers,
    /// The way is slower.
    Delay,
    /// Nothing passes for a while, and nothing is lost.
    Stall,
    /// What passes is lost for a while.
    Swallow,
    /// Messages are lost for a while.
    LoseMessages,
    /// Connections end.
    Cut,
    /// Some answers are lost.
    LoseReplies,
    /// Answers come with a byte that is wrong.
    Corrupt,
    /// Nobody new is let in.
    TurnAway,
    /// A replica is told to take over.
    FailOver,
    /// A slot that is in use moves to another primary, with all that is in it.
    SlotMove,
    /// A primary is killed; its replica takes over, and it comes back.
    PrimaryKill,
    /// A primary stands still until its replica has taken over, and goes on.
    PrimaryStop,
    /// A sentinel is killed, and comes back.
    SentinelKill,
}

use Fault::{
    BodyPanic, CallersGo, Corrupt, Cut, Delay, DeleteLocks, DeleteStates, EndlessBody, FailOver,
    Flush, ForbidMessages, ForbidScripts, ForeignType, ForgetScripts, Garbage, KillClients,
    KillSubscribers, LoseMessages, LoseReplies, PodEnd, PodKill, PodStop, PodStopPastLease,
    PrimaryKill, PrimaryStop, RedisKill, RedisPause, RedisStop, RefuseWrites, SentinelKill,
    SlotMove, Stall, Swallow, SwitchOff, TurnAway,
};

/// How every topology can be hurt. What happens most often in the field comes more often here, and what
/// is no reason for a second run leaves time in which there must be none.
const EVERYWHERE: [Fault; 33] = [
    PodKill,
    PodKill,
    PodKill,
    PodKill,
    PodStop,
    PodStop,
    PodStop,
    PodStopPastLease,
    PodStopPastLease,
    PodEnd,
    PodEnd,
    BodyPanic,
    BodyPanic,
    EndlessBody,
    EndlessBody,
    CallersGo,
    CallersGo,
    SwitchOff,
    SwitchOff,
    ForgetScripts,
    KillSubscribers,
    RedisPause,
    RefuseWrites,
    Flush,
    DeleteLocks,
    DeleteStates,
    Garbage,
    ForeignType,
    ForbidScripts,
    ForbidMessages,
    ForgetScripts,
    KillClients,
    KillSubscribers,
];

impl Fault {
    /// The faults of a topology.
    pub(super) fn of(layout: Layout) -> Vec<Self> {
        let more: &[Self] = match layout {
            Layout::Standalone => &[
                RedisKill,
                RedisStop,
                Delay,
                Stall,
                Swallow,
                LoseMessages,
                Cut,
                LoseReplies,
                Corrupt,
                TurnAway,
            ],
            Layout::Cluster => &[
                FailOver,
                FailOver,
                SlotMove,
                SlotMove,
                PrimaryKill,
                PrimaryStop,
            ],
            Layout::Sentinel => &[FailOver, PrimaryKill, PrimaryStop, SentinelKill],
        };
        [&EVERYWHERE[..], more].concat()
    }

    /// Whether it may make a key run in two processes at once. What pods suffer is reason for what they do
    /// themselves, and is judged by who died or stood still, and by what they have written to the ledger.
    pub(super) fn is_reason(self) -> bool {
        let none = [
            SwitchOff,
            SlotMove,
            ForgetScripts,
            KillSubscribers,
            Delay,
            LoseMessages,
            ForbidMessages,
            SentinelKill,
        ];
        !self.is_of_pods() && !none.contains(&self)
    }

    /// Whether questions may be in vain while it is done, though none is lost that had its answer.
    pub(super) fn is_in_the_way(self) -> bool {
        self == SlotMove
    }

    /// Whether two servers may lead for a moment behind it, so that nobody need have asked in vain.
    pub(super) fn moves_primaries(self) -> bool {
        [FailOver, PrimaryKill, PrimaryStop].contains(&self)
    }

    /// Whether it is done to pods.
    pub(super) fn is_of_pods(self) -> bool {
        self.stops_pods() || [PodKill, PodEnd].contains(&self) || self.is_of_calls()
    }

    /// Whether a pod stands still by it.
    pub(super) fn stops_pods(self) -> bool {
        [PodStop, PodStopPastLease].contains(&self)
    }

    /// Whether it is done to the calls of a pod, or to their bodies.
    pub(super) fn is_of_calls(self) -> bool {
        [BodyPanic, EndlessBody, CallersGo].contains(&self)
    }

    /// Whether it is done to the way between pods and servers.
    pub(super) fn is_of_way(self) -> bool {
        let way = [
            Delay,
            Stall,
            Swallow,
            LoseMessages,
            Cut,
            LoseReplies,
            Corrupt,
            TurnAway,
        ];
        way.contains(&self)
    }
}
