//! The scene of a fault: a server, perhaps a proxy before it, pods that call, and what is to be expected of them.

use std::ops::{Range, RangeInclusive};
use std::time::{Duration, Instant};

pub(crate) use coalesce_rig::eventually;
use coalesce_rig::{
    Answer, Burst, Expectation, Leaks, Ledger, Patience, Periods, Pod, Proxy, RedisServer, Run,
    Site, Topology, Totals, busy_times, check, note_recovery, note_runs, note_spread, note_totals,
    now_micros, unbalanced,
};

pub(crate) use crate::cast::{LINGER, POD, fleet, load, logged_pod, meanwhile, pod};

pub(crate) const MS: Duration = Duration::from_millis(1);

/// What every call may take beside bodies: two deadlines of 250 ms, and five times that for a busy machine. That it is
/// two deadlines exactly is proven on paused time (`coalesce-runtime/tests/protocol/silence.rs`).
pub(crate) const BESIDE_BODIES: Duration = Duration::from_millis(2 * 250 + 5 * 250);

/// What a dead leader costs those who follow it, and one whose last word is lost again and again.
pub(crate) const LEASE: Duration = Duration::from_secs(3);

/// A lease, or a linger, and what a busy machine adds.
pub(crate) const LEFTOVERS: Patience = Patience {
    leases: Duration::from_secs(5),
    lingers: Duration::from_secs(6),
};

pub(crate) struct Scene<T = RedisServer> {
    pub(crate) server: T,
    pub(crate) proxy: Option<Proxy>,
    pub(crate) ledger: Ledger,
    pub(crate) pods: Vec<Pod>,
    pub(crate) answers: Vec<Answer>,
    /// Whether the values of its calls are kept for longer than it takes.
    pub(crate) retains: bool,
    /// How long a run of its calls holds its key.
    pub(crate) pending: Duration,
    /// When calls were told to go past the coordinator.
    pub(crate) switched: Vec<RangeInclusive<u64>>,
    /// Keys whose values are not kept all the same.
    passing: Vec<String>,
    pub(crate) killed: Vec<(u32, u64)>,
    trouble: Vec<RangeInclusive<u64>>,
    aftermath: Vec<RangeInclusive<u64>>,
    busy: Vec<RangeInclusive<u64>>,
    pub(crate) trouble_since: Option<u64>,
    /// The tasks of a pod before its first call.
    tasks: usize,
    /// The longest body so far.
    body: Duration,
    bursts: usize,
    faults: u64,
}

impl Scene {
    pub(crate) fn new(pods: usize) -> Self {
        Self::on(RedisServer::start(), pods)
    }

    /// Pods that reach their server by way of a proxy.
    pub(crate) fn behind_proxy(pods: usize) -> Self {
        let (server, ledger) = (RedisServer::start(), Ledger::default());
        let proxy = Proxy::before(server.port());
        let pods = fleet(pods, &proxy.url(), &ledger);
        Self::of(server, Some(proxy), ledger, pods)
    }
}

impl<T: Topology> Scene<T> {
    pub(crate) fn on(server: T, pods: usize) -> Self {
        let ledger = Ledger::default();
        let pods = fleet(pods, &server.url(), &ledger);
        Self::of(server, None, ledger, pods)
    }

    pub(crate) fn of(server: T, proxy: Option<Proxy>, ledger: Ledger, pods: Vec<Pod>) -> Self {
        let mut scene = Self {
            server,
            proxy,
            ledger,
            pods: Vec::new(),
            answers: Vec::new(),
            retains: false,
            pending: Duration::from_secs(30),
            switched: Vec::new(),
            passing: Vec::new(),
            killed: Vec::new(),
            trouble: Vec::new(),
            aftermath: Vec::new(),
            busy: Vec::new(),
            trouble_since: None,
            tasks: 0,
            body: Duration::ZERO,
            bursts: 0,
            faults: 0,
        };
        for pod in pods {
            scene.join(pod);
        }
        scene
    }

    /// One more pod.
    pub(crate) fn add_pod(&mut self) {
        let pod = pod(&self.server.url(), &self.ledger);
        self.join(pod);
    }

    /// This pod as well. One that finds no server at its start has fewer tasks than one that does.
    pub(crate) fn join(&mut self, mut pod: Pod) {
        self.tasks = self.tasks.max(pod.state().tasks);
        self.pods.push(pod);
    }

