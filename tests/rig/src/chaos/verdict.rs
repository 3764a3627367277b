//! The verdict: everything is healed, every answer is held against the ledger, and what is left behind is counted.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::BufReader;
use std::time::{Duration, Instant};

use super::Plan;
use super::nemesis::Nemesis;
use super::report::Report;
use super::stage::{PENDING, Player, SITES, Stage, key};
use super::written::Written;
use crate::checker::{Checker, Expectation, Findings, Moments, Periods, Reason, busy_times};
use crate::leaks::{Leaks, Patience};
use crate::ledger::Run;
use crate::orders::{Burst, Site};

/// Two bodies, a lease that nobody gave back, a second to notice, and two deadlines, five times over.
const LONGEST: Duration = Duration::from_millis(40 + 3_000 + 1_000 + 5 * 500);

/// What a body adds that does not end when it should.
const ENDLESS: Duration = Duration::from_secs(5);

/// Longer than any call takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// Locks live for three seconds, and subscriptions linger for ten.
const LEFTOVERS: Patience = Patience {
    leases: Duration::from_secs(5),
    lingers: Duration::from_secs(15),
};

pub(super) fn of(mut stage: Stage, nemesis: &Nemesis, plan: &Plan) -> Report {
    let begun = begun(&mut stage);
    let recovered_ms = recover(&mut stage);
    let told = stage.ledger.standstills();
    let busy = busy_times(&told, &stage.stopped);
    let stopped = stage.stopped.iter().cloned().chain(told).collect();
    let in_vain = stage.ledger.in_vain().into_iter().collect();
    let departures = stage.ledger.departures().into_iter().collect();
    let runs = stage.ledger.runs();
    let mut written = HashMap::new();
    let found: Vec<_> = (0..SITES.len())
        .map(|place| {
            let expected = Expectation {
                busy: &busy,
                stopped: &stopped,
                in_vain: &in_vain,
                departures: &departures,
                ..expectation(&stage, place)
            };
            find(&stage, &runs, &expected, place, &mut written)
        })
        .collect();
    let takeovers = found.iter().flat_map(|it| it.takeovers.clone());
    let mut takeovers: Vec<_> = takeovers.collect();
    takeovers.sort_unstable();
    let explained_by = explained_by(&found);
    let leaked = leaked(&mut stage);
    let sum = |of: fn(&Findings) -> usize| found.iter().map(|it| of(it) as u64).sum();
    let most = |of: fn(&Findings) -> u64| found.iter().map(of).max().unwrap_or(0);
    Report {
        seed: plan.seed,
        topology: plan.layout,
        faults: nemesis.done.clone(),
        calls: sum(|it| it.calls),
        executions: runs.len() as u64,
        bypassed_runs: sum(|it| it.bypasses),
        departed_calls: sum(|it| it.departed),
        panicked_calls: sum(|it| it.panicked),
        explained_runs: explained_by.values().sum(),
        explained_by,
        calm_runs: sum(|it| it.calm),
        strict_runs: sum(|it| it.strict),
        unexplained_runs: sum(|it| it.unexplained.len()),
        lost_calls: lost(&begun, &written),
        errors: sum(|it| it.errors.len()),
        wrong_values: sum(|it| it.wrong.len()),
        stale_reads: sum(|it| it.stale.len()),
        passed_over: sum(|it| it.passed_over.len()),
        overlong_calls: sum(|it| it.overlong.len()),
        leaked_entries: leaked.entries,
        leaked_keys: leaked.keys,
        leaked_tasks: leaked.tasks,
        leaked_subscriptions: leaked.subscriptions,
        leaked_connections: leaked.connections,
        recovered_ms,
        max_added_ms: most(|it| it.added_ms),
        missed_leaders: sum(|it| it.missed),
        takeovers: takeovers.len() as u64,
        takeover_p50_ms: takeovers.get(takeovers.len() / 2).copied().unwrap_or(0),
        takeover_max_ms: takeovers.last().copied().unwrap_or(0),
        details: found.iter().flat_map(|it| details(it, nemesis)).collect(),
    }
}

fn explained_by(found: &[Findings]) -> BTreeMap<Reason, u64> {
    let mut sum = BTreeMap::new();
    for (reason, count) in found.iter().flat_map(|it| &it.explained) {
        *sum.entry(*reason).or_default() += *count;
    }
    sum
}

