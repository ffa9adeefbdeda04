//! How far predictions are off, over pairs that nobody measured.

use nearside_coords::{Estimator, FactorisationConfig, Node};
use nearside_report::{Better, Cell, Column, Table};
use nearside_types::{LatencyMatrix, median, quantile};
use serde::Serialize;

use super::matrix_mode::{Knowledge, MatrixMode};
use crate::batch::{Progress, parallel};
use crate::seeds::Seeds;

/// Estimators on one matrix.
#[derive(Debug, Clone)]
pub struct CoordinateStudy {
    /// What the matrix is called.
    pub label: String,
    /// How clients measure.
    pub mode: MatrixMode,
    /// Dimensions of Vivaldi's plane to try.
    pub dimensions: Vec<usize>,
    /// Ranks of the factorisation to try.
    pub ranks: Vec<usize>,
    /// Neighbours, pings and starts are drawn anew for each.
    pub seeds: Seeds,
}

/// One estimator, over all seeds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CoordinateRow {
    /// `vivaldi` or `factorisation`.
    pub estimator: &'static str,
    /// Of the plane beside the height, or the rank.
    pub dimensions: usize,
    /// The mean over seeds of the median of |estimate − truth| / truth.
    pub median_relative_error: f64,
    /// The same of the 90th percentile.
    pub p90_relative_error: f64,
    /// The seed's median that was worst.
    pub worst_median_relative_error: f64,
    /// Pairs judged, on average.
    pub pairs: usize,
    /// What the matrix is called.
    pub matrix: String,
    /// `0-3`.
    pub seeds: String,
    /// N.
    pub neighbours: usize,
    /// P.
    pub pings: usize,
}

impl CoordinateRow {
    /// What it takes to make the rows again.
    fn caption(&self) -> String {
        format!(
            "Relative error of predicted RTTs over pairs that nobody measured; {}, seeds {}, N = {}, P = {}",
            self.matrix, self.seeds, self.neighbours, self.pings
        )
    }
}

const VIVALDI: &str = "vivaldi";
const FACTORISATION: &str = "factorisation";

/// Whether a row is of an estimator whose numbers were chosen by us.
pub(super) fn is_ours(name: &str) -> bool {
    [VIVALDI, FACTORISATION].contains(&name)
}

#[derive(Debug, Clone, Copy)]
enum Estimated {
    Vivaldi(usize),
    Factorisation(usize),
}

/// What one seed showed.
struct Errors {
    median: f64,
    p90: f64,
    pairs: usize,
}

impl CoordinateStudy {
    /// Runs it on all cores.
    pub fn run(&self, matrix: &LatencyMatrix, progress: &dyn Progress) -> Vec<CoordinateRow> {
        let vivaldi = self.dimensions.iter().copied().map(Estimated::Vivaldi);
        let ranks = self.ranks.iter().copied().map(Estimated::Factorisation);
        let all: Vec<Estimated> = vivaldi.chain(ranks).collect();
        let seeds = self.seeds.as_slice();
        progress.expect(all.len() * seeds.len());
        let jobs: Vec<(Estimated, u64)> = all
            .iter()
            .flat_map(|estimated| seeds.iter().map(|seed| (*estimated, *seed)))
            .collect();
        let errors = parallel(&jobs, |(estimated, seed)| {
            let errors = self.errors(matrix, *estimated, *seed);
            progress.done();
            errors
        });
        let by_estimator = errors.chunks(seeds.len());
        all.iter()
            .zip(by_estimator)
            .filter_map(|(estimated, errors)| self.row(*estimated, errors))
            .collect()
    }

    fn errors(&self, matrix: &LatencyMatrix, estimated: Estimated, seed: u64) -> Option<Errors> {
        match estimated {
            Estimated::Vivaldi(dimensions) => {
                let mode = MatrixMode {
                    dimensions,
                    ..self.mode.clone()
                };
                let known = mode.run(matrix, seed);
                judge(matrix, &known, &known.map())
            }
            Estimated::Factorisation(rank) => {
                let known = self.mode.run(matrix, seed);
                let config = FactorisationConfig {
                    rank,
                    ..FactorisationConfig::default()
                };
                judge(matrix, &known, &known.factors(config, seed))
            }
        }
    }

    fn row(&self, estimated: Estimated, errors: &[Option<Errors>]) -> Option<CoordinateRow> {
        let (estimator, dimensions) = match estimated {
            Estimated::Vivaldi(dimensions) => (VIVALDI, dimensions),
            Estimated::Factorisation(rank) => (FACTORISATION, rank),
        };
        let judged: Vec<&Errors> = errors.iter().flatten().collect();
        let over = |of: fn(&Errors) -> f64| -> Vec<f64> { judged.iter().map(|e| of(e)).collect() };
        let medians = nearside_report::Spread::of(&over(|e| e.median), Better::Low, 3)?;
        let p90 = nearside_report::Spread::of(&over(|e| e.p90), Better::Low, 3)?;
        Some(CoordinateRow {
            estimator,
            dimensions,
            median_relative_error: medians.mean,
            p90_relative_error: p90.mean,
            worst_median_relative_error: medians.worst,
            pairs: judged.iter().map(|e| e.pairs).sum::<usize>() / judged.len(),
            matrix: self.label.clone(),
            seeds: self.seeds.to_string(),
            neighbours: self.mode.neighbours,
            pings: self.mode.pings,
        })
    }

    /// The rows as a table for readers.
    pub fn table(rows: &[CoordinateRow]) -> Table {
        let caption = rows
            .first()
            .map_or_else(String::new, CoordinateRow::caption);
        let table = Table::new("coordinates", caption)
            .column(Column::new("estimator"))
            .column(Column::new("dimensions"))
            .column(Column::new("median_relative_error").heading("median"))
            .column(Column::new("p90_relative_error").heading("p90"))
            .column(Column::new("worst_median_relative_error").heading("worst seed's median"))
            .column(Column::new("pairs"));
        rows.iter().fold(table, |table, row| {
            table.row([
                row.estimator.into(),
                Cell::Count(row.dimensions as u64),
                Cell::number(row.median_relative_error, 3),
                Cell::number(row.p90_relative_error, 3),
                Cell::number(row.worst_median_relative_error, 3),
                Cell::Count(row.pairs as u64),
            ])
        })
    }
}

fn judge(matrix: &LatencyMatrix, known: &Knowledge, estimator: &dyn Estimator) -> Option<Errors> {
    let edges = known.edges();
    let mut errors = Vec::new();
    for (from, to, rtt) in matrix.known() {
        let (a, b) = (Node::at(from), Node::at(to));
        // Both directions of a pair count once, unless only one is known.
        let twin = from > to && matrix.rtt(to, from).is_some();
        if twin || rtt.as_micros() == 0 || edges.get(a, b).is_some() {
            continue;
        }
        if let Some(estimate) = estimator.estimate(a, b) {
            let truth = rtt.as_millis_f64();
            errors.push((estimate.rtt.as_millis_f64() - truth).abs() / truth);
        }
    }
    errors.sort_by(f64::total_cmp);
    Some(Errors {
        median: median(&errors)?,
        p90: quantile(&errors, 0.9)?,
        pairs: errors.len(),
    })
}
