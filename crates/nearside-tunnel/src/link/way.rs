//! One path of a link: how its packets leave, and what is known of those that come.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use nearside_types::{Moment, Rtt};
use nearside_wire::detour::{CARRY_HEADER, CarryFlags, SAFE_BYTES};

use crate::messages::RelayPass;

use super::delay::OneWay;
use super::hop::Hop;
use super::inner::{Echo, Probe};

/// A datagram to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outgoing {
    /// From which of the sockets: 0 is the one everybody knows.
    pub port: u8,
    /// Where to.
    pub to: SocketAddr,
    /// The datagram.
    pub bytes: Vec<u8>,
}

/// How packets leave.
#[derive(Debug)]
enum Carrier {
    Direct {
        port: u8,
        to: SocketAddr,
        /// Whether the other end was ever heard there.
        found: bool,
    },
    Hop(Hop),
}

/// The number of the direct path; others count up from 0.
pub(super) const DIRECT: u8 = u8::MAX;

/// One path.
#[derive(Debug)]
pub(super) struct Way {
    carrier: Carrier,
    /// What the leader calls it in packets.
    pub(super) number: u8,
    /// The leader's opinion: 0 in use, 1 the first backup.
    pub(super) rank: u8,
    pub(super) delay: OneWay,
    pub(super) heard: Option<Moment>,
    pub(super) last_sent: Moment,
    sent: u32,
    got: u32,
    /// Probes on their way: when they were sent, and how many packets before them.
    probes: BTreeMap<u32, (Moment, u32)>,
    loss: Loss,
    /// How long the relay held the last probe, both ways.
    pub(super) residence: Option<Duration>,
}

impl Way {
    pub(super) fn direct(to: SocketAddr, now: Moment) -> Self {
        let (port, found) = (0, true);
        Self::new(Carrier::Direct { port, to, found }, DIRECT, now)
    }

    /// A direct path that may be there: nothing but probes goes out on it.
    pub(super) fn sought(to: SocketAddr, now: Moment) -> Self {
        let (port, found) = (0, false);
        Self::new(Carrier::Direct { port, to, found }, DIRECT, now)
    }

    /// The other end is there; whether that is news.
    pub(super) fn set_found(&mut self) -> bool {
        match &mut self.carrier {
            Carrier::Direct { found, .. } => !std::mem::replace(found, true),
            Carrier::Hop(_) => false,
        }
    }

    pub(super) fn hop(hop: Hop, number: u8, now: Moment) -> Self {
        Self::new(Carrier::Hop(hop), number, now)
    }

    fn new(carrier: Carrier, number: u8, now: Moment) -> Self {
        Self {
            carrier,
            number,
            rank: u8::MAX,
            delay: OneWay::new(),
            heard: None,
            last_sent: now,
            sent: 0,
            got: 0,
            probes: BTreeMap::new(),
            loss: Loss::default(),
            residence: None,
        }
    }

    /// Whether packets can be sent on it.
    pub(super) fn is_open(&self) -> bool {
        match &self.carrier {
            Carrier::Direct { found, .. } => *found,
            Carrier::Hop(hop) => hop.is_open(),
        }
    }

    /// Where its packets go.
    pub(super) fn address(&self) -> SocketAddr {
        match &self.carrier {
            Carrier::Direct { to, .. } => *to,
            Carrier::Hop(hop) => hop.address(),
        }
    }

    /// The socket that the direct path leaves by.
    pub(super) fn port(&self) -> u8 {
        match &self.carrier {
            Carrier::Direct { port, .. } => *port,
            Carrier::Hop(_) => 0,
        }
    }

    pub(super) fn set_port(&mut self, new: u8) {
        if let Carrier::Direct { port, .. } = &mut self.carrier {
            *port = new;
        }
    }

    /// The other end was heard from there.
    pub(super) fn move_to(&mut self, from: SocketAddr) {
        if let Carrier::Direct { to, .. } = &mut self.carrier {
            *to = from;
        }
    }

    /// Another ticket for the same relay: the way has to be opened anew, if it is not the same.
    pub(super) fn renew(&mut self, pass: RelayPass, number: u8, now: Moment) {
        if let Carrier::Hop(hop) = &self.carrier
            && hop.number() != pass.hop
        {
            *self = Self::hop(Hop::new(pass, now), number, now);
        }
    }

    /// Its way through a relay, if it is one.
    pub(super) fn through(&self) -> Option<&Hop> {
        match &self.carrier {
            Carrier::Direct { .. } => None,
            Carrier::Hop(hop) => Some(hop),
        }
    }

