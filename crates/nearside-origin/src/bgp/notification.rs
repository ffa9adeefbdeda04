//! NOTIFICATION: the last word before a session ends (RFC 4271 section 4.5).

use std::fmt;

use super::cursor::Cursor;
use super::frame::{self, MessageType};

/// Why one side ends the session, by the numbers of IANA's BGP error registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notification {
    /// The class of error.
    pub code: u8,
    /// What exactly, within the class; 0 when there is no more to say.
    pub subcode: u8,
    /// What the error was about; its form depends on the codes.
    pub data: Vec<u8>,
}

impl Notification {
    pub(super) const NOT_SYNCHRONIZED: Self = Self::bare(1, 1);
    pub(super) const OPEN_MALFORMED: Self = Self::bare(2, 0);
    pub(super) const BAD_PEER_AS: Self = Self::bare(2, 2);
    pub(super) const BAD_IDENTIFIER: Self = Self::bare(2, 3);
    pub(super) const UNSUPPORTED_PARAMETER: Self = Self::bare(2, 4);
    pub(super) const UNACCEPTABLE_HOLD_TIME: Self = Self::bare(2, 6);
    pub(super) const MALFORMED_ATTRIBUTE_LIST: Self = Self::bare(3, 1);
    pub(super) const OPTIONAL_ATTRIBUTE_ERROR: Self = Self::bare(3, 9);
    pub(super) const INVALID_NETWORK_FIELD: Self = Self::bare(3, 10);
    pub(super) const HOLD_TIMER_EXPIRED: Self = Self::bare(4, 0);
    /// Administrative shutdown: this side was told to stop.
    pub const SHUTDOWN: Self = Self::bare(6, 2);
    /// The peer sent more prefixes than it may (RFC 4486).
    pub const PREFIX_LIMIT: Self = Self::bare(6, 1);

    const fn bare(code: u8, subcode: u8) -> Self {
        Self {
            code,
            subcode,
            data: Vec::new(),
        }
    }

    /// A length no message of that type can have; the data repeats it (RFC 4271 section 6.1).
    pub(super) fn bad_length(length: u16) -> Self {
        Self {
            data: length.to_be_bytes().to_vec(),
            ..Self::bare(1, 2)
        }
    }

    pub(super) fn bad_type(kind: u8) -> Self {
        Self {
            data: vec![kind],
            ..Self::bare(1, 3)
        }
    }

    /// Only version 4 is spoken here; the data names it (RFC 4271 section 6.2).
    pub(super) fn unsupported_version() -> Self {
        Self {
            data: vec![0, 4],
            ..Self::bare(2, 1)
        }
    }

    /// A message that its state does not allow; the subcode names the state (RFC 6608).
    pub(super) fn unexpected(subcode: u8, kind: MessageType) -> Self {
        Self {
            data: vec![kind.to_wire()],
            ..Self::bare(5, subcode)
        }
    }

    pub(super) fn parse(body: &[u8]) -> Option<Self> {
        let mut cursor = Cursor::new(body);
        Some(Self {
            code: cursor.u8()?,
            subcode: cursor.u8()?,
            data: cursor.rest().to_vec(),
        })
    }

    pub(super) fn emit(&self) -> Vec<u8> {
        let body = [&[self.code, self.subcode], self.data.as_slice()].concat();
        frame::emit(MessageType::Notification, &body)
    }

    fn meaning(&self) -> &'static str {
        match (self.code, self.subcode) {
            (1, 1) => "connection not synchronized",
            (1, 2) => "bad message length",
            (1, 3) => "bad message type",
            (1, _) => "message header error",
            (2, 1) => "unsupported version",
            (2, 2) => "bad peer AS",
            (2, 3) => "bad BGP identifier",
            (2, 4) => "unsupported optional parameter",
            (2, 6) => "unacceptable hold time",
            (2, 7) => "unsupported capability",
            (2, _) => "malformed OPEN",
            (3, 1) => "malformed attribute list",
            (3, 9) => "optional attribute error",
            (3, 10) => "invalid network field",
            (3, _) => "malformed UPDATE",
            (4, _) => "hold timer expired",
            (5, _) => "message out of order",
            (6, 1) => "too many prefixes",
            (6, 2) => "administrative shutdown",
            (6, 3) => "peer de-configured",
            (6, 4) => "administrative reset",
            (6, 5) => "connection rejected",
            (6, 6) => "other configuration change",
            (6, 7) => "connection collision",
            (6, 8) => "out of resources",
            (6, 9) => "hard reset",
            (6, _) => "ceased",
            _ => "unknown error",
        }
    }
}

impl fmt::Display for Notification {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let meaning = self.meaning();
        write!(f, "{meaning} (code {}/{})", self.code, self.subcode)
    }
}
