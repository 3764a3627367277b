//! A pod: a process of a service with annotated functions, which calls them when told to on its standard input.

#![expect(
    clippy::print_stdout,
    reason = "the protocol with the rig is lines on standard output"
)]
#![expect(
    clippy::expect_used,
    reason = "a test fails by panicking, and so does what it is built with"
)]

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use coalesce::{Coalescer, Position, Scope, coalesce};
use coalesce_rig::{Answer, Burst, Fails, Ledger, Order, PodState, Site, now_micros};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, BufReader};

static LEDGER: OnceLock<PathBuf> = OnceLock::new();

/// What a body returns: enough to tell whose value it is.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Made {
    key: String,
    run: String,
    /// When the body was about to return, in microseconds since the Unix epoch.
    ended: u64,
    filler: String,
}

/// What a body fails with.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Failure(String);

impl From<coalesce::Error> for Failure {
    fn from(error: coalesce::Error) -> Self {
        Self(error.to_string())
    }
}

/// What a body is to do; not part of the identity of the work.
#[derive(Clone, Copy, Debug)]
struct Task {
    span: Duration,
    fails: Fails,
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
async fn fresh(key: String, task: Task) -> Result<Made, Failure> {
    work(key, task, 0).await
}

#[coalesce(key = key, skip(task), fresh_ttl = "1s", stale_ttl = "60s")]
async fn stale(key: String, task: Task) -> Result<Made, Failure> {
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

/// The expensive part.
async fn work(key: String, task: Task, filler: usize) -> Result<Made, Failure> {
    static RUNS: AtomicU64 = AtomicU64::new(0);
    let ledger: &Path = LEDGER.get().expect("a ledger");
    let run = format!(
        "{}.{}",
        std::process::id(),
        RUNS.fetch_add(1, Ordering::Relaxed)
    );
    Ledger::write(ledger, &run, &key, true);
    tokio::time::sleep(task.span).await;
    let fails = match task.fails {
        Fails::Never => false,
        Fails::Always => true,
        Fails::First => {
            std::fs::read_to_string(ledger)
                .expect("the ledger")
                .lines()
                .count()
                == 1
        }
    };
    Ledger::write(ledger, &run, &key, false);
    let filler = "x".repeat(filler);
    if fails {
        return Err(Failure("db down".to_owned()));
    }
    Ok(Made {
        key,
        run,
        filler,
        ended: now_micros(),
    })
}

async fn call(site: Site, key: String, task: Task) -> Result<Made, Failure> {
    match site {
        Site::InFlight => in_flight(key, task).await,
        Site::Retry => retry(key, task).await,
        Site::Fresh => fresh(key, task).await,
        Site::Stale => stale(key, task).await,
        Site::Oversized => oversized(key, task).await,
        Site::Short => short(key, task).await,
    }
}

#[tokio::main]
async fn main() {
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .init();
    let mut arguments = std::env::args().skip(1);
    let url = arguments.next().expect("a Redis URL");
    LEDGER
        .set(arguments.next().expect("a ledger").into())
        .expect("one ledger");
    let coalescer = Coalescer::builder()
        .redis(url)
        .prefix("rig")
        .build()
        .await
        .expect("a coalescer");
    coalescer.clone().make_default().expect("no default yet");
    println!("ready");
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    // The end of the input is the end of the rig, and then of this process.
    while let Ok(Some(line)) = lines.next_line().await {
        let order: Order = serde_json::from_str(&line).expect("an order");
        if let Some(reply) = obey(order, &coalescer).await {
            println!("{reply}");
        }
    }
}

async fn obey(order: Order, coalescer: &Coalescer) -> Option<String> {
    match order {
        Order::Burst(burst) => {
            // In a task of its own: the pod listens on while its callers wait.
            tokio::spawn(async move {
                let answers = make_calls(burst).await;
                println!("{}", serde_json::to_string(&answers).expect("answers"));
            });
            None
        }
        Order::Invalidate { key } => {
            let task = Task {
                span: Duration::ZERO,
                fails: Fails::Never,
            };
            fresh_entry(key, task)
                .invalidate()
                .await
                .expect("an invalidation");
            Some("invalidated".to_owned())
        }
        Order::Switch { on } => {
            let position = if on { Position::on() } else { Position::off() };
            coalescer
                .switch(&Scope::Everything, &position)
                .await
                .expect("a switch");
            Some("switched".to_owned())
        }
        Order::State => Some(serde_json::to_string(&state_of(coalescer)).expect("a state")),
        Order::ShutDown => {
            coalescer.shutdown(Duration::from_secs(5)).await;
            Some("bye".to_owned())
        }
    }
}

fn state_of(coalescer: &Coalescer) -> PodState {
    let counts = coalescer.counts();
    PodState {
        in_flight: coalescer.in_flight(),
        subscriptions: coalescer.subscriptions(),
        switched_off: coalescer
            .position(&Scope::Everything)
            .is_some_and(|position| !position.on),
        takeovers: counts.takeovers,
        bypassed: counts.bypassed,
        faults: counts.faults,
        undecodable: counts.undecodable,
    }
}

async fn make_calls(burst: Burst) -> Vec<Answer> {
    let start = tokio::time::Instant::now() + Duration::from_millis(burst.delay_ms);
    let callers: Vec<_> = (0..burst.callers)
        .map(|number| {
            let burst = burst.clone();
            let at = start
                + Duration::from_millis(burst.gap_ms) * u32::try_from(number).unwrap_or(u32::MAX);
            tokio::spawn(async move {
                if at > start || burst.delay_ms > 0 {
                    tokio::time::sleep_until(at).await;
                }
                caller(&burst, number).await
            })
        })
        .collect();
    let mut answers = Vec::new();
    for caller in callers {
        answers.extend(caller.await.expect("a caller"));
    }
    answers
}

async fn caller(burst: &Burst, number: usize) -> Vec<Answer> {
    let key = &burst.keys[number % burst.keys.len()];
    let task = Task {
        span: Duration::from_millis(burst.body_ms),
        fails: burst.fails,
    };
    let mut answers = Vec::new();
    for _ in 0..burst.rounds {
        let arrived = now_micros();
        let answer = call(burst.site, key.clone(), task).await;
        let answered = now_micros();
        let (made, error) = match answer {
            Ok(made) => (Some(made), None),
            Err(Failure(text)) => (None, Some(text)),
        };
        let ended = made.as_ref().map(|made| made.ended);
        let (of_key, run) = made.map(|made| (made.key, made.run)).unzip();
        answers.push(Answer {
            key: key.clone(),
            of_key,
            run,
            ended,
            error,
            arrived,
            answered,
        });
    }
    answers
}
