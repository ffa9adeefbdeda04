//! The fragments of one message, and how the three split forms are told apart. Nothing on the wire
//! names the form, but they cannot all be true at once, whatever order fragments come in:
//!
//! * two different fragments of a message agree in the byte behind the id (their total) in both
//!   Source forms, and differ in it (their number) in the GoldSource form;
//! * the joined message starts `FF FF FF FF`, or its bzip2 stream `BZh`, right behind the header
//!   of fragment 0, and that header is two bytes shorter in the 2006 form.

use super::inflate::{self, Announced, inflate};
use super::kind;
use super::reassembler::{Limits, at_most};
use super::split::{COMPRESSED, SplitForm};
use crate::cursor::Cursor;
use crate::{CONNECTIONLESS, DecodeError};

/// A fragment behind its id.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fragment(Vec<u8>);

/// Where a fragment belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    total: u8,
    number: u8,
}

/// How fragments are numbered: what the Source forms share, and what GoldSource does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Numbering {
    /// A byte for the total, a byte for the number.
    Bytes,
    /// Four bits for the number, four for the total.
    Nibbles,
}

impl Fragment {
    /// Two bytes are the least that a numbered fragment with a payload can have in any form.
    pub(super) fn new(tail: &[u8]) -> Result<Self, DecodeError> {
        Cursor::new(tail).array::<2>("fragment number")?;
        Ok(Self(tail.to_vec()))
    }

    /// The place under a numbering, unless its number is beyond its total.
    fn place(&self, numbering: Numbering) -> Option<Place> {
        let place = match numbering {
            Numbering::Bytes => Place {
                total: self.0[0],
                number: self.0[1],
            },
            Numbering::Nibbles => Place {
                total: self.0[0] & 0x0F,
                number: self.0[0] >> 4,
            },
        };
        (place.number < place.total).then_some(place)
    }

    pub(super) fn checksum(&self, id: u32) -> u32 {
        let mut hasher = crc32fast::Hasher::new_with_initial(id);
        hasher.update(&self.0);
        hasher.finalize()
    }
}

/// The fragments of one message. All of them agree with each numbering still listed.
#[derive(Debug)]
pub(super) struct Group {
    id: u32,
    numberings: Vec<Numbering>,
    fragments: Vec<Fragment>,
}

impl Group {
    pub(super) fn new(id: u32, form: Option<SplitForm>) -> Self {
        let numberings = match form {
            None => vec![Numbering::Bytes, Numbering::Nibbles],
            Some(SplitForm::GoldSource) => vec![Numbering::Nibbles],
            Some(SplitForm::Source | SplitForm::Source2006) => vec![Numbering::Bytes],
        };
        Self {
            id,
            numberings,
            fragments: Vec::new(),
        }
    }

    pub(super) const fn id(&self) -> u32 {
        self.id
    }

    pub(super) fn bytes(&self) -> usize {
        self.fragments.iter().map(|fragment| fragment.0.len()).sum()
    }

    pub(super) fn checksums(&self) -> Vec<u32> {
        let fragments = self.fragments.iter();
        fragments
            .map(|fragment| fragment.checksum(self.id))
            .collect()
    }

    /// Adds a fragment if it is new and there is a numbering under which all agree. One that
    /// contradicts is refused and leaves the group as it was.
    pub(super) fn add(&mut self, fragment: Fragment, limits: Limits) -> Result<(), DecodeError> {
        if self.fragments.contains(&fragment) {
            return Ok(());
        }
        let size = self.bytes() + fragment.0.len();
        at_most("split message", size, limits.message_bytes)?;
        let agreeing = self.numberings.iter().copied();
        let agreeing: Vec<_> = agreeing
            .filter(|how| self.agrees(&fragment, *how))
            .collect();
        if agreeing.is_empty() {
            return Err(DecodeError::FragmentConflict { id: self.id });
        }
        self.numberings = agreeing;
        self.fragments.push(fragment);
        Ok(())
    }

    /// The same total as the others, and a number none of them has.
    fn agrees(&self, fragment: &Fragment, numbering: Numbering) -> bool {
        let Some(place) = fragment.place(numbering) else {
            return false;
        };
        let mut others = self
            .fragments
            .iter()
            .filter_map(|other| other.place(numbering));
        others.all(|other| other.total == place.total && other.number != place.number)
    }

