//! The simulated server: the cells of all keys by the library's own rules, and a record of what they granted and kept.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use coalesce_runtime::Key;
use coalesce_runtime::coordination::{
    AbandonAsk, BeginAnswer, BeginAsk, Cell, Envelope, FinishAnswer, FinishAsk, RenewAnswer,
    RenewAsk, ReplaceAsk, ServerTime, Status, Token,
};

use crate::ledger::At;
use crate::sabotage::Sabotage;

/// One lock that was granted, and what became of it.
#[derive(Clone, Debug)]
pub struct Grant {
    pub key: usize,
    pub pod: usize,
    pub token: Token,
    pub at: At,
    /// Whether the pod has learned of it.
    pub delivered: bool,
    pub until: At,
    pub ended: Option<(At, Ended)>,
    /// How many writes there had been.
    pub writes: usize,
}

/// How a lock ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    Finished,
    Abandoned,
    Expired,
    /// The server lost it.
    Lost,
    /// It was fenced and another flight began.
    Passed,
}

/// A state, as the server could have shown it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Visible {
    pub status: Status,
    pub token: Token,
    pub computed_at: At,
    pub refresh_after: At,
    /// When its body began.
    pub began: At,
}

/// One change of a visible state.
#[derive(Clone, Debug)]
pub struct Write {
    pub key: usize,
    pub at: At,
    pub visible: Option<Visible>,
    pub why: &'static str,
}

/// The server.
#[derive(Debug, Default)]
pub struct Server {
    pub keys: Vec<Key>,
    cells: Vec<Cell>,
    /// The lock of each key by the record: its grant, if it is held.
    holders: Vec<Option<usize>>,
    fenced: Vec<bool>,
    pub grants: Vec<Grant>,
    pub writes: Vec<Write>,
    pub switch: BTreeMap<String, String>,
    pub sabotage: Sabotage,
    /// What the record says must not have happened.
    pub wrongs: Vec<(&'static str, String)>,
}

/// Where the server's clock stands when a scenario begins.
const FIRST_MOMENT: u64 = 1_000_000_000_000;

/// The server's time at a moment of the scenario.
pub const fn server_time(at: At) -> ServerTime {
    ServerTime::from_micros(FIRST_MOMENT + at)
}

const fn scenario_time(time: ServerTime) -> At {
    time.as_micros().saturating_sub(FIRST_MOMENT)
}

fn micros(span: Duration) -> At {
    At::try_from(span.as_micros()).unwrap_or(At::MAX)
}

impl Server {
    pub fn new(keys: Vec<Key>, sabotage: Sabotage) -> Self {
        Self {
            cells: vec![Cell::default(); keys.len()],
            holders: vec![None; keys.len()],
            fenced: vec![false; keys.len()],
            keys,
            sabotage,
            ..Self::default()
        }
    }

    pub fn read(&mut self, at: At, key: usize) -> Option<Bytes> {
        let from = self.sabotage.read_key(key, self.keys.len());
        let state = self.cells[from].read(server_time(at));
        if from == key {
            return state;
        }
        let foreign = Envelope::decode(&self.keys[from], state.as_ref()?).ok()?;
        Some(foreign.encode(&self.keys[key]))
    }

    pub fn begin(&mut self, at: At, pod: usize, key: usize, ask: &BeginAsk) -> BeginAnswer {
        self.expire(at, key);
        let mut answer = self.cells[key].begin(server_time(at), ask);
        if let Some(broken) = self.sabotage.begin(&answer) {
            answer = broken;
        }
        if matches!(answer, BeginAnswer::Lead { .. }) {
            self.granted(at, pod, key, ask);
        }
        answer
    }

    fn granted(&mut self, at: At, pod: usize, key: usize, ask: &BeginAsk) {
        if let Some(holder) = self.holders[key] {
            if self.grants[holder].token == ask.token {
                return;
            }
            if !self.fenced[key] {
                let sentence = format!(
                    "key {key} was granted to pod {pod} at {at} while pod {} held it",
                    self.grants[holder].pod
                );
                self.wrongs.push(("S1", sentence));
            }
            self.grants[holder].ended = Some((at, Ended::Passed));
        }
        self.holders[key] = Some(self.grants.len());
        self.fenced[key] = false;
        self.grants.push(Grant {
            key,
            pod,
            token: ask.token,
            at,
            delivered: false,
            until: at + micros(ask.lease),
            ended: None,
            writes: self.writes.len(),
        });
    }

    /// The pod has learned that it leads.
    pub fn delivered(&mut self, token: Token) {
        for grant in self.grants.iter_mut().filter(|grant| grant.token == token) {
            grant.delivered = true;
        }
    }

