//! `canonical`: a key part out of anything that serde can walk through.

use std::fmt::{self, Display};
use std::sync::Once;

use serde::ser::{self, Serialize, Serializer};

use super::key_part::KeyPart;
use super::key_writer::{KeyWriter, Written};
use super::token::Token;

/// A `Serialize` value as a key part. See [`canonical`].
#[derive(Clone, Copy)]
pub struct Canonical<'a, T: ?Sized>(&'a T);

impl<T: ?Sized> fmt::Debug for Canonical<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Canonical").finish_non_exhaustive()
    }
}

/// A key part out of any `Serialize` value, for types that are not [`KeyPart`].
///
/// The text is that of the values which serde finds in it: the fields of a struct and the entries of a
/// map are sorted, integers of every width are their digits, floats are their bits (one zero, one NaN).
/// What `Serialize` skips is not part of the key.
///
/// What the `Serialize` of a type does not tell apart is one key: an `untagged` enum whose variants look alike, a
/// `serialize_with` that rounds or leaves something out, two types of the same shape. Such a type says which of
/// its values are the same work by a [`KeyPart`] of its own.
///
/// A *set* is a list to serde. One without an order of its own, such as a `HashSet` inside of the value,
/// has another text in every process, and shares with nobody.
///
/// A value whose `Serialize` gives up has no text. Its call shares with nobody, and the first such call
/// of a process is logged.
///
/// ```
/// # extern crate coalesce_runtime as coalesce;
/// use coalesce::{Key, canonical};
///
/// #[derive(serde::Serialize)]
/// struct Search { words: Vec<String>, page: u32 }
///
/// let search = Search { words: vec!["red".into(), "shoe".into()], page: 2 };
/// let key = Key::new("search", &[&canonical(&search)]);
/// assert_eq!(key.tag(), "search:~(page~=2,words~=~[red,shoe])");
/// ```
pub const fn canonical<T: Serialize + ?Sized>(value: &T) -> Canonical<'_, T> {
    Canonical(value)
}

impl<T: Serialize + ?Sized> KeyPart for Canonical<'_, T> {
    fn write(&self, out: &mut KeyWriter<'_>) {
        let text = text_of(self.0).unwrap_or_else(|NoText| {
            static WARNED: Once = Once::new();
            WARNED.call_once(|| {
                tracing::warn!(
                    "a value in a key cannot be serialized: its calls share with nobody"
                );
            });
            let random = Token::random().to_hex();
            written(|out| out.unlike_any_other(&random))
        });
        Written(&text).write(out);
    }
}

/// A `Serialize` gave up. What it said may hold the value, so it is kept from everybody.
#[derive(Debug)]
struct NoText;

impl Display for NoText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value cannot be serialized")
    }
}

impl std::error::Error for NoText {}

impl ser::Error for NoText {
    fn custom<T: Display>(_: T) -> Self {
        Self
    }
}

type Text = Result<String, NoText>;

fn text_of(value: &(impl Serialize + ?Sized)) -> Text {
    value.serialize(Texts)
}

