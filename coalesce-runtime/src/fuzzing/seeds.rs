//! The seeds: where the fuzzer starts, made from real envelopes, messages and texts, and played by this test.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;

use super::stored::{Tree, key};
use crate::format::codec::{self, Codec, MessagePack};
use crate::format::envelope::{Envelope, Status};
use crate::format::message::Message;
use crate::words::clock::ServerTime;
use crate::words::switch::Position;
use crate::words::token::Token;

type Target = (&'static str, fn(&[u8]));

/// Every target whose function stands in this crate; the attribute's stands with the attribute.
const TARGETS: [Target; 9] = [
    ("codec", super::codec),
    ("envelope", super::envelope),
    ("key", super::key),
    ("known", super::known),
    ("message", super::message),
    ("option", super::option),
    ("reply", super::reply),
    ("switch", super::switch),
    ("url", super::url),
];

#[test]
fn what_must_hold_for_any_bytes_holds_for_every_seed() {
    let mut played = 0;
    for (name, target) in TARGETS {
        for seed in fs::read_dir(seeds_of(name)).unwrap() {
            target(&fs::read(seed.unwrap().path()).unwrap());
            played += 1;
        }
    }
    assert!(played >= 50, "only {played} seeds");
}

/// Short of the fuzzer, each seed is cut anywhere and each of its bytes is changed.
#[test]
fn what_must_hold_for_any_bytes_holds_next_to_every_seed() {
    for (name, target) in TARGETS {
        for seed in fs::read_dir(seeds_of(name)).unwrap() {
            let seed = fs::read(seed.unwrap().path()).unwrap();
            for at in 0..seed.len().min(200) {
                target(&seed[..at]);
                for change in [0x01, 0x20, 0x80, 0xff] {
                    let mut changed = seed.clone();
                    changed[at] ^= change;
                    target(&changed);
                }
            }
        }
    }
}

/// With `UPDATE_SEEDS=1` they are written. Files beside them are inputs on which a target once failed.
#[test]
fn the_seeds_are_those_of_this_version() {
    for (name, made) in made() {
        for (number, bytes) in made.iter().enumerate() {
            let file = seeds_of(name).join(format!("{number:02}"));
            if std::env::var_os("UPDATE_SEEDS").is_some() {
                fs::create_dir_all(seeds_of(name)).unwrap();
                fs::write(&file, bytes).unwrap();
            }
            assert_eq!(
                &fs::read(&file).unwrap_or_default(),
                bytes,
                "{}",
                file.display()
            );
        }
    }
}

#[test]
fn every_target_of_the_fuzzer_has_seeds_and_every_seed_has_a_target() {
    let names = |folder: PathBuf| -> BTreeSet<String> {
        let entries = fs::read_dir(folder).unwrap();
        entries
            .map(|entry| entry.unwrap().path())
            .map(|path| path.file_stem().unwrap().to_string_lossy().into_owned())
            .collect()
    };
    let expected: BTreeSet<String> = TARGETS
        .iter()
        .map(|(name, _)| (*name).to_owned())
        .chain(["attribute".to_owned()])
        .collect();
    assert_eq!(names(fuzz().join("seeds")), expected);
    assert_eq!(names(fuzz().join("fuzz_targets")), expected);
}

fn fuzz() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz")
}

fn seeds_of(target: &str) -> PathBuf {
    fuzz().join("seeds").join(target)
}

fn made() -> BTreeMap<&'static str, Vec<Vec<u8>>> {
    let (envelopes, values) = (envelopes(), values());
    let whole: Vec<_> = envelopes
        .iter()
        .map(|one| one.encode(&key()).to_vec())
        .collect();
    let fenced = Some(ServerTime::from_micros(1_790_000_000_123_456));
    let mut messages: Vec<_> = envelopes
        .iter()
        .flat_map(|one| [None, fenced].map(|at| Message::wrap_outcome(&one.encode(&key()), at)))
        .map(|bytes| bytes.to_vec())
        .collect();
    messages
        .extend([true, false].map(|it| Message::encode_abandoned(&key(), token(7), it).to_vec()));
    messages.push(Message::encode_changed(&key()).to_vec());
    BTreeMap::from([
        ("envelope", whole),
        ("message", messages),
        ("codec", values),
        ("key", keys()),
        ("reply", replies()),
        ("option", texts(OPTIONS)),
        ("url", texts(URLS)),
        ("switch", switches()),
        ("known", texts(KNOWN)),
    ])
}

fn token(byte: u8) -> Token {
    Token::from_bytes([byte; Token::LEN])
}

fn envelopes() -> Vec<Envelope> {
    let values = values();
    let statuses = [
        Status::Done,
        Status::Failed,
        Status::TooLarge,
        Status::Invalidated,
    ];
    let mut all: Vec<_> = (1..)
        .zip(statuses)
        .map(|(number, status)| Envelope {
            computed_at: ServerTime::from_micros(1_790_000_000_000_000),
            failed_refreshes: number,
            refresh_after: ServerTime::from_micros(u64::from(number)),
            ..Envelope::new(
                status,
                MessagePack::NUMBER,
                token(number),
                Duration::from_millis(200),
                values[usize::from(number)].clone().into(),
            )
        })
        .collect();
    let big = Bytes::from(vec![5; 8 * 1024 + 1]);
    all.push(Envelope {
        payload: big,
        ..all[0].clone()
    });
    all
}

