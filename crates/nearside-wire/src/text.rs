use std::borrow::Cow;
use std::fmt;

/// Text as a game server sent it: any bytes but NUL, nominally UTF-8, often Latin-1, sometimes
/// malice. The bytes are kept; what is shown is made safe first.
///
/// No form of display lets a server name move the cursor, recolour the terminal, reverse the
/// reading direction or break a line of a table.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct GameText(Vec<u8>);

impl GameText {
    /// The bytes up to the first NUL, where every protocol here ends a text.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        let mut bytes = bytes.into();
        if let Some(end) = bytes.iter().position(|byte| *byte == 0) {
            bytes.truncate(end);
        }
        Self(bytes)
    }

    /// The bytes as they were sent.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Whether the text has no bytes at all.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The text with everything removed that could disturb a terminal: control characters, escape
    /// sequences, bidirectional controls, invisible characters and line separators. Bytes that are
    /// not UTF-8 become U+FFFD. Colour codes of printable characters stay.
    pub fn to_safe_string(&self) -> String {
        let text = String::from_utf8_lossy(&self.0);
        let text = without_escape_sequences(&text);
        text.chars().filter(|c| is_harmless(*c)).collect()
    }

    /// The safe text without colour codes, for searching and sorting: `^1` of the Quake family,
    /// `^xF00` of DarkPlaces, the bytes 01 to 08 of the Source engine. `^^` is one caret.
    pub fn plain(&self) -> String {
        // Nearly every name: nothing to remove, and this is the browser's hottest text.
        if self.0.iter().all(|&b| is_plain(b)) {
            return String::from_utf8_lossy(&self.0).into_owned();
        }
        let bytes = without_source_colours(&self.0);
        without_caret_colours(&Self(bytes).to_safe_string())
    }
}

impl From<&[u8]> for GameText {
    fn from(bytes: &[u8]) -> Self {
        let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
        Self(text.to_vec())
    }
}

impl From<&str> for GameText {
    fn from(text: &str) -> Self {
        Self::from(text.as_bytes())
    }
}

impl From<Vec<u8>> for GameText {
    fn from(bytes: Vec<u8>) -> Self {
        Self::new(bytes)
    }
}

impl From<String> for GameText {
    fn from(text: String) -> Self {
        Self::new(text.into_bytes())
    }
}

impl fmt::Display for GameText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.to_safe_string())
    }
}

impl fmt::Debug for GameText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0.escape_ascii())
    }
}

/// Printable ASCII that begins no colour code.
fn is_plain(byte: u8) -> bool {
    matches!(byte, b' '..=b'~') && byte != b'^'
}

/// Unicode characters that show nothing of their own but change how others are laid out (UAX #9
/// bidirectional controls, default-ignorable format characters), and the two line separators.
fn is_harmless(c: char) -> bool {
    let layout_control = matches!(c,
        '\u{00AD}' | '\u{034F}' | '\u{061C}' | '\u{115F}'..='\u{1160}' | '\u{17B4}'..='\u{17B5}'
        | '\u{180B}'..='\u{180F}' | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}'
        | '\u{2060}'..='\u{206F}' | '\u{3164}' | '\u{FEFF}' | '\u{FFA0}'
        | '\u{FFF0}'..='\u{FFFB}' | '\u{1BCA0}'..='\u{1BCA3}' | '\u{1D173}'..='\u{1D17A}'
        | '\u{E0000}'..='\u{E0FFF}');
    !c.is_control() && !layout_control
}

/// Removes whole escape sequences (ECMA-48), so that their parameters do not stay behind as text.
/// What is left of malformed ones is harmless: the escape character itself never survives.
fn without_escape_sequences(text: &str) -> Cow<'_, str> {
    if !text.contains([
        '\u{1B}', '\u{90}', '\u{98}', '\u{9B}', '\u{9D}', '\u{9E}', '\u{9F}',
    ]) {
        return Cow::Borrowed(text);
    }
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let sequence = escape_sequence_len(rest);
        if sequence == 0 {
            kept.push(c);
        }
        rest = &rest[sequence.max(c.len_utf8())..];
    }
    Cow::Owned(kept)
}

/// How many bytes of `text` are one escape sequence, 0 if it starts with none.
fn escape_sequence_len(text: &str) -> usize {
    let mut chars = text.chars();
    let (introducer, body) = match chars.next() {
        Some('\u{1B}') => (chars.next().unwrap_or(' '), chars.as_str()),
        // The one-character forms of ESC P, ESC X, ESC [, ESC ], ESC ^, ESC _.
        Some(c @ ('\u{90}' | '\u{98}' | '\u{9B}' | '\u{9D}' | '\u{9E}' | '\u{9F}')) => {
            let seven_bit = char::from_u32(u32::from(c) - 0x40);
            (seven_bit.unwrap_or(' '), chars.as_str())
        }
        _ => return 0,
    };
    let head = text.len() - body.len();
    match introducer {
        '[' => head + control_sequence_len(body),
        'P' | 'X' | ']' | '^' | '_' => head + control_string_len(body),
        c if c.is_ascii_graphic() => head,
        _ => 1,
    }
}

