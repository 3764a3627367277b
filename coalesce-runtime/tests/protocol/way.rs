//! A pod's way to the coordinator, which can be cut: its questions then come back with a fault.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use coalesce_runtime::coordination::{
    AbandonAsk, BeginAnswer, BeginAsk, Coordinator, FinishAnswer, FinishAsk, Interest, Listener,
    RenewAsk, Renewals, ReplaceAsk, Reply, ServerClock,
};
use coalesce_runtime::{Fault, Key, MemoryCoordinator};
use tokio::time::Instant;

use crate::fleet::MS;

/// One pod's way to the coordinator.
#[derive(Debug)]
pub struct Way {
    inner: MemoryCoordinator,
    /// How long a question and its answer take.
    trip: Duration,
    cut: Mutex<Option<Fault>>,
    /// The same for what changes something: reading and listening go on.
    jammed: Mutex<Option<Fault>>,
    deadline: Mutex<Duration>,
    /// When the first question since the cut was asked.
    missed: Mutex<Option<Instant>>,
    /// Whether no message comes through.
    deaf: AtomicBool,
    /// How long a message takes to arrive.
    telling: Mutex<Duration>,
    /// Whether questions arrive, and their answers do not.
    mute: AtomicBool,
    /// How long a renewal takes to arrive, beside the trip.
    beat: Mutex<Duration>,
    /// What the next BEGIN finds as the state.
    planted: Mutex<Option<Bytes>>,
    /// How long the next BEGIN's answer is not looked at.
    standstill: Mutex<Duration>,
}

impl Way {
    pub fn to(inner: &MemoryCoordinator) -> Arc<Self> {
        Self::long(inner, Duration::ZERO)
    }

    /// A way on which each question takes so long.
    pub fn long(inner: &MemoryCoordinator, trip: Duration) -> Arc<Self> {
        Arc::new(Self {
            inner: inner.clone(),
            trip,
            cut: Mutex::default(),
            jammed: Mutex::default(),
            deadline: Mutex::new(250 * MS),
            missed: Mutex::default(),
            deaf: AtomicBool::default(),
            telling: Mutex::default(),
            mute: AtomicBool::default(),
            beat: Mutex::default(),
            planted: Mutex::default(),
            standstill: Mutex::default(),
        })
    }

    /// From now on whoever listens hears nothing.
    pub fn loses_messages(&self) {
        self.deaf.store(true, Ordering::Relaxed);
    }

    /// From now on whoever begins to listen hears everything so much later.
    pub fn delays_messages(&self, by: Duration) {
        *self.telling.lock().unwrap() = by;
    }

    /// The next BEGIN finds this state.
    pub fn plants(&self, state: Bytes) {
        *self.planted.lock().unwrap() = Some(state);
    }

    /// Who asks BEGIN next stands still for so long before it sees the answer.
    pub fn stands_still(&self, duration: Duration) {
        *self.standstill.lock().unwrap() = duration;
    }

    /// Questions are done, and nobody hears of it.
    pub fn loses_answers(&self, loses: bool) {
        self.mute.store(loses, Ordering::Relaxed);
    }

    /// From now on renewals take so long to arrive.
    pub fn delays_renewals(&self, by: Duration) {
        *self.beat.lock().unwrap() = by;
    }

    /// From now on no question is answered.
    pub fn cut(&self, fault: Fault) {
        *self.cut.lock().unwrap() = Some(fault);
    }

    /// From now on only reading and listening are answered.
    pub fn jam(&self, fault: Fault) {
        *self.jammed.lock().unwrap() = Some(fault);
    }

    pub fn heal(&self) {
        *self.cut.lock().unwrap() = None;
        *self.jammed.lock().unwrap() = None;
    }

    /// From now on a question may go without an answer for so long.
    pub fn has_deadline(&self, deadline: Duration) {
        *self.deadline.lock().unwrap() = deadline;
    }

    /// When the first question since the cut was asked.
    pub fn missed(&self) -> Option<Instant> {
        *self.missed.lock().unwrap()
    }

