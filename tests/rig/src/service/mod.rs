//! The service that a pod is: it calls annotated functions when told to on its standard input.

#![expect(
    clippy::print_stdout,
    reason = "the protocol with the rig is lines on standard output"
)]

mod afflictions;
mod deployments;
mod ends;
mod load;
mod past;
mod pulse;
mod sites;
mod vain;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use coalesce::{
    Coalescer, CoalescerBuilder, NamespaceSnapshot, Position, RedisCoordinator, RedisSettings,
    Scope,
};

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::runtime::Handle;

use self::sites::{Failure, LEDGER, Made, Task, call, fresh_entry};
use crate::ledger::now_micros;
use crate::orders::{Answer, Burst, Fails, Order, Page, PodState, Site};

/// Serves until the standard input ends. The arguments of the program are a Redis URL and a ledger.
pub async fn serve() {
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .init();
    let mut arguments = std::env::args().skip(1);
    let url = arguments.next().expect("a Redis URL");
    LEDGER
        .set(arguments.next().expect("a ledger").into())
        .expect("one ledger");
    let ledger = LEDGER.get().expect("a ledger");
    tokio::spawn(pulse::beat(ledger));
    let coalescer = coordinated(url)
        .await
        .observer(Arc::new(ends::Ends(ledger)))
        .observer(Arc::new(vain::Vain::new(ledger)))
        .observer(Arc::new(past::Past))
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

/// By this Redis; `RIG_LINGER` says for how many milliseconds subscriptions stay behind their last listener.
async fn coordinated(url: String) -> CoalescerBuilder {
    let builder = Coalescer::builder();
    let Ok(linger) = std::env::var("RIG_LINGER") else {
        return builder.redis(url).prefix("rig");
    };
    let linger = Duration::from_millis(linger.parse().expect("milliseconds"));
    let settings = RedisSettings::new(url).prefix("rig").linger(linger);
    let coordinator = RedisCoordinator::connect(settings).await;
    builder.coordinator(Arc::new(coordinator.expect("a coordinator")))
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
        Order::Load { burst, answers } => {
            tokio::spawn(async move {
                let tally = load::carry(burst, &answers).await;
                println!("{}", serde_json::to_string(&tally).expect("a tally"));
            });
            None
        }
        Order::Invalidate { key } => {
            let task = Task {
                span: Duration::ZERO,
                fails: Fails::Never,
                caller: String::new(),
                may_be_endless: false,
                filler: 0,
            };
            fresh_entry(key, task)
                .invalidate()
                .await
                .expect("an invalidation");
            Some("invalidated".to_owned())
        }
        Order::Switch { on } => {
            let position = if on { Position::on() } else { Position::off() };
            let turned = coalescer.switch(&Scope::Everything, &position).await;
            let is_turned = turned.is_ok_and(|turned| turned.known);
            Some(if is_turned { "switched" } else { "in vain" }.to_owned())
        }
        Order::Obey { on } => {
            let coalescer = coalescer.clone();
            tokio::spawn(async move {
                while is_off(&coalescer) == on {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
                println!("{}", now_micros());
            });
            None
        }
        Order::Suffer(affliction) => {
            afflictions::suffer(affliction, LEDGER.get().expect("a ledger"));
            None
        }
        Order::Retire { grace_ms } => {
            load::retire();
            coalescer.shutdown(Duration::from_millis(grace_ms)).await;
            Some("bye".to_owned())
        }
        Order::State => Some(serde_json::to_string(&state_of(coalescer)).expect("a state")),
        Order::ShutDown { grace_ms } => {
            coalescer.shutdown(Duration::from_millis(grace_ms)).await;
            Some("bye".to_owned())
        }
    }
}

fn is_off(coalescer: &Coalescer) -> bool {
    let position = coalescer.position(&Scope::Everything);
    position.is_some_and(|position| !position.on)
}

fn state_of(coalescer: &Coalescer) -> PodState {
    let (counts, health) = (coalescer.counts(), coalescer.health());
    PodState {
        in_flight: coalescer.in_flight(),
        subscriptions: coalescer.subscriptions(),
        switched_off: is_off(coalescer),
        takeovers: counts.takeovers,
        books: books_of(coalescer),
        executions: counts.executions,
        saved: counts.fresh + counts.stale + counts.followed,
        bypassed: counts.bypassed,
        faults: counts.faults,
        last_fault: health
            .last_fault
            .map_or("", |last| last.fault.label())
            .to_owned(),
        subscribed: health.subscribed,
        misrouted: health.misrouted,
        breaker: health.breaker.label().to_owned(),
        undecodable: counts.undecodable,
        tasks: Handle::current().metrics().num_alive_tasks(),
        begun: load::begun(),
        answered: load::answered(),
    }
}

fn books_of(coalescer: &Coalescer) -> BTreeMap<String, Page> {
    let namespaces = coalescer.snapshot().namespaces;
    let page = |page: NamespaceSnapshot| Page {
        calls: page.calls,
        outcomes: page.outcomes.total(),
        executions: page.executions.total(),
        endings: page.endings.total(),
        bypassed: page.bypassed.total(),
    };
    let pages = namespaces.into_iter();
    pages.map(|(name, numbers)| (name, page(numbers))).collect()
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
    let mut answers = Vec::new();
    let end = burst.lasts_ms.map(|lasts| now_micros() + lasts * 1_000);
    let goes_on = |round| end.map_or(round < burst.rounds, |end| now_micros() < end);
    while goes_on(answers.len()) {
        answers.push(answer(burst, key, number).await);
    }
    answers
}

/// One call.
async fn answer(burst: &Burst, key: &str, number: usize) -> Answer {
    let task = Task {
        span: Duration::from_millis(burst.body_ms),
        fails: burst.fails,
        filler: burst.filler,
        may_be_endless: matches!(burst.site, Site::Patient),
        caller: format!("{}.{number}", std::process::id()),
    };
    let arrived = now_micros();
    let answer = call_as_a_client(burst, key.to_owned(), task).await;
    let answered = now_micros();
    let (made, error) = match answer {
        Ok(made) => (Some(made), None),
        Err(text) => (None, Some(text)),
    };
    Answer {
        key: key.to_owned(),
        of_key: made.as_ref().map(|made| made.key.clone()),
        run: made.as_ref().map(|made| made.run.clone()),
        ended: made.as_ref().map(|made| made.ended),
        caller: made.map(|made| made.caller),
        error,
        pid: std::process::id(),
        arrived,
        answered,
    }
}

/// A call in a task of its own, as a server makes one for each request: it may panic, and it is
/// dropped when the client is gone.
async fn call_as_a_client(burst: &Burst, key: String, task: Task) -> Result<Made, String> {
    let mut calling = tokio::spawn(call(burst.site, key, task));
    let dropped = calling.abort_handle();
    if let Some(life) = burst.dropped_after_ms {
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(life)).await;
            dropped.abort();
        });
    }
    let departed = calling.abort_handle();
    let answer = tokio::select! {
        answer = &mut calling => answer,
        () = afflictions::departs() => {
            departed.abort();
            calling.await
        }
    };
    match answer {
        Ok(answer) => answer.map_err(|Failure(text)| text),
        Err(error) if error.is_panic() => Err("panicked".to_owned()),
        Err(_) => Err("dropped".to_owned()),
    }
}
