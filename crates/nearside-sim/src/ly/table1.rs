//! Table 1: a tank game between two homes, on the direct path and on a detour.

use std::sync::Arc;

use nearside_report::{Cell, Column, Evidence, Part, Table};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::judged;
use super::laboratory::{Laboratory, Who};
use super::network::{Network, Paths};
use super::replay::Seen;
use super::settings::{Settings, Way};
use super::tables::{column, mean};
use super::tanks::{Game, play};
use crate::batch::{Progress, Unwatched, parallel};
use crate::experiment::{Experiment, Name, Size, Study};

/// Table 1.
pub(super) struct Tanks {
    pub(super) name: Name,
    pub(super) lab: Arc<Laboratory>,
}

/// A pair, and the relays that both ways found for it.
#[derive(Debug, Clone, Copy)]
struct Match {
    ends: (usize, usize),
    relays: [Option<usize>; 2],
}

/// What a pair's path was over a game, in milliseconds at equal distances, and what came of it.
struct Played {
    who: Who,
    mean_rtt: f64,
    game: Game,
}

/// The network as a game sees it.
struct Course {
    truth: Truth,
    nodes: usize,
    overhead: f64,
}

enum Truth {
    /// Slices in turn, each for an equal part of the game.
    Slices(Vec<Paths>),
    /// What the two ends of a path measured, read once a second.
    Trace { seen: Seen, seconds: usize },
}

/// Pairs shown; the paper shows three.
const PAIRS: usize = 3;

impl Experiment for Tanks {
    fn name(&self) -> Name {
        self.name
    }

    fn title(&self) -> String {
        "Ly et al., Table 1: a tank game with and without detours".to_owned()
    }

    fn parts(&self, study: &Study) -> Vec<Part> {
        self.watched_parts(study, &Unwatched)
    }

    fn watched_parts(&self, study: &Study, progress: &dyn Progress) -> Vec<Part> {
        let setup = study.setup();
        let seed = setup.seeds.first();
        let network = self.lab.source.network(setup.size, seed);
        let settings = &self.lab.settings;
        let matches = matches(&network, settings, setup.size, seed);
        progress.expect(matches.len());
        let games = parallel(&matches, |pair| {
            let played = pair.play(&network, settings, setup.size, seed);
            progress.done();
            played
        });
        let measured = match matches.is_empty() {
            true => "No pair of those drawn gains anything by our way.".into(),
            false => table(&matches, &games).into(),
        };
        vec![
            self.lab.words_of_first(setup).into(),
            introduction(&network, setup.size).into(),
            measured,
            published().into(),
        ]
    }
}

fn introduction(network: &Network, size: Size) -> String {
    let rtts = match network.is_replayed() {
        true => {
            "Round-trip times are the trace's: at every second the newest answer of the direct path, or \
             of both legs of the detour and what the relay adds; a trace that is over begins again."
        }
        false => {
            "Round-trip times are those of the slices in turn, with exponential jitter of 5 % on top \
             (assumed)."
        }
    };
    format!(
        "The pairs, out of a few hundred of the first seed, that gain most by our way, as the paper shows \
         pairs that gain; so the table says what a detour does where there is one, and not how often \
         there is. Each pair plays {:.0} minutes on every path, with the same whims. {rtts} Speeds, reload \
         time and size of tanks are assumed too, in the manner of BZFlag: compare columns with each \
         other, not with the paper's.",
        seconds(size) / 60.0
    )
}

/// The pairs that gain most; a path is the same in both directions.
fn matches(network: &Network, settings: &Settings, size: Size, seed: u64) -> Vec<Match> {
    let known = judged::knowledge(network, settings, seed);
    let mut directories = Way::ALL.map(|way| judged::directory(&known, way, seed));
    let paths = Paths::new(&network.slices[0], settings.overhead);
    let drawn = judged::sample(&paths, judged::pairs(size).min(400), seed).into_iter();
    let mut pairs: Vec<_> = drawn.map(|(s, t)| (s.min(t), s.max(t))).collect();
    pairs.sort_unstable();
    pairs.dedup();
    let mut found: Vec<(f64, Match)> = pairs
        .into_iter()
        .map(|ends| {
            let relays = directories
                .each_mut()
                .map(|directory| best_relay(directory, &paths, ends, settings.candidates));
            let pair = Match { ends, relays };
            (pair.gain(&paths), pair)
        })
        .filter(|(gain, _)| *gain > 0.0)
        .collect();
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    found.truncate(PAIRS);
    found.into_iter().map(|(_, pair)| pair).collect()
}

/// The quickest of the candidates now, if it beats the direct path.
fn best_relay(
    directory: &mut nearside_detour::Directory,
    paths: &Paths,
    (s, t): (usize, usize),
    k: usize,
) -> Option<usize> {
    let relays = judged::relays(directory, s, t, k);
    let by_time = |a: &usize, b: &usize| paths.via(s, *a, t).total_cmp(&paths.via(s, *b, t));
    let best = relays.into_iter().min_by(by_time)?;
    (paths.via(s, best, t) < paths.direct(s, t)).then_some(best)
}

impl Match {
    /// What our way saves where relays were chosen.
    fn gain(&self, paths: &Paths) -> f64 {
        let (s, t) = self.ends;
        self.relays[1].map_or(0.0, |relay| paths.direct(s, t) - paths.via(s, relay, t))
    }

    /// A game on every path.
    fn play(&self, network: &Network, settings: &Settings, size: Size, seed: u64) -> Vec<Played> {
        let course = Course::new(network, settings, self.ends, size);
        let play = |who: Who| {
            let rtts: Vec<f64> = (0..course.steps())
                .map(|step| self.rtt(&course, who, step))
                .collect();
            Played {
                who,
                mean_rtt: mean(&rtts),
                game: course.game(&rtts, size, seed),
            }
        };
        Who::ALL.map(play).into()
    }

