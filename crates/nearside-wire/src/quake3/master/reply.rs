use std::net::{IpAddr, Ipv6Addr};

use nearside_types::{Country, ServerAddr};

use super::ListCookie;
use crate::cursor::Cursor;
use crate::list::{Costs, Entry, ListPacket, Listed, OriginForm, RawEntry, country_bytes, fill};
use crate::{CONNECTIONLESS, DecodeError};

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

const PLAIN_REPLY: &[u8] = b"getserversResponse";
const EXTENDED_REPLY: &[u8] = b"getserversExtResponse";
const COOKIE_REPLY: &[u8] = b"ck ";

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
                    emit_raw(END, &mut out);
                } else {
                    // qstat 2.17 drops the last entry of a packet that has nothing behind it.
                    out.push(b'\\');
                }
            }
        }
        out
    }
}

/// The end mark: an entry of address `EOT\0` and port 0, so AS 1162826752 cannot be marked here.
const END: RawEntry = RawEntry {
    address: u32::from_be_bytes(*b"EOT\0"),
    port: 0,
};

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
                if raw == END {
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
            emit_raw(RawEntry::of_marker(asn, END), out);
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

fn emit_raw(raw: RawEntry, out: &mut Vec<u8>) {
    out.push(b'\\');
    out.extend(raw.to_bytes());
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
/// servers must be sorted by [`as_order`](crate::list::as_order). There is always at least one packet.
pub fn paginate(servers: &[Listed], form: ReplyForm) -> Vec<ListPacket> {
    let name = if form.extended {
        EXTENDED_REPLY
    } else {
        PLAIN_REPLY
    };
    let room = MAX_REPLY_BYTES - CONNECTIONLESS.len() - name.len() - V4_BYTES;
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
