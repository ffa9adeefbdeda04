//! Numbers as people read them: thousands apart, bytes and seconds at a sensible precision.

use std::time::Duration;

/// `27640` as `27,640`.
pub(crate) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number with its noun: `1 probe`, `1,204 probes`. Every noun here takes a plain `s`.
pub(crate) fn count(number: u64, noun: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{} {noun}{ending}", thousands(number))
}

/// Bytes in decimal units, as providers count traffic: `912 B`, `1.2 MB`.
pub(crate) fn bytes(number: u64) -> String {
    if number < 1_000 {
        return format!("{number} B");
    }
    let mut value = number as f64 / 1e3;
    let mut units = ["kB", "MB", "GB"].into_iter();
    let mut unit = units.next().unwrap_or_default();
    // 999.95 is where one decimal would round up to 1000.0.
    while value >= 999.95 {
        let Some(larger) = units.next() else { break };
        (value, unit) = (value / 1e3, larger);
    }
    format!("{value:.1} {unit}")
}

/// `35.2 s`, and from 100 s on whole seconds: `204 s`.
pub(crate) fn seconds(value: f64) -> String {
    if value < 99.95 {
        format!("{value:.1} s")
    } else {
        format!("{} s", thousands(value.round() as u64))
    }
}

/// An age as one says it: `3 hours ago`.
pub(crate) fn ago(age: Duration) -> String {
    let seconds = age.as_secs();
    let (number, unit) = match seconds {
        0..60 => return "just now".to_owned(),
        60..3_600 => (seconds / 60, "minute"),
        3_600..86_400 => (seconds / 3_600, "hour"),
        _ => (seconds / 86_400, "day"),
    };
    format!("{} ago", count(number, unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_told_in_one_unit() {
        let words = |seconds| ago(Duration::from_secs(seconds));
        assert_eq!(words(59), "just now");
        assert_eq!(words(60), "1 minute ago");
        assert_eq!(words(7_199), "1 hour ago");
        assert_eq!(words(3 * 86_400 + 5), "3 days ago");
    }

    #[test]
    fn thousands_are_set_apart() {
        assert_eq!(thousands(0), "0");
        assert_eq!(thousands(999), "999");
        assert_eq!(thousands(1_000), "1,000");
        assert_eq!(thousands(27_640), "27,640");
        assert_eq!(thousands(1_234_567), "1,234,567");
    }

    #[test]
    fn one_is_singular() {
        assert_eq!(count(1, "flow"), "1 flow");
        assert_eq!(count(0, "flow"), "0 flows");
        assert_eq!(count(4_698, "flow"), "4,698 flows");
    }

    #[test]
    fn bytes_change_units_before_they_round_to_a_thousand() {
        assert_eq!(bytes(912), "912 B");
        assert_eq!(bytes(999_949), "999.9 kB");
        assert_eq!(bytes(999_950), "1.0 MB");
        assert_eq!(bytes(6_900_000), "6.9 MB");
        assert_eq!(bytes(5_000_000_000_000), "5000.0 GB");
    }

    #[test]
    fn long_times_lose_their_decimal() {
        assert_eq!(seconds(8.64), "8.6 s");
        assert_eq!(seconds(99.96), "100 s");
        assert_eq!(seconds(1_204.4), "1,204 s");
    }
}
