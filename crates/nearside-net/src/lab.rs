//! The lab's shell: answers for any number of servers in 127.0.0.0/8, each reply after its delay.
//!
//! What is answered, and how much later, is up to a [`Responder`]; here are only the sockets, the
//! delay line and the account of what each reply was really delayed by. One thread does it all:
//!
//! ```text
//! socket per port ─▶ arrival (kernel stamp) ─▶ Responder ─▶ DelayLine ─▶ send when due ─▶ truth log
//! ```

mod delay_line;
mod reception;
mod stats;
mod truth;
mod with_masters;

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use nearside_types::Moment;

use crate::buffers::RecvBuffers;
use crate::clock::MonotonicClock;
use crate::error::NetError;
use crate::poll::{Stop, sharpen_timers, wait};
use crate::udp::{Datagram, IcmpErrors, PortConfig, SendOutcome, UdpPort};

pub use delay_line::DelayLine;
use reception::{PendingReply, Reception};
pub use stats::{LabStats, Lateness};
pub use truth::{CsvTruth, MemoryTruth, ReplyKind, TruthLog, TruthRow};
pub use with_masters::WithMasters;

/// Decides what the lab's servers answer. Pure: it gets the time and keeps no clock.
pub trait Responder {
    /// A datagram arrived at `now` for the server at `to`; replies are pushed, never cleared.
    fn handle(
        &mut self,
        now: Moment,
        from: SocketAddr,
        to: SocketAddr,
        payload: &[u8],
        replies: &mut Vec<Reply>,
    );
}

/// A datagram to send back to who asked, from the address that was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// How long after the request arrived.
    pub delay: Duration,
    /// What it says.
    pub payload: Vec<u8>,
}

/// Where the lab listens.
#[derive(Debug, Clone, Default)]
pub struct LabConfig {
    /// Ports of game servers; each is open on all of 127.0.0.0/8. 0 stands for any free one.
    pub server_ports: BTreeSet<u16>,
    /// Addresses of masters, which must be in 127.0.0.0/8. One whose port is a server port as well
    /// needs no socket of its own: the responder tells them apart by address.
    pub masters: Vec<SocketAddrV4>,
}

/// The lab with its sockets open; [`LabShell::run`] or [`LabShell::spawn`] sets it going.
pub struct LabShell<R> {
    ports: Vec<UdpPort>,
    buffers: RecvBuffers,
    reception: Reception<R>,
    truth: Option<Box<dyn TruthLog>>,
    stats: SharedStats,
    stop: Stop,
    clock: MonotonicClock,
}

impl<R: Responder> LabShell<R> {
    /// Opens the sockets. Requests are buffered by the kernel from here on.
    pub fn bind(config: &LabConfig, responder: R, clock: MonotonicClock) -> Result<Self, NetError> {
        let stats = SharedStats::default();
        Ok(Self {
            ports: open_ports(config, &clock)?,
            buffers: RecvBuffers::new(),
            reception: Reception::new(responder, stats.clone(), clock),
            truth: None,
            stats,
            stop: Stop::new()?,
            clock,
        })
    }

    /// Logs every reply that is sent. Off unless set; a CSV row costs about a microsecond.
    #[must_use]
    pub fn with_truth(mut self, log: impl TruthLog + 'static) -> Self {
        self.truth = Some(Box::new(log));
        self
    }

    /// The ports that are open, server ports first, as bound.
    pub fn local_addrs(&self) -> Vec<SocketAddr> {
        self.ports.iter().map(UdpPort::local_addr).collect()
    }

    /// Ends [`LabShell::run`] from another thread.
    pub fn stop_handle(&self) -> Stop {
        self.stop.clone()
    }

    /// Answers until stopped, on the calling thread. Replies still in the delay line are not sent.
    ///
    /// Sleeps until the next reply is due and never spins: with sharpened timers replies leave some
    /// 0.04 ms late at the median at 1,000 to 20,000 requests a second (`examples/rtt_error.rs`).
    pub fn run(mut self) -> Result<LabStats, NetError> {
        sharpen_timers();
        loop {
            let until = self.reception.delay_line.next_due();
            let ready = wait(&self.ports, &self.stop, until, &self.clock)?;
            if ready.stopped {
                break;
            }
            for index in ready.ports {
                self.receive(index)?;
            }
            self.send_due()?;
        }
        self.flush_truth()?;
        Ok(self.stats.snapshot())
    }