fn written(write: impl FnOnce(&mut KeyWriter<'_>)) -> String {
    let mut text = String::new();
    write(&mut KeyWriter::new(&mut text));
    text
}

/// Gives the text of each value that serde walks through.
struct Texts;

macro_rules! with {
    ($($method:ident($value:ident: $type:ty) $out:ident => $write:expr;)*) => {$(
        fn $method(self, $value: $type) -> Text {
            Ok(written(|$out| $write))
        }
    )*};
}

impl Serializer for Texts {
    type Ok = String;
    type Error = NoText;
    type SerializeSeq = Several;
    type SerializeTuple = Several;
    type SerializeTupleStruct = Several;
    type SerializeTupleVariant = Several;
    type SerializeMap = Several;
    type SerializeStruct = Named;
    type SerializeStructVariant = Named;

    with! {
        serialize_bool(value: bool) out => out.truth(value);
        serialize_i8(value: i8) out => out.digits(value);
        serialize_i16(value: i16) out => out.digits(value);
        serialize_i32(value: i32) out => out.digits(value);
        serialize_i64(value: i64) out => out.digits(value);
        serialize_i128(value: i128) out => out.digits(value);
        serialize_u8(value: u8) out => out.digits(value);
        serialize_u16(value: u16) out => out.digits(value);
        serialize_u32(value: u32) out => out.digits(value);
        serialize_u64(value: u64) out => out.digits(value);
        serialize_u128(value: u128) out => out.digits(value);
        serialize_f32(value: f32) out => out.float(value.into());
        serialize_f64(value: f64) out => out.float(value);
        serialize_char(value: char) out => out.text(value.encode_utf8(&mut [0; 4]));
        serialize_str(value: &str) out => out.text(value);
        serialize_bytes(value: &[u8]) out => out.bytes(value);
        serialize_unit_struct(_name: &'static str) out => out.group(&[]);
    }

    fn serialize_none(self) -> Text {
        Ok(written(|out| None::<bool>.write(out)))
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Text {
        let text = text_of(value)?;
        Ok(written(|out| out.present(&Written(&text))))
    }

    fn serialize_unit(self) -> Text {
        Ok(written(|out| out.group(&[])))
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Text {
        Ok(written(|out| out.variant(variant, |_| {})))
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Text {
        text_of(value)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Text {
        let mut several = Several::new(Kind::Group(Some(variant)));
        several.texts.push(text_of(value)?);
        Ok(several.finish())
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Several, NoText> {
        Ok(Several::new(Kind::List))
    }

    fn serialize_tuple(self, _: usize) -> Result<Several, NoText> {
        Ok(Several::new(Kind::Group(None)))
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Several, NoText> {
        Ok(Several::new(Kind::Group(None)))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Several, NoText> {
        Ok(Several::new(Kind::Group(Some(variant))))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Several, NoText> {
        Ok(Several::new(Kind::Map))
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Named, NoText> {
        Ok(Named::new(None))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Named, NoText> {
        Ok(Named::new(Some(variant)))
    }
}

/// What values without names are together.
enum Kind {
    List,
    /// Unlike a list: serde tells of both without a type, and the two are different values.
    Map,
    /// A tuple, or what a variant holds.
    Group(Option<&'static str>),
}

/// Values without names.
struct Several {
    kind: Kind,
    texts: Vec<String>,
    key: Option<String>,
}

impl Several {
    const fn new(kind: Kind) -> Self {
        Self {
            kind,
            texts: Vec::new(),
            key: None,
        }
    }

    fn finish(self) -> String {
        let written_parts: Vec<_> = self.texts.iter().map(|text| Written(text)).collect();
        let parts: Vec<_> = written_parts
            .iter()
            .map(|part| part as &dyn KeyPart)
            .collect();
        written(|out| match self.kind {
            Kind::List => out.list(parts.into_iter()),
            Kind::Map => out.map(self.texts.iter().map(String::as_str).collect()),
            Kind::Group(None) => out.group(&parts),
            Kind::Group(Some(variant)) => out.variant(variant, |out| out.group(&parts)),
        })
    }
}

macro_rules! several {
    ($($trait:ident $method:ident;)*) => {$(
        impl ser::$trait for Several {
            type Ok = String;
            type Error = NoText;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), NoText> {
                self.texts.push(text_of(value)?);
                Ok(())
            }

            fn end(self) -> Text {
                Ok(self.finish())
            }
        }
    )*};
}
several! {
    SerializeSeq serialize_element;
    SerializeTuple serialize_element;
    SerializeTupleStruct serialize_field;
    SerializeTupleVariant serialize_field;
}

/// The entries of a map are pairs, sorted by their texts.
impl ser::SerializeMap for Several {
    type Ok = String;
    type Error = NoText;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), NoText> {
        self.key = Some(text_of(key)?);
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), NoText> {
        let key = self.key.take().ok_or(NoText)?;
        let value = text_of(value)?;
        let entry = written(|out| out.group(&[&Written(&key), &Written(&value)]));
        self.texts.push(entry);
        Ok(())
    }

    fn end(self) -> Text {
        Ok(self.finish())
    }
}

/// Values with names.
struct Named {
    variant: Option<&'static str>,
    fields: Vec<(&'static str, String)>,
}

impl Named {
    const fn new(variant: Option<&'static str>) -> Self {
        Self {
            variant,
            fields: Vec::new(),
        }
    }
}

macro_rules! named {
    ($($trait:ident)*) => {$(
        impl ser::$trait for Named {
            type Ok = String;
            type Error = NoText;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                name: &'static str,
                value: &T,
            ) -> Result<(), NoText> {
                self.fields.push((name, text_of(value)?));
                Ok(())
            }

            fn end(self) -> Text {
                let texts = self.fields.iter().map(|(name, text)| (*name, Written(text)));
                let texts: Vec<_> = texts.collect();
                let fields = texts.iter().map(|(name, text)| (*name, text as &dyn KeyPart));
                let fields: Vec<_> = fields.collect();
                Ok(written(|out| match self.variant {
                    None => out.record(&fields),
                    Some(variant) => out.variant(variant, |out| out.record(&fields)),
                }))
            }
        }
    )*};
}
named!(SerializeStruct SerializeStructVariant);

#[cfg(test)]
#[path = "canonical_tests.rs"]
mod tests;
