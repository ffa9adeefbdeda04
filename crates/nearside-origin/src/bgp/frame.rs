//! Cuts the byte stream into messages: 16 octets of ones, a length, a type (RFC 4271 section 4.1).

use super::notification::Notification;

/// The marker, all ones since authentication by marker was given up.
const MARKER: [u8; 16] = [0xFF; 16];
const LENGTH_AT: usize = 16;
const TYPE_AT: usize = 18;
pub(super) const HEADER: usize = 19;
/// Longest message without the extended-message capability (RFC 8654), which we do not offer: a
/// collector gains nothing from it, and this bounds what a peer can make us keep.
pub const MAX_MESSAGE: usize = 4_096;

/// The messages there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MessageType {
    Open,
    Update,
    Notification,
    KeepAlive,
    RouteRefresh,
}

impl MessageType {
    fn from_wire(kind: u8) -> Option<Self> {
        match kind {
            1 => Some(Self::Open),
            2 => Some(Self::Update),
            3 => Some(Self::Notification),
            4 => Some(Self::KeepAlive),
            5 => Some(Self::RouteRefresh),
            _ => None,
        }
    }

    pub(super) fn to_wire(self) -> u8 {
        match self {
            Self::Open => 1,
            Self::Update => 2,
            Self::Notification => 3,
            Self::KeepAlive => 4,
            Self::RouteRefresh => 5,
        }
    }

    /// Whether a message of this type may be `length` octets long, header included.
    fn allows(self, length: usize) -> bool {
        match self {
            Self::Open => length >= 29,
            Self::Update => length >= 23,
            Self::Notification => length >= 21,
            Self::KeepAlive => length == HEADER,
            // Longer with outbound filters (RFC 5291), which we never ask for; skipped anyway.
            Self::RouteRefresh => length >= 23,
        }
    }
}

/// A whole message; `body` is what follows the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Message<'a> {
    pub(super) kind: MessageType,
    pub(super) body: &'a [u8],
}

/// Puts a message around `body`, which must leave room for the header in [`MAX_MESSAGE`].
pub(super) fn emit(kind: MessageType, body: &[u8]) -> Vec<u8> {
    let length = u16::try_from(HEADER + body.len()).expect("what we say is a few dozen octets");
    let mut message = Vec::with_capacity(usize::from(length));
    message.extend(MARKER);
    message.extend(length.to_be_bytes());
    message.push(kind.to_wire());
    message.extend(body);
    message
}

/// What a header says, checked.
#[derive(Clone, Copy)]
struct Header {
    kind: MessageType,
    /// Of the whole message, from [`HEADER`] to [`MAX_MESSAGE`].
    length: usize,
}

impl Header {
    /// `None` while the header is incomplete: judging only whole headers makes the verdict the same
    /// for every way the stream was cut.
    fn read(bytes: &[u8]) -> Result<Option<Self>, Notification> {
        let Some(header) = bytes.first_chunk::<HEADER>() else {
            return Ok(None);
        };
        if !header.starts_with(&MARKER) {
            return Err(Notification::NOT_SYNCHRONIZED);
        }
        let stated = u16::from_be_bytes([header[LENGTH_AT], header[LENGTH_AT + 1]]);
        let length = usize::from(stated);
        if !(HEADER..=MAX_MESSAGE).contains(&length) {
            return Err(Notification::bad_length(stated));
        }
        let kind = MessageType::from_wire(header[TYPE_AT])
            .ok_or_else(|| Notification::bad_type(header[TYPE_AT]))?;
        if !kind.allows(length) {
            return Err(Notification::bad_length(stated));
        }
        Ok(Some(Self { kind, length }))
    }
}

/// Keeps the beginning of a message until its end arrives: never more than one message.
#[derive(Debug, Default)]
pub(super) struct Framer {
    partial: Vec<u8>,
    /// The last message that arrived in pieces, while it is being read.
    joined: Vec<u8>,
}

