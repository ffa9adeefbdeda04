use super::kind;
use crate::cursor::{Cursor, put_text};
use crate::{DecodeError, GameText};

/// A server's settings (A2S_RULES). Arma and DayZ hide binary data in them, so names and values are
/// bytes first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RuleList {
    /// The rules that arrived whole, in the server's order.
    pub rules: Vec<Rule>,
    /// How many the server announced.
    pub announced: u16,
    /// Whether fewer arrived than were announced.
    pub partial: bool,
}

/// One setting.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rule {
    /// Its name (`mp_friendlyfire`).
    pub name: GameText,
    /// Its value.
    pub value: GameText,
}

impl RuleList {
    /// The list of all settings of a server; those beyond 65,535 have no place in the format and
    /// are left out.
    pub fn complete(mut rules: Vec<Rule>) -> Self {
        rules.truncate(usize::from(u16::MAX));
        Self {
            announced: u16::try_from(rules.len()).expect("truncated to 65,535 above"),
            rules,
            partial: false,
        }
    }

    pub(super) fn emit(&self, out: &mut Vec<u8>) {
        out.push(kind::RULES);
        out.extend(self.announced.to_le_bytes());
        for rule in self.rules.iter().take(usize::from(self.announced)) {
            put_text(out, &rule.name);
            put_text(out, &rule.value);
        }
    }

    /// Reads the list behind its type byte. A rule that is not whole ends the list.
    pub(super) fn parse(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let announced = cursor.u16_le("rule count")?;
        let mut rules = Vec::new();
        while rules.len() < usize::from(announced)
            && let Ok(rule) = Rule::parse(cursor)
        {
            rules.push(rule);
        }
        let partial = rules.len() < usize::from(announced);
        Ok(Self {
            rules,
            announced,
            partial,
        })
    }
}

impl Rule {
    fn parse(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            name: cursor.text("rule name")?,
            value: cursor.text("rule value")?,
        })
    }
}
