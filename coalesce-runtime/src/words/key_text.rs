//! The text of keys: escaping that keeps different inputs different, readable, and of bounded length.

use sha2::{Digest as _, Sha256};

/// A name or a key longer than this becomes a readable head and a digest.
pub(crate) const MAX_LEN: usize = 192;

/// How much of a long text stays readable in front of its digest.
const HEAD_LEN: usize = 64;

/// Appends `text` so that only the characters of `keep` stand for themselves.
///
/// Everything else, `%` included, becomes `%XX` per UTF-8 byte, so the text can be read back.
pub(crate) fn escape(text: &str, keep: impl Fn(u8) -> bool, out: &mut String) {
    for byte in text.bytes() {
        if keep(byte) {
            out.push(char::from(byte));
        } else {
            push_escaped(byte, out);
        }
    }
}

/// Reads what [`escape`] wrote; `None` for what it never writes.
pub(crate) fn unescape(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let (digits, after) = rest.split_at_checked(2)?;
        let digits = std::str::from_utf8(digits).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = after;
    }
    String::from_utf8(bytes).ok()
}

/// Escapes a prefix: the part of every Redis name that the application chooses.
pub(crate) fn escaped_prefix(prefix: &str) -> String {
    let mut out = String::new();
    for byte in prefix.bytes() {
        let plain = byte.is_ascii_graphic() && !b"{}:%".contains(&byte);
        if plain {
            out.push(char::from(byte));
        } else {
            push_escaped(byte, &mut out);
        }
    }
    out
}

/// Appends one byte as `%XX`.
pub(crate) fn push_escaped(byte: u8, out: &mut String) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    out.push('%');
    out.push(char::from(HEX[usize::from(byte >> 4)]));
    out.push(char::from(HEX[usize::from(byte & 15)]));
}

/// What stands for itself inside a key part: graphic ASCII that means nothing to us.
pub(crate) fn plain_in_part(byte: u8) -> bool {
    byte.is_ascii_graphic() && !b"%{}:~,()[]".contains(&byte)
}

/// Appends one byte as two lower-case hexadecimal digits.
pub(crate) fn push_hex(byte: u8, out: &mut String) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    out.push(char::from(HEX[usize::from(byte >> 4)]));
    out.push(char::from(HEX[usize::from(byte & 15)]));
}

/// Appends a namespace: `::` stays, a lone `:` is escaped, so the first lone `:` ends the namespace.
///
/// `~` is escaped too: behind a namespace it starts the version or a digest.
pub(crate) fn push_namespace(namespace: &str, version: Option<u32>, out: &mut String) {
    let mut text = String::with_capacity(namespace.len() + 8);
    let mut rest = namespace;
    while let Some(at) = rest.find(':') {
        escape(&rest[..at], plain_in_namespace, &mut text);
        rest = &rest[at..];
        if let Some(after) = rest.strip_prefix("::") {
            text.push_str("::");
            rest = after;
        } else {
            push_escaped(b':', &mut text);
            rest = &rest[1..];
        }
    }
    escape(rest, plain_in_namespace, &mut text);
    if let Some(version) = version {
        text.push_str("~v");
        text.push_str(&version.to_string());
    }
    bounded(&text, out);
}

fn plain_in_namespace(byte: u8) -> bool {
    byte.is_ascii_graphic() && !b"%{}:~".contains(&byte)
}

/// Appends `text` itself, or a readable head of it and its digest behind `~#` when it is long.
///
/// `~#` starts nothing else, so a digest never looks like a short text.
pub(crate) fn bounded(text: &str, out: &mut String) {
    if text.len() <= MAX_LEN {
        out.push_str(text);
        return;
    }
    // Only ASCII is left after escaping, so any cut is a character boundary.
    out.push_str(&text[..HEAD_LEN]);
    out.push_str("~#");
    for byte in Sha256::digest(text.as_bytes()) {
        push_hex(byte, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn namespace(name: &str, version: Option<u32>) -> String {
        let mut out = String::new();
        push_namespace(name, version, &mut out);
        out
    }

    #[test]
    fn ordinary_namespaces_stay_readable() {
        assert_eq!(
            namespace("shop::orders::get_order", None),
            "shop::orders::get_order"
        );
        assert_eq!(namespace("orders.v2", Some(3)), "orders.v2~v3");
        assert_eq!(
            namespace("shop::Cache<u8, 3>::get", None),
            "shop::Cache<u8,%203>::get"
        );
    }

    #[test]
    fn a_lone_colon_is_escaped_and_a_pair_is_not() {
        assert_eq!(namespace("a:b", None), "a%3Ab");
        assert_eq!(namespace("a:::b", None), "a::%3Ab");
        assert_eq!(namespace("a~v3", None), "a%7Ev3");
    }

    #[test]
    fn a_long_text_keeps_its_head_and_differs_by_its_digest() {
        let (mut one, mut two) = (String::new(), String::new());
        bounded(&"x".repeat(MAX_LEN + 1), &mut one);
        bounded(&"x".repeat(MAX_LEN + 2), &mut two);
        assert!(one.starts_with(&format!("{}~#", "x".repeat(HEAD_LEN))));
        assert_eq!(one.len(), HEAD_LEN + 2 + 64);
        assert_ne!(one, two);
    }
}
