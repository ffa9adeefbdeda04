//! Words in lines of a terminal, counted in columns (UAX #11).

use unicode_width::UnicodeWidthStr;

/// Columns that `text` takes.
pub(super) fn columns(text: &str) -> usize {
    text.width()
}

/// `text` in lines of at most `width` columns, broken between words; a longer word stands alone.
pub(super) fn wrapped(text: &str, width: usize) -> Vec<String> {
    hanging(text, width, "")
}

/// The same with all lines but the first indented.
pub(super) fn hanging(text: &str, width: usize, indent: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if columns(line) + 1 + columns(word) <= width => {
                line.push(' ');
                line.push_str(word);
            }
            Some(_) => lines.push(format!("{indent}{word}")),
            None => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words() {
        assert_eq!(wrapped("one two  three", 7), ["one two", "three"]);
        assert_eq!(wrapped("unbreakable it is", 5), ["unbreakable", "it is"]);
        assert_eq!(hanging("- one two", 5, "  "), ["- one", "  two"]);
        assert!(wrapped(" ", 5).is_empty());
    }
}
