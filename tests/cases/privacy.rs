//! Privacy: what callers ask for stands in no log line and in no error.

use std::fmt::{Debug, Write as _};
use std::sync::{Arc, Mutex};

use coalesce::{Headers, coalesce};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use crate::scene::{Failure, Gate, MS, Pod, Scene, eventually};

const SECRET: &str = "tenant-4711";
const HEADER: &str = "bearer-0815";

#[coalesce(
    key = tenant,
    skip(pod, gate),
    coalescer = pod.coalescer,
    header_keys = ["Authorization"],
    missing_header = "error",
    fresh_ttl = "60s",
    pending_ttl = "${PRIVACY_PENDING:200ms}",
    wait_timeout = "${PRIVACY_WAIT:400ms}",
    on_redis_error = "fail"
)]
async fn secretive(pod: &Pod, tenant: &str, gate: &Gate) -> Result<u64, Failure> {
    let run = pod.ledger.run_until(gate.passed()).await;
    assert!(run != 2, "the second run panics");
    Ok(run)
}

/// Writes down everything that is traced.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<String>>);

impl Lines {
    fn text(&self) -> String {
        self.0.lock().unwrap().clone()
    }
}

impl Visit for Lines {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let mut text = self.0.lock().unwrap();
        write!(text, " {field}={value:?}").unwrap();
    }
}

impl Subscriber for Lines {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }
    fn new_span(&self, span: &Attributes<'_>) -> Id {
        span.record(&mut self.clone());
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, values: &Record<'_>) {
        values.record(&mut self.clone());
    }
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, event: &Event<'_>) {
        write!(self.0.lock().unwrap(), "\n{}", event.metadata().target()).unwrap();
        event.record(&mut self.clone());
    }
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

async fn call(pod: &Pod, gate: &Gate) -> Result<u64, Failure> {
    let headers = Headers::new([("Authorization", HEADER)]);
    headers.scope(secretive(pod, SECRET, gate)).await
}

fn error_of(answer: Result<u64, Failure>) -> String {
    match answer {
        Err(Failure::Coalesce(text)) => text,
        answer => panic!("{answer:?}"),
    }
}

/// X-06, P15.
#[tokio::test]
async fn neither_logs_nor_errors_say_what_was_asked_for() {
    let lines = Lines::default();
    // With one subscriber alone, a test in another thread that meets an event first, and has no
    // subscriber, would silence that event for every thread.
    let _another = tracing::Dispatch::new(lines.clone());
    coalesce_rig::hear_everything();
    let _guard = tracing::subscriber::set_default(lines.clone());
    let mut scene = Scene::new();
    let (pod, gate) = (scene.pod().await, Gate::closed());
    let mut errors = Vec::new();
    // A flight without end: a wait that times out here, and a leader that is taken over and panics.
    let (leading, other) = (pod.clone(), gate.clone());
    let leading = tokio::spawn(async move { call(&leading, &other).await });
    eventually("the body runs", || scene.ledger.runs() == 1).await;
    let patient = scene.pod_with(|builder| {
        let pending = builder.value("PRIVACY_PENDING", "20s");
        pending.value("PRIVACY_WAIT", "30s")
    });
    let (second, other) = (patient.await, gate.clone());
    let taking_over = tokio::spawn(async move { call(&second, &other).await });
    eventually("it is taken over", || scene.ledger.runs() == 2).await;
    errors.push(error_of(call(&scene.pod().await, &gate).await));
    gate.open();
    assert!(taking_over.await.unwrap_err().is_panic());
    assert_eq!(leading.await.unwrap(), Ok(1));
    // A stored value that nobody can read.
    let run = call(&pod, &gate).await.unwrap();
    let stored = scene.server.command(&["KEYS", "*:state:*"]).list();
    let name = stored[0].text();
    assert!(name.contains(SECRET), "the test looks for the wrong text");
    scene
        .server
        .command(&["SET", &name, "garbage", "PX", "60000"]);
    assert_eq!(call(&pod, &gate).await, Ok(run + 1));
    // A header that is absent, and a Redis that is gone.
    errors.push(error_of(secretive(&pod, SECRET, &gate).await));
    scene.server.kill();
    let settings = scene.settings().deadline(100 * MS);
    let cut_off = scene.pod_on(settings, |builder| builder).await;
    errors.push(error_of(call(&cut_off, &gate).await));
    for text in errors.iter().chain([&lines.text()]) {
        assert!(!text.contains("4711") && !text.contains("0815"), "{text}");
    }
    for (error, word) in errors.iter().zip(["timeout", "header", "unavailable"]) {
        assert!(
            error.contains(word) && error.contains("secretive"),
            "{error}"
        );
    }
    assert!(lines.text().contains("took over"), "{}", lines.text());
}
