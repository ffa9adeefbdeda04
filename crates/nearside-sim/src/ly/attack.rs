//! What liars leave of the honest clients' gain, with the directory's trust and without.

use std::sync::Arc;

use nearside_coords::Node;
use nearside_detour::Directory;
use nearside_detour::directory::{Ranking, Trust};
use nearside_report::{Better, Cell, Column, Part, Table};

use super::judged;
use super::laboratory::Laboratory;
use super::lies::{Liars, Lie, REPORTS};
use super::matrix_mode::{Knowledge, Telling, client};
use super::network::Network;
use super::settings::Settings;
use super::tables::column;
use crate::batch::{Progress, Unwatched, parallel};
use crate::experiment::{Experiment, Name, Setup, Size, Study};

/// The attack experiment.
pub(super) struct Attacks {
    pub(super) name: Name,
    pub(super) lab: Arc<Laboratory>,
}

const K: usize = 8;
const LIES: [Lie; 4] = [Lie::Inflate, Lie::Deflate, Lie::Oscillate, Lie::Boil];
const SHARES: [f64; 2] = [0.1, 0.3];
/// Nobody lies, then each lie told by few and by many.
const CASES: usize = 1 + LIES.len() * SHARES.len();
const TRUSTS: [Trust; 2] = [Trust::Everybody, Trust::Weighed];

/// One case with one kind of trust on one seed.
#[derive(Debug, Clone, Copy)]
struct Outcome {
    /// Of the oracle's gain over honest pairs; nothing where there is nothing to gain.
    share: Option<f64>,
    /// Liars, and honest clients, that are taken for liars, in per cent.
    caught: Option<f64>,
    wronged: f64,
}

impl Experiment for Attacks {
    fn name(&self) -> Name {
        self.name
    }

    fn title(&self) -> String {
        "Detours: what liars leave of the gain".to_owned()
    }

    fn parts(&self, study: &Study) -> Vec<Part> {
        self.watched_parts(study, &Unwatched)
    }

    fn watched_parts(&self, study: &Study, progress: &dyn Progress) -> Vec<Part> {
        let setup = study.setup();
        let network = self.lab.source.network(setup.size, setup.seeds.first());
        let settings = Settings {
            candidates: K,
            ..self.lab.settings.clone()
        };
        let by_case = self.run(setup, &settings, progress);
        vec![
            self.lab.words_with(&settings).into(),
            format!("{INTRODUCTION} {}", judged::judged_words(&network)).into(),
            table(&by_case).into(),
        ]
    }
}

const INTRODUCTION: &str = "The first tenth or three tenths of the clients lie about every leg they report: \
     five times as far, a tenth as far, the two in turn, or the truth at first and three quarters of it \
     more with each of eight reports (frog-boiling). Only the client that measured a leg reports it, so \
     nobody contradicts a liar outright. The best of eight candidates counts, for pairs of honest \
     clients; a relay may be a liar, who then carries as well as anybody. Same ranking in both columns: \
     one directory believes everybody, the other weighs what it is told (`docs/detour.md`). The paper \
     has no such experiment.";

fn cases() -> impl Iterator<Item = Option<Liars>> {
    let lies = LIES
        .into_iter()
        .flat_map(|lie| SHARES.map(|share| (lie, share)));
    [None]
        .into_iter()
        .chain(lies.map(|(lie, share)| Some(Liars { share, lie })))
}

impl Attacks {
    /// By case, then by trust, then by seed.
    fn run(
        &self,
        setup: &Setup,
        settings: &Settings,
        progress: &dyn Progress,
    ) -> Vec<[Vec<Outcome>; 2]> {
        let seeds = setup.seeds.as_slice();
        let jobs: Vec<(Option<Liars>, u64)> = cases()
            .flat_map(|liars| seeds.iter().map(move |seed| (liars, *seed)))
            .collect();
        progress.expect(jobs.len());
        let both = parallel(&jobs, |(liars, seed)| {
            let network = self.lab.source.network(setup.size, *seed);
            let outcomes = attack(&network, settings, *liars, setup.size, *seed);
            progress.done();
            outcomes
        });
        both.chunks(seeds.len())
            .map(|chunk| [0, 1].map(|trust| chunk.iter().map(|both| both[trust]).collect()))
            .collect()
    }
}

