//! The kill switch over real processes: every pod obeys, and an off switch means no Redis traffic.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use coalesce::{Coalescer, Position, Scope};
use coalesce_rig::{Burst, Ledger, Pod, RedisServer, Site, fleet, now_micros};
use tokio::runtime::Runtime;

const POD: &str = env!("CARGO_BIN_EXE_pod");

/// Twelve pods at a time are enough for two cores, and what is measured is not one another.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a pod sends without any call: it looks after its connections and reads the switch.
const HOUSEKEEPING: [&str; 2] = ["ping", "hgetall"];

/// What a pod sends when it tells the fleet of a namespace that it has called for the first time.
const ANNOUNCEMENT: [&str; 5] = ["evalsha", "time", "zadd", "pexpire", "zremrangebyscore"];

fn all_know(pods: &mut [Pod], off: bool) {
    let end = Instant::now() + Duration::from_secs(5);
    while pods.iter_mut().any(|pod| pod.state().switched_off != off) {
        assert!(Instant::now() < end, "a pod does not obey");
    }
}

fn burst(pods: &mut [Pod]) -> usize {
    for pod in &mut *pods {
        pod.begin(&Burst {
            // Every pod of a busy machine arrives before it has ended.
            body_ms: 500,
            ..Burst::of(Site::InFlight, 13)
        });
    }
    pods.iter_mut()
        .flat_map(Pod::answers)
        .filter(|answer| answer.error.is_none())
        .count()
}

/// All 52 calls of a burst are answered by one run; where a pod missed a deadline, by one run of each pod at most.
fn is_shared(pods: &mut [Pod], ledger: &Ledger) {
    let before = ledger.runs().len();
    assert_eq!(burst(pods), 52);
    let runs = ledger.runs().len() - before;
    let faults: u64 = pods.iter_mut().map(|pod| pod.state().faults).sum();
    let excused = faults > 0 && runs <= pods.len();
    assert!(runs == 1 || excused, "{runs} runs, {faults} faults");
}

#[test]
fn one_pod_turns_the_switch_and_all_obey_without_any_traffic() {
    let _alone = alone();
    let (server, ledger) = (RedisServer::start(), Ledger::default());
    let mut pods = fleet(POD, 4, &server, &ledger);
    is_shared(&mut pods, &ledger);
    let before = ledger.runs().len();
    pods[0].switch(false);
    all_know(&mut pods, true);
    server.reset_stats();
    assert_eq!(burst(&mut pods), 52);
    assert_eq!(ledger.runs().len() - before, 52, "each its own");
    let mut sent = server.command_stats();
    let known =
        |command: &str| HOUSEKEEPING.contains(&command) || (ANNOUNCEMENT.contains(&command));
    sent.retain(|command, _| !known(command));
    assert!(sent.is_empty(), "{sent:?}");
    pods[3].switch(true);
    all_know(&mut pods, false);
    is_shared(&mut pods, &ledger);
}

/// Redis is killed, and nobody reads the switch any more.
#[test]
fn a_position_stays_while_redis_is_gone_and_ends_when_it_was_to_end() {
    let _alone = alone();
    let server = RedisServer::start();
    let runtime = runtime();
    let coalescer = runtime.block_on(operator(&server));
    let call = |namespace: &'static str| {
        runtime.block_on(coalescer.call(namespace).run(|| async { 1 }));
        let outcomes = coalescer.snapshot_of(namespace).unwrap().outcomes;
        (outcomes.bypassed, outcomes.led)
    };
    let turn = |namespace: &'static str, position: &Position| {
        let scope = Scope::namespace(namespace);
        let turned = runtime.block_on(coalescer.switch(&scope, position));
        assert!(!turned.unwrap().known, "nobody has called it yet");
    };
    turn("for good", &Position::off());
    let end = coalescer.moment_in(Duration::from_secs(2));
    turn("for a while", &Position::off().until(end));
    let begun = Instant::now();
    let early = call("for a while") == (1, 0) || begun.elapsed() > Duration::from_secs(2);
    assert!(early, "it is off");
    drop(server);
    let faults = || coalescer.snapshot().process.faults.total();
    let before = faults();
    coalesce_rig::eventually("it was read in vain, twice", || faults() >= before + 2);
    assert_eq!(call("for good"), (1, 0), "it is still off");
    coalesce_rig::eventually("it has ended", || call("for a while").1 > 0);
    assert_eq!(call("for good"), (2, 0));
}

