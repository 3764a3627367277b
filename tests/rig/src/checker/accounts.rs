//! What processes say of themselves: when they stood still, stopped or too busy, and when they asked Redis in vain.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// A process that stands still for a part of a deadline gives up, when it goes on, what it has asked.
pub(super) const TOO_LONG: u64 = 80_000;

/// And then it may ask nothing for a second, and the machine is busy.
pub(super) const RECOVERY: u64 = 2_000_000;

/// When something went on in processes, each by its pid, in microseconds since the Unix epoch.
#[derive(Clone, Debug, Default)]
pub struct Periods {
    all: Spans,
    long: Spans,
}

type Spans = BTreeMap<u32, Vec<RangeInclusive<u64>>>;

impl Periods {
    /// It never did.
    pub const NONE: &Self = &Self {
        all: Spans::new(),
        long: Spans::new(),
    };

    /// Those of one process. A busy machine has thousands of them, and there are millions of answers.
    pub(super) fn of(&self, pid: Option<u32>) -> &[RangeInclusive<u64>] {
        in_spans(&self.all, pid)
    }

    /// Those that are too long for its questions, if it stood still.
    pub(super) fn too_long(&self, pid: Option<u32>) -> &[RangeInclusive<u64>] {
        in_spans(&self.long, pid)
    }
}

fn in_spans(spans: &Spans, pid: Option<u32>) -> &[RangeInclusive<u64>] {
    pid.and_then(|pid| spans.get(&pid))
        .map_or(&[], |spans| spans)
}

impl FromIterator<(u32, RangeInclusive<u64>)> for Periods {
    fn from_iter<I: IntoIterator<Item = (u32, RangeInclusive<u64>)>>(spans: I) -> Self {
        let mut stood = Self::default();
        for (pid, span) in spans {
            if span.end() - span.start() > TOO_LONG {
                stood.long.entry(pid).or_default().push(span.clone());
            }
            stood.all.entry(pid).or_default().push(span);
        }
        stood
    }
}

/// When the machine was too busy for some process, and all others may have felt it, servers and proxies too: what processes
/// tell of their standstills, without those that were ordered, and until who asked in vain meanwhile has asked again.
pub fn busy_times(
    told: &[(u32, RangeInclusive<u64>)],
    ordered: &[(u32, RangeInclusive<u64>)],
) -> Vec<RangeInclusive<u64>> {
    let is_ordered = |(pid, span): &&(u32, RangeInclusive<u64>)| {
        let mut orders = ordered.iter().filter(|(of, _)| of == pid);
        orders.any(|(_, order)| order.start() <= span.end() && span.start() <= order.end())
    };
    let long = |(_, span): &&(u32, RangeInclusive<u64>)| span.end() - span.start() > TOO_LONG;
    let told = told.iter().filter(|told| long(told) && !is_ordered(told));
    let mut spans: Vec<_> = told
        .map(|(_, span)| *span.start()..=span.end() + RECOVERY)
        .collect();
    spans.sort_unstable_by_key(|span| *span.start());
    let mut apart = Vec::<RangeInclusive<u64>>::new();
    for span in spans {
        match apart.last_mut() {
            Some(last) if last.contains(span.start()) => {
                *last = *last.start()..=*last.end().max(span.end());
            }
            _ => apart.push(span),
        }
    }
    apart
}

/// When something happened to processes, each by its pid, in microseconds since the Unix epoch.
#[derive(Clone, Debug, Default)]
pub struct Moments(BTreeMap<u32, Vec<u64>>);

impl Moments {
    /// It never did.
    pub const NONE: &Self = &Self(BTreeMap::new());

    /// Whether it happened to a process in this time.
    pub(super) fn during(&self, pid: Option<u32>, span: &RangeInclusive<u64>) -> bool {
        let moments = pid.and_then(|pid| self.0.get(&pid));
        moments.is_some_and(|moments| {
            let place = moments.partition_point(|at| at < span.start());
            moments.get(place).is_some_and(|at| span.contains(at))
        })
    }
}

impl FromIterator<(u32, u64)> for Moments {
    fn from_iter<I: IntoIterator<Item = (u32, u64)>>(moments: I) -> Self {
        let mut of_pids = BTreeMap::<_, Vec<_>>::new();
        for (pid, at) in moments {
            of_pids.entry(pid).or_default().push(at);
        }
        // Two threads of a process may write in another order than they looked at the clock.
        for moments in of_pids.values_mut() {
            moments.sort_unstable();
        }
        Self(of_pids)
    }
}
