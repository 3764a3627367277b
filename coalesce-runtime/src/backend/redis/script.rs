//! The scripts, and how each question becomes keys and arguments of one.

use std::time::Duration;

use bytes::Bytes;
use fred::util::sha1_hash;
use once_cell::sync::OnceCell;

use super::keyspace::{Keyspace, slot_of};
use crate::engine::ask::{AbandonAsk, BeginAsk, FinishAsk, RenewAsk, ReplaceAsk};
use crate::format::message::Message;
use crate::words::clock::{micros, millis_up};
use crate::words::key::Key;
use crate::words::switch::switch_key;
use crate::words::token::Token;

/// A script: a constant, known to the server by its digest once it has seen it.
pub(super) struct Script {
    source: &'static str,
    sha: OnceCell<Bytes>,
}

macro_rules! script {
    ($file:literal) => {
        Script {
            source: concat!(
                include_str!("scripts/prelude.lua"),
                include_str!(concat!("scripts/", $file))
            ),
            sha: OnceCell::new(),
        }
    };
}

pub(super) static BEGIN: Script = script!("begin.lua");
pub(super) static RENEW: Script = script!("renew.lua");
pub(super) static FINISH: Script = script!("finish.lua");
pub(super) static ABANDON: Script = script!("abandon.lua");
pub(super) static REPLACE: Script = script!("replace.lua");
pub(super) static LOOK: Script = script!("look.lua");
pub(super) static ANNOUNCE: Script = script!("announce.lua");
pub(super) static SWITCH: Script = script!("switch.lua");

impl Script {
    pub(super) fn sha(&self) -> Bytes {
        self.sha
            .get_or_init(|| sha1_hash(self.source).into())
            .clone()
    }

    pub(super) fn source(&self) -> Bytes {
        Bytes::from_static(self.source.as_bytes())
    }
}

/// One run of a script: everything it is sent but the nonce, which is the first argument of each.
#[derive(Clone, Debug)]
pub(super) struct Call {
    /// Where in a cluster: all keys of one call share it.
    pub(super) slot: u16,
    pub(super) keys: Vec<Bytes>,
    pub(super) args: Vec<Bytes>,
}

impl Keyspace {
    /// `last` is the place of the last byte of a state that is taken.
    pub(super) fn begin(&self, key: &Key, ask: &BeginAsk, last: Bytes) -> Call {
        let args = vec![
            hex(ask.token),
            at_least_one(ask.lease),
            flag(ask.seen.is_some()),
            copied(ask.seen.unwrap_or_default().as_bytes()),
            ask.following.map(hex).unwrap_or_default(),
            ask.trace
                .map(|trace| trace.to_string().into())
                .unwrap_or_default(),
            last,
        ];
        self.lock_and_state(key, args)
    }

    /// One call for many locks. In a cluster: for locks of one slot.
    pub(super) fn renew(&self, asks: &[RenewAsk]) -> Call {
        let mut call = Call {
            slot: asks.first().map_or(0, |ask| slot_of(&ask.key)),
            keys: Vec::with_capacity(2 * asks.len()),
            args: Vec::with_capacity(4 * asks.len()),
        };
        for ask in asks {
            call.keys
                .extend([self.lock(&ask.key), self.state(&ask.key)]);
            let seen = copied(ask.seen.as_bytes());
            let retake_until = number(ask.retake_until.as_micros());
            call.args
                .extend([hex(ask.token), seen, at_least_one(ask.lease), retake_until]);
        }
        call
    }

    pub(super) fn finish(&self, key: &Key, ask: &FinishAsk) -> Call {
        let args = vec![
            self.channel(key).into(),
            hex(ask.envelope.token),
            ask.envelope.encode(key),
            number(micros(ask.ended_ago)),
            at_least_one(ask.life),
            copied(ask.seen.as_bytes()),
            number(ask.retake_until.as_micros()),
            ask.spare_value
                .map(|pause| number(micros(pause)))
                .unwrap_or_default(),
            ask.began
                .map(|began| number(began.as_micros()))
                .unwrap_or_default(),
        ];
        self.lock_and_state(key, args)
    }

