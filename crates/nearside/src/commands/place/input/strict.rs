//! JSON in which nothing is said twice. Where a name stands twice in an object, other readers keep
//! one of the two and say nothing; here it is an error that names the place.

use std::cmp::Ordering;
use std::fmt;

use anyhow::{Context, Result};
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// Any JSON document.
pub(crate) fn read(bytes: &[u8]) -> Result<Value> {
    let mut document = serde_json::Deserializer::from_slice(bytes);
    let value = Anything { depth: 0 }.deserialize(&mut document);
    let value = value.and_then(|value| document.end().map(|()| value));
    value.context("not JSON that can be used")
}

/// Levels that are named in front of a mistake: inputs have three.
const NAMED: usize = 6;

#[derive(Clone, Copy)]
struct Anything {
    depth: usize,
}

impl Anything {
    const fn inside(self) -> Self {
        Self {
            depth: self.depth + 1,
        }
    }

    /// What is wrong inside is told from here: each level puts its name in front.
    fn placed<E: Error>(self, place: impl fmt::Display, error: E) -> E {
        match self.depth.cmp(&NAMED) {
            Ordering::Less => E::custom(format_args!("{place}: {error}")),
            Ordering::Equal => E::custom(format_args!("…: {error}")),
            Ordering::Greater => error,
        }
    }
}

impl<'de> DeserializeSeed<'de> for Anything {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Anything {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        loop {
            let index = list.len();
            let placed = |error| self.placed(format_args!("[{index}]"), error);
            match items.next_element_seed(self.inside()).map_err(placed)? {
                Some(value) => list.push(value),
                None => return Ok(Value::Array(list)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(name) = fields.next_key::<String>()? {
            let shown = name.escape_debug().to_string();
            let placed = |error| self.placed(format_args!("`{shown}`"), error);
            let value = fields.next_value_seed(self.inside()).map_err(placed)?;
            if object.insert(name, value).is_some() {
                let twice = format_args!("`{shown}` is there twice");
                return Err(A::Error::custom(twice));
            }
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn refusal(text: &str) -> String {
        format!("{:#}", read(text.as_bytes()).unwrap_err())
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_as_others_read_them_or_refused(text in "[\\[\\]{}\":,0-9a-b.e\\- ]{0,40}") {
            if let Ok(value) = read(text.as_bytes()) {
                prop_assert_eq!(Some(value), serde_json::from_str(&text).ok());
            }
        }
    }

    #[test]
    fn a_name_that_stands_twice_is_told_with_its_place() {
        let twice = refusal(r#"{"anna": {"fra": 1, "fra": 2}}"#);
        assert!(twice.contains("`anna`: `fra` is there twice"), "{twice}");
        assert!(twice.contains("line 1 column"), "{twice}");
        let twice = refusal(r#"[{"PlayerId": "a", "PlayerId": "b"}]"#);
        assert!(twice.contains("[0]: `PlayerId` is there twice"), "{twice}");
    }

    #[test]
    fn of_a_deep_place_the_first_levels_are_named() {
        let deep = refusal(&"[".repeat(200_000));
        assert!(deep.contains("[0]: …: recursion limit"), "{deep}");
        assert!(deep.len() < 200, "{deep}");
    }

    #[test]
    fn what_is_no_number_is_told_with_its_place() {
        for text in [r#"{"anna": {"fra": 1e999}}"#, r#"{"anna": {"fra": NaN}}"#] {
            let refused = refusal(text);
            assert!(refused.contains("`anna`: `fra`: "), "{refused}");
            assert_eq!(refused.matches("line 1").count(), 1, "{refused}");
        }
    }
}
