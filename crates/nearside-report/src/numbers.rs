//! Numbers as people read them: thousands apart, as many decimals as mean something.

use crate::model::{Cell, Spread, Table};

/// What stands where nothing is known.
pub(crate) const MISSING: &str = "–";

/// The text of a cell for readers.
pub(crate) fn shown(cell: &Cell) -> String {
    match cell {
        Cell::Text(text) => text.clone(),
        Cell::Count(number) => count(*number),
        Cell::Number { value, decimals } => fixed(*value, *decimals),
        Cell::Spread(spread) => shown_spread(*spread),
        Cell::Missing => MISSING.to_owned(),
    }
}

fn shown_spread(spread: Spread) -> String {
    let [mean, deviation, worst] =
        [spread.mean, spread.deviation, spread.worst].map(|value| fixed(value, spread.decimals));
    format!("{mean} ± {deviation} ({worst})")
}

/// What the three numbers of a spread are, for below a table.
pub(crate) const SPREAD_NOTE: &str = "mean ± standard deviation over seeds (worst seed)";

/// Whether [`SPREAD_NOTE`] has something to explain.
pub(crate) fn has_spread(table: &Table) -> bool {
    let mut cells = table.rows().iter().flatten();
    cells.any(|cell| matches!(cell, Cell::Spread(_)))
}

/// `value` with this many decimals; what is no number is missing.
pub(crate) fn fixed(value: f64, decimals: u8) -> String {
    if value.is_nan() {
        return MISSING.to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "∞" } else { "−∞" }.to_owned();
    }
    // Beyond 1e15 the digits are an accident of binary fractions.
    if value.abs() >= 1e15 {
        return format!("{value:e}").replace('-', "−");
    }
    let digits = format!("{:.*}", usize::from(decimals), value.abs());
    let is_zero = digits.chars().all(|digit| matches!(digit, '0' | '.'));
    let sign = if value < 0.0 && !is_zero { "−" } else { "" };
    let (whole, fraction) = digits.split_once('.').unwrap_or((&digits, ""));
    let point = if fraction.is_empty() { "" } else { "." };
    format!("{sign}{}{point}{fraction}", thousands(whole))
}

/// `27640` as `27,640`.
pub(crate) fn count(number: u64) -> String {
    thousands(&number.to_string())
}

/// About four digits, as one would say the number aloud.
pub(crate) fn brief(value: f64) -> String {
    let size = value.abs();
    if !size.is_finite() {
        return fixed(value, 0);
    }
    if size != 0.0 && !(1e-3..1e15).contains(&size) {
        return format!("{value:.3e}").replace('-', "−");
    }
    let before = if size < 1.0 {
        1
    } else {
        size.log10() as i32 + 1
    };
    let text = fixed(value, (4 - before).clamp(0, 4) as u8);
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

fn thousands(digits: &str) -> String {
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_set_apart_and_decimals_kept() {
        assert_eq!(shown(&Cell::Count(27_640)), "27,640");
        assert_eq!(fixed(1_234_567.891, 1), "1,234,567.9");
        assert_eq!(fixed(999.96, 1), "1,000.0");
        assert_eq!(fixed(-1_234.5, 2), "−1,234.50");
    }

    #[test]
    fn zero_has_no_sign_and_nothing_is_a_dash() {
        assert_eq!(fixed(-0.04, 1), "0.0");
        assert_eq!(fixed(f64::NAN, 1), "–");
        assert_eq!(fixed(f64::NEG_INFINITY, 1), "−∞");
        assert_eq!(fixed(2.5e300, 1), "2.5e300");
    }

    #[test]
    fn said_aloud_a_number_has_about_four_digits() {
        assert_eq!(brief(35.52), "35.52");
        assert_eq!(brief(180.0), "180");
        assert_eq!(brief(27_640.4), "27,640");
        assert_eq!(brief(0.0), "0");
        assert_eq!(brief(-1e-9), "−1.000e−9");
        assert_eq!(brief(f64::NAN), "–");
        assert_eq!(brief(f64::INFINITY), "∞");
    }

    #[test]
    fn a_spread_shows_mean_deviation_and_worst() {
        let spread = Spread {
            mean: 3_374.4,
            deviation: 12.06,
            worst: 3_401.0,
            decimals: 0,
        };
        assert_eq!(shown(&spread.into()), "3,374 ± 12 (3,401)");
    }
}
