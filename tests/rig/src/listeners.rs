//! What a test's own subscriber hears, while other tests of the same program run on other threads.

use std::sync::LazyLock;

use tracing::Dispatch;
use tracing::subscriber::NoSubscriber;

/// Called before a test sets a subscriber for its thread: what it hears does not depend on other tests any more.
///
/// Where there is one subscriber alone, a line or span that is met first on a thread without it counts as unwanted
/// everywhere, and stays silent. Where there are two, all of them are asked.
pub fn hear_everything() {
    static ANOTHER: LazyLock<Dispatch> = LazyLock::new(|| Dispatch::new(NoSubscriber::default()));
    LazyLock::force(&ANOTHER);
}
