//! Figure 11: with how many others one can play well, with and without detours.

use std::sync::Arc;

use nearside_report::{Axis, Better, Cell, Column, Evidence, Figure, Part, Table};

use super::judged;
use super::laboratory::{Laboratory, Who};
use super::network::Paths;
use super::settings::Way;
use super::tables::{Claim, claims, column, distribution, mean, share_from};
use crate::batch::{Progress, Unwatched, parallel};
use crate::experiment::{Experiment, Name, Setup, Size, Study};

/// Figure 11.
pub(super) struct Matchability {
    pub(super) name: Name,
    pub(super) lab: Arc<Laboratory>,
}

/// Round-trip times up to which a game is good (section 6.2), in milliseconds.
const THRESHOLDS: [f64; 3] = [50.0, 100.0, 200.0];

/// One client at one threshold: the shares of all clients, in per cent, that it can play with.
#[derive(Debug, Clone, Copy, Default)]
struct Matches {
    direct: f64,
    found: [f64; 2],
    oracle: f64,
}

/// The clients of one seed, by threshold.
type Matched = [Vec<Matches>; THRESHOLDS.len()];

impl Matches {
    fn of(self, who: Who) -> f64 {
        match who {
            Who::Direct => self.direct,
            Who::Finds(Way::Paper) => self.found[0],
            Who::Finds(Way::Ours) => self.found[1],
            Who::Oracle => self.oracle,
        }
    }

    /// Additional players, in per cent of all.
    fn improvement(self, who: Who) -> f64 {
        self.of(who) - self.direct
    }
}

impl Experiment for Matchability {
    fn name(&self) -> Name {
        self.name
    }

    fn title(&self) -> String {
        "Ly et al., Figure 11: improvement of matchability".to_owned()
    }

    fn parts(&self, study: &Study) -> Vec<Part> {
        self.watched_parts(study, &Unwatched)
    }

    fn watched_parts(&self, study: &Study, progress: &dyn Progress) -> Vec<Part> {
        let setup = study.setup();
        let by_seed = self.run(setup, progress);
        let network = self.lab.source.network(setup.size, setup.seeds.first());
        let mut parts = vec![
            self.lab.words().into(),
            format!("{INTRODUCTION} {}", judged::judged_words(&network)).into(),
        ];
        let each = THRESHOLDS.iter().enumerate();
        parts.extend(each.map(|(place, ms)| figure(&by_seed, place, *ms).into()));
        parts.push(table(&by_seed).into());
        parts.push(claims([claim(&by_seed)]).into());
        parts
    }
}

const INTRODUCTION: &str = "The clients of a hundred random pairs, as in the paper; for each, all others \
     are asked for. A client's matchability is the share of all clients it reaches within the \
     threshold, by the direct path or by the best of K candidates. Matrix mode; the paper's ping mode \
     with Δ = 8 ms comes to the same where round-trip times stand still.";

impl Matchability {
    fn run(&self, setup: &Setup, progress: &dyn Progress) -> Vec<Matched> {
        let seeds = setup.seeds.as_slice();
        progress.expect(seeds.len());
        parallel(seeds, |seed| {
            let matched = self.matched(setup.size, *seed);
            progress.done();
            matched
        })
    }

    fn matched(&self, size: Size, seed: u64) -> Matched {
        let settings = &self.lab.settings;
        let network = self.lab.source.network(size, seed);
        let known = judged::knowledge(&network, settings, seed);
        let paths = judged::judging_paths(&network, settings.overhead);
        let mut directories = Way::ALL.map(|way| judged::directory(&known, way, seed));
        let mut matched = Matched::default();
        for own in clients(&paths, size, seed) {
            let mut counts = [Matches::default(); THRESHOLDS.len()];
            for other in (0..paths.nodes()).filter(|other| *other != own) {
                let direct = paths.direct(own, other);
                let k = settings.candidates;
                let found = directories.each_mut().map(|directory| {
                    let ways = judged::candidates(directory, &paths, own, other, k);
                    ways.into_iter().fold(direct, f64::min)
                });
                let oracle = paths.oracle(own, other);
                count(&mut counts, direct, found, oracle);
            }
            let percent = 100.0 / (paths.nodes() - 1) as f64;
            for (of_threshold, counted) in matched.iter_mut().zip(counts) {
                of_threshold.push(counted.scaled(percent));
            }
        }
        matched
    }
}

