//! The outermost layer of a value, for code that does not know its type: an `Option` there, or right inside a `Result`,
//! keeps `None` and `Some(None)` apart, and a `Result` says whether it is an `Err`.
//!
//! Serde formats write `None`, `Some(None)` and `Some(())` alike. Here an `Option` is a list of none or one;
//! everything else has the bytes that it would have anyway.

use std::cell::Cell;
use std::fmt::{self, Display};

use serde::de::{
    DeserializeSeed, EnumAccess, Error as _, IgnoredAny, SeqAccess, VariantAccess, Visitor,
};
use serde::ser::SerializeSeq as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// What serde calls the type of the standard library.
const RESULT: &str = "Result";

/// A value whose outermost layer is written and read in this way.
pub(crate) struct Outermost<T>(pub(crate) T);

impl<T: Serialize + ?Sized> Serialize for Outermost<&T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let layer = Layer {
            below: serializer,
            is_err: &Cell::default(),
        };
        self.0.serialize(layer)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Outermost<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(Reading(deserializer)).map(Self)
    }
}

/// Whether `value` is an `Err`. Only a `Result` is looked at, and its outermost layer alone: everything else is written
/// once, by who has to write it. No code of a user's is run.
pub(crate) fn is_err<T: Serialize + ?Sized>(value: &T) -> bool {
    if !std::any::type_name::<T>().starts_with("core::result::Result<") {
        return false;
    }
    let is_err = Cell::default();
    // A formatter is a serializer that refuses whatever has parts. What it writes goes nowhere.
    let _ = fmt::write(&mut Nowhere, format_args!("{}", Glance(value, &is_err)));
    is_err.get()
}

struct Nowhere;

impl fmt::Write for Nowhere {
    fn write_str(&mut self, _: &str) -> fmt::Result {
        Ok(())
    }
}

struct Glance<'a, T: ?Sized>(&'a T, &'a Cell<bool>);

impl<T: Serialize + ?Sized> Display for Glance<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(value, is_err) = *self;
        value.serialize(Layer { below: f, is_err })
    }
}

/// Writes the outermost layer, and hands on what is below it.
struct Layer<'a, S> {
    below: S,
    is_err: &'a Cell<bool>,
}

macro_rules! handed_on {
    ($($method:ident($($name:ident: $kind:ty),*) -> $answer:ident;)*) => {$(
        fn $method(self, $($name: $kind),*) -> Result<S::$answer, S::Error> {
            self.below.$method($($name),*)
        }
    )*};
}

