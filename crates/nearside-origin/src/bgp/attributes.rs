//! Path attributes, read for where a route comes from and where its prefixes stand. Errors are
//! graded by RFC 7606: most cost only the routes of their message, never the session.

use std::fmt;

use super::as_path::{AS_TRANS, AsPath, AsWidth, PathOrigin};
use super::cursor::Cursor;
use super::nlri::Family;
use super::notification::Notification;

/// One attribute, not yet looked into.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RawAttribute<'a> {
    pub(crate) flags: u8,
    pub(crate) kind: u8,
    pub(crate) value: &'a [u8],
}

const OPTIONAL: u8 = 0x80;
const TRANSITIVE: u8 = 0x40;
const EXTENDED_LENGTH: u8 = 0x10;

const ORIGIN: u8 = 1;
pub(crate) const AS_PATH: u8 = 2;
const NEXT_HOP: u8 = 3;
const AGGREGATOR: u8 = 7;
const MP_REACH_NLRI: u8 = 14;
const MP_UNREACH_NLRI: u8 = 15;
const AS4_PATH: u8 = 17;
const AS4_AGGREGATOR: u8 = 18;

/// Takes the next attribute; `None` when it runs past the end of the list.
pub(crate) fn read_attribute<'a>(cursor: &mut Cursor<'a>) -> Option<RawAttribute<'a>> {
    let flags = cursor.u8()?;
    let kind = cursor.u8()?;
    let value = if flags & EXTENDED_LENGTH == 0 {
        cursor.short_field()?
    } else {
        cursor.long_field()?
    };
    Some(RawAttribute { flags, kind, value })
}

/// Why the routes of an UPDATE were taken as withdrawn (RFC 7606).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed {
    /// The number of the attribute at fault, 0 for the list as a whole.
    pub attribute: u8,
    /// What is wrong with it.
    pub fault: Fault,
}

/// What can be wrong with a path attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It, or the list of attributes, ends too early.
    Truncated,
    /// Its flags contradict its type.
    Flags,
    /// Its length is impossible for its type.
    Length,
    /// Its content makes no sense.
    Value,
    /// It is mandatory and not there.
    Missing,
    /// It claims to be well-known, and nobody knows it.
    Unknown,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fault = match self.fault {
            Fault::Truncated => "ends too early",
            Fault::Flags => "has contradictory flags",
            Fault::Length => "has an impossible length",
            Fault::Value => "has an impossible value",
            Fault::Missing => "is missing",
            Fault::Unknown => "claims to be well-known",
        };
        write!(f, "path attribute {} {fault}", self.attribute)
    }
}

/// Prefixes inside an attribute, not yet read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Carried<'a> {
    /// `None` for families we did not ask for: their prefixes are not looked at.
    pub(super) family: Option<Family>,
    pub(super) nlri: &'a [u8],
}

/// What an UPDATE's attributes say, as far as a collector cares.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Attributes<'a> {
    path: Option<AsPath>,
    as4_path: Option<AsPath>,
    /// The two-octet speaker's AGGREGATOR names a two-octet AS: then AS4_PATH is stale.
    old_aggregator: bool,
    has_origin: bool,
    has_next_hop: bool,
    pub(super) reach: Option<Carried<'a>>,
    pub(super) unreach: Option<Carried<'a>>,
    /// The first fault that makes all routes of the message unusable.
    pub(super) malformed: Option<Malformed>,
    /// Whether there was any attribute at all.
    pub(super) any: bool,
}

impl<'a> Attributes<'a> {
    /// Reads the whole list. An error ends the session: with MP_REACH_NLRI unreadable nobody knows
    /// which routes to withdraw (RFC 7606 sections 3 (g), 5.3 and 7.11).
    pub(super) fn parse(bytes: &'a [u8], width: AsWidth) -> Result<Self, Notification> {
        let mut attributes = Self::default();
        let mut cursor = Cursor::new(bytes);
        while !cursor.is_empty() {
            attributes.any = true;
            let Some(attribute) = read_attribute(&mut cursor) else {
                attributes.blame(0, Fault::Truncated);
                break;
            };
            attributes.add(attribute, width)?;
        }
        Ok(attributes)
    }

    /// The one big match: each arm is one attribute's rule.
    fn add(&mut self, attribute: RawAttribute<'a>, width: AsWidth) -> Result<(), Notification> {
        let RawAttribute { flags, kind, value } = attribute;
        match kind {
            MP_REACH_NLRI if self.reach.is_none() => self.reach = Some(read_reach(value)?),
            MP_UNREACH_NLRI if self.unreach.is_none() => self.unreach = Some(read_unreach(value)?),
            MP_REACH_NLRI | MP_UNREACH_NLRI => return Err(Notification::MALFORMED_ATTRIBUTE_LIST),
            _ if !flags_fit(kind, flags) => self.blame(kind, Fault::Flags),
            _ if !length_fits(kind, value.len()) => self.blame(kind, Fault::Length),
            ORIGIN => self.add_origin(value),
            AS_PATH if self.path.is_none() => self.add_path(value, width),
            NEXT_HOP => self.has_next_hop = true,
            AGGREGATOR if width == AsWidth::Two => self.add_aggregator(value),
            // From four-octet speakers it is to be ignored, malformed ones too (RFC 6793 section 6).
            AS4_PATH if width == AsWidth::Two && self.as4_path.is_none() => {
                self.as4_path = AsPath::parse(value, AsWidth::Four);
            }
            _ if kind > AS4_AGGREGATOR && flags & OPTIONAL == 0 => {
                self.blame(kind, Fault::Unknown);
            }
            _ => {}
        }
        Ok(())
    }

