//! Seeds as users write them: `7`, `0-19`, `0-3,1000-1015`.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use thiserror::Error;

/// Different seeds, in ascending order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seeds(Vec<u64>);

/// More than anybody waits for; a slip of the finger should not fill the memory.
const MOST: u64 = 100_000;

/// Why a text names no seeds.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("`{text}` {reason} (write seeds and ranges, such as 7 or 0-19,1000-1015)")]
pub struct ParseSeedsError {
    text: String,
    reason: &'static str,
}

impl Seeds {
    /// How many seeds reports are made with, unless a paper has more.
    pub const REPORTING: usize = 16;

    /// The seeds reports are made with (EVALUATION rule 2: never tuned on).
    pub fn reporting() -> Self {
        Self::reporting_on(Self::REPORTING)
    }

    /// The first `count` of those, at least one.
    pub fn reporting_on(count: usize) -> Self {
        Self((1000..).take(count.max(1)).collect())
    }

    /// All of them, ascending.
    pub fn as_slice(&self) -> &[u64] {
        &self.0
    }

    /// The lowest, which figures of a single run are drawn from.
    pub fn first(&self) -> u64 {
        self.0[0]
    }

    /// The lowest `count` of them, at least one.
    #[must_use]
    pub fn at_most(mut self, count: usize) -> Self {
        self.0.truncate(count.max(1));
        self
    }
}

impl FromStr for Seeds {
    type Err = ParseSeedsError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = |text: &str, reason| ParseSeedsError {
            text: text.to_owned(),
            reason,
        };
        let mut seeds = Vec::new();
        for part in text.split(',').map(str::trim) {
            let range = parse_range(part).map_err(|reason| error(part, reason))?;
            if (range.end() - range.start()).saturating_add(seeds.len() as u64) >= MOST {
                return Err(error(part, "is more than 100000 seeds"));
            }
            seeds.extend(range);
        }
        seeds.sort_unstable();
        seeds.dedup();
        Ok(Self(seeds))
    }
}

fn parse_range(text: &str) -> Result<RangeInclusive<u64>, &'static str> {
    let number = |text: &str| text.trim().parse::<u64>().map_err(|_| "is not a seed");
    let (first, last) = match text.split_once('-') {
        Some((first, last)) => (number(first)?, number(last)?),
        None => (number(text)?, number(text)?),
    };
    match first <= last {
        true => Ok(first..=last),
        false => Err("ends before it begins"),
    }
}

impl fmt::Display for Seeds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let runs = self.0.chunk_by(|a, b| a + 1 == *b);
        let words: Vec<String> = runs
            .map(|run| match run {
                [one] => one.to_string(),
                run => format!("{}-{}", run[0], run[run.len() - 1]),
            })
            .collect();
        f.pad(&words.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seeds(text: &str) -> Seeds {
        text.parse().unwrap()
    }

    #[test]
    fn lists_and_ranges_are_put_in_order() {
        assert_eq!(seeds("5, 0-2,1,9").as_slice(), [0, 1, 2, 5, 9]);
        assert_eq!(seeds("5,0-2,1,9").to_string(), "0-2,5,9");
        assert_eq!(seeds("1000-1015"), Seeds::reporting());
        assert_eq!(seeds("3-9").at_most(2).as_slice(), [3, 4]);
        assert_eq!(seeds("18446744073709551615").first(), u64::MAX);
    }

    #[test]
    fn nonsense_is_refused_by_name() {
        for (text, part) in [
            ("", "``"),
            ("1,x", "`x`"),
            ("9-3", "`9-3` ends"),
            ("-3", "`-3`"),
            ("0-18446744073709551615", "100000"),
            ("0-99999,200000", "100000"),
        ] {
            let error = text.parse::<Seeds>().unwrap_err().to_string();
            assert!(error.contains(part), "`{text}` gave: {error}");
        }
    }
}
