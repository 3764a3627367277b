//! Leaders that die, stop or take too long, in real processes.

use std::time::{Duration, Instant};

use coalesce_rig::{Answer, Burst, Ledger, Pod, RedisServer, Site, fleet};

const POD: &str = env!("CARGO_BIN_EXE_pod");

/// Begins `burst` on every pod and waits for the first run to start; the place of the leading pod.
fn begin(pods: &mut [Pod], ledger: &Ledger, burst: &Burst) -> usize {
    for pod in &mut *pods {
        pod.begin(burst);
    }
    let end = Instant::now() + Duration::from_secs(20);
    while ledger.runs().is_empty() {
        assert!(Instant::now() < end, "no body has started");
        std::thread::yield_now();
    }
    let leader = ledger.runs()[0]
        .name
        .split('.')
        .next()
        .unwrap_or_default()
        .parse();
    pods.iter()
        .position(|pod| Ok(pod.pid()) == leader)
        .expect("the leading pod")
}

#[test]
fn a_killed_leader_is_replaced_by_a_follower_that_was_waiting() {
    let (server, ledger) = (RedisServer::start(), Ledger::default());
    let mut pods = fleet(POD, 4, &server, &ledger);
    // Unrelated keys that expire must not delay the takeover.
    for key in 0..2_000 {
        server.command(&["SET", &format!("unrelated:{key}"), "x", "PX", "600000"]);
    }
    let leader = begin(
        &mut pods,
        &ledger,
        &Burst {
            body_ms: 400,
            ..Burst::of(Site::Fresh, 10)
        },
    );
    pods.remove(leader).kill();
    let killed = Instant::now();
    let answers: Vec<Answer> = pods.iter_mut().flat_map(Pod::answers).collect();
    // lease 3 s + 1 s + body, and slack for a busy machine.
    assert!(
        killed.elapsed() < Duration::from_millis(4_400 + 2_000),
        "{:?}",
        killed.elapsed()
    );
    let runs = ledger.runs();
    assert_eq!((answers.len(), runs.len()), (30, 2));
    assert!(
        answers
            .iter()
            .all(|answer| answer.run.as_ref() == Some(&runs[1].name)),
        "{answers:?}"
    );
    let takeovers: u64 = pods.iter_mut().map(|pod| pod.state().takeovers).sum();
    assert_eq!(takeovers, 1);
    assert_eq!(server.immortal_keys(), Vec::<String>::new());
}

#[test]
fn a_leader_stopped_past_its_lease_is_replaced_and_its_late_outcome_refused() {
    let (server, ledger) = (RedisServer::start(), Ledger::default());
    let mut pods = fleet(POD, 3, &server, &ledger);
    let leader = begin(
        &mut pods,
        &ledger,
        &Burst {
            body_ms: 300,
            ..Burst::of(Site::Fresh, 5)
        },
    );
    pods[leader].signal("STOP");
    let mut answers = Vec::new();
    for (place, pod) in pods.iter_mut().enumerate() {
        if place != leader {
            answers.extend(pod.answers());
        }
    }
    let runs = ledger.runs();
    assert_eq!(runs.len(), 2);
    assert!(
        answers
            .iter()
            .all(|answer| answer.run.as_ref() == Some(&runs[1].name))
    );
    pods[leader].signal("CONT");
    let late = pods[leader].answers();
    let own = late
        .iter()
        .filter(|answer| answer.run.as_ref() == Some(&runs[0].name))
        .count();
    assert!(own >= 1, "its own caller gets its own value: {late:?}");
    // The late FINISH was refused: everybody is served the second value.
    pods[leader].begin(&Burst::of(Site::Fresh, 5));
    let served = pods[leader].answers();
    assert!(
        served
            .iter()
            .all(|answer| answer.run.as_ref() == Some(&runs[1].name)),
        "{served:?}"
    );
    assert_eq!(ledger.runs().len(), 2);
}

#[test]
fn a_leader_slower_than_its_lease_is_not_doubled() {
    let (server, ledger) = (RedisServer::start(), Ledger::default());
    let mut pods = fleet(POD, 3, &server, &ledger);
    begin(
        &mut pods,
        &ledger,
        &Burst {
            body_ms: 7_000,
            ..Burst::of(Site::InFlight, 5)
        },
    );
    let answers: Vec<Answer> = pods.iter_mut().flat_map(Pod::answers).collect();
    assert_eq!((answers.len(), ledger.runs().len()), (15, 1));
}

#[test]
fn a_body_that_outlives_pending_is_taken_over_once_at_a_time() {
    let (server, ledger) = (RedisServer::start(), Ledger::default());
    let mut pods = fleet(POD, 3, &server, &ledger);
    // Pending is 2 s, the wait 5 s: two more leaders may start before the last follower gives up.
    begin(
        &mut pods,
        &ledger,
        &Burst {
            body_ms: 20_000,
            ..Burst::of(Site::Short, 5)
        },
    );
    let begun = Instant::now();
    let end = Duration::from_secs(5 + 1 + 20);
    let answers: Vec<Answer> = pods.iter_mut().flat_map(Pod::answers).collect();
    assert!(
        begun.elapsed() < end + Duration::from_secs(10),
        "{:?}",
        begun.elapsed()
    );
    let timed_out = answers.iter().filter(|answer| {
        answer
            .error
            .as_deref()
            .is_some_and(|text| text.contains("wait timeout"))
    });
    let timed_out: Vec<_> = timed_out
        .map(|answer| (answer.answered - answer.arrived) / 1000)
        .collect();
    assert!(
        timed_out
            .iter()
            .all(|waited| (5_000..6_000 + 2_000).contains(waited)),
        "{timed_out:?}"
    );
    assert_eq!(
        timed_out.len() + ledger.runs().len(),
        15,
        "everybody else ran the body"
    );
    assert!(
        (2..=3).contains(&ledger.runs().len()),
        "{} runs",
        ledger.runs().len()
    );
}

#[test]
fn a_pod_that_shuts_down_leaves_no_lease_behind() {
    let (server, ledger) = (RedisServer::start(), Ledger::default());
    let mut pods = fleet(POD, 2, &server, &ledger);
    begin(
        &mut pods,
        &ledger,
        &Burst {
            body_ms: 200,
            ..Burst::of(Site::InFlight, 5)
        },
    );
    for mut pod in pods {
        assert_eq!(pod.answers().len(), 5);
        pod.shut_down();
    }
    let left = server.command(&["KEYS", "*:lock:*"]).list();
    assert_eq!(left, []);
    assert_eq!(server.channels(), 0);
}
