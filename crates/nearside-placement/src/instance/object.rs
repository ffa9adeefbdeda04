//! Values that must be objects. What is derived for a struct also takes a list of its fields, in an order
//! that nobody promised; and it calls what it expects by the name of a Rust type.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Error as _, MapAccess, SeqAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};

/// Something that is written as an object.
pub(crate) trait Written: Sized {
    /// What to write, with an example.
    const EXPECTED: &'static str;
}

/// An object, and nothing else.
pub(crate) struct Object<T>(pub(crate) T);

impl<'de, T: Written + Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer
            .deserialize_any(OneObject(PhantomData))
            .map(Self)
    }
}

struct OneObject<T>(PhantomData<T>);

impl<'de, T: Written + Deserialize<'de>> Visitor<'de> for OneObject<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::EXPECTED)
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<T, A::Error> {
        T::deserialize(MapAccessDeserializer::new(fields))
    }
}

/// A list of objects; what is wrong in one is told with its place.
pub(crate) fn list<'de, D, T>(deserializer: D, field: &'static str) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Written + Deserialize<'de>,
{
    deserializer.deserialize_seq(List {
        field,
        of: PhantomData,
    })
}

struct List<T> {
    field: &'static str,
    of: PhantomData<T>,
}

impl<'de, T: Written + Deserialize<'de>> Visitor<'de> for List<T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: a list, each {}", self.field, T::EXPECTED)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Vec<T>, A::Error> {
        let mut list = Vec::new();
        loop {
            let (field, index) = (self.field, list.len());
            let placed = |error| A::Error::custom(format_args!("{field}[{index}]: {error}"));
            match items.next_element::<Object<T>>().map_err(placed)? {
                Some(Object(item)) => list.push(item),
                None => return Ok(list),
            }
        }
    }
}

/// Reads how many players a server takes; null is any number.
pub(crate) fn places<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    deserializer.deserialize_any(Places)
}

struct Places;

impl Visitor<'_> for Places {
    type Value = Option<u32>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let most = u32::MAX;
        write!(
            f,
            "capacity to be a whole number of players from 0 to {most} (leave it out where any number fits)"
        )
    }

    fn visit_u64<E: serde::de::Error>(self, places: u64) -> Result<Option<u32>, E> {
        let places = u32::try_from(places);
        let too_many = |_| E::invalid_value(Unexpected::Other("more than that"), &self);
        places.map(Some).map_err(too_many)
    }

    fn visit_unit<E>(self) -> Result<Option<u32>, E> {
        Ok(None)
    }
}
