//! Section 6.3: what each parameter costs and gains. K, P and N in matrix mode; Δ and T in ping mode,
//! where clients measure on in time and pairs are judged every minute.

use std::sync::Arc;
use std::time::Duration;

use nearside_report::{Axis, Better, Cell, Column, Evidence, Figure, Layer, Part, Point, Table};
use nearside_types::Rtt;

use super::emulation::{Emulation, Log};
use super::journey::Journey;
use super::judged;
use super::laboratory::{Laboratory, WARM_UP};
use super::network::Network;
use super::sessions::pairs_each_minute;
use super::settings::{Settings, Way};
use super::tables::{column, mean, share_of_gain};
use crate::batch::{Progress, Unwatched, parallel};
use crate::experiment::{Experiment, Name, Setup, Size, Study};

/// A sweep of one parameter.
pub(super) struct Sweep {
    pub(super) name: Name,
    pub(super) lab: Arc<Laboratory>,
    pub(super) of: Parameter,
}

/// What is varied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Parameter {
    Delta,
    ReportInterval,
    Candidates,
    Pings,
    Neighbours,
}

/// One way at one value of the parameter on one seed.
#[derive(Debug, Clone, Copy, Default)]
struct Outcome {
    gain_ms: f64,
    oracle_ms: f64,
    /// Reports and probes of a client in a minute; not a number in matrix mode.
    updates: f64,
    probes: f64,
}

impl Parameter {
    const fn title(self) -> &'static str {
        match self {
            Self::Delta => "Δd and Δx from 8 to 512 ms",
            Self::ReportInterval => "T from 0.5 to 64 minutes",
            Self::Candidates => "K from 2 to 256",
            Self::Pings => "P from 10 to 640",
            Self::Neighbours => "N from 16 to 512",
        }
    }

    const fn axis(self) -> &'static str {
        match self {
            Self::Delta => "Δd = Δx (ms)",
            Self::ReportInterval => "T (min)",
            Self::Candidates => "K",
            Self::Pings => "P",
            Self::Neighbours => "N",
        }
    }

    const fn claim(self) -> &'static str {
        match self {
            Self::Delta => {
                "The paper, with T = 30: smaller Δ gives more reduction and more messages; 64 ms is a \
                 good trade-off."
            }
            Self::ReportInterval => {
                "The paper, with Δ = 8 ms: the reduction hardly depends on T, and a client sends 4.5 \
                 messages a minute at any T."
            }
            Self::Candidates | Self::Pings | Self::Neighbours => {
                "The paper varies this parameter and prints no result for it."
            }
        }
    }

    /// The values of section 6.2; numbers of nodes end where the network does.
    fn values(self, nodes: usize) -> Vec<f64> {
        let doubling = |first: f64, count: i32| (0..count).map(move |n| first * 2f64.powi(n));
        let most = (nodes - 1) as f64;
        let up_to = |most: f64, values: Vec<f64>| {
            let mut kept: Vec<f64> = values.into_iter().filter(|v| *v < most).collect();
            kept.push(most);
            kept
        };
        match self {
            Self::Delta => doubling(8.0, 7).collect(),
            Self::ReportInterval => doubling(0.5, 8).collect(),
            Self::Candidates => up_to((most - 1.0).min(256.0), doubling(2.0, 7).collect()),
            Self::Pings => doubling(10.0, 7).collect(),
            Self::Neighbours => up_to(most.min(512.0), doubling(16.0, 5).collect()),
        }
    }

    /// What section 6.3 holds still while it varies this: T = 30 (taken for seconds, as with Figure 11) for
    /// Δ, and Δ = 8 ms for T. Whatever else was asked for stays.
    fn held(self, settings: &Settings) -> Settings {
        let (mut held, usual) = (settings.clone(), Settings::default());
        match self {
            Self::Delta if held.report_interval == usual.report_interval => {
                held.report_interval = Duration::from_secs(30);
            }
            Self::ReportInterval if held.delta == usual.delta => {
                held.delta = Rtt::from_micros(8_000);
            }
            _ => {}
        }
        held
    }

    fn set(self, value: f64, settings: &Settings) -> Settings {
        let mut settings = self.held(settings);
        match self {
            Self::Delta => {
                settings.delta = Rtt::from_millis_f64(value);
                settings.own_delta = settings.delta;
            }
            Self::ReportInterval => {
                settings.report_interval = Duration::from_secs_f64(value * 60.0);
            }
            Self::Candidates => settings.candidates = value as usize,
            Self::Pings => settings.pings = value as usize,
            Self::Neighbours => settings.neighbours = value as usize,
        }
        settings
    }

    const fn is_in_time(self) -> bool {
        matches!(self, Self::Delta | Self::ReportInterval)
    }
}

