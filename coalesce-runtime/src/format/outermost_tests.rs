//! What the outermost layer of a value is written as, and read back from.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::net::IpAddr;

use serde::de::value::{
    self, BoolDeserializer, MapAccessDeserializer, MapDeserializer, SeqAccessDeserializer,
    SeqDeserializer,
};
use serde::de::{DeserializeOwned, IntoDeserializer as _};

use super::*;
use crate::format::codec::{self, Codec, MessagePack};

fn comes_back_by<C: Codec, T: Serialize + DeserializeOwned + PartialEq + Debug>(value: &T) {
    let bytes = codec::encode::<C, _>(&Outermost(value), usize::MAX).unwrap();
    let read = codec::decode::<C, Outermost<T>>(C::NUMBER, &bytes);
    assert_eq!(read.map(|read| read.0).as_ref(), Some(value));
}

fn comes_back<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: &T) {
    comes_back_by::<MessagePack, T>(value);
    #[cfg(feature = "json")]
    comes_back_by::<codec::Json, T>(value);
    #[cfg(feature = "postcard")]
    comes_back_by::<codec::Postcard, T>(value);
}

#[test]
fn an_option_comes_back_as_it_was_at_any_depth() {
    comes_back(&None::<u8>);
    comes_back(&Some(7_u8));
    comes_back(&Some(()));
    for value in [None, Some(None), Some(Some(None)), Some(Some(Some(1_u8)))] {
        comes_back(&value);
        comes_back(&Box::new(value));
    }
    comes_back(&Some(vec![Some(1_u8), None]));
    comes_back(&Ok::<_, u8>(Some(None::<u8>)));
    comes_back(&Err::<u8, _>(Some(())));
    comes_back(&Some(Ok::<_, u8>(None::<Option<u8>>)));
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
enum Kind {
    Unit,
    One(Option<u8>),
    Two(u8, String),
    Named { text: String },
}

#[test]
fn everything_else_has_the_bytes_that_it_would_have_anyway() {
    fn same<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: &T) {
        comes_back(value);
        let bytes = codec::encode::<MessagePack, _>(value, usize::MAX).unwrap();
        let layered = codec::encode::<MessagePack, _>(&Outermost(value), usize::MAX).unwrap();
        assert_eq!(layered, bytes);
    }
    same(&());
    same(&(-1_i8, 2_i16, -3_i32, 4_i64));
    same(&(1_u8, 2_u16, 3_u32, 4_u64, 0.5_f32, -0.25_f64));
    same(&true);
    same(&-5_i64);
    same(&u64::MAX);
    same(&1.5_f64);
    same(&'ö');
    same(&"text".to_owned());
    same(&vec![1_u8, 2]);
    same(&vec![Some(1_u8), None]);
    same(&BTreeMap::from([("a".to_owned(), Some(1_u8))]));
    same(&Ok::<u8, String>(1));
    same(&Err::<u8, String>("no".to_owned()));
    // As text for people, and as bytes for others.
    same(&IpAddr::from([127, 0, 0, 1]));
    for kind in [
        Kind::Unit,
        Kind::One(None),
        Kind::Two(1, "b".to_owned()),
        Kind::Named {
            text: "c".to_owned(),
        },
    ] {
        same(&kind);
    }
}

/// Nobody but the standard library should call a type so, and somebody will.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename = "Result")]
enum Other {
    Unit,
    One(Option<u8>),
    Two(u8, Option<u8>),
    Named { text: String },
}

#[test]
fn another_type_that_is_called_result_comes_back_as_it_was() {
    comes_back(&Other::Unit);
    comes_back(&Other::One(None));
    comes_back(&Other::Two(1, None));
    comes_back(&Other::Named {
        text: "c".to_owned(),
    });
    let filled = [("Unit", 5_u8)].into_iter();
    let filled = MapAccessDeserializer::new(MapDeserializer::<_, value::Error>::new(filled));
    assert!(Outermost::<Other>::deserialize(filled).is_err());
}

#[test]
fn a_longer_list_is_no_option() {
    let bytes = codec::encode::<MessagePack, _>(&[1_u8, 2], usize::MAX).unwrap();
    let read = codec::decode::<MessagePack, Outermost<Option<u8>>>(1, &bytes);
    assert!(read.is_none());
    // Nor to a format that does not look at what is left.
    let list = SeqDeserializer::<_, value::Error>::new([1_u8, 2].into_iter());
    let read = Outermost::<Option<u8>>::deserialize(SeqAccessDeserializer::new(list));
    assert!(read.is_err());
}

#[test]
fn who_finds_something_else_is_told_what_was_expected() {
    fn problem<T: DeserializeOwned>() -> String {
        let found: BoolDeserializer<value::Error> = true.into_deserializer();
        let read = Outermost::<T>::deserialize(found);
        read.map(|_| ()).unwrap_err().to_string()
    }
    let option = problem::<Option<u8>>();
    assert!(
        option.ends_with("expected a list of none or one"),
        "{option}"
    );
    let result = problem::<Result<u8, u8>>();
    assert!(result.ends_with("expected enum Result"), "{result}");
}

/// A value that is not to be written before its time.
struct Unlooked;

impl Serialize for Unlooked {
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        unreachable!("nobody has to write it")
    }
}

#[test]
fn an_err_is_seen_in_the_outermost_layer_alone() {
    assert!(is_err(&Err::<u8, _>("no")));
    assert!(is_err(&Err::<u8, _>(Kind::Two(1, "b".to_owned()))));
    assert!(!is_err(&Ok::<_, u8>(Err::<u8, _>("no"))));
    assert!(!is_err(&Some(Err::<u8, _>("no"))));
    assert!(!is_err(&vec![Err::<u8, _>("no")]));
    assert!(!is_err(&Kind::One(Some(1))));
    assert!(!is_err(&Unlooked));
    assert!(!is_err("no") && !is_err(&()) && !is_err(&1.5_f64));
}