/// Parameters (30–3F), intermediates (20–2F) and the final byte (40–7E) of ECMA-48 section 5.4.
fn control_sequence_len(body: &str) -> usize {
    let parameters = body
        .bytes()
        .take_while(|b| (0x20..=0x3F).contains(b))
        .count();
    let has_final = matches!(body.as_bytes().get(parameters), Some(0x40..=0x7E));
    parameters + usize::from(has_final)
}

/// Up to and with the terminator (BEL, ESC \ or U+009C); an unterminated string is left as text.
fn control_string_len(body: &str) -> usize {
    let terminators = ["\u{7}", "\u{1B}\\", "\u{9C}"];
    let ends = terminators.map(|end| body.find(end).map(|at| at + end.len()));
    ends.into_iter().flatten().min().unwrap_or(0)
}

/// Drops the Source engine's colour bytes 01–08; 07 brings six hexadecimal digits, 08 eight.
fn without_source_colours(bytes: &[u8]) -> Vec<u8> {
    let mut kept = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let [byte, tail @ ..] = rest {
        rest = match byte {
            0x07 => skip_hex(tail, 6),
            0x08 => skip_hex(tail, 8),
            _ => tail,
        };
        if !(0x01..=0x08).contains(byte) {
            kept.push(*byte);
        }
    }
    kept
}

fn skip_hex(bytes: &[u8], digits: usize) -> &[u8] {
    match bytes.split_at_checked(digits) {
        Some((head, tail)) if head.iter().all(u8::is_ascii_hexdigit) => tail,
        _ => bytes,
    }
}

/// Drops `^` and the printable character after it (Enemy Territory takes any, Quake 3 only letters
/// and digits), and the three digits of DarkPlaces' `^xRGB`.
fn without_caret_colours(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let code = caret_code_len(rest);
        if code == 0 || rest.starts_with("^^") {
            kept.push(c);
        }
        rest = &rest[code.max(c.len_utf8())..];
    }
    kept
}

fn caret_code_len(text: &str) -> usize {
    match text.as_bytes() {
        [b'^', b'x' | b'X', r, g, b, ..] if [r, g, b].iter().all(|d| d.is_ascii_hexdigit()) => 5,
        [b'^', code, ..] if code.is_ascii_graphic() => 2,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn safe(text: &str) -> String {
        GameText::from(text).to_safe_string()
    }

    fn plain(text: &str) -> String {
        GameText::from(text).plain()
    }

    #[test]
    fn whole_escape_sequences_go_with_their_parameters() {
        assert_eq!(safe("\u{1B}[1;31mred\u{1B}[0m"), "red");
        assert_eq!(safe("\u{1B}]0;title\u{7}name"), "name");
        assert_eq!(safe("\u{1B}]8;;http://x\u{1B}\\link"), "link");
        assert_eq!(safe("\u{9B}2Jname"), "name");
        assert_eq!(safe("\u{1B}cname"), "name");
        assert_eq!(safe("\u{1B}]never closed"), "never closed");
        assert_eq!(safe("end\u{1B}"), "end");
        assert_eq!(safe("\u{1B}[31"), "");
        assert_eq!(safe("\u{1B}\u{E4}x"), "\u{E4}x");
    }

    #[test]
    fn what_hides_reverses_or_breaks_lines_is_removed() {
        assert_eq!(safe("a\tb\r\nc\u{85}d\u{7F}e"), "abcde");
        assert_eq!(safe("a\u{202E}b\u{2066}c\u{200F}d"), "abcd");
        assert_eq!(safe("a\u{200B}b\u{FEFF}c\u{2028}d\u{E0041}e"), "abcde");
        assert_eq!(safe("Größe 戦い ★ é"), "Größe 戦い ★ é");
    }

    #[test]
    fn bytes_that_are_not_utf8_are_kept_inside_and_marked_outside() {
        let text = GameText::from(&b"M\xFCller\x9B31m"[..]);
        assert_eq!(text.as_bytes(), b"M\xFCller\x9B31m");
        assert_eq!(text.to_safe_string(), "M\u{FFFD}ller\u{FFFD}31m");
        assert_eq!(format!("{text:?}"), "\"M\\xfcller\\x9b31m\"");
    }

    #[test]
    fn a_text_ends_at_its_nul() {
        assert_eq!(GameText::new(b"one\0two".to_vec()).as_bytes(), b"one");
        assert_eq!(GameText::from(&b"\0two"[..]), GameText::default());
    }

    #[test]
    fn colour_codes_of_all_families_are_stripped() {
        assert_eq!(plain("^1Red ^7White"), "Red White");
        assert_eq!(plain("^xF0aPink^xyz"), "Pinkyz");
        assert_eq!(plain("a^^b ^"), "a^b ^");
        assert_eq!(plain("^ and ^"), "^ and ^");
        assert_eq!(
            plain("\u{1}\u{3}team\u{7}FF8800gold\u{8}11223344x\u{7}zz"),
            "teamgoldxzz"
        );
    }

    #[test]
    fn a_colour_code_cannot_hide_behind_invisible_characters() {
        assert_eq!(plain("^\u{200B}1name"), "name");
    }

    #[test]
    fn display_pads_what_is_shown_and_not_what_was_sent() {
        let text = GameText::from("\u{1B}[31mab");
        assert_eq!(format!("{text:<4}|"), "ab  |");
    }
}