impl Experiment for Sweep {
    fn name(&self) -> Name {
        self.name
    }

    fn title(&self) -> String {
        format!("Ly et al., section 6.3: {}", self.of.title())
    }

    fn parts(&self, study: &Study) -> Vec<Part> {
        self.watched_parts(study, &Unwatched)
    }

    fn watched_parts(&self, study: &Study, progress: &dyn Progress) -> Vec<Part> {
        let setup = study.setup();
        let network = self.lab.source.network(setup.size, setup.seeds.first());
        let values = self.of.values(network.nodes());
        let outcomes = self.run(setup, &values, progress);
        vec![
            (self
                .lab
                .words_of_sweep(&self.of.held(&self.lab.settings), self.of)
                + &self.left_out_words(&network, setup.size, &values))
                .into(),
            self.introduction(&network).into(),
            self.figure(&values, &outcomes).into(),
            self.table(&values, &outcomes).into(),
        ]
    }
}

impl Sweep {
    fn introduction(&self, network: &Network) -> String {
        let how = match self.of.is_in_time() {
            true => format!(
                "Ten random pairs at the end of every minute after ten minutes or 2 T, whichever is \
                 more, judged by the network as it is then; \
                 the paper's pairs of its two weeks were one a minute. The best of K candidates \
                 counts, for both. {}",
                match network.slices.len() {
                    _ if network.is_replayed() => "",
                    1 =>
                        "There is one slice, so round-trip times never change and Δd has nothing \
                          to hold back: only what coordinates do is seen here. Give --slices.",
                    _ => "The slices follow each other at equal distances over the run.",
                }
            ),
            false => format!(
                "Matrix mode: every client has N neighbours and sends P pings to random ones of them, \
                 then pairs are judged by the best of K candidates. {}",
                judged::judged_words(network)
            ),
        };
        format!("{how} {}", self.of.claim())
    }

    /// What the shortest of the runs leaves out of a trace.
    fn left_out_words(&self, network: &Network, size: Size, values: &[f64]) -> String {
        let length = |value: &f64| length(network, size, &self.of.set(*value, &self.lab.settings));
        let shortest = values.iter().map(length).min();
        shortest
            .filter(|_| self.of.is_in_time())
            .map_or_else(String::new, |shortest| network.left_out_words(shortest))
    }

    /// By value, then by way, then by seed.
    fn run(
        &self,
        setup: &Setup,
        values: &[f64],
        progress: &dyn Progress,
    ) -> Vec<[Vec<Outcome>; 2]> {
        let seeds = setup.seeds.as_slice();
        let jobs: Vec<(f64, u64)> = values
            .iter()
            .flat_map(|value| seeds.iter().map(|seed| (*value, *seed)))
            .collect();
        progress.expect(jobs.len());
        let both = parallel(&jobs, |(value, seed)| {
            let settings = self.of.set(*value, &self.lab.settings);
            let network = self.lab.source.network(setup.size, *seed);
            let outcomes = match self.of.is_in_time() {
                true => in_time(&network, &settings, setup.size, *seed),
                false => in_matrix_mode(&network, &settings, setup.size, *seed),
            };
            progress.done();
            outcomes
        });
        both.chunks(seeds.len())
            .map(|chunk| [0, 1].map(|way| chunk.iter().map(|both| both[way]).collect()))
            .collect()
    }

    fn figure(&self, values: &[f64], outcomes: &[[Vec<Outcome>; 2]]) -> Figure {
        let chart = Figure::chart(
            self.name.item,
            "Mean reduction over all pairs, with the best there is beside it.",
            Axis::log(self.of.axis()),
            Axis::linear("mean reduction (ms)"),
        )
        .evidence(Evidence::NotFitted);
        let points = |way: usize, of: fn(&Outcome) -> f64| -> Vec<Point> {
            let each = values.iter().zip(outcomes);
            each.map(|(value, by_way)| Point {
                x: *value,
                y: mean(&by_way[way].iter().map(of).collect::<Vec<_>>()),
            })
            .collect()
        };
        let chart = Way::ALL
            .iter()
            .enumerate()
            .fold(chart, |chart, (place, way)| {
                chart.layer(Layer::line(way.label(), points(place, |o| o.gain_ms)))
            });
        chart.layer(Layer::line("oracle", points(0, |o| o.oracle_ms)))
    }

