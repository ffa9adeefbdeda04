//! Listens for BGP neighbours and hands their bytes to the collector of `nearside-origin`.
//!
//! One thread, one loop over the listening socket and the neighbours' connections. It never calls
//! anybody: neighbours that lose their session connect again.

mod connection;
mod error;
#[cfg(target_os = "linux")]
mod options;
mod protection;

use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::time::Duration;

use nearside_origin::bgp::{
    Collector, CollectorConfig, CollectorOutput, Neighbour, PeerEvent, PeerId, Refusal, Rib,
};
use nearside_types::Moment;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::clock::MonotonicClock;
use crate::poll::Stop;
use connection::{Connection, Received};
pub use error::BgpListenError;
use protection::Protections;
pub use protection::{Md5Key, Md5KeyError, Protection};

/// Where to listen, and to whom.
#[derive(Debug, Clone)]
pub struct BgpConfig {
    /// Default 127.0.0.1:1790: only this machine, and no rights needed. Give the address of an
    /// interface, and port 179, for routers elsewhere.
    pub listen: SocketAddr,
    /// Neighbours and table.
    pub collector: CollectorConfig,
    /// What is asked of neighbours beyond this machine. Default nothing.
    pub protection: Vec<Protection>,
}

impl BgpConfig {
    /// Listens on loopback for these neighbours.
    pub fn new(collector: CollectorConfig) -> Self {
        Self {
            listen: (Ipv4Addr::LOCALHOST, 1790).into(),
            collector,
            protection: Vec::new(),
        }
    }
}

/// Told what happens. Called from the listener's loop: what takes long here delays the neighbours.
pub trait BgpObserver {
    /// The table has changed; comes at most as often as the collector is configured to publish.
    fn publish(&mut self, rib: &Rib);

    /// Something happened with a neighbour.
    fn event(&mut self, neighbour: Neighbour, event: &PeerEvent) {
        let _ = (neighbour, event);
    }

    /// Somebody who is no neighbour was turned away.
    fn refused(&mut self, refusal: Refusal) {
        let _ = refusal;
    }
}

/// A socket that waits for BGP neighbours.
#[derive(Debug)]
pub struct BgpListener {
    listener: TcpListener,
    protections: Protections,
    collector: Collector,
    /// At most one for each neighbour.
    connections: Vec<Connection>,
}

/// How long a stop may go unnoticed. [`Stop`] wakes loops over UDP ports; here looking four times a
/// second costs nothing that could be measured.
const LONGEST_SLEEP: Duration = Duration::from_millis(250);

impl BgpListener {
    /// Opens the listening socket.
    pub fn bind(config: BgpConfig) -> Result<Self, BgpListenError> {
        let neighbours = config.collector.neighbours.iter();
        let neighbours = neighbours.map(|neighbour| neighbour.addr);
        let protections = Protections::new(neighbours, &config.protection);
        let collector = Collector::new(config.collector)?;
        let listener = protections.listen(config.listen)?;
        Ok(Self {
            listener,
            protections,
            collector,
            connections: Vec::new(),
        })
    }

    /// Where neighbours can connect: the port the system chose when 0 was asked for.
    pub fn local_addr(&self) -> Result<SocketAddr, BgpListenError> {
        let unknown = |source| BgpListenError::Socket { source };
        self.listener.local_addr().map_err(unknown)
    }

    /// Serves neighbours until `stop`, then says goodbye to them. Blocks; give it a thread.
    pub fn run(
        mut self,
        stop: &Stop,
        clock: &MonotonicClock,
        observer: &mut impl BgpObserver,
    ) -> Result<(), BgpListenError> {
        while !stop.is_stopped() {
            let until = self.drain(observer);
            let ready = self.wait(until, clock)?;
            self.collector.handle_timeout(clock.now());
            self.receive(&ready.connections, clock);
            // Before a new connection takes the place of one that these words are for.
            self.drain(observer);
            if ready.listener {
                self.accept(clock, observer)?;
            }
        }
        self.collector.shut_down(clock.now());
        self.drain(observer);
        Ok(())
    }

