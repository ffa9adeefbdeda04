use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;

/// The number of an autonomous system (RFC 6793: 32 bits).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Asn(pub u32);

impl fmt::Display for Asn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AS{}", self.0)
    }
}

/// Why a text is not an AS number.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("`{0}` is not an AS number (write 64496 or AS64496)")]
pub struct ParseAsnError(String);

impl FromStr for Asn {
    type Err = ParseAsnError;

    /// Accepts `64496`, `AS64496` and `as64496`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digits = text
            .strip_prefix("AS")
            .or_else(|| text.strip_prefix("as"))
            .unwrap_or(text);
        digits
            .parse()
            .map(Self)
            .map_err(|_| ParseAsnError(text.to_owned()))
    }
}

/// A country by its two-letter code (ISO 3166-1 alpha-2), always upper case.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Country([u8; 2]);

impl Country {
    /// The country of two ASCII letters, whatever their case; `None` for other bytes and for `ZZ`,
    /// which the wire formats use to say "unknown".
    pub fn from_bytes(letters: [u8; 2]) -> Option<Self> {
        let upper = letters.map(|letter| letter.to_ascii_uppercase());
        let valid = upper.iter().all(u8::is_ascii_uppercase) && upper != *b"ZZ";
        valid.then_some(Self(upper))
    }

    /// The two letters as bytes.
    pub const fn as_bytes(self) -> [u8; 2] {
        self.0
    }

    /// The two letters as text.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("only ASCII letters are ever stored")
    }
}

impl fmt::Display for Country {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for Country {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Country({})", self.as_str())
    }
}

/// Why a text is not a country code.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("`{0}` is not a two-letter country code (write DE, US, …)")]
pub struct ParseCountryError(String);

impl FromStr for Country {
    type Err = ParseCountryError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        <[u8; 2]>::try_from(text.as_bytes())
            .ok()
            .and_then(Self::from_bytes)
            .ok_or_else(|| ParseCountryError(text.to_owned()))
    }
}

impl Serialize for Country {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Country {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// What is known of where an address comes from; either half may be missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Origin {
    /// The AS that announces the address.
    pub asn: Option<Asn>,
    /// The country the address is used in.
    pub country: Option<Country>,
}

impl Origin {
    /// Fills what is missing here from `other`; what is known stays.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            asn: self.asn.or(other.asn),
            country: self.country.or(other.country),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn country_codes_are_folded_to_upper_case_and_checked() {
        assert_eq!("de".parse::<Country>().unwrap().to_string(), "DE");
        for bad in ["", "D", "DEU", "D1", "é", "zz", "ZZ"] {
            assert!(bad.parse::<Country>().is_err(), "{bad}");
        }
    }

    #[test]
    fn as_numbers_parse_with_and_without_prefix() {
        assert_eq!("AS24940".parse(), Ok(Asn(24940)));
        assert_eq!("4294967295".parse(), Ok(Asn(u32::MAX)));
        for bad in ["", "AS", "-1", "4294967296", "24940 "] {
            assert!(bad.parse::<Asn>().is_err(), "{bad}");
        }
    }

    #[test]
    fn country_reads_back_from_json() {
        let country: Country = serde_json::from_str("\"nz\"").unwrap();
        assert_eq!(serde_json::to_string(&country).unwrap(), "\"NZ\"");
        assert!(serde_json::from_str::<Country>("\"New Zealand\"").is_err());
    }

    #[test]
    fn known_halves_of_an_origin_win_over_later_ones() {
        let de = Country::from_bytes(*b"DE");
        let first = Origin {
            asn: Some(Asn(1)),
            country: None,
        };
        let second = Origin {
            asn: Some(Asn(2)),
            country: de,
        };
        assert_eq!(
            first.or(second),
            Origin {
                asn: Some(Asn(1)),
                country: de
            }
        );
    }
}
