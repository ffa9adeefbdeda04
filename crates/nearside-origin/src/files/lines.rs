//! Tables as text: iptoasn's tabs, and CSV with prefixes or ranges, tor's `geoip` and `geoip6` among
//! them.

use std::net::{IpAddr, Ipv4Addr};

use csv::StringRecord;
use nearside_types::{Asn, Country, Origin};

use super::{Format, Place, Problem, Refusal, quoted};
use crate::builder::TableBuilder;
use crate::timestamp::Timestamp;

/// Reads all lines into `builder`. Blank lines, lines that begin with `#` and a header are skipped.
pub(super) fn read(text: &str, builder: &mut TableBuilder) -> Result<Format, Refusal> {
    let shape = Shape::of(text)?;
    let mut records = records(text, shape.delimiter());
    let mut record = StringRecord::new();
    let mut is_first = true;
    loop {
        match records.read_record(&mut record) {
            Ok(false) => return Ok(shape.format()),
            Ok(true) => {}
            Err(error) => return Err(broken(&error)),
        }
        let is_header = std::mem::take(&mut is_first) && is_header(&record);
        if !is_header {
            shape
                .add(&record, builder)
                .map_err(|problem| (place_of(&record, text), problem))?;
        }
    }
}

fn records(text: &str, delimiter: u8) -> csv::Reader<&[u8]> {
    csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .comment(Some(b'#'))
        .delimiter(delimiter)
        // Names in iptoasn's file may contain a lone quotation mark.
        .quoting(delimiter == b',')
        .trim(csv::Trim::All)
        .from_reader(text.as_bytes())
}

fn broken(error: &csv::Error) -> Refusal {
    let place = error
        .position()
        .map_or(Place::Whole, |position| Place::Line(position.line()));
    (place, Problem::Csv(error.to_string()))
}

/// The line of a record. The csv crate counts the blank lines and comments before a record as part
/// of it; a reader with an editor does not.
fn place_of(record: &StringRecord, text: &str) -> Place {
    let byte = record.position().map_or(0, csv::Position::byte);
    let byte = usize::try_from(byte).unwrap_or(usize::MAX).min(text.len());
    let (before, after) = text.as_bytes().split_at(byte);
    let lines = before.iter().filter(|byte| **byte == b'\n').count();
    let after = String::from_utf8_lossy(after);
    let skipped = after.lines().take_while(|line| !is_data(line)).count();
    Place::Line((lines + skipped + 1) as u64)
}

/// A first line that begins with a word, such as `prefix` or `start_ip`, names the columns.
fn is_header(record: &StringRecord) -> bool {
    let first = record.get(0).unwrap_or_default();
    first.starts_with(|c: char| c.is_ascii_alphabetic()) && !first.contains([':', '.', '/'])
}

/// What the columns mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// `start end asn country name`
    Iptoasn,
    /// `prefix,asn,country`
    Prefix,
    /// `start-end,asn,country`
    Dashed,
    /// `start,end,asn,country`
    StartEnd,
    /// `start,end,asn,name`: ip-location-db's AS tables
    StartEndNamed,
    /// `start,end,country`: ip-location-db's country tables, and tor's
    StartEndCountry,
}

impl Shape {
    /// From the first line that is neither blank, comment nor header.
    fn of(text: &str) -> Result<Self, Refusal> {
        let delimiter = if text
            .lines()
            .find(|line| is_data(line))
            .is_some_and(|line| line.contains('\t'))
        {
            b'\t'
        } else {
            b','
        };
        let mut rows = records(text, delimiter).into_records();
        let mut first = rows.next();
        if let Some(Ok(record)) = &first
            && is_header(record)
        {
            first = rows.next();
        }
        let first = first.ok_or((Place::Whole, Problem::Empty))?;
        let first = first.map_err(|error| broken(&error))?;
        let range = first.get(0).unwrap_or_default();
        match (delimiter, first.len()) {
            (b'\t', 3..) => Ok(Self::Iptoasn),
            (b',', 2..) if range.contains('/') => Ok(Self::Prefix),
            (b',', 2..) if range.contains('-') => Ok(Self::Dashed),
            (b',', 3) if is_country(&first[2]) => Ok(Self::StartEndCountry),
            (b',', 3..) => Ok(Self::start_end(text)),
            _ => Err((place_of(&first, text), Problem::Fields)),
        }
    }

    /// Whether the fourth column has countries or names can only be told from all of it: there are
    /// companies called HP and GE.
    fn start_end(text: &str) -> Self {
        let mut rows = records(text, b',').into_records().flatten();
        let names = rows.any(|row| {
            let fourth = row.get(3).unwrap_or_default();
            !is_header(&row) && !is_blank(fourth) && fourth.parse::<Country>().is_err()
        });
        if names {
            Self::StartEndNamed
        } else {
            Self::StartEnd
        }
    }

