//! Questions of a story as a coordinator is asked them.

use std::time::Duration;

use coalesce_runtime::coordination::{Envelope, FinishAsk, Seen, ServerTime, Status};

use crate::stage::{LIFE, token};
use crate::story::{Began, Question};

/// A FINISH; any other question is none.
pub(crate) fn finishing(question: &Question, seen: Seen) -> FinishAsk {
    let Question::Finish {
        flight,
        status,
        payload,
        may_retake,
        spare_value,
        began,
        ..
    } = question
    else {
        panic!("not a FINISH: {question:?}")
    };
    FinishAsk {
        envelope: envelope(*flight, *status, *payload),
        ended_ago: Duration::from_millis(3),
        life: LIFE,
        seen,
        retake_until: retake_until(*may_retake),
        began: began.map(began_at),
        spare_value: spare_value.map(Duration::from_micros),
    }
}

fn began_at(began: Began) -> ServerTime {
    ServerTime::from_micros(match began {
        Began::Long => 1,
        Began::JustNow => 9_000_000_000_000_000,
    })
}

/// Of two clocks that differ it is far ahead, or far behind.
pub(crate) fn retake_until(may_retake: bool) -> ServerTime {
    ServerTime::from_micros(if may_retake { 9_000_000_000_000_000 } else { 0 })
}

pub(crate) fn envelope(flight: u8, status: Status, payload: usize) -> Envelope {
    let ran_for = Duration::from_millis(20);
    Envelope::new(
        status,
        1,
        token(flight),
        ran_for,
        vec![flight; payload].into(),
    )
}
