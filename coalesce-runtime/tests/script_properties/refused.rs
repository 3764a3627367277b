//! Questions to a server that refuses to write: what is refused has changed nothing, and says so.

use coalesce_runtime::coordination::{Cell, Seen};
use coalesce_runtime::{Fault, Key};

use crate::said::{Said, same};
use crate::seen::Sight;
use crate::stage::Stage;
use crate::story::{Question, Refusal, Step};

impl Refusal {
    /// Makes the server refuse, or accept again.
    fn order(self, refuses: bool) -> &'static [&'static str] {
        match (self, refuses) {
            (Self::Full, true) => &["CONFIG", "SET", "maxmemory", "1"],
            (Self::Full, false) => &["CONFIG", "SET", "maxmemory", "0"],
            (Self::ReadOnly, true) => &["REPLICAOF", "127.0.0.1", "1"],
            (Self::ReadOnly, false) => &["REPLICAOF", "NO", "ONE"],
        }
    }

    /// Whether it meets a question that would be answered so, and would change the key or not.
    fn meets(self, question: &Question, said: &Said, changes: bool, before: &Sight) -> bool {
        match self {
            // Nobody follows where no flight can end.
            Self::ReadOnly => changes || matches!(said, Said::Follow(..)),
            // A new lock grows. Whatever else is written has removed something before.
            Self::Full => match question {
                Question::Begin { .. } => changes,
                Question::Renew { .. } => changes && before.lock.is_none(),
                _ => false,
            },
        }
    }
}

impl Stage {
    /// Asks once while the server refuses. What it takes all the same, the cell takes as well.
    pub(crate) fn ask_refused(
        &self,
        key: &Key,
        cell: &mut Cell,
        step: &Step,
        seen: Seen,
        before: &Sight,
    ) -> Result<(), String> {
        let question = &step.question;
        let Some(refusal) = step.refused else {
            return Ok(());
        };
        if matches!(question, Question::LockVanishes | Question::StateVanishes) {
            return Ok(());
        }
        let mut twin = cell.clone();
        self.order(refusal.order(true));
        let (answer, (said, messages)) = self.ask(key, &mut twin, question, seen);
        self.order(refusal.order(false));
        let (heard, after) = (self.heard(), self.look(key));
        let changes = twin != *cell;
        if !refusal.meets(question, &said, changes, before) {
            same("the answer", &answer, &Ok(said))?;
            same("the messages", &heard, &messages)?;
            *cell = twin;
            return Ok(());
        }
        same("the answer", &answer, &Err(Fault::Refused))?;
        self.refused.set(self.refused.get() + 1);
        let may_tell = matches!(question, Question::Finish { .. } | Question::Abandon { .. });
        let is_longer = after.lock_left > before.lock_left || after.state_left > before.state_left;
        if !after.is_as(before) || is_longer || heard.len() > usize::from(may_tell) {
            return Err(format!(
                "{before:?} became {after:?}, and {heard:?} was told"
            ));
        }
        Ok(())
    }
}
