//! Who knows where an address comes from: a trait, and a small table of prefixes to fill it.

use std::collections::HashMap;
use std::net::IpAddr;

use nearside_types::{Asn, Country, Origin, ParsePrefixError, Prefix};
use thiserror::Error;

/// Knows the origin of addresses, or does not.
pub trait OriginLookup {
    /// What is known of `ip`; both halves empty if nothing is.
    fn origin(&self, ip: IpAddr) -> Origin;

    /// What the user says of `ip`, which counts more than what a master says. Default: nothing.
    fn overriding(&self, ip: IpAddr) -> Origin {
        let _ = ip;
        Origin::default()
    }
}

/// A table of prefixes; the longest that matches wins. Made for tables an operator writes by hand
/// and for the lab's.
#[derive(Debug, Clone, Default)]
pub struct OriginTable {
    /// Lengths in use, longest first, for each family.
    v4_lengths: Vec<u8>,
    v6_lengths: Vec<u8>,
    origins: HashMap<Prefix, Origin>,
}

/// Why an origin file was refused.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("{file}, line {line}: {fault}")]
pub struct OriginFileError {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub fault: OriginFault,
}

/// What is wrong with a line.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum OriginFault {
    /// Not three fields.
    #[error("expected `prefix,asn,country`, found {0} fields")]
    Fields(usize),
    /// Not a prefix.
    #[error(transparent)]
    Prefix(#[from] ParsePrefixError),
    /// Not an AS number.
    #[error("`{0}` is not an AS number (write 64496, or leave it empty)")]
    Asn(String),
    /// Not a country.
    #[error("`{0}` is not a two-letter country code (write DE, or leave it empty)")]
    Country(String),
}

impl OriginTable {
    /// Reads lines of `prefix,asn,country`; asn or country may be empty. Blank lines, lines that
    /// start with `#` and a header line are skipped. `file` is named in errors.
    pub fn parse(file: &str, text: &str) -> Result<Self, OriginFileError> {
        let mut table = Self::default();
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            let is_header = index == 0 && line.eq_ignore_ascii_case("prefix,asn,country");
            if line.is_empty() || line.starts_with('#') || is_header {
                continue;
            }
            let (prefix, origin) = parse_line(line).map_err(|fault| OriginFileError {
                file: file.to_owned(),
                line: index + 1,
                fault,
            })?;
            table.insert(prefix, origin);
        }
        Ok(table)
    }

    /// Adds a prefix; a later entry for the same prefix replaces an earlier one.
    pub fn insert(&mut self, prefix: Prefix, origin: Origin) {
        let lengths = if prefix.network().is_ipv4() {
            &mut self.v4_lengths
        } else {
            &mut self.v6_lengths
        };
        if let Err(at) = lengths.binary_search_by(|length| prefix.length().cmp(length)) {
            lengths.insert(at, prefix.length());
        }
        self.origins.insert(prefix, origin);
    }

    /// Prefixes in the table.
    pub fn len(&self) -> usize {
        self.origins.len()
    }

    /// Whether it knows nothing.
    pub fn is_empty(&self) -> bool {
        self.origins.is_empty()
    }
}

impl OriginLookup for OriginTable {
    fn origin(&self, ip: IpAddr) -> Origin {
        let lengths = if ip.to_canonical().is_ipv4() {
            &self.v4_lengths
        } else {
            &self.v6_lengths
        };
        lengths
            .iter()
            .find_map(|&length| self.origins.get(&Prefix::new(ip, length)))
            .copied()
            .unwrap_or_default()
    }
}

fn parse_line(line: &str) -> Result<(Prefix, Origin), OriginFault> {
    let fields: Vec<&str> = line.split(',').map(str::trim).collect();
    let [prefix, asn, country] = fields[..] else {
        return Err(OriginFault::Fields(fields.len()));
    };
    let prefix: Prefix = prefix.parse()?;
    let asn = parse_optional::<Asn>(asn).ok_or_else(|| OriginFault::Asn(asn.to_owned()))?;
    let country = parse_optional::<Country>(country)
        .ok_or_else(|| OriginFault::Country(country.to_owned()))?;
    Ok((prefix, Origin { asn, country }))
}

/// `Some(None)` for an empty field, `None` for a bad one.
fn parse_optional<T: std::str::FromStr>(text: &str) -> Option<Option<T>> {
    if text.is_empty() {
        return Some(None);
    }
    text.parse().ok().map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_prefix_wins() {
        let table = OriginTable::parse(
            "t",
            "prefix,asn,country\n# ours\n10.0.0.0/8,1,DE\n10.1.0.0/16,2,\n2001:db8::/32,,FR\n",
        )
        .unwrap();
        let origin = |ip: &str| table.origin(ip.parse().unwrap());
        assert_eq!(origin("10.1.2.3").asn, Some(Asn(2)));
        assert_eq!(
            origin("10.1.2.3").country,
            None,
            "the longer prefix speaks alone"
        );
        assert_eq!(origin("10.9.2.3").asn, Some(Asn(1)));
        assert_eq!(origin("::ffff:10.9.2.3").asn, Some(Asn(1)));
        assert_eq!(origin("2001:db8::1").country, "FR".parse().ok());
        assert_eq!(origin("11.0.0.1"), Origin::default());
        assert_eq!(table.len(), 3);
    }

    #[test]
    fn bad_lines_are_refused_with_file_line_and_reason() {
        for (text, expected) in [
            (
                "1.2.3.0/24,1\n",
                "o.csv, line 1: expected `prefix,asn,country`, found 2 fields",
            ),
            (
                "\n1.2.3.0/33,1,DE\n",
                "o.csv, line 2: `1.2.3.0/33` is not a prefix",
            ),
            (
                "1.2.3.0/24,x,DE\n",
                "o.csv, line 1: `x` is not an AS number",
            ),
            (
                "1.2.3.0/24,1,GER\n",
                "o.csv, line 1: `GER` is not a two-letter country code",
            ),
        ] {
            let error = OriginTable::parse("o.csv", text).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
