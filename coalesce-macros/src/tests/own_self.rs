//! Where `self` is replaced in a body that owns a copy of the receiver, and where it stays.

use super::tokens;
use crate::expand::own_self::rewrite;

fn rewritten(body: &str) -> Option<String> {
    let group = proc_macro2::Group::new(proc_macro2::Delimiter::Brace, tokens(body));
    rewrite(&group).map(|group| group.stream().to_string())
}

#[track_caller]
fn becomes(body: &str, expected: &str) {
    assert_eq!(rewritten(body), Some(tokens(expected).to_string()));
}

#[test]
fn variable_is_replaced_everywhere() {
    becomes("self.n + f(self)", "__coalesce_self.n + f(__coalesce_self)");
    becomes("|x| { self.f(x) }", "|x| { __coalesce_self.f(x) }");
    becomes(
        "vec![self.n; { self.n }]",
        "vec![__coalesce_self.n; { __coalesce_self.n }]",
    );
    becomes(
        "macro_rules! n { () => { self.n } } n!()",
        "macro_rules! n { () => { __coalesce_self.n } } n!()",
    );
    becomes(
        "let f: fn(u8) = g; self.f",
        "let f: fn(u8) = g; __coalesce_self.f",
    );
}

#[test]
fn format_strings_that_capture_it_are_changed() {
    becomes(
        "format!(\"{self} {self:?}\")",
        "format!(\"{__coalesce_self} {__coalesce_self:?}\")",
    );
    becomes(
        "std::println!(r#\"{{self}} {self}\"#)",
        "std::println!(\"{{self}} {__coalesce_self}\")",
    );
    becomes("write!(f, \"{self}\")", "write!(f, \"{__coalesce_self}\")");
}

#[test]
fn other_strings_stay() {
    for body in [
        "f(\"{self}\")",
        "format!(\"{{self}}\")",
        "json!({ \"a\": \"{self}\" })",
    ] {
        assert_eq!(rewritten(body), None, "{body}");
    }
    becomes(
        "format!(\"{}\", f(\"{self}\", self))",
        "format!(\"{}\", f(\"{self}\", __coalesce_self))",
    );
}

#[test]
fn paths_and_imports_stay() {
    for body in [
        "self::f()",
        "use std::io::{self, Read}; io::stdin()",
        "use self::x::Y; Y",
        "Self::f(Self { n: 1 })",
        "struct X { pub(self) n: u8 }",
    ] {
        assert_eq!(rewritten(body), None, "{body}");
    }
}

#[test]
fn functions_inside_the_body_keep_their_own() {
    becomes(
        "impl X { fn f(&self) -> u8 { self.0 } } self.n",
        "impl X { fn f(&self) -> u8 { self.0 } } __coalesce_self.n",
    );
    becomes(
        "trait T { fn f(&self); fn g(&self) { self.f() } } T::g(self)",
        "trait T { fn f(&self); fn g(&self) { self.f() } } T::g(__coalesce_self)",
    );
}
