//! Sabotage: servers that break one promise each, to see that the checker notices.

use std::time::Duration;

use bytes::Bytes;
use coalesce_runtime::coordination::{BeginAnswer, BeginAsk, Cell, FinishAsk, ServerTime};

/// What a broken server does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sabotage {
    #[default]
    None,
    /// Reads another key's state, with a digest that says otherwise.
    ReadsAnotherKey,
    /// Answers ABANDON and does nothing.
    LosesAbandon,
    /// Lets a follower lead.
    GrantsTwice,
    /// Lets a leader finish whose lock is another's.
    FinishesUnfenced,
    /// Answers REPLACE and does nothing.
    ForgetsInvalidation,
    /// Keeps states for good.
    KeepsForEver,
    /// Says that a body ended when it is told so, not when it did.
    StampsLate,
    /// Tells nobody, and shows the outcome to nobody who polls.
    HidesOutcomes,
    /// Forgets each outcome at once.
    RetainsNothing,
    /// Answers RENEW and does nothing.
    ForgetsRenewal,
    /// Never answers FINISH, not even that there is no answer.
    SwallowsFinish,
}

impl Sabotage {
    pub fn read_key(self, key: usize, keys: usize) -> usize {
        if self == Self::ReadsAnotherKey {
            (key + 1) % keys
        } else {
            key
        }
    }

    pub fn begin(self, answer: &BeginAnswer) -> Option<BeginAnswer> {
        match (self, answer) {
            (Self::GrantsTwice, BeginAnswer::Follow { seen, .. }) => {
                Some(BeginAnswer::Lead { seen: *seen })
            }
            _ => None,
        }
    }

    pub fn finish(self, cell: &mut Cell, ask: &mut FinishAsk, now: ServerTime) {
        match self {
            Self::FinishesUnfenced => {
                // Whoever asks gets the lock first.
                let state = cell.read(now);
                *cell = Cell::default();
                if let Some(state) = state {
                    cell.plant(state, now.plus(Duration::from_secs(60)));
                }
                let begin = BeginAsk {
                    token: ask.envelope.token,
                    lease: Duration::from_secs(1),
                    seen: None,
                    following: None,
                    trace: None,
                };
                cell.begin(now, &begin);
            }
            Self::KeepsForEver => ask.life = Duration::from_secs(1_000_000),
            Self::StampsLate => {
                ask.envelope.computed_at = ServerTime::default();
                ask.ended_ago = Duration::ZERO;
            }
            Self::HidesOutcomes | Self::RetainsNothing => ask.life = Duration::from_millis(1),
            _ => {}
        }
    }

    pub fn message(self, message: Option<Bytes>) -> Option<Bytes> {
        message.filter(|_| self != Self::HidesOutcomes)
    }
}