    fn add_origin(&mut self, value: &[u8]) {
        // IGP, EGP and incomplete; a second ORIGIN is ignored, as RFC 7606 section 3 (g) asks.
        if !self.has_origin && value.first().is_some_and(|origin| *origin > 2) {
            self.blame(ORIGIN, Fault::Value);
        }
        self.has_origin = true;
    }

    fn add_path(&mut self, value: &[u8], width: AsWidth) {
        self.path = AsPath::parse(value, width);
        if self.path.is_none() {
            self.blame(AS_PATH, Fault::Value);
        }
    }

    fn add_aggregator(&mut self, value: &[u8]) {
        let asn = Cursor::new(value).u16();
        self.old_aggregator = value.len() == 6 && asn.is_some_and(|asn| asn != AS_TRANS);
    }

    fn blame(&mut self, attribute: u8, fault: Fault) {
        self.malformed.get_or_insert(Malformed { attribute, fault });
    }

    /// Blames what an announcement cannot do without (RFC 7606 section 3 (d)). Routes in
    /// MP_REACH_NLRI bring their own next hop.
    pub(super) fn require_mandatory(&mut self, next_hop: bool) {
        if !self.has_origin {
            self.blame(ORIGIN, Fault::Missing);
        }
        if self.path.is_none() {
            self.blame(AS_PATH, Fault::Missing);
        }
        if next_hop && !self.has_next_hop {
            self.blame(NEXT_HOP, Fault::Missing);
        }
    }

    /// Where the routes come from, with RFC 6793's reconstruction.
    pub(super) fn path_origin(&self) -> PathOrigin {
        let path = match (self.path, self.as4_path) {
            (Some(path), Some(as4)) if !self.old_aggregator => Some(path.with_as4(as4)),
            (path, _) => path,
        };
        path.map_or(PathOrigin::Local, |path| path.origin)
    }
}

/// MP_REACH_NLRI (RFC 4760 section 3). The next hop is only skipped, whatever its length: nothing is
/// forwarded here, and daemons without a kernel table send strange ones.
fn read_reach(value: &[u8]) -> Result<Carried<'_>, Notification> {
    let read = || {
        let mut cursor = Cursor::new(value);
        let (afi, safi) = (cursor.u16()?, cursor.u8()?);
        let _next_hop = cursor.short_field()?;
        let _reserved = cursor.u8()?;
        Some(Carried {
            family: Family::from_wire(afi, safi),
            nlri: cursor.rest(),
        })
    };
    read().ok_or(Notification::OPTIONAL_ATTRIBUTE_ERROR)
}

/// MP_UNREACH_NLRI (RFC 4760 section 4).
fn read_unreach(value: &[u8]) -> Result<Carried<'_>, Notification> {
    let read = || {
        let mut cursor = Cursor::new(value);
        let (afi, safi) = (cursor.u16()?, cursor.u8()?);
        Some(Carried {
            family: Family::from_wire(afi, safi),
            nlri: cursor.rest(),
        })
    };
    read().ok_or(Notification::OPTIONAL_ATTRIBUTE_ERROR)
}

/// Whether optional and transitive bits are as the attribute's document says; the attributes that
/// RFC 7606 section 7 discards when broken are not checked at all.
fn flags_fit(kind: u8, flags: u8) -> bool {
    let flags = flags & (OPTIONAL | TRANSITIVE);
    match kind {
        1..=3 => flags == TRANSITIVE,
        4 | 9 | 10 => flags == OPTIONAL,
        8 | 16 | 32 => flags == OPTIONAL | TRANSITIVE,
        _ => true,
    }
}

/// Whether the length is one RFC 7606 section 7 lets pass: of ORIGIN, NEXT_HOP, MED, ORIGINATOR_ID,
/// CLUSTER_LIST and the communities, whose RFCs make them lists of 4, 8 and 12 octets.
fn length_fits(kind: u8, length: usize) -> bool {
    match kind {
        ORIGIN => length == 1,
        NEXT_HOP | 4 | 9 => length == 4,
        8 | 10 => length != 0 && length.is_multiple_of(4),
        16 => length != 0 && length.is_multiple_of(8),
        32 => length != 0 && length.is_multiple_of(12),
        _ => true,
    }
}
