//! MRT dumps (RFC 6396): the tables that route collectors and daemons write, and the updates after
//! them, plain or packed with gzip or bzip2.
//!
//! Routes are read by the same code as live BGP, so that both paths agree about what is broken.
//! `bgpkit-parser` would bring a clock and regular expressions into an engine; it judges this reader
//! in the tests instead.

mod record;
mod records;
mod unpack;

use std::collections::HashMap;
use std::io::{self, BufReader, Read};

use nearside_types::Prefix;
use thiserror::Error;

use crate::Timestamp;
use crate::bgp::wire::{Candidate, PathOrigin};
use crate::bgp::{PeerId, Rib, Update};
use record::{MrtPeer, MrtRoute, Record, Routes};
use records::{Header, Next, Records};

/// What was found in a dump.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MrtReport {
    /// Records read, of any kind.
    pub records: u64,
    /// Routes in table records: one for each prefix and neighbour.
    pub routes: u64,
    /// UPDATE messages taken over.
    pub updates: u64,
    /// Records that say nothing about origins, or are for other address families.
    pub skipped: u64,
    /// Records, routes and messages that make no sense by themselves; the rest was still read.
    pub malformed: u64,
    /// Times that something was left out because the table's prefix limit was reached.
    pub over_limit: u64,
    /// When the youngest record was written: how old the data is.
    pub newest: Option<Timestamp>,
    /// How the file ended.
    pub end: MrtEnd,
}

impl MrtReport {
    const EMPTY: Self = Self {
        records: 0,
        routes: 0,
        updates: 0,
        skipped: 0,
        malformed: 0,
        over_limit: 0,
        newest: None,
        end: MrtEnd::Complete,
    };
}

/// How a dump ended; offsets count unpacked octets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MrtEnd {
    /// Behind a whole record.
    Complete,
    /// In the middle of a record: a download or a disk stopped early.
    Truncated {
        /// Where the incomplete record begins.
        at: u64,
    },
    /// In nonsense, from which no way leads to the next record.
    Damaged {
        /// Where the nonsense begins.
        at: u64,
    },
}

/// Why a dump gave nothing, or less than it holds.
#[derive(Debug, Error)]
pub enum MrtError {
    /// The first octets are those of some other format.
    #[error(
        "not an MRT file: it begins with {found:02x?} (give a RIB or updates dump, plain, gzip or bzip2)"
    )]
    NotMrt {
        /// The octets where the first record should be.
        found: Vec<u8>,
    },
    /// The operating system cannot read on.
    #[error("cannot read the MRT file after {at} unpacked octets: {source}")]
    Read {
        /// Octets that could be read.
        at: u64,
        /// What the system said.
        source: io::Error,
    },
}

/// Reads a whole dump into `rib`, as new neighbours of it.
///
/// A dump of few neighbours is kept apart by neighbour, so that later updates can withdraw what one
/// of them said. A larger one is folded into a single neighbour while it is read, or sixty full
/// tables would take a gigabyte; updates then win over the dump, and withdrawals cannot shrink it.
pub fn load(input: impl Read, rib: &mut Rib) -> Result<MrtReport, MrtError> {
    let mut loader = Loader::new(rib);
    loader.load(input)
}

/// Reads several dumps one after the other as if they were one, as collectors publish them: a table,
/// and then the updates since. One report each.
pub fn load_all<R: Read>(
    inputs: impl IntoIterator<Item = R>,
    rib: &mut Rib,
) -> Result<Vec<MrtReport>, MrtError> {
    let mut loader = Loader::new(rib);
    inputs.into_iter().map(|input| loader.load(input)).collect()
}

const BUFFER: usize = 256 * 1024;

/// Dumps with at most this many neighbours are kept apart: a full table takes some 15 MB.
const APART: usize = 8;

/// Carries records over into a table.
struct Loader<'a> {
    rib: &'a mut Rib,
    known: HashMap<MrtPeer, PeerId>,
    /// The neighbours of the dump, by the numbers it gives them.
    peers: Vec<MrtPeer>,
    /// Where everything goes when the dump has too many neighbours.
    folded: Option<PeerId>,
    report: MrtReport,
}