    /// Whether nothing is missing.
    pub(super) fn is_complete(&self) -> bool {
        self.numbering().is_some()
    }

    /// The numbering under which nothing is missing. Only a split of one fragment can be complete
    /// under both; no server is known to send GoldSource splits of one.
    fn numbering(&self) -> Option<Numbering> {
        let have = self.fragments.len();
        let total = |how: Numbering| self.fragments.first()?.place(how).map(|place| place.total);
        let mut numberings = self.numberings.iter().copied();
        numberings.find(|how| total(*how).is_some_and(|total| usize::from(total) == have))
    }

    /// The whole message, in the form of a single datagram.
    pub(super) fn join(
        mut self,
        form: Option<SplitForm>,
        limits: Limits,
    ) -> Result<Vec<u8>, DecodeError> {
        let numbering = self.numbering();
        let number = |fragment: &Fragment| fragment.place(numbering?).map(|place| place.number);
        self.fragments.sort_by_key(number);
        let message = match numbering {
            Some(Numbering::Nibbles) => self.payload(GOLDSOURCE_HEADER),
            _ if self.id & COMPRESSED != 0 => self.decompressed(form, limits)?,
            _ => self.uncompressed(form),
        };
        with_prefix(message)
    }

    /// All payloads in a row, if headers behind the id are this long.
    fn payload(&self, header: usize) -> Vec<u8> {
        let payloads = self
            .fragments
            .iter()
            .filter_map(|fragment| fragment.0.get(header..));
        payloads.flatten().copied().collect()
    }

    /// Source or 2006: the one whose message starts as a message. Some servers leave out
    /// `FF FF FF FF` inside a split, then the type of the message must do.
    fn uncompressed(&self, form: Option<SplitForm>) -> Vec<u8> {
        let (source, short) = (
            self.payload(SOURCE_HEADER),
            self.payload(SOURCE_2006_HEADER),
        );
        match form {
            Some(SplitForm::Source2006) => short,
            Some(_) => source,
            // Source first: a split size of FFFF before `FF FF FF FF` looks like the 2006 form.
            None if source.starts_with(&CONNECTIONLESS) => source,
            None if short.starts_with(&CONNECTIONLESS) => short,
            None if starts_with_known_type(&source) => source,
            None if starts_with_known_type(&short) => short,
            None => source,
        }
    }

    /// Source or 2006: the one whose bzip2 stream starts as one.
    fn decompressed(
        &self,
        form: Option<SplitForm>,
        limits: Limits,
    ) -> Result<Vec<u8>, DecodeError> {
        let (source, short) = (
            self.payload(SOURCE_HEADER),
            self.payload(SOURCE_2006_HEADER),
        );
        let starts_stream = |payload: &[u8]| {
            payload
                .get(Announced::BYTES..)
                .is_some_and(|stream| stream.starts_with(inflate::MAGIC))
        };
        let payload = match form {
            Some(SplitForm::Source2006) => short,
            None if starts_stream(&short) && !starts_stream(&source) => short,
            _ => source,
        };
        let mut cursor = Cursor::new(&payload);
        let announced = Announced {
            size: cursor.u32_le("decompressed size")?,
            crc32: cursor.u32_le("CRC32")?,
        };
        inflate(cursor.rest(), announced, limits.message_bytes)
    }
}

/// Bytes of a fragment between its id and its payload, for each form.
const SOURCE_HEADER: usize = 4;
const SOURCE_2006_HEADER: usize = 2;
const GOLDSOURCE_HEADER: usize = 1;

fn starts_with_known_type(payload: &[u8]) -> bool {
    let types = [
        kind::PLAYERS,
        kind::RULES,
        kind::SOURCE_INFO,
        kind::GOLDSOURCE_INFO,
    ];
    payload.first().is_some_and(|byte| types.contains(byte))
}

/// A joined message as a single datagram would have carried it.
fn with_prefix(mut message: Vec<u8>) -> Result<Vec<u8>, DecodeError> {
    if message.starts_with(&CONNECTIONLESS) {
        return Ok(message);
    }
    if !starts_with_known_type(&message) {
        return Err(DecodeError::unrecognised("an A2S reply, joined", &message));
    }
    message.splice(0..0, CONNECTIONLESS);
    Ok(message)
}
