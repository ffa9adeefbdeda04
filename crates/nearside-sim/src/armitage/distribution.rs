//! Figure 4 of the AS paper: how far servers are from each of the six clients.

use nearside_report::{Axis, Better, Cell, Column, Evidence, Figure, Layer, Part, Point, Table};
use nearside_types::{Rtt, quantile};

use super::published::AS_ROWS;
use super::reordered::RTT_STOP_MS;
use crate::experiment::{Experiment, Job, Name, Study};
use crate::method::Method;
use crate::record::RunRecord;

/// Figure 4.
pub(super) struct Distribution(pub(super) Name);

/// Distances a player thinks in, in milliseconds.
const NEAR: [(u32, &str); 4] = [
    (50, "below_50"),
    (100, "below_100"),
    (200, "below_200"),
    (300, "below_300"),
];

/// A curve of so many steps looks like one of 28,000.
const STEPS: usize = 400;

impl Experiment for Distribution {
    fn name(&self) -> Name {
        self.0
    }

    fn title(&self) -> String {
        "AS clusters, Figure 4: distribution of RTTs from six locations".to_owned()
    }

    fn pictures(&self) -> Vec<Job> {
        let rows = AS_ROWS.iter();
        rows.map(|row| row.client.job(Method::CONVENTIONAL))
            .collect()
    }

    fn parts(&self, study: &Study) -> Vec<Part> {
        vec![
            INTRODUCTION.into(),
            figure(self.0.item, study).into(),
            shares(study).into(),
        ]
    }
}

const INTRODUCTION: &str = "The paper prints no numbers with this figure: servers below 200 ms are \
     \"scarce for clients in AU, TW and JP, and common for clients in DE, UK and USA\".";

fn figure(name: &str, study: &Study) -> Figure {
    let x = Axis::linear("RTT (ms)").range(0.0, 500.0);
    let y = Axis::linear("servers (%)").range(0.0, 100.0);
    let caption = format!(
        "Measured RTTs of all servers that answer, seed {}.",
        study.setup().seeds.first()
    );
    let curves = AS_ROWS.iter().map(|row| {
        let record = study.record(&row.client.job(Method::CONVENTIONAL));
        Layer::steps(row.client.label, curve(record))
    });
    curves
        .fold(Figure::chart(name, caption, x, y), Figure::layer)
        .layer(Layer::vertical("200 ms", RTT_STOP_MS))
        .evidence(Evidence::NotFitted)
}

fn curve(record: &RunRecord) -> Vec<Point> {
    let rtts = record.probes.iter().filter_map(|probe| probe.rtt);
    let mut rtts: Vec<f64> = rtts.map(Rtt::as_millis_f64).collect();
    rtts.sort_by(f64::total_cmp);
    let step = |step: usize| {
        let share = step as f64 / STEPS as f64;
        let x = quantile(&rtts, share)?;
        Some(Point {
            x,
            y: 100.0 * share,
        })
    };
    (0..=STEPS).filter_map(step).collect()
}

fn shares(study: &Study) -> Table {
    let caption = "Answering servers whose base RTT is below so many milliseconds";
    let table = Table::new("shares", caption).column(Column::new("client"));
    let mut table = NEAR.iter().fold(table, |table, (limit, name)| {
        let column = Column::new(*name).heading(format!("< {limit} ms"));
        table.column(column.unit("%").not_fitted())
    });
    for row in &AS_ROWS {
        let by_seed = study.over_populations(row.client.crowd, |population| {
            let client = population
                .client(row.client.place)
                .expect("a place of the built-in world");
            NEAR.map(|(limit, _)| {
                let limit = Rtt::from_micros(limit * 1000);
                let near = population.rtts(client).filter(|rtt| *rtt < limit).count();
                100.0 * near as f64 / population.answering(client) as f64
            })
        });
        let cells = (0..NEAR.len()).map(|place| {
            let values: Vec<f64> = by_seed.iter().map(|shares| shares[place]).collect();
            Cell::spread(&values, Better::High, 1)
        });
        table.push([row.client.label.into()].into_iter().chain(cells));
    }
    table
}
