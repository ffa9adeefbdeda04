//! What the paper does not vary: what a relay itself costs, and how long a choice stays good.

use std::sync::Arc;

use nearside_report::{Axis, Better, Cell, Column, Evidence, Figure, Layer, Part, Point, Table};
use nearside_types::Rtt;

use super::judged::{self, Gains};
use super::laboratory::Laboratory;
use super::network::Paths;
use super::settings::Way;
use super::tables::{column, mean, share_from};
use crate::batch::{Progress, Unwatched, parallel};
use crate::experiment::{Experiment, Name, Setup, Study};

/// Relay overheads of 0 to 10 ms.
pub(super) struct Overheads {
    pub(super) name: Name,
    pub(super) lab: Arc<Laboratory>,
}

/// Milliseconds: none, ours on loopback, a slow computer, the paper's measurement, its simulation.
const OVERHEADS: [f64; 5] = [0.0, 0.2, 1.0, 6.4, 10.0];

/// Chosen once, judged later and later.
pub(super) struct Staleness {
    pub(super) name: Name,
    pub(super) lab: Arc<Laboratory>,
}

/// One way on one seed, judged on several truths.
type Judged = Vec<[Gains; 2]>;

/// Lets both ways choose on the first slice and judges them on each of `truths`.
fn judge(
    lab: &Laboratory,
    setup: &Setup,
    progress: &dyn Progress,
    truths: impl Fn(&super::network::Network) -> Vec<Paths> + Sync,
) -> Vec<Judged> {
    let seeds = setup.seeds.as_slice();
    progress.expect(seeds.len());
    parallel(seeds, |seed| {
        let network = lab.source.network(setup.size, *seed);
        let known = judged::knowledge(&network, &lab.settings, *seed);
        let mut directories = Way::ALL.map(|way| judged::directory(&known, way, *seed));
        let judged = truths(&network)
            .iter()
            .map(|paths| {
                let pairs = judged::sample(paths, judged::pairs(setup.size), *seed);
                let ks = [lab.settings.candidates];
                directories
                    .each_mut()
                    .map(|directory| judged::gains(directory, paths, &pairs, &ks))
            })
            .collect();
        progress.done();
        judged
    })
}

impl Experiment for Overheads {
    fn name(&self) -> Name {
        self.name
    }

    fn title(&self) -> String {
        "Detours: what a relay's own time costs".to_owned()
    }

    fn parts(&self, study: &Study) -> Vec<Part> {
        self.watched_parts(study, &Unwatched)
    }

    fn watched_parts(&self, study: &Study, progress: &dyn Progress) -> Vec<Part> {
        let by_seed = judge(&self.lab, study.setup(), progress, |network| {
            let overhead = |ms: &f64| judged::judging_paths(network, Rtt::from_millis_f64(*ms));
            OVERHEADS.iter().map(overhead).collect()
        });
        let network = self
            .lab
            .source
            .network(study.setup().size, study.setup().seeds.first());
        let first: Vec<Cell> = OVERHEADS.iter().map(|ms| Cell::number(*ms, 1)).collect();
        vec![
            self.lab.words().into(),
            format!(
                "The relay overhead of the settings does not count here. The paper measured 6.2 and \
                 6.5 ms with a game running beside the relay and reckons with 10. {}",
                judged::judged_words(&network)
            )
            .into(),
            figure(self.name.item, "relay overhead (ms)", &OVERHEADS, &by_seed).into(),
            table("overheads", "By relay overhead", ("overhead", "ms"), &first, &by_seed).into(),
        ]
    }
}

impl Experiment for Staleness {
    fn name(&self) -> Name {
        self.name
    }

    fn title(&self) -> String {
        "Detours: how long what was measured stays good".to_owned()
    }

    fn parts(&self, study: &Study) -> Vec<Part> {
        self.watched_parts(study, &Unwatched)
    }