    /// Does what the collector wants, and returns when it wants to be called again.
    fn drain(&mut self, observer: &mut impl BgpObserver) -> Option<Moment> {
        loop {
            match self.collector.poll_output() {
                CollectorOutput::Send { peer, bytes } => self.send(peer, &bytes),
                CollectorOutput::Close { peer } => self.close(peer),
                CollectorOutput::Event { peer, event } => {
                    observer.event(self.collector.neighbours()[peer.0], &event);
                }
                CollectorOutput::Publish => observer.publish(self.collector.rib()),
                CollectorOutput::Wait(until) => return until,
            }
        }
    }

    fn send(&mut self, peer: PeerId, bytes: &[u8]) {
        let mut connections = self.connections.iter_mut();
        if let Some(connection) = connections.find(|connection| connection.peer == peer) {
            connection.send(bytes);
        }
    }

    fn close(&mut self, peer: PeerId) {
        let mut connections = self.connections.iter_mut();
        if let Some(connection) = connections.find(|connection| connection.peer == peer) {
            connection.say_goodbye();
        }
        self.forget(peer);
    }

    fn forget(&mut self, peer: PeerId) {
        self.connections
            .retain(|connection| connection.peer != peer);
    }

    /// Sleeps until a socket can be read (or written, where something is left to write).
    fn wait(&self, until: Option<Moment>, clock: &MonotonicClock) -> Result<Ready, BgpListenError> {
        let mut fds = vec![PollFd::new(&self.listener, PollFlags::IN)];
        let wanted = self.connections.iter();
        fds.extend(wanted.map(|connection| PollFd::new(connection.stream(), connection.wanted())));
        let left = until.map_or(LONGEST_SLEEP, |until| until - clock.now());
        let timeout = Timespec::try_from(left.min(LONGEST_SLEEP)).expect("a quarter of a second");
        match poll(&mut fds, Some(&timeout)) {
            Ok(_) => Ok(self.ready(&fds)),
            // A signal: the loop looks whether to stop and comes back.
            Err(rustix::io::Errno::INTR) => Ok(Ready::default()),
            Err(errno) => Err(BgpListenError::Socket {
                source: errno.into(),
            }),
        }
    }

    fn ready(&self, fds: &[PollFd<'_>]) -> Ready {
        let is_ready = |fd: &PollFd<'_>| !fd.revents().is_empty();
        let neighbours = self.connections.iter().zip(fds.iter().skip(1));
        Ready {
            listener: fds.first().is_some_and(is_ready),
            connections: neighbours
                .filter(|(_, fd)| is_ready(fd))
                .map(|(connection, _)| connection.peer)
                .collect(),
        }
    }

    fn receive(&mut self, ready: &[PeerId], clock: &MonotonicClock) {
        for peer in ready {
            let mut connections = self.connections.iter_mut();
            let Some(connection) = connections.find(|connection| connection.peer == *peer) else {
                continue;
            };
            match connection.receive() {
                Received::Bytes(bytes) => self.collector.handle_bytes(clock.now(), *peer, bytes),
                Received::Nothing => {}
                Received::End => {
                    self.collector.handle_disconnect(clock.now(), *peer);
                    self.forget(*peer);
                }
            }
        }
    }

    fn accept(
        &mut self,
        clock: &MonotonicClock,
        observer: &mut impl BgpObserver,
    ) -> Result<(), BgpListenError> {
        let (stream, from) = match self.listener.accept() {
            Ok(accepted) => accepted,
            // Gone again before we looked.
            Err(error) if is_passing(error.kind()) => return Ok(()),
            Err(source) => return Err(BgpListenError::Socket { source }),
        };
        if self.protections.check_distance(&stream, from.ip()).is_err() {
            // Broken already; its neighbour calls again.
            return Ok(());
        }
        match self.collector.handle_connection(clock.now(), from.ip()) {
            Ok(peer) => {
                self.forget(peer);
                let connection = Connection::new(peer, stream);
                self.connections.extend(connection);
            }
            Err(refusal) => observer.refused(refusal),
        }
        Ok(())
    }
}

fn is_passing(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::WouldBlock | ErrorKind::Interrupted | ErrorKind::ConnectionAborted
    )
}

/// What can be read.
#[derive(Debug, Default)]
struct Ready {
    listener: bool,
    connections: Vec<PeerId>,
}
