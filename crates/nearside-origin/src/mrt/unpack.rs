//! Unpacks gzip and bzip2 on the fly, told by their first octets and not by a file name.

use std::io::{self, BufRead, Read};

use bzip2::bufread::MultiBzDecoder;
use flate2::bufread::MultiGzDecoder;

/// A dump as it was before it was packed. Collectors append packed files to one another, so both
/// decoders go on behind the end of a member.
pub(super) enum Unpacked<R: BufRead> {
    Plain(R),
    Gzip(Box<MultiGzDecoder<R>>),
    Bzip2(Box<MultiBzDecoder<R>>),
}

impl<R: BufRead> Unpacked<R> {
    pub(super) fn new(mut input: R) -> io::Result<Self> {
        let start = input.fill_buf()?;
        Ok(if start.starts_with(&[0x1F, 0x8B]) {
            Self::Gzip(Box::new(MultiGzDecoder::new(input)))
        } else if start.starts_with(b"BZh") {
            Self::Bzip2(Box::new(MultiBzDecoder::new(input)))
        } else {
            Self::Plain(input)
        })
    }
}

impl<R: BufRead> Read for Unpacked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(input) => input.read(buffer),
            Self::Gzip(input) => input.read(buffer),
            Self::Bzip2(input) => input.read(buffer),
        }
    }
}
