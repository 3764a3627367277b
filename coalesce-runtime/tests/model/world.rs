//! The world of the model: the real cell, its callers, and what has happened so far.

use std::time::Duration;

use bytes::Bytes;
use coalesce_runtime::coordination::{
    AbandonAsk, BeginAnswer, BeginAsk, Cell, Envelope, FinishAnswer, FinishAsk, RenewAnswer,
    RenewAsk, ReplaceAsk, Seen, ServerTime, Status, Token,
};

use crate::caller::{Caller, How, Leading, Phase};
use crate::key;
use crate::setup::{Faults, Mistake, Setup};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct World {
    pub(crate) cell: Cell,
    pub(crate) tick: u8,
    pub(crate) callers: Vec<Caller>,
    pub(crate) left: Faults,
    pub(crate) past: Past,
}

/// What has happened, as far as the properties want to know. Flights are numbered by their election.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Past {
    /// The flights, in the order in which the lock was given to them.
    pub(crate) elected: Vec<Token>,
    /// The numbers of the flights whose outcome became the state, in that order.
    pub(crate) stored: Vec<u8>,
    /// Flights whose outcome nobody gets who comes later: ended, or begun before an invalidation.
    pub(crate) barred: u16,
    /// Flights elected before an invalidation.
    pub(crate) fenced: u16,
    /// Flights whose body has begun.
    pub(crate) begun: u16,
    /// Bodies that have ended, and invalidations.
    pub(crate) events: u8,
    /// No lock lives longer.
    pub(crate) locked_until: u8,
}

/// What becomes of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Question {
    Answered,
    /// It is carried out.
    AnswerLost,
    /// It is not.
    Lost,
}

/// Finer than a tick, so that whatever ends something has a before and an after within one.
const TICK: u64 = 16;

pub(crate) fn ticks(number: u8) -> Duration {
    Duration::from_micros(u64::from(number) * TICK)
}

impl World {
    pub(crate) fn new(setup: &Setup) -> Self {
        Self {
            cell: Cell::default(),
            tick: 1,
            callers: vec![Caller::new(); setup.callers],
            left: setup.faults.clone(),
            past: Past::default(),
        }
    }

    fn now(&self) -> ServerTime {
        ServerTime::from_micros(u64::from(self.tick) * TICK + u64::from(self.past.events))
    }

    /// BEGIN: the first one, one whose answer was lost, or a follower's look.
    pub(crate) fn begin(&mut self, setup: &Setup, number: usize, question: Question) {
        let now = self.now();
        let caller = &mut self.callers[number];
        if caller.phase == Phase::Away {
            caller.phase = Phase::Asking;
            caller.arrived = now;
            caller.barred = self.past.barred;
        }
        let token = caller.token(number);
        if self.is_lost(question) {
            return;
        }
        let ask = begin_ask(setup, token, &self.callers[number].phase);
        let told = if setup.mistake == Some(Mistake::NoTakeover) && ask.following.is_some() {
            self.only_read(now, &ask)
        } else {
            Some(self.cell.begin(now, &ask))
        };
        let leads = matches!(told, Some(BeginAnswer::Lead { .. }));
        if leads {
            self.past.elect(token);
            self.lock_for(setup.lease);
        }
        let lost = self.answer_is_lost(question);
        self.callers[number].unanswered = lost;
        if lost {
            let changes = setup.mistake == Some(Mistake::NewTokenEachTime);
            self.callers[number].attempt += u8::from(changes);
            return;
        }
        if leads {
            self.past.begun |= self.past.bit(token);
        }
        match told {
            Some(told) => self.callers[number].begun(token, told, setup.mistake),
            None => self.callers[number].looked(),
        }
    }

    /// Hears the next message. A caller that starts again has a new token, and first frees the lock
    /// that its old one may hold: it would wait out its own lease.
    pub(crate) fn hear(&mut self, setup: &Setup, number: usize) {
        let caller = &mut self.callers[number];
        let token = caller.token(number);
        caller.hear(setup.mistake);
        let starts_again = caller.phase == Phase::Asking;
        if starts_again && caller.unanswered && setup.mistake != Some(Mistake::NoFarewell) {
            caller.unanswered = false;
            let told = self
                .cell
                .abandon(self.now(), &key(), AbandonAsk::body_failed(token));
            self.tell(setup, told.publish);
        }
    }

