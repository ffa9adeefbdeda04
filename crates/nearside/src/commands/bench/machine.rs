//! Where and when the bench ran: figures mean little without it.

use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;

/// The machine as it was before the first run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Machine {
    /// Coordinated universal time, as in `2026-01-31 23:59`.
    pub(super) date: String,
    pub(super) cpu: Option<String>,
    pub(super) cores: Option<usize>,
    pub(super) kernel: Option<String>,
    /// Load averages over 1, 5 and 15 minutes; above the number of cores, timings suffer.
    pub(super) load: Option<String>,
}

impl Machine {
    pub(super) fn read() -> Self {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH);
        Self {
            date: utc(since_epoch.map_or(0, |time| time.as_secs())),
            cpu: first_line_of("/proc/cpuinfo", "model name"),
            cores: std::thread::available_parallelism()
                .ok()
                .map(std::num::NonZero::get),
            kernel: text_of("/proc/sys/kernel/osrelease"),
            load: load(),
        }
    }
}

/// The load averages now.
pub(super) fn load() -> Option<String> {
    let line = text_of("/proc/loadavg")?;
    let averages: Vec<&str> = line.split_whitespace().take(3).collect();
    Some(averages.join(" "))
}

fn text_of(path: &str) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    Some(text.trim().to_owned())
}

fn first_line_of(path: &str, key: &str) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    let (_, value) = text
        .lines()
        .find(|line| line.starts_with(key))?
        .split_once(':')?;
    Some(value.trim().to_owned())
}

/// Days to year, month and day of the Gregorian calendar, by eras of 400 years that begin in March
/// (H. Hinnant, "chrono-Compatible Low-Level Date Algorithms", `civil_from_days`).
fn utc(seconds: u64) -> String {
    let days = seconds / 86_400 + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let leap_days = day_of_era / 1_460 + day_of_era / 146_096;
    let year_of_era = (day_of_era + day_of_era / 36_524 - leap_days) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (hour, minute) = (seconds / 3_600 % 24, seconds / 60 % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_right_around_leap_days_and_the_turn_of_years() {
        assert_eq!(utc(0), "1970-01-01 00:00");
        assert_eq!(utc(951_782_400), "2000-02-29 00:00");
        assert_eq!(utc(1_709_251_199), "2024-02-29 23:59");
        assert_eq!(utc(1_709_251_200), "2024-03-01 00:00");
        assert_eq!(utc(1_767_225_599), "2025-12-31 23:59");
        assert_eq!(utc(4_107_542_400), "2100-03-01 00:00");
    }
}
