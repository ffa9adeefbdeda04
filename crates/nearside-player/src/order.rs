//! What other threads ask of the player's, and what they hear.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use nearside_net::{IcmpErrors, MonotonicClock, NetError, PortConfig, UdpPort};
use nearside_tunnel::crypto::PublicKey;
use nearside_tunnel::link;
use nearside_tunnel::messages::Refusal;
use nearside_tunnel::node::{LinkId, NodeView};

/// What another thread wants.
#[derive(Debug)]
pub(crate) enum Order {
    Connect(PublicKey),
    Find(SocketAddr),
    Send(LinkId, Vec<u8>),
    SendDirect(LinkId, Vec<u8>),
    ReportLag(LinkId),
    Compare(LinkId, bool),
    Close(LinkId),
    View(Sender<NodeView>),
}

/// What happens to a player.
#[derive(Debug, Clone, PartialEq)]
pub enum Happening {
    /// The directory took us in; we are seen at this address.
    Joined(SocketAddr),
    /// The directory refuses us.
    Refused(Refusal),
    /// The directory does not answer; links go on.
    DirectoryLost,
    /// Our NAT gives every peer another port: we are no relay for others.
    SymmetricNat,
    /// A link is there.
    Connected {
        /// Its number.
        link: LinkId,
        /// Who the other end is.
        peer: PublicKey,
        /// Whether we asked for it.
        leads: bool,
        /// Whether the handshake had to go through a relay.
        through_relay: bool,
    },
    /// A peer could not be reached.
    Unreachable(PublicKey),
    /// Who stands beside a game server.
    Found {
        /// The game server.
        game: SocketAddr,
        /// Who; nobody if `None`.
        peer: Option<PublicKey>,
    },
    /// A packet came ([`crate::Role::Library`] only).
    Delivered {
        /// The link.
        link: LinkId,
        /// The packet.
        payload: Vec<u8>,
    },
    /// A packet that was to go on the direct path alone was not sent: the link has none.
    NotSent {
        /// The link.
        link: LinkId,
    },
    /// Something happened to a link.
    Link(LinkId, link::Event),
    /// Packets of the game go plainly to its server.
    Plain {
        /// The game server.
        game: SocketAddr,
        /// Why not sealed.
        why: WhyPlain,
    },
    /// The thread has ended, and why if not on request.
    Ended(Option<String>),
}

/// Takes what happens from the loop to whoever reads it, and bounds what nobody reads.
#[derive(Debug, Clone)]
pub(crate) struct Told {
    happenings: Sender<Happening>,
    unread: Arc<Unread>,
}

/// What waits to be read, and what did not fit any more.
#[derive(Debug, Default)]
pub(crate) struct Unread {
    waiting: AtomicUsize,
    dropped: AtomicU64,
}

/// Packets that wait at most, a minute of a lively game; other events have as much room again, so that
/// no flood of packets hides them.
const MOST_PACKETS: usize = 4_096;
const MOST_HAPPENINGS: usize = 2 * MOST_PACKETS;

impl Told {
    pub(crate) fn new() -> (Self, Heard) {
        let (happenings, heard) = channel();
        let unread = Arc::new(Unread::default());
        let heard = Heard {
            happenings: heard,
            unread: Arc::clone(&unread),
        };
        (Self { happenings, unread }, heard)
    }

    /// Tells it, unless too much waits already. Nobody may be listening any more.
    pub(crate) fn tell(&self, happening: Happening) {
        let most = match happening {
            Happening::Delivered { .. } => MOST_PACKETS,
            Happening::Ended(_) => usize::MAX,
            _ => MOST_HAPPENINGS,
        };
        if self.unread.waiting.load(Ordering::Relaxed) >= most {
            self.unread.dropped.fetch_add(1, Ordering::Relaxed);
        } else {
            // Before it can be read, so that the count never falls below nothing.
            self.unread.waiting.fetch_add(1, Ordering::Relaxed);
            let _ = self.happenings.send(happening);
        }
    }
}

/// The other end of [`Told`].
#[derive(Debug)]
pub(crate) struct Heard {
    happenings: Receiver<Happening>,
    unread: Arc<Unread>,
}

impl Heard {
    pub(crate) fn wait(&self, time: Duration) -> Option<Happening> {
        let happening = self.happenings.recv_timeout(time).ok()?;
        self.unread.waiting.fetch_sub(1, Ordering::Relaxed);
        Some(happening)
    }

    pub(crate) fn dropped(&self) -> u64 {
        self.unread.dropped.load(Ordering::Relaxed)
    }
}

/// Why packets of a game go plainly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhyPlain {
    /// Nobody of ours stands beside the server, nor leads to it.
    NobodyThere,
    /// Somebody does, and cannot be reached.
    Unreachable,
    /// Somebody does, and does not take this game: it has no room, or may not let it out.
    Refused,
    /// It is not known yet: the directory or the peer has not answered in time.
    NoAnswer,
    /// The directory refuses us.
    DirectoryRefuses,
}

/// Brings orders into the loop, and wakes it.
#[derive(Debug)]
pub(crate) struct Bell {
    orders: Sender<Order>,
    socket: UdpSocket,
}

impl Bell {
    /// A bell, where the loop hears it, and what it finds then.
    pub(crate) fn new(
        clock: &MonotonicClock,
    ) -> Result<(Self, UdpPort, Receiver<Order>), NetError> {
        let local: SocketAddr = (Ipv4Addr::LOCALHOST, 0).into();
        let config = PortConfig {
            icmp_errors: IcmpErrors::Ignore,
            ..PortConfig::at(local)
        };
        let port = UdpPort::bind(config, clock)?;
        let failed = |source: io::Error| NetError::Bind {
            addr: local,
            source,
        };
        let socket = UdpSocket::bind(local).map_err(failed)?;
        socket.connect(port.local_addr()).map_err(failed)?;
        socket.set_nonblocking(true).map_err(failed)?;
        let (orders, receiver) = channel();
        Ok((Self { orders, socket }, port, receiver))
    }

    /// Gives an order; `false` when the loop has ended.
    pub(crate) fn ring(&self, order: Order) -> bool {
        let sent = self.orders.send(order).is_ok();
        // A full buffer means that the loop has been woken often enough.
        let _ = self.socket.send(b"!");
        sent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_reads_is_bounded_and_counted() {
        let (told, heard) = Told::new();
        let packet = || Happening::Delivered {
            link: LinkId(1),
            payload: vec![0; 100],
        };
        for _ in 0..10_000 {
            told.tell(packet());
        }
        told.tell(Happening::DirectoryLost);
        assert_eq!(heard.dropped(), 10_000 - MOST_PACKETS as u64);
        let read: Vec<Happening> = std::iter::from_fn(|| heard.wait(Duration::ZERO)).collect();
        assert_eq!(read.len(), MOST_PACKETS + 1);
        assert_eq!(
            read.last(),
            Some(&Happening::DirectoryLost),
            "events have room"
        );
        told.tell(packet());
        assert_eq!(heard.wait(Duration::ZERO), Some(packet()), "and again");
    }
}
