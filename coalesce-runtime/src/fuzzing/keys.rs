//! Values as keys: what stands in a key's tag can be read back, so no two inputs have one key.

use crate::words::key::{Key, KeyBuilder};
use crate::words::key_part::KeyPart;
use crate::words::key_text::{MAX_LEN, unescape};
use crate::words::key_writer::KeyWriter;

/// A value of any shape that a key part can have.
#[derive(Debug, PartialEq)]
enum Part {
    Integer(i64),
    Text(String),
    Truth(bool),
    Bytes(Vec<u8>),
    Optional(Option<Box<Part>>),
    Group(Vec<Part>),
    List(Vec<Part>),
}

impl KeyPart for Part {
    fn write(&self, out: &mut KeyWriter<'_>) {
        match self {
            Self::Integer(number) => number.write(out),
            Self::Text(text) => out.text(text),
            Self::Truth(truth) => out.truth(*truth),
            Self::Bytes(bytes) => out.bytes(bytes),
            Self::Optional(None) => out.absent(),
            Self::Optional(Some(part)) => out.present(&**part),
            Self::Group(parts) => {
                let parts: Vec<_> = parts.iter().map(|part| part as &dyn KeyPart).collect();
                out.group(&parts);
            }
            Self::List(parts) => out.list(parts.iter().map(|part| part as &dyn KeyPart)),
        }
    }
}

/// Every part of a short key is read back from its tag; a long one is bounded, and no tag moves a hash tag.
pub fn key(data: &[u8]) {
    let mut bytes = data.iter().copied();
    let namespace = text(&mut bytes);
    let version = (bytes.next().unwrap_or_default() % 4)
        .checked_sub(1)
        .map(u32::from);
    let mut parts = Vec::new();
    while bytes.len() > 0 {
        parts.push(part(&mut bytes, 6));
    }
    let mut builder = KeyBuilder::default();
    for part in &parts {
        builder.part(part);
    }
    let key = builder.finish(namespace.as_str().into(), version);
    let tag = key.tag();
    assert!(tag.is_ascii() && !tag.contains(['{', '}']) && tag.len() <= 2 * MAX_LEN + 1);
    if !tag.contains("~#") {
        let (name, rest) = namespace_in(tag);
        assert_eq!(name, (namespace, version), "{tag}");
        assert_eq!(parts_in(rest), parts, "{tag}");
    }
    headers_keep_to_themselves(data, &key);
}

/// A header's value is text from outside as well.
fn headers_keep_to_themselves(data: &[u8], other: &Key) {
    let value = String::from_utf8_lossy(data);
    let of = |values: Option<&str>| {
        let mut builder = KeyBuilder::default();
        builder.header("x-tenant", values.map(std::iter::once));
        builder.finish("headers".into(), None)
    };
    let key = of(Some(&value));
    assert!(key.tag().len() <= 2 * MAX_LEN + 1 && !key.tag().contains(['{', '}']));
    assert_ne!(key, of(None));
    assert_eq!(key == of(Some("")), value.trim().is_empty());
    assert_ne!(&key, other);
}

fn text(bytes: &mut dyn Iterator<Item = u8>) -> String {
    let length = usize::from(bytes.next().unwrap_or_default() % 48);
    let text: Vec<_> = bytes.take(length).collect();
    String::from_utf8_lossy(&text).into_owned()
}

fn part(bytes: &mut dyn Iterator<Item = u8>, depth: u8) -> Part {
    let kind = bytes.next().unwrap_or_default();
    match kind % if depth == 0 { 5 } else { 8 } {
        0 => Part::Text(text(bytes)),
        1 => {
            let digits = bytes.take(8).fold(0_i64, |all, digit| {
                all.wrapping_mul(256).wrapping_add(digit.into())
            });
            Part::Integer(digits)
        }
        2 => Part::Truth(kind > 127),
        3 => Part::Bytes(text(bytes).into_bytes()),
        4 => Part::Optional(None),
        5 => Part::Optional(Some(Box::new(part(bytes, depth - 1)))),
        6 => Part::Group(several(kind, bytes, depth)),
        _ => Part::List(several(kind, bytes, depth)),
    }
}

fn several(kind: u8, bytes: &mut dyn Iterator<Item = u8>, depth: u8) -> Vec<Part> {
    let count = kind / 8 % 4;
    (0..count).map(|_| part(bytes, depth - 1)).collect()
}

/// The namespace and version in front of a tag's first lone colon, and what stands behind it.
fn namespace_in(tag: &str) -> ((String, Option<u32>), &str) {
    let mut end = 0;
    while let Some(at) = tag[end..].find(':') {
        end += at;
        if !tag[end..].starts_with("::") {
            break;
        }
        end += 2;
    }
    let (name, rest) = (&tag[..end], &tag[end + 1..]);
    let (name, version) = match name.split_once("~v") {
        Some((name, version)) => (name, version.parse().ok()),
        None => (name, None),
    };
    ((unescape(name).unwrap_or_default(), version), rest)
}

fn parts_in(mut text: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    while !text.is_empty() {
        parts.push(read(&mut text));
        text = text.strip_prefix(':').unwrap_or(text);
    }
    parts
}

/// Takes one part off the front.
fn read(text: &mut &str) -> Part {
    for (mark, close) in [("~(", ")"), ("~[", "]")] {
        if skip(text, mark) {
            let mut parts = Vec::new();
            while !skip(text, close) {
                parts.push(read(text));
                skip(text, ",");
            }
            return if mark == "~(" {
                Part::Group(parts)
            } else {
                Part::List(parts)
            };
        }
    }
    if skip(text, "~o") {
        return Part::Optional(Some(Box::new(read(text))));
    }
    let end = text.find([',', ':', ')', ']']).unwrap_or(text.len());
    let (word, rest) = text.split_at(end);
    *text = rest;
    match (word, word.strip_prefix("~b"), word.strip_prefix("~s")) {
        ("~t", ..) => Part::Truth(true),
        ("~f", ..) => Part::Truth(false),
        ("~n", ..) => Part::Optional(None),
        (_, Some(hex), _) => Part::Bytes(from_hex(hex)),
        (_, _, Some(escaped)) => Part::Text(unescape(escaped).unwrap_or_default()),
        _ if word.starts_with(|first: char| first == '-' || first.is_ascii_digit()) => {
            Part::Integer(word.parse().unwrap_or_default())
        }
        _ => Part::Text(unescape(word).unwrap_or_default()),
    }
}

fn from_hex(digits: &str) -> Vec<u8> {
    let pairs = digits.as_bytes().chunks(2).map(String::from_utf8_lossy);
    pairs
        .filter_map(|pair| u8::from_str_radix(&pair, 16).ok())
        .collect()
}

fn skip(text: &mut &str, mark: &str) -> bool {
    let rest = text.strip_prefix(mark);
    *text = rest.unwrap_or(text);
    rest.is_some()
}
