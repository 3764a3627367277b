//! Canonical texts of what serde sees.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use super::*;
use crate::words::key_part;

fn canonical_text(value: &impl Serialize) -> String {
    key_part::text_of(&canonical(value))
}

#[derive(Serialize)]
struct Filter {
    words: Vec<&'static str>,
    limits: HashMap<u8, f64>,
    sort: Sort,
    page: Option<u32>,
}

#[derive(Serialize)]
enum Sort {
    Newest,
    By(&'static str),
    Near { x: i32, y: i32 },
    Both(u8, u8),
}

#[test]
fn every_kind_of_value_has_a_text() {
    let filter = Filter {
        words: vec!["a,b", "1"],
        limits: HashMap::from([(2, 1.5), (1, 0.0)]),
        sort: Sort::Near { y: 1, x: -1 },
        page: None,
    };
    assert_eq!(
        canonical_text(&filter),
        "~(limits~=~m[~(1,~d0000000000000000),~(2,~d3ff8000000000000)],page~=~n,\
         sort~=~@Near~(x~=-1,y~=1),words~=~[a%2Cb,~s1])"
    );
    let sorts = [Sort::Newest, Sort::By("x"), Sort::Both(1, 2)];
    assert_eq!(canonical_text(&sorts), "~(~@Newest,~@By~(x),~@Both~(1,2))");
}

#[test]
fn a_wrapper_is_what_it_wraps_and_nothing_is_an_empty_group() {
    #[derive(Serialize)]
    struct Id(u8);
    #[derive(Serialize)]
    struct Pair(u8, u8);
    #[derive(Serialize)]
    struct Unit;
    assert_eq!(canonical_text(&Id(7)), "7");
    assert_eq!(canonical_text(&Some(Id(7))), "~o7");
    assert_eq!(canonical_text(&None::<Id>), "~n");
    assert_eq!(canonical_text(&Pair(7, 8)), "~(7,8)");
    assert_eq!(canonical_text(&(true, 'x')), "~(~t,x)");
    assert_eq!(canonical_text(&Unit), "~()");
    assert_eq!(canonical_text(&()), "~()");
}

#[test]
fn maps_of_any_order_have_one_text() {
    let map: HashMap<_, _> = (0..50).map(|n| (n, n * n)).collect();
    let ordered: BTreeMap<_, _> = (0..50).rev().map(|n| (n, n * n)).collect();
    assert_eq!(canonical_text(&map), canonical_text(&ordered));
}

/// To serde a map and a list are values of one type, wherever it does not know what is to come.
#[test]
fn a_map_is_no_list() {
    #[derive(Serialize)]
    #[serde(untagged)]
    enum Either {
        Map(BTreeMap<u8, u8>),
        List(Vec<(u8, u8)>),
    }
    for pairs in [vec![], vec![(1, 2)]] {
        let map = Either::Map(pairs.iter().copied().collect());
        assert_ne!(canonical_text(&map), canonical_text(&Either::List(pairs)));
    }
}

#[test]
fn equal_floats_have_one_text_and_others_differ() {
    assert_eq!(canonical_text(&-0.0), canonical_text(&0.0));
    assert_eq!(canonical_text(&-f64::NAN), canonical_text(&f64::NAN));
    assert_eq!(canonical_text(&1.5_f32), canonical_text(&1.5_f64));
    assert_ne!(canonical_text(&1.0), canonical_text(&1));
    assert_ne!(canonical_text(&0.1), canonical_text(&(0.1 + f64::EPSILON)));
}

#[test]
fn a_value_that_cannot_be_serialized_shares_with_nobody() {
    struct Stubborn;
    impl Serialize for Stubborn {
        fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
            Err(ser::Error::custom("no"))
        }
    }
    assert_ne!(canonical_text(&Stubborn), canonical_text(&Stubborn));
    assert_ne!(canonical_text(&[Stubborn]), canonical_text(&[Stubborn]));
}

#[test]
fn neither_a_value_nor_what_its_serialize_says_is_shown() {
    assert_eq!(format!("{:?}", canonical("secret")), "Canonical { .. }");
    let problem = <NoText as ser::Error>::custom("secret");
    assert_eq!(problem.to_string(), "a value cannot be serialized");
}
