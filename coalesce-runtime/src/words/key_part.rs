//! `KeyPart`: values that can name work, each with one canonical text.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::marker::PhantomData;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::key_writer::KeyWriter;

/// A value that can be part of a key.
///
/// Two values of one type that are equal have one text, in every process and every build; two that
/// differ have different texts. Nothing is taken from `Debug` or `Hash`, whose output may change.
///
/// # What is a key part
///
/// Integers, `bool`, `char`, texts, `Option`, tuples, arrays, slices and `Vec`; maps and sets, sorted;
/// references, `Box`, `Cow`, `Arc`; `Duration`, `SystemTime` and IP addresses. Types of other crates
/// with the feature of that name: `uuid`, `chrono`, `time`, `url`, `rust_decimal`, `bytes`.
///
/// For a type of your own, derive it. The fields of a struct are written in the order of their names,
/// so moving one changes no key; renaming one does.
///
/// ```
/// # extern crate coalesce_runtime as coalesce;
/// use coalesce::{Key, KeyPart, KeyWriter};
///
/// struct Sku { shop: u32, code: String }
///
/// // What `#[derive(coalesce::KeyPart)]` writes.
/// impl KeyPart for Sku {
///     fn write(&self, out: &mut KeyWriter<'_>) {
///         out.record(&[("shop", &self.shop), ("code", &self.code)]);
///     }
/// }
///
/// let sku = Sku { shop: 7, code: "A-1".to_owned() };
/// assert_eq!(Key::new("stock", &[&sku]).tag(), "stock:~(code~=A-1,shop~=7)");
/// ```
///
/// For a type of another crate that is `Serialize`, write [`canonical(&value)`](crate::canonical()).
///
/// # What is not
///
/// Floats: `0.0` and `-0.0` are equal and have different bits, and NaN equals nothing, so whether two
/// calls mean the same number is yours to say: `key = price.to_bits()`, or
/// `key = (price * 100.0).round() as i64`. Nor a collection of another crate whose order is an
/// accident: give its entries an order (a `BTreeMap`), or name a field that identifies it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be part of a coalescing key",
    label = "not a key part",
    note = "a type of your own: `#[derive(coalesce::KeyPart)]`, or name one of its fields in `key = ...`",
    note = "a float: equal numbers can differ in their bits, so say which are the same: `key = value.to_bits()`",
    note = "a type of another crate: enable the feature of its name (uuid, chrono, time, url, rust_decimal, bytes), or write `key = coalesce::canonical(&value)` if it is `Serialize` and keeps an order",
    note = "an argument that does not name the work belongs in `skip(...)`"
)]
pub trait KeyPart {
    /// Appends this value's canonical text.
    fn write(&self, out: &mut KeyWriter<'_>);
}

/// The canonical text of one part on its own.
pub(crate) fn text_of(part: &(impl KeyPart + ?Sized)) -> String {
    let mut text = String::new();
    part.write(&mut KeyWriter::new(&mut text));
    text
}

macro_rules! integers {
    ($($type:ty),*) => {$(
        impl KeyPart for $type {
            fn write(&self, out: &mut KeyWriter<'_>) {
                out.digits(self);
            }
        }
    )*};
}
integers!(
    u8, u16, u32, u64, u128, usize, i8, i16, i32, i64, i128, isize
);

macro_rules! non_zero {
    ($($type:ident),*) => {$(
        impl KeyPart for std::num::$type {
            fn write(&self, out: &mut KeyWriter<'_>) {
                out.digits(self);
            }
        }
    )*};
}
non_zero!(
    NonZeroU8,
    NonZeroU16,
    NonZeroU32,
    NonZeroU64,
    NonZeroU128,
    NonZeroUsize,
    NonZeroI8,
    NonZeroI16,
    NonZeroI32,
    NonZeroI64,
    NonZeroI128,
    NonZeroIsize
);

macro_rules! by_reference {
    ($($type:ty),*) => {$(
        impl<T: KeyPart + ?Sized> KeyPart for $type {
            fn write(&self, out: &mut KeyWriter<'_>) {
                (**self).write(out);
            }
        }
    )*};
}
by_reference!(&T, &mut T, Box<T>, Arc<T>, Rc<T>);

impl<T: KeyPart + ToOwned + ?Sized> KeyPart for Cow<'_, T> {
    fn write(&self, out: &mut KeyWriter<'_>) {
        (**self).write(out);
    }
}