/// Flips the switch by `turn`, again and again, and says in microseconds how long the last of the pods took each time.
fn delays(pods: &mut [Pod], flips: usize, mut turn: impl FnMut(bool)) -> Vec<u64> {
    let mut delays: Vec<u64> = (0..flips)
        .map(|flip| {
            let on = flip % 2 == 1;
            for pod in &mut *pods {
                pod.watch_for(on);
            }
            let turned = now_micros();
            turn(on);
            let last = pods.iter_mut().map(Pod::obeyed).max().unwrap();
            last.saturating_sub(turned)
        })
        .collect();
    delays.sort_unstable();
    delays
}

#[expect(clippy::print_stdout, reason = "the figures are what it is for")]
fn figures(how: &str, delays: &[u64]) -> [Duration; 2] {
    let at = |percent: usize| Duration::from_micros(delays[(delays.len() - 1) * percent / 100]);
    println!(
        "12 pods, {how}: the last obeys after {:?} in the middle, p99 {:?}, at most {:?}, of {} flips",
        at(50),
        at(99),
        at(100),
        delays.len()
    );
    [at(50), at(99)]
}

#[test]
fn twelve_pods_obey_within_milliseconds_of_the_news_and_within_a_second_without() {
    let _alone = alone();
    let (server, ledger) = (RedisServer::start(), Ledger::default());
    let mut pods = fleet(POD, 12, &server, &ledger);
    let mut connection = server.connection();
    let mut set = |on: bool| {
        let text = if on { "co1 on" } else { "co1 off" };
        let set = connection.command(&["HSET", "rig:switch", "~all", text]);
        assert!(set.is_ok());
    };
    let runtime = runtime();
    let operator = runtime.block_on(operator(&server));
    let pushed = delays(&mut pods, 200, |on| {
        let position = if on { Position::on() } else { Position::off() };
        let turned = runtime.block_on(operator.switch(&Scope::Everything, &position));
        assert!(turned.unwrap().known);
    });
    let silent = delays(&mut pods, 16, &mut set);
    let (told, untold) = (figures("told", &pushed), figures("not told", &silent));
    // Without a word the middle is a second, so this shows that the news arrive; p99 is the machine's noise.
    assert!(told[0] < Duration::from_millis(300) && told[1] < Duration::from_secs(1));
    assert!(untold[1] < Duration::from_secs(5));
}

/// A hundred flips in ten seconds, while every pod has callers of one key all the time.
#[test]
fn a_switch_that_flips_ten_times_a_second_for_ten_seconds_strands_nobody() {
    let _alone = alone();
    let (server, ledger) = (RedisServer::start(), Ledger::default());
    let mut pods = fleet(POD, 12, &server, &ledger);
    let runtime = runtime();
    let operator = runtime.block_on(operator(&server));
    for pod in &mut pods {
        pod.begin(&Burst {
            lasts_ms: Some(10_000),
            pause_ms: 5,
            body_ms: 20,
            ..Burst::of(Site::InFlight, 4)
        });
    }
    runtime.block_on(async {
        let mut beat = tokio::time::interval(Duration::from_millis(100));
        for flip in 0..100 {
            beat.tick().await;
            let position = if flip % 2 == 1 {
                Position::on()
            } else {
                Position::off()
            };
            let turned = operator.switch(&Scope::Everything, &position).await;
            assert!(turned.unwrap().known);
        }
    });
    let answers: Vec<_> = pods.iter_mut().flat_map(Pod::answers).collect();
    let longest = answers
        .iter()
        .map(|it| it.answered - it.arrived)
        .max()
        .unwrap();
    let longest = Duration::from_micros(longest);
    let bypassed: u64 = pods.iter_mut().map(|pod| pod.state().bypassed).sum();
    println!(
        "100 flips in 10 s: {} calls answered, {bypassed} of them past the switch, the longest {longest:?}",
        answers.len()
    );
    assert!(answers.iter().all(|answer| answer.error.is_none()));
    assert!(bypassed > 100 && answers.len() > 1_000);
    // A body takes 20 ms, and who is stranded waits for 45 s.
    assert!(longest < Duration::from_secs(5));
    for pod in &mut pods {
        assert_eq!(pod.state().in_flight, 0);
    }
}

/// For the one who turns the switch.
fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap()
}

async fn operator(server: &RedisServer) -> Coalescer {
    // Who turns it is patient: a machine that is busy with twelve pods is no trouble of Redis.
    let builder = Coalescer::builder().redis(server.url()).prefix("rig");
    let builder = builder
        .lease(Duration::from_secs(30))
        .operation_deadline(Duration::from_secs(5));
    builder.build().await.unwrap()
}