    fn table(&self, values: &[f64], outcomes: &[[Vec<Outcome>; 2]]) -> Table {
        let table = Table::new("sweep", format!("Sweep of {}", self.of.title()))
            .column(Column::new("value").heading(self.of.axis()));
        let table = Way::ALL.iter().fold(table, |table, way| {
            let column = |what: &str, heading: &str, unit: &str| {
                let name = format!("{}_{what}", way.column());
                column(name, format!("{}: {heading}", way.label()), unit)
            };
            let table = table
                .column(column("reduction", "mean reduction", "ms"))
                .column(column("share", "share of the oracle's", ""));
            match self.of.is_in_time() {
                true => table.column(column("messages", "messages per client", "1/min")),
                false => table,
            }
        });
        let mut table = table.column(column("oracle_reduction", "oracle: mean reduction", "ms"));
        for (value, by_way) in values.iter().zip(outcomes) {
            let mut cells = vec![Cell::number(*value, if *value < 1.0 { 1 } else { 0 })];
            for seeds in by_way {
                cells.extend(self.cells(seeds));
            }
            let oracle: Vec<f64> = by_way[0].iter().map(|o| o.oracle_ms).collect();
            cells.push(Cell::spread(&oracle, Better::High, 2));
            table.push(cells);
        }
        table
    }

    fn cells(&self, seeds: &[Outcome]) -> Vec<Cell> {
        let spread = |of: fn(&Outcome) -> f64, better, decimals| {
            let values: Vec<f64> = seeds.iter().map(of).collect();
            Cell::spread(&values, better, decimals)
        };
        let shares: Vec<f64> = seeds.iter().filter_map(Outcome::share).collect();
        let share = Cell::spread(&shares, Better::High, 3);
        let mut cells = vec![spread(|o| o.gain_ms, Better::High, 2), share];
        if self.of.is_in_time() {
            cells.push(spread(|o| o.updates + o.probes, Better::Low, 2));
        }
        cells
    }
}

impl Outcome {
    fn share(&self) -> Option<f64> {
        share_of_gain(self.gain_ms, self.oracle_ms)
    }
}

fn in_matrix_mode(network: &Network, settings: &Settings, size: Size, seed: u64) -> [Outcome; 2] {
    let known = judged::knowledge(network, settings, seed);
    let paths = judged::judging_paths(network, settings.overhead);
    let pairs = judged::sample(&paths, judged::pairs(size), seed);
    Way::ALL.map(|way| {
        let mut directory = judged::directory(&known, way, seed);
        let gains = judged::gains(&mut directory, &paths, &pairs, &[settings.candidates]);
        Outcome {
            gain_ms: gains.mean(0),
            oracle_ms: gains.oracle_mean(),
            updates: f64::NAN,
            probes: f64::NAN,
        }
    })
}

/// Nobody is judged before its clients have reported twice.
fn warm_up(settings: &Settings) -> Duration {
    WARM_UP.max(settings.report_interval * 2)
}

/// T up to 64 minutes needs hours to show, and two of them for the warm-up.
fn length(network: &Network, size: Size, settings: &Settings) -> Duration {
    let warm_up = warm_up(settings);
    let usual = match size {
        Size::Full => Duration::from_secs(4 * 3600).max(warm_up + Duration::from_secs(2 * 3600)),
        Size::Quick => warm_up + Duration::from_secs(20 * 60),
    };
    network.run_length(size, usual)
}

const PAIRS_A_MINUTE: usize = 10;

fn in_time(network: &Network, settings: &Settings, size: Size, seed: u64) -> [Outcome; 2] {
    let warm_up = warm_up(settings);
    let length = length(network, size, settings);
    let pairs = pairs_each_minute(network.nodes(), PAIRS_A_MINUTE, warm_up, length, seed);
    Way::ALL.map(|way| {
        let log = Emulation {
            network,
            settings,
            way,
            sessions: &pairs,
            length,
            seed,
        }
        .run();
        outcome(&log)
    })
}

fn outcome(log: &Log) -> Outcome {
    let journeys = || log.sessions.iter().flatten();
    let gains: Vec<f64> = journeys().map(Journey::best_gain).collect();
    let oracle: Vec<f64> = journeys().map(Journey::oracle_gain).collect();
    let per_client = |count: u32| f64::from(count) / log.minutes / log.probes.len() as f64;
    Outcome {
        gain_ms: mean(&gains),
        oracle_ms: mean(&oracle),
        updates: per_client(log.updates.iter().sum()),
        probes: per_client(log.probes.iter().sum()),
    }
}
