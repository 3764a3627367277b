//! Key: the name of one unit of shared work, and how it is put together.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use super::key_part::{KeyPart, text_of};
use super::key_text::{bounded, escape, push_escaped, push_namespace};

/// Namespace and canonical key parts; names one unit of shared work in the whole fleet.
///
/// Cheap to clone. Its `Debug` form shows the namespace and a digest, never the parts: they hold
/// argument values.
#[derive(Clone)]
pub struct Key(Arc<Inner>);

struct Inner {
    /// `<namespace>:<key>`, escaped and bounded: what stands between the braces of every Redis key.
    tag: String,
    namespace: Arc<str>,
    digest: [u8; Key::DIGEST_LEN],
}

impl Key {
    /// Bytes in a key's digest.
    pub const DIGEST_LEN: usize = 16;

    /// A key in `namespace` made of `parts`, in order.
    ///
    /// ```
    /// # extern crate coalesce_runtime as coalesce;
    /// use coalesce::Key;
    ///
    /// let key = Key::new("shop::get_order", &[&"acme", &42]);
    /// assert_eq!(key.tag(), "shop::get_order:acme:42");
    /// ```
    pub fn new(namespace: impl Into<Arc<str>>, parts: &[&dyn KeyPart]) -> Self {
        let mut builder = KeyBuilder::default();
        for part in parts {
            builder.part(*part);
        }
        builder.finish(namespace.into(), None)
    }

    /// The key with this text behind its namespace, as it stands in Redis. `None`: no key has such a text.
    #[cfg(any(feature = "axum", feature = "cli"))]
    pub(crate) fn of_text(namespace: &str, version: Option<u32>, text: &str) -> Option<Self> {
        let plain = |byte: u8| byte.is_ascii_graphic() && !b"{}".contains(&byte);
        let builder = KeyBuilder {
            text: text.to_owned(),
            started: true,
        };
        text.bytes()
            .all(plain)
            .then(|| builder.finish(namespace.into(), version))
    }

    /// The escaped text `<namespace>:<key>`, the hash tag of the key's three names in Redis.
    pub fn tag(&self) -> &str {
        &self.0.tag
    }

    /// The namespace, as given.
    pub fn namespace(&self) -> &Arc<str> {
        &self.0.namespace
    }

    /// A number that is the same for equal keys, in every process. No secret goes into it: guesses can be tried.
    pub(crate) fn fingerprint(&self) -> u64 {
        let (head, _) = self.0.digest.split_first_chunk().unwrap_or((&[0; 8], &[]));
        u64::from_le_bytes(*head)
    }

    /// The digest of the whole, unshortened text: what an envelope carries to prove whose it is.
    pub fn digest(&self) -> &[u8; Self::DIGEST_LEN] {
        &self.0.digest
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.0.digest == other.0.digest && self.0.tag == other.0.tag
    }
}

impl Eq for Key {}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // The digest is uniform and as good as the text it was made from.
        self.0.digest.hash(state);
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({}:", self.0.namespace)?;
        for byte in &self.0.digest[..6] {
            write!(f, "{byte:02x}")?;
        }
        f.write_str("…)")
    }
}

/// One piece of a key template such as `"{tenant}/{id}"`.
#[derive(Clone, Copy)]
pub enum Piece<'a> {
    /// Literal text between two holes: visible ASCII other than `%`, `~` and braces. What else stands
    /// there is escaped.
    Text(&'static str),
    /// A value.
    Hole(&'a dyn KeyPart),
}

impl fmt::Debug for Piece<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.debug_tuple("Text").field(text).finish(),
            Self::Hole(_) => f.write_str("Hole"),
        }
    }
}

/// Collects the parts of a key.
///
/// Its `Debug` form shows none of them: they hold argument values.
#[derive(Clone, Default)]
pub struct KeyBuilder {
    text: String,
    /// Whether a part is there already; a part's own text may be empty.
    started: bool,
}

impl fmt::Debug for KeyBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyBuilder").finish_non_exhaustive()
    }
}

