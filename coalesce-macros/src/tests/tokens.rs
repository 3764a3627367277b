//! Questions about tokens.

use super::tokens;
use crate::tokens::{borrow, calls, captured_names, mention, uses};

#[test]
fn captured_names_are_those_of_a_format_string() {
    let names: Vec<&str> = captured_names("{a} {b:?} {{c}} {0} {} {{{d}}} {e").collect();
    assert_eq!(names, ["a", "b", "0", "d"]);
}

#[test]
fn borrows_are_found_at_any_depth() {
    for ty in [
        "&str",
        "&'a str",
        "X<'_>",
        "Vec<(u8, &str)>",
        "[&u8; 3]",
        "impl Fn() -> X<'a>",
    ] {
        assert!(borrow(&tokens(ty)).is_some(), "{ty}");
    }
    for ty in [
        "u8",
        "&'static str",
        "X<'static>",
        "Arc<dyn Fn(&str)>",
        "for<'a> fn(&'a u8)",
    ] {
        assert!(borrow(&tokens(ty)).is_none(), "{ty}");
    }
}

#[test]
fn names_are_mentioned_by_identifiers_and_captures() {
    let name = quote::format_ident!("id");
    for mentioned in [
        "id",
        "f(id)",
        "x![id]",
        "format!(\"{id}\")",
        "x!(y(\"{id:?}\"))",
        "r#id",
    ] {
        assert!(mention(&tokens(mentioned), &name), "{mentioned}");
    }
    for other in [
        "ids",
        "\"id\"",
        "\"{id}\"",
        "f(\"{id}\")",
        "format!(\"{{id}}\")",
    ] {
        assert!(!mention(&tokens(other), &name), "{other}");
    }
}

#[test]
fn fields_paths_and_macros_of_the_same_name_are_no_variables() {
    let name = quote::format_ident!("id");
    for variable in [
        "id",
        "id.x",
        "(a, id)",
        "0..id",
        "..=id",
        "X { ..id }",
        "X { id }",
        "X { y: id }",
        "X { y: id, z }",
        "a != id",
        "id != a",
        "!id",
        "&id",
        "id as u64",
        "id(1)",
        "x!(id)",
        "a.b(id)",
    ] {
        assert!(uses(&tokens(variable), &name), "{variable}");
    }
    for other in [
        "a.id",
        "a.id()",
        "a.b.id",
        "id::x",
        "a::id",
        "id!()",
        "X { id: 1 }",
        "a.id.b",
        "id::<u8>()",
    ] {
        assert!(!uses(&tokens(other), &name), "{other}");
    }
}

#[test]
fn a_body_is_printed_once() {
    for arguments in ["", "inline", "entry = g", "codec = json"] {
        for function in [
            "async fn f(id: u64) -> u64 { only_here(id) }",
            "async fn f(&self, id: u64) -> u64 { only_here(self, id) }",
            "async fn f(id: u64) -> u64 { Box::pin(f(only_here(id))).await }",
            "fn f() -> Pin<Box<dyn Future<Output = u64> + Send>> { only_here() }",
        ] {
            let expansion = crate::attribute::attribute(tokens(arguments), tokens(function));
            let count = expansion.unwrap().to_string().matches("only_here").count();
            assert_eq!(count, 1, "{arguments}: {function}");
        }
    }
}

#[test]
fn only_what_may_call_the_function_makes_it_recursive() {
    let name = quote::format_ident!("order");
    for own in [
        "order(1)",
        "Self::order(1)",
        "self.order(1)",
        "crate::order(1)",
        "order::<u8>(1)",
        "<Self as T>::order(1)",
    ] {
        assert!(calls(&tokens(own), &name), "{own}");
    }
    for other in [
        "let order: Order = x;",
        "Order { order: x }",
        "order::load(1)",
        "db::order(1)",
        "db.order(1)",
        "fn order(id: u64) {}",
        "order + 1",
    ] {
        assert!(!calls(&tokens(other), &name), "{other}");
    }
}