impl<S: Serializer> Serializer for Layer<'_, S> {
    type Ok = S::Ok;
    type Error = S::Error;
    type SerializeSeq = S::SerializeSeq;
    type SerializeTuple = S::SerializeTuple;
    type SerializeTupleStruct = S::SerializeTupleStruct;
    type SerializeTupleVariant = S::SerializeTupleVariant;
    type SerializeMap = S::SerializeMap;
    type SerializeStruct = S::SerializeStruct;
    type SerializeStructVariant = S::SerializeStructVariant;

    fn serialize_none(self) -> Result<S::Ok, S::Error> {
        self.below.serialize_seq(Some(0))?.end()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<S::Ok, S::Error> {
        let mut one = self.below.serialize_seq(Some(1))?;
        one.serialize_element(&Outermost(value))?;
        one.end()
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<S::Ok, S::Error> {
        let below = self.below;
        if name != RESULT {
            return below.serialize_newtype_variant(name, index, variant, value);
        }
        self.is_err.set(variant == "Err");
        below.serialize_newtype_variant(name, index, variant, &Outermost(value))
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<S::Ok, S::Error> {
        self.below.serialize_newtype_struct(name, value)
    }

    fn collect_seq<I>(self, items: I) -> Result<S::Ok, S::Error>
    where
        I: IntoIterator,
        I::Item: Serialize,
    {
        self.below.collect_seq(items)
    }

    fn collect_map<K, V, I>(self, items: I) -> Result<S::Ok, S::Error>
    where
        K: Serialize,
        V: Serialize,
        I: IntoIterator<Item = (K, V)>,
    {
        self.below.collect_map(items)
    }

    fn collect_str<T: Display + ?Sized>(self, value: &T) -> Result<S::Ok, S::Error> {
        self.below.collect_str(value)
    }

    fn is_human_readable(&self) -> bool {
        self.below.is_human_readable()
    }

    handed_on! {
        serialize_bool(value: bool) -> Ok;
        serialize_i8(value: i8) -> Ok;
        serialize_i16(value: i16) -> Ok;
        serialize_i32(value: i32) -> Ok;
        serialize_i64(value: i64) -> Ok;
        serialize_i128(value: i128) -> Ok;
        serialize_u8(value: u8) -> Ok;
        serialize_u16(value: u16) -> Ok;
        serialize_u32(value: u32) -> Ok;
        serialize_u64(value: u64) -> Ok;
        serialize_u128(value: u128) -> Ok;
        serialize_f32(value: f32) -> Ok;
        serialize_f64(value: f64) -> Ok;
        serialize_char(value: char) -> Ok;
        serialize_str(value: &str) -> Ok;
        serialize_bytes(value: &[u8]) -> Ok;
        serialize_unit() -> Ok;
        serialize_unit_struct(name: &'static str) -> Ok;
        serialize_unit_variant(name: &'static str, index: u32, variant: &'static str) -> Ok;
        serialize_seq(length: Option<usize>) -> SerializeSeq;
        serialize_tuple(length: usize) -> SerializeTuple;
        serialize_tuple_struct(name: &'static str, length: usize) -> SerializeTupleStruct;
        serialize_tuple_variant(name: &'static str, index: u32, variant: &'static str, length: usize) -> SerializeTupleVariant;
        serialize_map(length: Option<usize>) -> SerializeMap;
        serialize_struct(name: &'static str, length: usize) -> SerializeStruct;
        serialize_struct_variant(name: &'static str, index: u32, variant: &'static str, length: usize) -> SerializeStructVariant;
    }
}

/// Reads what [`Layer`] wrote.
struct Reading<D>(D);

macro_rules! asked_below {
    ($($method:ident($($name:ident: $kind:ty),*);)*) => {$(
        fn $method<V: Visitor<'de>>(self, $($name: $kind,)* visitor: V) -> Result<V::Value, D::Error> {
            self.0.$method($($name,)* visitor)
        }
    )*};
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Reading<D> {
    type Error = D::Error;

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_seq(NoneOrOne(visitor))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        if name == RESULT {
            self.0.deserialize_enum(name, variants, OfResult(visitor))
        } else {
            self.0.deserialize_enum(name, variants, visitor)
        }
    }

    fn is_human_readable(&self) -> bool {
        self.0.is_human_readable()
    }

    asked_below! {
        deserialize_any();
        deserialize_bool();
        deserialize_i8();
        deserialize_i16();
        deserialize_i32();
        deserialize_i64();
        deserialize_i128();
        deserialize_u8();
        deserialize_u16();
        deserialize_u32();
        deserialize_u64();
        deserialize_u128();
        deserialize_f32();
        deserialize_f64();
        deserialize_char();
        deserialize_str();
        deserialize_string();
        deserialize_bytes();
        deserialize_byte_buf();
        deserialize_unit();
        deserialize_unit_struct(name: &'static str);
        deserialize_newtype_struct(name: &'static str);
        deserialize_seq();
        deserialize_tuple(length: usize);
        deserialize_tuple_struct(name: &'static str, length: usize);
        deserialize_map();
        deserialize_struct(name: &'static str, fields: &'static [&'static str]);
        deserialize_identifier();
        deserialize_ignored_any();
    }
}

/// A list of none or one, for who expects an `Option`.
struct NoneOrOne<V>(V);

impl<'de, V: Visitor<'de>> Visitor<'de> for NoneOrOne<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of none or one")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<V::Value, A::Error> {
        let mut visitor = Some(self.0);
        let value = list.next_element_seed(One(&mut visitor))?;
        match (value, visitor) {
            (None, Some(visitor)) => visitor.visit_none(),
            (Some(value), _) if list.next_element::<IgnoredAny>()?.is_none() => Ok(value),
            _ => Err(A::Error::custom("a longer list than an option")),
        }
    }
}

/// What is in an `Option`. Its visitor stays behind where there is nothing.
struct One<'a, V>(&'a mut Option<V>);

impl<'de, V: Visitor<'de>> DeserializeSeed<'de> for One<'_, V> {
    type Value = V::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        match self.0.take() {
            Some(visitor) => visitor.visit_some(Reading(deserializer)),
            None => Err(D::Error::custom("a longer list than an option")),
        }
    }
}

/// What somebody takes or gives on the way to what is in a `Result`.
struct OfResult<T>(T);

impl<'de, V: Visitor<'de>> Visitor<'de> for OfResult<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(f)
    }

    fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<V::Value, A::Error> {
        self.0.visit_enum(OfResult(data))
    }
}

impl<'de, A: EnumAccess<'de>> EnumAccess<'de> for OfResult<A> {
    type Error = A::Error;
    type Variant = OfResult<A::Variant>;

    fn variant_seed<S: DeserializeSeed<'de>>(
        self,
        seed: S,
    ) -> Result<(S::Value, Self::Variant), A::Error> {
        let (which, variant) = self.0.variant_seed(seed)?;
        Ok((which, OfResult(variant)))
    }
}

impl<'de, A: VariantAccess<'de>> VariantAccess<'de> for OfResult<A> {
    type Error = A::Error;

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, A::Error> {
        self.0.newtype_variant_seed(OfResult(seed))
    }

    fn unit_variant(self) -> Result<(), A::Error> {
        self.0.unit_variant()
    }

    fn tuple_variant<V: Visitor<'de>>(
        self,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        self.0.tuple_variant(length, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        self.0.struct_variant(fields, visitor)
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for OfResult<S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<S::Value, D::Error> {
        self.0.deserialize(Reading(deserializer))
    }
}

#[cfg(test)]
#[path = "outermost_tests.rs"]
mod tests;
