//! The annotated functions of a pod, one for each `Site`, and the body that they share.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use coalesce::coalesce;
use serde::{Deserialize, Serialize};

use super::afflictions::{self, Running};
use super::ends::ends_now;
use super::{deployments, past};
use crate::ledger::Ledger;
use crate::orders::{Fails, Site};

pub static LEDGER: OnceLock<PathBuf> = OnceLock::new();

/// What a body returns: enough to tell whose value it is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Made {
    pub key: String,
    pub run: String,
    /// When the body was about to return, in microseconds since the Unix epoch.
    pub ended: u64,
    filler: String,
    pub caller: String,
}

impl Made {
    /// What is left of it when a deployment has kept its key and its run.
    pub const fn of(key: String, run: String) -> Self {
        Self {
            key,
            run,
            ended: 0,
            filler: String::new(),
            caller: String::new(),
        }
    }
}

/// What a body fails with.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Failure(pub String);

impl From<coalesce::Error> for Failure {
    fn from(error: coalesce::Error) -> Self {
        Self(error.to_string())
    }
}

/// What a body is to do, and for whom; not part of the identity of the work.
#[derive(Clone, Debug)]
pub struct Task {
    pub span: Duration,
    pub fails: Fails,
    pub caller: String,
    /// Whether it may be told not to end.
    pub may_be_endless: bool,
    /// How many bytes more than usual the value has.
    pub filler: usize,
}

#[coalesce(key = key, skip(task))]
async fn in_flight(key: String, task: Task) -> Result<Made, Failure> {
    work(key, task, 0).await
}

#[coalesce(key = key, skip(task), errors = "retry")]
async fn retry(key: String, task: Task) -> Result<Made, Failure> {
    work(key, task, 0).await
}

#[coalesce(key = key, skip(task), fresh_ttl = "60s", entry = fresh_entry)]
pub async fn fresh(key: String, task: Task) -> Result<Made, Failure> {
    work(key, task, 0).await
}

#[coalesce(key = key, skip(task), fresh_ttl = "1s", stale_ttl = "60s")]
async fn stale(key: String, task: Task) -> Result<Made, Failure> {
    work(key, task, 0).await
}

#[coalesce(key = key, skip(task), fresh_ttl = "1s")]
async fn brief(key: String, task: Task) -> Result<Made, Failure> {
    work(key, task, 0).await
}

#[coalesce(key = key, skip(task), max_payload = 1000)]
async fn oversized(key: String, task: Task) -> Result<Made, Failure> {
    work(key, task, 5000).await
}

#[coalesce(key = key, skip(task), pending_ttl = "2s", wait_timeout = "5s")]
async fn short(key: String, task: Task) -> Result<Made, Failure> {
    work(key, task, 0).await
}

#[coalesce(skip(task))]
async fn every_caller(key: String, caller: String, task: Task) -> Result<Made, Failure> {
    let _ = caller;
    work(key, task, 0).await
}

#[coalesce(skip(caller, task))]
async fn any_caller(key: String, caller: String, task: Task) -> Result<Made, Failure> {
    let _ = caller;
    work(key, task, 0).await
}

#[coalesce(
    key = key,
    skip(task),
    pending_ttl = "${RIG_PENDING:200ms}",
    wait_timeout = "${RIG_WAIT:400ms}"
)]
async fn patient(key: String, task: Task) -> Result<Made, Failure> {
    work(key, task, 0).await
}

#[coalesce(
    key = key,
    skip(task),
    pending_ttl = "${RIG_PENDING:200ms}",
    wait_timeout = "${RIG_WAIT:400ms}",
    on_redis_error = "fail"
)]
async fn strict(key: String, task: Task) -> Result<Made, Failure> {
    work(key, task, 0).await
}

#[coalesce(key = key, skip(task), wait_timeout = "none")]
async fn endless(key: String, task: Task) -> Result<Made, Failure> {
    work(key, task, 0).await
}

#[coalesce(key = key, skip(task), enabled = "${RIG_ENABLED:true}")]
async fn switched(key: String, task: Task) -> Result<Made, Failure> {
    work(key, task, 0).await
}

#[coalesce(skip(task))]
async fn mapped(fields: HashMap<String, u64>, task: Task) -> Result<Made, Failure> {
    work(format!("{} fields", fields.len()), task, 0).await
}

