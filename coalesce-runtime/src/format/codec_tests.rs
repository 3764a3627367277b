//! Codecs: what comes back, what is refused, and what another version of a type makes of it.

use std::cell::Cell;

use serde::Deserialize;

use super::*;

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Order {
    id: u64,
    note: Option<String>,
}

macro_rules! for_each_codec {
    ($test:ident) => {
        $test::<MessagePack>();
        #[cfg(feature = "json")]
        $test::<Json>();
        #[cfg(feature = "postcard")]
        $test::<Postcard>();
    };
}

#[test]
fn a_value_comes_back() {
    fn test<C: Codec>() {
        for note in [None, Some("n".to_owned())] {
            let order = Order { id: 7, note };
            let bytes = encode::<C, _>(&order, 1024).unwrap();
            assert_eq!(decode::<C, _>(C::NUMBER, &bytes), Some(order));
        }
    }
    for_each_codec!(test);
}

#[test]
fn the_limit_is_exact() {
    fn test<C: Codec>() {
        let text = "x".repeat(100);
        let exact = encode::<C, _>(&text, 1024).unwrap().len();
        assert!(encode::<C, _>(&text, exact).is_ok());
        assert_eq!(encode::<C, _>(&text, exact - 1), Err(NotEncoded::TooLarge));
    }
    for_each_codec!(test);
}

#[test]
fn a_value_above_the_limit_is_noticed_before_all_of_it_is_encoded() {
    struct Endless<'a>(&'a Cell<u32>);
    impl Serialize for Endless<'_> {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            self.0.set(self.0.get() + 1);
            serializer.serialize_bytes(&[0; 1000])
        }
    }
    fn test<C: Codec>() {
        let asked = Cell::new(0);
        let list: Vec<_> = (0..1_000_000).map(|_| Endless(&asked)).collect();
        assert_eq!(encode::<C, _>(&list, 10_000), Err(NotEncoded::TooLarge));
        assert!(asked.get() <= 10, "{} elements were encoded", asked.get());
    }
    for_each_codec!(test);
}

#[test]
fn leftover_bytes_another_codec_and_another_type_are_misses() {
    fn test<C: Codec>() {
        let mut bytes = encode::<C, _>(&7_u8, 16).unwrap().to_vec();
        assert_eq!(decode::<C, u8>(C::NUMBER + 1, &bytes), None);
        assert_eq!(decode::<C, String>(C::NUMBER, &bytes), None);
        bytes.push(b'7');
        assert_eq!(decode::<C, (u8,)>(C::NUMBER, &bytes), None);
        assert_eq!(decode::<C, Order>(C::NUMBER, &[]), None);
    }
    for_each_codec!(test);
}

/// The next version of [`Order`]: one field moved, one added, one gone.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct NextOrder {
    total: Option<u64>,
    id: u64,
}

#[test]
fn fields_can_be_moved_added_and_removed_in_both_directions() {
    fn test<C: Codec>() {
        let order = Order {
            id: 7,
            note: Some("n".to_owned()),
        };
        let bytes = encode::<C, _>(&order, 1024).unwrap();
        let next = NextOrder { total: None, id: 7 };
        assert_eq!(decode::<C, _>(C::NUMBER, &bytes), Some(next));

        let next = NextOrder {
            total: Some(9),
            id: 7,
        };
        let bytes = encode::<C, _>(&next, 1024).unwrap();
        let order = Order { id: 7, note: None };
        assert_eq!(decode::<C, _>(C::NUMBER, &bytes), Some(order));
    }
    test::<MessagePack>();
    #[cfg(feature = "json")]
    test::<Json>();
}

#[test]
fn a_field_that_is_missing_or_has_another_name_is_a_miss() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Renamed {
        number: u64,
        note: Option<String>,
    }
    fn test<C: Codec>() {
        let bytes = encode::<C, _>(&Order { id: 7, note: None }, 1024).unwrap();
        assert_eq!(decode::<C, Renamed>(C::NUMBER, &bytes), None);
    }
    test::<MessagePack>();
    #[cfg(feature = "json")]
    test::<Json>();
}

/// Does not notice that its writer is full.
#[derive(Clone, Copy)]
struct Careless;

impl Codec for Careless {
    const NUMBER: u8 = 200;

    fn encode<T: Serialize + ?Sized>(_: &T, out: &mut dyn io::Write) -> io::Result<()> {
        let _ = out.write(&[0; 8]);
        Ok(())
    }

    fn decode<T: DeserializeOwned>(_: &[u8]) -> Option<T> {
        None
    }
}

#[test]
fn a_codec_that_ignores_its_writer_stores_no_half_values() {
    assert_eq!(encode::<Careless, _>(&0, 7), Err(NotEncoded::TooLarge));
    assert_eq!(encode::<Careless, _>(&0, 8).unwrap().len(), 8);
}

/// Both are counted, but only one of them is helped by a higher limit.
#[test]
fn a_value_that_gives_up_is_not_one_that_is_too_large() {
    struct GivesUp;

    impl Serialize for GivesUp {
        fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
            Err(serde::ser::Error::custom("no bytes"))
        }
    }

    let answer = encode::<MessagePack, _>(&GivesUp, 1_000);
    assert_eq!(answer, Err(NotEncoded::Failed));
}

/// Followers get what the leader has, to the last bit.
#[cfg(feature = "json")]
#[test]
fn floats_are_the_same_behind_json() {
    let floats: Vec<f64> = (1..1_000).map(|n| 1_000.0 / f64::from(n * 7)).collect();
    let bytes = encode::<Json, _>(&floats, 1 << 20).unwrap();
    assert_eq!(decode::<Json, Vec<f64>>(Json::NUMBER, &bytes), Some(floats));
}
