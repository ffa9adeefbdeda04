//! What `ranking`, `coordinates` and `lag` give as rows for scripts, as reports beside the paper's.

use std::sync::Arc;

use nearside_report::{Axis, Evidence, Figure, Layer, Part, Point, Table};
use nearside_types::Rtt;

use super::coordinates::CoordinateStudy;
use super::judged;
use super::laboratory::Laboratory;
use super::lag::LagStudy;
use super::ranking::{self, RankingRow, RankingStudy};
use crate::batch::{Progress, Unwatched};
use crate::experiment::{Experiment, Name, Study};

/// The share of the oracle's gain against K, for every ranking.
pub(super) struct Rankings {
    pub(super) name: Name,
    pub(super) lab: Arc<Laboratory>,
}

/// As many candidates as these, where the network has so many relays.
const KS: [usize; 6] = [1, 2, 4, 8, 16, 32];

impl Experiment for Rankings {
    fn name(&self) -> Name {
        self.name
    }

    fn title(&self) -> String {
        "Detours: what rankings of relays are worth".to_owned()
    }

    fn parts(&self, study: &Study) -> Vec<Part> {
        self.watched_parts(study, &Unwatched)
    }

    fn watched_parts(&self, study: &Study, progress: &dyn Progress) -> Vec<Part> {
        let setup = study.setup();
        let network = self.lab.source.network(setup.size, setup.seeds.first());
        let relays = network.nodes() - 2;
        let rankings = RankingStudy {
            labels: judged::labels(&network),
            mode: judged::mode(&self.lab.settings),
            ks: KS.into_iter().filter(|k| *k <= relays).collect(),
            pairs: judged::pairs(setup.size),
            overhead: self.lab.settings.overhead,
            liars: None,
            seeds: setup.seeds.clone(),
        };
        let mut parts: Vec<Part> = vec![
            self.lab.words_of_first(setup).into(),
            format!(
                "Matrix mode on one network for all seeds. {} Chance and equation 1 believe everybody, \
                 as the paper does; the others weigh what they are told.",
                judged::judged_words(&network)
            )
            .into(),
        ];
        match rankings.run(&network.slices[0], judged::judge(&network), progress) {
            Ok(rows) => {
                parts.push(self.figure(&rows).into());
                parts.push(measured(RankingStudy::table(&rows)).into());
            }
            Err(error) => parts.push(format!("Nothing to judge: {error}.").into()),
        }
        parts
    }
}

impl Rankings {
    fn figure(&self, rows: &[RankingRow]) -> Figure {
        let chart = Figure::chart(
            self.name.item,
            "Share of the oracle's gain that K candidates capture, mean over seeds.",
            Axis::log("K"),
            Axis::linear("share of the oracle's gain").range(0.0, 1.0),
        );
        let chart = chart.evidence(Evidence::NotFitted);
        ranking::names().fold(chart, |chart, name| {
            let of_name = rows.iter().filter(|row| row.ranking == name);
            let points = of_name.filter_map(|row| {
                Some(Point {
                    x: row.k as f64,
                    y: row.share_of_oracle_gain?,
                })
            });
            chart.layer(Layer::line(name, points))
        })
    }
}

/// The table as evidence: all that was measured is fitted or not, what rows are called and how many pairs
/// they stand on is neither. Rows for scripts do not say on what network they were made.
fn measured(mut table: Table) -> Table {
    for column in table.columns_mut() {
        if !KEYS.contains(&column.name.as_str()) {
            column.evidence = Some(Evidence::NotFitted);
        }
    }
    table
}

const KEYS: [&str; 5] = ["ranking", "k", "estimator", "dimensions", "pairs"];

/// How far predictions are off.
pub(super) struct Predictions {
    pub(super) name: Name,
    pub(super) lab: Arc<Laboratory>,
}

impl Experiment for Predictions {
    fn name(&self) -> Name {
        self.name
    }

    fn title(&self) -> String {
        "Detours: how far predicted round-trip times are off".to_owned()
    }

    fn parts(&self, study: &Study) -> Vec<Part> {
        self.watched_parts(study, &Unwatched)
    }

    fn watched_parts(&self, study: &Study, progress: &dyn Progress) -> Vec<Part> {
        let setup = study.setup();
        let network = self.lab.source.network(setup.size, setup.seeds.first());
        let [label, _] = judged::labels(&network);
        let predictions = CoordinateStudy {
            label,
            mode: judged::mode(&self.lab.settings),
            dimensions: vec![2, 4],
            ranks: vec![10],
            seeds: setup.seeds.clone(),
        };
        let rows = predictions.run(&network.slices[0], progress);
        let mut parts: Vec<Part> = vec![self.lab.words_of_first(setup).into()];
        parts.push(match rows.is_empty() {
            true => "Everybody measured everybody, so no pair is left to predict.".into(),
            false => measured(CoordinateStudy::table(&rows)).into(),
        });
        parts
    }
}

/// How soon lags are seen.
pub(super) struct Lags {
    pub(super) name: Name,
    pub(super) lab: Arc<Laboratory>,
}

/// Rises in milliseconds, and the samples in which one must be seen: as `nearside sim ly lag` has them.
const MARGINS: [u32; 4] = [5, 10, 20, 40];
const WINDOW: usize = 15;

impl Experiment for Lags {
    fn name(&self) -> Name {
        self.name
    }

    fn title(&self) -> String {
        "Detours: how soon lags are seen".to_owned()
    }

    fn parts(&self, study: &Study) -> Vec<Part> {
        self.watched_parts(study, &Unwatched)
    }

    fn watched_parts(&self, _: &Study, progress: &dyn Progress) -> Vec<Part> {
        if self.lab.series.is_empty() {
            let words = "No labelled series was given: give one with `--series FILE` (lines \
                         `probe;epoch_utc;rtt_ms;change_point`).";
            return vec![words.into()];
        }
        let lags = LagStudy {
            margins: MARGINS.map(|ms| Rtt::from_micros(ms * 1000)).to_vec(),
            window: WINDOW,
        };
        let rows = lags.run(&self.lab.series, progress);
        let words = format!(
            "{} labelled series; nothing here depends on seeds or on the network.",
            self.lab.series.len()
        );
        vec![words.into(), LagStudy::table(&rows).into()]
    }
}