mod one {
    //! A service with a common name.
    use super::{Failure, Made, Task, coalesce, work};

    pub(super) struct Service;
    impl Service {
        #[coalesce(key = key, skip(task), fresh_ttl = "60s")]
        pub(super) async fn get(key: String, task: Task) -> Result<Made, Failure> {
            work(key, task, 0).await
        }
    }
}

mod other {
    //! Another service with that name.
    use super::{Failure, Made, Task, coalesce, work};

    pub(super) struct Service;
    impl Service {
        #[coalesce(key = key, skip(task), fresh_ttl = "60s")]
        pub(super) async fn get(key: String, task: Task) -> Result<Made, Failure> {
            work(key, task, 0).await
        }
    }
}

#[coalesce(key = key, skip(task, depth))]
fn recursive(
    key: String,
    task: Task,
    depth: u32,
) -> Pin<Box<dyn Future<Output = Result<Made, Failure>> + Send>> {
    Box::pin(async move {
        match depth {
            0 => work(key, task, 0).await,
            _ => recursive(key.clone(), task, depth - 1).await,
        }
    })
}

#[coalesce(key = key, skip(task))]
fn nested(key: String, task: Task) -> Pin<Box<dyn Future<Output = Result<Made, Failure>> + Send>> {
    Box::pin(async move {
        match key.parse() {
            Ok(0) | Err(_) => work(key, task, 0).await,
            Ok::<u32, _>(number) => nested((number - 1).to_string(), task).await,
        }
    })
}

/// The expensive part.
pub async fn work(key: String, task: Task, filler: usize) -> Result<Made, Failure> {
    static RUNS: AtomicU64 = AtomicU64::new(0);
    let ledger: &Path = LEDGER.get().expect("a ledger");
    let run = format!(
        "{}.{}",
        std::process::id(),
        RUNS.fetch_add(1, Ordering::Relaxed)
    );
    let past = past::why();
    Ledger::write(ledger, &run, &key, true);
    let running = Running {
        ledger,
        run: &run,
        key: &key,
        has_ended: false,
    };
    if let Some(note) = past {
        Ledger::write_note(ledger, &run, note);
    }
    tokio::time::sleep(task.span).await;
    afflictions::panic();
    if task.may_be_endless {
        afflictions::endure().await;
    }
    let is_first = || {
        let text = std::fs::read_to_string(ledger).expect("the ledger");
        Ledger::has_one_run(&text)
    };
    let failure = match task.fails {
        Fails::Always => Some("db down"),
        Fails::Silently => Some(""),
        Fails::First if is_first() => Some("db down"),
        Fails::FirstPanics => {
            assert!(!is_first(), "the first run panics");
            None
        }
        Fails::Never | Fails::First => None,
    };
    running.ends();
    if let Some(text) = failure {
        ends_now();
        return Err(Failure(text.to_owned()));
    }
    let filler = "x".repeat(filler + task.filler);
    Ok(Made {
        key,
        run,
        filler,
        ended: ends_now(),
        caller: task.caller,
    })
}

pub async fn call(site: Site, key: String, task: Task) -> Result<Made, Failure> {
    match site {
        Site::InFlight => in_flight(key, task).await,
        Site::Retry => retry(key, task).await,
        Site::Fresh => fresh(key, task).await,
        Site::Stale => stale(key, task).await,
        Site::Brief => brief(key, task).await,
        Site::Oversized => oversized(key, task).await,
        Site::Short => short(key, task).await,
        Site::EveryCaller => every_caller(key, task.caller.clone(), task).await,
        Site::AnyCaller => any_caller(key, task.caller.clone(), task).await,
        Site::Patient => patient(key, task).await,
        Site::Strict => strict(key, task).await,
        Site::Endless => endless(key, task).await,
        Site::Switched => switched(key, task).await,
        Site::Mapped => mapped(fields(), task).await,
        Site::OneService => one::Service::get(key, task).await,
        Site::OtherService => other::Service::get(key, task).await,
        Site::Recursive => recursive(key, task, 2).await,
        Site::Nested => nested(key, task).await,
        Site::Deployed => deployments::call(key, task).await,
    }
}

fn fields() -> HashMap<String, u64> {
    (0..20)
        .map(|number| (format!("field {number}"), number))
        .collect()
}
