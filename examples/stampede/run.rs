//! One run: a fleet at the barrier, the stampede, and what was seen of it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use coalesce::coordination::Coordinator;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};

use crate::counted::Counted;
use crate::directory::Directory;
use crate::figures::{Figures, Gathered};
use crate::fleet::Fleet;
use crate::ledger::Reader;
use crate::monitor::{Monitor, Traffic};
use crate::options::Options;
use crate::server::{Server, is_plain};
use crate::show::Progress;
use crate::watch::Watch;
use crate::wire::{Failure, Plan};

/// How long all pods together may take to start.
const READY: Duration = Duration::from_secs(60);

/// Longer than any caller may wait: those who are not answered by then are given up.
const ANSWERED: Duration = Duration::from_secs(60);

/// How often the ledger is looked at: for the progress shown, and for the moment to kill.
const LOOK: Duration = Duration::from_millis(5);

/// What all runs of one demo have in common.
pub struct Stage {
    pub options: Options,
    // Dropped in this order: the server lives in the directory.
    pub server: Option<Server>,
    pub directory: Directory,
}

impl Stage {
    /// The stampede, with or without coalescing.
    pub async fn run(&self, coalesced: bool, progress: &Progress) -> Result<Figures, Failure> {
        let kind = if coalesced { "with" } else { "without" };
        let run = format!("{}-{kind}", self.directory.nonce());
        let memory = Arc::new(Counted::new(&run));
        let mut fleet = self.fleet(&run, coalesced, &memory)?;
        let mut watch = Watch::of(&self.options, Reader::open(&self.ledger(&run))?);
        timeout(READY, at_the_barrier(&mut fleet, self.options.pods))
            .await
            .map_err(|_| "the pods did not get ready")??;
        let monitor = self.monitor(&run).await?;

        let opened = Instant::now();
        fleet.go().await?;
        // Whoever has not been answered by then is missing in the figures.
        if let Ok(ended) = timeout(ANSWERED, go_on(&mut fleet, &mut watch, progress)).await {
            ended?;
        }
        let wall = watch.last_answer.saturating_duration_since(opened);

        let traffic = match monitor {
            Some(monitor) => Some(monitor.stop().await?),
            None => self.server.is_none().then(|| in_memory(&memory)),
        };
        fleet.dismiss().await;
        let watched = watch.finish()?;
        let backend = if self.server.is_some() {
            "redis"
        } else {
            "memory"
        };
        Ok(Figures::of(
            &self.options,
            &Gathered {
                backend,
                run,
                watched,
                traffic,
                wall,
            },
        ))
    }

    fn fleet(&self, run: &str, coalesced: bool, memory: &Arc<Counted>) -> Result<Fleet, Failure> {
        let plans = self.plans(run, coalesced)?;
        let shared: Arc<dyn Coordinator> = memory.clone();
        match &self.server {
            Some(server) => Fleet::of_processes(plans, server.url.as_str()),
            None => Ok(Fleet::of_simulations(plans, &shared)),
        }
    }

    fn plans(&self, run: &str, coalesced: bool) -> Result<Vec<Plan>, Failure> {
        let pods = usize::try_from(self.options.pods)?;
        let plan = |pod| Plan {
            pod,
            run: run.to_owned(),
            prefix: self.directory.nonce().to_owned(),
            coalesced,
            callers: self.options.callers,
            keys: self.options.keys,
            body_ms: self.options.body_ms,
            fail: self.options.fail,
            ledger: self.ledger(run),
        };
        Ok((0..pods).map(plan).collect())
    }

    fn ledger(&self, run: &str) -> PathBuf {
        self.directory.path().join(run)
    }

    async fn monitor(&self, run: &str) -> Result<Option<Monitor>, Failure> {
        match &self.server {
            Some(server) if is_plain(&server.url) => {
                Monitor::start(&server.url, run).await.map(Some)
            }
            _ => Ok(None),
        }
    }
}

async fn at_the_barrier(fleet: &mut Fleet, pods: u64) -> Result<(), Failure> {
    for _ in 0..pods {
        // The first word of a pod is that it is ready.
        if let (pod, None) = fleet.hear().await? {
            return Err(format!("pod {pod} ended before it was ready").into());
        }
    }
    Ok(())
}

/// Goes on until all living pods are idle, and kills the leading one if it is to be killed.
async fn go_on(fleet: &mut Fleet, watch: &mut Watch, progress: &Progress) -> Result<(), Failure> {
    let mut looks = interval(LOOK);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while !watch.is_over() {
        tokio::select! {
            heard = fleet.hear() => {
                let (pod, report) = heard?;
                watch.hear(pod, report);
            }
            _ = looks.tick() => {
                if let Some(pod) = watch.look()? {
                    fleet.kill(pod)?;
                }
                progress.show(watch);
            }
        }
    }
    Ok(())
}

fn in_memory(memory: &Counted) -> Traffic {
    Traffic {
        state_writes: memory.state_writes(),
        ..Traffic::default()
    }
}