/// Waits for the last answers: how many calls each process has begun.
fn begun(stage: &mut Stage) -> HashMap<u32, u64> {
    let end = Instant::now() + PATIENCE;
    let of_player = |player: &mut Player| {
        for _ in SITES {
            let left = end.saturating_duration_since(Instant::now());
            // Who has no patience left counts what is there.
            let _ = player.pod.tally_within(left);
        }
        (player.pod.pid(), player.pod.state().begun)
    };
    let living: HashMap<_, _> = stage.pods.iter_mut().map(of_player).collect();
    living.into_iter().chain(stage.ended.clone()).collect()
}

/// Calls of which no answer can be read.
fn lost(begun: &HashMap<u32, u64>, written: &HashMap<u32, Written>) -> u64 {
    let of_process = |(pid, written): (&u32, &Written)| match begun.get(pid) {
        Some(begun) => begun.saturating_sub(written.answers),
        // It was killed.
        None => written.torn,
    };
    written.iter().map(of_process).sum()
}

/// All processes share a run again: after how many milliseconds.
fn recover(stage: &mut Stage) -> u64 {
    let (healed, mut tries) = (Instant::now(), 0);
    loop {
        let key = format!("recovery-{tries}");
        let burst = Burst {
            keys: vec![key.clone()],
            body_ms: 50,
            ..Burst::of(Site::InFlight, 3)
        };
        for player in &mut stage.pods {
            player.pod.begin(&burst);
        }
        for player in &mut stage.pods {
            player.pod.answers();
        }
        let runs = stage.ledger.runs();
        let shared = runs.iter().filter(|run| run.key == key).count() == 1;
        if shared || healed.elapsed() > PATIENCE {
            return u64::try_from(healed.elapsed().as_millis()).unwrap_or(u64::MAX);
        }
        tries += 1;
    }
}

fn expectation(stage: &Stage, place: usize) -> Expectation<'_> {
    let longest = LONGEST + [Duration::ZERO, Duration::ZERO, ENDLESS][place];
    Expectation {
        longest,
        trouble: &stage.trouble,
        aftermath: &stage.aftermath,
        busy: &[],
        killed: &stage.killed,
        stopped: Periods::NONE,
        in_vain: Moments::NONE,
        age: Duration::from_secs([0, 1, 0][place]),
        passing: &[],
        pending: PENDING[place],
        switched: &stage.switched,
        ending: &stage.ending,
        departures: Periods::NONE,
    }
}

fn find(
    stage: &Stage,
    runs: &[Run],
    expected: &Expectation<'_>,
    place: usize,
    written: &mut HashMap<u32, Written>,
) -> Findings {
    let of_site = |run: &&Run| run.key.starts_with(&key(place, 0)[..2]);
    let runs: Vec<_> = runs.iter().filter(of_site).cloned().collect();
    let mut checker = Checker::new(&runs, *expected);
    for (pid, _, file) in stage.files.iter().filter(|(_, of, _)| *of == place) {
        let of_process = written.entry(*pid).or_default();
        // Who was killed at once has written nothing.
        let Ok(file) = File::open(file) else { continue };
        of_process.read(BufReader::new(file), |answer| checker.take(answer));
    }
    checker.findings()
}

/// What must not be, in words: the first of each kind.
fn details(found: &Findings, nemesis: &Nemesis) -> Vec<String> {
    let answers = [&found.errors, &found.wrong, &found.stale];
    let answers = answers.into_iter().filter_map(|list| list.first());
    let mut details: Vec<_> = answers.map(|answer| format!("{answer:?}")).collect();
    details.extend(found.overlong.first().cloned());
    details.extend(found.passed_over.first().cloned());
    let unexplained = found.unexplained.iter().step_by(50);
    details.extend(unexplained.map(|(earlier, run)| {
        format!("{earlier:?} {run:?} behind {}", nemesis.before(run.started))
    }));
    details
}

/// What is left, once it has had the time to go.
fn leaked(stage: &mut Stage) -> Leaks {
    let states = || {
        let players = stage.pods.iter_mut();
        players.map(|player| player.pod.state()).collect()
    };
    Leaks::of(stage.servers.topology(), stage.tasks, LEFTOVERS, states)
}
