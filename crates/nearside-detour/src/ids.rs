use std::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A client of the directory, by a number that stays with it as long as it is joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientId(pub u64);

/// In JSON it is text: many readers take numbers beyond 2^53 for others nearby.
impl Serialize for ClientId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match serializer.is_human_readable() {
            true => serializer.collect_str(&self.0),
            false => self.0.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for ClientId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if !deserializer.is_human_readable() {
            return u64::deserialize(deserializer).map(Self);
        }
        let text = String::deserialize(deserializer)?;
        text.parse().map(Self).map_err(D::Error::custom)
    }
}

impl fmt::Display for ClientId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "client {}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_the_same_for_readers_that_round_numbers() {
        let id = ClientId((1 << 53) + 1);
        let text = serde_json::to_string(&id).unwrap();
        assert_eq!(text, "\"9007199254740993\"");
        assert_eq!(serde_json::from_str::<ClientId>(&text).unwrap(), id);
        assert!(serde_json::from_str::<ClientId>("\"-1\"").is_err());
    }
}
