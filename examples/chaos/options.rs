//! The options of the chaos.

use std::time::Duration;

use clap::{Parser, ValueEnum};
use coalesce_rig::chaos::{Layout, Plan};

/// Processes call annotated functions all the time while a nemesis kills, stops and cuts what is around them.
///
/// Every answer is held against a ledger outside Redis. Servers are private, on loopback, and end with
/// the program; `redis-server` or `valkey-server` has to be on the PATH. The exit status is 1 when a
/// promise broke.
#[derive(Clone, Debug, Parser)]
#[command(name = "chaos", about)]
pub struct Options {
    /// For how long calls are made, in minutes
    #[arg(long, default_value_t = 1.0, value_parser = minutes)]
    pub minutes: f64,

    /// Decides which faults come, and when; chosen by chance unless given
    #[arg(long)]
    pub seed: Option<u64>,

    /// Which servers coordinate
    #[arg(long, value_enum, default_value_t = Topology::Standalone)]
    pub topology: Topology,

    /// Processes of the service
    #[arg(long, default_value_t = 12, value_parser = clap::value_parser!(u16).range(2..=100))]
    pub pods: u16,

    /// The longest rest between two faults, in milliseconds; the shortest is a third of it
    #[arg(long, default_value_t = 3_000, value_parser = clap::value_parser!(u64).range(50..=60_000))]
    pub rest_ms: u64,

    /// Print one JSON object, and nothing else, on stdout
    #[arg(long)]
    pub json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Topology {
    /// One server; half of the pods reach it by way of a proxy that breaks, too
    Standalone,
    /// Three primaries with a replica each
    Cluster,
    /// A primary with two replicas, watched by three sentinels
    Sentinel,
}

fn minutes(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(minutes) if (0.1..=1_440.0).contains(&minutes) => Ok(minutes),
        _ => Err("a number from 0.1 to 1440".to_owned()),
    }
}

impl Options {
    pub fn plan(&self, pod: &str) -> Plan {
        let program = std::env::current_exe().unwrap_or_else(|_| "chaos".into());
        Plan {
            layout: match self.topology {
                Topology::Standalone => Layout::Standalone,
                Topology::Cluster => Layout::Cluster,
                Topology::Sentinel => Layout::Sentinel,
            },
            pods: self.pods.into(),
            lasts: Duration::from_secs_f64(60.0 * self.minutes),
            seed: self.seed.unwrap_or_else(by_chance),
            rest: Duration::from_millis(self.rest_ms),
            program: program.to_string_lossy().into_owned(),
            environment: vec![(pod.to_owned(), "1".to_owned())],
        }
    }
}

/// The clock's last digits: printed with the result, so that they can be given next time.
fn by_chance() -> u64 {
    coalesce_rig::now_micros() % 1_000_000
}