    pub(super) fn abandon(&self, key: &Key, ask: AbandonAsk) -> Call {
        Call {
            slot: slot_of(key),
            keys: vec![self.lock(key)],
            args: vec![
                self.channel(key).into(),
                hex(ask.token),
                Message::encode_abandoned(key, ask.token, ask.body_failed),
            ],
        }
    }

    pub(super) fn replace(&self, key: &Key, ask: &ReplaceAsk) -> Call {
        let args = vec![
            self.channel(key).into(),
            ask.envelope.encode(key),
            at_least_one(ask.life),
        ];
        self.lock_and_state(key, args)
    }

    /// `last` is the place of the last byte of a state that is taken.
    pub(super) fn look(&self, key: &Key, last: Bytes) -> Call {
        Call {
            slot: slot_of(key),
            keys: vec![self.state(key)],
            args: vec![last],
        }
    }

    pub(super) fn switched(&self, field: &str, text: Option<&str>) -> Call {
        let switch = self.switch();
        Call {
            slot: fred::util::redis_keyslot(switch.as_bytes()),
            keys: vec![copied(switch.as_bytes())],
            args: vec![
                switch.into(),
                Message::encode_changed(switch_key()),
                copied(field.as_bytes()),
                flag(text.is_some()),
                copied(text.unwrap_or_default().as_bytes()),
            ],
        }
    }

    pub(super) fn announced(&self, names: &[String], life: Duration) -> Call {
        let known = self.known();
        let names = names.iter().map(|name| copied(name.as_bytes()));
        Call {
            slot: fred::util::redis_keyslot(known.as_bytes()),
            keys: vec![known.into()],
            args: [at_least_one(life)].into_iter().chain(names).collect(),
        }
    }

    fn lock_and_state(&self, key: &Key, args: Vec<Bytes>) -> Call {
        Call {
            slot: slot_of(key),
            keys: vec![self.lock(key), self.state(key)],
            args,
        }
    }
}

fn hex(token: Token) -> Bytes {
    token.to_hex().into()
}

fn copied(bytes: &[u8]) -> Bytes {
    Bytes::copy_from_slice(bytes)
}

fn flag(set: bool) -> Bytes {
    Bytes::from_static(if set { b"1" } else { b"0" })
}

fn number(number: u64) -> Bytes {
    number.to_string().into()
}

