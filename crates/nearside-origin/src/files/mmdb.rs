//! MMDB files (MaxMind DB format 2.0): the record shapes of MaxMind, DB-IP, IPinfo and
//! ip-location-db.
//!
//! The tree is turned into ranges once, since a look-up in our table is faster than a walk through
//! up to 128 nodes.

use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;

use maxminddb::{MaxMindDbError, Reader, WithinOptions};
use nearside_types::{Asn, Country, Origin};
use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, Visitor};

use super::{Place, Problem, Refusal};
use crate::builder::TableBuilder;
use crate::key::ends;
use crate::timestamp::Timestamp;

/// Stands before the metadata, within the last 128 KiB.
const MARKER: &[u8] = b"\xab\xcd\xefMaxMind.com";
const METADATA_REACH: usize = 128 << 10;

pub(super) fn is_mmdb(bytes: &[u8]) -> bool {
    let tail = &bytes[bytes.len().saturating_sub(METADATA_REACH)..];
    tail.windows(MARKER.len()).any(|window| window == MARKER)
}

/// Reads all networks into `builder` and gives the date the file was built.
pub(super) fn read(bytes: &[u8], builder: &mut TableBuilder) -> Result<Timestamp, Refusal> {
    let reader = Reader::from_source(bytes).map_err(|error| refused(&error))?;
    let mut records = HashMap::new();
    let mut known = false;
    let networks = reader.networks(WithinOptions::default());
    for result in networks.map_err(|error| refused(&error))? {
        let result = result.map_err(|error| refused(&error))?;
        let network = result.network().map_err(|error| refused(&error))?;
        let Some(offset) = result.offset() else {
            continue;
        };
        // Networks share records; each is decoded once.
        let origin = match records.get(&offset) {
            Some(origin) => *origin,
            None => {
                let record = result.decode::<Record>().map_err(|error| refused(&error))?;
                let origin = record.map(Record::origin).unwrap_or_default();
                records.insert(offset, origin);
                origin
            }
        };
        if origin != Origin::default() {
            known = true;
            add(builder, network.ip(), network.prefix(), origin)?;
        }
    }
    let metadata = reader.metadata();
    if !known {
        let kind = metadata.database_type.clone();
        return Err((Place::Whole, Problem::NothingKnown(kind)));
    }
    Ok(Timestamp::from_unix_seconds(metadata.build_epoch))
}

fn add(
    builder: &mut TableBuilder,
    network: IpAddr,
    length: u8,
    origin: Origin,
) -> Result<(), Refusal> {
    let Some((first, last)) = ends(network, length) else {
        let text = format!("{network}/{length}");
        return Err((Place::Whole, Problem::Prefix(text)));
    };
    let added = builder.add_range(first, last, origin);
    added.map_err(|error| (Place::Whole, error.into()))
}

fn refused(error: &MaxMindDbError) -> Refusal {
    let offset = match error {
        MaxMindDbError::InvalidDatabase { offset, .. }
        | MaxMindDbError::Decoding { offset, .. } => *offset,
        _ => None,
    };
    let place = offset.map_or(Place::Whole, Place::Byte);
    (place, Problem::Mmdb(error.to_string()))
}

/// What the known kinds of records have in common, under their different names.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Record {
    /// MaxMind, DB-IP, ip-location-db.
    autonomous_system_number: AsnField,
    /// IPinfo, as `AS15169`.
    asn: AsnField,
    /// ip-location-db and IPinfo: the code itself.
    country_code: CountryField,
    /// MaxMind and DB-IP: a map with `iso_code`; IPinfo: the code, or the country's name.
    country: CountryField,
}

impl Record {
    fn origin(self) -> Origin {
        Origin {
            asn: self.autonomous_system_number.0.or(self.asn.0),
            country: self.country_code.0.or(self.country.0),
        }
    }
}

/// An AS number as a number or as a text.
#[derive(Debug, Default)]
struct AsnField(Option<Asn>);

/// A country as its code, or as a map that has it. What is neither (a name) is passed over.
#[derive(Debug, Default)]
struct CountryField(Option<Country>);

impl<'de> Deserialize<'de> for AsnField {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AsnVisitor)
    }
}

struct AsnVisitor;

impl Visitor<'_> for AsnVisitor {
    type Value = AsnField;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an AS number")
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<AsnField, E> {
        let number = u32::try_from(number);
        let number = number.map_err(|_| E::custom("an AS number has 32 bits"))?;
        Ok(AsnField((number != 0).then_some(Asn(number))))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<AsnField, E> {
        match text {
            "" => Ok(AsnField(None)),
            text => text
                .parse()
                .map(|asn| AsnField(Some(asn)))
                .map_err(E::custom),
        }
    }
}

impl<'de> Deserialize<'de> for CountryField {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(CountryVisitor)
    }
}

struct CountryVisitor;

impl<'de> Visitor<'de> for CountryVisitor {
    type Value = CountryField;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a country code, or a map with `iso_code`")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<CountryField, E> {
        Ok(CountryField(text.parse().ok()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<CountryField, A::Error> {
        let mut country = CountryField::default();
        while let Some(key) = map.next_key::<String>()? {
            if key == "iso_code" {
                country = CountryField(map.next_value::<String>()?.parse().ok());
            } else {
                map.next_value::<de::IgnoredAny>()?;
            }
        }
        Ok(country)
    }
}
