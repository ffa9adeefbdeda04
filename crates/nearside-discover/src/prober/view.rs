//! What the prober shows: rows, progress, summary, snapshot.

use nearside_types::{Listed, Moment, Rtt, ServerAddr};

use super::record::State;
use super::{Oddities, Pace, Prober};
use crate::planner::{Explanation, Memory, PlanReport, RememberedServer, ServerId};
use crate::snapshot::{FullScan, Progress, Row, Snapshot, Summary};

impl Prober {
    /// Servers pending now.
    pub fn pending(&self) -> usize {
        self.pending
    }

    /// Trouble seen on the wire.
    pub fn oddities(&self) -> Oddities {
        self.oddities
    }

    /// What the planner says of its work.
    pub fn plan(&self) -> PlanReport {
        self.planner.report()
    }

    /// What the planner believes and why it stopped, if it believes anything.
    pub fn explanation(&self) -> Option<Explanation> {
        self.planner.explain()
    }

    /// What the next run may want to remember of this one.
    pub fn memory(&self) -> Memory {
        let mut best: Vec<RememberedServer> = self
            .records
            .iter()
            .filter(|record| record.state == State::Answered)
            .filter_map(|record| {
                Some(RememberedServer {
                    addr: record.listed.addr,
                    rtt: record.samples.rtt()?,
                })
            })
            .collect();
        best.sort_by_key(|server| (server.rtt, server.addr));
        best.truncate(Memory::BEST);
        Memory {
            best,
            groups: self.planner.learned(),
        }
    }

    /// The server's list entry.
    pub fn listed(&self, server: ServerId) -> Listed {
        self.records[server.index()].listed
    }

    /// Whether a server is on the list, as far as that is known.
    pub fn is_listed(&self, addr: ServerAddr) -> bool {
        self.by_addr.contains_key(&addr)
    }

    /// When a server was chosen to be probed; `None` if it was not.
    pub fn chosen(&self, server: ServerId) -> Option<Moment> {
        self.records[server.index()].chosen
    }

    /// A server's row, whatever its state.
    pub fn row(&self, server: ServerId) -> Row {
        let record = &self.records[server.index()];
        let info = record.info.as_deref().cloned().unwrap_or_default();
        let answered = record.state == State::Answered;
        let rtt = record.samples.rtt().filter(|_| answered);
        Row {
            addr: record.listed.addr,
            rtt_ms: rtt.map(Rtt::as_millis_f64),
            asn: record.listed.origin.asn.map(|asn| asn.0),
            country: record.listed.origin.country,
            name: info.name.map(String::from),
            map: info.map.map(String::from),
            game: info.game.map(String::from),
            players: info.players,
            bots: info.bots,
            max_players: info.max_players,
            password: info.password,
            samples: record.samples.count,
            clean: answered && record.samples.is_clean(),
        }
    }

    /// How far it is.
    pub fn progress(&self, now: Moment) -> Progress {
        let report = self.planner.report();
        Progress {
            activity: report.activity,
            listed: self.records.len(),
            probed: self.tally.probed,
            pending: self.pending,
            answered: self.tally.answered,
            playable: self.tally.playable,
            probes_sent: self.tally.probes_sent,
            expected_missed: report.expected_missed,
            expected_better: report.expected_better,
            seconds: (now - self.started).as_secs_f64(),
        }
    }

    /// What it did and what it cost, so far or in the end.
    pub fn summary(&self) -> Summary {
        let end = self.ended.unwrap_or(self.now);
        let seconds = (end - self.started).as_secs_f64();
        let report = self.planner.report();
        Summary {
            planner: self.planner.name().to_owned(),
            listed: self.records.len(),
            probed: self.tally.probed,
            answered: self.tally.answered,
            playable: self.tally.playable,
            stopped: self.ended.and(self.stopping),
            verdict: report.verdict,
            expected_missed: report.expected_missed,
            expected_better: report.expected_better,
            probes_sent: self.tally.probes_sent,
            bytes_sent: self.tally.bytes_sent,
            bytes_received: self.tally.bytes_received,
            flows: self.tally.flows,
            seconds,
            full_scan: self.full_scan(seconds),
        }
    }

    /// Probing everything costs as much per server as what was probed did.
    fn full_scan(&self, seconds: f64) -> FullScan {
        let factor = self.records.len() as f64 / self.tally.probed.max(1) as f64;
        let probes = self.tally.probes_sent as f64 * factor;
        let bytes = (self.tally.bytes_sent + self.tally.bytes_received) as f64 * factor;
        let rest = probes - self.tally.probes_sent as f64;
        let more_seconds = match self.config.pace {
            Pace::PerSecond(rate) => rest / rate,
            Pace::Unlimited => seconds * (factor - 1.0),
        };
        FullScan {
            probes: probes.round() as u64,
            bytes: bytes.round() as u64,
            seconds: seconds + more_seconds,
        }
    }

    /// Every server that answered, in the order of the list, and the summary.
    pub fn snapshot(&self) -> Snapshot {
        let servers = (0..self.records.len())
            .filter(|&index| self.records[index].state == State::Answered)
            .map(|index| self.row(ServerId::from_index(index)))
            .collect();
        Snapshot {
            servers,
            summary: self.summary(),
        }
    }
}
