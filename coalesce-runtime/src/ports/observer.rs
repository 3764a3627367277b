//! The observer: who is told what happens. Nothing here costs a round trip.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::event::Event;

/// The namespace of what belongs to no call site: renewals of leases and the kill switch.
pub const PROCESS: &str = "";

/// Is told what happens in a coalescer.
///
/// It is called in the middle of every call, by many threads at once, so it must be quick and must not
/// block. One that panics is told nothing more about that event; the call goes on.
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicU64, Ordering};
///
/// # extern crate coalesce_runtime as coalesce;
/// use coalesce::Coalescer;
/// use coalesce::observing::{Event, Observer};
///
/// #[derive(Default)]
/// struct Bodies(AtomicU64);
///
/// impl Observer for Bodies {
///     fn record(&self, _namespace: &str, event: &Event) {
///         if let Event::ExecutionStarted { .. } = event {
///             self.0.fetch_add(1, Ordering::Relaxed);
///         }
///     }
/// }
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let bodies = Arc::new(Bodies::default());
/// let coalescer = Coalescer::builder().in_process().observer(bodies.clone()).build().await?;
/// coalescer.call("shop::total").key("acme").run(|| async { 42 }).await;
/// assert_eq!(bodies.0.load(Ordering::Relaxed), 1);
/// # Ok::<(), coalesce::BuildError>(())
/// # }).unwrap();
/// ```
pub trait Observer: Send + Sync + 'static {
    /// Something happened in `namespace`; in [`PROCESS`] when it belongs to no call site.
    fn record(&self, namespace: &str, event: &Event);
}

/// Everybody who is told.
pub(crate) struct Observers {
    /// Our own books: they do not panic.
    books: Arc<dyn Observer>,
    guests: Vec<Arc<dyn Observer>>,
    /// Whether it has been said that a guest panics.
    complained: AtomicBool,
}

impl Observers {
    pub(crate) fn new(books: Arc<dyn Observer>, guests: Vec<Arc<dyn Observer>>) -> Self {
        Self {
            books,
            guests,
            complained: AtomicBool::new(false),
        }
    }

    /// Tells everybody.
    pub(crate) fn record(&self, namespace: &str, event: &Event) {
        self.books.record(namespace, event);
        for guest in &self.guests {
            let told = catch_unwind(AssertUnwindSafe(|| guest.record(namespace, event)));
            if told.is_err() && !self.complained.swap(true, Ordering::Relaxed) {
                tracing::error!("an observer panics; this is said once");
            }
        }
    }
}

impl fmt::Debug for Observers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Observers")
            .field("guests", &self.guests.len())
            .finish_non_exhaustive()
    }
}
