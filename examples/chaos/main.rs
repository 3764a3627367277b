//! Chaos: processes call all the time while everything around them breaks, and every answer is checked.

mod options;
mod show;

use std::process::ExitCode;

use clap::Parser as _;
use coalesce_rig::chaos;

use options::Options;
use show::Show;

/// A promise was broken.
const BROKEN: u8 = 1;

/// Tells this program, started once more, that it is a pod.
const POD: &str = "COALESCE_CHAOS_POD";

fn main() -> ExitCode {
    if std::env::var_os(POD).is_some() {
        return be_a_pod();
    }
    let options = Options::parse();
    let show = Show::of(&options);
    let report = chaos::run(&options.plan(POD), |progress| show.look(progress));
    show.end();
    let broken = report.broken();
    if options.json {
        show::say_json(&report);
    } else {
        show::say_table(&report);
    }
    for what in &broken {
        show::complain(format_args!("Broken promise: {what}"));
    }
    for detail in &report.details {
        show::complain(detail);
    }
    if broken.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(BROKEN)
    }
}

fn be_a_pod() -> ExitCode {
    match tokio::runtime::Runtime::new() {
        Ok(runtime) => {
            runtime.block_on(coalesce_rig::serve());
            ExitCode::SUCCESS
        }
        Err(error) => {
            show::complain(error);
            ExitCode::FAILURE
        }
    }
}
