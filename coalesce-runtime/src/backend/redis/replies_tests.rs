//! Replies as a server says them, and as it never should.

use fred::types::Key;

use super::*;

const TRACE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

const NONCE: &str = "17";
const NOW: i64 = 1_790_000_000_123_456;

fn bulk(text: impl AsRef<[u8]>) -> Value {
    Value::Bytes(Bytes::copy_from_slice(text.as_ref()))
}

fn reply(kind: &str, fields: impl IntoIterator<Item = Value>) -> Value {
    let mut all = vec![bulk(NONCE), bulk(kind)];
    all.extend(fields);
    all.push(Value::Integer(NOW));
    Value::Array(all)
}

fn said(kind: &str, fields: impl IntoIterator<Item = Value>) -> Said {
    Said::open(reply(kind, fields), NONCE).unwrap()
}

#[test]
fn the_time_of_the_server_comes_with_every_reply() {
    let at = said("yes", []).at;
    assert_eq!(at, ServerTime::from_micros(1_790_000_000_123_456));
}

#[test]
fn a_reply_to_another_request_is_told() {
    let shifted = [
        Value::Null,
        Value::Integer(1),
        bulk("OK"),
        Value::Array(vec![]),
        Value::Array(vec![bulk(NONCE)]),
        Value::Array(vec![bulk(NONCE), Value::Integer(NOW)]),
        Value::Array(vec![Value::Null, bulk("yes"), Value::Integer(NOW)]),
        Value::Array(vec![bulk(NONCE), bulk("yes"), Value::Null]),
        Value::Array(vec![bulk(NONCE), Value::Null, Value::Integer(NOW)]),
        Value::Array(vec![bulk(NONCE), bulk("yes"), Value::Integer(-1)]),
    ];
    for reply in shifted {
        assert_eq!(Said::open(reply, NONCE).unwrap_err(), Misrouted);
    }
    let of_another = Said::open(reply("yes", []), "18");
    assert_eq!(of_another.unwrap_err(), Misrouted);
}

#[test]
fn begin_says_the_role() {
    let token = Token::from_bytes([0xab; 16]);
    let mark = || bulk(token.as_bytes());
    assert_eq!(
        said("state", [bulk(b"\xff\x00raw")]).begin(),
        Ok(BeginAnswer::State(Bytes::from_static(b"\xff\x00raw")))
    );
    assert_eq!(
        said("lead", [bulk("")]).begin(),
        Ok(BeginAnswer::Lead {
            seen: Seen::NOTHING
        })
    );
    let follow = [
        bulk(token.to_hex()),
        Value::Integer(1_500),
        mark(),
        bulk(TRACE),
    ];
    assert_eq!(
        said("follow", follow).begin(),
        Ok(BeginAnswer::Follow {
            leader: token,
            lease_left: Duration::from_millis(1_500),
            seen: Seen::from(token),
            trace: Traceparent::parse(TRACE),
        })
    );
}

#[test]
fn a_lock_that_is_not_ours_is_foreign() {
    let hex = "ab".repeat(16);
    for lock in [
        (bulk("held by a script of ours"), Value::Integer(5)),
        (bulk(hex), Value::Integer(-1)),
    ] {
        let (holder, left) = lock;
        let answer = said("follow", [holder, left, bulk(""), bulk("")]).begin();
        assert_eq!(answer, Err(Fault::ForeignType));
    }
}

#[test]
fn renew_answers_in_order_and_for_all() {
    let fields = || {
        [
            "held",
            "lost",
            "foreign",
            "denied",
            "copy",
            "refused",
            "1790000000123456",
            "soon",
        ]
        .map(bulk)
    };
    let at = ServerTime::from_micros(1_790_000_000_123_456);
    assert_eq!(
        said("renewed", fields()).renew(8),
        Ok(vec![
            Ok(RenewAnswer::Held),
            Ok(RenewAnswer::Lost),
            Err(Fault::ForeignType),
            Err(Fault::Denied),
            Err(Fault::Refused),
            Err(Fault::Refused),
            Ok(RenewAnswer::Fenced { at }),
            Err(Fault::Garbled),
        ])
    );
    assert!(said("renewed", fields()).is_by_a_copy());
    assert!(!said("renewed", ["held", "refused"].map(bulk)).is_by_a_copy());
    assert!(!said("state", [bulk("copy")]).is_by_a_copy());
    let short = said("renewed", fields()).renew(4);
    assert_eq!(short, Err(Fault::Garbled));
    let other = said("stored", []).renew(0);
    assert_eq!(other, Err(Fault::Garbled));
}

#[test]
fn finish_says_one_of_four() {
    assert_eq!(said("stored", []).finish(), Ok(FinishAnswer::Stored));
    assert_eq!(said("spared", []).finish(), Ok(FinishAnswer::Spared));
    assert_eq!(said("lost", []).finish(), Ok(FinishAnswer::Lost));
    let at = ServerTime::from_micros(77);
    assert_eq!(
        said("fenced", [bulk("77")]).finish(),
        Ok(FinishAnswer::Fenced { at })
    );
}

#[test]
fn look_says_the_state_or_nothing() {
    let state = Bytes::from_static(b"raw");
    assert_eq!(said("state", [bulk("raw")]).look(), Ok(Some(state)));
    assert_eq!(said("nothing", []).look(), Ok(None));
    assert_eq!(said("lost", []).look(), Err(Fault::Garbled));
}