    pub(crate) fn proxy(&self) -> &Proxy {
        self.proxy.as_ref().expect("a scene behind a proxy")
    }

    /// All pods begin this.
    pub(crate) fn begin(&mut self, burst: &Burst) {
        self.body = self.body.max(Duration::from_millis(burst.body_ms));
        if matches!(burst.site, Site::InFlight) {
            self.passing.extend(burst.keys.clone());
        }
        for pod in &mut self.pods {
            pod.begin(burst);
        }
    }

    /// The pod that was added last begins this.
    pub(crate) fn begin_last(&mut self, burst: &Burst) {
        self.body = self.body.max(Duration::from_millis(burst.body_ms));
        self.pods.last_mut().expect("a pod").begin(burst);
    }

    /// Waits for the answers to what was begun last.
    pub(crate) fn collect(&mut self) -> &[Answer] {
        let from = self.answers.len();
        for pod in &mut self.pods {
            self.answers.extend(pod.answers());
        }
        &self.answers[from..]
    }

    pub(crate) fn burst(&mut self, burst: &Burst) -> &[Answer] {
        self.begin(burst);
        self.collect()
    }

    /// A key that nobody has asked for yet.
    pub(crate) fn new_key(&mut self) -> String {
        self.bursts += 1;
        // Nothing that would be escaped: tests look for it in Redis.
        format!("key-{}.", self.bursts)
    }

    pub(crate) fn runs_of(&self, key: &str) -> usize {
        let runs = self.ledger.runs();
        runs.iter().filter(|run| run.key == key).count()
    }

    /// Kills a pod, of the scene or not, which is one fault: when.
    pub(crate) fn kill(&mut self, pod: &mut Pod) -> u64 {
        let at = now_micros();
        pod.kill();
        self.killed.push((pod.pid(), at));
        self.faults(1);
        at
    }

    /// From now on Redis cannot be counted upon, until the scene has [recovered](Self::recovers).
    pub(crate) fn trouble(&mut self) {
        self.trouble_since.get_or_insert_with(now_micros);
    }

    /// Questions of the pods without an answer in time, so far.
    pub(crate) fn unanswered(&mut self) -> u64 {
        self.pods.iter_mut().map(|pod| pod.state().faults).sum()
    }

    /// Whether any process asked Redis in vain in this time, by its own account.
    pub(crate) fn asked_in_vain(&self, span: Range<u64>) -> bool {
        let asked = self.ledger.in_vain();
        asked.iter().any(|(_, at)| span.contains(at))
    }

    /// Whether the machine was too busy for some process.
    pub(crate) fn was_busy_since(&self, began: u64) -> bool {
        let stood = self.ledger.standstills();
        let long = |span: &RangeInclusive<u64>| span.end() - span.start() > 80_000;
        let stood = stood
            .iter()
            .any(|(_, span)| *span.end() > began && long(span));
        stood || self.asked_in_vain(began..u64::MAX)
    }

    /// How often the server has answered with this error.
    pub(crate) fn refusals(&self, error: &str) -> u64 {
        let servers = self.server.servers().into_iter();
        servers.map(|server| server.errors(error)).sum()
    }

    /// Replies of another request that the pods have noticed so far. Each costs a connection.
    pub(crate) fn misrouted(&mut self) -> u64 {
        let states = self.pods.iter_mut().map(Pod::state);
        states.map(|state| state.misrouted).sum()
    }

    /// The machine was too busy for a deadline, in a burst that began at `since`: its runs have a reason.
    pub(crate) fn was_too_busy(&mut self, since: u64) {
        self.busy.push(since..=now_micros());
    }

    /// So many faults were done: acts of the test, and not what came of them. A proxy counts those ordered from it.
    pub(crate) fn faults(&mut self, count: u64) {
        self.faults += count;
    }