impl<'a> Loader<'a> {
    fn new(rib: &'a mut Rib) -> Self {
        Self {
            rib,
            known: HashMap::new(),
            peers: Vec::new(),
            folded: None,
            report: MrtReport::EMPTY,
        }
    }

    fn load(&mut self, input: impl Read) -> Result<MrtReport, MrtError> {
        let unreadable = |source| MrtError::Read { at: 0, source };
        let input = BufReader::with_capacity(BUFFER, input);
        let mut records = Records::new(input).map_err(unreadable)?;
        loop {
            let at = records.offset();
            match records.next() {
                Ok(Next::Record(header, body)) => self.take(&header, body),
                Ok(Next::End(MrtEnd::Damaged { at: 0 })) => {
                    let found = records.last_octets().to_vec();
                    return Err(MrtError::NotMrt { found });
                }
                Ok(Next::End(end)) => return Ok(self.finish(end)),
                Err(source) => return Err(MrtError::Read { at, source }),
            }
        }
    }

    /// The report of one file; what was learnt of neighbours stays for the next.
    fn finish(&mut self, end: MrtEnd) -> MrtReport {
        let report = std::mem::replace(&mut self.report, MrtReport::EMPTY);
        MrtReport { end, ..report }
    }

    fn take(&mut self, header: &Header, body: &[u8]) {
        self.report.records += 1;
        let written = Timestamp::from_unix_seconds(u64::from(header.seconds));
        self.report.newest = self.report.newest.max(Some(written));
        match Record::read(header, body) {
            Some(Record::Peers(peers)) => self.begin_table(peers),
            Some(Record::Routes(routes)) => self.take_routes(routes),
            Some(Record::Update(peer, update)) => self.take_update(peer, &update),
            Some(Record::Other) => self.report.skipped += 1,
            None => self.report.malformed += 1,
        }
    }

    fn begin_table(&mut self, peers: Vec<MrtPeer>) {
        self.folded = (peers.len() > APART).then(|| self.rib.add_peer());
        self.peers = peers;
    }

    fn take_routes(&mut self, mut routes: Routes<'_>) {
        let mut folded: Option<Candidate> = None;
        while let Some(route) = routes.next() {
            self.report.routes += 1;
            let Some((peer, origin)) = route.ok().and_then(|route| self.resolve(&route)) else {
                self.report.malformed += 1;
                continue;
            };
            match self.folded {
                Some(_) => {
                    folded = [folded, origin]
                        .into_iter()
                        .flatten()
                        .reduce(Candidate::joined);
                }
                None => self.take_route(peer, routes.prefix, origin),
            }
        }
        if let Some((all, origin)) = self.folded.zip(folded) {
            self.announce(all, routes.prefix, origin);
        }
    }

    /// Whose route it is and where it comes from, if that can be told; `None` for a neighbour that is
    /// not in the dump's list.
    fn resolve(&self, route: &MrtRoute) -> Option<(MrtPeer, Option<Candidate>)> {
        let peer = *self.peers.get(route.peer)?;
        let origin = match route.origin {
            PathOrigin::Local => Some(peer.asn),
            PathOrigin::As(asn) => Some(asn),
            PathOrigin::Several => None,
        };
        Some((peer, origin.map(Candidate::single)))
    }

    fn take_route(&mut self, peer: MrtPeer, prefix: Prefix, origin: Option<Candidate>) {
        if let Some(origin) = origin {
            let peer = self.peer_id(peer);
            self.announce(peer, prefix, origin);
        }
    }

    fn take_update(&mut self, peer: MrtPeer, update: &Update) {
        self.report.updates += 1;
        self.report.malformed += u64::from(update.malformed.is_some());
        if let Some(dump) = self.folded.take() {
            self.rib.let_others_win(dump);
        }
        let peer = self.peer_id(peer);
        let limit = self.rib.apply(peer, update);
        self.report.over_limit += u64::from(limit.is_err());
    }

    fn announce(&mut self, peer: PeerId, prefix: Prefix, origin: Candidate) {
        let limit = self.rib.announce(peer, prefix, origin);
        self.report.over_limit += u64::from(limit.is_err());
    }

    fn peer_id(&mut self, peer: MrtPeer) -> PeerId {
        let rib = &mut self.rib;
        *self.known.entry(peer).or_insert_with(|| rib.add_peer())
    }
}
