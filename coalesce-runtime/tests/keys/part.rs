//! Values of every shape that a key part can have.

use std::collections::BTreeMap;

use coalesce_runtime::{KeyPart, KeyWriter};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::{option, sample};
use serde::ser::{SerializeStruct as _, SerializeTuple as _, SerializeTupleVariant as _};
use serde::{Serialize, Serializer};

/// A value of any shape that a key part can have.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Part {
    Integer(i64),
    Text(String),
    Truth(bool),
    Bytes(Vec<u8>),
    Optional(Option<Box<Part>>),
    Group(Vec<Part>),
    List(Vec<Part>),
    Record(BTreeMap<String, Part>),
    Kind(String, Vec<Part>),
}

impl KeyPart for Part {
    fn write(&self, out: &mut KeyWriter<'_>) {
        match self {
            Self::Integer(number) => number.write(out),
            Self::Text(text) => text.write(out),
            Self::Truth(truth) => truth.write(out),
            Self::Bytes(bytes) => out.bytes(bytes),
            Self::Optional(part) => part.as_deref().write(out),
            Self::Group(parts) => {
                let parts: Vec<_> = parts.iter().map(|part| part as &dyn KeyPart).collect();
                out.group(&parts);
            }
            Self::List(parts) => parts.write(out),
            Self::Record(fields) => {
                let fields = fields.iter().map(|(name, part)| (name.as_str(), part as _));
                out.record(&fields.rev().collect::<Vec<_>>());
            }
            Self::Kind(name, parts) => {
                let parts: Vec<_> = parts.iter().map(|part| part as &dyn KeyPart).collect();
                out.variant(name, |out| out.group(&parts));
            }
        }
    }
}

/// The same value as serde sees it.
impl Serialize for Part {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // Names are static in programs, and few in a test.
        let name = |name: &str| -> &'static str { String::leak(name.to_owned()) };
        match self {
            Self::Integer(number) => serializer.serialize_i64(*number),
            Self::Text(text) => serializer.serialize_str(text),
            Self::Truth(truth) => serializer.serialize_bool(*truth),
            Self::Bytes(bytes) => serializer.serialize_bytes(bytes),
            Self::Optional(part) => part.serialize(serializer),
            Self::Group(parts) => {
                let mut tuple = serializer.serialize_tuple(parts.len())?;
                parts
                    .iter()
                    .try_for_each(|part| tuple.serialize_element(part))?;
                tuple.end()
            }
            Self::List(parts) => parts.serialize(serializer),
            Self::Record(fields) => {
                let mut record = serializer.serialize_struct("", fields.len())?;
                for (field, part) in fields {
                    record.serialize_field(name(field), part)?;
                }
                record.end()
            }
            Self::Kind(kind, parts) => {
                let mut tuple =
                    serializer.serialize_tuple_variant("", 0, name(kind), parts.len())?;
                parts
                    .iter()
                    .try_for_each(|part| tuple.serialize_field(part))?;
                tuple.end()
            }
        }
    }
}

/// Whatever an encoding could stumble over.
const LETTERS: &[char] = &[
    'a', 'A', 's', 'n', 'h', 'v', '0', '1', '2', '5', ':', '%', '{', '}', '~', ',', '(', ')', '[',
    ']', '/', '-', '=', '#', '@', ' ', '\0', 'ü', '🗝',
];

/// Texts so short and of so few letters that near misses are frequent.
pub(crate) fn text() -> impl Strategy<Value = String> {
    vec(sample::select(LETTERS), 0..5).prop_map(String::from_iter)
}

pub(crate) fn part() -> impl Strategy<Value = Part> {
    let leaf = prop_oneof![
        4 => text().prop_map(Part::Text),
        2 => (-30..300_i64).prop_map(Part::Integer),
        1 => any::<bool>().prop_map(Part::Truth),
        1 => vec(prop_oneof![Just(0), Just(0x25), any::<u8>()], 0..3).prop_map(Part::Bytes),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            option::of(inner.clone().prop_map(Box::new)).prop_map(Part::Optional),
            vec(inner.clone(), 0..3).prop_map(Part::Group),
            vec(inner.clone(), 0..3).prop_map(Part::List),
            // One without fields is the empty group.
            btree_map(text(), inner.clone(), 1..3).prop_map(Part::Record),
            (text(), vec(inner, 0..3)).prop_map(|(name, parts)| Part::Kind(name, parts)),
        ]
    })
}