    fn rtt(&self, course: &Course, who: Who, step: usize) -> f64 {
        let by = |relay: Option<usize>| match relay {
            Some(relay) => course.via(self.ends, relay, step),
            None => course.direct(self.ends, step),
        };
        let rtt = match who {
            Who::Direct => by(None),
            Who::Finds(Way::Paper) => by(self.relays[0]),
            Who::Finds(Way::Ours) => by(self.relays[1]),
            Who::Oracle => course.oracle(self.ends, step),
        };
        // What is missing in a later slice counts as a second: nobody can play on it.
        if rtt.is_finite() { rtt } else { 1000.0 }
    }
}

impl Course {
    fn new(network: &Network, settings: &Settings, ends: (usize, usize), size: Size) -> Self {
        let slices = || network.slices.iter();
        let paths = slices().map(|slice| Paths::new(slice, settings.overhead));
        let truth = match network.replay() {
            None => Truth::Slices(paths.collect()),
            Some(replay) => Truth::Trace {
                seen: replay.seen_by(ends),
                seconds: seconds(size) as usize,
            },
        };
        Self {
            truth,
            nodes: network.nodes(),
            overhead: settings.overhead.as_millis_f64(),
        }
    }

    fn steps(&self) -> usize {
        match &self.truth {
            Truth::Slices(slices) => slices.len(),
            Truth::Trace { seconds, .. } => *seconds,
        }
    }

    fn leg(&self, a: usize, b: usize, step: usize) -> f64 {
        match &self.truth {
            Truth::Slices(slices) => slices[step].direct(a, b),
            Truth::Trace { seen, .. } => seen.millis(a, b, step as f64),
        }
    }

    fn direct(&self, (s, t): (usize, usize), step: usize) -> f64 {
        self.leg(s, t, step)
    }

    fn via(&self, (s, t): (usize, usize), relay: usize, step: usize) -> f64 {
        self.leg(s, relay, step) + self.leg(relay, t, step) + self.overhead
    }

    fn oracle(&self, (s, t): (usize, usize), step: usize) -> f64 {
        let relays = (0..self.nodes).filter(|relay| *relay != s && *relay != t);
        relays
            .map(|relay| self.via((s, t), relay, step))
            .fold(self.direct((s, t), step), f64::min)
    }

    /// A trace has its own jitter; medians need some.
    fn game(&self, rtts: &[f64], size: Size, seed: u64) -> Game {
        let length = seconds(size);
        let jitter = match self.truth {
            Truth::Slices(_) => jitter(length, seed),
            Truth::Trace { .. } => Vec::new(),
        };
        play(length, seed, |now| {
            let step = (now / length * rtts.len() as f64) as usize;
            let jitter = jitter.get((now * 10.0) as usize).copied().unwrap_or(0.0);
            rtts[step.min(rtts.len() - 1)] * (1.0 + jitter)
        })
    }
}

const fn seconds(size: Size) -> f64 {
    match size {
        Size::Full => 3600.0,
        Size::Quick => 300.0,
    }
}

/// A value for each tenth of a second, the same for every path.
fn jitter(length: f64, seed: u64) -> Vec<f64> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(4);
    let draw = |_| -0.05 * (1.0 - random.random_range(0.0..1.0f64)).ln();
    (0..=(length * 10.0) as usize).map(draw).collect()
}

fn table(matches: &[Match], games: &[Vec<Played>]) -> Table {
    let mut table = Table::new(
        "tanks",
        "Hit fraction and position deviation of a tank game",
    )
    .column(Column::new("pair"))
    .column(Column::new("path"))
    .column(column("rtt", "mean RTT", "ms"))
    .column(column("hit_fraction", "hit fraction", "%").evidence(Evidence::Assumed))
    .column(column("deviation", "position deviation", "m").evidence(Evidence::Assumed));
    for (pair, games) in matches.iter().zip(games) {
        for played in games {
            table.push([
                Cell::from(format!("{}–{}", pair.ends.0 + 1, pair.ends.1 + 1)),
                Cell::from(played.who.label()),
                Cell::number(played.mean_rtt, 1),
                Cell::number(played.game.hit_fraction, 2),
                Cell::number(played.game.deviation, 2),
            ]);
        }
    }
    table
}

/// The paper's numbers, copied.
fn published() -> Table {
    let copied = |name: &str, heading: &str, unit: &str| column(name, heading, unit).published();
    let table = Table::new("published", "The paper's Table 1")
        .column(Column::new("pair"))
        .column(copied("hits_current", "hit fraction, current", "%"))
        .column(copied("hits_irs", "hit fraction, IRS", "%"))
        .column(copied(
            "deviation_current",
            "position deviation, current",
            "m",
        ))
        .column(copied("deviation_irs", "position deviation, IRS", "m"));
    let rows = [
        (
            "AS6678 (cable, FR) – AS3462 (DSL, TW)",
            4.9958,
            19.6524,
            7.1354,
            2.0132,
        ),
        (
            "AS6327 (cable, CA) – AS8473 (cable, SE)",
            6.3249,
            28.5963,
            5.6272,
            1.2313,
        ),
        (
            "AS33657 (cable, US) – AS3462 (DSL, TW)",
            5.8718,
            14.1991,
            6.0996,
            3.9364,
        ),
    ];
    rows.into_iter().fold(table, |table, (pair, a, b, c, d)| {
        let numbers = [a, b, c, d].map(|value| Cell::number(value, 4));
        table.row([Cell::from(pair)].into_iter().chain(numbers))
    })
}
