//! The hub: the server, the ways to it from every pod, and the fate of all that travels on them.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use coalesce_runtime::{Fault, Key};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, sleep_until, timeout_at};

use crate::dice::Dice;
use crate::hearing::Hearing;
use crate::ledger::{At, Injected, Ledger};
use crate::server::Server;
use crate::weather::{DEADLINE, Fate, Weather};

type Line = tokio::sync::Mutex<()>;

/// Everything outside the pods' own memory.
#[derive(Debug)]
pub struct Hub {
    seed: u64,
    began: Instant,
    weather: Weather,
    keys: HashMap<Key, usize>,
    switch_key: Key,
    server: Mutex<Server>,
    ledger: Mutex<Ledger>,
    hearings: Vec<Mutex<Hearing>>,
    /// One connection per pod for scripts: what was sent first is executed first.
    lines: Vec<Arc<Line>>,
    /// Questions that tasks of the simulation's own carry.
    travelling: AtomicUsize,
    occasions: Mutex<HashMap<Occasion, u64>>,
}

/// A pod, a key, and what it is about.
type Occasion = (usize, Option<usize>, &'static str);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A body that panics as it should must not end the scenario.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Hub {
    pub fn new(seed: u64, pods: usize, weather: Weather, server: Server) -> Arc<Self> {
        let keys = server.keys.iter().cloned().zip(0..).collect();
        Arc::new(Self {
            seed,
            began: Instant::now(),
            weather,
            keys,
            switch_key: Key::new("coalesce:switch", &[]),
            server: Mutex::new(server),
            ledger: Mutex::default(),
            hearings: (0..pods).map(|_| Mutex::default()).collect(),
            lines: (0..pods).map(|_| Arc::default()).collect(),
            travelling: AtomicUsize::new(0),
            occasions: Mutex::default(),
        })
    }

    pub fn server(&self) -> MutexGuard<'_, Server> {
        lock(&self.server)
    }

    pub fn ledger(&self) -> MutexGuard<'_, Ledger> {
        lock(&self.ledger)
    }

    pub fn hearing(&self, pod: usize) -> MutexGuard<'_, Hearing> {
        lock(&self.hearings[pod])
    }

    pub const fn weather(&self) -> &Weather {
        &self.weather
    }

    pub const fn pods(&self) -> usize {
        self.hearings.len()
    }

    pub fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    pub fn travelling(&self) -> usize {
        self.travelling.load(Ordering::Relaxed)
    }

    pub const fn began(&self) -> Instant {
        self.began
    }

    pub fn at(&self) -> At {
        At::try_from(self.elapsed().as_micros()).unwrap_or(At::MAX)
    }

    pub fn key_number(&self, key: &Key) -> usize {
        self.keys[key]
    }

    pub fn key(&self, key: Option<usize>) -> &Key {
        let number = key.and_then(|number| self.keys.iter().find(|(_, known)| **known == number));
        number.map_or(&self.switch_key, |(key, _)| key)
    }

    pub fn is_dead(&self, pod: usize) -> bool {
        self.ledger().died(pod).is_some()
    }

    /// A dead pod neither asks nor hears.
    pub async fn alive(&self, pod: usize) {
        if self.is_dead(pod) {
            std::future::pending::<()>().await;
        }
    }

    /// The draws for the next occasion of this kind.
    pub fn dice(&self, pod: usize, key: Option<usize>, what: &'static str) -> Dice {
        let mut occasions = lock(&self.occasions);
        let occasion = occasions.entry((pod, key, what)).or_default();
        *occasion += 1;
        let mut kind = DefaultHasher::new();
        what.hash(&mut kind);
        let key = key.map_or(0, |key| key as u64 + 1);
        Dice::of(self.seed, &[pod as u64, key, kind.finish(), *occasion])
    }

    /// Notes a fault that takes effect now.
    pub fn note(&self, pod: usize, key: Option<usize>, what: &'static str, told: Option<Fault>) {
        let at = self.at();
        self.ledger().faults.push(Injected {
            pod: Some(pod),
            key,
            from: at,
            to: at,
            what,
            told,
        });
    }

    /// Carries a question to the server and its answer back, as the weather has it.
    pub async fn carry<A: Send + 'static>(
        self: &Arc<Self>,
        pod: usize,
        key: Option<usize>,
        what: &'static str,
        question: impl Fn(&Arc<Self>) -> A + Send + 'static,
    ) -> Result<A, Fault> {
        self.alive(pod).await;
        let mut fate = self
            .weather
            .fate(&mut self.dice(pod, key, what), pod, self.elapsed());
        if what == "replace" {
            // Two changes, and the first again behind the second, would be three changes.
            fate.again = fate.again.map(|_| Duration::ZERO);
        }
        let line = (what != "read" && !fate.overtakes()).then(|| Arc::clone(&self.lines[pod]));
        let free = line.as_ref().is_none_or(|line| line.try_lock().is_ok());
        if free && fate.is_immediate() {
            return Ok(question(self));
        }
        let asked = self.at();
        let answer = self.travel(fate, line, question).await;
        self.alive(pod).await;
        if fate.is_trouble() {
            // What is behind a slow one on the same line is later by as much.
            let longest = fate.executed.unwrap_or_default() + fate.again.unwrap_or_default();
            self.ledger().faults.push(Injected {
                pod: Some(pod),
                key,
                from: asked,
                to: asked
                    + At::try_from((longest.max(DEADLINE) + DEADLINE).as_micros())
                        .unwrap_or(At::MAX),
                what,
                told: answer.as_ref().err().copied(),
            });
        }
        answer
    }

    async fn travel<A: Send + 'static>(
        self: &Arc<Self>,
        fate: Fate,
        line: Option<Arc<Line>>,
        question: impl Fn(&Arc<Self>) -> A + Send + 'static,
    ) -> Result<A, Fault> {
        let deadline = Instant::now() + DEADLINE;
        let (reply, answer) = oneshot::channel();
        if let Some(executed) = fate.executed {
            let (hub, due) = (Arc::clone(self), Instant::now() + executed);
            self.travelling.fetch_add(1, Ordering::Relaxed);
            tokio::spawn(async move {
                let turn = match &line {
                    Some(line) => Some(line.lock().await),
                    None => None,
                };
                sleep_until(due).await;
                let mut answer = question(&hub);
                drop(turn);
                if let Some(again) = fate.again {
                    sleep(again).await;
                    answer = question(&hub);
                }
                if let Some(answered) = fate.answered {
                    sleep(answered).await;
                    // Whoever asked may have gone away.
                    let _ = reply.send(answer);
                }
                hub.travelling.fetch_sub(1, Ordering::Relaxed);
            });
        }
        let answered = async {
            match answer.await {
                Ok(answer) => answer,
                Err(_) => std::future::pending().await,
            }
        };
        match fate.fails {
            Some((after, fault)) => {
                sleep(after).await;
                Err(fault)
            }
            None => timeout_at(deadline, answered)
                .await
                .map_err(|_| Fault::Timeout),
        }
    }
}
