//! The process-wide coalescer: set by the application, or made on first use from the environment.

use std::fmt;

use tokio::sync::OnceCell;

use super::coalescer::Coalescer;

static DEFAULT: OnceCell<Option<Coalescer>> = OnceCell::const_new();

/// The process has a default coalescer already: one was set, or an annotated function has been called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AlreadySet;

impl fmt::Display for AlreadySet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "the process has a default coalescer already: set it before the first coalesced call",
        )
    }
}

impl std::error::Error for AlreadySet {}

impl Coalescer {
    /// Makes this the coalescer of every annotated function that names no other.
    ///
    /// # Errors
    ///
    /// When there is a default already.
    pub fn make_default(self) -> Result<(), AlreadySet> {
        DEFAULT.set(Some(self)).map_err(|_| AlreadySet)
    }
}

/// The process-wide coalescer. `None`: its configuration is wrong, which has been logged; bodies run
/// as if no attribute were there.
pub(crate) async fn default_coalescer() -> Option<&'static Coalescer> {
    match DEFAULT.get() {
        Some(coalescer) => coalescer.as_ref(),
        // Boxed: it happens once, and every call would be as big.
        None => Box::pin(DEFAULT.get_or_init(from_environment))
            .await
            .as_ref(),
    }
}

/// The process-wide coalescer, if it is there already.
pub(super) fn made_default() -> Option<&'static Coalescer> {
    DEFAULT.get()?.as_ref()
}

async fn from_environment() -> Option<Coalescer> {
    match Coalescer::builder().build().await {
        Ok(coalescer) => Some(coalescer),
        Err(error) => {
            tracing::error!(%error, "no coalescer could be built, nothing is coalesced in this process");
            None
        }
    }
}
