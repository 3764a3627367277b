//! The stage: a private Redis and the cell, on which the same story is played.

use std::cell::{Cell as Counter, RefCell};
use std::time::Duration;

use coalesce_rig::{Connection, RedisServer, Value};
use coalesce_runtime::coordination::{
    AbandonAsk, BeginAsk, Cell, Coordinator as _, Envelope, FinishAsk, RenewAsk, ReplaceAsk, Seen,
    ServerTime, Status, Token, Traceparent,
};
use coalesce_runtime::{Fault, Key, RedisCoordinator, RedisSettings};
use tokio::runtime::Runtime;

use crate::asks::{envelope, finishing, retake_until};
use crate::rules;
use crate::said::{Said, begun, finished, forgot_its_fence, may_follow, renewed, same};
use crate::seen::{Sight, lock_of, message_without_moments, names, state_of, without_moments};
use crate::story::{Mark, Question, Step};

/// States live so long that nothing ends by itself while a slow machine looks at it.
pub(crate) const LIFE: Duration = Duration::from_mins(10);

pub(crate) struct Stage {
    _server: RedisServer,
    runtime: Runtime,
    coordinator: RedisCoordinator,
    redis: RefCell<Connection>,
    /// Hears everything that is published.
    ear: RefCell<Connection>,
    stories: Counter<u32>,
    questions: Counter<u64>,
    /// How many of them were refused.
    pub(crate) refused: Counter<u64>,
}

/// What the cell says, and what it publishes.
type Twin = (Said, Vec<Vec<u8>>);

/// One question that was played, and what was seen around it.
pub(crate) struct Played<'a> {
    pub(crate) question: &'a Question,
    /// The mark that was given with it.
    pub(crate) mark: Seen,
    pub(crate) before: &'a Sight,
    pub(crate) after: &'a Sight,
}

impl Stage {
    pub(crate) fn start() -> Self {
        let server = RedisServer::start();
        let runtime = Runtime::new().unwrap();
        // A busy machine may take its time; what a deadline does is tested elsewhere.
        let settings = RedisSettings::new(server.url()).deadline(Duration::from_secs(20));
        let coordinator = runtime
            .block_on(RedisCoordinator::connect(settings))
            .unwrap();
        let mut ear = server.connection();
        ear.command(&["PSUBSCRIBE", "coalesce:notify:*"]).unwrap();
        Self {
            redis: RefCell::new(server.connection()),
            ear: RefCell::new(ear),
            _server: server,
            runtime,
            coordinator,
            stories: Counter::new(0),
            questions: Counter::new(0),
            refused: Counter::new(0),
        }
    }

    pub(crate) fn questions(&self) -> u64 {
        self.questions.get()
    }

    /// Plays a story on a key of its own. Says what did not hold.
    pub(crate) fn play(&self, story: &[Step]) -> Result<(), String> {
        let key = self.new_key();
        let mut cell = Cell::default();
        // A story that failed may have left messages that nobody heard.
        drop(self.heard());
        let mut before = self.look(&key);
        let began = before.now;
        for (number, step) in story.iter().enumerate() {
            let (seen, mut first) = (mark_of(&step.question, &before), None);
            if let Some(refusal) = step.refused {
                let place = format!("question {number}, {refusal:?}");
                let asked = self.ask_refused(&key, &mut cell, step, seen, &before);
                asked.map_err(|reason| format!("{place}: {reason}"))?;
                before = self.look(&key);
                self.as_the_cell(&place, &key, &cell, &before, began)?;
            }
            for time in 1..=step.times {
                let place = format!("question {number}, asked for the {time}. time");
                let question = &step.question;
                let (answer, expected) = self.ask(&key, &mut cell, question, seen);
                let answer = answer.map_err(|fault| format!("{place}: {fault}"))?;
                same(&format!("{place}: the answer"), &answer, &expected.0)?;
                let after = self.look(&key);
                self.as_the_cell(&place, &key, &cell, &after, began)?;
                same(
                    &format!("{place}: the messages"),
                    &self.heard(),
                    &expected.1,
                )?;
                let played = Played {
                    question,
                    mark: seen,
                    before: &before,
                    after: &after,
                };
                if let Some(rule) = rules::broken(&played) {
                    return Err(format!("{place}: {rule}: {before:?} became {after:?}"));
                }
                if let Some((first, false)) = &first
                    && (!after.is_as(&before) || !may_follow(first, &answer))
                {
                    return Err(format!("{place}: after {first:?}, {answer:?} (S8)"));
                }
                let forgotten = forgot_its_fence(&answer, &before, seen);
                first.get_or_insert((answer, forgotten));
                before = after;
            }
        }
        Ok(())
    }

