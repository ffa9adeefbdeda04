use std::fmt;
use std::str::FromStr;

use crate::list::OriginForm;
use crate::{DecodeError, GameText};

/// Which servers a master should list: conditions `\key\value`, all of which must hold, in the
/// order they were written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Filter {
    conditions: Vec<Condition>,
}

/// One condition, or several combined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// `\key\value`.
    Is {
        /// What it is about (`gamedir`), looked up without regard to case.
        key: GameText,
        /// What it should be.
        value: GameText,
    },
    /// `\nor\n` and the like, then n conditions.
    Group {
        /// How they combine.
        how: Combine,
        /// The conditions, which may be groups again.
        conditions: Vec<Self>,
    },
}

/// How the conditions of a group combine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Combine {
    /// None of them may hold.
    Nor,
    /// Not all of them may hold.
    Nand,
    /// One of them must hold.
    Or,
    /// All of them must hold.
    And,
}

impl Combine {
    const ALL: [Self; 4] = [Self::Nor, Self::Nand, Self::Or, Self::And];

    /// The key that opens such a group.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Nor => "nor",
            Self::Nand => "nand",
            Self::Or => "or",
            Self::And => "and",
        }
    }

    fn from_key(key: &[u8]) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|how| key.eq_ignore_ascii_case(how.key().as_bytes()))
    }
}

const ORIGIN: &str = "origin";
const CHALLENGE: &str = "challenge";

impl Filter {
    /// Bytes of the longest filter that is read, the first backslash aside: what a datagram carries
    /// without being cut in pieces.
    pub const LONGEST: usize = 1_400;

    /// The most conditions that are read, cookie and origins included, and groups counted as one more
    /// each. A master tests every one of them on every server; people write two or three, and some
    /// dozens for lists of favourites.
    pub const MOST_CONDITIONS: usize = 64;

    /// No condition: every server.
    pub const fn new() -> Self {
        Self {
            conditions: Vec::new(),
        }
    }

    /// Adds `\key\value`. Backslashes, which the format cannot carry, are left out when sent.
    #[must_use]
    pub fn with(mut self, key: impl Into<GameText>, value: impl Into<GameText>) -> Self {
        self.conditions.push(Condition::Is {
            key: key.into(),
            value: value.into(),
        });
        self
    }

    /// Adds a group.
    #[must_use]
    pub fn with_group(mut self, how: Combine, conditions: Vec<Condition>) -> Self {
        self.conditions.push(Condition::Group { how, conditions });
        self
    }

    /// Asks for origins, in place of what was asked before.
    #[must_use]
    pub fn with_origin(self, form: OriginForm) -> Self {
        self.without(ORIGIN).with(ORIGIN, form.word())
    }

    /// Repeats a master's cookie, in place of an older one: `\challenge\` and eight hexadecimal
    /// digits, in the order of the bytes.
    #[must_use]
    pub fn with_challenge(self, cookie: [u8; 4]) -> Self {
        let digits = format!("{:08x}", u32::from_be_bytes(cookie));
        self.without(CHALLENGE).with(CHALLENGE, digits)
    }

    /// Drops the conditions on a key, for example what is meant for the master and not for its
    /// servers. Groups stay.
    #[must_use]
    pub fn without(mut self, key: &str) -> Self {
        self.conditions
            .retain(|condition| condition.value_of(key).is_none());
        self
    }

    /// All conditions, in order.
    pub fn conditions(&self) -> &[Condition] {
        &self.conditions
    }

    /// The value of the first condition on a key, outside of groups.
    pub fn get(&self, key: &str) -> Option<&GameText> {
        self.conditions
            .iter()
            .find_map(|condition| condition.value_of(key))
    }

    /// The origins asked for, if they are of a form known here.
    pub fn origin(&self) -> Option<OriginForm> {
        self.get(ORIGIN)
            .and_then(|value| OriginForm::from_word(value.as_bytes()))
    }

    /// The cookie repeated, if it is one.
    pub fn challenge(&self) -> Option<[u8; 4]> {
        let digits = self.get(CHALLENGE)?.as_bytes();
        let is_cookie = digits.len() == 8 && digits.iter().all(u8::is_ascii_hexdigit);
        let digits = std::str::from_utf8(digits).ok().filter(|_| is_cookie)?;
        u32::from_str_radix(digits, 16).ok().map(u32::to_be_bytes)
    }

