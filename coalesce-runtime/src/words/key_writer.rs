//! The writer of key parts: one canonical text for each kind of value.

use std::fmt::{self, Write as _};

use super::key_part::{KeyPart, text_of};
use super::key_text::{escape, plain_in_part, push_hex};

/// Takes the canonical text of one key part.
///
/// An implementation calls exactly one method, once; a value made of several goes into a
/// [`group`](Self::group), a [`record`](Self::record) or a [`list`](Self::list).
pub struct KeyWriter<'a> {
    out: &'a mut String,
}

/// A part that is written already: one whole text.
pub(super) struct Written<'a>(pub(super) &'a str);

impl KeyPart for Written<'_> {
    fn write(&self, out: &mut KeyWriter<'_>) {
        out.out.push_str(self.0);
    }
}

impl fmt::Debug for KeyWriter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // What has been written holds argument values.
        f.debug_struct("KeyWriter").finish_non_exhaustive()
    }
}

impl<'a> KeyWriter<'a> {
    pub(crate) const fn new(out: &'a mut String) -> Self {
        Self { out }
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

    /// Several values with fixed places: a tuple.
    pub fn group(&mut self, parts: &[&dyn KeyPart]) {
        self.out.push_str("~(");
        self.separated(parts.iter().copied());
        self.out.push(')');
    }

    /// Several values with names: the fields of a struct, in the order of their names.
    ///
    /// ```text
    /// Sku { shop: 7, code: "A-1" }  →  ~(code~=A-1,shop~=7)
    /// ```
    pub fn record(&mut self, fields: &[(&str, &dyn KeyPart)]) {
        let texts = fields.iter().map(|(name, part)| (*name, text_of(*part)));
        self.named(texts.collect());
    }

    /// Any number of values, in their order.
    pub fn list<'p>(&mut self, parts: impl Iterator<Item = &'p dyn KeyPart>) {
        self.out.push_str("~[");
        self.separated(parts);
        self.out.push(']');
    }

    /// One of several kinds of value: the name of the kind, and what `content` writes, which is
    /// nothing, a [`group`](Self::group) or a [`record`](Self::record).
    ///
    /// ```text
    /// Payment::Cash  →  ~@Cash          Payment::Card(7)  →  ~@Card~(7)
    /// ```
    pub fn variant(&mut self, name: &str, content: impl FnOnce(&mut KeyWriter<'_>)) {
        self.out.push_str("~@");
        escape(name, plain_in_part, self.out);
        content(self);
    }

    /// What a wrapper holds, or one number of your own: `out.transparent(&self.0.to_bits())`. The wrapper itself
    /// leaves no trace.
    pub fn transparent(&mut self, part: &dyn KeyPart) {
        part.write(self);
    }

    /// Any number of values in an order of their own: their texts are sorted first.
    pub(super) fn sorted(&mut self, mut texts: Vec<String>) {
        texts.sort_unstable();
        self.out.push_str("~[");
        self.out.push_str(&texts.join(","));
        self.out.push(']');
    }

    /// [`record`](Self::record), of texts.
    fn named(&mut self, mut fields: Vec<(&str, String)>) {
        fields.sort_unstable();
        self.out.push_str("~(");
        for (index, (name, text)) in fields.iter().enumerate() {
            if index > 0 {
                self.out.push(',');
            }
            escape(name, plain_in_part, self.out);
            self.out.push_str("~=");
            self.out.push_str(text);
        }
        self.out.push(')');
    }

    /// A floating-point number: the bits of the one zero, the one NaN, or the number itself.
    pub(super) fn float(&mut self, number: f64) {
        let bits = if number.is_nan() {
            f64::NAN.to_bits()
        } else {
            // `-0.0 + 0.0` is `0.0`: numbers that are equal have one text.
            (number + 0.0).to_bits()
        };
        let _ = write!(self.out, "~d{bits:016x}");
    }

    /// A number by its digits, a sign and a point. Not for strangers: nothing is escaped here.
    pub(super) fn digits(&mut self, digits: impl fmt::Display) {
        // Writing to a String cannot fail.
        let _ = write!(self.out, "{digits}");
    }

    /// The entries of a map whose type nobody knows: not the same as a list of pairs.
    pub(super) fn map(&mut self, mut texts: Vec<&str>) {
        texts.sort_unstable();
        self.out.push_str("~m[");
        self.out.push_str(&texts.join(","));
        self.out.push(']');
    }

    /// What has no text: `random` is no other value's.
    pub(super) fn unlike_any_other(&mut self, random: &str) {
        self.out.push_str("~!");
        self.out.push_str(random);
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
