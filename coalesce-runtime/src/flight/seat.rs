//! The seat: who runs the body of a flight, and hands its outcome to the driver.

use std::sync::Arc;

use tokio::sync::oneshot;

use super::entry::Entry;
use super::fold::Fold;
use super::leader::Report;
use crate::ports::event::Cause;

/// The place of the one who runs the body. Dropping it without a report abandons the flight.
#[derive(Debug)]
pub(crate) struct Seat {
    entry: Arc<Entry>,
    fold: Arc<Fold>,
    cause: Cause,
    report: oneshot::Sender<Report>,
}

impl Seat {
    pub(crate) fn new(
        fold: &Arc<Fold>,
        entry: &Arc<Entry>,
        cause: Cause,
        report: oneshot::Sender<Report>,
    ) -> Self {
        Self {
            entry: Arc::clone(entry),
            fold: Arc::clone(fold),
            cause,
            report,
        }
    }

    /// Why the body runs.
    pub(crate) const fn cause(&self) -> Cause {
        self.cause
    }

    /// The body has ended: nobody may join a flight that is over.
    pub(crate) fn close(&self) {
        self.fold.close(&self.entry);
    }

    /// Whether other callers of this process wait for the outcome.
    pub(crate) fn has_followers(&self) -> bool {
        self.entry.has_followers()
    }

    /// Hands the outcome to the driver.
    pub(crate) fn report(self, report: Report) {
        // A driver that is gone has settled its entry already.
        let _ = self.report.send(report);
    }
}
