//! Text that came from outside (client names in population files, server names) made harmless.

/// Without what moves a terminal's cursor, turns the reading direction, or may not stand in XML 1.0
/// (section 2.2, "Char"). Line ends and tabs stay, and are white space to all faces.
pub(crate) fn clean(text: &str) -> String {
    text.chars().filter(|&c| is_harmless(c)).collect()
}

fn is_harmless(c: char) -> bool {
    match c {
        '\n' | '\t' => true,
        _ if c.is_control() => false,
        // Marks, embeddings, overrides and isolates of the bidirectional algorithm (UAX #9).
        '\u{61C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' => {
            false
        }
        '\u{FFFE}' | '\u{FFFF}' => false,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_and_reversals_do_not_get_through() {
        assert_eq!(clean("\u{1B}[2Ja\u{202E}b\u{0}\n\u{FFFF}"), "[2Jab\n");
    }
}