    fn pass<'a, A: Send + 'a>(&'a self, answer: Reply<'a, A>) -> Reply<'a, A> {
        let Some(fault) = *self.cut.lock().unwrap() else {
            if self.mute.load(Ordering::Relaxed) {
                return Box::pin(async move {
                    answer.await?;
                    tokio::time::sleep(self.deadline()).await;
                    Err(Fault::Timeout)
                });
            }
            if self.trip.is_zero() {
                return answer;
            }
            return Box::pin(async move {
                tokio::time::sleep(self.trip).await;
                answer.await
            });
        };
        self.missed.lock().unwrap().get_or_insert_with(Instant::now);
        self.fail(fault)
    }

    /// The same for what changes something.
    fn pass_script<'a, A: Send + 'a>(&'a self, answer: Reply<'a, A>) -> Reply<'a, A> {
        match *self.jammed.lock().unwrap() {
            Some(fault) => self.fail(fault),
            None => self.pass(answer),
        }
    }

    fn fail<A: Send>(&self, fault: Fault) -> Reply<'_, A> {
        Box::pin(async move {
            if fault == Fault::Timeout {
                tokio::time::sleep(self.deadline()).await;
            }
            Err(fault)
        })
    }
}

impl Coordinator for Way {
    fn kind(&self) -> &'static str {
        "memory behind a way that can be cut"
    }

    fn deadline(&self) -> Duration {
        *self.deadline.lock().unwrap()
    }

    fn clock(&self, key: &Key) -> ServerClock {
        self.inner.clock(key)
    }

    fn read<'a>(&'a self, key: &'a Key) -> Reply<'a, Option<Bytes>> {
        self.pass(self.inner.read(key))
    }

    fn begin<'a>(&'a self, key: &'a Key, ask: &'a BeginAsk) -> Reply<'a, BeginAnswer> {
        match self.planted.lock().unwrap().take() {
            Some(state) => Box::pin(async { Ok(BeginAnswer::State(state)) }),
            None => {
                let standstill = std::mem::take(&mut *self.standstill.lock().unwrap());
                let answer = self.pass_script(self.inner.begin(key, ask));
                if standstill.is_zero() {
                    return answer;
                }
                Box::pin(async move {
                    let answer = answer.await;
                    tokio::time::sleep(standstill).await;
                    answer
                })
            }
        }
    }

    fn renew<'a>(&'a self, asks: &'a [RenewAsk]) -> Reply<'a, Renewals> {
        let answers = self.pass_script(self.inner.renew(asks));
        // Each lock may be missing for reasons of its own.
        let late = *self.beat.lock().unwrap();
        Box::pin(async move {
            tokio::time::sleep(late).await;
            let answers = answers.await;
            Ok(answers.unwrap_or_else(|fault| vec![Err(fault); asks.len()]))
        })
    }

    fn finish<'a>(&'a self, key: &'a Key, ask: &'a FinishAsk) -> Reply<'a, FinishAnswer> {
        self.pass_script(self.inner.finish(key, ask))
    }

    fn abandon<'a>(&'a self, key: &'a Key, ask: AbandonAsk) -> Reply<'a, bool> {
        self.pass_script(self.inner.abandon(key, ask))
    }

    fn replace<'a>(&'a self, key: &'a Key, ask: &'a ReplaceAsk) -> Reply<'a, bool> {
        self.pass_script(self.inner.replace(key, ask))
    }

    fn listen<'a>(&'a self, key: &'a Key) -> Reply<'a, Listener> {
        if self.deaf.load(Ordering::Relaxed) {
            return Box::pin(async { self.inner.listen(&Key::new("elsewhere", &[])).await });
        }
        let late = *self.telling.lock().unwrap();
        let ear = self.pass(self.inner.listen(key));
        if late.is_zero() {
            return ear;
        }
        Box::pin(async move { Ok(delayed(ear.await?, late)) })
    }

    fn listening(&self, key: &Key) -> Option<Listener> {
        let late = !self.telling.lock().unwrap().is_zero();
        let hears = !self.deaf.load(Ordering::Relaxed) && !late;
        hears.then(|| self.inner.listening(key)).flatten()
    }

    fn subscriptions(&self) -> usize {
        self.inner.subscriptions()
    }

    fn close(&self) -> Reply<'_, ()> {
        self.inner.close()
    }
}

/// An ear that hears what this one does, each notice so much later.
fn delayed(mut ear: Listener, by: Duration) -> Listener {
    let (tell, told) = tokio::sync::mpsc::unbounded_channel();
    let telling = tokio::spawn(async move {
        loop {
            let notice = ear.next().await;
            tokio::time::sleep(by).await;
            let _ = tell.send(notice);
        }
    });
    Listener::new(told, Interest::new(move || telling.abort()))
}
