//! Depth: a value that lies too deep within itself is not read, before the stack ends and the process with it.
//!
//! Bytes decide how deep a recursive type is read, and bytes from Redis are a stranger's. No codec of ours has a
//! limit that holds for all types: the one of `MessagePack` does not count enums, and postcard has none.

use std::fmt;

use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Error, MapAccess, SeqAccess,
    VariantAccess, Visitor,
};

/// How many lists, maps, structures, enums and options may lie one within another, each of which counts. A thread's stack
/// has room for several times as many, also without optimisation.
pub(crate) const DEEPEST: u16 = 128;

/// Reads a value, unless it is deeper than [`DEEPEST`].
pub(crate) fn read<'de, T: DeserializeOwned, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
    T::deserialize(Guarded {
        inner: from,
        left: DEEPEST,
    })
}

/// A deserializer, or one of its parts, and how many levels there may be below it.
struct Guarded<I> {
    inner: I,
    left: u16,
}

impl<I> Guarded<I> {
    /// Another part of the same level.
    fn beside<J>(&self, inner: J) -> Guarded<J> {
        Guarded {
            inner,
            left: self.left,
        }
    }

    /// A part of the next level.
    fn below<J, E: Error>(&self, inner: J) -> Result<Guarded<J>, E> {
        match self.left.checked_sub(1) {
            Some(left) => Ok(Guarded { inner, left }),
            None => Err(E::custom("too deep")),
        }
    }
}

/// Methods of a deserializer that take a visitor behind some words about the type.
macro_rules! asked_for {
    ($($method:ident($($word:ident: $kind:ty),*))*) => {$(
        fn $method<V: Visitor<'de>>(self, $($word: $kind,)* visitor: V) -> Result<V::Value, D::Error> {
            let visitor = self.beside(visitor);
            self.inner.$method($($word,)* visitor)
        }
    )*};
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Guarded<D> {
    type Error = D::Error;

    asked_for! {
        deserialize_any() deserialize_ignored_any() deserialize_identifier()
        deserialize_bool() deserialize_char() deserialize_unit()
        deserialize_i8() deserialize_i16() deserialize_i32() deserialize_i64() deserialize_i128()
        deserialize_u8() deserialize_u16() deserialize_u32() deserialize_u64() deserialize_u128()
        deserialize_f32() deserialize_f64()
        deserialize_str() deserialize_string() deserialize_bytes() deserialize_byte_buf()
        deserialize_option() deserialize_seq() deserialize_map()
        deserialize_tuple(len: usize)
        deserialize_unit_struct(name: &'static str)
        deserialize_newtype_struct(name: &'static str)
        deserialize_tuple_struct(name: &'static str, len: usize)
        deserialize_struct(name: &'static str, fields: &'static [&'static str])
        deserialize_enum(name: &'static str, variants: &'static [&'static str])
    }

    fn is_human_readable(&self) -> bool {
        self.inner.is_human_readable()
    }
}

/// Methods of a visitor that are told of something without parts.
macro_rules! told {
    ($($method:ident($kind:ty))*) => {$(
        fn $method<E: Error>(self, value: $kind) -> Result<V::Value, E> {
            self.inner.$method(value)
        }
    )*};
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Guarded<V> {
    type Value = V::Value;

    told! {
        visit_bool(bool) visit_char(char)
        visit_i8(i8) visit_i16(i16) visit_i32(i32) visit_i64(i64) visit_i128(i128)
        visit_u8(u8) visit_u16(u16) visit_u32(u32) visit_u64(u64) visit_u128(u128)
        visit_f32(f32) visit_f64(f64)
        visit_str(&str) visit_borrowed_str(&'de str) visit_string(String)
        visit_bytes(&[u8]) visit_borrowed_bytes(&'de [u8]) visit_byte_buf(Vec<u8>)
    }

    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_none()
    }

    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, part: D) -> Result<V::Value, D::Error> {
        let part = self.below(part)?;
        self.inner.visit_some(part)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, part: D) -> Result<V::Value, D::Error> {
        let part = self.below(part)?;
        self.inner.visit_newtype_struct(part)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, parts: A) -> Result<V::Value, A::Error> {
        let parts = self.below(parts)?;
        self.inner.visit_seq(parts)
    }

    fn visit_map<A: MapAccess<'de>>(self, parts: A) -> Result<V::Value, A::Error> {
        let parts = self.below(parts)?;
        self.inner.visit_map(parts)
    }

    fn visit_enum<A: EnumAccess<'de>>(self, parts: A) -> Result<V::Value, A::Error> {
        let parts = self.below(parts)?;
        self.inner.visit_enum(parts)
    }

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.expecting(f)
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Guarded<S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, part: D) -> Result<S::Value, D::Error> {
        let part = self.beside(part);
        self.inner.deserialize(part)
    }
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Guarded<A> {
    type Error = A::Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        let seed = self.beside(seed);
        self.inner.next_element_seed(seed)
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Guarded<A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        let seed = self.beside(seed);
        self.inner.next_key_seed(seed)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        let seed = self.beside(seed);
        self.inner.next_value_seed(seed)
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}

impl<'de, A: EnumAccess<'de>> EnumAccess<'de> for Guarded<A> {
    type Error = A::Error;
    type Variant = Guarded<A::Variant>;

    fn variant_seed<S: DeserializeSeed<'de>>(
        self,
        seed: S,
    ) -> Result<(S::Value, Self::Variant), A::Error> {
        let (seed, left) = (self.beside(seed), self.left);
        let (name, inner) = self.inner.variant_seed(seed)?;
        Ok((name, Guarded { inner, left }))
    }
}

impl<'de, A: VariantAccess<'de>> VariantAccess<'de> for Guarded<A> {
    type Error = A::Error;

    fn unit_variant(self) -> Result<(), A::Error> {
        self.inner.unit_variant()
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, A::Error> {
        let seed = self.beside(seed);
        self.inner.newtype_variant_seed(seed)
    }

    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, A::Error> {
        let visitor = self.beside(visitor);
        self.inner.tuple_variant(len, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        let visitor = self.beside(visitor);
        self.inner.struct_variant(fields, visitor)
    }
}
