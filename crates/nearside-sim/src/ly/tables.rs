//! Tables and curves with the baseline, the paper's way, ours and the oracle side by side.

use nearside_report::{Axis, Better, Cell, Column, Evidence, Figure, Layer, Point, Table};

use super::emulation::Log;
use super::laboratory::{Emulated, Who};

/// A number of one log.
pub(super) struct Measure {
    pub(super) name: &'static str,
    pub(super) heading: &'static str,
    pub(super) unit: &'static str,
    pub(super) better: Better,
    pub(super) decimals: u8,
    pub(super) of: fn(&Log, Who) -> f64,
}

/// A column of measured numbers; an empty unit is none.
pub(super) fn column(name: impl Into<String>, heading: impl Into<String>, unit: &str) -> Column {
    let column = Column::new(name).heading(heading).not_fitted();
    match unit {
        "" => column,
        unit => column.unit(unit),
    }
}

/// A row for each of `who`, a column for each measure; mean, deviation and worst over seeds.
pub(super) fn side_by_side(
    name: &str,
    caption: &str,
    emulated: &Emulated,
    who: &[Who],
    measures: &[Measure],
) -> Table {
    let table = Table::new(name, caption).column(Column::new("who"));
    let mut table = measures.iter().fold(table, |table, measure| {
        table.column(column(measure.name, measure.heading, measure.unit))
    });
    for who in who {
        let cells = measures.iter().map(|measure| {
            let logs = emulated.of(*who).iter();
            let values: Vec<f64> = logs.map(|log| (measure.of)(log, *who)).collect();
            Cell::spread(&values, measure.better, measure.decimals)
        });
        table.push([Cell::from(who.label())].into_iter().chain(cells));
    }
    table
}

/// Distributions over everything that all seeds showed.
pub(super) fn distributions(
    name: &str,
    caption: &str,
    axis: &str,
    emulated: &Emulated,
    who: &[Who],
    values: impl Fn(&Log, Who) -> Vec<f64>,
) -> Figure {
    let chart = Figure::chart(
        name,
        caption,
        Axis::linear(axis),
        Axis::linear("share (%)").range(0.0, 100.0),
    );
    who.iter()
        .fold(chart.evidence(Evidence::NotFitted), |chart, who| {
            let logs = emulated.of(*who).iter();
            let all: Vec<f64> = logs.flat_map(|log| values(log, *who)).collect();
            chart.layer(distribution(who.label(), &all))
        })
}

/// A distribution by 200 quantiles: thousands of steps would only make the file large.
pub(super) fn distribution(label: &str, values: &[f64]) -> Layer {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let points = (0..=QUANTILES).filter_map(|step| {
        let share = f64::from(step) / f64::from(QUANTILES);
        let x = nearside_types::quantile(&sorted, share)?;
        Some(Point {
            x,
            y: share * 100.0,
        })
    });
    Layer::line(label, points)
}

const QUANTILES: u32 = 200;

/// The share of values, in per cent, that are `least` or more.
pub(super) fn share_from(values: &[f64], least: f64) -> f64 {
    let many = values.iter().filter(|value| **value >= least).count();
    100.0 * many as f64 / values.len().max(1) as f64
}

/// The share of the oracle's gain; `None` where there is nothing to gain.
pub(super) fn share_of_gain(gain: f64, oracle: f64) -> Option<f64> {
    (oracle > 0.0).then(|| gain / oracle)
}

/// 0 without values.
pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// A sentence of the paper, what we measured, and what could be had at all.
pub(super) struct Claim {
    pub(super) paper: &'static str,
    pub(super) measured: String,
    pub(super) ceiling: String,
}

/// The table of claims, and its column without our numbers.
pub(super) const CLAIMS: &str = "claims";
pub(super) const CEILING: &str = "ceiling";

/// A row for each.
pub(super) fn claims(claims: impl IntoIterator<Item = Claim>) -> Table {
    let caption = "What the paper says of its own network, what was measured here, and the ceiling";
    let table = Table::new(CLAIMS, caption)
        .column(Column::new("claim").heading("the paper").published())
        .column(Column::new("measured").not_fitted())
        .column(Column::new(CEILING).heading("oracle").not_fitted());
    claims.into_iter().fold(table, |table, claim| {
        table.row([
            Cell::from(claim.paper),
            Cell::from(claim.measured),
            Cell::from(claim.ceiling),
        ])
    })
}

/// The mean over seeds of something, for a sentence.
pub(super) fn over_seeds(emulated: &Emulated, who: Who, of: impl Fn(&Log, Who) -> f64) -> f64 {
    let values: Vec<f64> = emulated.of(who).iter().map(|log| of(log, who)).collect();
    mean(&values)
}
