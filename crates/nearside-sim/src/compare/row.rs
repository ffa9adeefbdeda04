use nearside_discover::planner::StopReason;
use serde::{Deserialize, Serialize};

use crate::method::Method;
use crate::score::Score;

/// One run. The names and their order are the contract of `docs/sim.md`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// Who: a planner, or the oracle.
    pub planner: String,
    /// From where.
    pub client: String,
    /// On which instance.
    pub seed: u64,
    /// Servers on the list.
    pub listed: usize,
    /// Of those, the ones that answer.
    pub answering: usize,
    /// Of those, the ones whose base RTT is below the stop.
    pub playable: usize,
    /// Servers probed, retries not counted.
    pub probes: usize,
    /// Playable servers that were probed and answered.
    pub found: usize,
    /// `found` over `playable`, 0 to 1; 1 where nothing is playable.
    pub recall: f64,
    /// Playable servers the planner itself expects to have missed; `null` if it cannot tell.
    pub expected_missed: Option<f64>,
    /// Servers probed until half of the playable ones were found; `null` if that never came.
    pub probes_to_50: Option<usize>,
    /// … nine tenths of them.
    pub probes_to_90: Option<usize>,
    /// … 99 % of them.
    pub probes_to_99: Option<usize>,
    /// … the ten nearest servers of all, playable or not.
    pub probes_to_10_best: Option<usize>,
    /// Of the k nearest servers (`--best`, else ten), those that were found.
    pub best_found: usize,
    /// Servers nearer than the k-th nearest found that were not probed.
    pub better: usize,
    /// How many of those the planner itself expects; `null` if it cannot tell.
    pub expected_better: Option<f64>,
    /// How long it took.
    pub seconds: f64,
    /// Why it stopped.
    pub stopped: StopReason,
}

impl Row {
    pub(super) fn new(method: &Method, client: &str, seed: u64, score: &Score) -> Self {
        Self {
            planner: method.name().to_owned(),
            client: client.to_owned(),
            seed,
            listed: score.listed,
            answering: score.answering,
            playable: score.playable,
            probes: score.probes,
            found: score.found,
            recall: score.recall(),
            expected_missed: score.expected_missed,
            probes_to_50: score.probes_to_50,
            probes_to_90: score.probes_to_90,
            probes_to_99: score.probes_to_99,
            probes_to_10_best: score.probes_to_10_best,
            best_found: score.best.found,
            better: score.best.better,
            expected_better: score.best.expected_better,
            seconds: score.seconds,
            stopped: score.stopped,
        }
    }
}
