//! The seat: who runs the body of a flight, and hands its outcome to the driver.

use std::sync::Arc;

use tokio::sync::oneshot;

use super::entry::Entry;
use super::fold::Fold;
use super::report::Report;
use crate::ports::event::Cause;

/// The place of the one who runs the body. Dropping it without a report abandons the flight: by a panic, the body has
/// failed; in every other way, whoever was to run it has gone, which says nothing of the body.
#[derive(Debug)]
pub(crate) struct Seat {
    entry: Arc<Entry>,
    fold: Arc<Fold>,
    cause: Cause,
    report: Option<oneshot::Sender<Ended>>,
}

/// How a body has ended that somebody ran.
#[derive(Debug)]
pub(super) enum Ended {
    WithReport(Report),
    InPanic,
}

impl Seat {
    pub(super) fn new(
        fold: &Arc<Fold>,
        entry: &Arc<Entry>,
        cause: Cause,
        report: oneshot::Sender<Ended>,
    ) -> Self {
        Self {
            entry: Arc::clone(entry),
            fold: Arc::clone(fold),
            cause,
            report: Some(report),
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
        self.entry.has_followers() || self.fold.is_watched(&self.entry)
    }

    /// Hands the outcome to the driver.
    pub(crate) fn report(mut self, report: Report) {
        self.send(Ended::WithReport(report));
    }

    fn send(&mut self, ended: Ended) {
        if let Some(report) = self.report.take() {
            // A driver that is gone has settled its entry already.
            let _ = report.send(ended);
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.send(Ended::InPanic);
        }
    }
}
