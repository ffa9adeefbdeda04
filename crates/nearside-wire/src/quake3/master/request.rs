use super::{ListCookie, ReplyForm};
use crate::cursor::Cursor;
use crate::list::OriginForm;
use crate::quake3::words;
use crate::{CONNECTIONLESS, DecodeError};

/// A request for a list of servers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ListRequest {
    /// `getserversExt` instead of `getservers`: the only one whose reply can hold IPv6.
    pub extended: bool,
    /// The game (`et`, `Quake3Arena`). dpmaster wants it in extended requests; the masters of old
    /// games know theirs by the protocol alone and take none.
    pub game: Option<String>,
    /// The network protocol version of the game; 84 for Enemy Territory 2.60b.
    pub protocol: u32,
    /// Also list empty servers.
    pub empty: bool,
    /// Also list full servers.
    pub full: bool,
    /// List IPv4 servers; in extended requests only. Neither family named means both.
    pub ipv4: bool,
    /// List IPv6 servers; in extended requests only.
    pub ipv6: bool,
    /// Ask for origins.
    pub origin: Option<OriginForm>,
    /// The cookie the master gave.
    pub challenge: Option<ListCookie>,
    /// Words with no meaning here (`gametype=ctf`), in order.
    pub other: Vec<String>,
}

const PLAIN_REQUEST: &str = "getservers";
const EXTENDED_REQUEST: &str = "getserversExt";

impl ListRequest {
    /// A plain request for all servers of a game, empty and full ones too.
    pub fn new(game: Option<&str>, protocol: u32) -> Self {
        Self {
            game: game.map(str::to_owned),
            protocol,
            empty: true,
            full: true,
            ..Self::default()
        }
    }

    /// The layout of the reply to this request.
    pub const fn reply_form(&self) -> ReplyForm {
        ReplyForm {
            extended: self.extended,
            origin: self.origin,
        }
    }

    /// The datagram to send. A word ends at a space: characters of `game` and `other` that are not
    /// printable ASCII are left out.
    pub fn emit(&self) -> Vec<u8> {
        let mut out = CONNECTIONLESS.to_vec();
        for word in self.words() {
            let printable = word.bytes().filter(u8::is_ascii_graphic);
            if out.len() > CONNECTIONLESS.len() {
                out.push(b' ');
            }
            out.extend(printable);
        }
        out
    }

    /// Only what was asked for, ours last: id's old master ignored long requests.
    fn words(&self) -> Vec<String> {
        let command = [PLAIN_REQUEST, EXTENDED_REQUEST][usize::from(self.extended)];
        let flags = [
            (self.ipv4, "ipv4"),
            (self.ipv6, "ipv6"),
            (self.empty, "empty"),
            (self.full, "full"),
        ];
        let flags = flags.into_iter().filter(|(on, _)| *on);
        let origin = self.origin.map(|form| format!("origin={}", form.word()));
        let mut words = vec![command.to_owned()];
        words.extend(self.game.clone());
        words.push(self.protocol.to_string());
        words.extend(flags.map(|(_, word)| word.to_owned()));
        words.extend(self.other.iter().cloned());
        words.extend(origin);
        words.extend(
            self.challenge
                .map(|cookie| format!("challenge={}", cookie.as_str())),
        );
        words
    }

    /// Reads a request as a master does; the game's name may be missing, a newline may follow.
    pub fn parse(datagram: &[u8]) -> Result<Self, DecodeError> {
        let expected = "a getservers or getserversExt request";
        let cursor = Cursor::after(datagram, &CONNECTIONLESS, expected)?;
        let mut words = words(cursor.rest());
        let command = words.next().unwrap_or_default();
        let extended = command == EXTENDED_REQUEST.as_bytes();
        if !extended && command != PLAIN_REQUEST.as_bytes() {
            return Err(DecodeError::unrecognised(expected, datagram));
        }
        let mut request = Self {
            extended,
            ..Self::default()
        };
        request.parse_game(&mut words)?;
        words.try_for_each(|word| request.parse_option(word))?;
        Ok(request)
    }

    fn parse_game<'a>(
        &mut self,
        words: &mut impl Iterator<Item = &'a [u8]>,
    ) -> Result<(), DecodeError> {
        let mut word = words.next().unwrap_or_default();
        let number = |word: &[u8]| std::str::from_utf8(word).ok()?.parse::<u32>().ok();
        if number(word).is_none() {
            self.game = Some(printable(word)?);
            word = words.next().unwrap_or_default();
        }
        let expected = "a number, as in `getservers 84 empty full`";
        let protocol = number(word);
        self.protocol = protocol.ok_or(DecodeError::bad_value("protocol", word, expected))?;
        Ok(())
    }

    /// A word that does not say what its key needs is kept as a foreign one, as unknown words are.
    fn parse_option(&mut self, word: &[u8]) -> Result<(), DecodeError> {
        let origin = word
            .strip_prefix(b"origin=")
            .and_then(OriginForm::from_word);
        let challenge = word
            .strip_prefix(b"challenge=")
            .and_then(ListCookie::from_word);
        match word {
            b"empty" => self.empty = true,
            b"full" => self.full = true,
            b"ipv4" => self.ipv4 = true,
            b"ipv6" => self.ipv6 = true,
            _ if origin.is_some() => self.origin = origin,
            _ if challenge.is_some() => self.challenge = challenge,
            _ => self.other.push(printable(word)?),
        }
        Ok(())
    }
}

fn printable(word: &[u8]) -> Result<String, DecodeError> {
    let expected = "printable ASCII characters";
    let text = std::str::from_utf8(word).ok();
    let text = text.filter(|text| !text.is_empty() && word.iter().all(u8::is_ascii_graphic));
    text.map(str::to_owned)
        .ok_or(DecodeError::bad_value("word", word, expected))
}
