//! Cuts an unpacked dump into records, and says how it ended.

use std::io::{self, BufRead, BufReader, ErrorKind, Read};

use super::MrtEnd;
use super::unpack::Unpacked;

/// The common header of RFC 6396 section 2.
#[derive(Debug, Clone, Copy)]
pub(super) struct Header {
    pub(super) seconds: u32,
    pub(super) kind: u16,
    pub(super) subtype: u16,
    length: u32,
}

const HEADER: usize = 12;

/// The largest kind IANA has registered is OSPFv3_ET.
const LARGEST_KIND: u16 = 49;

/// A prefix with 65,535 routes of 200 octets stays below it.
const LONGEST_RECORD: u32 = 16 * 1024 * 1024;

impl Header {
    /// `None` for what cannot be the beginning of a record: a kind nobody has registered, or a
    /// length no record has.
    fn read(bytes: &[u8]) -> Option<Self> {
        let (seconds, rest) = bytes.split_first_chunk()?;
        let (kind, rest) = rest.split_first_chunk()?;
        let (subtype, rest) = rest.split_first_chunk()?;
        let (length, _) = rest.split_first_chunk()?;
        let header = Self {
            seconds: u32::from_be_bytes(*seconds),
            kind: u16::from_be_bytes(*kind),
            subtype: u16::from_be_bytes(*subtype),
            length: u32::from_be_bytes(*length),
        };
        let plausible = header.kind <= LARGEST_KIND && header.length <= LONGEST_RECORD;
        plausible.then_some(header)
    }
}

/// One step through a file.
pub(super) enum Next<'a> {
    Record(Header, &'a [u8]),
    End(MrtEnd),
}

/// How many of the wanted octets could be had.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Filled {
    All,
    Some,
    None,
    /// The packed data makes no sense.
    Nonsense,
}

pub(super) struct Records<R: BufRead> {
    input: BufReader<Unpacked<R>>,
    buffer: Vec<u8>,
    /// Where the next record begins, in unpacked octets.
    offset: u64,
}

impl<R: BufRead> Records<R> {
    pub(super) fn new(input: R) -> io::Result<Self> {
        Ok(Self {
            input: BufReader::with_capacity(super::BUFFER, Unpacked::new(input)?),
            buffer: Vec::new(),
            offset: 0,
        })
    }

    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// The first octets of the record that was tried last.
    pub(super) fn last_octets(&self) -> &[u8] {
        &self.buffer[..self.buffer.len().min(HEADER)]
    }

    /// The next record; the error is the operating system's.
    pub(super) fn next(&mut self) -> io::Result<Next<'_>> {
        let at = self.offset;
        let truncated = Next::End(MrtEnd::Truncated { at });
        let damaged = Next::End(MrtEnd::Damaged { at });
        match self.fill(HEADER)? {
            Filled::All => {}
            Filled::None => return Ok(Next::End(MrtEnd::Complete)),
            Filled::Some => return Ok(truncated),
            Filled::Nonsense => return Ok(damaged),
        }
        let Some(header) = Header::read(&self.buffer) else {
            return Ok(damaged);
        };
        match self.fill(header.length as usize)? {
            Filled::All => {}
            Filled::Some | Filled::None => return Ok(truncated),
            Filled::Nonsense => return Ok(damaged),
        }
        self.offset = at + HEADER as u64 + u64::from(header.length);
        Ok(Next::Record(header, &self.buffer))
    }

    /// Fills the buffer with the next octets, growing it only as they arrive: a length in a damaged
    /// file must not cost memory.
    fn fill(&mut self, length: usize) -> io::Result<Filled> {
        self.buffer.clear();
        let limited = self.input.by_ref().take(length as u64);
        let outcome = { limited }.read_to_end(&mut self.buffer);
        match outcome {
            Ok(_) if self.buffer.len() == length => Ok(Filled::All),
            Ok(_) if self.buffer.is_empty() => Ok(Filled::None),
            Ok(_) => Ok(Filled::Some),
            // The decoders' words for packed data that stops early or is not packed data.
            Err(error) => match error.kind() {
                ErrorKind::UnexpectedEof => Ok(Filled::Some),
                ErrorKind::InvalidData | ErrorKind::InvalidInput => Ok(Filled::Nonsense),
                _ => Err(error),
            },
        }
    }
}
