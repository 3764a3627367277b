//! The oracle: random questions to real scripts and to the cell, whose twins they are, with equal answers.

use std::time::Duration;

use coalesce_rig::RedisServer;
use coalesce_runtime::RedisCoordinator;
use coalesce_runtime::coordination::{
    AbandonAsk, BeginAnswer, BeginAsk, Cell, Coordinator as _, Envelope, FinishAnswer, FinishAsk,
    RenewAnswer, RenewAsk, ReplaceAsk, Seen, ServerTime, Status, Traceparent,
};

use crate::scene::{Coordinated, SECOND, envelope, key, state, token};

/// What a flight says of its trace.
fn trace() -> Option<Traceparent> {
    Traceparent::parse("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
}

/// Long enough that nothing expires while a slow machine looks at it.
const LIFE: Duration = Duration::from_mins(10);

#[tokio::test(flavor = "multi_thread")]
async fn the_scripts_answer_as_the_cell_does() {
    let server = RedisServer::start();
    let coordinator = server.coordinator().await;
    every_answer_is_the_cells(&server, &coordinator, 3_000).await;
}

/// Asks both the same and compares answers and states, except for moments: those are compared as
/// zero or not, since each has a clock of its own.
pub(crate) async fn every_answer_is_the_cells(
    server: &RedisServer,
    coordinator: &RedisCoordinator,
    questions: u32,
) {
    let seed = fastrand::u64(..);
    let mut twins = Twins {
        coordinator,
        random: fastrand::Rng::with_seed(seed),
        cell: Cell::default(),
        now: ServerTime::from_micros(1_000_000_000),
    };
    for number in 0..questions {
        twins.now = twins.now.plus(Duration::from_micros(1));
        twins.ask_something().await;
        let (stored, expected) = (
            coordinator.read(&key(1)).await.unwrap(),
            twins.cell.read(twins.now),
        );
        let without_moments = |state: &bytes::Bytes| {
            let mut bytes = state.to_vec();
            for moment in [40..48, 56..64] {
                if bytes
                    .get(moment.clone())
                    .is_some_and(|bytes| bytes.iter().any(|byte| *byte != 0))
                {
                    bytes[moment].fill(1);
                }
            }
            bytes
        };
        assert_eq!(
            stored.as_ref().map(without_moments),
            expected.as_ref().map(without_moments),
            "question {number} of seed {seed}"
        );
        if twins.random.u8(..) < 8 {
            twins.cell = Cell::default();
            server.ask(&["DEL", &state(1), &crate::scene::lock(1)]);
        }
    }
}

struct Twins<'a> {
    coordinator: &'a RedisCoordinator,
    random: fastrand::Rng,
    cell: Cell,
    now: ServerTime,
}

impl Twins<'_> {
    async fn ask_something(&mut self) {
        match self.random.u8(..8) {
            0..3 => self.begin().await,
            3 => self.renew().await,
            4..6 => self.finish().await,
            6 => self.abandon().await,
            _ => self.replace().await,
        }
    }

    async fn begin(&mut self) {
        let ask = BeginAsk {
            token: self.token(),
            lease: LIFE,
            seen: self.random.bool().then(|| self.seen()),
            following: self.random.bool().then(|| self.token()),
            trace: self.random.bool().then(trace).flatten(),
        };
        let answer = self.coordinator.begin(&key(1), &ask).await.unwrap();
        let expected = self.cell.begin(self.now, &ask);
        match (answer, expected) {
            (BeginAnswer::State(_), BeginAnswer::State(_)) => {}
            (
                BeginAnswer::Follow {
                    leader,
                    lease_left,
                    seen,
                    trace,
                },
                BeginAnswer::Follow {
                    leader: expected,
                    seen: below,
                    trace: led_in,
                    ..
                },
            ) => {
                assert_eq!((leader, seen, trace), (expected, below, led_in));
                assert!(lease_left > Duration::ZERO && lease_left <= LIFE);
            }
            (answer, expected) => assert_eq!(answer, expected, "{ask:?}"),
        }
    }

    /// Behind everything, or before.
    fn some_time(&mut self) -> ServerTime {
        ServerTime::from_micros(if self.random.bool() { u64::MAX } else { 0 })
    }

    async fn renew(&mut self) {
        let ask = RenewAsk {
            key: key(1),
            token: self.token(),
            seen: self.seen(),
            lease: LIFE,
            retake_until: self.some_time(),
        };
        let answers = self
            .coordinator
            .renew(std::slice::from_ref(&ask))
            .await
            .unwrap();
        match (&answers[..], self.cell.renew(self.now, &ask)) {
            ([Ok(RenewAnswer::Fenced { .. })], RenewAnswer::Fenced { .. }) => {}
            (answers, expected) => assert_eq!(answers, [Ok(expected)], "{ask:?}"),
        }
    }

    async fn finish(&mut self) {
        let status = [Status::Done, Status::Failed, Status::TooLarge][self.random.usize(..3)];
        let ask = FinishAsk {
            envelope: self.envelope(status),
            ended_ago: Duration::from_micros(self.random.u64(..5)),
            life: LIFE,
            seen: self.seen(),
            retake_until: self.some_time(),
            began: self.random.bool().then(|| self.some_time()),
            spare_value: self.random.bool().then_some(SECOND),
        };
        let answer = self.coordinator.finish(&key(1), &ask).await.unwrap();
        match (answer, self.cell.finish(self.now, &key(1), &ask).answer) {
            (FinishAnswer::Fenced { .. }, FinishAnswer::Fenced { .. }) => {}
            (answer, expected) => assert_eq!(answer, expected, "{ask:?}"),
        }
    }

    async fn abandon(&mut self) {
        let token = self.token();
        let answer = self
            .coordinator
            .abandon(&key(1), AbandonAsk::body_failed(token))
            .await
            .unwrap();
        let expected = self
            .cell
            .abandon(self.now, &key(1), AbandonAsk::body_failed(token))
            .answer;
        assert_eq!(answer, expected);
    }

    async fn replace(&mut self) {
        let status = if self.random.bool() {
            Status::Done
        } else {
            Status::Invalidated
        };
        let ask = ReplaceAsk {
            envelope: self.envelope(status),
            life: LIFE,
        };
        let answer = self.coordinator.replace(&key(1), &ask).await.unwrap();
        assert_eq!(answer, self.cell.replace(self.now, &key(1), &ask).answer);
    }

    fn envelope(&mut self, status: Status) -> Envelope {
        let payload = vec![9; self.random.usize(..20)];
        envelope(status, self.token(), &payload)
    }

    /// One of few, so that they meet.
    fn token(&mut self) -> coalesce_runtime::coordination::Token {
        token(self.random.u8(1..4))
    }

    fn seen(&mut self) -> Seen {
        match self.random.u8(..4) {
            0 => Seen::NOTHING,
            _ => Seen::from(self.token()),
        }
    }
}
