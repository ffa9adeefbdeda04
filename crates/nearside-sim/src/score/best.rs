//! How many of the k nearest servers a run found, and how many better ones it left.

use std::collections::HashSet;

use nearside_types::Rtt;

use super::BEST;
use crate::record::RunRecord;
use crate::scene::Scene;

/// The k nearest servers, as a player who wants only those sees them. k is what the conditions ask
/// for, else ten. Where only some pass the filters, the k nearest of those.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BestScore {
    /// Of the k nearest by base RTT, those that were found; one that a probe cannot tell from the
    /// k-th counts as well.
    pub found: usize,
    /// Servers that answer, were not probed, and are nearer than the k-th nearest that was measured.
    /// Who did not ask for the best alone gets no server beyond the stop, so there only playable ones
    /// count, as in what planners say.
    pub better: usize,
    /// How many of those the planner itself expects, if it can tell.
    pub expected_better: Option<f64>,
}

impl BestScore {
    pub(super) fn of(record: &RunRecord, scene: &Scene<'_>) -> Self {
        let wanted = scene.conditions.best.unwrap_or(BEST);
        Self {
            found: found(record, scene, wanted),
            better: better(record, scene, wanted),
            expected_better: record.summary.expected_better,
        }
    }
}

fn found(record: &RunRecord, scene: &Scene<'_>, wanted: usize) -> usize {
    let rtts = scene.wanted_rtts(record.seed);
    let wanted = wanted.min(rtts.len());
    let Some(&kth) = wanted.checked_sub(1).and_then(|last| rtts.get(last)) else {
        return 0;
    };
    // One deviation of a single probe: nobody can tell servers apart that are nearer to each other.
    let limit = kth.as_millis_f64() * (1.0 + scene.conditions.farm.noise.sigma);
    let answered = record.probes.iter().filter(|probe| probe.rtt.is_some());
    let near = answered.filter_map(|probe| scene.wanted_rtt(probe.server.index(), record.seed));
    near.filter(|rtt| rtt.as_millis_f64() <= limit)
        .count()
        .min(wanted)
}

fn better(record: &RunRecord, scene: &Scene<'_>, wanted: usize) -> usize {
    let rtt = |server: usize| scene.wanted_rtt(server, record.seed);
    let probes = record.probes.iter();
    let wanted_ones = probes.filter(|probe| rtt(probe.server.index()).is_some());
    let mut measured: Vec<Rtt> = wanted_ones.filter_map(|probe| probe.rtt).collect();
    measured.sort_unstable();
    let kth = wanted.checked_sub(1).and_then(|last| measured.get(last));
    let probed: HashSet<usize> = record.probes.iter().map(|p| p.server.index()).collect();
    let stop = scene.conditions.stop;
    let limit = match (kth, scene.conditions.best) {
        (kth, Some(_)) => kth.copied(),
        (kth, None) => Some(kth.map_or(stop, |&kth| kth.min(stop))),
    };
    let is_better = |rtt: Rtt| limit.is_none_or(|limit| rtt < limit);
    (0..scene.population.servers.len())
        .filter(|server| !probed.contains(server))
        .filter(|&server| rtt(server).is_some_and(is_better))
        .count()
}
