//! Followers reach their `wait_timeout` while Redis is in trouble, and are answered all the same.

use std::time::Duration;

use coalesce_rig::{
    Answer, Burst, Ledger, Mode, Pod, Proxy, RedisServer, Site, Way, eventually, now_micros,
};

use crate::scene::{BESIDE_BODIES, LINGER, MS, POD, Scene, meanwhile};

const PODS: usize = 3;

/// In each pod, of each function.
const CALLERS: usize = 5;

/// The `wait_timeout` of both functions. A process that follows has given Redis up before: after a poll and two deadlines.
const WAIT: (&str, Duration) = ("RIG_WAIT", Duration::from_secs(3));

/// It has to be shorter. At its end the callers who wait beside the leader ask again, and others do who hear nothing.
const PENDING: (&str, &str) = ("RIG_PENDING", "2s");

/// P4: a second more, and two for a busy machine.
const LONGEST_WAIT: Duration = Duration::from_secs(3 + 1 + 2);

/// Callers come before, at and behind the fault.
const GAP_MS: u64 = 150;

/// No body ends before the last follower must have been answered.
const BODY_MS: u64 = 6_000;

/// What is done to Redis, for as long as anybody waits.
#[derive(Clone, Copy, Debug)]
enum Trouble {
    Hangs,
    Dies,
    Swallows(Way),
    /// Subscribers are killed again and again, and questions are answered.
    Deafens,
}

/// How the calls of one function ended.
#[derive(Debug, PartialEq, Eq)]
struct Ends {
    values: usize,
    timeouts: usize,
    unavailable: usize,
}

impl Ends {
    fn of(key: &str, answers: &[Answer]) -> Self {
        let answers = answers.iter().filter(|answer| answer.key == key);
        let says = |text: &str| {
            let errors = answers.clone().filter_map(|answer| answer.error.as_ref());
            errors.filter(|error| error.contains(text)).count()
        };
        Self {
            values: answers.clone().filter(|it| it.run.is_some()).count(),
            timeouts: says("within the wait timeout of 3s"),
            unavailable: says("is unavailable"),
        }
    }
}

/// Rows 8, 11, 15 and 17, of P4. Each trouble has a server and a fleet of its own, and they are played side by side:
/// each takes as long as a body.
#[test]
fn a_follower_waits_no_longer_than_it_may_whatever_redis_does_meanwhile() {
    let swallows = [Way::Up, Way::Down, Way::Both].map(Trouble::Swallows);
    let others = [Trouble::Hangs, Trouble::Dies, Trouble::Deafens];
    std::thread::scope(|scope| {
        for trouble in swallows.into_iter().chain(others) {
            scope.spawn(move || play(trouble));
        }
    });
}

fn play(trouble: Trouble) {
    let mut scene = scene();
    let counted = (0..5).any(|_| calls_end_in_time(&mut scene, trouble));
    assert!(counted, "{trouble:?}: the machine was always too busy");
    // A body that outlives its lock is doubled, and how often has been said.
    scene.pending = Duration::from_secs(2);
    scene.ends_well(BESIDE_BODIES);
}