impl Framer {
    /// The next whole message of what is kept and `input`, which moves forward; `None` when all of
    /// `input` was taken and more is needed. After an error the stream makes no sense any more.
    pub(super) fn next<'message, 'input: 'message>(
        &'message mut self,
        input: &mut &'input [u8],
    ) -> Result<Option<Message<'message>>, Notification> {
        if self.partial.is_empty() {
            self.next_in_place(input)
        } else {
            self.next_joined(input)
        }
    }

    /// Most messages arrive whole: those are read where they are.
    fn next_in_place<'a>(
        &mut self,
        input: &mut &'a [u8],
    ) -> Result<Option<Message<'a>>, Notification> {
        let header = Header::read(input)?;
        let whole = header.and_then(|header| input.split_at_checked(header.length));
        let (Some(header), Some((message, rest))) = (header, whole) else {
            self.partial.extend_from_slice(input);
            *input = &[];
            return Ok(None);
        };
        *input = rest;
        let body = &message[HEADER..];
        let kind = header.kind;
        Ok(Some(Message { kind, body }))
    }

    fn next_joined(&mut self, input: &mut &[u8]) -> Result<Option<Message<'_>>, Notification> {
        self.fill(input, HEADER);
        let Some(header) = Header::read(&self.partial)? else {
            return Ok(None);
        };
        self.fill(input, header.length);
        if self.partial.len() < header.length {
            return Ok(None);
        }
        std::mem::swap(&mut self.partial, &mut self.joined);
        self.partial.clear();
        let body = &self.joined[HEADER..];
        let kind = header.kind;
        Ok(Some(Message { kind, body }))
    }

    fn fill(&mut self, input: &mut &[u8], length: usize) {
        let missing = length.saturating_sub(self.partial.len());
        let (taken, rest) = input.split_at(missing.min(input.len()));
        self.partial.extend_from_slice(taken);
        *input = rest;
    }

    /// Octets waiting for the rest of their message, below [`MAX_MESSAGE`].
    pub(super) fn waiting(&self) -> usize {
        self.partial.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The types and body lengths of all messages, fed in pieces of `size`.
    fn messages(stream: &[u8], size: usize) -> Result<Vec<(MessageType, usize)>, Notification> {
        let mut framer = Framer::default();
        let mut found = Vec::new();
        for mut piece in stream.chunks(size) {
            while let Some(message) = framer.next(&mut piece)? {
                found.push((message.kind, message.body.len()));
            }
            assert!(framer.waiting() < MAX_MESSAGE);
        }
        Ok(found)
    }

    #[test]
    fn messages_are_the_same_however_the_stream_is_cut() {
        let stream = [
            emit(MessageType::KeepAlive, &[]),
            emit(MessageType::Update, &[7; 900]),
            emit(MessageType::Update, &[0; MAX_MESSAGE - HEADER]),
            emit(MessageType::KeepAlive, &[]),
        ]
        .concat();
        let whole = messages(&stream, stream.len()).unwrap();
        assert_eq!(whole.len(), 4);
        assert_eq!(whole[1], (MessageType::Update, 900));
        for size in [1, 2, 18, 19, 20, 37, 1_000, 4_095, 4_096] {
            assert_eq!(messages(&stream, size).unwrap(), whole, "pieces of {size}");
        }
    }

    #[test]
    fn bad_headers_are_named_by_the_registry() {
        let mut unmarked = emit(MessageType::KeepAlive, &[]);
        unmarked[3] = 0;
        assert_eq!(messages(&unmarked, 5), Err(Notification::NOT_SYNCHRONIZED));
        let mut unknown = emit(MessageType::KeepAlive, &[]);
        unknown[TYPE_AT] = 9;
        assert_eq!(messages(&unknown, 5), Err(Notification::bad_type(9)));
        for (length, kind) in [(18, 4), (4_097, 2), (20, 4), (22, 2), (28, 1)] {
            let mut message = [MARKER.as_slice(), &[0; 3]].concat();
            message[LENGTH_AT..TYPE_AT].copy_from_slice(&u16::to_be_bytes(length));
            message[TYPE_AT] = kind;
            assert_eq!(messages(&message, 7), Err(Notification::bad_length(length)));
        }
    }
}