    fn watched_parts(&self, study: &Study, progress: &dyn Progress) -> Vec<Part> {
        let overhead = self.lab.settings.overhead;
        let network = self
            .lab
            .source
            .network(study.setup().size, study.setup().seeds.first());
        let by_seed = judge(&self.lab, study.setup(), progress, |network| {
            let slices = network.slices.iter();
            slices.map(|slice| Paths::new(slice, overhead)).collect()
        });
        let first: Vec<Cell> = (0..network.slices.len()).map(Cell::from).collect();
        let later: Vec<f64> = (0..network.slices.len())
            .map(|slice| slice as f64)
            .collect();
        let words = match network.slices.len() {
            _ if network.is_replayed() => {
                "The medians of a trace are one slice, so nothing gets old here: give a matrix with \
                 --slices."
            }
            1 => "There is one slice, so nothing gets old here: give --slices.",
            _ => "Relays are chosen on the first slice and judged on it and on each later one.",
        };
        vec![
            self.lab.words().into(),
            words.into(),
            figure(self.name.item, "slices later", &later, &by_seed).into(),
            table(
                "staleness-table",
                "By slices between choice and judgement",
                ("later", "slices"),
                &first,
                &by_seed,
            )
            .into(),
        ]
    }
}

/// The mean reduction by truth, with the best there is beside it.
fn figure(name: &str, axis: &str, xs: &[f64], by_seed: &[Judged]) -> Figure {
    let chart = Figure::chart(
        name,
        "Mean reduction over all pairs, with the best there is beside it.",
        Axis::linear(axis),
        Axis::linear("mean reduction (ms)"),
    );
    let points = |of: &dyn Fn(&[Gains; 2]) -> f64| -> Vec<Point> {
        let over_seeds = |place: usize| -> Vec<f64> {
            by_seed.iter().map(|judged| of(&judged[place])).collect()
        };
        let each = xs.iter().enumerate();
        each.map(|(place, x)| Point {
            x: *x,
            y: mean(&over_seeds(place)),
        })
        .collect()
    };
    let ways = Way::ALL.iter().enumerate();
    ways.fold(
        chart.evidence(Evidence::NotFitted),
        |chart, (place, way)| {
            chart.layer(Layer::line(
                way.label(),
                points(&|both| both[place].mean(0)),
            ))
        },
    )
    .layer(Layer::line("oracle", points(&|both| both[0].oracle_mean())))
}

/// A row for each truth.
fn table(
    name: &str,
    caption: &str,
    (first, unit): (&str, &str),
    firsts: &[Cell],
    by_seed: &[Judged],
) -> Table {
    let table = Table::new(name, caption).column(Column::new(first).unit(unit));
    let table = Way::ALL.iter().fold(table, |table, way| {
        let column = |what: &str, heading: &str, unit: &str| {
            let name = format!("{}_{what}", way.column());
            column(name, format!("{}: {heading}", way.label()), unit)
        };
        table
            .column(column("share", "share of the oracle's gain", ""))
            .column(column("reduction", "mean reduction", "ms"))
            .column(column("from_5", "pairs with 5 ms or more", "%"))
            .column(column("from_100", "pairs that gain 100 ms or more", "%"))
    });
    let mut table = table
        .column(column("oracle_reduction", "oracle: mean reduction", "ms"))
        .column(column("oracle_from_5", "oracle: 5 ms or more", "%"))
        .column(column(
            "oracle_from_100",
            "oracle: pairs that gain 100 ms or more",
            "%",
        ));
    for (place, first) in firsts.iter().enumerate() {
        let spread_some = |of: &dyn Fn(&[Gains; 2]) -> Option<f64>, decimals| {
            let seeds = by_seed.iter();
            let values: Vec<f64> = seeds.filter_map(|judged| of(&judged[place])).collect();
            Cell::spread(&values, Better::High, decimals)
        };
        let spread = |of: &dyn Fn(&[Gains; 2]) -> f64, decimals| {
            spread_some(&|both| Some(of(both)), decimals)
        };
        let mut cells = vec![first.clone()];
        for way in 0..2 {
            cells.push(spread_some(&|both| both[way].share(0), 3));
            cells.push(spread(&|both| both[way].mean(0), 2));
            cells.push(spread(&|both| share_from(&both[way].by_k[0], 5.0), 1));
            cells.push(spread(&|both| share_from(&both[way].by_k[0], 100.0), 1));
        }
        cells.push(spread(&|both| both[0].oracle_mean(), 2));
        cells.push(spread(&|both| share_from(&both[0].oracle, 5.0), 1));
        cells.push(spread(&|both| share_from(&both[0].oracle, 100.0), 1));
        table.push(cells);
    }
    table
}
