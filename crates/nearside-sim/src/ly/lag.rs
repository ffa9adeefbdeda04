//! The lag detector of the path session on labelled series: how soon it sees a change of the path, and
//! how often it sees one where there is none.

use nearside_detour::path::{LagConfig, LagDetector};
use nearside_report::{Cell, Column, Table};
use nearside_types::{Rtt, median};
use nearside_world::recorded::{Series, SeriesPoint};
use serde::Serialize;

use crate::batch::{Progress, parallel};

/// Detectors on labelled series.
#[derive(Debug, Clone)]
pub struct LagStudy {
    /// Rises that count, and that the detectors look for.
    pub margins: Vec<Rtt>,
    /// Samples after a labelled change within which an alarm counts as its detection.
    pub window: usize,
}

/// One detector at one margin, over all series.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LagRow {
    /// `nearside`, or `one-sample`: the baseline that any late sample alarms.
    pub detector: &'static str,
    /// A rise must be this large.
    pub margin_ms: f64,
    /// Labelled changes.
    pub changes: usize,
    /// Of those, rises of the median by the margin or more: lags.
    pub rises: usize,
    /// Rises with an alarm within the window.
    pub detected: usize,
    /// From the labelled change to the alarm, in samples; the median over detected rises.
    pub median_delay_samples: Option<f64>,
    /// The same in seconds, by the times of the series.
    pub median_delay_s: Option<f64>,
    /// Alarms of risen round trips that no labelled change explains, on a day of one series.
    pub false_alarms_per_day: f64,
    /// Alarms of losses in a row on a day of one series; labels say nothing of losses.
    pub loss_alarms_per_day: f64,
    /// Days of all series together.
    pub days: f64,
}

/// What one detector did on one series.
#[derive(Debug, Default)]
struct Found {
    rises: usize,
    /// In samples and seconds.
    delays: Vec<(f64, f64)>,
    false_alarms: usize,
    loss_alarms: usize,
}

#[derive(Debug, Clone, Copy)]
enum Detector {
    Ours,
    OneSample,
}

impl Detector {
    const ALL: [Self; 2] = [Self::OneSample, Self::Ours];

    const fn name(self) -> &'static str {
        match self {
            Self::Ours => "nearside",
            Self::OneSample => "one-sample",
        }
    }

    /// The same machinery, waiting for nobody and blind to the path's own spread.
    fn config(self, margin: Rtt) -> LagConfig {
        let usual = LagConfig {
            margin,
            ..LagConfig::default()
        };
        match self {
            Self::Ours => usual,
            Self::OneSample => LagConfig {
                recent: 1,
                spreads: 0.0,
                ..usual
            },
        }
    }
}

impl LagStudy {
    /// Runs it on all cores.
    pub fn run(&self, series: &[Series], progress: &dyn Progress) -> Vec<LagRow> {
        let jobs: Vec<(Detector, Rtt)> = Detector::ALL
            .iter()
            .flat_map(|detector| self.margins.iter().map(|margin| (*detector, *margin)))
            .collect();
        progress.expect(jobs.len());
        parallel(&jobs, |(detector, margin)| {
            let found: Vec<Found> = series
                .iter()
                .map(|series| self.watch(&series.points, *detector, *margin))
                .collect();
            progress.done();
            row(*detector, *margin, series, &found)
        })
    }

    fn watch(&self, points: &[SeriesPoint], detector: Detector, margin: Rtt) -> Found {
        let mut found = Found::default();
        let (rtt_alarms, losses) = alarms(points, detector.config(margin));
        found.loss_alarms = losses;
        let changes: Vec<usize> = (0..points.len())
            .filter(|place| points[*place].change_point)
            .collect();
        for change in &changes {
            if rise(points, *change).is_some_and(|rise| rise >= margin.as_millis_f64()) {
                found.rises += 1;
                found
                    .delays
                    .extend(self.delay(points, *change, &rtt_alarms));
            }
        }
        // A label may stand a sample or two after the first risen one.
        let explains = |change: usize, alarm: usize| {
            alarm + TOLERANCE >= change && alarm <= change.saturating_add(self.window)
        };
        let explained = |alarm: &usize| changes.iter().any(|change| explains(*change, *alarm));
        found.false_alarms = rtt_alarms.iter().filter(|alarm| !explained(alarm)).count();
        found
    }