fn attack(
    network: &Network,
    settings: &Settings,
    liars: Option<Liars>,
    size: Size,
    seed: u64,
) -> [Outcome; 2] {
    let known = judged::knowledge(network, settings, seed);
    let paths = judged::judging_paths(network, settings.overhead);
    let mut pairs = judged::sample(&paths, judged::pairs(size), seed);
    // The same pairs in all cases: of clients that never lie.
    let honest = |node: usize| node as f64 >= SHARES[1] * network.nodes() as f64;
    pairs.retain(|(s, t)| honest(*s) && honest(*t));
    TRUSTS.map(|trust| {
        let mut directory = told(&known, liars, trust, seed);
        let gains = judged::gains(&mut directory, &paths, &pairs, &[settings.candidates]);
        let distrusted = |lies: bool| distrusted(&directory, liars, network.nodes(), lies);
        Outcome {
            share: gains.share(0),
            caught: distrusted(true),
            wronged: distrusted(false).unwrap_or(0.0),
        }
    })
}

/// Everybody reports equally often in all cases, so that only the lie differs.
fn told(known: &Knowledge, liars: Option<Liars>, trust: Trust, seed: u64) -> Directory {
    let telling = Telling {
        ranking: Ranking::Mixed,
        trust,
        rounds: REPORTS,
    };
    match liars {
        Some(liars) => liars.told(known, &telling, seed),
        None => known.told_by(&telling, seed, |_, rtt, _| rtt),
    }
}

/// The share of liars, or of the others, whose words do not count, in per cent.
fn distrusted(
    directory: &Directory,
    liars: Option<Liars>,
    nodes: usize,
    lies: bool,
) -> Option<f64> {
    let is_liar = |node: Node| liars.is_some_and(|liars| liars.include(node, nodes));
    let all = (0..nodes).map(Node::at);
    let asked: Vec<Node> = all.filter(|node| is_liar(*node) == lies).collect();
    let bad = asked
        .iter()
        .filter(|node| directory.is_distrusted(client(**node)));
    (!asked.is_empty()).then(|| 100.0 * bad.count() as f64 / asked.len() as f64)
}

fn table(by_case: &[[Vec<Outcome>; 2]]) -> Table {
    debug_assert_eq!(by_case.len(), CASES);
    let table = Table::new(
        "liars-table",
        "Share of the oracle's gain that honest pairs keep, K = 8",
    )
    .column(Column::new("lie"))
    .column(Column::new("liars").unit("%"))
    .column(column("nearside_believing", "believing everybody", ""))
    .column(column("nearside", "weighing (default)", ""))
    .column(column("nearside_caught", "liars found out", "%"))
    .column(column("nearside_wronged", "honest clients wronged", "%"));
    cases()
        .zip(by_case)
        .fold(table, |table, (liars, [believing, weighing])| {
            let spread = |of: &dyn Fn(&Outcome) -> Option<f64>, outcomes: &[Outcome], decimals| {
                let values: Vec<f64> = outcomes.iter().filter_map(of).collect();
                let better = if decimals == 1 {
                    Better::Low
                } else {
                    Better::High
                };
                match values.is_empty() {
                    true => Cell::Missing,
                    false => Cell::spread(&values, better, decimals),
                }
            };
            table.row([
                Cell::from(liars.map_or("none", |liars| liars.lie.name())),
                Cell::number(liars.map_or(0.0, |liars| liars.share * 100.0), 0),
                spread(&|outcome| outcome.share, believing, 3),
                spread(&|outcome| outcome.share, weighing, 3),
                spread(&|outcome| outcome.caught, weighing, 0),
                spread(&|outcome| Some(outcome.wronged), weighing, 1),
            ])
        })
}
