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

/// Types whose bytes decide how deep they are read: by a variant, by a list, by an option, by a structure.
#[derive(Debug, Serialize, Deserialize)]
enum Tree {
    Leaf,
    Boxed(Box<Tree>),
    Listed(Vec<Tree>),
    Named { of: Box<Tree> },
}

#[derive(Debug, Serialize, Deserialize)]
struct Chain {
    next: Option<Box<Chain>>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Lists(Vec<Lists>);

/// The bytes of a value that lies `levels` deep. Written by hand: what writes a value is no deeper than its stack.
fn nested<C: Codec>(levels: usize, variant: &str) -> Vec<u8> {
    let [before, leaf, after]: [&[u8]; 3] = match (C::NUMBER, variant) {
        (1, "boxed") => [b"\x81\xa5Boxed", b"\xa4Leaf", b""],
        (1, "listed") => [b"\x81\xa6Listed\x91", b"\xa4Leaf", b""],
        (1, "named") => [b"\x81\xa5Named\x81\xa2of", b"\xa4Leaf", b""],
        (1, "chain") => [b"\x81\xa4next", b"\x81\xa4next\xc0", b""],
        (1, "lists") => [b"\x91", b"\x90", b""],
        (3, "boxed") => [b"{\"Boxed\":", b"\"Leaf\"", b"}"],
        (3, "listed") => [b"{\"Listed\":[", b"\"Leaf\"", b"]}"],
        (3, "named") => [b"{\"Named\":{\"of\":", b"\"Leaf\"", b"}}"],
        (3, "chain") => [b"{\"next\":", b"{\"next\":null}", b"}"],
        (3, "lists") => [b"[", b"[]", b"]"],
        (4, "listed") => [b"\x02\x01", b"\x00", b""],
        (4, "named") => [b"\x03", b"\x00", b""],
        (4, "boxed" | "chain" | "lists") => [b"\x01", b"\x00", b""],
        other => panic!("{other:?}"),
    };
    [before.repeat(levels), leaf.to_vec(), after.repeat(levels)].concat()
}

/// One frame of the stack for each level, and a stack that ends takes the process with it.
#[test]
fn a_value_that_lies_too_deep_within_itself_is_a_miss_and_no_end_of_the_process() {
    fn is_read<C: Codec, T: DeserializeOwned>(levels: usize, variant: &str) -> bool {
        decode::<C, T>(C::NUMBER, &nested::<C>(levels, variant)).is_some()
    }
    fn test<C: Codec>() {
        for levels in [40, 100_000] {
            let fits = levels == 40;
            for variant in ["boxed", "listed", "named"] {
                let read = is_read::<C, Tree>(levels, variant);
                assert_eq!(read, fits, "{variant}, codec {}", C::NUMBER);
            }
            assert_eq!(is_read::<C, Chain>(levels, "chain"), fits);
            assert_eq!(is_read::<C, Lists>(levels, "lists"), fits);
        }
        // The leaf is a level as well.
        let read = [127, 128].map(|levels| is_read::<C, Tree>(levels, "boxed"));
        assert_eq!(read, [true, false], "codec {}", C::NUMBER);
    }
    for_each_codec!(test);
}

/// Otherwise every reader would take it for nothing and run its body, each behind the other.
#[test]
fn a_value_that_is_too_deep_to_be_read_is_not_written() {
    fn again<T>(levels: usize, leaf: T, around: impl Fn(T) -> T) -> T {
        (0..levels).fold(leaf, |inner, _| around(inner))
    }
    fn agree<C: Codec, T: Serialize + DeserializeOwned>(levels: usize, variant: &str, value: &T) {
        let (bytes, place) = (nested::<C>(levels, variant), (C::NUMBER, variant, levels));
        let read = decode::<C, T>(C::NUMBER, &bytes).is_some();
        let written = encode::<C, _>(value, 1 << 20);
        // JSON's reader counts some things of its own.
        let agrees = read == written.is_ok() || C::NUMBER == 3 && read && levels > 60;
        assert!(agrees, "{place:?}: {written:?}");
        assert!(written.is_err() || written == Ok(bytes.into()), "{place:?}");
    }
    fn test<C: Codec>() {
        for levels in 1..=130 {
            let boxed = again(levels, Tree::Leaf, |inner| Tree::Boxed(Box::new(inner)));
            agree::<C, _>(levels, "boxed", &boxed);
            let listed = again(levels, Tree::Leaf, |inner| Tree::Listed(vec![inner]));
            agree::<C, _>(levels, "listed", &listed);
            let named = |inner| Tree::Named {
                of: Box::new(inner),
            };
            agree::<C, _>(levels, "named", &again(levels, Tree::Leaf, named));
            let chain = |inner| Chain {
                next: Some(Box::new(inner)),
            };
            let end = Chain { next: None };
            agree::<C, _>(levels, "chain", &again(levels, end, chain));
            let lists = again(levels, Lists(vec![]), |inner| Lists(vec![inner]));
            agree::<C, _>(levels, "lists", &lists);
        }
    }
    for_each_codec!(test);
}

#[test]
fn lists_without_a_type_of_their_own_are_written_as_deep_as_they_are_read() {
    fn deepest<C: Codec>() -> Option<usize> {
        let lists = |levels| (1..levels).fold(serde_json::json!([]), |inner, _| vec![inner].into());
        let written = |levels: &usize| encode::<C, _>(&lists(*levels), 1 << 20).ok();
        let read = |bytes: &Bytes| decode::<C, serde_json::Value>(C::NUMBER, bytes).is_some();
        let deepest = (1..=140).take_while(|levels| written(levels).is_some_and(|it| read(&it)));
        let deepest = deepest.last();
        assert!(
            (1..=140)
                .filter_map(|levels| written(&levels))
                .all(|it| read(&it))
        );
        deepest
    }
    assert_eq!(deepest::<MessagePack>(), Some(128));
    #[cfg(feature = "json")]
    assert_eq!(deepest::<Json>(), Some(127));
}

/// JSON has bytes as a list, whose level its reader counts.
#[cfg(feature = "json")]
#[test]
fn bytes_are_written_as_json_as_deep_as_they_are_read() {
    struct Lists(usize);
    impl Serialize for Lists {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            match self.0 {
                0 => serializer.serialize_bytes(b"leaf"),
                levels => serializer.collect_seq([Self(levels - 1)]),
            }
        }
    }
    let written = |levels: &usize| encode::<Json, _>(&Lists(*levels), 1 << 20).ok();
    let read = |bytes: &Bytes| decode::<Json, serde_json::Value>(Json::NUMBER, bytes).is_some();
    let written: Vec<_> = (1..=140).filter_map(|levels| written(&levels)).collect();
    assert!(written.iter().all(read));
    assert_eq!(written.len(), 126);
}
