//! A coordinator that is observed: each question is timed, and what has no answer is told by its kind.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::coordinator::{Coordinator, Listener, Renewals, Reply};
use super::event::{Event, Operation};
use super::health::CoordinatorHealth;
use super::observer::{Observers, PROCESS};
use crate::engine::ask::{
    AbandonAsk, BeginAnswer, BeginAsk, FinishAnswer, FinishAsk, RenewAnswer, RenewAsk, ReplaceAsk,
};
use crate::words::clock::{Instant, ServerClock, now};
use crate::words::fault::Fault;
use crate::words::key::Key;

/// Tells the observers about each question to another coordinator.
#[derive(Debug)]
pub(crate) struct Observed {
    inner: Arc<dyn Coordinator>,
    observers: Arc<Observers>,
}

impl Observed {
    pub(crate) fn new(inner: Arc<dyn Coordinator>, observers: Arc<Observers>) -> Self {
        Self { inner, observers }
    }

    fn time<'a, A: 'a>(
        &'a self,
        namespace: &'a str,
        operation: Operation,
        reply: Reply<'a, A>,
    ) -> Reply<'a, A> {
        Box::pin(async move {
            let asked = now();
            let answer = reply.await;
            if let Err(fault) = &answer {
                self.faulted(namespace, operation, *fault);
            }
            if answer.as_ref().err().is_none_or(|fault| fault.is_a_reply()) {
                self.answered(namespace, operation, asked);
            }
            answer
        })
    }

    fn answered(&self, namespace: &str, operation: Operation, asked: Instant) {
        let took = now().saturating_duration_since(asked);
        self.observers
            .record(namespace, &Event::RoundTrip { operation, took });
    }

    fn faulted(&self, namespace: &str, operation: Operation, fault: Fault) {
        self.observers
            .record(namespace, &Event::Faulted { operation, fault });
    }

    fn of_key<'a, A: 'a>(
        &'a self,
        key: &'a Key,
        operation: Operation,
        reply: Reply<'a, A>,
    ) -> Reply<'a, A> {
        self.time(key.namespace(), operation, reply)
    }

    fn of_process<'a, A: 'a>(&'a self, operation: Operation, reply: Reply<'a, A>) -> Reply<'a, A> {
        self.time(PROCESS, operation, reply)
    }
}

/// The faults of a batch, each once: many leases are renewed by one question, and what had no answer was that.
/// A refusal is the matter of a namespace, and silence that of the process.
fn faults_of<'a>(
    asks: &'a [RenewAsk],
    answers: &[Result<RenewAnswer, Fault>],
) -> HashSet<(&'a str, Fault)> {
    let told = asks.iter().zip(answers);
    told.filter_map(|(ask, answer)| {
        let fault = answer.err()?;
        let namespace = if fault.is_a_reply() {
            &**ask.key.namespace()
        } else {
            PROCESS
        };
        Some((namespace, fault))
    })
    .collect()
}

// What it does not forward, the trait's defaults would answer.
#[warn(clippy::missing_trait_methods)]
impl Coordinator for Observed {
    fn kind(&self) -> &'static str {
        self.inner.kind()
    }

    fn deadline(&self) -> Duration {
        self.inner.deadline()
    }

    fn health(&self) -> CoordinatorHealth {
        self.inner.health()
    }

    fn clock(&self, key: &Key) -> ServerClock {
        self.inner.clock(key)
    }

    fn read<'a>(&'a self, key: &'a Key) -> Reply<'a, Option<Bytes>> {
        self.of_key(key, Operation::Read, self.inner.read(key))
    }

    fn begin<'a>(&'a self, key: &'a Key, ask: &'a BeginAsk) -> Reply<'a, BeginAnswer> {
        self.of_key(key, Operation::Begin, self.inner.begin(key, ask))
    }

    fn renew<'a>(&'a self, asks: &'a [RenewAsk]) -> Reply<'a, Renewals> {
        let reply = self.inner.renew(asks);
        Box::pin(async move {
            let asked = now();
            let answers = reply.await;
            let none = |fault: &Fault| !fault.is_a_reply();
            let answered = match &answers {
                Ok(answers) => {
                    answers.is_empty()
                        || !answers
                            .iter()
                            .all(|answer| answer.as_ref().is_err_and(none))
                }
                Err(fault) => fault.is_a_reply(),
            };
            if answered {
                self.answered(PROCESS, Operation::Renew, asked);
            }
            let faults = match &answers {
                Ok(answers) => faults_of(asks, answers),
                Err(fault) => HashSet::from([(PROCESS, *fault)]),
            };
            for (namespace, fault) in faults {
                self.faulted(namespace, Operation::Renew, fault);
            }
            answers
        })
    }

    fn finish<'a>(&'a self, key: &'a Key, ask: &'a FinishAsk) -> Reply<'a, FinishAnswer> {
        self.of_key(key, Operation::Finish, self.inner.finish(key, ask))
    }

    fn abandon<'a>(&'a self, key: &'a Key, ask: AbandonAsk) -> Reply<'a, bool> {
        self.of_key(key, Operation::Abandon, self.inner.abandon(key, ask))
    }

    fn replace<'a>(&'a self, key: &'a Key, ask: &'a ReplaceAsk) -> Reply<'a, bool> {
        self.of_key(key, Operation::Replace, self.inner.replace(key, ask))
    }

    fn listen<'a>(&'a self, key: &'a Key) -> Reply<'a, Listener> {
        self.of_key(key, Operation::Listen, self.inner.listen(key))
    }

    fn takes(&self, payload: usize) {
        self.inner.takes(payload);
    }

    fn listening(&self, key: &Key) -> Option<Listener> {
        self.inner.listening(key)
    }

    fn subscriptions(&self) -> usize {
        self.inner.subscriptions()
    }

    fn switches(&self) -> Reply<'_, Vec<(String, String)>> {
        self.of_process(Operation::Switch, self.inner.switches())
    }

    fn set_switch<'a>(
        &'a self,
        field: &'a str,
        text: Option<&'a str>,
    ) -> Reply<'a, Option<String>> {
        self.of_process(Operation::Switch, self.inner.set_switch(field, text))
    }

    /// Not told: a coordinator without a switch refuses it, and is asked again and again.
    fn switch_news(&self) -> Reply<'_, Listener> {
        self.inner.switch_news()
    }

    fn announce<'a>(&'a self, names: &'a [String], life: Duration) -> Reply<'a, ()> {
        self.of_process(Operation::Switch, self.inner.announce(names, life))
    }

    fn announced(&self) -> Reply<'_, Vec<String>> {
        self.of_process(Operation::Switch, self.inner.announced())
    }

    fn close(&self) -> Reply<'_, ()> {
        self.inner.close()
    }
}