/// Whether how they ended could be counted: not where a machine was too busy for a deadline, before the trouble or in
/// one that leaves questions their answers.
fn calls_end_in_time(scene: &mut Scene, trouble: Trouble) -> bool {
    let hears = matches!(trouble, Trouble::Deafens);
    eventually("runs are shared", || {
        scene.runs_of_a_burst(Site::InFlight) == 1
    });
    let began = now_micros();
    let keys @ [patient, strict] = &[scene.new_key(), scene.new_key()];
    begin(scene, Site::Patient, patient);
    begin(scene, Site::Strict, strict);
    let runs = |scene: &Scene| keys.each_ref().map(|key| scene.runs_of(key));
    eventually("both bodies run", || {
        !runs(scene).contains(&0) || scene.asked_in_vain(began..u64::MAX)
    });
    meanwhile(300 * MS);
    let mut calm_until = now_micros();
    hurt(scene, trouble);
    // A pod says those of one function as soon as it has all of them.
    let pods = scene.pods.iter_mut();
    let answers: Vec<_> = pods
        .flat_map(|pod| [pod.answers(), pod.answers()].concat())
        .collect();
    heal(scene, trouble);
    let found = [patient, strict].map(|key| Ends::of(key, &answers));
    let took = |answer: &Answer| Duration::from_micros(answer.answered - answer.arrived);
    let told = answers.iter().filter(|answer| answer.error.is_some());
    let longest = told.map(took).max();
    let runs = runs(scene);
    println!("{trouble:?}: {found:?}, {runs:?} runs, the longest wait took {longest:?}");
    assert!(longest <= Some(LONGEST_WAIT), "{trouble:?}: {longest:?}");
    let values = answers.into_iter().filter(|answer| answer.error.is_none());
    scene.answers.extend(values);
    if hears {
        calm_until = now_micros();
    }
    scene.recovers();
    if scene.asked_in_vain(began..calm_until) || stood_still(scene, began) {
        return false;
    }
    // Who cannot ask runs the body once in each process, and once more where that has outlived its time while somebody
    // still waited; who can leads behind it. Of the other function everybody is told of it.
    let all = PODS * CALLERS;
    let (most, of_strict, unavailable) = if hears {
        (2..=2, 2, 0)
    } else {
        (PODS + 1..=2 * PODS, 1, all - 1)
    };
    let ends = |ran, unavailable| Ends {
        values: ran,
        timeouts: all - ran - unavailable,
        unavailable,
    };
    let expected = [ends(runs[0], 0), ends(of_strict, unavailable)];
    assert_eq!((found, runs[1]), (expected, of_strict), "{trouble:?}");
    assert!(most.contains(&runs[0]), "{trouble:?}: {runs:?} runs");
    true
}

/// Whether a process stood still since then for so long that others are late.
fn stood_still(scene: &Scene, since: u64) -> bool {
    let stood = scene.ledger.standstills();
    let late = |span: &std::ops::RangeInclusive<u64>| {
        *span.end() > since && span.end() - span.start() > 300_000
    };
    stood.iter().any(|(_, span)| late(span))
}

fn scene() -> Scene {
    let (server, ledger) = (RedisServer::start(), Ledger::default());
    let proxy = Proxy::before(server.port());
    let wait = format!("{}s", WAIT.1.as_secs());
    let environment = [LINGER, PENDING, (WAIT.0, &*wait)];
    let pod = || Pod::start(POD, &proxy.url(), &ledger, &environment);
    let pods = (0..PODS).map(|_| pod()).collect();
    Scene::of(server, Some(proxy), ledger, pods)
}

fn begin(scene: &mut Scene, site: Site, key: &str) {
    scene.begin(&Burst {
        keys: vec![key.to_owned()],
        gap_ms: GAP_MS,
        body_ms: BODY_MS,
        ..Burst::of(site, CALLERS)
    });
}

fn hurt(scene: &mut Scene, trouble: Trouble) {
    scene.trouble();
    match trouble {
        Trouble::Hangs => scene.server.freeze(),
        Trouble::Dies => scene.server.kill(),
        // The proxy counts what it is told.
        Trouble::Swallows(way) => return scene.proxy().set(Mode::Swallow(way)),
        Trouble::Deafens => {
            for _ in 0..30 {
                let killed = scene.server.command(&["CLIENT", "KILL", "TYPE", "pubsub"]);
                scene.faults((killed.number() > 0).into());
                meanwhile(100 * MS);
            }
            return;
        }
    }
    scene.faults(1);
}

fn heal(scene: &mut Scene, trouble: Trouble) {
    match trouble {
        Trouble::Hangs => scene.server.go_on(),
        Trouble::Dies => scene.server.restart(),
        Trouble::Swallows(_) => scene.proxy().set(Mode::Pass),
        Trouble::Deafens => {}
    }
}