    /// Everything is healed: before long, the pods share each run again.
    pub(crate) fn recovers(&mut self) {
        let (healed, healed_at) = (Instant::now(), now_micros());
        let (mut tries, mut shared, mut recovered) = (0, 0, Duration::ZERO);
        // In a cluster each key may be on another node.
        let places = self.server.primaries().len();
        while shared < 2 * places - 1 {
            match self.runs_of_a_burst(Site::InFlight) {
                1 => shared += 1,
                _ => shared = 0,
            }
            if shared <= 1 {
                recovered = healed.elapsed();
            }
            tries += 1;
            // Recovery is noticed within a second; the bursts take their time, and the machine is busy.
            let waited = healed.elapsed();
            assert!(waited < 1_000 * MS + 5 * BESIDE_BODIES / 2, "{waited:?}");
        }
        let since = self.trouble_since.take().expect("a trouble");
        // Where servers take turns, two of them may lead for a moment, and nobody asks in vain.
        let alone = self.server.servers().len() == 1;
        let over = if alone { healed_at } else { now_micros() };
        self.trouble.push(since..=over);
        self.aftermath.push(over..=now_micros());
        println!("recovered in {recovered:?}, in {tries} tries");
        note_recovery(recovered);
    }

    /// The end: every answer and run is as it should be, and nothing is left behind. Two bodies and
    /// `more` are what a call may take: the flight it followed, and its own.
    pub(crate) fn ends_well(mut self, more: Duration) {
        let trouble_left = self.trouble_since.map(|since| since..=u64::MAX);
        self.trouble.extend(trouble_left);
        let stood = self.ledger.standstills();
        let mut busy = busy_times(&stood, &[]);
        busy.extend(self.busy.clone());
        let stopped = stood.into_iter().collect();
        let in_vain = self.ledger.in_vain().into_iter().collect();
        let expected = Expectation {
            longest: 2 * self.body + more,
            trouble: &self.trouble,
            aftermath: &self.aftermath,
            busy: &busy,
            killed: &self.killed,
            stopped: &stopped,
            in_vain: &in_vain,
            age: Duration::from_secs(if self.retains { 3_600 } else { 0 }),
            passing: &self.passing,
            pending: self.pending,
            switched: &self.switched,
            ending: &[],
            departures: Periods::NONE,
        };
        let faults = self.faults + self.proxy.as_ref().map_or(0, Proxy::faults);
        let runs = self.ledger.runs();
        let findings = check(&runs, &self.answers, &expected);
        let leaks = self.leaks();
        println!("{faults} faults, {findings}, {leaks:?}");
        note_totals(&Totals::of(faults, &findings, &leaks));
        note_runs(
            (findings.runs - findings.bypasses) as u64,
            findings.strict as u64,
            &findings.explained,
        );
        // Where the last word of a leader is lost again and again, callers may have to wait for the end of its lease.
        let name = if more <= BESIDE_BODIES {
            "added"
        } else {
            "added_with_leases"
        };
        note_spread(name, findings.added_in_trouble_ms.clone());
        findings.assert_clean();
        let in_trouble = findings.added_in_trouble_ms.iter().max();
        let added = Duration::from_millis(findings.added_ms.max(in_trouble.copied().unwrap_or(0)));
        assert!(added <= more, "a call took {added:?} beside bodies");
        assert_eq!(leaks, Leaks::default());
        let pages: u64 = self
            .pods
            .iter_mut()
            .map(|pod| balances(pod, &runs, &self.answers))
            .sum();
        println!("{pages} pages of {} pods balance", self.pods.len());
    }

    /// What is left. Pods that have only just started may not have all of their tasks yet, and none may have had them
    /// when they were counted: then one more pod, which has had the time, is the measure.
    fn leaks(&mut self) -> Leaks {
        let mut found = self.left();
        if found.tasks > 0 {
            self.join(pod(self.pods[0].url(), &self.ledger));
            meanwhile(500 * MS);
            let fresh = self.pods.last_mut().expect("a pod").state();
            self.tasks = self.tasks.max(fresh.tasks);
            found = self.left();
        }
        found
    }

    fn left(&mut self) -> Leaks {
        let pods = &mut self.pods;
        let states = || pods.iter_mut().map(Pod::state).collect();
        Leaks::of(&self.server, self.tasks, LEFTOVERS, states)
    }
}

/// O1: the books of a pod at rest say what the ledger says. How many pages they have.
fn balances(pod: &mut Pod, runs: &[Run], answers: &[Answer]) -> u64 {
    let wrong = |pod: &mut Pod| unbalanced(pod.pid(), &pod.state(), runs, answers, false);
    // An entry goes before the last of its callers has closed its line.
    let waited = Instant::now();
    while !wrong(pod).is_empty() && waited.elapsed() < Duration::from_secs(5) {
        std::thread::yield_now();
    }
    assert_eq!(wrong(pod), Vec::<String>::new());
    pod.state().books.len() as u64
}
