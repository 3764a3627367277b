//! Membership: one caller's part in an entry of the fold.

use std::sync::Arc;

use tokio::sync::watch;

use super::entry::{Entry, Reader, Stage};
use super::fold::Fold;
use super::seat::Seat;
use super::settlement::Settlement;

/// A caller's membership of an entry. Dropping it leaves the entry.
#[derive(Debug)]
pub(crate) struct Member {
    pub(super) fold: Arc<Fold>,
    pub(super) entry: Arc<Entry>,
    pub(super) stage: watch::Receiver<Stage>,
    /// Not 0 when it is this member that reads the state and starts the driver.
    pub(super) reads: Reader,
    /// Whether this member runs the body.
    pub(super) seated: bool,
    /// The entry before this one, when its outcome is still being stored.
    pub(super) after: Option<watch::Receiver<Stage>>,
}

impl Member {
    pub(crate) const fn entry(&self) -> &Arc<Entry> {
        &self.entry
    }

    pub(crate) const fn reads(&self) -> bool {
        self.reads > 0
    }

    /// Whether a driver task works for the entry, rather than one of its members.
    pub(crate) fn is_driven(&self) -> bool {
        self.entry.is_driven()
    }

    /// Waits until the entry before this one has settled.
    pub(crate) async fn predecessor_settled(&mut self) {
        if let Some(after) = &mut self.after {
            // An error means that it is gone, which is just as over.
            let _ = after
                .wait_for(|stage| matches!(stage, Stage::Settled(_)))
                .await;
            self.after = None;
        }
    }

    /// Hands the entry to a driver: this member becomes one that waits. `false`: it has read for too
    /// long, and another member is at it.
    pub(crate) fn hand_over(&mut self) -> bool {
        self.fold
            .drive(&self.entry, std::mem::take(&mut self.reads))
    }

    /// Settles the entry that this member reads for.
    pub(crate) fn settle(&mut self, settlement: Settlement) {
        if self.hand_over() {
            self.fold.settle(&self.entry, settlement);
        }
    }

    /// Takes the place of a reader that went away or keeps silent. Only one member succeeds.
    pub(crate) fn claim_reading(&mut self) -> bool {
        self.reads = self.fold.claim_reading(&self.entry);
        self.reads()
    }

    /// Takes the seat, if nobody has.
    pub(crate) fn take_seat(&mut self) -> Option<Seat> {
        let seat = self.entry.take_seat_as_member();
        self.seated |= seat.is_some();
        seat
    }

    /// The stage now.
    pub(crate) fn stage(&mut self) -> Stage {
        self.stage.borrow_and_update().clone()
    }

    /// Waits for another stage than the one seen last.
    pub(crate) async fn changed(&self) {
        loop {
            let news = self.entry.news.notified();
            // The sender lives in the entry, which this member holds.
            if self.stage.has_changed().unwrap_or(true) {
                return;
            }
            news.await;
        }
    }

    /// Waits for the end.
    pub(crate) async fn settled(&mut self) {
        while !matches!(self.stage(), Stage::Settled(_)) {
            self.changed().await;
        }
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.fold.leave(&self.entry, self.reads, self.seated);
    }
}