/// An expiry in milliseconds: Redis refuses 0.
fn at_least_one(life: Duration) -> Bytes {
    number(millis_up(life).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::envelope::{Envelope, Seen, Status};
    use crate::format::traceparent::Traceparent;
    use crate::words::clock::ServerTime;

    fn names() -> Keyspace {
        Keyspace::new("coalesce")
    }

    fn key() -> Key {
        Key::new("shop", &[&1])
    }

    fn token() -> Token {
        Token::from_bytes([0xab; 16])
    }

    fn begin(lease: Duration, seen: Option<Seen>) -> Call {
        let ask = BeginAsk {
            token: token(),
            lease,
            seen,
            following: None,
            trace: None,
        };
        names().begin(&key(), &ask, "99".into())
    }

    #[test]
    fn a_lease_is_never_zero() {
        assert_eq!(begin(Duration::ZERO, None).args[1], "1");
        assert_eq!(begin(Duration::from_micros(1_001), None).args[1], "2");
    }

    #[test]
    fn no_mark_and_the_mark_of_nothing_differ() {
        let lease = Duration::from_secs(3);
        assert_eq!(begin(lease, None).args[2..4], ["0", ""]);
        assert_eq!(begin(lease, Some(Seen::NOTHING)).args[2..4], ["1", ""]);
    }

    #[test]
    fn a_begin_says_who_asks_what_it_saw_and_whom_it_follows() {
        let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let ask = BeginAsk {
            token: token(),
            lease: Duration::from_secs(3),
            seen: Some(Seen::from(Token::from_bytes(*b"0123456789abcdef"))),
            following: Some(Token::from_bytes([0xcd; 16])),
            trace: Traceparent::parse(trace),
        };
        let call = names().begin(&key(), &ask, "99".into());
        assert_eq!(
            call.keys,
            ["coalesce:lock:{shop:1}", "coalesce:state:{shop:1}"]
        );
        let (token, following) = ("ab".repeat(16), "cd".repeat(16));
        let said = [
            &*token,
            "3000",
            "1",
            "0123456789abcdef",
            &following,
            trace,
            "99",
        ];
        assert_eq!(call.args, said);
        assert_eq!(names().look(&key(), "99".into()).args, ["99"]);
    }

    #[test]
    fn a_renewal_has_two_keys_and_four_arguments_for_each_lock() {
        let ask = |part: u8, seen| RenewAsk {
            key: Key::new("shop", &[&part]),
            token: Token::from_bytes([part; 16]),
            seen,
            lease: Duration::from_secs(3),
            retake_until: ServerTime::from_micros(u64::from(part)),
        };
        let mark = Seen::from(Token::from_bytes(*b"0123456789abcdef"));
        let call = names().renew(&[ask(1, Seen::NOTHING), ask(2, mark)]);
        assert_eq!(call.keys.len(), 4);
        assert_eq!(
            call.keys[2..],
            ["coalesce:lock:{shop:2}", "coalesce:state:{shop:2}"]
        );
        let tokens = ["01".repeat(16), "02".repeat(16)];
        let first = [&*tokens[0], "", "3000", "1"];
        let second = [&*tokens[1], "0123456789abcdef", "3000", "2"];
        assert_eq!(call.args, [first, second].concat());
        assert_eq!(names().renew(&[]).keys.len(), 0);
    }

    #[test]
    fn a_finish_says_nothing_where_there_is_nothing_to_spare_and_the_lock_tells_enough() {
        let ask = |pause: Option<Duration>, began| FinishAsk {
            envelope: Envelope::new(Status::Done, 1, token(), Duration::ZERO, Bytes::new()),
            ended_ago: Duration::from_millis(2),
            life: Duration::from_secs(60),
            seen: Seen::NOTHING,
            retake_until: ServerTime::from_micros(77),
            began,
            spare_value: pause,
        };
        let plain = names().finish(&key(), &ask(None, None));
        assert_eq!(
            plain.args[..2],
            ["coalesce:notify:{shop:1}", &*"ab".repeat(16)]
        );
        assert_eq!(plain.args[2], ask(None, None).envelope.encode(&key()));
        assert_eq!(plain.args[3..], ["2000", "60000", "", "77", "", ""]);
        let began = Some(ServerTime::from_micros(5));
        let late = names().finish(&key(), &ask(Some(Duration::from_secs(1)), began));
        assert_eq!(late.args[7..], ["1000000", "5"]);
    }

    #[test]
    fn a_switch_is_turned_and_told_by_one_call() {
        let turned = names().switched("shop", Some("co1 off"));
        assert_eq!(turned.keys, ["coalesce:switch"]);
        assert_eq!(turned.args[0], "coalesce:switch");
        assert_eq!(turned.args[2..], ["shop", "1", "co1 off"]);
        let turned_back = names().switched("shop", None);
        assert_eq!(turned_back.args[2..], ["shop", "0", ""]);
    }

    /// "all keys in KEYS, user data only in ARGV and KEYS": a script that were put together from
    /// values could be told what to do by them.
    #[test]
    fn every_script_is_a_constant_that_says_what_it_takes() {
        for script in [
            &BEGIN, &RENEW, &FINISH, &ABANDON, &REPLACE, &LOOK, &SWITCH, &ANNOUNCE,
        ] {
            assert!(script.source.contains("\n-- KEYS  "));
            assert!(script.source.contains("\n-- ARGV  nonce"));
            // A shebang would make the server refuse the script when memory is full.
            assert!(!script.source.starts_with("#!"));
            // What is sent in full is what the server then knows by its digest.
            assert_eq!(script.source(), script.source);
            assert_eq!(script.sha().len(), 40);
        }
    }
}
