use crate::{DecodeError, GameText};

/// Reads a message front to back; every read names its field, so that an error tells the place.
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    offset: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, offset: 0 }
    }

    /// A cursor behind `prefix`; an error that says `expected` when the message starts otherwise.
    pub(crate) fn after(
        bytes: &'a [u8],
        prefix: &[u8],
        expected: &'static str,
    ) -> Result<Self, DecodeError> {
        if bytes.starts_with(prefix) {
            let offset = prefix.len();
            Ok(Self { bytes, offset })
        } else {
            Err(DecodeError::unrecognised(expected, bytes))
        }
    }

    pub(crate) fn rest(&self) -> &'a [u8] {
        &self.bytes[self.offset..]
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest().is_empty()
    }

    /// Whether the rest starts with `prefix`; if so, steps behind it.
    pub(crate) fn skip(&mut self, prefix: &[u8]) -> bool {
        let found = self.rest().starts_with(prefix);
        if found {
            self.offset += prefix.len();
        }
        found
    }

    pub(crate) fn array<const N: usize>(
        &mut self,
        field: &'static str,
    ) -> Result<[u8; N], DecodeError> {
        self.chunk(field).copied()
    }

    /// The same without a copy.
    pub(crate) fn chunk<const N: usize>(
        &mut self,
        field: &'static str,
    ) -> Result<&'a [u8; N], DecodeError> {
        let offset = self.offset;
        let found = self.rest().first_chunk::<N>();
        let chunk = found.ok_or(DecodeError::Truncated { field, offset })?;
        self.offset += N;
        Ok(chunk)
    }

    pub(crate) fn u8(&mut self, field: &'static str) -> Result<u8, DecodeError> {
        self.array::<1>(field).map(|[byte]| byte)
    }

    pub(crate) fn u16_le(&mut self, field: &'static str) -> Result<u16, DecodeError> {
        self.array(field).map(u16::from_le_bytes)
    }

    pub(crate) fn u32_le(&mut self, field: &'static str) -> Result<u32, DecodeError> {
        self.array(field).map(u32::from_le_bytes)
    }

    pub(crate) fn i32_le(&mut self, field: &'static str) -> Result<i32, DecodeError> {
        self.array(field).map(i32::from_le_bytes)
    }

    pub(crate) fn u64_le(&mut self, field: &'static str) -> Result<u64, DecodeError> {
        self.array(field).map(u64::from_le_bytes)
    }

    pub(crate) fn u16_be(&mut self, field: &'static str) -> Result<u16, DecodeError> {
        self.array(field).map(u16::from_be_bytes)
    }

    pub(crate) fn u32_be(&mut self, field: &'static str) -> Result<u32, DecodeError> {
        self.array(field).map(u32::from_be_bytes)
    }

    pub(crate) fn u64_be(&mut self, field: &'static str) -> Result<u64, DecodeError> {
        self.array(field).map(u64::from_be_bytes)
    }

    /// A text up to its NUL, which must be there.
    pub(crate) fn text(&mut self, field: &'static str) -> Result<GameText, DecodeError> {
        let rest = self.rest();
        let offset = self.offset;
        let end = rest.iter().position(|byte| *byte == 0);
        let end = end.ok_or(DecodeError::Truncated { field, offset })?;
        self.offset += end + 1;
        Ok(GameText::from(&rest[..end]))
    }

    /// A text up to its NUL or, where senders forget it, to the end of the message.
    pub(crate) fn text_or_rest(&mut self) -> GameText {
        let text = GameText::from(self.rest());
        self.offset = (self.offset + text.as_bytes().len() + 1).min(self.bytes.len());
        text
    }
}

/// Appends a text and its NUL.
pub(crate) fn put_text(out: &mut Vec<u8>, text: &GameText) {
    out.extend_from_slice(text.as_bytes());
    out.push(0);
}