fn count(counts: &mut [Matches; 3], direct: f64, found: [f64; 2], oracle: f64) {
    for (counted, threshold) in counts.iter_mut().zip(THRESHOLDS) {
        let within = |rtt: f64| f64::from(u8::from(rtt < threshold));
        counted.direct += within(direct);
        counted.found[0] += within(found[0]);
        counted.found[1] += within(found[1]);
        counted.oracle += within(oracle);
    }
}

impl Matches {
    fn scaled(self, by: f64) -> Self {
        Self {
            direct: self.direct * by,
            found: self.found.map(|count| count * by),
            oracle: self.oracle * by,
        }
    }
}

/// Both ends of a hundred pairs.
fn clients(paths: &Paths, size: Size, seed: u64) -> Vec<usize> {
    let pairs = match size {
        Size::Full => 100,
        Size::Quick => 8,
    };
    let ends = judged::sample(paths, pairs, seed).into_iter();
    let mut clients: Vec<usize> = ends.flat_map(|(s, t)| [s, t]).collect();
    clients.sort_unstable();
    clients.dedup();
    clients
}

fn figure(by_seed: &[Matched], place: usize, threshold: f64) -> Figure {
    let chart = Figure::chart(
        format!("figure11-{threshold:.0}ms"),
        format!("Additional players within {threshold:.0} ms, distribution over clients."),
        Axis::linear("additional players (% of all)"),
        Axis::linear("clients (%)").range(0.0, 100.0),
    )
    .evidence(Evidence::NotFitted);
    Who::WITH_DETOURS.iter().fold(chart, |chart, who| {
        let all = by_seed.iter().flat_map(|matched| &matched[place]);
        let values: Vec<f64> = all.map(|matches| matches.improvement(*who)).collect();
        chart.layer(distribution(who.label(), &values))
    })
}

fn table(by_seed: &[Matched]) -> Table {
    let caption = "Share of all clients within a threshold, means over clients";
    let table = Table::new("matchability", caption).column(Column::new("threshold").unit("ms"));
    let mut table = Who::ALL.iter().fold(table, |table, who| {
        table.column(column(who.column(), who.label(), "%"))
    });
    for (place, threshold) in THRESHOLDS.iter().enumerate() {
        let cells = Who::ALL.iter().map(|who| {
            let means = by_seed.iter().map(|matched| {
                mean(
                    &matched[place]
                        .iter()
                        .map(|m| m.of(*who))
                        .collect::<Vec<_>>(),
                )
            });
            Cell::spread(&means.collect::<Vec<_>>(), Better::High, 2)
        });
        table.push([Cell::number(*threshold, 0)].into_iter().chain(cells));
    }
    table
}

/// "20 % or more additional players" may mean of all players, or of those one could play with before.
fn claim(by_seed: &[Matched]) -> Claim {
    let share = |who: Who, place: usize| {
        let shares = by_seed.iter().map(|matched| {
            let of_all = matched[place].iter().map(|m| m.improvement(who));
            share_from(&of_all.collect::<Vec<_>>(), 20.0)
        });
        mean(&shares.collect::<Vec<_>>())
    };
    let relative = |who: Who, place: usize| {
        let shares = by_seed.iter().map(|matched| {
            let grown = matched[place].iter().map(|m| match m.direct > 0.0 {
                true => 100.0 * m.improvement(who) / m.direct,
                false => 100.0 * m.improvement(who).signum(),
            });
            share_from(&grown.collect::<Vec<_>>(), 20.0)
        });
        mean(&shares.collect::<Vec<_>>())
    };
    let both = |who| {
        format!(
            "{:.1} and {:.1} % of players (20 % of all), {:.1} and {:.1} % (20 % more than before)",
            share(who, 0),
            share(who, 1),
            relative(who, 0),
            relative(who, 1)
        )
    };
    Claim {
        paper: "About 50 % of players can be matched with 20 % or more additional players at 50 and \
                at 100 ms.",
        measured: format!(
            "The paper's way: {}; ours: {}.",
            both(Who::Finds(Way::Paper)),
            both(Who::Finds(Way::Ours))
        ),
        ceiling: both(Who::Oracle),
    }
}
