//! A slice that is read from the front and never runs past its end.

/// What is left to read. Every method answers `None`, and takes nothing, when too little is left.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// All that is left, without taking it.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub(crate) fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(taken)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(*taken)
    }

    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.array().map(|[byte]| byte)
    }

    pub(crate) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_be_bytes)
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_be_bytes)
    }

    /// A field that begins with its length in one octet.
    pub(crate) fn short_field(&mut self) -> Option<&'a [u8]> {
        let mut ahead = *self;
        let length = ahead.u8()?;
        let field = ahead.take(usize::from(length))?;
        *self = ahead;
        Some(field)
    }

    /// A field that begins with its length in two octets.
    pub(crate) fn long_field(&mut self) -> Option<&'a [u8]> {
        let mut ahead = *self;
        let length = ahead.u16()?;
        let field = ahead.take(usize::from(length))?;
        *self = ahead;
        Some(field)
    }
}
