//! One neighbour's connection: reads what is there, writes what fits.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};

use nearside_origin::bgp::PeerId;
use rustix::event::PollFlags;

#[derive(Debug)]
pub(super) struct Connection {
    pub(super) peer: PeerId,
    stream: TcpStream,
    /// What the kernel would not take yet: a few keep-alives at most, since a neighbour that does not
    /// read does not write either and runs into its hold time.
    unsent: Vec<u8>,
    buffer: Box<[u8]>,
}

/// What a look at the connection brought.
pub(super) enum Received<'a> {
    Bytes(&'a [u8]),
    Nothing,
    End,
}

/// A full table comes at some 100 MB/s; this is a millisecond of it, so that others have their turn.
const BUFFER: usize = 64 * 1024;

impl Connection {
    /// `None` when the connection broke before it began; the collector's timer tidies up.
    pub(super) fn new(peer: PeerId, stream: TcpStream) -> Option<Self> {
        stream.set_nonblocking(true).ok()?;
        Some(Self {
            peer,
            stream,
            unsent: Vec::new(),
            buffer: vec![0; BUFFER].into(),
        })
    }

    pub(super) fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// What to wait for.
    pub(super) fn wanted(&self) -> PollFlags {
        if self.unsent.is_empty() {
            PollFlags::IN
        } else {
            PollFlags::IN | PollFlags::OUT
        }
    }

    pub(super) fn send(&mut self, bytes: &[u8]) {
        self.unsent.extend_from_slice(bytes);
        self.flush();
    }

    /// Errors show when the connection is read.
    fn flush(&mut self) {
        while !self.unsent.is_empty() {
            match self.stream.write(&self.unsent) {
                Ok(written) if written > 0 => drop(self.unsent.drain(..written)),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                _ => return,
            }
        }
    }

    pub(super) fn receive(&mut self) -> Received<'_> {
        self.flush();
        match self.stream.read(&mut self.buffer) {
            Ok(0) => Received::End,
            Ok(length) => Received::Bytes(&self.buffer[..length]),
            Err(error) if is_passing(error.kind()) => Received::Nothing,
            Err(_) => Received::End,
        }
    }

    /// Ends our side in order. What the neighbour still says is read away first: a socket closed over
    /// unread bytes resets the connection, and our last words would be lost.
    pub(super) fn say_goodbye(&mut self) {
        self.flush();
        let _ = self.stream.shutdown(Shutdown::Write);
        while matches!(self.stream.read(&mut self.buffer), Ok(length) if length > 0) {}
    }
}

fn is_passing(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::WouldBlock | ErrorKind::Interrupted)
}