    fn is_lost(&mut self, question: Question) -> bool {
        let lost = question == Question::Lost;
        self.left.losses -= u8::from(lost);
        lost
    }

    fn answer_is_lost(&mut self, question: Question) -> bool {
        let lost = question == Question::AnswerLost;
        self.left.losses -= u8::from(lost);
        lost
    }

    /// A look at the state that leaves the lock alone; `None` when there is nothing new.
    fn only_read(&mut self, now: ServerTime, ask: &BeginAsk) -> Option<BeginAnswer> {
        let bytes = self.cell.read(now)?;
        let new = ask.seen != Some(Seen::of_state(Some(&bytes)));
        new.then_some(BeginAnswer::State(bytes))
    }

    /// RENEW. A beat that is lost is made up for by the next.
    pub(crate) fn renew(&mut self, setup: &Setup, number: usize, question: Question) {
        let Some(leading) = self.leading(number) else {
            return;
        };
        let ask = RenewAsk {
            key: key(),
            token: leading.token,
            seen: leading.seen,
            lease: ticks(setup.lease),
            retake_until: retake_until(setup, &leading),
        };
        let told = if self.is_lost(question) {
            None
        } else {
            Some(self.cell.renew(self.now(), &ask))
        };
        if told.is_some_and(|told| told != RenewAnswer::Lost) {
            self.lock_for(setup.lease);
        }
        let told = told.filter(|_| !self.answer_is_lost(question));
        if let Phase::Leading(leading) = &mut self.callers[number].phase {
            leading.beat_due = false;
            leading.unsure_for = match told {
                None => leading.unsure_for,
                Some(RenewAnswer::Lost) => setup.pending,
                Some(_) => 0,
            };
        }
    }

    /// The body ends, if it has not, and FINISH is asked. Its own caller gets the outcome whatever the
    /// answer is.
    pub(crate) fn finish(&mut self, setup: &Setup, number: usize, question: Question) {
        self.end(number);
        let Some(leading) = self.leading(number) else {
            return;
        };
        if self.is_lost(question) {
            return;
        }
        let now = self.now();
        let ask = finish_ask(setup, &leading);
        let mut told = self.cell.finish(now, &key(), &ask);
        if setup.mistake == Some(Mistake::UnfencedFinish) && told.answer == FinishAnswer::Lost {
            told.publish = self.cell.replace(now, &key(), &unfenced(&ask)).publish;
            told.answer = FinishAnswer::Stored;
        }
        // A finish asked again publishes nothing: it was counted the first time.
        if told.answer == FinishAnswer::Stored && told.publish.is_some() {
            self.past.stored.push(self.past.number(leading.token));
        }
        self.tell(setup, told.publish);
        if self.answer_is_lost(question) {
            return;
        }
        let how = match told.answer {
            FinishAnswer::Stored | FinishAnswer::Spared => How::Led,
            FinishAnswer::Fenced { .. } | FinishAnswer::Lost => How::LedInVain,
        };
        let with = leading.token;
        self.callers[number].phase = Phase::Answered { with, how };
        self.callers[number].told.clear();
    }

    fn end(&mut self, number: usize) {
        let now = self.now();
        if let Phase::Leading(leading) = &mut self.callers[number].phase
            && leading.ended.is_none()
        {
            leading.ended = Some(now);
            self.past.barred |= self.past.bit(leading.token);
            self.past.events += 1;
        }
    }

    /// ABANDON, after a panic.
    pub(crate) fn abandon(&mut self, setup: &Setup, number: usize) {
        let Some(leading) = self.leading(number) else {
            return;
        };
        let now = self.now();
        let told = self
            .cell
            .abandon(now, &key(), AbandonAsk::body_failed(leading.token));
        self.left.panics -= 1;
        self.gone(number);
        self.tell(setup, told.publish);
    }

