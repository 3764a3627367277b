//! Past the coordinator: a run of a call that went past it says so itself, and why.

use std::cell::Cell;

use coalesce::observing::{BypassReason, Event, Observer};

use crate::ledger::Note;

thread_local! {
    /// Why the body that this thread is about to run goes past the coordinator.
    static WHY: Cell<Option<Note>> = const { Cell::new(None) };
}

/// What the body that begins here has to say; whoever goes past runs its body at once, on the thread that was told.
pub(super) fn why() -> Option<Note> {
    WHY.take()
}

/// Is told by the runtime, on the caller's thread, that a call goes past.
pub(super) struct Past;

impl Observer for Past {
    fn record(&self, _namespace: &str, event: &Event) {
        if let Event::Bypassed { reason, .. } = event {
            WHY.set(match reason {
                BypassReason::SwitchedOff => Some(Note::PastSwitch),
                BypassReason::ShuttingDown => Some(Note::PastEnd),
                _ => None,
            });
        }
    }
}
