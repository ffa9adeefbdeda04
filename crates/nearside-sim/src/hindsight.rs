//! What other stops would have made of a run. A run that probes everything passes through every
//! state that a run with auto-stop is in before it stops, so one run judges them all, with the
//! watch of the live planner.

use nearside_discover::planner::{AutoStop, StopRule};
use nearside_types::{Moment, Rtt};

use crate::record::{Phase, RunRecord, Timing};
use crate::scene::Scene;

/// A stop that a client might have used.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stop {
    /// How it judges the recent answers.
    pub rule: StopRule,
    /// The RTT it waits for (RTT_stop).
    pub at: Rtt,
    /// The RTT below which the player wants servers; the papers make no difference between the two.
    pub playable: Rtt,
}

impl Stop {
    /// An RTT that no answer reaches: such a stop never comes.
    pub const NEVER: Rtt = Rtt::from_micros(u32::MAX);
}

/// What a stop would have left of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// Servers probed.
    pub probes: usize,
    /// Playable servers among them that answered.
    pub found: usize,
    /// Playable servers there are.
    pub playable: usize,
}

impl Cut {
    /// The share of playable servers that was found; all of them where there are none.
    pub fn recall(&self) -> f64 {
        match self.playable {
            0 => 1.0,
            playable => self.found as f64 / playable as f64,
        }
    }
}

/// Cuts a run that stopped nowhere by each of `stops`, in their order. Exact as long as answers come
/// to the first try; an answer to a later try counts from that try on.
pub(crate) fn cuts(record: &RunRecord, scene: &Scene<'_>, stops: &[Stop]) -> Vec<Cut> {
    let mut wanted: Vec<Wanted> = Vec::new();
    let mut cuts = Vec::with_capacity(stops.len());
    // Neighbours often differ in their threshold alone, and then share one pass.
    for group in stops.chunk_by(|one, next| one.rule == next.rule) {
        for (stop, end) in group.iter().zip(ends(record, group)) {
            let known = wanted.iter().position(|known| known.below == stop.playable);
            let place = known.unwrap_or_else(|| {
                wanted.push(Wanted::new(record, scene, stop.playable));
                wanted.len() - 1
            });
            cuts.push(wanted[place].cut(record, end));
        }
    }
    cuts
}

/// The servers that a player wants.
struct Wanted {
    below: Rtt,
    count: usize,
    /// When those that answered were chosen, in ascending order: what was chosen before a stop is
    /// still asked after it.
    chosen: Vec<Moment>,
}

impl Wanted {
    fn new(record: &RunRecord, scene: &Scene<'_>, below: Rtt) -> Self {
        let is_wanted = |server: usize| scene.rtt(server).is_some_and(|rtt| rtt < below);
        let answered = record.probes.iter().filter(|probe| probe.rtt.is_some());
        let found = answered.filter(|probe| is_wanted(probe.server.index()));
        let mut chosen: Vec<Moment> = found.map(|probe| probe.chosen).collect();
        chosen.sort_unstable();
        let servers = 0..scene.population.servers.len();
        Self {
            below,
            count: servers.filter(|&server| is_wanted(server)).count(),
            chosen,
        }
    }

    /// What is found of them when a run ends there; at its own end without one.
    fn cut(&self, record: &RunRecord, end: Option<End>) -> Cut {
        let found = |end: End| self.chosen.partition_point(|&chosen| chosen <= end.at);
        Cut {
            probes: end.map_or(record.summary.probed, |end| end.probed),
            found: end.map_or(self.chosen.len(), found),
            playable: self.count,
        }
    }
}

/// The moment of a stop.
#[derive(Debug, Clone, Copy)]
struct End {
    at: Moment,
    probed: usize,
}

/// Where each of some stops with one rule comes, if it does.
fn ends(record: &RunRecord, stops: &[Stop]) -> Vec<Option<End>> {
    let mut ends = vec![None; stops.len()];
    let Some(first) = stops.first() else {
        return ends;
    };
    // Waits for nothing, so that it tells its bottom whenever the rule has no other objection.
    let mut watch = AutoStop::new(first.rule, Rtt::default());
    let ordered = record
        .probes
        .iter()
        .filter(|probe| probe.phase == Phase::Ordered && probe.timing == Timing::InTime);
    for probe in ordered {
        let Some(rtt) = probe.rtt else { continue };
        watch.push(rtt);
        let Some(bottom) = watch.rtt_bottom().filter(|_| watch.should_stop()) else {
            continue;
        };
        let end = End {
            at: probe.settled,
            probed: probe.probed,
        };
        for (known, stop) in ends.iter_mut().zip(stops) {
            *known = known.or_else(|| (bottom >= stop.at).then_some(end));
        }
    }
    ends
}

#[cfg(test)]
mod tests {
    use nearside_discover::planner::{PlannerConfig, PlannerKind};
    use nearside_world::{Game, WorldParams, generate};

    use super::*;
    use crate::method::Method;
    use crate::run::run;
    use crate::scene::Conditions;
    use crate::score::Score;

    fn ms(millis: u32) -> Rtt {
        Rtt::from_micros(millis * 1000)
    }

    /// AS clusters with this stop.
    fn method(stop: Option<StopRule>) -> Method {
        let mut config = PlannerConfig::published(PlannerKind::As);
        config.clusters.stop = stop;
        Method::Planner(config)
    }

    #[test]
    fn hindsight_sees_what_a_run_with_that_stop_does() {
        let population = generate(&WorldParams::builtin(), Game::Css, Some(2_000), 3);
        let listed = population.listed();
        let smooth = StopRule::SmoothRun {
            run: 20,
            spread_ms: 60.0,
        };
        let mut stopped_early = 0;
        for (client, rtt_stop) in [("AU", 200), ("AU", 260), ("JP", 200), ("DE", 60)] {
            let conditions = Conditions {
                stop: ms(rtt_stop),
                ..Conditions::published(Game::Css)
            };
            let scene = Scene {
                population: &population,
                listed: &listed,
                client: population.client(client).unwrap(),
                conditions: &conditions,
            };
            let whole = run(&scene, &method(None), 3);
            for rule in [StopRule::PUBLISHED, smooth] {
                let lived = Score::of_run(&scene, &method(Some(rule)), 3);
                let (at, playable) = (ms(rtt_stop), ms(rtt_stop));
                let seen = cuts(&whole, &scene, &[Stop { rule, at, playable }])[0];
                let expected = Cut {
                    probes: lived.probes,
                    found: lived.found,
                    playable: lived.playable,
                };
                assert_eq!(seen, expected, "{client} at {rtt_stop} ms by {rule:?}");
                stopped_early += usize::from(seen.probes < listed.len());
            }
        }
        assert!(stopped_early >= 4, "only {stopped_early} of 8 runs stopped");
    }
}
