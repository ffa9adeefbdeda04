//! Text in columns of a terminal: what may be shown, how wide it is, and how it is cut.

use nearside_wire::GameText;
use unicode_width::UnicodeWidthChar;

/// What of a server's text may be shown in a table: nothing that moves the cursor, breaks the line
/// or turns the reading direction.
///
/// Rows arrive clean already; a table must not depend on that. Variation selectors go as well,
/// since terminals disagree on how wide they make the character before them.
pub(crate) fn shown(text: &str) -> String {
    let mut safe = GameText::from(text).to_safe_string();
    safe.retain(|c| !is_variation_selector(c));
    safe
}

fn is_variation_selector(c: char) -> bool {
    matches!(c, '\u{FE00}'..='\u{FE0F}')
}

/// Columns that `text` takes, character by character (UAX #11). Emoji with skin tones count more
/// than new terminals give them; a line may end up short, never too long.
pub(crate) fn columns(text: &str) -> usize {
    text.chars().map(columns_of).sum()
}

fn columns_of(c: char) -> usize {
    c.width().unwrap_or(0)
}

/// `text` in at most `most` columns; what had to be cut is replaced by `…`.
pub(crate) fn cut(text: &str, most: usize) -> String {
    if columns(text) <= most {
        return text.to_owned();
    }
    let Some(room) = most.checked_sub(1) else {
        return String::new();
    };
    let mut kept = String::new();
    let mut used = 0;
    for c in text.chars() {
        used += columns_of(c);
        if used > room {
            break;
        }
        kept.push(c);
    }
    kept.push('…');
    kept
}

/// The side a cell's text stands on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

/// `text` filled up with spaces to `width` columns.
pub(crate) fn pad(text: &str, width: usize, align: Align) -> String {
    let gap = " ".repeat(width.saturating_sub(columns(text)));
    match align {
        Align::Left => format!("{text}{gap}"),
        Align::Right => format!("{gap}{text}"),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use unicode_width::UnicodeWidthStr;

    use super::super::fixtures::any_text;
    use super::*;

    #[test]
    fn controls_escapes_and_reversals_are_not_shown() {
        assert_eq!(shown("\u{1B}[2J\u{7}ni\u{202E}ght\n owls"), "night owls");
        assert_eq!(shown("\u{9B}31mred\u{2066}\u{200B}"), "red");
        assert_eq!(shown("\u{2764}\u{FE0F}"), "\u{2764}");
    }

    #[test]
    fn wide_characters_count_twice_and_marks_not_at_all() {
        assert_eq!(columns("日本"), 4);
        assert_eq!(columns("e\u{301}"), 1);
        assert_eq!(pad("日本", 6, Align::Left), "日本  ");
        assert_eq!(pad("7", 3, Align::Right), "  7");
    }

    #[test]
    fn a_cut_never_splits_a_wide_character() {
        assert_eq!(cut("日本語", 6), "日本語");
        assert_eq!(cut("日本語", 5), "日本…");
        assert_eq!(cut("日本語", 4), "日…");
        assert_eq!(cut("abc", 1), "…");
        assert_eq!(cut("abc", 0), "");
    }

    proptest! {
        #[test]
        fn a_cut_text_fits_by_either_way_of_counting(text in any_text(), most in 0usize..30) {
            let line = cut(&shown(&text), most);
            prop_assert!(columns(&line) <= most, "{line:?}");
            prop_assert!(line.width() <= most, "{line:?}");
        }
    }
}
