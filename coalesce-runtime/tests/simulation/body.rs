//! Bodies and callers as the ledger sees them: each says when it began, and leaves a trace however it ends.

use std::pin::Pin;
use std::sync::Arc;

use coalesce_runtime::{Entry, Error};
use tokio::time::sleep;

use crate::hub::Hub;
use crate::ledger::{Change, How, Outcome, Style, What};
use crate::scenario::KeyPlan;
use crate::sites::{Trouble, Value};

/// Dropping it says that the run was dropped.
struct RunGuard {
    hub: Arc<Hub>,
    nonce: usize,
}

impl RunGuard {
    fn end(&self, how: How) {
        let at = self.hub.at();
        self.hub.ledger().end(at, self.nonce, how);
    }
}

impl Drop for RunGuard {
    fn drop(&mut self) {
        self.end(How::Dropped);
    }
}

/// The value of a run.
pub fn value(key: usize, nonce: usize, large: bool) -> Value {
    let padding = if large {
        "x".repeat(200)
    } else {
        String::new()
    };
    Value {
        key,
        nonce,
        padding,
    }
}

/// A body that can fail.
pub async fn fallible(
    hub: Arc<Hub>,
    plan: KeyPlan,
    key: usize,
    pod: usize,
    call: usize,
) -> Result<Value, Trouble> {
    let at = hub.at();
    let (nonce, number) = {
        let mut ledger = hub.ledger();
        let number = ledger.runs_of(key).count();
        (ledger.start(at, key, pod, call), number)
    };
    let run = RunGuard {
        hub: Arc::clone(&hub),
        nonce,
    };
    let body = plan.bodies[number % plan.bodies.len()];
    if !body.takes.is_zero() {
        sleep(body.takes).await;
    }
    hub.alive(pod).await;
    run.end(body.ends);
    match body.ends {
        How::Error => Err(Trouble::Body { key, nonce }),
        // Without the hook: a panic that is meant prints nothing.
        How::Panic => std::panic::resume_unwind(Box::new("a body that panics")),
        how => Ok(value(key, nonce, how == How::Large)),
    }
}

/// A body that returns a plain value.
pub async fn plain(hub: Arc<Hub>, plan: KeyPlan, key: usize, pod: usize, call: usize) -> Value {
    match fallible(hub, plan, key, pod, call).await {
        Ok(value) => value,
        Err(error) => unreachable!("a plain body has no error: {error:?}"),
    }
}

/// What an answer is to the ledger.
pub trait Answer {
    fn outcome(self) -> Outcome;
}

impl Answer for Value {
    fn outcome(self) -> Outcome {
        Outcome::Value {
            key: self.key,
            nonce: self.nonce,
        }
    }
}

impl Answer for Result<Value, Trouble> {
    fn outcome(self) -> Outcome {
        match self {
            Ok(value) => value.outcome(),
            Err(Trouble::Body { key, nonce }) => Outcome::Error { key, nonce },
            Err(Trouble::Ours(label)) => Outcome::Ours(label),
        }
    }
}

/// What was seen at a look.
pub fn peeked<A: Answer>(seen: Result<Option<A>, Error>) -> Outcome {
    match seen {
        Ok(Some(answer)) => answer.outcome(),
        Ok(None) => Outcome::Nothing,
        Err(error) => Outcome::Ours(error.label().to_owned()),
    }
}

/// Changes an entry from outside.
pub fn change<R: Send + 'static>(
    what: What,
    entry: &Entry<'_, R>,
    value: impl FnOnce(usize) -> R,
) -> Pin<Box<dyn Future<Output = Result<(), Error>> + Send>> {
    match what {
        What::Put { nonce } => Box::pin(entry.put(value(nonce))),
        _ => Box::pin(entry.invalidate()),
    }
}

/// A caller's trace in the ledger. Dropping it says that it went away, or panicked.
pub struct CallGuard {
    hub: Arc<Hub>,
    pub call: usize,
}

impl CallGuard {
    pub fn arrive(hub: &Arc<Hub>, key: usize, pod: usize, style: Style) -> Self {
        let at = hub.at();
        Self {
            hub: Arc::clone(hub),
            call: hub.ledger().arrive(at, key, pod, style),
        }
    }

    pub fn answer(self, outcome: Outcome) {
        let at = self.hub.at();
        self.hub.ledger().answer(at, self.call, outcome);
    }
}

impl Drop for CallGuard {
    fn drop(&mut self) {
        let outcome = if std::thread::panicking() {
            Outcome::Panicked
        } else {
            Outcome::Cancelled
        };
        let at = self.hub.at();
        // The first answer stays.
        self.hub.ledger().answer(at, self.call, outcome);
    }
}

impl Hub {
    /// Somebody asks for a change.
    pub fn note_change(&self, key: usize, pod: usize, what: What) -> usize {
        let at = self.at();
        let mut ledger = self.ledger();
        let asked = ledger.moment(at);
        ledger.changes.push(Change {
            key,
            pod,
            what,
            asked,
            answered: None,
            succeeded: false,
        });
        ledger.changes.len() - 1
    }

    pub fn note_changed(&self, change: usize, succeeded: bool) {
        let at = self.at();
        let mut ledger = self.ledger();
        ledger.changes[change].answered = Some(ledger.moment(at));
        ledger.changes[change].succeeded = succeeded;
    }
}