fn values() -> Vec<Vec<u8>> {
    fn written<T: serde::Serialize>(value: &T) -> Vec<u8> {
        codec::encode::<MessagePack, _>(value, usize::MAX)
            .unwrap()
            .to_vec()
    }
    let named = Tree::Named {
        name: "root".into(),
        of: vec![Tree::Leaf, Tree::Boxed(Box::new(Tree::Leaf))],
    };
    vec![
        written(&42_u64),
        written(&"a price"),
        written(&Some(-3_i8)),
        written(&vec!["one".to_owned(), String::new()]),
        written(&BTreeMap::from([("k", (1_u16, true))])),
        written(&Err::<Vec<u8>, _>('ü')),
        written(&named),
        // As deep as it gets: a list in a list in a list.
        [0x91].repeat(3_000),
        // The same value for the other codecs, and for each the beginning of a tree without end.
        br#"{"Named":{"name":"root","of":["Leaf",{"Boxed":"Leaf"}]}}"#.to_vec(),
        b"\x01\x04root\x02\x00\x02\x00".to_vec(),
        b"\x81\xa5Boxed".to_vec(),
        br#"{"Boxed":"#.to_vec(),
        b"\x02".to_vec(),
    ]
}

/// Namespace, version and parts, as `keys::key` takes them.
fn keys() -> Vec<Vec<u8>> {
    vec![
        b"\x0fshop::get_order\x00\x00\x03A-1\x01\x00\x00\x00\x00\x00\x00\x00\x2a".to_vec(),
        b"\x03a:b\x02\x00\x00\x00\x01~\x02\x82".to_vec(),
        b"\x00\x01\x16\x00\x03a,b\x00\x03(c)\x0f\x05\x04\x05\x03\x02\x00%".to_vec(),
        b"\x06::x:::\x03\x00\x07}{~#\x00\xc3\xbc\x04".to_vec(),
        b"\x01n\x00\x00\x03+26\x01\x00\x00\x00\x00\x00\x00\x00\x1a".to_vec(),
        [&b"\x04long\x00"[..], &[0, 47].repeat(40)].concat(),
    ]
}

/// Replies, as `reply` makes them of bytes: in our form, and in any.
fn replies() -> Vec<Vec<u8>> {
    vec![
        b"\x00\x09\x04data".to_vec(),
        b"\x01\x09\x10markmarkmarkmark".to_vec(),
        [&b"\x02\x09\x20"[..], &b"ab".repeat(16), b"\x02\xff\x09\x00"].concat(),
        b"\x03\x05\x0b\x05\x06\x09\x04\x31\x37\x39\x30".to_vec(),
        b"\x04".to_vec(),
        b"\x07\x09\x021790000000123456".to_vec(),
        b"\x08".to_vec(),
        b"\x07\x04\x06\x05\x00\x09\x01x\x02\x09".to_vec(),
        b"\x07\x02\x09\x0a1790000000\x09\x06123456".to_vec(),
        b"\x00".to_vec(),
    ]
}

const OPTIONS: &[&str] = &[
    "30s",
    "1h 30m",
    "250ms",
    "1M",
    "64 KB",
    "1MiB",
    "true",
    "18446744073709551615",
    "${ORDERS_TTL:30s}",
    "${S}",
    "${A:${B:${S}}}-$$5",
    "${A:{}}",
    "${A",
];

const URLS: &[&str] = &[
    "redis://localhost",
    "redis://app:p%40ss%20word@redis.example:6380/3",
    "rediss://:secret@[::1]:6379",
    "redis-cluster://a:7000?node=b:7001&node=[::1]:7002",
    "redis-sentinel://:pw@s1:26379/2?sentinelServiceName=main&node=s2:26379&sentinelPassword=x",
    "redis://user@host",
    "redis://host:0/300#x",
    "http://host",
];

/// What processes announce, what looks like it, and what others write there.
const KNOWN: &[&str] = &[
    "shop::orders::get_order",
    "shop::orders::~::get",
    "shop::~::orders::~::get",
    "::~::",
    "a%3Ab::~::%zz",
    "~#::~::~v1",
    "shop::ordersshop::orders",
];

fn texts(texts: &[&str]) -> Vec<Vec<u8>> {
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}

fn switches() -> Vec<Vec<u8>> {
    let until = Position {
        until: Some(ServerTime::from_micros(1_790_000_000_123_456)),
        ..Position::off().because("ada", "too slow: 100 % of calls")
    };
    let mut all = texts(&["co1 off", "co1 on 0 %zz", "~all", "shop::get_order"]);
    all.push(until.encode().into_bytes());
    all.push(Position::on().encode().into_bytes());
    all
}
