//! Lists from masters of the Quake 3 family: `getservers`, and dpmaster's `getserversExt` for IPv6.
//!
//! Layouts with byte tables, and the origin extensions: `docs/wire/master-lists.md`.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

use nearside_types::{Country, ServerAddr};

use super::challenge::eight_characters;
use super::words;
use crate::cursor::Cursor;
use crate::list::{
    Costs, END_OF_TRANSMISSION, Entry, ListPacket, Listed, OriginForm, RawEntry, country_bytes,
    fill,
};
use crate::{CONNECTIONLESS, DecodeError};

/// Eight printable characters by which a master has a client prove its address before it sends a
/// long list; the reply that carries them is never longer than the request.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ListCookie([u8; 8]);

impl ListCookie {
    /// A cookie of the low 48 bits of a number, for masters to derive from a secret.
    pub fn from_bits(bits: u64) -> Self {
        Self(eight_characters(bits))
    }

    /// Checks that the bytes can stand as one word in a request.
    pub fn new(bytes: [u8; 8]) -> Option<Self> {
        bytes
            .iter()
            .all(u8::is_ascii_graphic)
            .then_some(Self(bytes))
    }

    /// The characters.
    pub const fn as_bytes(&self) -> &[u8; 8] {
        &self.0
    }

    fn from_word(word: &[u8]) -> Option<Self> {
        <[u8; 8]>::try_from(word).ok().and_then(Self::new)
    }
}

impl fmt::Debug for ListCookie {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ListCookie({})", self.0.escape_ascii())
    }
}

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

/// The layout a reply must have, as the request says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplyForm {
    /// `getserversExtResponse` instead of `getserversResponse`.
    pub extended: bool,
    /// The origins asked for. Without [`OriginForm::As`] no marker is ever sent.
    pub origin: Option<OriginForm>,
}

/// What a master answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListReply {
    /// A packet of the list. Later packets may come before earlier ones.
    List(ListPacket),
    /// "Ask again with this cookie."
    Cookie(ListCookie),
}

const PLAIN_REQUEST: &str = "getservers";
const EXTENDED_REQUEST: &str = "getserversExt";
const PLAIN_REPLY: &[u8] = b"getserversResponse";
const EXTENDED_REPLY: &[u8] = b"getserversExtResponse";
const COOKIE_REPLY: &[u8] = b"ck ";

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
        let command = if self.extended {
            EXTENDED_REQUEST
        } else {
            PLAIN_REQUEST
        };
        let mut words = vec![command.to_owned()];
        words.extend(self.game.clone());
        words.push(self.protocol.to_string());
        let flags = [
            (self.ipv4, "ipv4"),
            (self.ipv6, "ipv6"),
            (self.empty, "empty"),
            (self.full, "full"),
        ];
        words.extend(
            flags
                .iter()
                .filter(|(on, _)| *on)
                .map(|(_, word)| (*word).to_owned()),
        );
        words.extend(self.other.iter().cloned());
        words.extend(self.origin.map(|form| format!("origin={}", form.word())));
        words.extend(
            self.challenge
                .map(|cookie| format!("challenge={}", cookie.0.escape_ascii())),
        );
        let printable = words.iter_mut().map(|word| {
            word.retain(|c| c.is_ascii_graphic());
            word.as_bytes()
        });
        let text = printable
            .filter(|word| !word.is_empty())
            .collect::<Vec<_>>()
            .join(&b' ');
        [&CONNECTIONLESS, &text[..]].concat()
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

impl ListReply {
    /// Reads a reply to a request that asked for `asked`. Without [`OriginForm::As`] entries with
    /// port 0 are nothing; without [`OriginForm::Country`] no letters are looked for.
    pub fn parse(datagram: &[u8], asked: Option<OriginForm>) -> Result<Self, DecodeError> {
        let expected = "a getserversResponse";
        let mut cursor = Cursor::after(datagram, &CONNECTIONLESS, expected)?;
        if cursor.skip(COOKIE_REPLY) {
            let cookie = ListCookie::new(cursor.array("list cookie")?);
            let expected = "eight printable characters";
            let error = DecodeError::bad_value("list cookie", datagram, expected);
            return cookie.map(Self::Cookie).ok_or(error);
        }
        if !cursor.skip(EXTENDED_REPLY) && !cursor.skip(PLAIN_REPLY) {
            return Err(DecodeError::unrecognised(expected, datagram));
        }
        parse_entries(&mut cursor, asked).map(Self::List)
    }

    /// The datagram to send, in the layout the request asked for. What that layout cannot carry is
    /// left out: markers, letters and, in a plain reply, IPv6 servers.
    pub fn emit(&self, form: ReplyForm) -> Vec<u8> {
        let mut out = CONNECTIONLESS.to_vec();
        match self {
            Self::Cookie(cookie) => {
                out.extend(COOKIE_REPLY);
                out.extend(cookie.0);
            }
            Self::List(packet) => {
                out.extend(if form.extended {
                    EXTENDED_REPLY
                } else {
                    PLAIN_REPLY
                });
                packet
                    .entries
                    .iter()
                    .for_each(|entry| emit_entry(entry, form, &mut out));
                if packet.end {
                    out.extend(END);
                }
            }
        }
        out
    }
}