    /// Takes in what is waiting on one port, up to a bound so that due replies do not wait for a
    /// burst to end; what is left keeps the port ready.
    fn receive(&mut self, index: usize) -> Result<(), NetError> {
        let port = &mut self.ports[index];
        let number = port.local_addr().port();
        for _ in 0..BATCHES_PER_ROUND {
            let accept = |datagram: Datagram<'_>| self.reception.accept(index, number, datagram);
            if port.recv_batch(&mut self.buffers, &self.clock, accept)? == 0 {
                break;
            }
        }
        Ok(())
    }

    fn send_due(&mut self) -> Result<(), NetError> {
        loop {
            let now = self.clock.now();
            let Some((due, reply)) = self.reception.delay_line.pop_due(now) else {
                return Ok(());
            };
            let port = &self.ports[reply.port];
            match port.send(reply.client, &reply.payload, Some(reply.server.ip())) {
                Ok(SendOutcome::Sent) => self.account(now, due, &reply)?,
                // An error means a reply too long to send: the responder's mistake, and no reason
                // to stop the lab.
                Ok(_) | Err(_) => self.stats.update(|stats| stats.unsent += 1),
            }
        }
    }

    /// A reply was sent; `now` was taken right before the call.
    fn account(&mut self, now: Moment, due: Moment, reply: &PendingReply) -> Result<(), NetError> {
        self.stats.update(|stats| {
            stats.replies += 1;
            stats.lateness.record(now - due);
        });
        let Some(truth) = &mut self.truth else {
            return Ok(());
        };
        let row = TruthRow {
            at: reply.received,
            server: reply.server,
            client: reply.client,
            kind: ReplyKind::of(&reply.payload),
            intended: due - reply.received,
            actual: now - reply.received,
        };
        truth
            .record(&row)
            .map_err(|source| NetError::TruthLog { source })
    }

    fn flush_truth(&mut self) -> Result<(), NetError> {
        let flushed = self.truth.as_mut().map_or(Ok(()), |truth| truth.flush());
        flushed.map_err(|source| NetError::TruthLog { source })
    }
}

impl<R: Responder + Send + 'static> LabShell<R> {
    /// Answers on a thread of its own until the handle is stopped or dropped.
    pub fn spawn(self) -> Result<LabHandle, NetError> {
        let stop = self.stop.clone();
        let stats = self.stats.clone();
        let thread = thread::Builder::new()
            .name("lab".to_owned())
            .spawn(|| self.run())
            .map_err(|source| NetError::Spawn { source })?;
        Ok(LabHandle {
            stop,
            stats,
            thread: Some(thread),
        })
    }
}

/// A lab running on its own thread.
#[derive(Debug)]
pub struct LabHandle {
    stop: Stop,
    stats: SharedStats,
    thread: Option<JoinHandle<Result<LabStats, NetError>>>,
}

impl LabHandle {
    /// What happened so far.
    pub fn stats(&self) -> LabStats {
        self.stats.snapshot()
    }

    /// Ends the lab, with its truth log written, and says what happened in all.
    ///
    /// Panics only if the responder did, on the lab's thread.
    pub fn stop(mut self) -> Result<LabStats, NetError> {
        self.stop.stop();
        let thread = self.thread.take().expect("only taken here and on drop");
        thread
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

impl Drop for LabHandle {
    fn drop(&mut self) {
        self.stop.stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The statistics as the lab's thread and its handle share them.
#[derive(Debug, Clone, Default)]
struct SharedStats(Arc<Mutex<LabStats>>);

impl SharedStats {
    fn update(&self, change: impl FnOnce(&mut LabStats)) {
        // Counters are good even if somebody panicked between two of them.
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn snapshot(&self) -> LabStats {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

fn open_ports(config: &LabConfig, clock: &MonotonicClock) -> Result<Vec<UdpPort>, NetError> {
    let masters = config.masters.iter().copied();
    if let Some(addr) = masters.clone().find(|addr| !addr.ip().is_loopback()) {
        return Err(NetError::NotLoopback { addr: addr.into() });
    }
    let servers = &config.server_ports;
    let wildcards = servers
        .iter()
        .map(|port| SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, *port));
    let own_sockets = masters.filter(|addr| addr.port() == 0 || !servers.contains(&addr.port()));
    wildcards
        .chain(own_sockets)
        .map(|addr| UdpPort::bind(lab_port(addr.into()), clock))
        .collect()
}

fn lab_port(addr: SocketAddr) -> PortConfig {
    PortConfig {
        icmp_errors: IcmpErrors::Ignore,
        loopback_only: true,
        ..PortConfig::at(addr)
    }
}

/// 256 requests take about a millisecond to answer, the most by which they delay a due reply.
const BATCHES_PER_ROUND: usize = 8;