    /// The filter as it is sent, without its NUL.
    pub fn emit(&self) -> GameText {
        let mut out = Vec::new();
        self.conditions
            .iter()
            .for_each(|condition| condition.emit(&mut out));
        GameText::new(out)
    }

    /// Reads a filter of at most [`Filter::LONGEST`] bytes and [`Filter::MOST_CONDITIONS`]
    /// conditions. A backslash at the very end is forgiven.
    pub fn parse(text: &[u8]) -> Result<Self, DecodeError> {
        let text = text.strip_prefix(b"\\").unwrap_or(text);
        let text = text
            .strip_suffix(b"\\")
            .filter(|_| is_odd(text))
            .unwrap_or(text);
        check_length("filter", text.len(), Self::LONGEST)?;
        // Each condition, a group's head too, is a key and a value with a backslash between.
        let conditions = backslashes(text).div_ceil(2);
        check_length("conditions", conditions, Self::MOST_CONDITIONS)?;
        let mut parts = text.split(|byte| *byte == b'\\');
        let mut conditions = Vec::new();
        while !text.is_empty()
            && let Some(condition) = Condition::parse(&mut parts, 0)?
        {
            conditions.push(condition);
        }
        Ok(Self { conditions })
    }
}

const fn check_length(field: &'static str, actual: usize, max: usize) -> Result<(), DecodeError> {
    match actual <= max {
        true => Ok(()),
        false => Err(DecodeError::TooLong { field, actual, max }),
    }
}

/// Whether there is a part too many for pairs.
fn is_odd(text: &[u8]) -> bool {
    backslashes(text).is_multiple_of(2)
}

fn backslashes(text: &[u8]) -> usize {
    text.iter().filter(|byte| **byte == b'\\').count()
}

impl Condition {
    /// `\key\value`.
    pub fn is(key: impl Into<GameText>, value: impl Into<GameText>) -> Self {
        Self::Is {
            key: key.into(),
            value: value.into(),
        }
    }

    fn value_of(&self, wanted: &str) -> Option<&GameText> {
        match self {
            Self::Is { key, value } => {
                let same = key.as_bytes().eq_ignore_ascii_case(wanted.as_bytes());
                same.then_some(value)
            }
            Self::Group { .. } => None,
        }
    }

    /// Reads the next condition with all that belongs to it; `None` at the end of the filter.
    fn parse<'a>(
        parts: &mut impl Iterator<Item = &'a [u8]>,
        depth: usize,
    ) -> Result<Option<Self>, DecodeError> {
        let Some(key) = parts.next() else {
            return Ok(None);
        };
        let expected = "a key and a value, as in \\gamedir\\cstrike";
        let pair = parts.next().filter(|_| !key.is_empty());
        let value =
            pair.ok_or_else(|| DecodeError::bad_value("filter condition", key, expected))?;
        match Combine::from_key(key) {
            None => Ok(Some(Self::is(key, value))),
            Some(how) => Self::parse_group(how, value, parts, depth + 1).map(Some),
        }
    }

    fn parse_group<'a>(
        how: Combine,
        count: &[u8],
        parts: &mut impl Iterator<Item = &'a [u8]>,
        depth: usize,
    ) -> Result<Self, DecodeError> {
        check_length("depth of filter groups", depth, MAX_DEPTH)?;
        let expected = "how many conditions follow, as in \\nor\\2\\map\\a\\map\\b";
        let bad_count = || DecodeError::bad_value("filter group size", count, expected);
        let number = std::str::from_utf8(count)
            .ok()
            .and_then(|text| text.parse().ok());
        let mut conditions = Vec::new();
        for _ in 0..number.ok_or_else(bad_count)? {
            conditions.push(Self::parse(parts, depth)?.ok_or_else(bad_count)?);
        }
        Ok(Self::Group { how, conditions })
    }

    fn emit(&self, out: &mut Vec<u8>) {
        match self {
            Self::Is { key, value } => {
                put_part(out, key.as_bytes());
                put_part(out, value.as_bytes());
            }
            Self::Group { how, conditions } => {
                put_part(out, how.key().as_bytes());
                put_part(out, conditions.len().to_string().as_bytes());
                conditions.iter().for_each(|condition| condition.emit(out));
            }
        }
    }
}

/// Groups in groups beyond this are refused; people write one or two levels.
const MAX_DEPTH: usize = 8;