    fn delay(&self, points: &[SeriesPoint], change: usize, alarms: &[usize]) -> Option<(f64, f64)> {
        let after = alarms.iter().find(|alarm| **alarm + TOLERANCE >= change)?;
        if *after > change.saturating_add(self.window) {
            return None;
        }
        let seconds = |place: usize| points[place].at.unix_seconds() as f64;
        let samples = after.saturating_sub(change) as f64;
        Some((samples, (seconds(*after) - seconds(change)).max(0.0)))
    }

    /// The rows as a table for readers.
    pub fn table(rows: &[LagRow]) -> Table {
        let caption = "Lag detection on labelled series: rises of the median by the margin or more";
        let table = Table::new("lag", caption)
            .column(Column::new("detector"))
            .column(Column::new("margin_ms").heading("margin").unit("ms"))
            .column(Column::new("changes").heading("labelled changes"))
            .column(Column::new("rises"))
            .column(Column::new("detected"))
            .column(Column::new("median_delay_samples").heading("median delay, samples"))
            .column(
                Column::new("median_delay_s")
                    .heading("median delay")
                    .unit("s"),
            )
            .column(
                Column::new("false_alarms_per_day")
                    .heading("false alarms")
                    .unit("1/day"),
            )
            .column(
                Column::new("loss_alarms_per_day")
                    .heading("loss alarms")
                    .unit("1/day"),
            )
            .column(Column::new("days").heading("days of series"));
        rows.iter().fold(table, |table, row| {
            let number = |value: Option<f64>, decimals| match value {
                Some(value) => Cell::number(value, decimals),
                None => Cell::Missing,
            };
            table.row([
                row.detector.into(),
                Cell::number(row.margin_ms, 0),
                row.changes.into(),
                row.rises.into(),
                row.detected.into(),
                number(row.median_delay_samples, 1),
                number(row.median_delay_s, 0),
                Cell::number(row.false_alarms_per_day, 3),
                Cell::number(row.loss_alarms_per_day, 3),
                Cell::number(row.days, 0),
            ])
        })
    }
}

/// Samples by which a label may be late.
const TOLERANCE: usize = 2;
/// Samples on each side of a change whose medians tell by how much it rose.
const SIDE: usize = 15;

/// Where the detector alarms for round trips, and how often for losses.
fn alarms(points: &[SeriesPoint], config: LagConfig) -> (Vec<usize>, usize) {
    let mut detector = LagDetector::new(config);
    let mut losses = 0;
    let mut risen = Vec::new();
    for (place, point) in points.iter().enumerate() {
        if detector.push(point.rtt) {
            match point.rtt {
                Some(_) => risen.push(place),
                None => losses += 1,
            }
        }
    }
    (risen, losses)
}

/// By how much the median rises at a place, in milliseconds.
fn rise(points: &[SeriesPoint], at: usize) -> Option<f64> {
    let typical = |points: &[SeriesPoint]| {
        let answered = points.iter().filter_map(|point| point.rtt);
        let mut millis: Vec<f64> = answered.map(Rtt::as_millis_f64).collect();
        millis.sort_by(f64::total_cmp);
        median(&millis)
    };
    let before = typical(&points[at.saturating_sub(SIDE)..at])?;
    let after = typical(&points[at..points.len().min(at + SIDE)])?;
    Some(after - before)
}

fn row(detector: Detector, margin: Rtt, series: &[Series], found: &[Found]) -> LagRow {
    let days: f64 = series.iter().map(days).sum();
    let per_day = |count: usize| match days > 0.0 {
        true => count as f64 / days,
        false => 0.0,
    };
    let delays: Vec<(f64, f64)> = found.iter().flat_map(|f| f.delays.clone()).collect();
    let typical = |of: fn(&(f64, f64)) -> f64| {
        let mut values: Vec<f64> = delays.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        median(&values)
    };
    let changes = series.iter().flat_map(|series| &series.points);
    LagRow {
        detector: detector.name(),
        margin_ms: margin.as_millis_f64(),
        changes: changes.filter(|point| point.change_point).count(),
        rises: found.iter().map(|f| f.rises).sum(),
        detected: delays.len(),
        median_delay_samples: typical(|delay| delay.0),
        median_delay_s: typical(|delay| delay.1),
        false_alarms_per_day: per_day(found.iter().map(|f| f.false_alarms).sum()),
        loss_alarms_per_day: per_day(found.iter().map(|f| f.loss_alarms).sum()),
        days,
    }
}

fn days(series: &Series) -> f64 {
    let ends = series.points.first().zip(series.points.last());
    ends.map_or(0.0, |(first, last)| {
        let seconds = last
            .at
            .unix_seconds()
            .saturating_sub(first.at.unix_seconds());
        seconds as f64 / 86_400.0
    })
}
