//! Numbers as people read them: thousands apart, as many decimals as mean something.

use crate::model::{Cell, Spread};

/// What stands where nothing is known.
pub(crate) const MISSING: &str = "–";

/// The text of a cell for readers.
pub(crate) fn shown(cell: &Cell) -> String {
    match cell {
        Cell::Text(text) => text.clone(),
        Cell::Count(count) => thousands(&count.to_string()),
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
