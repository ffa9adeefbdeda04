//! A date on the calendar, for data that has one. Engines get "now" as such a value as well.

use std::fmt;
use std::time::Duration;

/// A point in wall-clock time: seconds since 1970-01-01 UTC.
///
/// Not a [`Moment`](nearside_types::Moment): data outlives the process that made it, and a
/// monotonic clock does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp {
    seconds: u64,
}

const SECONDS_PER_DAY: u64 = 86_400;

impl Timestamp {
    /// So many seconds after 1970-01-01 UTC.
    pub const fn from_unix_seconds(seconds: u64) -> Self {
        Self { seconds }
    }

    /// Midnight UTC of a day, written as in `2026-06-17`; `None` for anything else and for days
    /// before 1970 or that no calendar has.
    pub fn from_date(text: &str) -> Option<Self> {
        let mut parts = text.splitn(3, '-');
        let mut number = |digits: usize| {
            let part = parts.next()?;
            let well_formed = part.len() == digits && part.bytes().all(|b| b.is_ascii_digit());
            well_formed.then(|| part.parse::<u64>().ok())?
        };
        let (year, month, day) = (number(4)?, number(2)?, number(2)?);
        let known = year >= 1970 && (1..=12).contains(&month) && day >= 1;
        if !known || day > days_in_month(year, month) {
            return None;
        }
        let days = days_before_year(year) + days_before_month(year, month) + day - 1;
        Some(Self::from_unix_seconds(days * SECONDS_PER_DAY))
    }

    /// Seconds since 1970-01-01 UTC.
    pub const fn unix_seconds(self) -> u64 {
        self.seconds
    }

    /// Time from `self` to `now`; zero when `now` is earlier (clocks of two machines differ).
    pub const fn age_at(self, now: Self) -> Duration {
        Duration::from_secs(now.seconds.saturating_sub(self.seconds))
    }
}

fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

fn days_in_month(year: u64, month: u64) -> u64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

fn days_before_month(year: u64, month: u64) -> u64 {
    (1..month).map(|month| days_in_month(year, month)).sum()
}

/// Days from 1970-01-01 to the first day of `year`, by the Gregorian rule.
fn days_before_year(year: u64) -> u64 {
    let leaps = |year: u64| year / 4 - year / 100 + year / 400;
    (year - 1970) * 365 + leaps(year - 1) - leaps(1969)
}

impl fmt::Display for Timestamp {
    /// The day alone, as in `2026-06-17`: no source is dated more finely in a way that matters.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let days = self.seconds / SECONDS_PER_DAY;
        // 146,097 days make 400 years; leap days are not evenly spread, so begin a year early.
        let mut year = (1969 + days * 400 / 146_097).max(1970);
        while days_before_year(year + 1) <= days {
            year += 1;
        }
        let day_of_year = days - days_before_year(year);
        let later = |month: &u64| days_before_month(year, *month) <= day_of_year;
        let month = (1..=12).take_while(later).last().unwrap_or(1);
        let day = day_of_year - days_before_month(year, month) + 1;
        f.pad(&format!("{year:04}-{month:02}-{day:02}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn dates_are_the_days_that_everybody_else_counts() {
        for (date, seconds) in [
            ("1970-01-01", 0),
            ("2000-02-29", 951_782_400),
            ("2026-06-17", 1_781_654_400),
            ("2100-03-01", 4_107_542_400),
        ] {
            let expected = Timestamp::from_unix_seconds(seconds);
            assert_eq!(Timestamp::from_date(date), Some(expected), "{date}");
        }
    }

    #[test]
    fn what_is_not_a_date_is_refused() {
        for text in [
            "",
            "2026",
            "2026-6-17",
            "2026-13-01",
            "2026-02-29",
            "1969-12-31",
            "2026-06-17T00:00",
            "+026-06-17",
        ] {
            assert_eq!(Timestamp::from_date(text), None, "{text}");
        }
    }

    #[test]
    fn age_never_runs_backwards() {
        let (early, late) = (
            Timestamp::from_unix_seconds(10),
            Timestamp::from_unix_seconds(25),
        );
        assert_eq!(early.age_at(late), Duration::from_secs(15));
        assert_eq!(late.age_at(early), Duration::ZERO);
    }

    proptest! {
        #[test]
        fn every_day_reads_back_from_its_text(day in 0u64..2_900_000) {
            let time = Timestamp::from_unix_seconds(day * SECONDS_PER_DAY);
            prop_assert_eq!(Timestamp::from_date(&time.to_string()), Some(time));
        }
    }
}
