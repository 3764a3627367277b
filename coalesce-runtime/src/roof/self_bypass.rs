//! Call sites that go straight through while coalescing saves nothing: each namespace is judged window by window.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;

use crate::advisor::bypass::{Course, Sums, window};
use crate::books::Books;
use crate::books::measure::to_f64;
use crate::books::snapshot::NamespaceSnapshot;
use crate::words::clock::{Instant, now};

/// Namespaces that are judged; those beyond are shared. As many as have a page of their own.
const NAMESPACES: usize = 512;

/// What has been decided, by namespace. It is asked by each call and takes no lock for that.
pub(crate) struct SelfBypass {
    trials: ArcSwap<HashMap<Arc<str>, Arc<Trial>>>,
    books: Arc<Books>,
    began: Instant,
}

/// One namespace.
struct Trial {
    is_past: AtomicBool,
    /// When it is judged next, in microseconds since the beginning.
    due: AtomicU64,
    judged: Mutex<Judged>,
}

/// What only the one who judges looks at.
struct Judged {
    course: Course,
    /// The sums at its beginning.
    from: Sums,
}

impl SelfBypass {
    pub(crate) fn new(books: Arc<Books>) -> Self {
        Self {
            trials: ArcSwap::default(),
            books,
            began: now(),
        }
    }

    /// Whether a call of this namespace goes straight through.
    pub(crate) fn is_past(&self, namespace: &Arc<str>, fresh_ttl: Duration) -> bool {
        let trials = self.trials.load();
        let Some(trial) = trials.get(namespace) else {
            if trials.len() < NAMESPACES {
                self.open(namespace, fresh_ttl);
            }
            return false;
        };
        let (now, due) = (self.micros(), trial.due.load(Ordering::Relaxed));
        if due <= now {
            self.judge(trial, due, namespace, fresh_ttl);
        }
        trial.is_past.load(Ordering::Relaxed)
    }

    /// Judges the window that has ended, unless another call is at it.
    fn judge(&self, trial: &Trial, due: u64, namespace: &str, fresh_ttl: Duration) {
        let window = window(fresh_ttl);
        let next = self.micros() + micros(window);
        let claimed = trial
            .due
            .compare_exchange(due, next, Ordering::Relaxed, Ordering::Relaxed);
        let Some(page) = claimed.ok().and_then(|_| self.books.of(namespace)) else {
            return;
        };
        let sums = sums(&page);
        let mut judged = trial.judged.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(course) = judged.course.next(sums - judged.from) else {
            return;
        };
        *judged = Judged { course, from: sums };
        let due = self.micros() + micros(course.lasts(window));
        trial.due.store(due, Ordering::Relaxed);
        trial.is_past.store(course.is_past(), Ordering::Relaxed);
    }

    fn open(&self, namespace: &Arc<str>, fresh_ttl: Duration) {
        let from = self.books.of(namespace).map(|page| sums(&page));
        let trial = Arc::new(Trial {
            is_past: AtomicBool::new(false),
            due: AtomicU64::new(self.micros() + micros(window(fresh_ttl))),
            judged: Mutex::new(Judged {
                course: Course::START,
                from: from.unwrap_or_default(),
            }),
        });
        self.trials.rcu(|trials| {
            let mut trials = HashMap::clone(trials);
            if trials.len() < NAMESPACES {
                let namespace = Arc::clone(namespace);
                trials
                    .entry(namespace)
                    .or_insert_with(|| Arc::clone(&trial));
            }
            trials
        });
    }

    fn micros(&self) -> u64 {
        micros(now().saturating_duration_since(self.began))
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

fn sums(page: &NamespaceSnapshot) -> Sums {
    let timed = [&page.hit_seconds, &page.wait_seconds, &page.led_seconds];
    let counts = timed.map(|measured| measured.count);
    Sums {
        calls: to_f64(counts.iter().sum()),
        call_seconds: timed.map(|measured| measured.sum).iter().sum(),
        bodies: to_f64(page.execution_seconds.count),
        body_seconds: page.execution_seconds.sum,
    }
}

impl fmt::Debug for SelfBypass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SelfBypass")
    }
}