macro_rules! as_text {
    ($($type:ty),*) => {$(
        impl KeyPart for $type {
            fn write(&self, out: &mut KeyWriter<'_>) {
                out.text(&self.to_string());
            }
        }
    )*};
}
// `Display` of these is their one canonical form (RFC 5952 for IPv6).
as_text!(IpAddr, Ipv4Addr, Ipv6Addr);

/// What `Display` leaves out, the flow of IPv6, is written where there is one.
impl KeyPart for SocketAddr {
    fn write(&self, out: &mut KeyWriter<'_>) {
        match self {
            Self::V6(v6) if v6.flowinfo() != 0 => {
                out.group(&[v6.ip(), &v6.port(), &v6.flowinfo(), &v6.scope_id()]);
            }
            _ => out.text(&self.to_string()),
        }
    }
}

impl KeyPart for str {
    fn write(&self, out: &mut KeyWriter<'_>) {
        out.text(self);
    }
}

impl KeyPart for String {
    fn write(&self, out: &mut KeyWriter<'_>) {
        out.text(self);
    }
}

impl KeyPart for char {
    fn write(&self, out: &mut KeyWriter<'_>) {
        out.text(self.encode_utf8(&mut [0; 4]));
    }
}

impl KeyPart for bool {
    fn write(&self, out: &mut KeyWriter<'_>) {
        out.truth(*self);
    }
}

impl KeyPart for () {
    fn write(&self, out: &mut KeyWriter<'_>) {
        out.group(&[]);
    }
}

/// The marker of a type says nothing about the value.
impl<T: ?Sized> KeyPart for PhantomData<T> {
    fn write(&self, out: &mut KeyWriter<'_>) {
        out.group(&[]);
    }
}

impl<T: KeyPart> KeyPart for Option<T> {
    fn write(&self, out: &mut KeyWriter<'_>) {
        match self {
            Some(part) => out.present(part),
            None => out.absent(),
        }
    }
}

impl<T: KeyPart> KeyPart for [T] {
    fn write(&self, out: &mut KeyWriter<'_>) {
        out.list(self.iter().map(|part| part as &dyn KeyPart));
    }
}

impl<T: KeyPart, const N: usize> KeyPart for [T; N] {
    fn write(&self, out: &mut KeyWriter<'_>) {
        self.as_slice().write(out);
    }
}

impl<T: KeyPart> KeyPart for Vec<T> {
    fn write(&self, out: &mut KeyWriter<'_>) {
        self.as_slice().write(out);
    }
}

impl<T: KeyPart> KeyPart for BTreeSet<T> {
    fn write(&self, out: &mut KeyWriter<'_>) {
        out.sorted(self.iter().map(text_of).collect());
    }
}

impl<T: KeyPart, S> KeyPart for HashSet<T, S> {
    fn write(&self, out: &mut KeyWriter<'_>) {
        out.sorted(self.iter().map(text_of).collect());
    }
}

impl<K: KeyPart, V: KeyPart> KeyPart for BTreeMap<K, V> {
    fn write(&self, out: &mut KeyWriter<'_>) {
        out.sorted(self.iter().map(entry).collect());
    }
}

impl<K: KeyPart, V: KeyPart, S> KeyPart for HashMap<K, V, S> {
    fn write(&self, out: &mut KeyWriter<'_>) {
        out.sorted(self.iter().map(entry).collect());
    }
}

/// A map's entry is the pair of its key and value.
fn entry<K: KeyPart, V: KeyPart>((key, value): (&K, &V)) -> String {
    text_of(&(key, value))
}

