//! Keys: what is put together reads like the call, and is no other call's.

use std::hash::{BuildHasher as _, RandomState};

use super::*;

fn tag(namespace: &'static str, parts: &[&dyn KeyPart]) -> String {
    Key::new(namespace, parts).tag().to_owned()
}

#[test]
fn ordinary_keys_read_like_the_call() {
    assert_eq!(tag("shop::get_order", &[&42_u64]), "shop::get_order:42");
    assert_eq!(tag("orders.v2", &[&"A-1"]), "orders.v2:A-1");
    assert_eq!(tag("now", &[]), "now:");
}

#[test]
fn the_namespace_ends_where_it_ends() {
    assert_ne!(tag("a:b", &[&"c"]), tag("a", &[&"b:c"]));
    assert_ne!(tag("a::b", &[&"c"]), tag("a", &[&"b", &"c"]));
    assert_ne!(tag("a:", &[&"c"]), tag("a", &[&"c"]));
    assert_ne!(
        Key::new("a:b", &[&"c"]).digest(),
        Key::new("a", &[&"b:c"]).digest()
    );
}

#[test]
fn braces_in_values_cannot_move_the_hash_tag() {
    let key = Key::new("n{s}", &[&"}{", &"{x}"]);
    assert!(!key.tag().contains(['{', '}']), "{}", key.tag());
}

#[test]
fn a_template_keeps_its_separators_to_itself() {
    let of = |a: &str, b: &str| {
        let mut builder = KeyBuilder::default();
        builder.template(&[Piece::Hole(&a), Piece::Text("/"), Piece::Hole(&b)]);
        builder.finish("n".into(), None).tag().to_owned()
    };
    assert_eq!(of("acme", "A-1"), "n:acme/A-1");
    assert_ne!(of("a/b", "c"), of("a", "b/c"));
    assert_ne!(of("a%2Fb", "c"), of("a/b", "c"));
}

#[test]
fn words_between_holes_leave_the_values_readable() {
    let of = |literal: &'static str, a: &str, b: &str| {
        let mut builder = KeyBuilder::default();
        builder.template(&[Piece::Hole(&a), Piece::Text(literal), Piece::Hole(&b)]);
        builder.finish("n".into(), None).tag().to_owned()
    };
    assert_eq!(of("/orders/", "acme", "so"), "n:acme/orders/so");
    assert_ne!(of("x/", "ax", "b"), of("x/", "a", "xb"));
    assert_ne!(of("x", "axb", "c"), of("x", "a", "bxc"));
}

#[test]
fn a_template_may_begin_with_a_colon_and_stays_in_its_namespace() {
    let mut builder = KeyBuilder::default();
    builder.template(&[Piece::Text(":x:"), Piece::Hole(&5)]);
    let key = builder.finish("ns".into(), None);
    assert_eq!(key.tag(), "ns:%3Ax:5");
    assert_ne!(key, Key::new("ns::x", &[&5]));
}

#[test]
fn a_template_may_hold_any_letters_at_any_length() {
    let value = "x".repeat(200);
    for shift in ["", "1"] {
        let mut builder = KeyBuilder::default();
        builder.template(&[
            Piece::Hole(&shift),
            Piece::Text("/{größe}/ääääääääääääääääääääääääääääääääääääääääääääääääää/"),
            Piece::Hole(&value),
        ]);
        let key = builder.finish("n".into(), None);
        assert!(key.tag().is_ascii() && !key.tag().contains(['{', '}']));
    }
}

#[test]
fn a_template_hole_with_structure_keeps_its_own_separators() {
    let of = |list: &[&str]| {
        let mut builder = KeyBuilder::default();
        builder.template(&[Piece::Text(","), Piece::Hole(&list)]);
        builder.finish("n".into(), None).tag().to_owned()
    };
    assert_ne!(of(&["a", "b"]), of(&["a,b"]));
}

#[test]
fn an_absent_header_is_not_an_empty_one_and_not_a_key_part() {
    let of = |values: Option<Vec<&'static str>>| {
        let mut builder = KeyBuilder::default();
        builder
            .part(&1)
            .header("x-tenant", values.map(Vec::into_iter));
        builder.finish("n".into(), None).tag().to_owned()
    };
    assert_eq!(of(Some(vec![" acme "])), "n:1:~hx-tenant=acme");
    assert_eq!(of(Some(vec![])), "n:1:~hx-tenant=");
    assert_eq!(of(None), "n:1:~hx-tenant");
    assert_eq!(of(Some(vec!["a", "b"])), "n:1:~hx-tenant=a,b");
    assert_eq!(of(Some(vec!["a,b"])), "n:1:~hx-tenant=a%2Cb");
}

#[test]
fn keys_are_bounded_whatever_goes_in() {
    let long = "ü".repeat(32_000);
    let key = Key::new(long.clone(), &[&long, &long]);
    assert!(key.tag().len() < 512, "{}", key.tag().len());
    let other = Key::new(long.clone(), &[&long, &format!("{long}.")]);
    assert_ne!(key, other);
}

#[test]
fn a_new_version_is_another_key() {
    let of = |version| KeyBuilder::default().finish("n".into(), version);
    assert_ne!(of(None), of(Some(0)));
    assert_eq!(of(Some(7)).tag(), "n~v7:");
    assert_ne!(of(Some(7)).digest(), of(None).digest());
}

#[test]
fn debug_shows_no_argument_value() {
    let shown = format!("{:?}", Key::new("shop::login", &[&"secret-token"]));
    assert!(
        shown.contains("shop::login") && !shown.contains("secret"),
        "{shown}"
    );
    let mut builder = KeyBuilder::default();
    builder.part("secret-token");
    assert_eq!(format!("{builder:?}"), "KeyBuilder { .. }");
    let pieces = [Piece::Text("/"), Piece::Hole(&"secret-token")];
    assert_eq!(format!("{pieces:?}"), r#"[Text("/"), Hole]"#);
}

#[test]
fn the_fingerprint_is_that_of_equal_keys_alone() {
    let of = |part: u64| Key::new("shop::get_order", &[&part]).fingerprint();
    assert_eq!(of(7), of(7));
    assert_ne!(of(7), of(8));
}

#[test]
fn equal_keys_have_one_hash_and_others_another() {
    let hasher = RandomState::new();
    let of = |part: u64| hasher.hash_one(Key::new("shop::get_order", &[&part]));
    assert_eq!(of(7), of(7));
    assert_ne!(of(7), of(8));
}

/// Whoever invalidates by hand copies it from there.
#[cfg(any(feature = "axum", feature = "cli"))]
#[test]
fn a_key_is_made_again_of_its_text_in_redis_and_of_no_other_text() {
    let of = |version, text| Key::of_text("shop::get_order", version, text);
    let key = Key::new("shop::get_order", &[&"a b", &42]);
    assert_eq!(of(None, "a%20b:42"), Some(key.clone()));
    assert_ne!(of(Some(1), "a%20b:42"), Some(key));
    for text in ["a b:42", "{a}", "a\n", "ü"] {
        assert_eq!(of(None, text), None, "{text}");
    }
}
