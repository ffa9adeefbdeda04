//! Sizes that all figures share, and how much room text takes.

use unicode_width::UnicodeWidthStr as _;

/// Pixels from left to right; a page scales figures to its own width.
pub(super) const WIDTH: f64 = 760.0;
/// Free at the right, for half of the last tick's label.
pub(super) const RIGHT: f64 = 22.0;
/// Free at top and bottom.
pub(super) const EDGE: f64 = 10.0;
pub(super) const FONT: f64 = 13.0;
/// From one line of text to the next.
pub(super) const LINE: f64 = 19.0;
/// Steps of the drawing grid for each pixel.
pub(super) const FINENESS: f64 = 2.0;

/// About how wide a text of the usual size is: sans-serif letters are half as wide as high, and a
/// little room is better than letters on top of each other.
pub(super) fn text_width(text: &str) -> f64 {
    text.width() as f64 * FONT * 0.53
}

/// `text` in about `room` pixels; what had to be cut is replaced by `…`.
pub(super) fn cut(text: &str, room: f64) -> String {
    if text_width(text) <= room {
        return text.to_owned();
    }
    let letters = (room / (FONT * 0.53)) as usize;
    let kept: String = text.chars().take(letters.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

/// A coordinate with at most one decimal.
pub(super) fn px(value: f64) -> String {
    let tenths = (value * 10.0).round() / 10.0 + 0.0;
    tenths.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_are_short() {
        assert_eq!(px(12.04), "12");
        assert_eq!(px(-0.01), "0");
        assert_eq!(px(7.25), "7.3");
    }

    #[test]
    fn long_text_is_cut() {
        assert_eq!(cut("short", 100.0), "short");
        let cut = cut("a very long label indeed", 60.0);
        assert!(cut.ends_with('…') && text_width(&cut) <= 66.0, "{cut}");
    }
}
