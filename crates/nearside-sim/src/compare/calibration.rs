//! Does a planner know what it misses? What it said beside what was missing, in the mean: for every
//! client, and for all runs of which it said, or that missed, about as much.

use nearside_report::{Cell, Column, Table};
use serde::{Deserialize, Serialize};

use super::Row;

/// The mean of some runs of one planner. The names and their order are the contract of `docs/sim.md`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    /// Who said it.
    pub planner: String,
    /// What the runs have in common.
    pub by: CalibratedBy,
    /// The client they were seen from; `null` for bins.
    pub client: Option<String>,
    /// The RTT in milliseconds below which servers were playable; `null` for bins, which hold runs
    /// with every stop.
    pub stop_ms: Option<f64>,
    /// A bin begins with so many servers …
    pub from: Option<f64>,
    /// … and ends below so many; `null` for the last.
    pub below: Option<f64>,
    /// How many runs there were; the means of none are `null`.
    pub runs: usize,
    /// Playable servers the planner said it had missed.
    pub said: Option<f64>,
    /// Playable servers it had missed.
    pub missing: Option<f64>,
    /// Better servers than the K-th best that it said it had missed.
    pub said_better: Option<f64>,
    /// Better servers that it had missed.
    pub better: Option<f64>,
}

/// What the runs of a mean have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CalibratedBy {
    /// Client and stop.
    Client,
    /// What was said, in bins.
    Said,
    /// What was missing, in bins.
    Missing,
}

/// Where bins begin: about as far from each other in factors, since a factor is what is asked for.
const BINS: [f64; 5] = [0.0, 1.0, 3.0, 10.0, 30.0];

/// A run, and the RTT in milliseconds below which servers were playable in it.
type Run<'a> = (f64, &'a Row);

/// Means over runs, given with their stops, of planners that say what they miss; others are left out.
pub fn calibration<'a>(runs: impl IntoIterator<Item = Run<'a>>) -> Vec<Calibration> {
    let runs = runs.into_iter();
    let telling: Vec<Run<'_>> = runs
        .filter(|(_, row)| row.expected_missed.is_some())
        .collect();
    let planners = each_once(telling.iter().map(|(_, row)| row.planner.as_str()));
    let of_planner = |planner| {
        let own = telling
            .iter()
            .filter(move |(_, row)| row.planner == planner);
        let own: Vec<Run<'_>> = own.copied().collect();
        let bins = in_bins(&own, CalibratedBy::Said, said).chain(in_bins(
            &own,
            CalibratedBy::Missing,
            missing,
        ));
        let bins: Vec<Calibration> = bins.collect();
        by_client(&own).into_iter().chain(bins).collect::<Vec<_>>()
    };
    planners.into_iter().flat_map(of_planner).collect()
}

fn by_client(runs: &[Run<'_>]) -> Vec<Calibration> {
    let places = each_once(runs.iter().map(|&(stop, row)| (stop, row.client.as_str())));
    let of_place = |(stop, client): (f64, &str)| {
        let here = |(at, row): &&Run<'_>| *at == stop && row.client == client;
        let here: Vec<&Row> = runs.iter().filter(here).map(|(_, row)| *row).collect();
        Calibration {
            client: Some(client.to_owned()),
            stop_ms: Some(stop),
            ..mean(CalibratedBy::Client, &runs[0].1.planner, &here)
        }
    };
    places.into_iter().map(of_place).collect()
}

fn in_bins<'a>(
    runs: &'a [Run<'a>],
    by: CalibratedBy,
    value: fn(&Row) -> f64,
) -> impl Iterator<Item = Calibration> + 'a {
    let ends = BINS.iter().skip(1).map(|&end| Some(end)).chain([None]);
    let planner = runs.first().map_or("", |(_, row)| row.planner.as_str());
    BINS.iter().zip(ends).map(move |(&from, below)| {
        let is_inside = |row: &&Row| value(row) >= from && below.is_none_or(|end| value(row) < end);
        let inside: Vec<&Row> = runs.iter().map(|(_, row)| *row).filter(is_inside).collect();
        Calibration {
            from: Some(from),
            below,
            ..mean(by, planner, &inside)
        }
    })
}

fn mean(by: CalibratedBy, planner: &str, rows: &[&Row]) -> Calibration {
    let mean = |value: fn(&Row) -> f64| {
        let sum: f64 = rows.iter().map(|row| value(row)).sum();
        (!rows.is_empty()).then(|| sum / rows.len() as f64)
    };
    Calibration {
        planner: planner.to_owned(),
        by,
        client: None,
        stop_ms: None,
        from: None,
        below: None,
        runs: rows.len(),
        said: mean(said),
        missing: mean(missing),
        said_better: mean(|row| row.expected_better.unwrap_or(0.0)),
        better: mean(|row| row.better as f64),
    }
}