impl KeyBuilder {
    /// Adds a part.
    pub fn part(&mut self, part: &(impl KeyPart + ?Sized)) -> &mut Self {
        self.push(&text_of(part));
        self
    }

    /// Adds one part made from a template.
    ///
    /// In a hole every character by which literal text separates is escaped, so a value cannot take
    /// over a separator: `("a/b", "c")` and `("a", "b/c")` in `"{0}/{1}"` differ.
    pub fn template(&mut self, pieces: &[Piece<'_>]) -> &mut Self {
        let separates = |byte: u8| {
            pieces.iter().any(|piece| match piece {
                Piece::Text(text) => separators_of(text).any(|separator| separator == byte),
                Piece::Hole(_) => false,
            })
        };
        let mut text = String::new();
        for piece in pieces {
            match piece {
                Piece::Text(literal) => push_literal(literal, &mut text),
                // `%` is escaped once more, which tells this escaping from the part's own.
                Piece::Hole(part) => {
                    let keep = |byte| byte != b'%' && !separates(byte);
                    escape(&text_of(*part), keep, &mut text);
                }
            }
        }
        self.push(&text);
        self
    }

    /// Adds a request header: its values in order, or its absence.
    pub fn header<'v>(
        &mut self,
        name: &str,
        values: Option<impl Iterator<Item = &'v str>>,
    ) -> &mut Self {
        let plain = |byte: u8| byte.is_ascii_graphic() && !b"%{}:~,=".contains(&byte);
        let mut text = String::from("~h");
        escape(name, plain, &mut text);
        if let Some(values) = values {
            text.push('=');
            for (index, value) in values.enumerate() {
                if index > 0 {
                    text.push(',');
                }
                escape(value.trim(), plain, &mut text);
            }
        }
        self.push(&text);
        self
    }

    fn push(&mut self, part: &str) {
        if self.started {
            self.text.push(':');
        }
        self.started = true;
        self.text.push_str(part);
    }

    /// The key. `version` is the call site's `version` option.
    pub fn finish(self, namespace: Arc<str>, version: Option<u32>) -> Key {
        let digest = digest(&namespace, version, &self.text);
        let mut tag = String::with_capacity(namespace.len() + self.text.len() + 8);
        push_namespace(&namespace, version, &mut tag);
        tag.push(':');
        bounded(&self.text, &mut tag);
        Key(Arc::new(Inner {
            tag,
            namespace,
            digest,
        }))
    }
}

/// Appends the literal text of a template, which may be anything.
///
/// Behind a namespace a colon in front would read as a longer namespace: `ns:` and `:x` as `ns::x`.
fn push_literal(literal: &str, out: &mut String) {
    let plain = |byte: u8| byte.is_ascii_graphic() && !b"{}".contains(&byte);
    match literal.strip_prefix(':').filter(|_| out.is_empty()) {
        Some(rest) => {
            push_escaped(b':', out);
            escape(rest, plain, out);
        }
        None => escape(literal, plain, out),
    }
}

/// The characters that end a hole in front of this literal text: its punctuation, or, where it has
/// none, all of it.
fn separators_of(literal: &str) -> impl Iterator<Item = u8> {
    let punctuated = literal.bytes().any(|byte| !byte.is_ascii_alphanumeric());
    literal
        .bytes()
        .filter(move |byte| !punctuated || !byte.is_ascii_alphanumeric())
}

fn digest(namespace: &str, version: Option<u32>, key: &str) -> [u8; Key::DIGEST_LEN] {
    let mut hasher = Sha256::new();
    // The length in front keeps the boundary between the two texts where it is.
    hasher.update((namespace.len() as u64).to_be_bytes());
    hasher.update(namespace.as_bytes());
    hasher.update(version.map_or([0; 5], |version| {
        let [a, b, c, d] = version.to_be_bytes();
        [1, a, b, c, d]
    }));
    hasher.update(key.as_bytes());
    let full = hasher.finalize();
    let mut digest = [0; Key::DIGEST_LEN];
    digest.copy_from_slice(&full[..Key::DIGEST_LEN]);
    digest
}

#[cfg(test)]
#[path = "key_tests.rs"]
mod tests;
