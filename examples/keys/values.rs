//! Values of every kind, each with the key that it makes.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::net::IpAddr;
use std::time::{Duration, UNIX_EPOCH};

use coalesce::{KeyPart, canonical};
use serde::Serialize;

/// The fields are written in the order of their names: moving one changes no key.
#[derive(Clone, KeyPart, Serialize)]
struct Sku {
    shop: u32,
    code: String,
}

/// One nameless field: written as what it holds.
#[derive(KeyPart)]
struct OrderId(u64);

#[derive(KeyPart)]
struct Point(i32, i32);

#[derive(KeyPart, Serialize)]
enum Payment {
    Cash,
    Card(u64),
    Transfer { iban: &'static str, at_once: bool },
}

#[derive(KeyPart)]
struct Page<'a, T, const N: usize> {
    of: &'a [T; N],
    number: u32,
}

/// A type that is no key part, as those of other crates are.
#[derive(Serialize)]
struct Search {
    words: Vec<&'static str>,
    highest_price: Option<f64>,
    limits: HashMap<&'static str, u32>,
}

/// How each value is written, and the key of a call that has it alone.
pub(crate) fn all() -> Vec<(&'static str, String)> {
    [standard(), collections(), derived(), of_serde()].concat()
}

macro_rules! keys {
    ($($value:expr),* $(,)?) => {
        vec![$((
            stringify!($value),
            coalesce::Key::new("shop::get", &[&$value]).tag().to_owned(),
        )),*]
    };
}
#[expect(
    clippy::allow_attributes,
    reason = "without the features of foreign types nobody else uses it"
)]
#[allow(unused_imports, reason = "see above")]
pub(crate) use keys;

fn standard() -> Vec<(&'static str, String)> {
    keys![
        42_u64,
        -7_i8,
        u128::MAX,
        "A-1",
        "1",
        "",
        "ada@example.org",
        "a:b, {c}",
        'ü',
        true,
        (),
        None::<u8>,
        Some(""),
        Cow::Borrowed("borrowed"),
        Duration::from_millis(1500),
        UNIX_EPOCH + Duration::from_secs(1),
        UNIX_EPOCH - Duration::from_secs(1),
        IpAddr::from([127, 0, 0, 1]),
        1.5_f64.to_bits(),
    ]
}

fn collections() -> Vec<(&'static str, String)> {
    keys![
        ("acme", 7),
        ("a", "b:c"),
        ("a:b", "c"),
        [1, 2, 3],
        vec!["a,b"],
        vec![vec![1], vec![]],
        BTreeSet::from([2, 1]),
        HashSet::from([10, 9, 2]),
        BTreeMap::from([(1, "one")]),
        HashMap::from([("b", 2), ("a", 1)]),
        "x".repeat(200),
    ]
}

fn derived() -> Vec<(&'static str, String)> {
    let sku = Sku {
        shop: 7,
        code: "A-1".to_owned(),
    };
    keys![
        sku,
        OrderId(7),
        Point(1, -1),
        Payment::Cash,
        Payment::Card(7),
        Payment::Transfer {
            iban: "DE02",
            at_once: true
        },
        Page {
            of: &[1, 2],
            number: 3
        },
        vec![sku.clone(), sku],
    ]
}

fn of_serde() -> Vec<(&'static str, String)> {
    let search = Search {
        words: vec!["red", "shoe"],
        highest_price: Some(99.5),
        limits: HashMap::from([("page", 20), ("depth", 3)]),
    };
    keys![
        canonical(&search),
        canonical(&Payment::Card(7)),
        canonical(&[0.0, -0.0]),
    ]
}