    pub fn renew(&mut self, at: At, key: usize, ask: &RenewAsk) -> RenewAnswer {
        self.expire(at, key);
        if self.sabotage == Sabotage::ForgetsRenewal {
            return RenewAnswer::Held;
        }
        let answer = self.cells[key].renew(server_time(at), ask);
        let held = answer != RenewAnswer::Lost;
        if let Some(grant) = held.then(|| self.grant_of(ask.token)).flatten() {
            self.grants[grant].until = at + micros(ask.lease);
            self.grants[grant].ended = None;
            self.holders[key] = Some(grant);
        }
        answer
    }

    pub fn finish(&mut self, at: At, key: usize, ask: &FinishAsk) -> (FinishAnswer, Option<Bytes>) {
        self.expire(at, key);
        let before = self.cells[key].read(server_time(at));
        let (mut ask, token) = (ask.clone(), ask.envelope.token);
        self.sabotage
            .finish(&mut self.cells[key], &mut ask, server_time(at));
        let told = self.cells[key].finish(server_time(at), &self.keys[key], &ask);
        if told.answer != FinishAnswer::Lost {
            self.ended(at, key, token, Ended::Finished);
        }
        self.wrote(at, key, before.as_ref(), "finish");
        (told.answer, self.sabotage.message(told.publish))
    }

    pub fn abandon(&mut self, at: At, key: usize, ask: AbandonAsk) -> (bool, Option<Bytes>) {
        self.expire(at, key);
        if self.sabotage == Sabotage::LosesAbandon {
            return (true, None);
        }
        let told = self.cells[key].abandon(server_time(at), &self.keys[key], ask);
        if told.answer {
            self.ended(at, key, ask.token, Ended::Abandoned);
        }
        (told.answer, told.publish)
    }

    pub fn replace(&mut self, at: At, key: usize, ask: &ReplaceAsk) -> (bool, Option<Bytes>) {
        self.expire(at, key);
        if self.sabotage == Sabotage::ForgetsInvalidation {
            return (false, None);
        }
        let before = self.cells[key].read(server_time(at));
        let told = self.cells[key].replace(server_time(at), &self.keys[key], ask);
        self.fenced[key] = self.holders[key].is_some();
        self.wrote(at, key, before.as_ref(), "replace");
        (told.answer, told.publish)
    }

    /// The server loses what it holds of a key.
    pub fn lose(&mut self, at: At, key: usize) {
        self.expire(at, key);
        let before = self.cells[key].read(server_time(at));
        self.cells[key] = Cell::default();
        if let Some(holder) = self.holders[key].take() {
            self.grants[holder].ended = Some((at, Ended::Lost));
        }
        self.wrote(at, key, before.as_ref(), "lost");
    }

    /// Whether something of the key will be left then.
    pub fn holds(&mut self, at: At, key: usize) -> bool {
        self.cells[key].expire(server_time(at));
        !self.cells[key].is_empty()
    }

    pub fn visible(&mut self, at: At, key: usize) -> Option<Visible> {
        let state = self.cells[key].read(server_time(at))?;
        let envelope = Envelope::decode(&self.keys[key], &state).ok()?;
        Some(Visible {
            status: envelope.status,
            token: envelope.token,
            computed_at: scenario_time(envelope.computed_at),
            refresh_after: scenario_time(envelope.refresh_after),
            began: scenario_time(envelope.computed_at.minus(envelope.ran_for)),
        })
    }

    /// The place of a token in the order of grants.
    pub fn grant_of(&self, token: Token) -> Option<usize> {
        self.grants.iter().rposition(|grant| grant.token == token)
    }

    fn expire(&mut self, at: At, key: usize) {
        let expired = self.holders[key].filter(|holder| self.grants[*holder].until <= at);
        if let Some(holder) = expired {
            let until = self.grants[holder].until;
            self.grants[holder].ended = Some((until, Ended::Expired));
            self.holders[key] = None;
            self.fenced[key] = false;
        }
        self.cells[key].expire(server_time(at));
    }

    /// Notes every lock that has ended by itself.
    pub fn close_books(&mut self, at: At) {
        for key in 0..self.keys.len() {
            self.expire(at, key);
        }
    }

    fn ended(&mut self, at: At, key: usize, token: Token, how: Ended) {
        let held = self.holders[key].filter(|holder| self.grants[*holder].token == token);
        if let Some(holder) = held {
            self.grants[holder].ended = Some((at, how));
            self.holders[key] = None;
            self.fenced[key] = false;
        }
    }

    fn wrote(&mut self, at: At, key: usize, before: Option<&Bytes>, why: &'static str) {
        if self.cells[key].read(server_time(at)).as_ref() != before {
            let visible = self.visible(at, key);
            self.writes.push(Write {
                key,
                at,
                visible,
                why,
            });
        }
    }
}