    fn new_key(&self) -> Key {
        self.stories.set(self.stories.get() + 1);
        Key::new("shop::get_order", &[&self.stories.get()])
    }

    pub(crate) fn look(&self, key: &Key) -> Sight {
        Sight::of(&mut self.redis.borrow_mut(), key)
    }

    /// Asks both.
    pub(crate) fn ask(
        &self,
        key: &Key,
        cell: &mut Cell,
        question: &Question,
        seen: Seen,
    ) -> (Result<Said, Fault>, Twin) {
        self.questions.set(self.questions.get() + 1);
        let now = ServerTime::from_micros(1_000_000_000 + self.questions.get());
        let (answer, expected, message) = self.runtime.block_on(async {
            match question {
                Question::Begin {
                    flight,
                    seconds,
                    unwanted,
                    following,
                } => {
                    let ask = BeginAsk {
                        token: token(*flight),
                        lease: Duration::from_secs(*seconds),
                        seen: unwanted.map(|_| seen),
                        following: following.map(token),
                        trace: trace(*flight),
                    };
                    let answer = self.coordinator.begin(key, &ask).await;
                    (answer.map(begun), begun(cell.begin(now, &ask)), None)
                }
                Question::Renew {
                    flight,
                    seconds,
                    may_retake,
                    ..
                } => {
                    let ask = RenewAsk {
                        key: key.clone(),
                        token: token(*flight),
                        seen,
                        lease: Duration::from_secs(*seconds),
                        retake_until: retake_until(*may_retake),
                    };
                    let answers = self.coordinator.renew(std::slice::from_ref(&ask)).await;
                    let answers = answers.unwrap();
                    assert_eq!(answers.len(), 1);
                    (
                        answers[0].map(renewed),
                        renewed(cell.renew(now, &ask)),
                        None,
                    )
                }
                Question::Finish { .. } => {
                    let ask = finishing(question, seen);
                    let answer = self.coordinator.finish(key, &ask).await;
                    let told = cell.finish(now, key, &ask);
                    (answer.map(finished), finished(told.answer), told.publish)
                }
                Question::Abandon { flight } => {
                    let answer = self
                        .coordinator
                        .abandon(key, AbandonAsk::body_failed(token(*flight)))
                        .await;
                    let told = cell.abandon(now, key, AbandonAsk::body_failed(token(*flight)));
                    (answer.map(Said::Yes), Said::Yes(told.answer), told.publish)
                }
                Question::Replace { by, status } => {
                    let ask = ReplaceAsk {
                        envelope: envelope(*by, *status, 5),
                        life: LIFE,
                    };
                    let answer = self.coordinator.replace(key, &ask).await;
                    let told = cell.replace(now, key, &ask);
                    (answer.map(Said::Yes), Said::Yes(told.answer), told.publish)
                }
                Question::Look => {
                    let answer = self.coordinator.read(key).await;
                    (answer.map(looked), looked(cell.read(now)), None)
                }
                Question::LockVanishes => {
                    self.remove(&names(key)[0]);
                    forget_lock(cell, now, key);
                    (Ok(Said::Nothing), Said::Nothing, None)
                }
                Question::StateVanishes => {
                    self.remove(&names(key)[1]);
                    forget_state(cell, now);
                    (Ok(Said::Nothing), Said::Nothing, None)
                }
            }
        });
        let messages = message.map(|bytes| message_without_moments(bytes.to_vec()));
        (answer, (expected, messages.into_iter().collect()))
    }

    /// What a test tells the server.
    pub(crate) fn order(&self, words: &[&str]) {
        let said = self.redis.borrow_mut().command(words).unwrap();
        assert_eq!(said, Value::Text(b"OK".to_vec()), "{words:?}");
    }

    fn remove(&self, name: &str) {
        let mut redis = self.redis.borrow_mut();
        redis.command(&["DEL", name]).unwrap();
    }

    /// What was published since this was asked last.
    pub(crate) fn heard(&self) -> Vec<Vec<u8>> {
        let mut ear = self.ear.borrow_mut();
        let mut heard = Vec::new();
        // What was published before the question was answered stands in front of this answer.
        let mut reply = ear.command(&["PING"]).unwrap().list();
        while reply[0] != Value::Text(b"pong".to_vec()) {
            match reply.pop() {
                Some(Value::Text(bytes)) => heard.push(message_without_moments(bytes)),
                other => panic!("a message, not {other:?}"),
            }
            reply = ear.read().unwrap().list();
        }
        heard
    }

