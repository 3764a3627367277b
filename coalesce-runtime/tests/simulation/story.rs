//! The story of a scenario, for whoever has to find out what went wrong.

use std::fmt::Write as _;

use crate::checker::Wrong;
use crate::hub::Hub;
use crate::ledger::At;
use crate::scenario::Scenario;

/// Everything that happened, in its order.
pub fn story(scenario: &Scenario, hub: &Hub, wrongs: &[Wrong]) -> String {
    let mut text = format!(
        "seed {}: {:?}, {} pods, lease {:?}\n",
        scenario.seed, scenario.climate, scenario.pods, scenario.lease
    );
    for (key, plan) in scenario.keys.iter().enumerate() {
        let bodies: Vec<_> = plan
            .bodies
            .iter()
            .map(|body| (body.takes.as_millis(), body.ends))
            .collect();
        writeln!(
            text,
            "key {key}: {:?} {:?} {bodies:?}",
            plan.terms(),
            plan.style
        )
        .unwrap();
    }
    writeln!(text, "{:?}", scenario.weather).unwrap();
    for (at, line) in lines(hub) {
        writeln!(text, "{:>9}.{:03} {line}", at / 1_000, at % 1_000).unwrap();
    }
    for (promise, sentence) in wrongs {
        writeln!(text, "BROKEN {promise}: {sentence}").unwrap();
    }
    text
}

/// What happened, whoever of the callers in one pod brought the bodies.
pub fn plot(hub: &Hub) -> Vec<String> {
    let (ledger, server) = (hub.ledger(), hub.server());
    let runs = ledger.runs.iter();
    let runs = runs.map(|run| {
        format!(
            "{} {} {} {:?} {:?}",
            run.key, run.pod, run.started.at, run.ended, run.how
        )
    });
    let locks = server.grants.iter();
    let locks =
        locks.map(|grant| format!("{} {} {} {:?}", grant.key, grant.pod, grant.at, grant.ended));
    let faults = ledger
        .faults
        .iter()
        .map(|fault| format!("{} {:?} {:?}", fault.from, fault.what, fault.told));
    let mut plot: Vec<_> = runs.chain(locks).chain(faults).collect();
    plot.sort();
    plot
}

fn lines(hub: &Hub) -> Vec<(At, String)> {
    let (ledger, server) = (hub.ledger(), hub.server());
    let mut lines = Vec::new();
    for (number, call) in ledger.calls.iter().enumerate() {
        let who = format!("call {number} of key {} in pod {}", call.key, call.pod);
        lines.push((call.arrived.at, format!("{who} arrives, {:?}", call.style)));
        if let (Some(answered), Some(outcome)) = (call.answered, &call.outcome) {
            lines.push((answered.at, format!("{who}: {outcome:?}")));
        }
    }
    for (nonce, run) in ledger.runs.iter().enumerate() {
        let which = format!("run {nonce} of key {} in pod {}", run.key, run.pod);
        lines.push((
            run.started.at,
            format!("{which} begins for call {:?}", run.call),
        ));
        if let Some(ended) = run.ended {
            lines.push((ended, format!("{which} ends: {:?}", run.how)));
        }
    }
    for change in &ledger.changes {
        let what = format!(
            "{:?} of key {} by pod {}",
            change.what, change.key, change.pod
        );
        lines.push((change.asked.at, format!("{what} is asked for")));
        if let Some(answered) = change.answered {
            lines.push((
                answered.at,
                format!("{what} is answered, {}", change.succeeded),
            ));
        }
    }
    for fault in &ledger.faults {
        lines.push((
            fault.from,
            format!(
                "fault until {}: {} pod {:?} key {:?}, told {:?}",
                fault.to, fault.what, fault.pod, fault.key, fault.told
            ),
        ));
    }
    for (pod, at) in &ledger.deaths {
        lines.push((*at, format!("pod {pod} dies")));
    }
    for (number, grant) in server.grants.iter().enumerate() {
        lines.push((
            grant.at,
            format!(
                "lock {number} of key {} is granted to pod {}",
                grant.key, grant.pod
            ),
        ));
        if let Some((at, how)) = grant.ended {
            lines.push((
                at,
                format!("lock {number} of key {} ends: {how:?}", grant.key),
            ));
        }
    }
    for write in &server.writes {
        let visible = write.visible.map(|visible| {
            (
                visible.status,
                server.grant_of(visible.token),
                visible.computed_at,
            )
        });
        lines.push((
            write.at,
            format!("state of key {} by {}: {visible:?}", write.key, write.why),
        ));
    }
    lines.sort_by_key(|(at, _)| *at);
    lines
}
