//! Depth, seen from the other side: a value that nobody would read is not written. Who stores it all the same sends every
//! reader to its body, since to each of them it is as good as nothing.
//!
//! What is counted is what [`depth`](super::depth) counts, so that it is the same value which is refused on both sides.

use std::fmt::Display;

use serde::ser::{
    Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant, Serializer,
};

/// A value that gives up below `left` levels, and writes the bytes that it would write anyway. No level costs more than
/// a comparison, and none below is looked at.
pub(crate) fn guarded<T: Serialize + ?Sized>(value: &T, left: u16) -> impl Serialize {
    Guarded { inner: value, left }
}

/// A value, a serializer or something with parts, and how many levels there may be below it.
struct Guarded<I> {
    inner: I,
    left: u16,
}

impl<I> Guarded<I> {
    /// What has so many levels, and whose parts are below them.
    fn below<J, E: serde::ser::Error>(
        self,
        levels: u16,
        open: impl FnOnce(I) -> Result<J, E>,
    ) -> Result<Guarded<J>, E> {
        let left = self.left.checked_sub(levels);
        let left = left.ok_or_else(|| E::custom("too deep"))?;
        open(self.inner).map(|inner| Guarded { inner, left })
    }

    /// One of its parts.
    const fn part<'a, T: ?Sized>(&self, part: &'a T) -> Guarded<&'a T> {
        let left = self.left;
        Guarded { inner: part, left }
    }
}

impl<T: Serialize + ?Sized> Serialize for Guarded<&T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let left = self.left;
        self.inner.serialize(Guarded {
            inner: serializer,
            left,
        })
    }
}

/// Methods for something without parts.
macro_rules! flat {
    ($($method:ident($($name:ident: $kind:ty),*))*) => {$(
        fn $method(self, $($name: $kind),*) -> Result<S::Ok, S::Error> {
            self.inner.$method($($name),*)
        }
    )*};
}

/// Methods for something with parts, and how many levels a reader of it goes down.
macro_rules! deep {
    ($($levels:literal $method:ident($($name:ident: $kind:ty),*) -> $parts:ident)*) => {$(
        fn $method(self, $($name: $kind),*) -> Result<Guarded<S::$parts>, S::Error> {
            self.below($levels, |inner| inner.$method($($name),*))
        }
    )*};
}

impl<S: Serializer> Serializer for Guarded<S> {
    type Ok = S::Ok;
    type Error = S::Error;
    type SerializeSeq = Guarded<S::SerializeSeq>;
    type SerializeTuple = Guarded<S::SerializeTuple>;
    type SerializeTupleStruct = Guarded<S::SerializeTupleStruct>;
    type SerializeTupleVariant = Guarded<S::SerializeTupleVariant>;
    type SerializeMap = Guarded<S::SerializeMap>;
    type SerializeStruct = Guarded<S::SerializeStruct>;
    type SerializeStructVariant = Guarded<S::SerializeStructVariant>;

    flat! {
        serialize_bool(value: bool) serialize_char(value: char)
        serialize_i8(value: i8) serialize_i16(value: i16) serialize_i32(value: i32)
        serialize_i64(value: i64) serialize_i128(value: i128)
        serialize_u8(value: u8) serialize_u16(value: u16) serialize_u32(value: u32)
        serialize_u64(value: u64) serialize_u128(value: u128)
        serialize_f32(value: f32) serialize_f64(value: f64)
        serialize_str(value: &str)
        serialize_none() serialize_unit()
        serialize_unit_struct(name: &'static str)
    }

    deep! {
        1 serialize_seq(length: Option<usize>) -> SerializeSeq
        1 serialize_tuple(length: usize) -> SerializeTuple
        1 serialize_tuple_struct(name: &'static str, length: usize) -> SerializeTupleStruct
        1 serialize_map(length: Option<usize>) -> SerializeMap
        1 serialize_struct(name: &'static str, length: usize) -> SerializeStruct
        2 serialize_tuple_variant(name: &'static str, index: u32, variant: &'static str, length: usize) -> SerializeTupleVariant
        2 serialize_struct_variant(name: &'static str, index: u32, variant: &'static str, length: usize) -> SerializeStructVariant
    }

    /// As JSON has them: a list, of which a reader counts the level.
    fn serialize_bytes(self, value: &[u8]) -> Result<S::Ok, S::Error> {
        let below = self.below(1, Ok)?;
        below.inner.serialize_bytes(value)
    }

    fn serialize_unit_variant(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
    ) -> Result<S::Ok, S::Error> {
        let below = self.below(1, Ok)?;
        below.inner.serialize_unit_variant(name, index, variant)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<S::Ok, S::Error> {
        let below = self.below(1, Ok)?;
        let value = below.part(value);
        below.inner.serialize_some(&value)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<S::Ok, S::Error> {
        let below = self.below(1, Ok)?;
        let value = below.part(value);
        below.inner.serialize_newtype_struct(name, &value)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<S::Ok, S::Error> {
        let below = self.below(1, Ok)?;
        let value = below.part(value);
        let inner = below.inner;
        inner.serialize_newtype_variant(name, index, variant, &value)
    }

    fn collect_str<T: Display + ?Sized>(self, value: &T) -> Result<S::Ok, S::Error> {
        self.inner.collect_str(value)
    }

    fn is_human_readable(&self) -> bool {
        self.inner.is_human_readable()
    }
}

/// What has parts: a trait, how it takes one, and what else it can do.
macro_rules! with_parts {
    ($($kind:ident: $method:ident($($name:ident: $key:ty)?) $(, $skip:ident)?;)*) => {$(
        impl<P: $kind> $kind for Guarded<P> {
            type Ok = P::Ok;
            type Error = P::Error;

            fn $method<T: Serialize + ?Sized>(
                &mut self,
                $($name: $key,)?
                part: &T,
            ) -> Result<(), P::Error> {
                let part = self.part(part);
                self.inner.$method($($name,)? &part)
            }

            $(fn $skip(&mut self, name: &'static str) -> Result<(), P::Error> {
                self.inner.$skip(name)
            })?

            fn end(self) -> Result<P::Ok, P::Error> {
                self.inner.end()
            }
        }
    )*};
}

with_parts! {
    SerializeSeq: serialize_element();
    SerializeTuple: serialize_element();
    SerializeTupleStruct: serialize_field();
    SerializeTupleVariant: serialize_field();
    SerializeStruct: serialize_field(key: &'static str), skip_field;
    SerializeStructVariant: serialize_field(key: &'static str), skip_field;
}

impl<P: SerializeMap> SerializeMap for Guarded<P> {
    type Ok = P::Ok;
    type Error = P::Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), P::Error> {
        let key = self.part(key);
        self.inner.serialize_key(&key)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), P::Error> {
        let value = self.part(value);
        self.inner.serialize_value(&value)
    }

    fn serialize_entry<K: Serialize + ?Sized, V: Serialize + ?Sized>(
        &mut self,
        key: &K,
        value: &V,
    ) -> Result<(), P::Error> {
        let (key, value) = (self.part(key), self.part(value));
        self.inner.serialize_entry(&key, &value)
    }

    fn end(self) -> Result<P::Ok, P::Error> {
        self.inner.end()
    }
}
