use crate::GameText;

/// Keys and values as the Quake 3 family writes them: `\key\value\key\value`, in the server's
/// order. Keys are looked up without regard to case, as the games do.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct InfoString {
    pairs: Vec<(GameText, GameText)>,
}

impl InfoString {
    /// No pairs.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends a pair. Backslashes and line ends, which the format cannot carry, are left out.
    pub fn push(&mut self, key: impl Into<GameText>, value: impl Into<GameText>) {
        let pair = (expressible(&key.into()), expressible(&value.into()));
        self.pairs.push(pair);
    }

    /// The same as [`push`](Self::push), for building one in an expression.
    #[must_use]
    pub fn with(mut self, key: impl Into<GameText>, value: impl Into<GameText>) -> Self {
        self.push(key, value);
        self
    }

    /// All pairs, in the server's order.
    pub fn pairs(&self) -> &[(GameText, GameText)] {
        &self.pairs
    }

    /// The first value of a key, whatever its case.
    pub fn get(&self, key: &str) -> Option<&GameText> {
        let same = |name: &GameText| name.as_bytes().eq_ignore_ascii_case(key.as_bytes());
        self.pairs
            .iter()
            .find(|(name, _)| same(name))
            .map(|(_, value)| value)
    }

    /// The server's name: `hostname` in an info reply, `sv_hostname` in a status reply.
    pub fn hostname(&self) -> Option<&GameText> {
        self.get("hostname").or_else(|| self.get("sv_hostname"))
    }

    /// The map being played.
    pub fn mapname(&self) -> Option<&GameText> {
        self.get("mapname")
    }

    /// The game, as its master server knows it.
    pub fn gamename(&self) -> Option<&GameText> {
        self.get("gamename")
    }

    /// What the request's challenge was, for the caller to compare.
    pub fn challenge(&self) -> Option<&[u8]> {
        self.get("challenge").map(GameText::as_bytes)
    }

    /// The network protocol version of the game.
    pub fn protocol(&self) -> Option<u32> {
        self.number("protocol")
    }

    /// Connected clients; some games count bots, some do not.
    pub fn clients(&self) -> Option<u32> {
        self.number("clients")
    }

    /// Places.
    pub fn max_clients(&self) -> Option<u32> {
        self.number("sv_maxclients")
    }

    /// Human players, where the game tells them apart (ioquake3, ET: Legacy).
    pub fn humans(&self) -> Option<u32> {
        self.number("g_humanplayers")
            .or_else(|| self.number("humans"))
    }

    /// Bots: as stated, or the clients that are not human.
    pub fn bots(&self) -> Option<u32> {
        let derived = || self.clients()?.checked_sub(self.humans()?);
        self.number("bots").or_else(derived)
    }

    /// Whether one needs a password to join.
    pub fn needs_password(&self) -> Option<bool> {
        let flag = self
            .number("g_needpass")
            .or_else(|| self.number("needpass"));
        flag.map(|flag| flag != 0)
    }

    /// The value of a key as a number, if it is one.
    pub fn number(&self, key: &str) -> Option<u32> {
        std::str::from_utf8(self.get(key)?.as_bytes())
            .ok()?
            .trim()
            .parse()
            .ok()
    }

    /// Reads one line of pairs; the leading backslash may be missing, a last value too.
    pub(crate) fn parse(line: &[u8]) -> Self {
        let line = line.strip_prefix(b"\\").unwrap_or(line);
        let mut info = Self::new();
        if line.is_empty() {
            return info;
        }
        let mut parts = line.split(|byte| *byte == b'\\');
        while let Some(key) = parts.next() {
            info.push(key, parts.next().unwrap_or_default());
        }
        info
    }

    pub(crate) fn emit(&self, out: &mut Vec<u8>) {
        for (key, value) in &self.pairs {
            out.push(b'\\');
            out.extend_from_slice(key.as_bytes());
            out.push(b'\\');
            out.extend_from_slice(value.as_bytes());
        }
    }
}

fn expressible(text: &GameText) -> GameText {
    let kept = text.as_bytes().iter().copied();
    GameText::new(
        kept.filter(|byte| !matches!(byte, b'\\' | b'\n'))
            .collect::<Vec<_>>(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typed_values_come_from_the_keys_of_several_games() {
        let et = InfoString::parse(b"\\HostName\\^1Fun\\clients\\9\\humans\\4\\g_needpass\\1");
        assert_eq!(et.hostname(), Some(&GameText::from("^1Fun")));
        assert_eq!((et.bots(), et.needs_password()), (Some(5), Some(true)));
        let darkplaces = InfoString::parse(b"\\sv_hostname\\dp\\clients\\3\\bots\\2");
        assert_eq!(darkplaces.hostname(), Some(&GameText::from("dp")));
        assert_eq!((darkplaces.bots(), darkplaces.humans()), (Some(2), None));
        let lying = InfoString::parse(b"\\clients\\1\\g_humanplayers\\4\\protocol\\x");
        assert_eq!((lying.bots(), lying.protocol()), (None, None));
    }

    #[test]
    fn separators_cannot_be_smuggled_into_a_value() {
        let info = InfoString::new().with("hostname", "a\\clients\\64\nb");
        assert_eq!(info.get("hostname"), Some(&GameText::from("aclients64b")));
        assert_eq!(info.clients(), None);
    }

    #[test]
    fn a_missing_last_value_and_a_missing_first_backslash_are_forgiven() {
        let info = InfoString::parse(b"a\\1\\b");
        let expected = InfoString::new().with("a", "1").with("b", "");
        assert_eq!(info, expected);
    }
}
