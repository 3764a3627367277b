//! Answers, in a form that the scripts and the cell share.

use std::fmt::Debug;
use std::time::Duration;

use coalesce_runtime::coordination::{
    BeginAnswer, FinishAnswer, RenewAnswer, Seen, Token, Traceparent,
};

use crate::seen::{Sight, without_moments};
use crate::stage::LIFE;

/// An answer, in a form that both sides share. What only a clock decides is left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    State(Vec<u8>),
    Lead(Seen),
    Follow(Token, Seen, Option<Traceparent>),
    Renewed(&'static str),
    Finished(&'static str),
    Looked(Option<Vec<u8>>),
    Yes(bool),
    Nothing,
}

/// Whether a question may be answered so when it is asked again. The state is the same each time; only a
/// flight that gave its lock away with the first answer is told afterwards that it holds none.
pub(crate) fn may_follow(first: &Said, again: &Said) -> bool {
    let gave_away = matches!(
        (first, again),
        (Said::Finished("fenced"), Said::Finished("lost")) | (Said::Yes(true), Said::Yes(false))
    );
    first == again || gave_away
}

pub(crate) fn same<T: PartialEq + Debug>(what: &str, is: &T, should: &T) -> Result<(), String> {
    if is == should {
        return Ok(());
    }
    Err(format!("{what} is {is:?} instead of {should:?}"))
}

pub(crate) fn begun(answer: BeginAnswer) -> Said {
    match answer {
        BeginAnswer::State(state) => Said::State(without_moments(state.to_vec())),
        BeginAnswer::Lead { seen } => Said::Lead(seen),
        BeginAnswer::Follow {
            leader,
            lease_left,
            seen,
            trace,
        } => {
            assert!(lease_left > Duration::ZERO && lease_left <= LIFE);
            Said::Follow(leader, seen, trace)
        }
    }
}

pub(crate) fn renewed(answer: RenewAnswer) -> Said {
    Said::Renewed(match answer {
        RenewAnswer::Held => "held",
        RenewAnswer::Fenced { .. } => "fenced",
        RenewAnswer::Lost => "lost",
    })
}

pub(crate) fn finished(answer: FinishAnswer) -> Said {
    Said::Finished(match answer {
        FinishAnswer::Stored => "stored",
        FinishAnswer::Spared => "spared",
        FinishAnswer::Fenced { .. } => "fenced",
        FinishAnswer::Lost => "lost",
    })
}

/// A fence is known by its mark once the lock is gone. Where the server has lost the mark as well, and nothing but
/// the state of the election is left, a FINISH that is asked again takes the lock as it would after any loss of data.
pub(crate) fn forgot_its_fence(answer: &Said, before: &Sight, seen: Seen) -> bool {
    *answer == Said::Finished("fenced") && before.mark() == seen
}
