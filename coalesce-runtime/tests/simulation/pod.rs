//! The coordinator of one simulated pod: the library's port on one side, the hub on the other.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use coalesce_runtime::coordination::{
    AbandonAsk, BeginAnswer, BeginAsk, Coordinator, FinishAnswer, FinishAsk, Listener, Message,
    RenewAnswer, RenewAsk, Renewals, ReplaceAsk, Reply, ServerClock, Token,
};
use coalesce_runtime::{Fault, Key};

use crate::dice::Dice;
use crate::hub::Hub;
use crate::sabotage::Sabotage;
use crate::server::server_time;

/// A `Coordinator` whose every question may fail in every way that Redis can.
#[derive(Debug)]
pub struct SimCoordinator {
    hub: Arc<Hub>,
    pod: usize,
    clock: ServerClock,
    /// The order in which this pod's tokens were first used: random tokens must not order anything.
    tokens: Mutex<HashMap<Token, usize>>,
}

impl SimCoordinator {
    /// The coordinator of a pod. Its idea of the server's clock is off by less than it says.
    pub fn new(hub: &Arc<Hub>, pod: usize, dice: &mut Dice) -> Self {
        let uncertainty = Duration::from_millis(hub.weather().clock_error);
        let error = dice.span(0, 2 * hub.weather().clock_error);
        let sent = hub.began();
        let stamped = u64::try_from(error.as_micros()).unwrap_or_default();
        Self {
            hub: Arc::clone(hub),
            pod,
            clock: ServerClock::from_reply(server_time(stamped), sent, sent + 2 * uncertainty),
            tokens: Mutex::default(),
        }
    }

    fn ask<A: Send + 'static>(
        &self,
        key: Option<&Key>,
        what: &'static str,
        question: impl Fn(&Arc<Hub>, usize) -> A + Send + 'static,
    ) -> Reply<'static, A> {
        let (hub, pod) = (Arc::clone(&self.hub), self.pod);
        let key = key.map(|key| hub.key_number(key));
        Box::pin(async move {
            let number = key.unwrap_or_default();
            hub.carry(pod, key, what, move |hub| question(hub, number))
                .await
        })
    }

    fn order(&self, token: Token) -> usize {
        let mut tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        let next = tokens.len();
        *tokens.entry(token).or_insert(next)
    }
}

fn tell<A>(hub: &Arc<Hub>, key: usize, (answer, message): (A, Option<Bytes>)) -> A {
    if let Some(message) = message {
        hub.publish(Some(key), &message);
    }
    answer
}

impl Coordinator for SimCoordinator {
    fn kind(&self) -> &'static str {
        "simulation"
    }

    fn clock(&self, _key: &Key) -> ServerClock {
        self.clock
    }

    fn read<'a>(&'a self, key: &'a Key) -> Reply<'a, Option<Bytes>> {
        self.ask(Some(key), "read", |hub, key| {
            hub.server().read(hub.at(), key)
        })
    }

    fn begin<'a>(&'a self, key: &'a Key, ask: &'a BeginAsk) -> Reply<'a, BeginAnswer> {
        self.order(ask.token);
        let (pod, ask) = (self.pod, *ask);
        let answer = self.ask(Some(key), "begin", move |hub, key| {
            hub.server().begin(hub.at(), pod, key, &ask)
        });
        Box::pin(async move {
            let answer = answer.await?;
            if matches!(answer, BeginAnswer::Lead { .. }) {
                self.hub.server().delivered(ask.token);
            }
            Ok(answer)
        })
    }

    fn renew<'a>(&'a self, asks: &'a [RenewAsk]) -> Reply<'a, Renewals> {
        let mut ordered: Vec<_> = asks.iter().cloned().enumerate().collect();
        ordered.sort_by_key(|(_, ask)| self.order(ask.token));
        self.ask(None, "renew", move |hub, _| {
            let mut answers = vec![Ok(RenewAnswer::Lost); ordered.len()];
            for (place, ask) in &ordered {
                let answer = hub.server().renew(hub.at(), hub.key_number(&ask.key), ask);
                answers[*place] = Ok(answer);
            }
            answers
        })
    }

    fn finish<'a>(&'a self, key: &'a Key, ask: &'a FinishAsk) -> Reply<'a, FinishAnswer> {
        let ask = ask.clone();
        let answer = self.ask(Some(key), "finish", move |hub, key| {
            let told = hub.server().finish(hub.at(), key, &ask);
            tell(hub, key, told)
        });
        if self.hub.server().sabotage == Sabotage::SwallowsFinish {
            return Box::pin(std::future::pending());
        }
        answer
    }

    fn abandon<'a>(&'a self, key: &'a Key, ask: AbandonAsk) -> Reply<'a, bool> {
        self.ask(Some(key), "abandon", move |hub, key| {
            let told = hub.server().abandon(hub.at(), key, ask);
            tell(hub, key, told)
        })
    }

    fn replace<'a>(&'a self, key: &'a Key, ask: &'a ReplaceAsk) -> Reply<'a, bool> {
        let ask = ask.clone();
        self.ask(Some(key), "replace", move |hub, key| {
            let told = hub.server().replace(hub.at(), key, &ask);
            tell(hub, key, told)
        })
    }

    fn listen<'a>(&'a self, key: &'a Key) -> Reply<'a, Listener> {
        let (pod, number) = (self.pod, self.hub.key_number(key));
        let answer = self.ask(Some(key), "listen", move |hub, key| {
            hub.hearing(pod).listen(hub, pod, Some(key))
        });
        Box::pin(async move {
            let mut dice = self.hub.dice(pod, Some(number), "deaf");
            if dice.happens(self.hub.weather().deaf) {
                self.hub
                    .note(pod, Some(number), "deaf", Some(Fault::Refused));
                return Err(Fault::Refused);
            }
            answer.await
        })
    }

    fn listening(&self, key: &Key) -> Option<Listener> {
        let number = Some(self.hub.key_number(key));
        let sound = self
            .hub
            .weather()
            .outage(self.pod, self.hub.elapsed())
            .is_none();
        let mut hearing = self.hub.hearing(self.pod);
        let heard = sound && hearing.hears(number);
        heard.then(|| hearing.listen(&self.hub, self.pod, number))
    }

    fn subscriptions(&self) -> usize {
        self.hub.hearing(self.pod).len()
    }

    fn switches(&self) -> Reply<'_, Vec<(String, String)>> {
        self.ask(None, "switches", |hub, _| {
            hub.server().switch.clone().into_iter().collect()
        })
    }

    fn set_switch<'a>(
        &'a self,
        field: &'a str,
        text: Option<&'a str>,
    ) -> Reply<'a, Option<String>> {
        let (field, text) = (field.to_owned(), text.map(ToOwned::to_owned));
        self.ask(None, "set_switch", move |hub, _| {
            let replaced = match &text {
                Some(text) => hub.server().switch.insert(field.clone(), text.clone()),
                None => hub.server().switch.remove(&field),
            };
            hub.publish(None, &Message::encode_changed(hub.key(None)));
            replaced
        })
    }

    fn switch_news(&self) -> Reply<'_, Listener> {
        let pod = self.pod;
        self.ask(None, "switch_news", move |hub, _| {
            hub.hearing(pod).listen(hub, pod, None)
        })
    }

    fn close(&self) -> Reply<'_, ()> {
        Box::pin(std::future::ready(Ok(())))
    }
}