fn put_part(out: &mut Vec<u8>, part: &[u8]) {
    out.push(b'\\');
    out.extend(part.iter().copied().filter(|byte| *byte != b'\\'));
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.emit().fmt(f)
    }
}

impl FromStr for Filter {
    type Err = DecodeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_take_as_many_conditions_as_they_announce() {
        let text = "\\appid\\240\\nor\\2\\map\\de_dust2\\and\\2\\empty\\1\\secure\\1\\white\\1";
        let filter: Filter = text.parse().unwrap();
        let both = vec![Condition::is("empty", "1"), Condition::is("secure", "1")];
        let nested = Condition::Group {
            how: Combine::And,
            conditions: both,
        };
        let expected = Filter::new()
            .with("appid", "240")
            .with_group(Combine::Nor, vec![Condition::is("map", "de_dust2"), nested])
            .with("white", "1");
        assert_eq!(filter, expected);
        assert_eq!(filter.to_string(), text);
        assert_eq!(filter.get("secure"), None, "it is inside a group");
    }

    #[test]
    fn origins_and_cookies_are_read_whatever_the_case_of_the_key() {
        let filter: Filter = "\\Origin\\AS\\challenge\\0A085eea".parse().unwrap();
        assert_eq!(filter.origin(), Some(OriginForm::As));
        assert_eq!(filter.challenge(), Some([0x0A, 0x08, 0x5E, 0xEA]));
        for bad in [
            "\\origin\\continent\\challenge\\123",
            "\\challenge\\+a085eea",
            "",
        ] {
            let filter: Filter = bad.parse().unwrap();
            assert_eq!((filter.origin(), filter.challenge()), (None, None), "{bad}");
        }
    }

    #[test]
    fn a_last_backslash_is_forgiven_and_a_last_empty_value_kept() {
        let filter: Filter = "\\gamedir\\cstrike\\".parse().unwrap();
        assert_eq!(filter, Filter::new().with("gamedir", "cstrike"));
        let filter: Filter = "\\gamedir\\".parse().unwrap();
        assert_eq!(filter, Filter::new().with("gamedir", ""));
        assert_eq!("\\".parse(), Ok(Filter::new()));
    }

    #[test]
    fn malformed_filters_are_refused_with_the_place_and_an_example() {
        for (text, place) in [
            ("\\empty", "`empty`"),
            ("\\a\\b\\\\c", "``"),
            ("\\nor\\x\\a\\b", "`x`"),
            ("\\nor\\2\\a\\b", "`2`"),
        ] {
            let error = text.parse::<Filter>().unwrap_err().to_string();
            assert!(
                error.contains(place) && error.contains("as in \\"),
                "{text}: {error}"
            );
        }
    }

    #[test]
    fn groups_without_end_are_refused_before_the_stack_is_used_up() {
        let deep = "\\nor\\1".repeat(MAX_DEPTH + 1);
        let error = deep.parse::<Filter>().unwrap_err();
        assert!(
            matches!(error, DecodeError::TooLong { max: MAX_DEPTH, .. }),
            "{error}"
        );
        let allowed = format!("{}\\a\\b", "\\nor\\1".repeat(MAX_DEPTH));
        assert_eq!(allowed.parse::<Filter>().unwrap().to_string(), allowed);
    }

    /// Whoever asks chooses what a master has to test on every server.
    #[test]
    fn filters_with_many_conditions_and_long_ones_are_refused() {
        let many = |count: usize| "\\map\\a".repeat(count).parse::<Filter>();
        let most = Filter::MOST_CONDITIONS;
        assert_eq!(many(most).unwrap().conditions().len(), most);
        let error = many(most + 1).unwrap_err();
        assert!(
            matches!(error, DecodeError::TooLong { actual, max, .. } if actual == max + 1),
            "{error}"
        );
        let group = format!("\\nor\\{most}{}", "\\map\\a".repeat(most));
        assert!(group.parse::<Filter>().is_err(), "the group counts too");
        let long = |length| format!("\\map\\{}", "a".repeat(length - 4)).parse::<Filter>();
        assert!(long(Filter::LONGEST).is_ok());
        assert!(long(Filter::LONGEST + 1).is_err());
    }

    #[test]
    fn a_backslash_in_a_value_cannot_add_a_condition() {
        let filter = Filter::new().with("map", "x\\password\\0");
        let sent = Filter::parse(filter.emit().as_bytes()).unwrap();
        assert_eq!(sent, Filter::new().with("map", "xpassword0"));
    }
}
