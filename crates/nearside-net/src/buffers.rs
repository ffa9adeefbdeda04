//! The memory datagrams are received into, shared by all ports of a loop.

use std::io::IoSliceMut;

use quinn_udp::{BATCH_SIZE, RecvMeta};

/// Room for one batch of datagrams of any size.
///
/// One is enough for all ports of a thread: 32 × 64 KiB, of which the system only backs the pages
/// that datagrams really touch.
#[derive(Debug)]
pub struct RecvBuffers {
    bytes: Vec<u8>,
    metas: [RecvMeta; BATCH_SIZE],
}

impl RecvBuffers {
    /// Datagrams that one call brings at most, unless the kernel joined some: after fewer, nothing
    /// more was waiting.
    pub const BATCH: usize = BATCH_SIZE;

    /// Empty buffers.
    pub fn new() -> Self {
        Self {
            bytes: vec![0; BATCH_SIZE * DATAGRAM_ROOM],
            metas: [RecvMeta::default(); BATCH_SIZE],
        }
    }

    /// The buffers in the form the receive call takes them.
    pub(crate) fn parts(&mut self) -> ([IoSliceMut<'_>; BATCH_SIZE], &mut [RecvMeta]) {
        let mut rooms = self.bytes.chunks_exact_mut(DATAGRAM_ROOM);
        let slices = std::array::from_fn(|_| {
            IoSliceMut::new(rooms.next().expect("as many rooms as a batch has slots"))
        });
        (slices, &mut self.metas)
    }

    /// The first `count` filled buffers with what is known of each.
    pub(crate) fn filled(&self, count: usize) -> impl Iterator<Item = (&RecvMeta, &[u8])> {
        let rooms = self.bytes.chunks_exact(DATAGRAM_ROOM);
        self.metas
            .iter()
            .zip(rooms)
            .take(count)
            .map(|(meta, room)| (meta, &room[..meta.len.min(DATAGRAM_ROOM)]))
    }
}

impl Default for RecvBuffers {
    fn default() -> Self {
        Self::new()
    }
}

/// The datagrams of one buffer: the kernel may join several of one sender that follow each other
/// (generic receive offload), each `stride` long but for the last. An empty datagram is one too.
pub(crate) fn split_joined(bytes: &[u8], stride: usize) -> impl Iterator<Item = &[u8]> {
    let empty = bytes.is_empty().then_some(bytes);
    let step = if stride == 0 { usize::MAX } else { stride };
    empty.into_iter().chain(bytes.chunks(step))
}

/// A UDP payload has at most 65,507 bytes over IPv4 and 65,527 over IPv6 (RFC 768 length field), and
/// joined datagrams stay below 64 KiB in all.
const DATAGRAM_ROOM: usize = 64 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joined_datagrams_come_apart_at_the_stride() {
        let parts: Vec<&[u8]> = split_joined(b"aaabbbcc", 3).collect();
        assert_eq!(parts, [b"aaa".as_slice(), b"bbb", b"cc"]);
        let single: Vec<&[u8]> = split_joined(b"aaa", 3).collect();
        assert_eq!(single, [b"aaa"]);
    }

    #[test]
    fn an_empty_datagram_is_one_datagram() {
        let parts: Vec<&[u8]> = split_joined(b"", 0).collect();
        assert_eq!(parts, [b""]);
    }
}
