//! A direct path that was lost is found again: when NATs forgot on both sides, or an end has moved, nothing
//! that is sent to the old addresses arrives. One that was not there at the first meeting is sought, too. The directory names where both are now; then both send at
//! once, as at their first meeting, under the keys they have.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use nearside_detour::path::Route;
use nearside_types::Moment;
use nearside_wire::detour::{Frame, PASS_BYTES};

use super::way::Way;
use super::{Event, Link, Outgoing, Output};

/// Where the other end may be, and how long it is sought there.
#[derive(Debug)]
pub(super) struct Repair {
    addresses: Vec<SocketAddr>,
    pass: [u8; PASS_BYTES],
    next: Moment,
    until: Moment,
}

const INTERVAL: Duration = Duration::from_millis(150);
const PATIENCE: Duration = Duration::from_secs(4);
/// So many probes in a row without an answer, and the direct path counts as lost.
const LOST: u32 = 3;
/// And once more after so many.
const LOST_AGAIN: u32 = 16;
/// Addresses of the other end at most.
const MOST_ADDRESSES: usize = 8;

impl Repair {
    pub(super) fn next_time(&self) -> Moment {
        self.next
    }

    pub(super) fn knows(&self, ip: IpAddr) -> bool {
        self.addresses.iter().any(|address| address.ip() == ip)
    }
}

impl Link {
    /// The directory names where the other end is now.
    pub fn seek(&mut self, now: Moment, addresses: Vec<SocketAddr>, pass: [u8; PASS_BYTES]) {
        let mut addresses = addresses;
        addresses.truncate(MOST_ADDRESSES);
        let Some(first) = addresses.first().copied() else {
            return;
        };
        let way = self.ways.entry(Route::Direct);
        let way = way.or_insert_with(|| Way::sought(first, now));
        // The one socket whose address the directory told the other end.
        way.set_port(0);
        self.repair = Some(Repair {
            addresses,
            pass,
            next: now,
            until: now + PATIENCE,
        });
    }

    /// Whether there is no direct path, or one that does not answer.
    pub(crate) fn lacks_direct(&self) -> bool {
        let lacks = self.repair.is_some() || self.direct_missed > 0 || self.was_silent;
        lacks || !self.has_direct()
    }

    /// Whether the other end was ever heard directly.
    pub(super) fn has_direct(&self) -> bool {
        self.ways.get(&Route::Direct).is_some_and(Way::is_open)
    }

    pub(super) fn poll_repair(&mut self, now: Moment) {
        let Some(repair) = self.repair.as_mut().filter(|repair| repair.next <= now) else {
            return;
        };
        if repair.until <= now {
            self.repair = None;
            if !self.has_direct() {
                self.ways.remove(&Route::Direct);
            }
            return;
        }
        repair.next = now + INTERVAL;
        let (addresses, pass) = (repair.addresses.clone(), repair.pass);
        let bytes = match self.lead.is_some() {
            true => {
                self.probe(now, Route::Direct, None);
                // The same probe to every address: the first that arrives counts.
                self.frame.clone()
            }
            false => Frame::Punch { pass }.emit(),
        };
        let sends = addresses.into_iter().map(|to| {
            let bytes = bytes.clone();
            Output::Send(Outgoing { port: 0, to, bytes })
        });
        self.out.extend(sends);
    }

    /// A probe of the direct path was not answered.
    pub(super) fn misses_direct(&mut self) {
        self.direct_missed += 1;
        let again = self.direct_missed.is_multiple_of(LOST_AGAIN);
        if (self.direct_missed == LOST || again) && self.repair.is_none() {
            self.out.push_back(Output::Event(Event::DirectLost));
        }
    }

    /// One was: the other end is there.
    pub(super) fn finds_direct(&mut self, now: Moment, from: SocketAddr, port: u8) {
        self.direct_missed = 0;
        self.repair = None;
        let Some(way) = self.ways.get_mut(&Route::Direct) else {
            return;
        };
        if way.port() == port {
            way.move_to(from);
        }
        if way.set_found()
            && let Some(lead) = &mut self.lead
        {
            lead.paths.handle_direct(now);
        }
    }
}
