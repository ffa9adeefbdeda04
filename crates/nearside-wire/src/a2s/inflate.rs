//! bzip2 as split packets use it: the whole message compressed once, its size and CRC32 announced
//! in the first fragment.

use std::io::{Read, Write};

use bzip2::Compression;
use bzip2::read::BzDecoder;
use bzip2::write::BzEncoder;

use crate::DecodeError;

/// The first bytes of every bzip2 stream.
pub(super) const MAGIC: &[u8] = b"BZh";

/// What the first fragment of a compressed split announces.
#[derive(Clone, Copy)]
pub(super) struct Announced {
    pub(super) size: u32,
    pub(super) crc32: u32,
}

impl Announced {
    pub(super) const BYTES: usize = 8;

    pub(super) fn of(message: &[u8]) -> Self {
        Self {
            size: u32::try_from(message.len()).unwrap_or(u32::MAX),
            crc32: crc32fast::hash(message),
        }
    }
}

/// Decompresses, never holding more than one byte above what was announced, and announcements above
/// `max` are refused before any work: a bomb costs its sender more than us.
pub(super) fn inflate(
    compressed: &[u8],
    announced: Announced,
    max: usize,
) -> Result<Vec<u8>, DecodeError> {
    let size = announced.size as usize;
    if size > max {
        let field = "decompressed size";
        return Err(DecodeError::TooLong {
            field,
            actual: size,
            max,
        });
    }
    let mut message = Vec::new();
    let mut stream = BzDecoder::new(compressed).take(u64::from(announced.size) + 1);
    let read = stream.read_to_end(&mut message);
    read.map_err(|error| DecodeError::Bzip2 {
        reason: error.to_string(),
    })?;
    let actual = Announced::of(&message);
    agree("length", announced.size, actual.size)?;
    agree("CRC32", announced.crc32, actual.crc32)?;
    Ok(message)
}

fn agree(field: &'static str, announced: u32, actual: u32) -> Result<(), DecodeError> {
    match announced == actual {
        true => Ok(()),
        false => Err(DecodeError::Mismatch {
            field,
            announced,
            actual,
        }),
    }
}

pub(super) fn deflate(message: &[u8]) -> Vec<u8> {
    let mut encoder = BzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(message).expect("a Vec takes every write");
    encoder.finish().expect("a Vec takes every write")
}
