//! Connections that are cut, messages that are lost, and a Redis full of other people's keys.

use std::time::{Duration, Instant};

use coalesce_rig::{Answer, Burst, Ledger, Pod, RedisServer, Site, fleet};

const POD: &str = env!("CARGO_BIN_EXE_pod");

/// Waits until something holds. There is a limit, and reaching it is a failure.
fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(20);
    while !holds() {
        assert!(Instant::now() < end, "in vain: {what}");
        std::thread::yield_now();
    }
}

fn listened(server: &RedisServer) -> usize {
    let asked = ["PUBSUB", "CHANNELS", "*:notify:{*"];
    server.command(&asked).list().len()
}

fn assert_one_run(ledger: &Ledger, answers: &[Answer], count: usize) {
    let runs = ledger.runs();
    assert_eq!((answers.len(), runs.len()), (count, 1));
    for answer in answers {
        assert_eq!(answer.run.as_ref(), Some(&runs[0].name), "{answer:?}");
    }
}

/// D9.
#[test]
fn connections_killed_during_a_flight_start_no_second_run() {
    let (server, ledger) = (RedisServer::start(), Ledger::default());
    let mut pods = fleet(POD, 4, &server, &ledger);
    let burst = Burst {
        body_ms: 5_000,
        ..Burst::of(Site::InFlight, 5)
    };
    for pod in &mut pods {
        pod.begin(&burst);
    }
    // A process that knows of no leader yet would run the body for itself.
    eventually("three pods follow", || {
        let listening = pods.iter_mut().map(|pod| pod.state().subscriptions);
        listening.sum::<usize>() == 3
    });
    for _ in 0..3 {
        let kill = |kind| server.command(&["CLIENT", "KILL", "TYPE", kind]).number();
        assert!(kill("normal") + kill("pubsub") >= 4 * 2);
        eventually("every pod is back", || {
            let clients = server.command(&["CLIENT", "LIST"]).text();
            clients.lines().count() == 4 * 3 + 1 && listened(&server) == 1
        });
    }
    assert!(ledger.runs()[0].ended.is_none(), "it came too late");
    let answers: Vec<_> = pods.iter_mut().flat_map(Pod::answers).collect();
    assert_one_run(&ledger, &answers, 20);
}

/// J-I11, P9.
#[test]
fn followers_get_their_outcome_when_every_message_is_lost() {
    let (server, ledger) = (RedisServer::start(), Ledger::default());
    let mut pods = fleet(POD, 4, &server, &ledger);
    server.command(&["ACL", "SETUSER", "default", "resetchannels"]);
    let begun = Instant::now();
    let burst = Burst {
        body_ms: 1_000,
        ..Burst::of(Site::InFlight, 2)
    };
    for pod in &mut pods {
        pod.begin(&burst);
    }
    let answers: Vec<_> = pods.iter_mut().flat_map(Pod::answers).collect();
    assert_one_run(&ledger, &answers, 8);
    assert!(
        begun.elapsed() < Duration::from_secs(3 + 1),
        "{:?}",
        begun.elapsed()
    );
    assert_eq!(listened(&server), 0);
}

/// D12: expiries of keys come late on a Redis that has many of them, and no takeover may wait for one.
#[test]
fn a_takeover_waits_for_no_expiry_among_twenty_thousand_others() {
    let (server, ledger) = (RedisServer::start(), Ledger::default());
    let fill =
        "for i = 1, 20000 do redis.call('SET', 'unrelated:' .. i, 'x', 'PX', 600000 + i) end";
    server.command(&["EVAL", fill, "0"]);
    assert_eq!(server.command(&["DBSIZE"]).number(), 20_000);
    let mut pods = fleet(POD, 4, &server, &ledger);
    let burst = Burst {
        body_ms: 10_000,
        ..Burst::of(Site::InFlight, 5)
    };
    pods[0].begin(&burst);
    eventually("the body runs", || ledger.runs().len() == 1);
    for pod in &mut pods[1..] {
        pod.begin(&Burst {
            body_ms: 50,
            ..burst.clone()
        });
    }
    eventually("followers listen", || listened(&server) == 1);
    pods[0].kill();
    let killed = Instant::now();
    let answers: Vec<_> = pods[1..].iter_mut().flat_map(Pod::answers).collect();
    // The lease of 3 s, at most 50 ms behind it, the body, and slack for a busy machine.
    let waited = killed.elapsed();
    assert!(waited < Duration::from_millis(3_100 + 2_000), "{waited:?}");
    let runs = ledger.runs();
    assert_eq!((answers.len(), runs.len()), (15, 2));
    for answer in &answers {
        assert_eq!(answer.run.as_ref(), Some(&runs[1].name), "{answer:?}");
    }
}