    /// REPLACE by no outcome, from outside.
    pub(crate) fn invalidate(&mut self, setup: &Setup) {
        self.left.invalidations -= 1;
        let now = self.now();
        let token = Token::from_bytes([0xff; Token::LEN]);
        let envelope = Envelope::new(Status::Invalidated, 0, token, Duration::ZERO, Bytes::new());
        let life = ticks(100);
        let told = self
            .cell
            .replace(now, &key(), &ReplaceAsk { envelope, life });
        self.past.fenced |= self.past.all();
        self.past.barred |= self.past.begun;
        self.past.events += 1;
        self.tell(setup, told.publish);
    }

    /// Time passes, once everybody who is well has done what was due.
    pub(crate) fn pass(&mut self, setup: &Setup) {
        self.tick += 1;
        let now = self.now();
        self.cell.expire(now);
        for caller in &mut self.callers {
            caller.wait_a_tick(setup);
        }
    }

    /// Whether time may pass: nobody is due, and something waits for time.
    pub(crate) fn may_pass(&self, setup: &Setup) -> bool {
        let due = |caller: &Caller| caller.is_due(setup);
        let waits = |caller: &Caller| match &caller.phase {
            Phase::Following(_) => true,
            Phase::Leading(leading) => !leading.stalled,
            _ => false,
        };
        !self.callers.iter().any(due)
            && (self.callers.iter().any(waits) || self.tick < self.past.locked_until)
    }

    pub(crate) fn gone(&mut self, number: usize) {
        self.callers[number].phase = Phase::Gone;
        self.callers[number].told.clear();
    }

    pub(crate) fn leading(&self, number: usize) -> Option<Leading> {
        match &self.callers[number].phase {
            Phase::Leading(leading) => Some(leading.clone()),
            _ => None,
        }
    }

    fn lock_for(&mut self, lease: u8) {
        self.past.locked_until = self.past.locked_until.max(self.tick + lease);
    }

    fn tell(&mut self, setup: &Setup, message: Option<Bytes>) {
        let Some(message) = message else {
            return;
        };
        for caller in &mut self.callers {
            let hears = match caller.phase {
                Phase::Following(_) => true,
                Phase::Away | Phase::Asking => setup.lingers,
                _ => false,
            };
            if hears {
                caller.told.push(message.clone());
            }
        }
    }
}

impl Past {
    /// A token whose first election nobody knows of may be elected again, after others.
    fn elect(&mut self, token: Token) {
        if self.elected.last() != Some(&token) {
            self.elected.push(token);
        }
    }

    fn number(&self, token: Token) -> u8 {
        let number = self.elected.iter().rposition(|elected| *elected == token);
        u8::try_from(number.expect("a flight that was elected")).expect("few flights")
    }

    /// The flight's place in a set of flights.
    pub(crate) fn bit(&self, token: Token) -> u16 {
        1 << self.number(token)
    }

    fn all(&self) -> u16 {
        (1 << self.elected.len()) - 1
    }
}

fn begin_ask(setup: &Setup, token: Token, phase: &Phase) -> BeginAsk {
    let following = match phase {
        Phase::Following(following) => Some(following),
        _ => None,
    };
    BeginAsk {
        token,
        lease: ticks(setup.lease),
        // Nothing is retained: a newcomer wants no state that is there already.
        seen: following.map(|following| following.seen),
        following: following.map(|following| following.leader),
        trace: None,
    }
}

/// Whatever is said here is done at once: nothing in this world is late.
fn retake_until(setup: &Setup, leading: &Leading) -> ServerTime {
    let micros = if leading.may_retake(setup) {
        u64::MAX
    } else {
        0
    };
    ServerTime::from_micros(micros)
}

fn finish_ask(setup: &Setup, leading: &Leading) -> FinishAsk {
    let token = leading.token;
    let envelope = Envelope::new(Status::Done, 1, token, Duration::ZERO, Bytes::new());
    FinishAsk {
        envelope: Envelope {
            computed_at: leading.ended.unwrap_or_default(),
            ..envelope
        },
        ended_ago: Duration::ZERO,
        life: ticks(setup.life),
        seen: leading.seen,
        retake_until: retake_until(setup, leading),
        began: None,
        spare_value: None,
    }
}

fn unfenced(ask: &FinishAsk) -> ReplaceAsk {
    ReplaceAsk {
        envelope: ask.envelope.clone(),
        life: ask.life,
    }
}
