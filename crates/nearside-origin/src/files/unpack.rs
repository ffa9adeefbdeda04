//! Takes the gzip off, if there is one, without trusting what comes out of it.

use std::borrow::Cow;
use std::io::Read;

use flate2::read::MultiGzDecoder;

use super::{Place, Problem, Refusal};

/// RFC 1952, section 2.3.1.
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// The largest table in the field (a city database in CSV) has some 500 MB; what unpacks to more is
/// a bomb.
const MAX_MEBIBYTES: u64 = 1024;

pub(super) fn unpack(bytes: &[u8]) -> Result<Cow<'_, [u8]>, Refusal> {
    if !bytes.starts_with(&GZIP_MAGIC) {
        return Ok(Cow::Borrowed(bytes));
    }
    let limit = MAX_MEBIBYTES << 20;
    let mut plain = Vec::new();
    let mut decoder = MultiGzDecoder::new(bytes).take(limit + 1);
    if let Err(error) = decoder.read_to_end(&mut plain) {
        return Err((Place::Byte(plain.len()), Problem::Gzip(error.to_string())));
    }
    if plain.len() as u64 > limit {
        return Err((Place::Whole, Problem::TooLarge(MAX_MEBIBYTES)));
    }
    Ok(Cow::Owned(plain))
}
