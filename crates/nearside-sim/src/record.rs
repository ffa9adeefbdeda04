//! What one discovery did, probe by probe.

use nearside_discover::planner::{AutoStop, PlanReport, ServerId, StopRule};
use nearside_discover::snapshot::Summary;
use nearside_types::{Moment, Rtt};

/// A discovery from its first probe to its end.
#[derive(Debug, Clone)]
pub struct RunRecord {
    /// The seed of its draws and luck.
    pub seed: u64,
    /// Every server that was probed, in the order in which its outcome became known.
    pub probes: Vec<Probe>,
    /// What it cost: datagrams, bytes, time, and why it stopped.
    pub summary: Summary,
    /// What the planner says of its work.
    pub plan: PlanReport,
}

/// A server that was probed and what became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Probe {
    /// Its place in the population.
    pub server: ServerId,
    /// When it was chosen; the first try may come later, where many servers share an address.
    pub chosen: Moment,
    /// When its outcome became known: the reply, or the last try given up.
    pub settled: Moment,
    /// What was measured; `None` if it stayed silent.
    pub rtt: Option<Rtt>,
    /// Whether the planner heard of the answer.
    pub timing: Timing,
    /// What the probe was for.
    pub phase: Phase,
    /// Servers that had been probed by then, this one included; where several are given up
    /// together, those told of later are missing.
    pub probed: usize,
}

impl Probe {
    /// When the try that was answered was sent; for a silent server, when it was given up.
    pub fn at(&self) -> Moment {
        let back = self.rtt.unwrap_or_default().as_duration();
        self.settled.saturating_sub(back)
    }
}

/// When an outcome became known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timing {
    /// While the probe was pending: the planner was told.
    InTime,
    /// After the last try was given up: the user gets the row, but the planner was told of silence.
    Late,
}

/// What a probe was for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// To estimate clusters: the papers' calibration or initial probes, splits included.
    Calibration,
    /// In the planned order: the papers' re-ordered probes, and all probes of other planners.
    Ordered,
}

impl RunRecord {
    /// When the last calibration probe was settled; `None` if there was none.
    pub fn calibrated(&self) -> Option<Moment> {
        let calibration = self.probes.iter().filter(|p| p.phase == Phase::Calibration);
        calibration.map(|probe| probe.settled).max()
    }

    /// RTT_bottom of Algorithm 2 over the ordered probes: when it was what, from the first full
    /// window on. Computed from the record, so that it can be followed beyond the stop.
    pub fn rtt_bottom(&self, rule: StopRule, stop: Rtt) -> Vec<(Moment, Rtt)> {
        let mut watch = AutoStop::new(rule, stop);
        let ordered = self
            .probes
            .iter()
            .filter(|probe| probe.phase == Phase::Ordered && probe.timing == Timing::InTime);
        let step = |probe: &Probe| {
            watch.push(probe.rtt?);
            Some((probe.settled, watch.rtt_bottom()?))
        };
        ordered.filter_map(step).collect()
    }
}