impl KeyPart for Duration {
    fn write(&self, out: &mut KeyWriter<'_>) {
        out.digits(self.as_nanos());
    }
}

impl KeyPart for SystemTime {
    fn write(&self, out: &mut KeyWriter<'_>) {
        match self.duration_since(UNIX_EPOCH) {
            Ok(after) => out.digits(after.as_nanos()),
            Err(before) => out.digits(format_args!("-{}", before.duration().as_nanos())),
        }
    }
}

macro_rules! tuples {
    ($(($($name:ident $index:tt),+))*) => {$(
        impl<$($name: KeyPart),+> KeyPart for ($($name,)+) {
            fn write(&self, out: &mut KeyWriter<'_>) {
                out.group(&[$(&self.$index),+]);
            }
        }
    )*};
}
tuples! {
    (A 0)
    (A 0, B 1)
    (A 0, B 1, C 2)
    (A 0, B 1, C 2, D 3)
    (A 0, B 1, C 2, D 3, E 4)
    (A 0, B 1, C 2, D 3, E 4, F 5)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11)
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddrV6;

    use super::*;

    #[test]
    fn ordinary_values_read_as_themselves() {
        assert_eq!(text_of(&42_u64), "42");
        assert_eq!(text_of(&-7_i8), "-7");
        assert_eq!(text_of("A-1"), "A-1");
        assert_eq!(text_of("ada@example.org"), "ada@example.org");
    }

    #[test]
    fn a_number_and_its_text_differ() {
        assert_eq!(text_of("1"), "~s1");
        assert_ne!(text_of(&1), text_of("1"));
        assert_ne!(text_of(&-1), text_of("-1"));
    }

    #[test]
    fn nothing_empty_and_default_differ() {
        let texts = [
            text_of(&None::<String>),
            text_of(&Some(String::new())),
            text_of(""),
            text_of(&()),
            text_of(&PhantomData::<String>),
        ];
        assert_eq!(texts, ["~n", "~o~s", "~s", "~()", "~()"]);
        assert_ne!(text_of(&Some(None::<u8>)), text_of(&None::<Option<u8>>));
    }

    #[test]
    fn all_that_tells_two_socket_addresses_apart_is_written() {
        let text = |flow, scope| {
            let address = SocketAddrV6::new(Ipv6Addr::LOCALHOST, 80, flow, scope);
            text_of(&SocketAddr::V6(address))
        };
        let texts = [text(0, 0), text(1, 0), text(0, 1), text(1, 1)];
        assert_eq!(texts[..2], ["%5B%3A%3A1%5D%3A80", "~(%3A%3A1,80,1,0)"]);
        assert_eq!(BTreeSet::from(texts).len(), 4);
    }

    #[test]
    fn separators_inside_values_cannot_move_a_boundary() {
        assert_ne!(text_of(&("a", "b:c")), text_of(&("a:b", "c")));
        assert_ne!(text_of(&vec!["a", "b"]), text_of(&vec!["a,b"]));
        assert_ne!(
            text_of(&vec![vec!["a"], vec!["b"]]),
            text_of(&vec![vec!["a", "b"]])
        );
        assert_eq!(text_of("{a}:%~\0ü"), "%7Ba%7D%3A%25%7E%00%C3%BC");
    }

    #[test]
    fn maps_and_sets_have_one_text_whatever_their_order() {
        let forward: HashMap<_, _> = (0..50).map(|n| (n, n * n)).collect();
        let backward: HashMap<_, _> = (0..50).rev().map(|n| (n, n * n)).collect();
        assert_eq!(text_of(&forward), text_of(&backward));
        let ordered: BTreeMap<_, _> = (0..50).map(|n| (n, n * n)).collect();
        assert_eq!(text_of(&forward), text_of(&ordered));
    }

    #[test]
    fn debug_shows_nothing_of_what_is_written() {
        let mut text = String::from("secret-token");
        let shown = format!("{:?}", KeyWriter::new(&mut text));
        assert_eq!(shown, "KeyWriter { .. }");
    }
}
