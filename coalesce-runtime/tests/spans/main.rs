//! What a tracing subscriber is shown: four spans, who is inside whom, and what links a follower to its leader.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod seen;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use coalesce_runtime::coordination::{BeginAsk, Coordinator, Token, Traceparent};
use coalesce_runtime::observing::TraceContext;
use coalesce_runtime::{Clocks, Coalescer, Key, MemoryCoordinator, Policy};
use tracing::Level;
use tracing::subscriber::DefaultGuard;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};

use crate::seen::Seen;

const MS: Duration = Duration::from_millis(1);
const OTHER: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const LEADER: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

fn subscribe(level: Level) -> (Seen, DefaultGuard) {
    coalesce_rig::hear_everything();
    let seen = Seen::default();
    let shown = seen.clone().with_filter(LevelFilter::from_level(level));
    let subscriber = tracing_subscriber::registry().with(shown);
    (seen, tracing::subscriber::set_default(subscriber))
}

/// A trace context that says what it was made with.
struct Said(&'static str, Arc<Mutex<Vec<String>>>);

impl TraceContext for Said {
    fn current(&self) -> Option<String> {
        assert_ne!(self.0, "panics");
        Some(self.0.to_owned())
    }

    fn linked(&self, traceparent: &str) {
        self.1.lock().unwrap().push(traceparent.to_owned());
        assert_ne!(self.0, "panics");
    }
}

fn said(said: &'static str) -> (Arc<Said>, Arc<Mutex<Vec<String>>>) {
    let linked = Arc::<Mutex<Vec<String>>>::default();
    (Arc::new(Said(said, Arc::clone(&linked))), linked)
}

/// Two processes that say this; what the second is linked to.
async fn two(said: [&'static str; 2]) -> ([Coalescer; 2], Arc<Mutex<Vec<String>>>) {
    let coordinator: Arc<dyn Coordinator> = Arc::new(MemoryCoordinator::new());
    let pod = |context| {
        let pod = Coalescer::builder().coordinator(Arc::clone(&coordinator));
        pod.trace_context(context).build()
    };
    let [(first, _), (second, linked)] = said.map(self::said);
    let (first, second) = tokio::join!(pod(first), pod(second));
    ([first.unwrap(), second.unwrap()], linked)
}

async fn call(pod: &Coalescer, policy: &Arc<Policy>) -> u32 {
    let call = pod.call("shop::total").key("secret-acme");
    let body = || async {
        let _work = tracing::info_span!("work").entered();
        tracing::info!("a body runs");
        42
    };
    let slow = || async move {
        tokio::time::sleep(20 * MS).await;
        body().await
    };
    call.policy(Arc::clone(policy)).run(slow).await
}

fn retaining() -> Arc<Policy> {
    let clocks = Clocks::new(100 * MS, Some(10_000 * MS), 1_000 * MS, Some(2_000 * MS));
    Arc::new(Policy::new(clocks.unwrap()))
}

#[tokio::test(start_paused = true)]
async fn a_follower_in_another_process_waits_and_is_linked_to_its_leader() {
    let ([leader, follower], linked) = two([LEADER; 2]).await;
    let (seen, _guard) = subscribe(Level::TRACE);
    let policy = Arc::<Policy>::default();
    let answers = tokio::join!(call(&leader, &policy), async {
        tokio::time::sleep(5 * MS).await;
        call(&follower, &policy).await
    });
    assert_eq!(answers, (42, 42));
    assert_eq!(*linked.lock().unwrap(), [LEADER]);

    let calls = seen.named("coalesce.call");
    assert_eq!(calls.len(), 2);
    let by = |outcome| calls.iter().find(|call| call.field("outcome") == outcome);
    let (led, joined) = (by("led").unwrap(), by("followed").unwrap());
    assert_eq!(led.field("namespace"), "shop::total");
    assert_eq!(joined.field("leader.traceparent"), LEADER);
    assert_eq!(led.field("leader.traceparent"), "");

    let execution = seen.only("coalesce.execution");
    assert_eq!(execution.parent, Some(led.number));
    assert_eq!(execution.field("cause"), "cold");
    assert_eq!(execution.field("outcome"), "value");
    assert_eq!(seen.only("work").parent, Some(execution.number));

    let waits = seen.named("coalesce.wait");
    let wait = waits.iter().find(|wait| wait.parent == Some(joined.number));
    assert_eq!(wait.unwrap().field("outcome"), "followed");
    for span in seen.spans() {
        assert!(!span.open, "left open: {span:?}");
        assert!(!format!("{span:?}").contains("secret"), "{span:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_refresh_is_inside_the_stale_call_that_started_it() {
    let ([pod, other], linked) = two([LEADER; 2]).await;
    let policy = retaining();
    call(&pod, &policy).await;
    tokio::time::advance(200 * MS).await;
    let (seen, _guard) = subscribe(Level::DEBUG);
    call(&other, &policy).await;
    tokio::time::sleep(100 * MS).await;
    let stale = seen.only("coalesce.call");
    assert_eq!(stale.field("outcome"), "stale");
    assert_eq!(stale.field("leader.traceparent"), LEADER);
    assert_eq!(*linked.lock().unwrap(), [LEADER]);
    let refresh = seen.only("coalesce.refresh");
    assert_eq!(refresh.parent, Some(stale.number));
    assert_eq!(refresh.field("outcome"), "led");
    let execution = seen.only("coalesce.execution");
    assert_eq!(execution.parent, Some(refresh.number));
    assert_eq!(execution.field("cause"), "refresh");
    assert!(seen.named("coalesce.wait").is_empty(), "that is at trace");
}

/// The lock says it, since no outcome ever does.
#[tokio::test(start_paused = true)]
async fn who_takes_over_or_waits_in_vain_is_linked_to_the_leader_that_it_waited_for() {
    let lock = |lease| BeginAsk {
        token: Token::random(),
        lease,
        seen: None,
        following: None,
        trace: Traceparent::parse(LEADER),
    };
    for (lease, outcome) in [(1_000 * MS, "led"), (60_000 * MS, "timed_out")] {
        let coordinator = Arc::new(MemoryCoordinator::new());
        let key = Key::new("shop::total", &[&"secret-acme"]);
        coordinator.begin(&key, &lock(lease)).await.unwrap();
        let (context, linked) = said(OTHER);
        let pod = Coalescer::builder().coordinator(coordinator);
        let pod = pod.trace_context(context).build().await.unwrap();
        let (seen, _guard) = subscribe(Level::DEBUG);
        assert_eq!(call(&pod, &retaining()).await, 42);
        assert_eq!(*linked.lock().unwrap(), [LEADER]);
        let span = seen.only("coalesce.call");
        assert_eq!(span.field("outcome"), outcome);
        assert_eq!(span.field("leader.traceparent"), LEADER);
    }
}

#[tokio::test(start_paused = true)]
async fn a_bypassed_call_says_why() {
    let pod = Coalescer::builder().in_process().build().await.unwrap();
    pod.shutdown(MS).await;
    let (seen, _guard) = subscribe(Level::TRACE);
    call(&pod, &Arc::default()).await;
    let span = seen.only("coalesce.call");
    assert_eq!(span.field("outcome"), "bypassed");
    assert_eq!(span.field("bypassed"), "shutting_down");
    assert_eq!(seen.only("work").parent, None);
}

#[tokio::test(start_paused = true)]
async fn who_does_not_want_our_spans_has_its_own_as_they_were() {
    use tracing::Instrument as _;
    let ([pod, _], _) = two([LEADER; 2]).await;
    let (seen, _guard) = subscribe(Level::INFO);
    let request = tracing::info_span!("request");
    call(&pod, &Arc::default()).instrument(request).await;
    let request = seen.only("request");
    assert_eq!(seen.only("work").parent, Some(request.number));
    assert_eq!(seen.spans().len(), 2, "{:?}", seen.spans());
}

#[tokio::test(start_paused = true)]
async fn a_trace_context_that_talks_nonsense_or_panics_hurts_nobody() {
    let nonsense = "00-4BF92F3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    for said in ["", "panics", nonsense] {
        let ([leader, follower], linked) = two([said; 2]).await;
        let policy = Arc::<Policy>::default();
        let both = tokio::join!(call(&leader, &policy), call(&follower, &policy));
        assert_eq!(both, (42, 42));
        assert_eq!(*linked.lock().unwrap(), [""; 0], "{said}");
    }
    let ([leader, follower], linked) = two([LEADER, "panics"]).await;
    let policy = retaining();
    call(&leader, &policy).await;
    assert_eq!(call(&follower, &policy).await, 42);
    assert_eq!(follower.counts().fresh, 1);
    assert_eq!(*linked.lock().unwrap(), [LEADER]);
}

/// Each takeover is counted; the log is told of one, and of how many others there were.
#[tokio::test(start_paused = true)]
async fn takeovers_are_logged_once_in_ten_seconds_and_those_left_out_are_counted() {
    let ([first, second], _) = two([LEADER; 2]).await;
    let clocks = Clocks::new(Duration::ZERO, None, 100 * MS, Some(1_000 * MS));
    let policy = Arc::new(Policy::new(clocks.unwrap()));
    let (seen, _guard) = subscribe(Level::INFO);
    for round in 0..4_u32 {
        if round == 3 {
            tokio::time::advance(Duration::from_secs(10)).await;
        }
        let key = |pod: &Coalescer| {
            pod.call("shop::total")
                .key(round)
                .policy(Arc::clone(&policy))
        };
        let leads = tokio::spawn(key(&first).run(std::future::pending::<u32>));
        tokio::time::sleep(MS).await;
        let follows = tokio::spawn(key(&second).run(|| async { 7_u32 }));
        // `pending_ttl` ends, and the follower takes over.
        assert_eq!(follows.await.unwrap(), 7);
        leads.abort();
        assert_eq!(second.counts().takeovers, u64::from(round) + 1);
    }
    let lines = seen.lines("took over from a leader that is gone");
    let left_out: Vec<_> = lines.iter().map(|line| &*line["left_out"]).collect();
    assert_eq!(left_out, ["0", "2"]);
}