    fn delimiter(self) -> u8 {
        match self {
            Self::Iptoasn => b'\t',
            _ => b',',
        }
    }

    fn format(self) -> Format {
        match self {
            Self::Iptoasn => Format::IptoasnTsv,
            Self::Prefix => Format::PrefixCsv,
            _ => Format::RangeCsv,
        }
    }

    fn add(self, row: &StringRecord, builder: &mut TableBuilder) -> Result<(), Problem> {
        let field = |index: usize| row.get(index).unwrap_or_default();
        let has = |count: usize| (row.len() >= count).then_some(()).ok_or(Problem::Fields);
        let (first, last, origin) = match self {
            Self::Prefix => {
                has(2)?;
                let (first, last) = prefix(field(0))?;
                (first, last, origin(field(1), field(2))?)
            }
            Self::Dashed => {
                has(2)?;
                let ends = field(0).split_once('-');
                let (first, last) = ends.ok_or_else(|| Problem::Address(quoted(field(0))))?;
                let (first, last) = (address(first.trim())?, address(last.trim())?);
                (first, last, origin(field(1), field(2))?)
            }
            Self::StartEndCountry => {
                has(3)?;
                let (first, last) = (numbered_address(field(0))?, numbered_address(field(1))?);
                (first, last, origin("", field(2))?)
            }
            Self::Iptoasn | Self::StartEnd | Self::StartEndNamed => {
                has(3)?;
                let country = match self {
                    Self::StartEndNamed => "",
                    _ => field(3),
                };
                let (first, last) = (address(field(0))?, address(field(1))?);
                (first, last, origin(field(2), country)?)
            }
        };
        Ok(builder.add_range(first, last, origin)?)
    }
}

fn is_data(line: &str) -> bool {
    let line = line.trim();
    !line.is_empty() && !line.starts_with('#')
}

fn address(text: &str) -> Result<IpAddr, Problem> {
    text.parse().map_err(|_| Problem::Address(quoted(text)))
}

/// Tor writes IPv4 addresses as numbers.
fn numbered_address(text: &str) -> Result<IpAddr, Problem> {
    match text.parse::<u32>() {
        Ok(number) => Ok(Ipv4Addr::from_bits(number).into()),
        Err(_) => address(text),
    }
}

/// The first and last address of a prefix. Bits behind the length are ignored, as routers do.
fn prefix(text: &str) -> Result<(IpAddr, IpAddr), Problem> {
    let parse = || {
        let (network, length) = text.split_once('/')?;
        let network: IpAddr = network.parse().ok()?;
        let length: u8 = length.parse().ok()?;
        crate::key::ends(network, length)
    };
    parse().ok_or_else(|| Problem::Prefix(quoted(text)))
}

/// Both halves of an origin; "unknown" is written in many ways.
fn origin(asn: &str, country: &str) -> Result<Origin, Problem> {
    let asn = match asn {
        "0" => None,
        text if is_blank(text) => None,
        text => {
            let asn: Asn = text.parse().map_err(|_| Problem::Asn(quoted(text)))?;
            Some(asn)
        }
    };
    let country = match country {
        text if is_blank(text) => None,
        text => {
            let country: Country = text.parse().map_err(|_| Problem::Country(quoted(text)))?;
            Some(country)
        }
    };
    Ok(Origin { asn, country })
}

/// iptoasn writes `None` and `Unknown`, tor `??`, others `-`, `ZZ` (ISO 3166: user-assigned, taken by
/// the registries for "unknown") or nothing.
fn is_blank(text: &str) -> bool {
    matches!(text, "" | "-" | "??" | "None" | "Unknown" | "ZZ")
}

/// Whether a third column can only be one of countries.
fn is_country(text: &str) -> bool {
    text == "??" || text.parse::<Country>().is_ok()
}

/// When the data was made, where a comment at the beginning says so as IPFire's export does, on which
/// tor's files rest: `# Generated: Thu, 25 Jun 2026 04:33:59 GMT`.
pub(super) fn date(text: &str) -> Option<Timestamp> {
    let mut comments = text.lines().map_while(|line| line.strip_prefix('#'));
    let generated = comments.find_map(|line| line.trim().strip_prefix("Generated:"))?;
    let mut words = generated.split_whitespace().skip(1);
    let (day, month, year) = (words.next()?, words.next()?, words.next()?);
    let month = MONTHS.iter().position(|name| *name == month)? + 1;
    Timestamp::from_date(&format!("{year}-{month:02}-{day:0>2}"))
}

const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];
