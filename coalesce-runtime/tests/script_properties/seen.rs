//! What can be seen of a key, on a server and of a cell, in a form in which the two can be compared.

use std::time::Duration;

use bytes::Bytes;
use coalesce_rig::{Connection, Value};
use coalesce_runtime::Key;
use coalesce_runtime::coordination::{
    AbandonAsk, Cell, RenewAnswer, RenewAsk, Seen, ServerTime, Token,
};

/// Everything that the server keeps for a key.
#[derive(Clone, Debug)]
pub(crate) struct Sight {
    pub(crate) lock: Option<Lock>,
    pub(crate) state: Option<Vec<u8>>,
    /// What is left of lock and state, in milliseconds; negative for what Redis says of none.
    pub(crate) lock_left: i64,
    pub(crate) state_left: i64,
    /// The server's time.
    pub(crate) now: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lock {
    pub(crate) holder: String,
    pub(crate) fenced: Option<String>,
}

/// All of it at one moment.
const LOOK: &str = "local t = redis.call('TIME') return {redis.call('GET', KEYS[1]), redis.call('GET', KEYS[2]), \
    redis.call('PTTL', KEYS[1]), redis.call('PTTL', KEYS[2]), t[1], t[2]}";

impl Sight {
    pub(crate) fn of(redis: &mut Connection, key: &Key) -> Self {
        let names = names(key);
        let words = ["EVAL", LOOK, "2", &names[0], &names[1]];
        let fields = redis.command(&words).expect("a reply").list();
        let [lock, state, lock_left, state_left, seconds, micros] = &fields[..] else {
            panic!("six fields, not {fields:?}")
        };
        let number = |value: &Value| value.text().parse::<u64>().expect("digits");
        let text = |value: &Value| match value {
            Value::Text(bytes) => Some(bytes.clone()),
            _ => None,
        };
        Self {
            lock: text(lock).map(|lock| Lock::read(&String::from_utf8(lock).expect("text"))),
            state: text(state),
            lock_left: lock_left.number(),
            state_left: state_left.number(),
            now: number(seconds) * 1_000_000 + number(micros),
        }
    }

    /// Whether it shows what the other shows, moments and expiries aside.
    pub(crate) fn is_as(&self, other: &Self) -> bool {
        let state = |sight: &Self| sight.state.clone().map(without_moments);
        self.lock == other.lock && state(self) == state(other)
    }

    pub(crate) fn mark(&self) -> Seen {
        Seen::of_state(self.state.as_deref())
    }

    pub(crate) fn status(&self) -> Option<u8> {
        self.state.as_ref().and_then(|state| state.get(3)).copied()
    }

    /// Until when no refresh starts, from now on; zero when there is no pause.
    pub(crate) fn refresh_after(&self) -> u64 {
        let field = self.state.as_ref().and_then(|state| state.get(56..64));
        field.map_or(0, |field| {
            u64::from_be_bytes(field.try_into().expect("eight"))
        })
    }
}

impl Lock {
    fn read(text: &str) -> Self {
        // Whose trace stands behind them is told by the answers.
        let (holder, rest) = text.split_at(32);
        let rest = rest.split_once(' ').map_or(rest, |(fence, _)| fence);
        Self {
            holder: holder.to_owned(),
            fenced: rest.strip_prefix('!').map(str::to_owned),
        }
    }
}

/// The names of lock, state and channel.
pub(crate) fn names(key: &Key) -> [String; 3] {
    ["lock", "state", "notify"].map(|what| format!("coalesce:{what}:{{{}}}", key.tag()))
}

/// An envelope whose moments say only whether they are set: each side has a clock of its own.
pub(crate) fn without_moments(mut bytes: Vec<u8>) -> Vec<u8> {
    blur(&mut bytes, [40..48, 56..64]);
    bytes
}

/// The same for a message: the moment of the fence, and those of the envelope behind it.
pub(crate) fn message_without_moments(mut bytes: Vec<u8>) -> Vec<u8> {
    blur(&mut bytes, [1..9, 49..57]);
    bytes
}

fn blur<const N: usize>(bytes: &mut [u8], moments: [std::ops::Range<usize>; N]) {
    for moment in moments {
        if let Some(field) = bytes.get_mut(moment)
            && field.iter().any(|byte| *byte != 0)
        {
            field.fill(1);
        }
    }
}

/// The holder of a cell's lock, and whether it is fenced: a cell tells it only by its answers.
pub(crate) fn lock_of(
    cell: &Cell,
    now: ServerTime,
    key: &Key,
    flights: impl Iterator<Item = Token>,
) -> Option<(Token, bool)> {
    let holds = |token: &Token| {
        cell.clone()
            .abandon(now, key, AbandonAsk::body_failed(*token))
            .answer
    };
    let holder = flights.into_iter().find(holds)?;
    let ask = RenewAsk {
        key: key.clone(),
        token: holder,
        seen: Seen::NOTHING,
        lease: Duration::from_secs(1),
        retake_until: ServerTime::from_micros(0),
    };
    let fenced = matches!(cell.clone().renew(now, &ask), RenewAnswer::Fenced { .. });
    Some((holder, fenced))
}

/// A cell's state.
pub(crate) fn state_of(cell: &Cell, now: ServerTime) -> Option<Bytes> {
    cell.clone().read(now)
}
