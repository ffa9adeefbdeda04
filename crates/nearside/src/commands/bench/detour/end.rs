//! The two ends of a stream of packets: what a player's game and a game server would be.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Result, bail};
use nearside_net::{
    IcmpErrors, MonotonicClock, Outbox, PortConfig, RecvBuffers, Stop, UdpPort, sharpen_timers,
    wait,
};
use nearside_types::Moment;

use super::stream::KNOCK;

/// Where packets go in and come out.
pub(super) trait End: Send {
    /// Takes a packet; it leaves with the next [`End::flush`].
    fn send(&mut self, payload: &[u8]);

    /// Lets everything go that was taken.
    fn flush(&mut self);

    /// Waits until something comes, at most until then, and hands over what came. May return with
    /// nothing, since some have work of their own to do in between.
    fn hear(&mut self, until: Moment, take: &mut dyn FnMut(&[u8])) -> Result<()>;
}

/// The same for everybody in the bench: its clock, and what ends it.
#[derive(Debug, Clone)]
pub(super) struct Times {
    pub(super) clock: MonotonicClock,
    /// Nothing more is to be measured.
    pub(super) done: Stop,
    /// The user wants no more.
    pub(super) interrupted: Stop,
}

impl Times {
    pub(super) fn now(&self) -> Moment {
        self.clock.now()
    }

    pub(super) fn is_over(&self) -> bool {
        self.done.is_stopped() || self.interrupted.is_stopped()
    }
}

/// A socket, as a game has it.
pub(super) struct Plain {
    port: UdpPort,
    /// Where packets go: the far end answers whoever spoke last.
    peer: Option<SocketAddr>,
    buffers: Box<RecvBuffers>,
    outbox: Outbox,
    times: Times,
}

impl Plain {
    pub(super) fn open(times: &Times, peer: Option<SocketAddr>) -> Result<Self> {
        Ok(Self {
            port: open_port(times, ([127, 0, 0, 1], 0).into())?,
            peer,
            buffers: Box::default(),
            outbox: Outbox::default(),
            times: times.clone(),
        })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.port.local_addr()
    }
}

/// Without ICMP errors: while a forwarder starts, nobody is there.
pub(super) fn open_port(times: &Times, addr: SocketAddr) -> Result<UdpPort> {
    let config = PortConfig {
        icmp_errors: IcmpErrors::Ignore,
        ..PortConfig::at(addr)
    };
    Ok(UdpPort::bind(config, &times.clock)?)
}

impl End for Plain {
    fn send(&mut self, payload: &[u8]) {
        if let Some(peer) = self.peer {
            self.outbox.push(peer, payload, None);
        }
    }

    fn flush(&mut self) {
        // What the kernel does not take counts as lost in the end.
        self.port.send_all(&mut self.outbox);
    }

    fn hear(&mut self, until: Moment, take: &mut dyn FnMut(&[u8])) -> Result<()> {
        let (port, clock) = (&mut self.port, &self.times.clock);
        wait([&*port], &self.times.done, Some(until), clock)?;
        let peer = &mut self.peer;
        while port.recv_batch(&mut self.buffers, clock, |datagram| {
            *peer = Some(datagram.from);
            take(datagram.payload);
        })? > 0
        {}
        Ok(())
    }
}

/// Sends everything back, until the bench is over.
pub(super) fn echo(mut end: Box<dyn End>, times: &Times) -> Result<()> {
    sharpen_timers();
    let mut came: Vec<Vec<u8>> = Vec::new();
    while !times.is_over() {
        end.hear(times.now() + Duration::from_secs(1), &mut |payload| {
            came.push(payload.to_vec());
        })?;
        came.drain(..).for_each(|payload| end.send(&payload));
        end.flush();
    }
    Ok(())
}

/// Waits until packets come back.
pub(super) fn knock(end: &mut dyn End, times: &Times, what: &str) -> Result<()> {
    let patience = times.now() + Duration::from_secs(20);
    while times.now() < patience && !times.is_over() {
        end.send(KNOCK);
        end.flush();
        let mut answered = false;
        let until = times.now() + Duration::from_millis(50);
        end.hear(until, &mut |payload| answered |= payload == KNOCK)?;
        if answered {
            return Ok(());
        }
    }
    bail!("nothing comes back through {what}");
}
