//! Figure 7: what detours cost in messages.

use std::sync::Arc;

use nearside_report::{Axis, Better, Cell, Column, Evidence, Figure, Layer, Part, Point, Table};

use super::emulation::Log;
use super::laboratory::{Emulated, Laboratory};
use super::settings::Way;
use super::tables::{column, distribution, mean};
use crate::batch::{Progress, Unwatched};
use crate::experiment::{Experiment, Name, Study};

/// Figure 7(a) or 7(b).
pub(super) struct Messages {
    pub(super) name: Name,
    pub(super) lab: Arc<Laboratory>,
    pub(super) of: Traffic,
}

/// Which messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Traffic {
    /// From client to client.
    Probes,
    /// From clients to the directory.
    Updates,
}

impl Experiment for Messages {
    fn name(&self) -> Name {
        self.name
    }

    fn title(&self) -> String {
        match self.of {
            Traffic::Probes => "Ly et al., Figure 7(a): probes sent by each client".to_owned(),
            Traffic::Updates => {
                "Ly et al., Figure 7(b): updates per minute at the server".to_owned()
            }
        }
    }

    fn parts(&self, study: &Study) -> Vec<Part> {
        self.watched_parts(study, &Unwatched)
    }

    fn watched_parts(&self, study: &Study, progress: &dyn Progress) -> Vec<Part> {
        let emulated = self.lab.emulated(study.setup(), progress);
        let figure = match self.of {
            Traffic::Probes => probes(self.name.item, &emulated),
            Traffic::Updates => updates(self.name.item, &emulated),
        };
        vec![
            self.lab.words_in_time(study.setup()).into(),
            INTRODUCTION.into(),
            figure.into(),
            counts(&emulated).into(),
        ]
    }
}

const INTRODUCTION: &str = "Probes go to neighbours, updates to the directory; asking for detours and \
     measuring them when a game begins is not among them, as in the paper. An oracle needs no \
     messages, and without detours there are none. The paper gives no rule for its adaptive intervals; \
     ours doubles them from 10 s to 1024 s while a leg stays the same, in both rows.";

fn probes(name: &str, emulated: &Emulated) -> Figure {
    let chart = Figure::chart(
        name,
        "Distribution over clients of the probes sent; the paper saw fewer than 2,000 in nine hours.",
        Axis::linear("probes per client and hour"),
        Axis::linear("clients (%)").range(0.0, 100.0),
    )
    .evidence(Evidence::NotFitted);
    let chart = Way::ALL.iter().fold(chart, |chart, way| {
        let logs = emulated.logs(*way).iter();
        let hourly: Vec<f64> = logs.flat_map(hourly).collect();
        chart.layer(distribution(way.label(), &hourly))
    });
    chart.layer(Layer::vertical("the paper's 2,000 in 9 h", 2000.0 / 9.0))
}

fn hourly(log: &Log) -> Vec<f64> {
    let hours = log.minutes / 60.0;
    log.probes.iter().map(|n| f64::from(*n) / hours).collect()
}

fn updates(name: &str, emulated: &Emulated) -> Figure {
    let chart = Figure::chart(
        name,
        "Updates that the directory gets in a minute, on the first seed; the paper saw up to 300 from \
         500 clients, and fewer with time.",
        Axis::linear("time (min)"),
        Axis::linear("updates per minute"),
    )
    .evidence(Evidence::NotFitted);
    Way::ALL.iter().fold(chart, |chart, way| {
        let minutes = whole_minutes(&emulated.logs(*way)[0]).iter().enumerate();
        let points = minutes.map(|(minute, count)| Point {
            x: minute as f64,
            y: f64::from(*count),
        });
        chart.layer(Layer::line(way.label(), points))
    })
}

/// Without the last, which the end cuts off.
fn whole_minutes(log: &Log) -> &[u32] {
    &log.updates[..log.minutes as usize]
}

fn counts(emulated: &Emulated) -> Table {
    let table = Table::new(
        "messages",
        "Messages; the paper's figures are of about 500 clients",
    )
    .column(Column::new("who"))
    .column(column("probes", "probes per client", "1/min"))
    .column(column("updates", "updates per client", "1/min"))
    .column(column("interval", "a message every", "s"))
    .column(column("first_hour", "a message every, first hour", "s"))
    .column(column("peak", "most updates in a minute", ""))
    .column(column("last_hour", "updates, last third", "1/min"));
    let published = [
        Cell::from("the paper"),
        Cell::number(60.0 / 16.0, 2),
        Cell::from("below 1"),
        Cell::number(16.0, 0),
        Cell::Missing,
        Cell::from("about 300"),
        Cell::Missing,
    ];
    Way::ALL.iter().fold(table.row(published), |table, way| {
        let spread = |of: fn(&Log) -> f64, better, decimals| {
            let values: Vec<f64> = emulated.logs(*way).iter().map(of).collect();
            Cell::spread(&values, better, decimals)
        };
        table.row([
            way.label().into(),
            spread(probes_per_minute, Better::Low, 2),
            spread(updates_per_minute, Better::Low, 2),
            spread(
                |log| 60.0 / (probes_per_minute(log) + updates_per_minute(log)),
                Better::High,
                1,
            ),
            spread(first_hour, Better::High, 1),
            spread(
                |log| {
                    whole_minutes(log)
                        .iter()
                        .copied()
                        .max()
                        .map_or(0.0, f64::from)
                },
                Better::Low,
                0,
            ),
            spread(last_third, Better::Low, 1),
        ])
    })
}

fn probes_per_minute(log: &Log) -> f64 {
    let counts: Vec<f64> = log.probes.iter().map(|n| f64::from(*n)).collect();
    mean(&counts) / log.minutes
}

fn updates_per_minute(log: &Log) -> f64 {
    let all: f64 = log.updates.iter().map(|n| f64::from(*n)).sum();
    all / log.minutes / log.probes.len() as f64
}

/// Seconds between a client's messages while everything is new to it and intervals are still short.
fn first_hour(log: &Log) -> f64 {
    let minutes = whole_minutes(log).len().min(60);
    let updates = log.updates.iter().take(minutes);
    let probes = log.probes_by_minute.iter().take(minutes);
    let messages: f64 = updates.chain(probes).map(|n| f64::from(*n)).sum();
    60.0 * (minutes * log.probes.len()) as f64 / messages
}

fn last_third(log: &Log) -> f64 {
    let minutes = whole_minutes(log);
    let last: Vec<f64> = minutes[minutes.len() * 2 / 3..]
        .iter()
        .map(|n| f64::from(*n))
        .collect();
    mean(&last)
}
