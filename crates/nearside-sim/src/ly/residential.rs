//! Section 5.4: seventeen homes, K = N = 8, games of two.

use std::collections::BTreeSet;
use std::sync::Arc;

use nearside_report::{Axis, Better, Cell, Column, Evidence, Figure, Part, Table};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::emulation::{Emulation, Log};
use super::journey::Journey;
use super::laboratory::{Laboratory, WARM_UP, length};
use super::network::{Network, Paths};
use super::sessions::{Company, sessions};
use super::settings::{Settings, Way};
use super::tables::{Claim, claims, column, distribution, mean, share_of_gain};
use crate::batch::{Progress, Unwatched, parallel};
use crate::experiment::{Experiment, Name, Setup, Study};

/// The residential deployment.
pub(super) struct Residential {
    pub(super) name: Name,
    pub(super) lab: Arc<Laboratory>,
}

const HOMES: usize = 17;
const EIGHT: usize = 8;

/// One network of homes.
struct Homes {
    logs: [Log; 2],
    /// Pairs of homes, and those of them that have a detour at all.
    pairs: usize,
    pairs_with_detour: f64,
}

impl Experiment for Residential {
    fn name(&self) -> Name {
        self.name
    }

    fn title(&self) -> String {
        "Ly et al., section 5.4: seventeen homes".to_owned()
    }

    fn parts(&self, study: &Study) -> Vec<Part> {
        self.watched_parts(study, &Unwatched)
    }

    fn watched_parts(&self, study: &Study, progress: &dyn Progress) -> Vec<Part> {
        let settings = Settings {
            neighbours: EIGHT,
            candidates: EIGHT,
            ..self.lab.settings.clone()
        };
        let setup = study.setup();
        let network = self.lab.source.network(setup.size, setup.seeds.first());
        let length = length(&network, setup.size);
        let homes = self.run(setup, &settings, progress);
        let pairs = mean(
            &homes
                .iter()
                .map(|homes| homes.pairs_with_detour)
                .collect::<Vec<_>>(),
        );
        let detoured = |way: usize| {
            mean(
                &homes
                    .iter()
                    .map(|homes| pairs_on_detours(&homes.logs[way]))
                    .collect::<Vec<_>>(),
            )
        };
        let found = homes.first().map_or(0, |homes| homes.logs[0].probes.len());
        let of = homes.first().map_or(0, |homes| homes.pairs);
        vec![
            (self.lab.words_with(&settings) + &network.left_out_words(length)).into(),
            format!(
                "{found} random nodes of the network for every seed, games of two players. K and N are \
                 8 as in section 5.4, whatever the settings say, and P does not count. The paper's \
                 homes were on for a week as their owners liked; these are on for {:.1} hours.",
                length.as_secs_f64() / 3600.0
            )
            .into(),
            self.figure(&homes).into(),
            table(&homes).into(),
            claims([Claim {
                paper: "More than 8 detours were found among 17 homes.",
                measured: format!(
                    "Pairs that were on a detour: {:.1} by the paper's way, {:.1} by ours.",
                    detoured(0),
                    detoured(1)
                ),
                ceiling: format!("{pairs:.1} of {of} pairs have a detour at some time."),
            }])
            .into(),
        ]
    }
}

impl Residential {
    fn figure(&self, homes: &[Homes]) -> Figure {
        let chart = Figure::chart(
            self.name.item,
            "By how much the round trip of a game of two falls, over all games and seeds.",
            Axis::linear("reduction (ms)"),
            Axis::linear("share (%)").range(0.0, 100.0),
        );
        let of = |way: usize, gain: fn(&Journey) -> f64| -> Vec<f64> {
            let journeys = homes
                .iter()
                .flat_map(|h| h.logs[way].sessions.iter().flatten());
            journeys.map(gain).collect()
        };
        let ways = Way::ALL.iter().enumerate();
        ways.fold(
            chart.evidence(Evidence::NotFitted),
            |chart, (place, way)| chart.layer(distribution(way.label(), &of(place, Journey::gain))),
        )
        .layer(distribution("oracle", &of(0, Journey::oracle_gain)))
    }

