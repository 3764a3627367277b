//! The stage: servers, pods that call all the time, and a log of what was done to them.

use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use tempfile::TempDir;

use super::Plan;
use super::servers::Servers;
use crate::folder::folder;
use crate::ledger::{Ledger, now_micros};
use crate::orders::{Affliction, Burst, Site};
use crate::pod::Pod;

/// Calls of three kinds, told apart by their keys. The last may hold its key for a short time only.
pub(super) const SITES: [Site; 3] = [Site::InFlight, Site::Brief, Site::Patient];

/// For how long a run of each holds its key at most.
pub(super) const PENDING: [Duration; 3] = [
    Duration::from_secs(30),
    Duration::from_secs(30),
    Duration::from_secs(2),
];

/// What the last of them is told.
const CLOCKS: [(&str, &str); 2] = [("RIG_PENDING", "2s"), ("RIG_WAIT", "45s")];

/// How long a pod that is told to end waits for its flights.
const GRACE: Duration = Duration::from_secs(5);

pub(super) struct Stage {
    pub(super) servers: Servers,
    pub(super) ledger: Ledger,
    pub(super) pods: Vec<Player>,
    /// Answers of each process and site.
    pub(super) files: Vec<(u32, usize, PathBuf)>,
    pub(super) killed: Vec<(u32, u64)>,
    pub(super) stopped: Vec<(u32, RangeInclusive<u64>)>,
    /// Pods that were told to end, and when.
    pub(super) ending: Vec<(u32, u64)>,
    /// How many calls those had begun that have ended.
    pub(super) ended: HashMap<u32, u64>,
    /// When the kill switch was off.
    pub(super) switched: Vec<RangeInclusive<u64>>,
    leaving: Vec<Pod>,
    pub(super) trouble: Vec<RangeInclusive<u64>>,
    /// Behind each of those, until everybody has noticed.
    pub(super) aftermath: Vec<RangeInclusive<u64>>,
    /// The tasks of a process before its first call. One that finds no server at its start has fewer.
    pub(super) tasks: usize,
    program: String,
    environment: Vec<(String, String)>,
    folder: TempDir,
    /// When no call begins any more.
    end: u64,
}

/// A pod on the stage.
pub(super) struct Player {
    pub(super) pod: Pod,
    pub(super) stopped_since: Option<u64>,
}

impl Stage {
    pub(super) fn open(plan: &Plan) -> Self {
        let mut stage = Self {
            servers: Servers::start(plan.layout),
            ledger: Ledger::default(),
            pods: Vec::new(),
            files: Vec::new(),
            killed: Vec::new(),
            stopped: Vec::new(),
            ending: Vec::new(),
            ended: HashMap::new(),
            switched: Vec::new(),
            leaving: Vec::new(),
            trouble: Vec::new(),
            aftermath: Vec::new(),
            tasks: 0,
            program: plan.program.clone(),
            environment: plan.environment.clone(),
            folder: folder(),
            end: 0,
        };
        for number in 0..plan.pods {
            let player = stage.player(number);
            stage.pods.push(player);
        }
        let lasts = u64::try_from(plan.lasts.as_micros()).expect("less than an age");
        stage.end = now_micros() + lasts;
        for number in 0..plan.pods {
            stage.begin(number);
        }
        stage
    }

    /// Whether calls are made.
    pub(super) fn is_on(&self) -> bool {
        now_micros() < self.end
    }

    /// For how long calls are still made.
    pub(super) fn left(&self) -> Duration {
        Duration::from_micros(self.end.saturating_sub(now_micros()))
    }

    /// The number of a pod that leads now.
    pub(super) fn leader(&self) -> Option<usize> {
        let runs = self.ledger.going_on();
        let leads = |player: &Player| {
            let prefix = format!("{}.", player.pod.pid());
            player.stopped_since.is_none() && runs.iter().any(|run| run.starts_with(&prefix))
        };
        self.pods.iter().position(leads)
    }

    /// Whether there is time left to turn the switch and to turn it back, before loads end.
    pub(super) fn has_time(&self) -> bool {
        self.left() > Duration::from_secs(3)
    }

    /// Turns the switch on. By hand, whatever pods can do; and by this one, so that the others are told.
    pub(super) fn switch_on(&mut self, number: usize) {
        self.servers.tell(&["DEL", "rig:switch"]);
        let has_time = self.left() > Duration::from_secs(2);
        let player = &mut self.pods[number];
        if has_time && player.stopped_since.is_none() {
            player.pod.turns(true);
        }
    }

    /// Tells a pod to end, and starts another in its place.
    pub(super) fn retire(&mut self, number: usize) {
        let new = self.player(number);
        let mut old = std::mem::replace(&mut self.pods[number], new).pod;
        old.suffer(Affliction::Relief);
        self.ending.push((old.pid(), now_micros()));
        old.retire(GRACE);
        self.leaving.push(old);
        self.begin(number);
    }

    /// Waits until those that were told to end have answered all calls.
    pub(super) fn see_off(&mut self) {
        for mut pod in std::mem::take(&mut self.leaving) {
            let begun = pod.retired(SITES.len());
            self.ended.insert(pod.pid(), begun);
        }
    }

    /// Kills a pod and starts another in its place.
    pub(super) fn replace(&mut self, number: usize) {
        let old = &mut self.pods[number].pod;
        let pid = old.pid();
        old.kill();
        self.killed.push((pid, now_micros()));
        self.pods[number] = self.player(number);
        self.begin(number);
    }

    pub(super) fn stop(&mut self, number: usize) {
        let player = &mut self.pods[number];
        player.stopped_since = Some(now_micros());
        player.pod.signal("STOP");
    }

    pub(super) fn go_on(&mut self, number: usize) {
        let player = &mut self.pods[number];
        if let Some(since) = player.stopped_since.take() {
            player.pod.signal("CONT");
            self.stopped.push((player.pod.pid(), since..=now_micros()));
        }
    }

    fn player(&mut self, number: usize) -> Player {
        let environment: Vec<_> = self
            .environment
            .iter()
            .map(|(name, value)| (&**name, &**value))
            .chain(CLOCKS)
            .collect();
        let url = self.servers.url_of(number);
        let mut pod = Pod::start(&self.program, &url, &self.ledger, &environment);
        self.tasks = self.tasks.max(pod.state().tasks);
        Player {
            pod,
            stopped_since: None,
        }
    }

    /// Its calls begin, and go on until the end.
    fn begin(&mut self, number: usize) {
        let lasts_ms = u64::try_from(self.left().as_millis()).expect("less than an age");
        let pod = &mut self.pods[number].pod;
        for (place, site) in SITES.into_iter().enumerate() {
            let file = self.folder.path().join(format!("{}.{place}", pod.pid()));
            pod.begin_load(&load(place, site, lasts_ms), &file);
            self.files.push((pod.pid(), place, file));
        }
    }
}

/// Of the site that retains nothing callers come back at once; of the next, hits would take all the time there is.
fn load(place: usize, site: Site, lasts_ms: u64) -> Burst {
    Burst {
        keys: (0..[4, 4, 2][place])
            .map(|number| key(place, number))
            .collect(),
        lasts_ms: Some(lasts_ms),
        body_ms: 20,
        pause_ms: [0, 20, 20][place],
        ..Burst::of(site, [16, 4, 4][place])
    }
}

/// A key of the site in this place.
pub(super) fn key(place: usize, number: usize) -> String {
    format!("{place}-{number}")
}
