//! Gauges: what no event tells of, shown to the `metrics` facade once a second.

use std::sync::Weak;
use std::time::Duration;

use crate::flight::core::Core;
use crate::metrics::show_gauges;

const EVERY: Duration = Duration::from_secs(1);

/// Shows them for as long as the coalescer is there.
pub(super) async fn show(core: Weak<Core>) {
    while let Some(core) = core.upgrade() {
        let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        show_gauges(
            count(core.fold.len()),
            count(core.fold.members()),
            count(core.coordinator.subscriptions()),
            &core.coordinator.health(),
        );
        drop(core);
        tokio::time::sleep(EVERY).await;
    }
}
