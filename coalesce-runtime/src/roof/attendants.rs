//! Attendants: the tasks that a coalescer has beside its calls. They go away with the runtime that they were started on,
//! and a process may have several, one after the other; so a call starts them again.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use tokio::runtime::Handle;
use tokio::task::AbortHandle;

use super::coalescer::Inner;
use crate::flight::switchboard::Switchboard;

/// Which of them an application wants, and whether they are at work.
#[derive(Debug)]
pub(super) struct Attendants {
    pub(super) advise_every: Option<Duration>,
    #[cfg(feature = "metrics")]
    pub(super) shows_gauges: bool,
    /// The one that follows the switch, which never ends before the coalescer.
    pub(super) follower: ArcSwapOption<AbortHandle>,
    pub(super) starting: Mutex<()>,
}

impl Inner {
    /// Starts them where they are not at work: on the runtime of the moment.
    pub(crate) fn attend(self: &Arc<Self>) {
        let follower = self.attendants.follower.load();
        if follower.as_ref().is_none_or(|it| it.is_finished()) {
            self.start_attendants();
        }
    }

    #[cold]
    fn start_attendants(self: &Arc<Self>) {
        let attendants = &self.attendants;
        // Whoever holds it is at it. A call that goes straight through needs no runtime.
        let (Ok(_starting), Ok(runtime)) = (attendants.starting.try_lock(), Handle::try_current())
        else {
            return;
        };
        let follower = attendants.follower.load();
        if follower.as_ref().is_some_and(|it| !it.is_finished()) {
            return;
        }
        let switchboard = Arc::downgrade(&self.core.switchboard);
        let follower = runtime.spawn(Switchboard::keep_up(switchboard));
        attendants
            .follower
            .store(Some(Arc::new(follower.abort_handle())));
        runtime.spawn(super::known::announce(Arc::downgrade(self)));
        if let Some(pause) = attendants.advise_every {
            let books = Arc::downgrade(&self.books);
            runtime.spawn(super::advice::say_every(pause, books));
        }
        #[cfg(feature = "metrics")]
        if attendants.shows_gauges {
            runtime.spawn(super::gauges::show(Arc::downgrade(&self.core)));
        }
    }
}
