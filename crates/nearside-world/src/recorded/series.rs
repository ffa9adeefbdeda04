//! Labelled series: RTTs of probes over time, with marks where somebody saw a change of the path.
//! Lines `probe;epoch_utc;rtt_ms;change_point` with times as in `14/11/2016 23:55` or
//! `2016-11-14 23:55:28`; a negative RTT was lost.

use std::collections::HashMap;
use std::io::Read;

use nearside_origin::Timestamp;
use nearside_types::Rtt;

use super::{LineFile, MAX_SAMPLES, RecordedError, RecordedFault, field_fault, parse_millis};

const HEADER: &str = "probe;epoch_utc;rtt_ms;change_point";

/// The measurements of one probe, in the order of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Series {
    /// The probe's name.
    pub probe: String,
    /// What it measured.
    pub points: Vec<SeriesPoint>,
}

/// One measurement of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeriesPoint {
    /// When.
    pub at: Timestamp,
    /// The RTT; `None` if there was no answer.
    pub rtt: Option<Rtt>,
    /// Whether the path was seen to change here.
    pub change_point: bool,
}

/// Reads all series of a file, in the order in which probes first appear; `label` names the file in
/// errors, gzip is recognised.
///
/// # Errors
/// At the first line that is no measurement, with line, column and reason.
pub fn read_series(label: &str, source: impl Read) -> Result<Vec<Series>, RecordedError> {
    let mut file = LineFile::open(label, source, ';')?;
    file.expect_header(HEADER, ';')?;
    let mut all: Vec<Series> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut count = 0;
    while let Some([probe, time, rtt, change]) = file.next_array()? {
        let point = parse_point(&time, &rtt, &change).map_err(|fault| file.error(fault))?;
        count += 1;
        if count > MAX_SAMPLES {
            let (what, max) = ("measurements", MAX_SAMPLES);
            return Err(file.error(RecordedFault::TooMany { what, max }));
        }
        let place = *places.entry(probe).or_insert_with_key(|probe| {
            let (probe, points) = (probe.clone(), Vec::new());
            all.push(Series { probe, points });
            all.len() - 1
        });
        all[place].points.push(point);
    }
    Ok(all)
}

fn parse_point(time: &str, rtt: &str, change: &str) -> Result<SeriesPoint, RecordedFault> {
    let at = parse_time(time).ok_or_else(|| field_fault(&"epoch_utc", time, EXPECTED_TIME))?;
    let rtt = match rtt.parse::<f64>() {
        Ok(lost) if lost < 0.0 => None,
        _ => Some(parse_millis(rtt).ok_or_else(|| {
            field_fault(&"rtt_ms", rtt, "a time up to 60000 ms, or negative if lost")
        })?),
    };
    let change_point = match change {
        "0" => false,
        "1" => true,
        other => return Err(field_fault(&"change_point", other, "0 or 1")),
    };
    Ok(SeriesPoint {
        at,
        rtt,
        change_point,
    })
}

const EXPECTED_TIME: &str = "a time as in 14/11/2016 23:55 or 2016-11-14 23:55:28";

/// `dd/mm/yyyy hh:mm` or `yyyy-mm-dd hh:mm:ss`, in UTC: the published series have both.
fn parse_time(text: &str) -> Option<Timestamp> {
    let (date, clock) = text.split_once(' ')?;
    let (date, clock, seconds) = match date.contains('/') {
        true => {
            let [day, month, year] = date.split('/').collect::<Vec<_>>().try_into().ok()?;
            (format!("{year}-{month}-{day}"), clock, 0)
        }
        false => {
            let (clock, seconds) = clock.rsplit_once(':')?;
            (date.to_owned(), clock, two_digits(seconds, 60)?)
        }
    };
    let midnight = Timestamp::from_date(&date)?;
    let (hours, minutes) = clock.split_once(':')?;
    let (hours, minutes) = (two_digits(hours, 24)?, two_digits(minutes, 60)?);
    let seconds = midnight.unix_seconds() + hours * 3600 + minutes * 60 + seconds;
    Some(Timestamp::from_unix_seconds(seconds))
}

/// A number of two digits below `end`.
fn two_digits(text: &str, end: u64) -> Option<u64> {
    let well_formed = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse().ok()?;
    (well_formed && number < end).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(rows: &str) -> Result<Vec<Series>, RecordedError> {
        read_series("s.csv", format!("{HEADER}\n{rows}").as_bytes())
    }

    #[test]
    fn probes_are_told_apart_and_keep_their_order() {
        let rows = "7;14/11/2016 23:55;163.4;0\n9;01/01/1970 00:01;-1;0\n7;14/11/2016 23:59;80;1";
        let series = read(rows).unwrap();
        assert_eq!(series.len(), 2);
        let [first, second] = series[0].points[..] else {
            panic!("two points");
        };
        assert_eq!(first.at.to_string(), "2016-11-14");
        assert_eq!(second.at.unix_seconds() - first.at.unix_seconds(), 240);
        assert_eq!(second.rtt, Some(Rtt::from_micros(80_000)));
        assert!(!first.change_point && second.change_point);
        let lost = series[1].points[0];
        assert_eq!((lost.at.unix_seconds(), lost.rtt), (60, None));
    }

    #[test]
    fn both_forms_of_published_times_are_read() {
        let series = read("7;14/11/2016 23:55;1;0\n7;2016-11-14 23:55:28;1;0").unwrap();
        let [first, second] = series[0].points[..] else {
            panic!("two points");
        };
        assert_eq!(second.at.unix_seconds() - first.at.unix_seconds(), 28);
    }

    #[test]
    fn errors_name_line_and_column() {
        for (row, expected) in [
            ("7;2016-11-14 23:55;1;0", "s.csv, line 2: column epoch_utc"),
            ("7;2016-11-14 23:55:60;1;0", "column epoch_utc"),
            ("7;31/02/2016 23:55;1;0", "column epoch_utc"),
            ("7;14/11/2016 24:00;1;0", "column epoch_utc"),
            ("7;14/11/2016 23:55;fast;0", "column rtt_ms: `fast`"),
            (
                "7;14/11/2016 23:55;1;2",
                "column change_point: `2` is not 0 or 1",
            ),
            ("7;14/11/2016 23:55;1", "3 fields where 4"),
        ] {
            let error = read(row).unwrap_err().to_string();
            assert!(error.contains(expected), "`{row}` gave: {error}");
        }
        let error = read_series("s.csv", &b"probe,rtt\n"[..]).unwrap_err();
        assert!(error.to_string().contains("the header must be"), "{error}");
    }
}
