//! The journal: what somebody on call must know of single flights, as lines of the log that never flood it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::words::clock::now;
use crate::words::limiter::Limiter;

/// Namespaces with limits of their own; those beyond share theirs.
const NAMESPACES: usize = 512;

/// What is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Line {
    /// A leader's lock is another's, or gone for good.
    LeaseLost,
    /// An outcome was not stored.
    Fenced,
    /// A follower leads.
    Takeover,
}

/// Says each line of a namespace once in ten seconds at most.
#[derive(Debug, Default)]
pub(crate) struct Journal(Mutex<HashMap<(Arc<str>, Line), Limiter>>);

impl Journal {
    /// Says that it happened, or counts it for the next line.
    pub(crate) fn say(&self, namespace: &Arc<str>, line: Line) {
        let Some(left_out) = self.admit(namespace, line) else {
            return;
        };
        let namespace = &**namespace;
        match line {
            Line::LeaseLost => {
                tracing::warn!(
                    namespace,
                    left_out,
                    "the lease of a running flight was lost"
                );
            }
            Line::Fenced => {
                tracing::info!(
                    namespace,
                    left_out,
                    "an outcome was not stored: its flight was no longer the key's"
                );
            }
            Line::Takeover => {
                tracing::info!(namespace, left_out, "took over from a leader that is gone");
            }
        }
    }

    fn admit(&self, namespace: &Arc<str>, line: Line) -> Option<u64> {
        let mut limiters = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let own = (Arc::clone(namespace), line);
        let has_room = limiters.len() < NAMESPACES || limiters.contains_key(&own);
        let place = if has_room { own } else { ("".into(), line) };
        limiters.entry(place).or_default().admit(now())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn each_line_of_each_namespace_has_its_own_limit_while_there_is_room() {
        let journal = Journal::default();
        let name = |number: usize| -> Arc<str> { format!("n{number}").into() };
        assert_eq!(journal.admit(&name(0), Line::Fenced), Some(0));
        assert_eq!(journal.admit(&name(0), Line::Fenced), None);
        assert_eq!(journal.admit(&name(0), Line::Takeover), Some(0));
        for number in 1..NAMESPACES - 1 {
            assert_eq!(journal.admit(&name(number), Line::Fenced), Some(0));
        }
        assert_eq!(journal.admit(&name(9_000), Line::Fenced), Some(0));
        assert_eq!(
            journal.admit(&name(9_001), Line::Fenced),
            None,
            "they share"
        );
        tokio::time::advance(std::time::Duration::from_secs(10)).await;
        assert_eq!(journal.admit(&name(0), Line::Fenced), Some(1));
        assert_eq!(journal.admit(&name(9_002), Line::Fenced), Some(1));
    }
}