    fn run(&self, setup: &Setup, settings: &Settings, progress: &dyn Progress) -> Vec<Homes> {
        let seeds = setup.seeds.as_slice();
        progress.expect(seeds.len());
        parallel(seeds, |seed| {
            let network = self.lab.source.network(setup.size, *seed);
            let length = length(&network, setup.size);
            let network = network.restricted(&draw(&network, *seed));
            let sessions = sessions(network.nodes(), Company::Pairs, WARM_UP, length, *seed);
            let logs = Way::ALL.map(|way| {
                Emulation {
                    network: &network,
                    settings,
                    way,
                    sessions: &sessions,
                    length,
                    seed: *seed,
                }
                .run()
            });
            progress.done();
            Homes {
                logs,
                pairs: network.nodes() * (network.nodes() - 1) / 2,
                pairs_with_detour: with_detour(&network, settings),
            }
        })
    }
}

fn draw(network: &Network, seed: u64) -> Vec<usize> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(3);
    let mut left: Vec<usize> = (0..network.nodes()).collect();
    let wanted = HOMES.min(left.len());
    (0..wanted)
        .map(|_| left.swap_remove(random.random_range(0..left.len())))
        .collect()
}

/// Pairs for which some relay is quicker than the direct path, in one slice at least.
fn with_detour(network: &Network, settings: &Settings) -> f64 {
    let slices = network.slices.iter();
    let paths: Vec<Paths> = slices
        .map(|slice| Paths::new(slice, settings.overhead))
        .collect();
    let nodes = network.nodes();
    let pairs = (0..nodes).flat_map(|a| (a + 1..nodes).map(move |b| (a, b)));
    let helps = |paths: &Paths, (a, b): (usize, usize)| {
        let direct = paths.direct(a, b);
        direct.is_finite() && paths.oracle(a, b) < direct
    };
    let helped = pairs.filter(|pair| paths.iter().any(|paths| helps(paths, *pair)));
    helped.count() as f64
}

/// Pairs whose packets took a detour, by whatever relay and in whichever direction.
fn pairs_on_detours(log: &Log) -> f64 {
    let detoured = log.sessions.iter().flatten().filter(|j| j.relay.is_some());
    let pair = |(a, b): (usize, usize)| (a.min(b), a.max(b));
    let pairs: BTreeSet<(usize, usize)> = detoured.map(|journey| pair(journey.ends)).collect();
    pairs.len() as f64
}

fn table(homes: &[Homes]) -> Table {
    let table = Table::new("homes", "Games of two among seventeen homes")
        .column(Column::new("who"))
        .column(column("detoured", "sessions on a detour", "%"))
        .column(column("reduction", "mean reduction", "ms"))
        .column(column("share", "share of the oracle's gain", ""));
    let row = |label: &str, of: &dyn Fn(&Homes) -> [Option<f64>; 3]| {
        let values: Vec<[Option<f64>; 3]> = homes.iter().map(of).collect();
        let spread = |place: usize, decimals| {
            let of_place: Vec<f64> = values.iter().filter_map(|v| v[place]).collect();
            Cell::spread(&of_place, Better::High, decimals)
        };
        [Cell::from(label), spread(0, 1), spread(1, 2), spread(2, 3)]
    };
    let table = table.row(row("direct (current)", &|_| [Some(0.0); 3]));
    let table = Way::ALL
        .iter()
        .enumerate()
        .fold(table, |table, (place, way)| {
            table.row(row(way.label(), &|homes| found(&homes.logs[place])))
        });
    table.row(row("oracle", &|homes| {
        let journeys = || homes.logs[0].sessions.iter().flatten();
        let gains: Vec<f64> = journeys().map(Journey::oracle_gain).collect();
        let detoured = gains.iter().filter(|gain| **gain > 0.0).count();
        let share = 100.0 * detoured as f64 / gains.len().max(1) as f64;
        let all = share_of_gain(1.0, mean(&gains)).map(|_| 1.0);
        [Some(share), Some(mean(&gains)), all]
    }))
}

fn found(log: &Log) -> [Option<f64>; 3] {
    let journeys = || log.sessions.iter().flatten();
    let count = journeys().count().max(1) as f64;
    let detoured = journeys().filter(|j| j.relay.is_some()).count() as f64;
    let gain: f64 = journeys().map(Journey::gain).sum();
    let oracle: f64 = journeys().map(Journey::oracle_gain).sum();
    let share = share_of_gain(gain, oracle);
    [Some(100.0 * detoured / count), Some(gain / count), share]
}
