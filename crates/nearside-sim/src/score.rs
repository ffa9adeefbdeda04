//! What a run was worth, judged by what is true in its world.

use nearside_discover::planner::StopReason;

use crate::method::Method;
use crate::record::{Probe, RunRecord};
use crate::run::run;
use crate::scene::Scene;

mod best;

pub use self::best::BestScore;

/// The figures of one run.
#[derive(Debug, Clone, PartialEq)]
pub struct Score {
    /// Servers on the list.
    pub listed: usize,
    /// Of those, the ones that answer the client.
    pub answering: usize,
    /// Of those, the ones whose base RTT is below the stop.
    pub playable: usize,
    /// Servers probed; retries are in `datagrams`.
    pub probes: usize,
    /// Servers that answered.
    pub answered: usize,
    /// Playable servers that were probed and answered.
    pub found: usize,
    /// Playable servers the planner itself expects to have missed, if it can tell.
    pub expected_missed: Option<f64>,
    /// Servers probed by the time half of the playable ones were found; what was under way
    /// counts.
    pub probes_to_50: Option<usize>,
    /// … nine tenths of them.
    pub probes_to_90: Option<usize>,
    /// … 99 % of them.
    pub probes_to_99: Option<usize>,
    /// … the ten nearest servers of all.
    pub probes_to_10_best: Option<usize>,
    /// How well the nearest were found, for who wants nothing else.
    pub best: BestScore,
    /// How long it took, to the last reply or the last try given up.
    pub seconds: f64,
    /// Why it stopped.
    pub stopped: StopReason,
    /// Request datagrams, retries included.
    pub datagrams: u64,
    /// Bytes of those, with IP and UDP headers.
    pub bytes_sent: u64,
    /// Bytes of the replies, with headers.
    pub bytes_received: u64,
    /// Clusters formed, before splits.
    pub clusters: usize,
    /// Servers probed to calibrate.
    pub calibration_probes: usize,
    /// How long that took; `None` where nothing is calibrated.
    pub calibration_seconds: Option<f64>,
}

/// How many of the nearest servers a player would choose from.
const BEST: usize = 10;

impl Score {
    /// Runs a method and judges it.
    pub fn of_run(scene: &Scene<'_>, method: &Method, seed: u64) -> Self {
        Self::of(&run(scene, method, seed), method, scene)
    }

    /// Judges a run by the scene it took place in.
    pub fn of(record: &RunRecord, method: &Method, scene: &Scene<'_>) -> Self {
        let score = Self::measured(record, scene);
        match method {
            Method::Planner(_) => score,
            Method::Oracle => score.with_ideal_order(),
        }
    }

    /// The oracle is a bound, not a client: what it needs to find k servers is k probes, without
    /// the handful that a client has under way when the last answer comes.
    fn with_ideal_order(mut self) -> Self {
        let share = |percent| {
            let count = percent_of(percent, self.playable);
            (1..=self.found).contains(&count).then_some(count)
        };
        self.probes_to_50 = share(50);
        self.probes_to_90 = share(90);
        self.probes_to_99 = share(99);
        self.probes_to_10_best = self.probes_to_10_best.map(|_| self.answering.min(BEST));
        self
    }

    fn measured(record: &RunRecord, scene: &Scene<'_>) -> Self {
        let playable = (0..scene.population.servers.len())
            .filter(|&server| scene.is_playable(server))
            .count();
        let found = Found::new(record, |probe| scene.is_playable(probe.server.index()));
        let share = |percent| found.until(percent_of(percent, playable));
        let summary = &record.summary;
        Self {
            listed: scene.population.servers.len(),
            answering: scene.population.answering(scene.client),
            playable,
            probes: summary.probed,
            answered: summary.answered,
            found: found.probed.len(),
            expected_missed: summary.expected_missed,
            probes_to_50: share(50),
            probes_to_90: share(90),
            probes_to_99: share(99),
            probes_to_10_best: probes_to_best(record, scene),
            best: BestScore::of(record, scene),
            seconds: seconds(record),
            stopped: summary.stopped.expect("a run on record has ended"),
            datagrams: summary.probes_sent,
            bytes_sent: summary.bytes_sent,
            bytes_received: summary.bytes_received,
            clusters: record.plan.clusters,
            calibration_probes: record.plan.calibration_probes,
            calibration_seconds: record.calibrated().map(|at| at.since_epoch().as_secs_f64()),
        }
    }

    /// The share of playable servers that was found; all of them where there are none.
    pub fn recall(&self) -> f64 {
        match self.playable {
            0 => 1.0,
            playable => self.found as f64 / playable as f64,
        }
    }
}

/// So many percent of a count, rounded up, without the accidents of fractions.
fn percent_of(percent: usize, count: usize) -> usize {
    (percent * count).div_ceil(100)
}

/// Until the last server was settled; the engine itself notices the end at its next turn to send.
fn seconds(record: &RunRecord) -> f64 {
    let settled = record.probes.iter().map(|probe| probe.settled).max();
    settled.map_or(record.summary.seconds, |last| {
        last.since_epoch().as_secs_f64()
    })
}

/// Ties with the tenth count as well: any ten servers as near as that are "the ten best".
fn probes_to_best(record: &RunRecord, scene: &Scene<'_>) -> Option<usize> {
    let rtts = scene.wanted_rtts(record.seed);
    let count = rtts.len().min(BEST);
    let limit = *rtts.get(count.checked_sub(1)?)?;
    let near = |probe: &Probe| {
        let rtt = scene.wanted_rtt(probe.server.index(), record.seed);
        rtt.is_some_and(|rtt| rtt <= limit)
    };
    Found::new(record, near).until(count)
}

/// How many servers had been probed when each of the wanted ones answered.
struct Found {
    probed: Vec<usize>,
}

impl Found {
    fn new(record: &RunRecord, wanted: impl Fn(&Probe) -> bool) -> Self {
        let answered = record.probes.iter().filter(|probe| probe.rtt.is_some());
        Self {
            probed: answered.filter(|p| wanted(p)).map(|p| p.probed).collect(),
        }
    }

    /// Servers probed until `count` of the wanted ones had answered; `None` if that never came, or
    /// if nothing was wanted.
    fn until(&self, count: usize) -> Option<usize> {
        self.probed.get(count.checked_sub(1)?).copied()
    }
}
