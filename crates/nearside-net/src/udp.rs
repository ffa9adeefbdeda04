//! A UDP port: sends single datagrams, receives batches with the kernel's arrival times, and hands
//! out the ICMP errors that came back.
//!
//! Never blocks; [`crate::wait`] is where a loop sleeps. Fragmentation is off (quinn-udp sets
//! `IP_PMTUDISC_PROBE`), so a datagram beyond the interface's MTU is refused rather than cut up.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use quinn_udp::{Transmit, UdpSockRef, UdpSocketState};
use socket2::{Domain, Protocol, Socket, Type};

use crate::buffers::{RecvBuffers, split_joined};
use crate::clock::MonotonicClock;
use crate::error::NetError;
use crate::icmp::{is_out_of_buffers, is_reported_by_network, next_queued_error};
use crate::outbox::{Outbox, Run};
use crate::stamp::{ReadSpan, ReceivedAt, StampConverter};

/// What to open a port with. The defaults suit a prober; the lab changes two of them.
#[derive(Debug, Clone, Copy)]
pub struct PortConfig {
    /// The local address; port 0 takes a free one. An IPv6 port never carries IPv4.
    pub addr: SocketAddr,
    /// Bytes of kernel memory asked for in each direction. Default 8 MiB, which holds a burst of
    /// some 10,000 small datagrams. Beyond the system's limit (`net.core.rmem_max`) it takes
    /// privilege; [`UdpPort::buffers`] tells what was granted.
    pub buffer_bytes: usize,
    /// Whether ICMP errors are kept for [`UdpPort::drain_errors`]. Default yes.
    pub icmp_errors: IcmpErrors,
    /// Take traffic from the loopback interface only, where the system can promise that (Linux; a
    /// refusal is not an error). Default no.
    pub loopback_only: bool,
}

/// What to do with ICMP errors that come back for our datagrams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IcmpErrors {
    /// Keep them; whoever waits for the port must then drain them.
    Report,
    /// Forget them.
    Ignore,
}

impl PortConfig {
    /// A port at this address, with the defaults.
    pub fn at(addr: SocketAddr) -> Self {
        Self {
            addr,
            buffer_bytes: 8 << 20,
            icmp_errors: IcmpErrors::Report,
            loopback_only: false,
        }
    }

    /// Any free port on all IPv4 addresses.
    pub fn ephemeral_v4() -> Self {
        Self::at((Ipv4Addr::UNSPECIFIED, 0).into())
    }

    /// Any free port on all IPv6 addresses.
    pub fn ephemeral_v6() -> Self {
        Self::at((Ipv6Addr::UNSPECIFIED, 0).into())
    }
}

/// A datagram that came in; the payload lives until the callback returns.
#[derive(Debug, Clone, Copy)]
pub struct Datagram<'a> {
    /// Who sent it.
    pub from: SocketAddr,
    /// The local address it was sent to, where the system tells.
    pub to_ip: Option<IpAddr>,
    /// When it arrived.
    pub received: ReceivedAt,
    /// What it says.
    pub payload: &'a [u8],
}

/// What became of a datagram we sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SendOutcome {
    /// Handed to the kernel.
    Sent,
    /// The send buffer is full: try again later.
    WouldBlock,
    /// The kernel itself knows that it cannot get there: no route, or a local firewall forbids it.
    Unreachable,
}

/// An ICMP error came back for a datagram sent to this address: port, host or network unreachable,
/// or forbidden. The server is down, or not there for us. (A datagram refused for its size would end
/// up here too; probes are far below any MTU.)
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unreachable {
    /// The destination of our datagram (not the router that complained).
    pub to: SocketAddr,
}

/// Kernel memory of a port, as the kernel counts it (Linux reports twice what one asks for, since it
/// charges its own bookkeeping too).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SocketBuffers {
    /// Bytes for datagrams not yet read.
    pub receive: usize,
    /// Bytes for datagrams not yet gone.
    pub send: usize,
}

/// An open UDP port.
#[derive(Debug)]
pub struct UdpPort {
    socket: Socket,
    state: UdpSocketState,
    stamps: StampConverter,
    local: SocketAddr,
    icmp_errors: IcmpErrors,
    /// Datagrams that the next receive call makes room for; see [`next_appetite`].
    appetite: usize,
}

