//! `KeyPart`: values that can name work, each with one canonical text.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::key_text::{escape, plain_in_part, push_hex};

/// A value that can be part of a key.
///
/// Two values of one type that are equal have one text, in every process and every build; two that
/// differ have different texts. Floats are left out because `0.0`, `-0.0` and NaN break that
/// (write `key = price.to_bits()`), and so is everything whose text would come from `Debug` or `Hash`.
///
/// ```
/// use coalesce_runtime::{KeyPart, KeyWriter};
///
/// struct Sku { shop: u32, code: String }
///
/// impl KeyPart for Sku {
///     fn write(&self, out: &mut KeyWriter<'_>) {
///         out.group(&[&self.shop, &self.code]);
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be part of a coalescing key",
    label = "not a key part",
    note = "floats have several texts for one number: write `key = value.to_bits()`",
    note = "for a type of your own, implement `KeyPart` for it or name one of its fields in `key = ...`",
    note = "an argument that does not name the work belongs in `skip(...)`"
)]
pub trait KeyPart {
    /// Appends this value's canonical text.
    fn write(&self, out: &mut KeyWriter<'_>);
}

/// Takes the canonical text of one key part.
///
/// An implementation calls exactly one method, once; a value made of several goes into a
/// [`group`](Self::group) or a [`list`](Self::list).
pub struct KeyWriter<'a> {
    out: &'a mut String,
}

impl fmt::Debug for KeyWriter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // What has been written holds argument values.
        f.debug_struct("KeyWriter").finish_non_exhaustive()
    }
}

impl<'a> KeyWriter<'a> {
    pub(crate) fn new(out: &'a mut String) -> Self {
        Self { out }
    }

    /// A number: its decimal digits.
    pub fn integer(&mut self, digits: impl fmt::Display) {
        use fmt::Write as _;
        // Writing to a String cannot fail.
        let _ = write!(self.out, "{digits}");
    }

    /// A text: itself, escaped, and marked when it would read as something else.
    ///
    /// ```text
    /// A-1  →  A-1          1  →  ~s1          (empty)  →  ~s
    /// ```
    pub fn text(&mut self, text: &str) {
        let first = text.as_bytes().first();
        if first.is_none_or(|byte| matches!(byte, b'0'..=b'9' | b'-' | b'~')) {
            self.out.push_str("~s");
        }
        escape(text, plain_in_part, self.out);
    }

    /// A truth value.
    pub fn truth(&mut self, truth: bool) {
        self.out.push_str(if truth { "~t" } else { "~f" });
    }

    /// Raw bytes, in hexadecimal.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.out.push_str("~b");
        for byte in bytes {
            push_hex(*byte, self.out);
        }
    }

    /// An absent value; never the same as an empty or default one.
    pub fn absent(&mut self) {
        self.out.push_str("~n");
    }

    /// A present value that could have been absent.
    pub fn present(&mut self, part: &dyn KeyPart) {
        self.out.push_str("~o");
        part.write(self);
    }

    /// Several values with fixed places: a tuple or the fields of a struct.
    pub fn group(&mut self, parts: &[&dyn KeyPart]) {
        self.out.push_str("~(");
        self.separated(parts.iter().copied());
        self.out.push(')');
    }

    /// Any number of values, in their order.
    pub fn list<'p>(&mut self, parts: impl Iterator<Item = &'p dyn KeyPart>) {
        self.out.push_str("~[");
        self.separated(parts);
        self.out.push(']');
    }

    /// Any number of values in an order of their own: their texts are sorted first.
    fn sorted(&mut self, mut texts: Vec<String>) {
        texts.sort_unstable();
        self.out.push_str("~[");
        self.out.push_str(&texts.join(","));
        self.out.push(']');
    }

    fn separated<'p>(&mut self, parts: impl Iterator<Item = &'p dyn KeyPart>) {
        for (index, part) in parts.enumerate() {
            if index > 0 {
                self.out.push(',');
            }
            part.write(self);
        }
    }
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
                out.integer(self);
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
                out.integer(self);
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
as_text!(IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr);

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
        out.integer(self.as_nanos());
    }
}

impl KeyPart for SystemTime {
    fn write(&self, out: &mut KeyWriter<'_>) {
        match self.duration_since(UNIX_EPOCH) {
            Ok(after) => out.integer(after.as_nanos()),
            Err(before) => out.integer(format_args!("-{}", before.duration().as_nanos())),
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
}

#[cfg(test)]
mod tests {
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
        ];
        assert_eq!(texts, ["~n", "~o~s", "~s", "~()"]);
        assert_ne!(text_of(&Some(None::<u8>)), text_of(&None::<Option<u8>>));
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
}
