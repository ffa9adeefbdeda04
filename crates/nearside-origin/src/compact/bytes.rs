//! Reading and writing the primitives of the compact file: bytes, numbers, texts.

use super::{DecodeError, Fault};

/// Takes bytes from the front and knows how far it is, for errors that name the place.
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    /// What is being read, in words.
    part: &'static str,
}

impl<'a> Reader<'a> {
    /// `at` is where in the file `bytes` begin.
    pub(super) fn new(bytes: &'a [u8], at: usize) -> Self {
        Self {
            bytes,
            at,
            part: "header",
        }
    }

    /// From here on, errors name this part.
    pub(super) fn enter(&mut self, part: &'static str) {
        self.part = part;
    }

    pub(super) fn fault(&self, fault: Fault) -> DecodeError {
        DecodeError::Damaged {
            part: self.part,
            offset: self.at,
            fault,
        }
    }

    pub(super) fn take(&mut self, count: usize) -> Result<&'a [u8], DecodeError> {
        let Some((taken, rest)) = self.bytes.split_at_checked(count) else {
            return Err(self.fault(Fault::Truncated));
        };
        self.bytes = rest;
        self.at += count;
        Ok(taken)
    }

    pub(super) fn byte(&mut self) -> Result<u8, DecodeError> {
        Ok(self.take(1)?[0])
    }

    /// The next byte; at the end 0x80, which announces one more.
    #[inline(always)]
    pub(super) fn peek(&self) -> u8 {
        self.bytes.first().copied().unwrap_or(0x80)
    }

    /// Passes over one byte, if `is_taken` and there is one.
    #[inline(always)]
    pub(super) fn skip(&mut self, is_taken: bool) {
        let count = usize::from(is_taken).min(self.bytes.len());
        self.bytes = &self.bytes[count..];
        self.at += count;
    }

    /// A number of at most 128 bits: seven bits in each byte, the lowest first, the high bit set in
    /// all but the last (LEB128, as in DWARF).
    pub(super) fn number(&mut self) -> Result<u128, DecodeError> {
        // Most numbers have one byte, and there are hundreds of thousands.
        if let [byte @ 0..0x80, rest @ ..] = self.bytes {
            self.bytes = rest;
            self.at += 1;
            return Ok((*byte).into());
        }
        let mut number = 0_u128;
        for shift in (0..128).step_by(7) {
            let byte = self.byte()?;
            let bits = u128::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                return Err(self.fault(Fault::TooLarge));
            }
            number |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(self.fault(Fault::TooLarge))
    }

    /// A number that counts something of which there may be at most `limit`.
    pub(super) fn count(&mut self, limit: usize) -> Result<usize, DecodeError> {
        let number = usize::try_from(self.number()?).ok();
        number
            .filter(|count| *count <= limit)
            .ok_or_else(|| self.fault(Fault::TooLarge))
    }

    pub(super) fn text(&mut self) -> Result<String, DecodeError> {
        let length = self.count(MAX_TEXT)?;
        let bytes = self.take(length)?;
        let text = std::str::from_utf8(bytes).map_err(|_| self.fault(Fault::NotUtf8))?;
        Ok(text.to_owned())
    }

    /// All that is left.
    pub(super) fn rest(self) -> &'a [u8] {
        self.bytes
    }

    /// Refuses bytes that nobody asked for.
    pub(super) fn finish(&self) -> Result<(), DecodeError> {
        if self.bytes.is_empty() {
            return Ok(());
        }
        Err(self.fault(Fault::Surplus(self.bytes.len())))
    }
}

/// Longest text in a header.
const MAX_TEXT: usize = 4096;

pub(super) fn put_number(out: &mut Vec<u8>, mut number: u128) {
    while number >= 0x80 {
        out.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    out.push(number.to_le_bytes()[0]);
}

pub(super) fn put_count(out: &mut Vec<u8>, count: usize) {
    put_number(
        out,
        u128::try_from(count).expect("usize has at most 128 bits"),
    );
}

/// Texts longer than the reader accepts are cut, at a character's border.
pub(super) fn put_text(out: &mut Vec<u8>, text: &str) {
    let most = text.len().min(MAX_TEXT);
    let end = (0..=most).rev().find(|at| text.is_char_boundary(*at));
    let text = &text[..end.unwrap_or(0)];
    put_count(out, text.len());
    out.extend_from_slice(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_of_more_than_128_bits_are_refused() {
        let mut bytes = vec![0xff; 18];
        bytes.push(0x03);
        assert_eq!(Reader::new(&bytes, 0).number(), Ok(u128::MAX));
        bytes[18] = 0x04;
        assert!(Reader::new(&bytes, 0).number().is_err());
        assert!(Reader::new(&[0x80; 40], 0).number().is_err());
    }

    proptest! {
        #[test]
        fn numbers_read_back(number: u128, shift in 0u32..128) {
            let mut bytes = Vec::new();
            put_number(&mut bytes, number >> shift);
            let mut reader = Reader::new(&bytes, 0);
            prop_assert_eq!(reader.number(), Ok(number >> shift));
            prop_assert_eq!(reader.finish(), Ok(()));
        }
    }
}
