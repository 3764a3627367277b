//! What must hold for any reply of a server, and for any text that should be a URL.

#![expect(
    clippy::missing_panics_doc,
    reason = "these fail by panicking, and do nothing else"
)]

use fred::types::{Key, Map, Value};

use super::connect::Address;
use super::profile::one_word;
use super::redirect::Setback;
use super::replies::{self, Said};
use super::slots::{Place, SlotTable};

const NONCE: &str = "17";
const KINDS: [&str; 12] = [
    "state", "lead", "follow", "renewed", "stored", "spared", "lost", "fenced", "nothing", "yes",
    "no", "held",
];

/// Whatever a server says, in whatever shape: an answer or a fault; and never the answer to another question.
pub fn reply(data: &[u8]) {
    error(&String::from_utf8_lossy(data));
    let any = value(&mut data.iter().copied(), 4);
    let ours = in_our_form(data);
    for reply in [&any, &ours] {
        let _ = replies::stored(reply.clone());
        let _ = replies::time(reply.clone());
        assert!(
            replies::hash(reply.clone()).is_err(),
            "not a map: {reply:?}"
        );
        switches(reply.clone());
        let _ = replies::members(reply.clone());
        who_serves_what(reply);
        let echoed = replies::echo(reply.clone(), NONCE).is_ok();
        assert_eq!(echoed, is_text(reply, NONCE));
        every_question_is_answered(reply);
    }
}

/// Whatever stands in a hash: as many pairs as it has, or a fault.
fn switches(reply: Value) {
    let Value::Array(parts) = reply else { return };
    let pair = |pair: &[Value]| Some((Key::try_from(pair[0].clone()).ok()?, pair[1].clone()));
    let pairs: Vec<_> = parts.chunks_exact(2).filter_map(pair).collect();
    let Ok(map) = Map::try_from(pairs) else {
        return;
    };
    let len = map.len();
    if let Ok(pairs) = replies::hash(Value::Map(map)) {
        assert_eq!(pairs.len(), len);
    }
}

/// Whatever a node says about slots: each is served by a node that can be reached, or by none.
fn who_serves_what(reply: &Value) {
    let asked = Place::new("asked", 1);
    for by_name in [false, true] {
        let Some(table) = SlotTable::read(reply.clone(), &asked, by_name) else {
            return;
        };
        assert!(!table.is_empty());
        for place in table.primaries() {
            assert!(!place.host.is_empty() && place.port > 0, "{place}");
        }
    }
}

fn every_question_is_answered(reply: &Value) {
    let open = || Said::open(reply.clone(), NONCE);
    let (Ok(begun), Ok(renewed), Ok(finished), Ok(looked), Ok(told)) =
        (open(), open(), open(), open(), open())
    else {
        return;
    };
    let Value::Array(fields) = reply else {
        panic!("opened, and not a list: {reply:?}")
    };
    assert!(is_text(&fields[0], NONCE), "another's reply: {reply:?}");
    assert!(Said::open(reply.clone(), "18").is_err());
    // No answer fits two questions, but a state.
    let answers = [
        begun.begin().is_ok(),
        renewed.renew(fields.len() - 3).is_ok(),
        finished.finish().is_ok(),
        told.yes_or_no().is_ok(),
    ];
    assert!(answers.iter().filter(|answered| **answered).count() <= 1);
    let _ = looked.look();
}

fn is_text(value: &Value, text: &str) -> bool {
    match value {
        Value::Bytes(bytes) => bytes == text,
        Value::String(string) => &**string == text,
        _ => false,
    }
}

/// A reply with the right nonce, a word that scripts say and a time; what stands between is anything.
fn in_our_form(data: &[u8]) -> Value {
    let mut bytes = data.iter().copied();
    let kind = KINDS[usize::from(bytes.next().unwrap_or_default()) % KINDS.len()];
    let mut fields = vec![NONCE.into(), kind.into()];
    while bytes.len() > 0 {
        fields.push(value(&mut bytes, 1));
    }
    fields.push(Value::Integer(1_790_000_000_123_456));
    Value::Array(fields)
}

fn value(bytes: &mut dyn Iterator<Item = u8>, depth: u8) -> Value {
    let mut next = || bytes.next().unwrap_or_default();
    match (next() % 10, depth) {
        (0, _) => Value::Null,
        (1, _) => Value::Integer((0..8).fold(0, |all, _| (all << 8) | i64::from(next()))),
        (2, _) => Value::Integer(i64::from(next()) - 2),
        (3, _) => Value::Boolean(next() > 127),
        (4, _) => Value::Double(f64::from_bits(
            (0..8).fold(0, |all, _| (all << 8) | u64::from(next())),
        )),
        (5, _) => KINDS[usize::from(next()) % KINDS.len()].into(),
        (6, _) => NONCE.into(),
        (7, 1..) => {
            let length = next() % 8;
            Value::Array((0..length).map(|_| value(bytes, depth - 1)).collect())
        }
        (8, _) => {
            let length = usize::from(next());
            let text: Vec<_> = bytes.take(length).collect();
            String::from_utf8_lossy(&text).into_owned().into()
        }
        _ => {
            let length = usize::from(next());
            Value::Bytes(bytes.take(length).collect())
        }
    }
}

/// Whatever an error says: if it names a node, that one has a port.
fn error(text: &str) {
    match Setback::told(text) {
        Some(Setback::Moved(place) | Setback::Ask(place)) => assert!(place.port > 0, "{place}"),
        Some(Setback::Fault(fault)) => panic!("a node says nothing of {fault}"),
        Some(Setback::Again | Setback::Copy) | None => {}
    }
}

/// A text is the URL of some Redis, with everything a connection needs, or one of a few sentences.
pub fn url(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    match Address::parse(&text) {
        Ok(address) => {
            assert!(!address.nodes.is_empty());
            assert!(
                address
                    .nodes
                    .iter()
                    .all(|(host, port)| !host.is_empty() && *port > 0)
            );
            assert!(address.user.is_none() || address.password.is_some());
            for word in [address.user, address.password].into_iter().flatten() {
                one_word_is_one_word(&word);
            }
        }
        Err(problem) => assert!(problem.to_string().contains("Redis") || !text.contains("://")),
    }
    one_word_is_one_word(&text);
}

/// A line of words would go on as a command behind a line break.
fn one_word_is_one_word(text: &str) {
    let word = one_word(text.to_owned());
    assert!(
        !word.chars().any(|letter| letter.is_ascii_control()),
        "{word:?}"
    );
    assert_eq!(
        as_a_server_reads(&word).as_deref(),
        Some(text.as_bytes()),
        "{word:?}"
    );
}

/// How a server takes a word off a line (`sdssplitargs`): between double quotes `\xHH` is a byte.
fn as_a_server_reads(word: &str) -> Option<Vec<u8>> {
    let Some(quoted) = word.strip_prefix('"') else {
        return (!word.contains([' ', '"', '\''])).then(|| word.as_bytes().to_vec());
    };
    let mut bytes = Vec::new();
    let mut rest = quoted.bytes();
    loop {
        match rest.next()? {
            b'"' => return (rest.len() == 0).then_some(bytes),
            b'\\' => match rest.next()? {
                b'x' => {
                    let digits = [rest.next()?, rest.next()?];
                    let digits = std::str::from_utf8(&digits).ok()?;
                    bytes.push(u8::from_str_radix(digits, 16).ok()?);
                }
                escaped => bytes.push(escaped),
            },
            plain => bytes.push(plain),
        }
    }
}