#[test]
fn the_right_nonce_with_wrong_fields_is_garbled() {
    for answer in [
        said("lead", []).begin().err(),
        said("state", [Value::Null]).begin().err(),
        said("state", [bulk("a"), bulk("b")]).begin().err(),
        said("follow", [bulk("a"), bulk("b"), bulk("c")])
            .begin()
            .err(),
        said("stored", [bulk("x")]).finish().err(),
        said("fenced", [bulk("soon")]).finish().err(),
        said("perhaps", []).yes_or_no().err(),
    ] {
        assert_eq!(answer, Some(Fault::Garbled));
    }
}

#[test]
fn abandon_and_replace_say_yes_or_no() {
    assert_eq!(said("yes", []).yes_or_no(), Ok(true));
    assert_eq!(said("no", []).yes_or_no(), Ok(false));
}

fn map(pairs: impl IntoIterator<Item = (Value, Value)>) -> Value {
    let pairs: Vec<(Key, Value)> = pairs
        .into_iter()
        .map(|(field, value)| (field.try_into().unwrap(), value))
        .collect();
    Value::Map(pairs.try_into().unwrap())
}

fn scored(name: impl AsRef<[u8]>) -> Value {
    Value::Array(vec![bulk(name), Value::Double(1.0)])
}

#[test]
fn a_hash_is_a_map_of_texts_and_names_come_with_scores() {
    let off = ("~all".to_owned(), "co1 off".to_owned());
    assert_eq!(hash(map([(bulk("~all"), bulk("co1 off"))])), Ok(vec![off]));
    assert_eq!(hash(map([])), Ok(vec![]));
    let names = vec!["shop".to_owned(), "orders".to_owned()];
    assert_eq!(
        members(Value::Array(vec![scored("shop"), scored("orders")])),
        Ok(names)
    );
    assert_eq!(members(Value::Array(vec![])), Ok(vec![]));
}

#[test]
fn a_byte_that_is_no_text_spoils_its_own_pair_alone() {
    let pairs = [
        (bulk("~all"), bulk("co1 off")),
        (bulk("shop"), bulk(b"\xff")),
        (bulk(b"\xff"), bulk("co1 off")),
    ];
    let mut read = hash(map(pairs)).unwrap();
    read.sort();
    let expected = [
        ("shop", "\u{fffd}"),
        ("~all", "co1 off"),
        ("\u{fffd}", "co1 off"),
    ];
    let expected = expected.map(|(field, text)| (field.to_owned(), text.to_owned()));
    assert_eq!(read, expected);
    let names = members(Value::Array(vec![scored("shop"), scored(b"\xff")]));
    assert_eq!(names, Ok(vec!["shop".to_owned(), "\u{fffd}".to_owned()]));
}

/// An empty answer would turn everything on, and make every namespace unknown.
#[test]
fn what_slid_onto_the_reply_is_neither_a_hash_nor_names() {
    let slid = [
        Value::Null,
        Value::Integer(1),
        bulk(""),
        bulk("OK"),
        reply("state", [bulk("v")]),
        Value::Array(vec![bulk("1790000000"), bulk("123456")]),
        Value::Array(vec![bulk("~all"), bulk("co1 off")]),
        map([(bulk("proto"), Value::Integer(3))]),
    ];
    for reply in slid {
        assert_eq!(hash(reply.clone()), Err(Fault::Garbled), "{reply:?}");
        assert_eq!(members(reply.clone()), Err(Fault::Garbled), "{reply:?}");
    }
    assert_eq!(hash(Value::Array(vec![])), Err(Fault::Garbled));
    let more = Value::Array(vec![bulk("shop"), Value::Double(1.0), Value::Null]);
    for pair in [
        more,
        Value::Array(vec![bulk("shop")]),
        Value::Array(vec![bulk("shop"), bulk("1")]),
    ] {
        let reply = Value::Array(vec![scored("orders"), pair]);
        assert_eq!(members(reply), Err(Fault::Garbled));
    }
}

#[test]
fn get_ping_and_time_are_checked_for_their_shape() {
    assert_eq!(stored(bulk("")), Ok(None));
    assert_eq!(stored(bulk("v")), Ok(Some(Bytes::from_static(b"v"))));
    assert_eq!(stored(Value::Null), Err(Fault::Garbled));
    assert_eq!(stored(Value::Integer(1)), Err(Fault::Garbled));
    assert_eq!(stored(Value::Array(vec![])), Err(Fault::Garbled));
    assert_eq!(echo(bulk("5"), "5"), Ok(()));
    assert_eq!(echo(Value::String("5".into()), "5"), Ok(()));
    assert_eq!(echo(bulk("4"), "5"), Err(Fault::Garbled));
    let reply = Value::Array(vec![bulk("1790000000"), bulk("123456")]);
    let now = ServerTime::from_micros(1_790_000_000_123_456);
    assert_eq!(time(reply), Ok(now));
    for wrong in [
        bulk("1"),
        Value::Array(vec![bulk("1")]),
        Value::Array(vec![bulk("1"), bulk("x")]),
        Value::Array(vec![bulk("1"), bulk("2"), bulk("3")]),
    ] {
        assert_eq!(time(wrong), Err(Fault::Garbled));
    }
}
