//! Playing a scenario: pods, callers and all that happens to them, on paused time in one thread.

use std::sync::Arc;
use std::time::Duration;

use coalesce_runtime::contract::{Call, shape};
use coalesce_runtime::{Coalescer, Entry, Key, Position, Scope};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, sleep_until, timeout_at};

use crate::body::{self, CallGuard};
use crate::books;
use crate::dice::Dice;
use crate::hearing::LINGER;
use crate::hub::Hub;
use crate::ledger::{At, Call as Called, Injected, Style, What};
use crate::pod::SimCoordinator;
use crate::sabotage::Sabotage;
use crate::scenario::{Act, Scenario};
use crate::server::Server;
use crate::sites::{SITES, Trouble, Value};

/// Whoever has not been answered so long after the last act never will be.
const PATIENCE: Duration = Duration::from_secs(120);

/// Plays a scenario from beginning to end. What happened is in the hub's records.
pub fn play(scenario: &Scenario, sabotage: Sabotage) -> Arc<Hub> {
    // The library's jitter comes from this generator.
    fastrand::seed(scenario.seed);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(async {
        let mut stage = Stage::set(scenario, sabotage).await;
        stage.perform().await;
        stage.wait_for_callers().await;
        stage.sweep().await;
        stage.hub
    })
}

/// Nothing lives longer: the mark of an invalidation, 5 s of a flight and a minute.
const LONGEST_LIFE: At = 65_000_000;

struct Stage<'a> {
    scenario: &'a Scenario,
    hub: Arc<Hub>,
    pods: Vec<Coalescer>,
    /// Callers with their pods, in the order of their calls; then those who change things.
    callers: Vec<(usize, JoinHandle<()>)>,
    changers: Vec<(usize, JoinHandle<()>)>,
}

impl<'a> Stage<'a> {
    async fn set(scenario: &'a Scenario, sabotage: Sabotage) -> Self {
        let keys = scenario.keys.iter().zip(0_usize..);
        let keys = keys
            .map(|(plan, number)| Key::new(plan.terms().name, &[&number]))
            .collect();
        let server = Server::new(keys, sabotage);
        let hub = Hub::new(
            scenario.seed,
            scenario.pods,
            scenario.weather.clone(),
            server,
        );
        for outage in &scenario.weather.outages {
            let micros = |span: Duration| At::try_from(span.as_micros()).unwrap();
            hub.ledger().faults.push(Injected {
                pod: outage.pod,
                key: None,
                from: micros(outage.from),
                to: micros(outage.to),
                what: if outage.frozen { "frozen" } else { "outage" },
                told: None,
            });
        }
        let mut pods = Vec::new();
        for pod in 0..scenario.pods {
            let mut dice = Dice::of(scenario.seed, &[2, pod as u64]);
            let coordinator = Arc::new(SimCoordinator::new(&hub, pod, &mut dice));
            let builder = Coalescer::builder()
                .coordinator(coordinator)
                .lease(scenario.lease);
            pods.push(builder.build().await.unwrap());
        }
        Self {
            scenario,
            hub,
            pods,
            callers: Vec::new(),
            changers: Vec::new(),
        }
    }

    async fn perform(&mut self) {
        for (at, act) in &self.scenario.acts {
            sleep_until(self.hub.began() + *at).await;
            self.act(*act);
        }
    }

    fn act(&mut self, act: Act) {
        match act {
            Act::Call { key, pod, style } => {
                let caller = tokio::spawn(self.caller(key, pod, style));
                self.callers.push((pod, caller));
            }
            Act::Cancel { call } => {
                if let Some((_, caller)) = self.callers.get(call) {
                    caller.abort();
                }
            }
            Act::Crash { pod } => self.crash(pod),
            Act::Lose { key } => {
                let at = self.hub.at();
                for lost in
                    (0..self.scenario.keys.len()).filter(|k| key.is_none_or(|key| key == *k))
                {
                    self.hub.server().lose(at, lost);
                    self.hub.ledger().faults.push(Injected {
                        pod: None,
                        key: Some(lost),
                        from: at,
                        to: at,
                        what: "data loss",
                        told: None,
                    });
                }
            }
            Act::Reconnect { pod } => self.hub.hearing(pod).gap(),
            Act::Invalidate { key, pod } => self.change(key, pod, What::Invalidate),
            Act::Put { key, pod } => {
                let at = self.hub.at();
                let nonce = self.hub.ledger().put(at, key, pod);
                self.change(key, pod, What::Put { nonce });
            }
            Act::Switch { pod, off } => {
                self.change(0, pod, if off { What::SwitchOff } else { What::SwitchOn });
            }
        }
    }

    /// All that runs in a pod ends, and nothing is heard of it any more.
    fn crash(&self, pod: usize) {
        let at = self.hub.at();
        self.hub.ledger().deaths.push((pod, at));
        self.hub.hearing(pod).stop();
        for (_, task) in self
            .callers
            .iter()
            .chain(&self.changers)
            .filter(|(of, _)| *of == pod)
        {
            task.abort();
        }
    }

