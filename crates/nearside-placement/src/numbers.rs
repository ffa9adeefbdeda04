//! Numbers of files and events. What is derived says that it expected an `f64`, which is no word of the
//! people who write them.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserializer;
use serde::de::{Unexpected, Visitor};

/// Reads milliseconds.
pub(crate) fn millis<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    deserializer.deserialize_any(Number("milliseconds"))
}

/// Reads milliseconds, or null.
pub(crate) fn millis_or_null<'de, D>(deserializer: D) -> Result<Option<f64>, D::Error>
where
    D: Deserializer<'de>,
{
    deserializer.deserialize_any(OrNull(Number("milliseconds or null")))
}

/// Reads a price, or null.
pub(crate) fn price<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    deserializer.deserialize_any(OrNull(Number("a number")))
}

/// Reads a whole number that is not negative.
///
/// # Errors
/// When it is none, or has no room in `N`.
pub fn whole_number<'de, D, N>(deserializer: D) -> Result<N, D::Error>
where
    D: Deserializer<'de>,
    N: TryFrom<u64>,
{
    deserializer.deserialize_any(Whole(PhantomData))
}

/// A number that is called so.
struct Number(&'static str);

impl Visitor<'_> for Number {
    type Value = f64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }

    fn visit_f64<E>(self, number: f64) -> Result<f64, E> {
        Ok(number)
    }

    fn visit_u64<E>(self, number: u64) -> Result<f64, E> {
        Ok(number as f64)
    }

    fn visit_i64<E>(self, number: i64) -> Result<f64, E> {
        Ok(number as f64)
    }
}

/// The same, or null.
struct OrNull(Number);

impl Visitor<'_> for OrNull {
    type Value = Option<f64>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(f)
    }

    fn visit_f64<E>(self, number: f64) -> Result<Option<f64>, E> {
        Ok(Some(number))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Option<f64>, E> {
        Ok(Some(number as f64))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Option<f64>, E> {
        Ok(Some(number as f64))
    }

    fn visit_unit<E>(self) -> Result<Option<f64>, E> {
        Ok(None)
    }
}

struct Whole<N>(PhantomData<N>);

impl<N: TryFrom<u64>> Visitor<'_> for Whole<N> {
    type Value = N;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number from 0 on")
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<N, E> {
        let too_large = |_| E::invalid_value(Unexpected::Unsigned(number), &self);
        N::try_from(number).map_err(too_large)
    }
}

#[cfg(test)]
mod tests {
    use crate::session::Event;
    use crate::{PlacementFile, SessionSetup};

    const SETUP: &str = r#"{"delay_bound_ms": 20, "processing_ms": 3, "seed": 1, "steps": 9,
        "servers": [{"name": "a", "cost": 2}], "server_server_ms": [[0]]}"#;
    const INSTANCE: &str = r#"{"delay_bound_ms": 20, "processing_ms": 3, "clients": ["x"],
        "servers": [{"name": "a", "cost": 2}], "client_server_ms": [[1]], "server_server_ms": [[0]]}"#;

    fn told(form: &str, field: &str, wrong: &str) -> Option<String> {
        let start = form.find(&format!("\"{field}\": "))? + field.len() + 4;
        let end = start + form[start..].find([',', '}'])?;
        let text = format!("{}{wrong}{}", &form[..start], &form[end..]);
        let refused = match form {
            SETUP => SessionSetup::from_json(text.as_bytes()).err()?.to_string(),
            INSTANCE => PlacementFile::from_json(text.as_bytes()).err()?.to_string(),
            _ => serde_json::from_str::<Event>(&text).err()?.to_string(),
        };
        Some(refused)
    }

    #[test]
    fn what_was_expected_is_told_in_words() {
        let latency = r#"{"event": "latency", "client": "x", "server": "a", "ms": 1}"#;
        let between = r#"{"event": "server_latency", "one": "b", "other": "a", "ms": 1}"#;
        let bound = r#"{"event": "bound", "ms": 1}"#;
        let moves = r#"{"event": "consolidate", "max_moves": 1}"#;
        for (form, field, wrong, expected) in [
            (SETUP, "delay_bound_ms", "\"x\"", "expected milliseconds"),
            (SETUP, "processing_ms", "[]", "expected milliseconds"),
            (SETUP, "seed", "-1", "expected a whole number"),
            (SETUP, "steps", "1.5", "expected a whole number"),
            (SETUP, "cost", "true", "expected a number"),
            (INSTANCE, "delay_bound_ms", "\"x\"", "expected milliseconds"),
            (INSTANCE, "processing_ms", "true", "expected milliseconds"),
            (latency, "ms", "\"x\"", "expected milliseconds or null"),
            (between, "ms", "true", "expected milliseconds or null"),
            (bound, "ms", "null", "expected milliseconds"),
            (moves, "max_moves", "-3", "expected a whole number"),
        ] {
            let told = told(form, field, wrong).unwrap_or_default();
            assert!(told.contains(expected), "{field} {wrong}: {told}");
        }
        let join = r#"{"event": "join", "client": "x", "latencies_ms": {"a": "far"}}"#;
        let told = serde_json::from_str::<Event>(join).unwrap_err().to_string();
        assert!(told.contains("milliseconds or null"), "{told}");
    }

    #[test]
    fn what_may_be_left_out_still_may() {
        let short =
            r#"{"delay_bound_ms": 2e1, "servers": [{"name": "a"}], "server_server_ms": [[null]]}"#;
        assert!(SessionSetup::from_json(short.as_bytes()).is_ok());
        let null = INSTANCE.replace("20", "null").replace('3', "null");
        assert_eq!(
            PlacementFile::from_json(null.as_bytes()).unwrap().bound,
            None
        );
    }
}