fn said(row: &Row) -> f64 {
    row.expected_missed.unwrap_or(0.0)
}

fn missing(row: &Row) -> f64 {
    row.playable.saturating_sub(row.found) as f64
}

fn each_once<T: PartialEq>(values: impl Iterator<Item = T>) -> Vec<T> {
    let mut once = Vec::new();
    for value in values {
        if !once.contains(&value) {
            once.push(value);
        }
    }
    once
}

/// The means as a table for people.
pub fn calibration_table(means: &[Calibration]) -> Table {
    let caption = "What planners said they had missed beside what was missing, means over runs: \
                   for each client and stop, then for runs of all of them in bins.";
    let mut table = Table::new("calibration", caption)
        .column(Column::new("planner"))
        .column(Column::new("runs_of").heading("runs"))
        .column(Column::new("runs").heading("number"))
        .column(Column::new("said"))
        .column(Column::new("missing"))
        .column(Column::new("said_better").heading("better: said"))
        .column(Column::new("better").heading("missing"));
    for mean in means {
        let number = |value: Option<f64>, decimals| {
            value.map_or(Cell::Missing, |value| Cell::number(value, decimals))
        };
        table.push([
            mean.planner.as_str().into(),
            Cell::Text(mean.name()),
            mean.runs.into(),
            number(mean.said, 1),
            number(mean.missing, 1),
            number(mean.said_better, 2),
            number(mean.better, 2),
        ]);
    }
    table
}

impl Calibration {
    /// Which runs these are, in words.
    fn name(&self) -> String {
        let bin = match (self.from, self.below) {
            (Some(0.0), Some(below)) => format!("below {below}"),
            (Some(from), Some(below)) => format!("{from} to {below}"),
            (from, _) => format!("{} and more", from.unwrap_or(0.0)),
        };
        match self.by {
            CalibratedBy::Client => {
                let client = self.client.as_deref().unwrap_or_default();
                format!("{client} below {} ms", self.stop_ms.unwrap_or(0.0))
            }
            CalibratedBy::Said => format!("that said {bin}"),
            CalibratedBy::Missing => format!("that missed {bin}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nearside_discover::planner::StopReason;

    fn row(client: &str, said: Option<f64>, missed: usize) -> Row {
        Row {
            planner: "adaptive".to_owned(),
            client: client.to_owned(),
            seed: 1,
            listed: 1000,
            answering: 900,
            playable: 500,
            probes: 600,
            found: 500 - missed,
            recall: 1.0,
            expected_missed: said,
            probes_to_50: None,
            probes_to_90: None,
            probes_to_99: None,
            probes_to_10_best: None,
            best_found: 10,
            better: missed,
            expected_better: Some(0.5),
            seconds: 1.0,
            stopped: StopReason::Expected,
        }
    }

    fn of(runs: &[(f64, Row)]) -> Vec<Calibration> {
        calibration(runs.iter().map(|(stop, row)| (*stop, row)))
    }

    #[test]
    fn every_run_counts_once_for_its_client_and_once_in_each_kind_of_bin() {
        let runs = [
            (200.0, row("AU", Some(12.0), 2)),
            (200.0, row("AU", Some(4.0), 4)),
            (50.0, row("AU", Some(40.0), 30)),
            (50.0, row("DE", Some(0.2), 0)),
            (50.0, row("DE", None, 70)),
        ];
        let means = of(&runs);
        let named = |name: &str| {
            let mean = means.iter().find(|mean| mean.name() == name).unwrap();
            (mean.runs, mean.said, mean.missing)
        };
        assert_eq!(named("AU below 200 ms"), (2, Some(8.0), Some(3.0)));
        assert_eq!(named("DE below 50 ms"), (1, Some(0.2), Some(0.0)));
        assert_eq!(named("that said 10 to 30"), (1, Some(12.0), Some(2.0)));
        assert_eq!(named("that missed 1 to 3"), (1, Some(12.0), Some(2.0)));
        assert_eq!(
            named("that missed 30 and more"),
            (1, Some(40.0), Some(30.0))
        );
        assert_eq!(named("that said 1 to 3"), (0, None, None));
        for by in [
            CalibratedBy::Client,
            CalibratedBy::Said,
            CalibratedBy::Missing,
        ] {
            let runs: usize = means.iter().filter(|m| m.by == by).map(|m| m.runs).sum();
            assert_eq!(runs, 4, "{by:?}: who says nothing is left out");
        }
    }

    #[test]
    fn where_no_planner_says_what_it_misses_there_is_nothing_to_judge() {
        assert_eq!(of(&[(200.0, row("AU", None, 3))]), []);
    }
}