impl UdpPort {
    /// Opens the port.
    pub fn bind(config: PortConfig, clock: &MonotonicClock) -> Result<Self, NetError> {
        let addr = config.addr;
        let (socket, local) = open(config).map_err(|source| NetError::Bind { addr, source })?;
        let state =
            configure(&socket, config).map_err(|source| NetError::Configure { addr, source })?;
        Ok(Self {
            socket,
            state,
            stamps: StampConverter::new(clock.read_both()),
            local,
            icmp_errors: config.icmp_errors,
            appetite: RecvBuffers::BATCH,
        })
    }

    /// The address the port is bound to, with the real port number.
    pub fn local_addr(&self) -> SocketAddr {
        self.local
    }

    /// How much memory the kernel granted.
    pub fn buffers(&self) -> SocketBuffers {
        SocketBuffers {
            receive: self.socket.recv_buffer_size().unwrap_or(0),
            send: self.socket.send_buffer_size().unwrap_or(0),
        }
    }

    /// Hands one batch of waiting datagrams to `deliver`, in order of arrival, and says how many
    /// there were. Fewer than [`RecvBuffers::BATCH`] mean that no more were waiting: call it until
    /// then, or arrival times become suspect too easily after a clock step.
    pub fn recv_batch(
        &mut self,
        buffers: &mut RecvBuffers,
        clock: &MonotonicClock,
        mut deliver: impl FnMut(Datagram<'_>),
    ) -> Result<usize, NetError> {
        let (mut count, mut taken) = (0, 0);
        while taken < RecvBuffers::BATCH {
            let Some(batch) = self.fill(buffers, clock)? else {
                break;
            };
            count += self.deliver(buffers, &batch, &mut deliver);
            taken += batch.filled;
            if batch.filled < batch.room {
                // What is read next came after this call began.
                self.stamps.handle_empty(batch.read.began);
                break;
            }
            // More is waiting than was expected.
            self.appetite = RecvBuffers::BATCH;
        }
        self.appetite = next_appetite(taken);
        Ok(count)
    }

    fn deliver(
        &self,
        buffers: &RecvBuffers,
        batch: &Batch,
        deliver: &mut impl FnMut(Datagram<'_>),
    ) -> usize {
        let mut count = 0;
        for (meta, bytes) in buffers.filled(batch.filled) {
            let received = self.stamps.convert(batch.read, meta.timestamp);
            for payload in split_joined(bytes, meta.stride) {
                count += 1;
                deliver(Datagram {
                    from: meta.addr,
                    to_ip: meta.dst_ip.or_else(|| self.bound_ip()),
                    received,
                    payload,
                });
            }
        }
        count
    }

    /// Receives into the buffers; none when nothing waits or only pending errors were in the way.
    fn fill(
        &mut self,
        buffers: &mut RecvBuffers,
        clock: &MonotonicClock,
    ) -> Result<Option<Batch>, NetError> {
        let room = self.appetite;
        for _ in 0..PENDING_ERRORS_SKIPPED {
            let (mut slices, metas) = buffers.parts();
            let socket = UdpSockRef::from(&self.socket);
            let began = clock.read_both();
            match self.state.recv(socket, &mut slices[..room], metas) {
                Ok(filled) => {
                    let ended = clock.read_both();
                    let read = ReadSpan { began, ended };
                    return Ok(Some(Batch { filled, room, read }));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.stamps.handle_empty(began);
                    return Ok(None);
                }
                Err(error) if is_reported_by_network(&error) => {}
                Err(source) => return Err(self.receive_error(source)),
            }
        }
        Ok(None)
    }

    /// Sends one datagram, from `src_ip` if given (it must be an address of this machine).
    ///
    /// Take the time right before the call; it ends up in the sample.
    pub fn send(
        &self,
        to: SocketAddr,
        payload: &[u8],
        src_ip: Option<IpAddr>,
    ) -> Result<SendOutcome, NetError> {
        let transmit = Transmit {
            destination: to,
            ecn: None,
            contents: payload,
            segment_size: None,
            src_ip,
        };
        let mut attempts = 1;
        loop {
            match self
                .state
                .try_send(UdpSockRef::from(&self.socket), &transmit)
            {
                Ok(()) => return Ok(SendOutcome::Sent),
                // A socket reports the ICMP error of an earlier datagram on the next call and does
                // not send (ip(7), IP_RECVERR): the next attempt tells whether it meant this one.
                Err(error)
                    if is_reported_by_network(&error) && attempts < PENDING_ERRORS_SKIPPED =>
                {
                    attempts += 1;
                }
                Err(error) => return self.send_outcome(to, payload.len(), error),
            }
        }
    }

    /// Sends everything that waits and empties the outbox; gives how many datagrams the kernel would
    /// not take. For answers that nobody misses much: who wants to know why uses [`Self::send`].
    pub fn send_all(&self, outbox: &mut Outbox) -> usize {
        if let Some((to, payload)) = outbox.only() {
            let unsent = self.send_alone(to, payload);
            outbox.clear();
            return unsent;
        }
        let mut unsent = 0;
        let mut singles = Vec::new();
        for run in outbox.runs(self.state.max_gso_segments()) {
            if run.count == 1 && (run.src_ip.is_none() || run.src_ip == self.bound_ip()) {
                singles.push((run.to, run.bytes));
                continue;
            }
            unsent += self.send_single(&mut singles);
            unsent += self.send_run(run);
        }
        unsent += self.send_single(&mut singles);
        outbox.clear();
        unsent
    }

    /// Sends a run as one; its datagrams one by one where the system refuses that.
    fn send_run(&self, run: Run<'_>) -> usize {
        let transmit = Transmit {
            destination: run.to,
            ecn: None,
            contents: run.bytes,
            segment_size: (run.count > 1).then_some(run.stride),
            src_ip: run.src_ip,
        };
        let sent = self
            .state
            .try_send(UdpSockRef::from(&self.socket), &transmit);
        if sent.is_ok() {
            return 0;
        }
        let datagrams = run.bytes.chunks(run.stride.max(1));
        let is_lost = |datagram: &&[u8]| {
            let sent = self.send(run.to, datagram, run.src_ip);
            !matches!(sent, Ok(SendOutcome::Sent))
        };
        datagrams.filter(is_lost).count()
    }

    #[cfg(target_os = "linux")]
    fn send_single(&self, singles: &mut Vec<(SocketAddr, &[u8])>) -> usize {
        let (mut unsent, mut done) = (0, 0);
        while done < singles.len() {
            let most = singles.len().min(done + MOST_AT_ONCE);
            let sent = send_batch(&self.socket, &singles[done..most]);
            done += sent;
            // The kernel stumbled over the next one: once more, alone, and then on without it.
            if done < most {
                let (to, payload) = singles[done];
                let again = self.send(to, payload, None);
                unsent += usize::from(!matches!(again, Ok(SendOutcome::Sent)));
                done += 1;
            }
        }
        singles.clear();
        unsent
    }

    /// A game's packets come one by one: the plainest call is the quickest.
    fn send_alone(&self, to: SocketAddr, payload: &[u8]) -> usize {
        let sent = self.socket.send_to(payload, &to.into());
        let sent = sent.is_ok() || matches!(self.send(to, payload, None), Ok(SendOutcome::Sent));
        usize::from(!sent)
    }

    #[cfg(not(target_os = "linux"))]
    fn send_single(&self, singles: &mut Vec<(SocketAddr, &[u8])>) -> usize {
        let is_lost = |(to, payload): &(SocketAddr, &[u8])| {
            !matches!(self.send(*to, payload, None), Ok(SendOutcome::Sent))
        };
        singles.drain(..).filter(is_lost).count()
    }

    fn send_outcome(
        &self,
        to: SocketAddr,
        length: usize,
        source: io::Error,
    ) -> Result<SendOutcome, NetError> {
        match source.kind() {
            io::ErrorKind::WouldBlock => Ok(SendOutcome::WouldBlock),
            io::ErrorKind::PermissionDenied => Ok(SendOutcome::Unreachable),
            _ if is_out_of_buffers(&source) => Ok(SendOutcome::WouldBlock),
            _ if !quinn_udp::is_msg_size_err(&source) && is_reported_by_network(&source) => {
                Ok(SendOutcome::Unreachable)
            }
            _ => Err(NetError::Send {
                local: self.local,
                to,
                length,
                source,
            }),
        }
    }

    /// Hands every queued ICMP error to `report` and says how many there were. Always 0 where the
    /// system keeps no such queue (all but Linux) or the port ignores them.
    pub fn drain_errors(&mut self, mut report: impl FnMut(Unreachable)) -> Result<usize, NetError> {
        let mut count = 0;
        while self.icmp_errors == IcmpErrors::Report
            && let Some(to) = next_queued_error(&self.socket).map_err(|e| self.receive_error(e))?
        {
            count += 1;
            report(Unreachable { to });
        }
        Ok(count)
    }

    fn bound_ip(&self) -> Option<IpAddr> {
        Some(self.local.ip()).filter(|ip| !ip.is_unspecified())
    }

    fn receive_error(&self, source: io::Error) -> NetError {
        NetError::Receive {
            local: self.local,
            source,
        }
    }

    pub(crate) fn socket(&self) -> &Socket {
        &self.socket
    }
}

/// How many buffers a receive call filled, of how many it had, and when.
struct Batch {
    filled: usize,
    room: usize,
    read: ReadSpan,
}

/// Twice what came this time. Preparing room for many datagrams takes longer than receiving the one of
/// a game that sends sixty a second; a socket under load soon has room for all.
fn next_appetite(taken: usize) -> usize {
    (2 * taken).clamp(2, RecvBuffers::BATCH)
}

/// Each pending error costs one call; more than a few in a row would starve the loop.
const PENDING_ERRORS_SKIPPED: usize = 8;

/// As many as one receive call brings at most.
#[cfg(target_os = "linux")]
const MOST_AT_ONCE: usize = 64;

/// Sends single datagrams by one call; gives how many went.
#[cfg(target_os = "linux")]
fn send_batch(socket: &Socket, datagrams: &[(SocketAddr, &[u8])]) -> usize {
    use rustix::net::addr::SocketAddrArg as _;
    use rustix::net::{MMsgHdr, SendAncillaryBuffer, SendFlags, sendmmsg};
    let parts = datagrams
        .iter()
        .map(|(to, payload)| (to.as_any(), [io::IoSlice::new(payload)]));
    let parts: Vec<_> = parts.collect();
    let mut nothing: Vec<_> = parts
        .iter()
        .map(|_| SendAncillaryBuffer::default())
        .collect();
    let messages = parts.iter().zip(&mut nothing);
    let mut messages: Vec<_> = messages
        .map(|((to, payload), nothing)| MMsgHdr::new_with_addr(to, payload, nothing))
        .collect();
    sendmmsg(socket, &mut messages, SendFlags::empty()).unwrap_or(0)
}

fn open(config: PortConfig) -> io::Result<(Socket, SocketAddr)> {
    let domain = Domain::for_address(config.addr);
    let socket = Socket::new(domain, Type::DGRAM, Some(Protocol::UDP))?;
    if domain == Domain::IPV6 {
        socket.set_only_v6(true)?;
    }
    socket.bind(&config.addr.into())?;
    let local = socket.local_addr()?.as_socket();
    Ok((socket, local.unwrap_or(config.addr)))
}

fn configure(socket: &Socket, config: PortConfig) -> io::Result<UdpSocketState> {
    let state = UdpSocketState::new(socket.into())?;
    if config.icmp_errors == IcmpErrors::Report {
        state.enable_transport_errors(socket.into())?;
    }
    // Both are wishes: with less memory or on all interfaces the port still works.
    enlarge_buffers(socket, config.buffer_bytes);
    if config.loopback_only {
        keep_to_loopback(socket);
    }
    Ok(state)
}

fn enlarge_buffers(socket: &Socket, bytes: usize) {
    let _ = socket.set_recv_buffer_size(bytes);
    let _ = socket.set_send_buffer_size(bytes);
    exceed_buffer_limits(socket, bytes);
}

/// `SO_RCVBUFFORCE` and its sibling pass the system's limit, given CAP_NET_ADMIN (socket(7)).
#[cfg(target_os = "linux")]
fn exceed_buffer_limits(socket: &Socket, bytes: usize) {
    use rustix::net::sockopt;
    let _ = sockopt::set_socket_recv_buffer_size_force(socket, bytes);
    let _ = sockopt::set_socket_send_buffer_size_force(socket, bytes);
}

#[cfg(not(target_os = "linux"))]
fn exceed_buffer_limits(_: &Socket, _: usize) {}

#[cfg(target_os = "linux")]
fn keep_to_loopback(socket: &Socket) {
    let _ = socket.bind_device(Some(b"lo"));
}

#[cfg(not(target_os = "linux"))]
fn keep_to_loopback(_: &Socket) {}
