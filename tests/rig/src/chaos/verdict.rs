//! The verdict: everything is healed, every answer is held against the ledger, and what is left behind is counted.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::time::{Duration, Instant};

use super::Plan;
use super::nemesis::Nemesis;
use super::report::Report;
use super::stage::{SITES, Stage, key};
use crate::checker::{Checker, Expectation, Findings, Standstills, takeovers};
use crate::leaks::{Leaks, Patience};
use crate::ledger::Run;
use crate::orders::{Answer, Burst, Site};

/// Two bodies, a lease that nobody gave back, a second to notice, and two deadlines, five times over.
const LONGEST: Duration = Duration::from_millis(40 + 3_000 + 1_000 + 5 * 500);

/// Longer than any call takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// Locks live for three seconds, and subscriptions linger for ten.
const LEFTOVERS: Patience = Patience {
    leases: Duration::from_secs(5),
    lingers: Duration::from_secs(15),
};

pub(super) fn of(mut stage: Stage, nemesis: &Nemesis, plan: &Plan) -> Report {
    let lost_calls = lost(&mut stage);
    let recovered_ms = recover(&mut stage);
    let stops = stage.stopped.iter().cloned();
    let stopped = stops.chain(stage.ledger.standstills()).collect();
    let runs = stage.ledger.runs();
    let found: Vec<_> = (0..SITES.len())
        .map(|place| find(&stage, &runs, &stopped, place))
        .collect();
    let expected = expectation(&stage, &stopped, 0);
    let takeovers = takeovers(&runs, &expected);
    let leaked = leaked(&mut stage);
    let sum = |of: fn(&Findings) -> usize| found.iter().map(|it| of(it) as u64).sum();
    let most = |of: fn(&Findings) -> u64| found.iter().map(of).max().unwrap_or(0);
    Report {
        seed: plan.seed,
        topology: plan.layout,
        faults: nemesis.done.clone(),
        calls: sum(|it| it.calls),
        executions: runs.len() as u64,
        explained_runs: sum(|it| it.explained),
        unexplained_runs: sum(|it| it.unexplained.len()),
        lost_calls,
        errors: sum(|it| it.errors.len()),
        wrong_values: sum(|it| it.wrong.len()),
        stale_reads: sum(|it| it.stale.len()),
        overlong_calls: sum(|it| it.overlong.len()),
        leaked_entries: leaked.entries,
        leaked_keys: leaked.keys,
        leaked_tasks: leaked.tasks,
        leaked_subscriptions: leaked.subscriptions,
        leaked_connections: leaked.connections,
        recovered_ms,
        max_added_ms: most(|it| it.added_ms),
        takeovers: takeovers.len() as u64,
        takeover_p50_ms: takeovers.get(takeovers.len() / 2).copied().unwrap_or(0),
        takeover_max_ms: takeovers.last().copied().unwrap_or(0),
        details: found.iter().flat_map(|it| details(it, nemesis)).collect(),
    }
}

/// Waits for the last answers: calls that have none are lost.
fn lost(stage: &mut Stage) -> u64 {
    let end = Instant::now() + PATIENCE;
    let mut lost = 0;
    for player in &mut stage.pods {
        let mut all = true;
        for _ in SITES {
            let left = end.saturating_duration_since(Instant::now());
            all &= player.pod.tally_within(left).is_some();
        }
        if !all {
            let there = player.pod.state();
            lost += there.begun - there.answered;
        }
    }
    lost
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

fn expectation<'a>(stage: &'a Stage, stopped: &'a Standstills, place: usize) -> Expectation<'a> {
    Expectation {
        longest: LONGEST,
        trouble: &stage.trouble,
        killed: &stage.killed,
        stopped,
        age: Duration::from_secs([0, 1][place]),
        switched: false,
    }
}

fn find(stage: &Stage, runs: &[Run], stopped: &Standstills, place: usize) -> Findings {
    let of_site = |run: &&Run| run.key.starts_with(&key(place, 0)[..2]);
    let runs: Vec<_> = runs.iter().filter(of_site).cloned().collect();
    let mut checker = Checker::new(&runs, expectation(stage, stopped, place));
    for (_, _, file) in stage.files.iter().filter(|(_, of, _)| *of == place) {
        // Who was killed at once has written nothing.
        let Ok(file) = File::open(file) else { continue };
        for line in BufReader::new(file).lines() {
            let line = line.expect("a line of an answer");
            // The last line of who was killed may be cut off.
            if let Ok(answer) = serde_json::from_str::<Answer>(&line) {
                checker.take(&answer);
            }
        }
    }
    checker.findings()
}

/// What must not be, in words: the first of each kind.
fn details(found: &Findings, nemesis: &Nemesis) -> Vec<String> {
    let answers = [&found.errors, &found.wrong, &found.stale];
    let answers = answers.into_iter().filter_map(|list| list.first());
    let mut details: Vec<_> = answers.map(|answer| format!("{answer:?}")).collect();
    details.extend(found.overlong.first().cloned());
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
