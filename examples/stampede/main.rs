//! The stampede: many processes call one annotated function at once, without coalescing and with it.

mod counted;
mod directory;
mod figures;
mod fleet;
mod ledger;
mod monitor;
mod options;
mod pod;
mod run;
mod server;
mod shop;
mod show;
mod watch;
mod wire;

use std::process::ExitCode;

use clap::Parser as _;
use coalesce::Coalescer;

use directory::Directory;
use figures::Figures;
use options::Options;
use run::Stage;
use server::Server;
use show::Progress;
use wire::{Failure, Plan};

/// A promise was broken.
const BROKEN: u8 = 1;
/// The demo could not be shown; clap ends with the same when it does not like the options.
const NOT_SHOWN: u8 = 2;
/// What a shell expects of a program that was interrupted.
const INTERRUPTED: u8 = 130;

const NO_PROCESSES: &str = "--kill needs pods that are processes, and so a Redis: \
                            install redis-server or set COALESCE_REDIS_URL";

#[tokio::main]
async fn main() -> ExitCode {
    let options = Options::parse();
    let ended = match &options.pod {
        Some(plan) => be_a_pod(plan).await,
        None => demo(options).await,
    };
    ended.unwrap_or_else(|error| {
        show::complain(error);
        ExitCode::from(NOT_SHOWN)
    })
}

async fn be_a_pod(plan: &str) -> Result<ExitCode, Failure> {
    let plan: Plan = serde_json::from_str(plan)?;
    // Redis comes with the environment, as it does for a service.
    let builder = Coalescer::builder().prefix(&plan.prefix);
    pod::serve(plan, builder, tokio::io::stdin(), tokio::io::stdout()).await?;
    Ok(ExitCode::SUCCESS)
}

async fn demo(options: Options) -> Result<ExitCode, Failure> {
    if let Some(refusal) = options.refusal() {
        return Err(refusal.into());
    }
    // Whatever is running then goes with what is dropped: pods, server and directory.
    tokio::select! {
        ended = play(options) => ended,
        signal = interrupted() => signal.map(|()| ExitCode::from(INTERRUPTED)),
    }
}

async fn play(options: Options) -> Result<ExitCode, Failure> {
    let directory = Directory::make()?;
    let server = if options.memory {
        None
    } else {
        Server::find(directory.path()).await?
    };
    show::say(&options, show::backend(&options, server.as_ref()));
    if options.kill && server.is_none() {
        return Err(NO_PROCESSES.into());
    }
    let stage = Stage {
        options,
        server,
        directory,
    };
    let before = stage
        .run(false, &Progress::of(&stage.options, "without coalescing"))
        .await?;
    let after = stage
        .run(true, &Progress::of(&stage.options, "with coalescing"))
        .await?;
    conclude(&stage.options, &before, &after)
}

fn conclude(options: &Options, before: &Figures, after: &Figures) -> Result<ExitCode, Failure> {
    if options.json {
        show::say_json(before, after)?;
    } else {
        show::say_table(options, before, after);
    }
    let without = before.broken_without(options);
    let broken = without
        .iter()
        .map(|what| format!("Broken without coalescing: {what}"));
    let with = after.broken_with(options);
    let broken: Vec<_> = broken
        .chain(with.iter().map(|what| format!("Broken promise: {what}")))
        .collect();
    for line in &broken {
        show::complain(line);
    }
    Ok(if broken.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(BROKEN)
    })
}

/// Ctrl-C, or the signal that process managers send.
async fn interrupted() -> Result<(), Failure> {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let mut terminate = signal(SignalKind::terminate())?;
        tokio::select! {
            interrupt = tokio::signal::ctrl_c() => interrupt?,
            _ = terminate.recv() => {}
        }
    }
    #[cfg(not(unix))]
    tokio::signal::ctrl_c().await?;
    Ok(())
}