/// The end mark: an entry of address `EOT\0` and port 0.
const END: &[u8] = b"\\EOT\0\0\0";

/// Entries up to the end mark or the end of the packet. Some old masters close with a lone
/// backslash, or with an end mark that lacks its zeros.
fn parse_entries(
    cursor: &mut Cursor<'_>,
    asked: Option<OriginForm>,
) -> Result<ListPacket, DecodeError> {
    let mut packet = ListPacket::default();
    while !matches!(cursor.rest(), [] | b"\\" | b"\n" | [0]) {
        if cursor.rest() == b"\\EOT" {
            packet.end = true;
            break;
        }
        let entry = match cursor.u8("separator")? {
            b'\\' => {
                let raw = RawEntry::from_bytes(cursor.array("IPv4 entry")?);
                if is_end(raw) {
                    packet.end = true;
                    break;
                }
                raw.meaning(asked)
            }
            b'/' => parse_ipv6(cursor)?,
            other => {
                let expected = "\\ before an IPv4 entry or / before an IPv6 entry";
                return Err(DecodeError::bad_value("separator", &[other], expected));
            }
        };
        let letters = take_letters(cursor, asked);
        packet
            .entries
            .extend(entry.map(|entry| with_country(entry, letters)));
    }
    Ok(packet)
}

const fn is_end(entry: RawEntry) -> bool {
    entry.address == END_OF_TRANSMISSION && entry.port == 0
}

fn parse_ipv6(cursor: &mut Cursor<'_>) -> Result<Option<Entry>, DecodeError> {
    let ip = Ipv6Addr::from(cursor.array::<16>("IPv6 address")?);
    let port = u16::from_be_bytes(cursor.array("port")?);
    let server = ServerAddr::new(IpAddr::V6(ip), port);
    Ok(server.map(|addr| Entry::Server {
        addr,
        country: None,
    }))
}

/// The letters behind an entry, if they were asked for and the master knows the extension: behind
/// an entry of any other reply comes a separator, which is no letter.
fn take_letters(cursor: &mut Cursor<'_>, asked: Option<OriginForm>) -> Option<Country> {
    let letters = *cursor.rest().first_chunk::<2>()?;
    let present = asked == Some(OriginForm::Country) && letters.iter().all(u8::is_ascii_alphabetic);
    if present {
        cursor.skip(&letters);
    }
    Country::from_bytes(letters).filter(|_| present)
}

fn with_country(entry: Entry, country: Option<Country>) -> Entry {
    match entry {
        Entry::Server { addr, .. } => Entry::Server { addr, country },
        Entry::Marker(asn) => Entry::Marker(asn),
    }
}

fn emit_entry(entry: &Entry, form: ReplyForm, out: &mut Vec<u8>) {
    match *entry {
        Entry::Marker(asn) if form.origin == Some(OriginForm::As) => {
            out.push(b'\\');
            out.extend(RawEntry::of_marker(asn).to_bytes());
        }
        Entry::Server { addr, country } if server_bytes(addr, form).is_some() => {
            emit_server(addr, out);
            if form.origin == Some(OriginForm::Country) {
                out.extend(country_bytes(country));
            }
        }
        _ => {}
    }
}

fn emit_server(addr: ServerAddr, out: &mut Vec<u8>) {
    match addr.ip() {
        IpAddr::V4(ip) => {
            out.push(b'\\');
            out.extend(ip.octets());
        }
        IpAddr::V6(ip) => {
            out.push(b'/');
            out.extend(ip.octets());
        }
    }
    out.extend(addr.port().to_be_bytes());
}

/// How many bytes a server takes in a reply; `None` if the reply cannot carry it.
fn server_bytes(addr: ServerAddr, form: ReplyForm) -> Option<usize> {
    let letters = if form.origin == Some(OriginForm::Country) {
        2
    } else {
        0
    };
    match addr.ip() {
        IpAddr::V4(_) => Some(V4_BYTES + letters),
        IpAddr::V6(_) => form.extended.then_some(V6_BYTES + letters),
    }
}

const V4_BYTES: usize = 1 + 4 + 2;
const V6_BYTES: usize = 1 + 16 + 2;

/// The longest reply, as dpmaster has it: below every common path MTU.
pub const MAX_REPLY_BYTES: usize = 1400;

/// Cuts a list into reply packets, the last one with the end mark; for [`OriginForm::As`] the
/// servers must be sorted by [`Listed::as_order`]. There is always at least one packet.
pub fn paginate(servers: &[Listed], form: ReplyForm) -> Vec<ListPacket> {
    let name = if form.extended {
        EXTENDED_REPLY
    } else {
        PLAIN_REPLY
    };
    let room = MAX_REPLY_BYTES - CONNECTIONLESS.len() - name.len() - END.len();
    let costs = Costs {
        marker: V4_BYTES,
        server: &|addr| server_bytes(addr, form),
    };
    let mut packets = Vec::new();
    let mut rest = servers;
    loop {
        let (entries, covered) = fill(rest, form.origin, room, &costs);
        rest = &rest[covered..];
        let end = rest.is_empty();
        packets.push(ListPacket { entries, end });
        if end {
            return packets;
        }
    }
}