    /// The same, to open it.
    pub(super) fn through_mut(&mut self) -> Option<&mut Hop> {
        match &mut self.carrier {
            Carrier::Direct { .. } => None,
            Carrier::Hop(hop) => Some(hop),
        }
    }

    /// Whether a sealed frame of this length may go this way.
    pub(super) fn fits(&self, length: usize) -> bool {
        match self.carrier {
            Carrier::Direct { .. } => true,
            Carrier::Hop(_) => length + CARRY_HEADER <= SAFE_BYTES,
        }
    }

    /// The datagram for a sealed frame.
    pub(super) fn wrap(&mut self, now: Moment, frame: &[u8], flags: CarryFlags) -> Outgoing {
        self.sent = self.sent.wrapping_add(1);
        self.last_sent = now;
        match &mut self.carrier {
            Carrier::Direct { port, to, .. } => Outgoing {
                port: *port,
                to: *to,
                bytes: frame.to_vec(),
            },
            Carrier::Hop(hop) => hop.carry(frame, flags),
        }
    }

    /// A sealed packet came on this path.
    pub(super) fn came(&mut self, now: Moment) {
        self.got = self.got.wrapping_add(1);
        self.heard = Some(now);
    }

    /// A copy of a packet came, after the packet itself.
    pub(super) fn came_again(&mut self) {
        self.got = self.got.wrapping_add(1);
    }

    /// A probe to be sent now.
    pub(super) fn probe(&mut self, now: Moment, sequence: u32, sent: u32) -> Probe {
        self.probes.insert(sequence, (now, self.sent));
        Probe {
            sequence,
            sent,
            count: self.sent,
            rank: self.rank,
        }
    }

    /// The answer to a probe.
    pub(super) fn echo(&self, probe: Probe, held: Duration, relayed: Duration) -> Echo {
        let micros = |time: Duration| u32::try_from(time.as_micros()).unwrap_or(u32::MAX);
        Echo {
            sequence: probe.sequence,
            held: micros(held),
            got: self.got,
            count: self.sent,
            relayed: micros(relayed),
        }
    }

    /// An answer came: the round trip without what the other end held it, if it was asked for.
    pub(super) fn echoed(&mut self, now: Moment, echo: Echo, back: Duration) -> Option<Rtt> {
        let (sent, before) = self.probes.remove(&echo.sequence)?;
        let took = now.since(sent);
        let held = Duration::from_micros(echo.held.into()).min(took);
        self.residence = Some(Duration::from_micros(echo.relayed.into()) + back);
        // The probe itself is one more that came.
        let before = before.wrapping_add(1);
        self.loss
            .echoed(before, echo.got, echo.count, self.got.wrapping_sub(1));
        Some(Rtt::from_duration(took - held))
    }

    /// The probes that were not answered in time; they are forgotten.
    pub(super) fn unanswered(&mut self, now: Moment, patience: Duration) -> Vec<u32> {
        let late = |sent: &Moment| now.since(*sent) >= patience;
        let lost = self.probes.iter().filter(|(_, (sent, _))| late(sent));
        let lost = lost.map(|(sequence, _)| *sequence).collect();
        self.probes.retain(|_, (sent, _)| !late(sent));
        lost
    }

    pub(super) fn oldest_probe(&self) -> Option<Moment> {
        self.probes.values().map(|(sent, _)| *sent).min()
    }

    /// The share of packets that got lost lately, both ways together; `None` while too few were sent.
    pub(super) fn loss(&self) -> Option<f64> {
        self.loss.share
    }
}

/// Counts of both ends, compared from one echo to the next that has enough new packets.
#[derive(Debug, Default)]
struct Loss {
    last: Option<[u32; 4]>,
    share: Option<f64>,
}

/// Fewer packets than these say nothing of the share that is lost.
const ENOUGH: u32 = 30;

impl Loss {
    /// What we sent and they got, what they sent and we got.
    fn echoed(&mut self, sent: u32, got: u32, their_sent: u32, our_got: u32) {
        let now = [sent, got, their_sent, our_got];
        let Some(last) = self.last else {
            self.last = Some(now);
            return;
        };
        let steps: [u32; 4] = std::array::from_fn(|at| now[at].wrapping_sub(last[at]));
        // An echo that was overtaken counts backwards, and one that lies may say anything.
        if steps.iter().any(|step| *step > u32::MAX / 4) {
            return;
        }
        let [sent, got, their_sent, our_got] = steps;
        let all = sent.saturating_add(their_sent);
        if all < ENOUGH {
            return;
        }
        self.last = Some(now);
        let lost = sent.saturating_sub(got) + their_sent.saturating_sub(our_got);
        self.share = Some(f64::from(lost) / f64::from(all));
    }
}