    fn as_the_cell(
        &self,
        place: &str,
        key: &Key,
        cell: &Cell,
        sight: &Sight,
        began: u64,
    ) -> Result<(), String> {
        let now = ServerTime::from_micros(1_000_000_000 + self.questions.get());
        let state = |state: Option<Vec<u8>>| state.map(without_moments);
        let (is, should) = (
            sight.state.clone(),
            state_of(cell, now).map(|state| state.to_vec()),
        );
        same(
            &format!("{place}: the state"),
            &state(is),
            &state(should.clone()),
        )?;
        let lock = sight
            .lock
            .as_ref()
            .map(|lock| (lock.holder.clone(), lock.fenced.is_some()));
        let expected =
            lock_of(cell, now, key, flights()).map(|(token, fenced)| (token.to_hex(), fenced));
        same(&format!("{place}: the lock"), &lock, &expected)?;
        // The pause after a failed refresh, by each side's own clock. On the server it began a moment ago.
        let left = |until: u64, now: u64| until.saturating_sub(now);
        let expected = Envelope::decode(key, &should.unwrap_or_default().into())
            .map_or(0, |state| {
                left(state.refresh_after.as_micros(), now.as_micros())
            });
        let is = left(sight.refresh_after(), sight.now);
        // So long has the server's clock run, and the cell's has hardly moved.
        let slack = sight.now - began;
        if is > expected + 1_000 || is + slack < expected {
            return Err(format!("{place}: a pause of {is} instead of {expected}"));
        }
        Ok(())
    }

    /// A FINISH whose leader says that the body ended `said` microseconds after now, and `ended_ago` before.
    pub(crate) fn finish_dated(&self, said: i64, ended_ago: u64) -> Result<(), String> {
        let key = self.new_key();
        let begin = BeginAsk {
            token: token(1),
            lease: LIFE,
            seen: None,
            following: None,
            trace: None,
        };
        let before = self.look(&key).now;
        let said = before.saturating_add_signed(said);
        let ask = FinishAsk {
            envelope: Envelope {
                computed_at: ServerTime::from_micros(said),
                ..envelope(1, Status::Done, 5)
            },
            ended_ago: Duration::from_micros(ended_ago),
            life: LIFE,
            seen: Seen::NOTHING,
            retake_until: retake_until(false),
            began: None,
            spare_value: None,
        };
        self.runtime.block_on(async {
            self.coordinator.begin(&key, &begin).await.unwrap();
            self.coordinator.finish(&key, &ask).await.unwrap();
        });
        let after = self.look(&key);
        let state = after.state.unwrap_or_default();
        let stamped = Envelope::decode(&key, &state.into())
            .unwrap()
            .computed_at
            .as_micros();
        let (earliest, latest) = (before - ended_ago, after.now - ended_ago);
        let believable = said <= latest && said + 60_000_000 >= earliest;
        let plain = (earliest..=latest).contains(&stamped);
        // At the edges it depends on when the script ran.
        let surely = said <= earliest && said + 60_000_000 >= latest;
        if plain && !surely || stamped == said && believable {
            return Ok(());
        }
        Err(format!(
            "{said} said, {stamped} stamped, {earliest} to {latest} possible"
        ))
    }
}

/// The mark that is given with a question.
fn mark_of(question: &Question, sight: &Sight) -> Seen {
    let mark = match question {
        Question::Begin { unwanted, .. } => unwanted.unwrap_or(Mark::Nothing),
        Question::Renew { seen, .. } | Question::Finish { seen, .. } => *seen,
        _ => Mark::Nothing,
    };
    match mark {
        Mark::Nothing => Seen::NOTHING,
        Mark::OfNow => sight.mark(),
        Mark::Of(flight) => token(flight).into(),
    }
}

fn looked(state: Option<bytes::Bytes>) -> Said {
    Said::Looked(state.map(|state| without_moments(state.to_vec())))
}

fn forget_lock(cell: &mut Cell, now: ServerTime, key: &Key) {
    for flight in flights() {
        cell.abandon(now, key, AbandonAsk::body_failed(flight));
    }
}

fn forget_state(cell: &mut Cell, now: ServerTime) {
    cell.plant(bytes::Bytes::new(), now);
    cell.expire(now);
}

pub(crate) fn token(flight: u8) -> Token {
    Token::from_bytes([flight; 16])
}

/// Two of the three flights are part of a trace.
fn trace(flight: u8) -> Option<Traceparent> {
    let text = format!("00-{}-00f067aa0ba902b7-01", hex(flight));
    Traceparent::parse(&text).filter(|_| flight != 2)
}

pub(crate) fn hex(flight: u8) -> String {
    token(flight).to_hex()
}

fn flights() -> impl Iterator<Item = Token> {
    (1..=3).map(token)
}
