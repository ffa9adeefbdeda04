//! What tests and the hub share while it runs: how paths are, and what they have carried.

use std::sync::mpsc;
use std::time::Duration;

use crate::path::{Lateness, Path, Traffic};

/// How many deliveries [`Lateness`] looks back on.
const REMEMBERED: usize = 65_536;

/// All pairs are ordered: from, to.
#[derive(Debug)]
pub(crate) struct Shared {
    hosts: usize,
    paths: Vec<Path>,
    traffic: Vec<Traffic>,
    taps: Vec<Tap>,
    lateness: Vec<Duration>,
    delivered: usize,
}

/// Somebody who wants a copy of what goes from one host to another.
#[derive(Debug)]
struct Tap {
    pair: (usize, usize),
    copies: mpsc::Sender<Vec<u8>>,
}

impl Shared {
    pub(crate) fn new(hosts: usize, path: Path) -> Self {
        let pairs = hosts * hosts;
        Self {
            hosts,
            paths: vec![path; pairs],
            traffic: vec![Traffic::default(); pairs],
            taps: Vec::new(),
            lateness: Vec::new(),
            delivered: 0,
        }
    }

    pub(crate) fn path(&mut self, from: usize, to: usize) -> &mut Path {
        &mut self.paths[from * self.hosts + to]
    }

    pub(crate) fn traffic(&mut self, from: usize, to: usize) -> &mut Traffic {
        &mut self.traffic[from * self.hosts + to]
    }

    pub(crate) fn tap(&mut self, from: usize, to: usize) -> mpsc::Receiver<Vec<u8>> {
        let (copies, receiver) = mpsc::channel();
        let pair = (from, to);
        self.taps.push(Tap { pair, copies });
        receiver
    }

    /// Counts a packet and shows it to those who listen; they are forgotten once they are gone.
    pub(crate) fn note(&mut self, from: usize, to: usize, packet: &[u8], fate: Fate) {
        let traffic = self.traffic(from, to);
        traffic.packets += 1;
        traffic.bytes += packet.len() as u64;
        traffic.lost += u64::from(fate == Fate::Lost);
        self.taps
            .retain(|tap| tap.pair != (from, to) || tap.copies.send(packet.to_vec()).is_ok());
    }

    pub(crate) fn lateness(&self) -> Lateness {
        Lateness::of(self.lateness.clone())
    }

    pub(crate) fn note_lateness(&mut self, late: Duration) {
        if self.lateness.len() < REMEMBERED {
            self.lateness.push(late);
        } else {
            self.lateness[self.delivered % REMEMBERED] = late;
        }
        self.delivered += 1;
    }
}

/// What becomes of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    Arrives,
    Lost,
}
