use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;

/// A text to look for, whatever its case. With `*` (any characters) or `?` (one character) it is a
/// glob over the whole text; without them it may stand anywhere in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    /// In lower case.
    wanted: Vec<char>,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Substring,
    Glob,
}

/// Why a text is not a pattern.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum ParsePatternError {
    /// An empty pattern would be found in every text.
    #[error("the pattern is empty (write part of the text, or a glob such as `de_*`)")]
    Empty,
}

impl Pattern {
    /// Whether the pattern is found in `text`.
    pub fn matches(&self, text: &str) -> bool {
        let text: Vec<char> = text.chars().flat_map(char::to_lowercase).collect();
        match self.kind {
            Kind::Substring => text
                .windows(self.wanted.len())
                .any(|part| part == self.wanted),
            Kind::Glob => glob(&self.wanted, &text),
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_iter(&self.wanted))
    }
}

impl Serialize for Pattern {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Pattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl FromStr for Pattern {
    type Err = ParsePatternError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.trim().is_empty() {
            return Err(ParsePatternError::Empty);
        }
        let kind = if text.contains(['*', '?']) {
            Kind::Glob
        } else {
            Kind::Substring
        };
        let wanted = text.chars().flat_map(char::to_lowercase).collect();
        Ok(Self { wanted, kind })
    }
}

/// Whether the whole of `text` matches. A mismatch only ever goes back to the latest star, so the
/// work is at most the product of the lengths, whatever a hostile name looks like.
fn glob(pattern: &[char], text: &[char]) -> bool {
    let (mut at, mut from) = (0, 0);
    // The place after the latest star, and where in the text its successor was last tried.
    let mut retry: Option<(usize, usize)> = None;
    while from < text.len() {
        match pattern.get(at) {
            Some('*') => {
                at += 1;
                retry = Some((at, from));
            }
            Some(&c) if c == '?' || c == text[from] => {
                at += 1;
                from += 1;
            }
            _ => {
                let Some((after_star, tried)) = retry else {
                    return false;
                };
                retry = Some((after_star, tried + 1));
                (at, from) = (after_star, tried + 1);
            }
        }
    }
    pattern[at..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn matches(pattern: &str, text: &str) -> bool {
        pattern.parse::<Pattern>().unwrap().matches(text)
    }

    #[test]
    fn without_wildcards_any_part_matches_in_any_case() {
        assert!(matches("DUST", "de_dust2"));
        assert!(matches("é", "CAFÉ"));
        assert!(!matches("dust3", "de_dust2"));
        assert!(!matches("dust", ""));
    }

    #[test]
    fn with_wildcards_the_whole_text_must_match() {
        assert!(matches("de_*", "DE_dust2"));
        assert!(!matches("dust*", "de_dust2"));
        assert!(matches("*dust?", "de_dust2"));
        assert!(!matches("*dust?", "de_dust"));
        assert!(matches("a*b*c", "a-b-b-c"));
        assert!(!matches("a*b*c", "a-c-b"));
        assert!(matches("*", ""));
        assert!(!matches("?", ""));
    }

    #[test]
    fn an_empty_pattern_is_refused() {
        for empty in ["", "  "] {
            assert_eq!(empty.parse::<Pattern>(), Err(ParsePatternError::Empty));
        }
    }

    #[test]
    fn many_stars_against_a_long_name_end_soon() {
        let pattern = "*a".repeat(50) + "b";
        assert!(!matches(&pattern, &"a".repeat(5_000)));
    }

    proptest! {
        #[test]
        fn a_glob_between_stars_is_a_substring(part in "[a-c]{1,3}", text in "[a-c]{0,8}") {
            prop_assert_eq!(matches(&format!("*{part}*"), &text), text.contains(&part));
        }

        #[test]
        fn a_text_with_holes_matches_itself(text in "[a-z]{1,12}", hole in 0usize..12) {
            let hole = hole % text.len();
            let one = format!("{}?{}", &text[..hole], &text[hole + 1..]);
            let many = format!("{}*{}", &text[..hole], &text[hole + 1..]);
            prop_assert!(matches(&one, &text));
            prop_assert!(matches(&many, &text));
        }
    }
}
