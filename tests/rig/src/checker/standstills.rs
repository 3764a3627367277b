//! Standstills: when which process was stopped, or too busy to do anything.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// When processes stood still, each by its pid. Moments are in microseconds since the Unix epoch.
#[derive(Clone, Debug, Default)]
pub struct Standstills(BTreeMap<u32, Vec<RangeInclusive<u64>>>);

impl Standstills {
    /// Nobody stood still.
    pub const NONE: &Self = &Self(BTreeMap::new());

    /// Those of one process. A busy machine has thousands of them, and there are millions of answers.
    pub(super) fn of(&self, pid: Option<u32>) -> &[RangeInclusive<u64>] {
        pid.and_then(|pid| self.0.get(&pid))
            .map_or(&[], |spans| spans)
    }
}

impl FromIterator<(u32, RangeInclusive<u64>)> for Standstills {
    fn from_iter<I: IntoIterator<Item = (u32, RangeInclusive<u64>)>>(spans: I) -> Self {
        let mut of_pids = BTreeMap::<_, Vec<_>>::new();
        for (pid, span) in spans {
            of_pids.entry(pid).or_default().push(span);
        }
        Self(of_pids)
    }
}
