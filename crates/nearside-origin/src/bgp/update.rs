//! UPDATE: routes that come, routes that go (RFC 4271 section 4.3, RFC 4760).

use nearside_types::{Asn, Prefix};

use super::as_path::{AsWidth, PathOrigin};
use super::attributes::{Attributes, Carried, Malformed};
use super::cursor::Cursor;
use super::nlri::{BrokenPrefix, Family, read_prefixes};
use super::notification::Notification;

/// What one UPDATE changes. Withdrawals come first: a prefix in both lists is announced.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Update {
    /// Prefixes the peer no longer has, and all of the message when it was malformed.
    pub withdrawn: Vec<Prefix>,
    /// Prefixes the peer now reaches.
    pub announced: Vec<Prefix>,
    /// The AS that originates all of `announced`; `None` when an AS_SET hides it.
    pub origin: Option<Asn>,
    /// Set when the announcement was broken and is taken as a withdrawal (RFC 7606).
    pub malformed: Option<Malformed>,
}

/// How to read the UPDATEs of one speaker.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Speaker {
    /// The AS that routes with an empty path come from.
    pub(crate) asn: Asn,
    pub(crate) width: AsWidth,
}

/// An UPDATE, or the marker that looks like one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum UpdateOrMarker {
    Update(Update),
    EndOfRib(Family),
}

impl Update {
    /// Reads the body of an UPDATE. An error is one that RFC 7606 still answers with the end of the
    /// session, as nobody can tell which routes the message was about.
    pub(crate) fn parse(body: &[u8], speaker: Speaker) -> Result<UpdateOrMarker, Notification> {
        let mut cursor = Cursor::new(body);
        let fields = cursor.long_field().zip(cursor.long_field());
        let (withdrawn, attributes) = fields.ok_or(Notification::MALFORMED_ATTRIBUTE_LIST)?;
        let parts = Parts {
            withdrawn,
            nlri: cursor.rest(),
            attributes: Attributes::parse(attributes, speaker.width)?,
        };
        if let Some(family) = parts.end_of_rib() {
            return Ok(UpdateOrMarker::EndOfRib(family));
        }
        let update = parts.read(speaker);
        update
            .map(UpdateOrMarker::Update)
            .map_err(|BrokenPrefix| Notification::INVALID_NETWORK_FIELD)
    }
}

/// The three fields of an UPDATE.
struct Parts<'a> {
    withdrawn: &'a [u8],
    attributes: Attributes<'a>,
    nlri: &'a [u8],
}

impl Parts<'_> {
    /// The marker of RFC 4724 section 2: nothing at all for IPv4, or an empty MP_UNREACH_NLRI.
    fn end_of_rib(&self) -> Option<Family> {
        let attributes = &self.attributes;
        if !self.withdrawn.is_empty() || !self.nlri.is_empty() || attributes.malformed.is_some() {
            return None;
        }
        match (attributes.reach, attributes.unreach) {
            (None, None) if !attributes.any => Some(Family::V4),
            (None, Some(unreach)) if unreach.nlri.is_empty() => unreach.family,
            _ => None,
        }
    }

    fn read(mut self, speaker: Speaker) -> Result<Update, BrokenPrefix> {
        let mut update = Update::default();
        read_prefixes(self.withdrawn, Family::V4, &mut update.withdrawn)?;
        read_carried(self.attributes.unreach, &mut update.withdrawn)?;
        read_prefixes(self.nlri, Family::V4, &mut update.announced)?;
        read_carried(self.attributes.reach, &mut update.announced)?;
        if !update.announced.is_empty() {
            self.attributes.require_mandatory(!self.nlri.is_empty());
        }
        update.origin = match self.attributes.path_origin() {
            PathOrigin::Local => Some(speaker.asn),
            PathOrigin::As(asn) => Some(asn),
            PathOrigin::Several => None,
        };
        update.malformed = self.attributes.malformed;
        Ok(update.settled())
    }
}

impl Update {
    /// Turns a malformed announcement into a withdrawal.
    fn settled(mut self) -> Self {
        if self.malformed.is_some() {
            self.withdrawn.append(&mut self.announced);
        }
        if self.announced.is_empty() {
            self.origin = None;
        }
        self
    }
}

fn read_carried(
    carried: Option<Carried<'_>>,
    prefixes: &mut Vec<Prefix>,
) -> Result<(), BrokenPrefix> {
    match carried.and_then(|carried| Some((carried.family?, carried.nlri))) {
        Some((family, nlri)) => read_prefixes(nlri, family, prefixes),
        None => Ok(()),
    }
}