    fn caller(
        &self,
        key: usize,
        pod: usize,
        style: Style,
    ) -> impl Future<Output = ()> + Send + use<> {
        let plan = self.scenario.keys[key].clone();
        let (site, coalescer, hub) = (
            SITES[plan.site].0,
            self.pods[pod].clone(),
            Arc::clone(&self.hub),
        );
        let inline = plan.style == Style::Inline && style == Style::Inline;
        async move {
            hub.alive(pod).await;
            let guard = CallGuard::arrive(&hub, key, pod, style);
            let number = guard.call;
            let call = Call::new(site, "").key(&[&key]).on(&coalescer);
            macro_rules! outcome {
                ($answer:ty, $body:path) => {{
                    let body = $body(Arc::clone(&hub), plan.clone(), key, pod, number);
                    match style {
                        Style::Peek => {
                            body::peeked(call.entry(shape!($answer), || body).peek().await)
                        }
                        Style::Refresh => body::Answer::outcome(
                            call.entry(shape!($answer), || body).refresh().await,
                        ),
                        _ if inline => {
                            body::Answer::outcome(call.run_inline(shape!($answer), || body).await)
                        }
                        _ => body::Answer::outcome(call.run(shape!($answer), || body).await),
                    }
                }};
            }
            let outcome = if plan.terms().plain {
                outcome!(Value, body::plain)
            } else {
                outcome!(Result<Value, Trouble>, body::fallible)
            };
            guard.answer(outcome);
        }
    }

    fn change(&mut self, key: usize, pod: usize, what: What) {
        let plan = &self.scenario.keys[key];
        let (site, returns_plainly) = (SITES[plan.site].0, plan.terms().plain);
        let (coalescer, hub) = (self.pods[pod].clone(), Arc::clone(&self.hub));
        let task = tokio::spawn(async move {
            hub.alive(pod).await;
            let number = hub.note_change(key, pod, what);
            let call = Call::new(site, "").key(&[&key]).on(&coalescer);
            let succeeded = match what {
                What::SwitchOff => coalescer
                    .switch(&Scope::Everything, &Position::off())
                    .await
                    .is_ok(),
                What::SwitchOn => coalescer.clear_switch(&Scope::Everything).await.is_ok(),
                _ if returns_plainly => {
                    let entry = call.entry(shape!(Value), std::future::pending);
                    let change = body::change(what, &entry, |nonce| body::value(key, nonce, false));
                    change.await.is_ok()
                }
                _ => {
                    let entry: Entry<'_, Result<Value, Trouble>> =
                        call.entry(shape!(Result<Value, Trouble>), std::future::pending);
                    let change =
                        body::change(what, &entry, |nonce| Ok(body::value(key, nonce, false)));
                    change.await.is_ok()
                }
            };
            hub.note_changed(number, succeeded);
        });
        self.changers.push((pod, task));
    }

    async fn wait_for_callers(&mut self) {
        let give_up = Instant::now() + PATIENCE;
        for (_, task) in self.callers.iter_mut().chain(&mut self.changers) {
            // A panic or a cancelled task is in the ledger already.
            let _ = timeout_at(give_up, task).await;
        }
        let unanswered = |call: &Called| call.outcome.is_none();
        let mut ledger = self.hub.ledger();
        let lost: Vec<_> = (0..ledger.calls.len())
            .filter(|call| unanswered(&ledger.calls[*call]))
            .collect();
        for call in lost {
            ledger.wrong("L1", format!("call {call} was never answered"));
        }
    }

    /// P11: nothing is left.
    async fn sweep(&mut self) {
        sleep(Duration::from_secs(15) + LINGER).await;
        let at = self.hub.at();
        self.hub.server().close_books(at);
        let alive: Vec<_> = (0..self.pods.len())
            .filter(|pod| !self.hub.is_dead(*pod))
            .collect();
        for pod in &alive {
            let (entries, channels) =
                (self.pods[*pod].in_flight(), self.pods[*pod].subscriptions());
            if (entries, channels) != (0, 0) {
                let sentence = format!("pod {pod} keeps {entries} entries and {channels} channels");
                self.hub.ledger().wrong("P11", sentence);
            }
        }
        for key in 0..self.scenario.keys.len() {
            if self.hub.server().holds(at + LONGEST_LIFE, key) {
                self.hub
                    .ledger()
                    .wrong("S11", format!("key {key} never expires"));
            }
        }
        if alive.len() == self.pods.len() {
            self.only_the_standing_tasks_are_left().await;
        }
        for pod in alive {
            let snapshot = self.pods[pod].snapshot();
            books::balance(&self.scenario.keys, pod, &snapshot, &mut self.hub.ledger());
        }
    }

    /// S10: the tasks that are left keep the pods' copies of the kill switch up to date, and tell of their namespaces.
    async fn only_the_standing_tasks_are_left(&self) {
        let metrics = tokio::runtime::Handle::current().metrics();
        // A task ends at the next turn of the scheduler.
        tokio::task::yield_now().await;
        let tasks = metrics.num_alive_tasks() - self.hub.travelling();
        if tasks <= 2 * self.pods.len() {
            return;
        }
        let sentence = format!("{tasks} tasks are left of {} pods", self.pods.len());
        self.hub.ledger().wrong("S10", sentence);
    }
}
