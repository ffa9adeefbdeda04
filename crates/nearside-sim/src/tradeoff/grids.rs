//! Two parameters of Algorithm 1 at once, as heat maps: N_sample and the spread that splits, each
//! against the prefix of the split; and the country paper's one by one.

use nearside_report::{Better, Cell, Column, Evidence, Figure, Heat, Part, Table};

use super::ordering::{self, Ordering, SAMPLES, SPLITS, THRESHOLDS};
use super::outcome::{EQUAL_RECALL, as_published, mean, probes_at_recall};
use super::{FAR, job};
use crate::experiment::{Experiment, Job, Name, Study};

/// A grid of orders.
pub(super) struct Grids {
    name: Name,
    title: &'static str,
    introduction: &'static str,
    rows: Vec<String>,
    row_label: &'static str,
    orders: Vec<Vec<Ordering>>,
    /// Orders to be listed beside the grid.
    others: Vec<Ordering>,
}

impl Grids {
    pub(super) fn samples(name: Name) -> Self {
        Self {
            name,
            title: "Calibration: how many samples, and splits by which prefix",
            introduction: "AS clusters. N_sample is √n in both papers, which leave other rules to \
                           future work, and so do they the prefix by which wide clusters are split \
                           (and which spreads the samples): /16.",
            rows: SAMPLES.map(ordering::sample_words).to_vec(),
            row_label: "N_sample",
            orders: ordering::sample_grid(),
            others: Vec::new(),
        }
    }

    pub(super) fn thresholds(name: Name) -> Self {
        Self {
            name,
            title: "Splits: at which spread, and by which prefix",
            introduction: "AS clusters are split when the 20th and 80th percentile of their samples \
                           are farther apart than 40 ms; the papers ask what less would do. Below, \
                           the same for country clusters, one parameter at a time.",
            rows: THRESHOLDS.map(ordering::threshold_words).to_vec(),
            row_label: "split above a spread of",
            orders: ordering::threshold_grid(),
            others: ordering::country_variants(),
        }
    }

    fn heat(&self, place: &str, measure: &Measure, value: impl Fn(&Ordering) -> f64) -> Figure {
        let row = |row: &Vec<Ordering>| row.iter().map(&value).collect();
        let heat = Heat {
            x: "prefix of the split".to_owned(),
            y: self.row_label.to_owned(),
            value: measure.label.clone(),
            columns: SPLITS.map(|split| format!("/{split}")).to_vec(),
            rows: self.rows.clone(),
            values: self.orders.iter().map(row).collect(),
            decimals: 1,
        };
        let name = format!("{}-{}", measure.name, place.to_lowercase());
        let caption = format!("{} CS:S from {place}, mean over seeds.", measure.caption);
        Figure::heat(name, caption, heat).evidence(Evidence::NotFitted)
    }
}

/// What a heat map shows.
struct Measure {
    name: &'static str,
    caption: &'static str,
    label: String,
}

impl Experiment for Grids {
    fn name(&self) -> Name {
        self.name
    }

    fn title(&self) -> String {
        self.title.to_owned()
    }

    fn jobs(&self) -> Vec<Job> {
        let orders = self.orders.iter().flatten().chain(&self.others);
        let on_places = |order: &Ordering| FAR.map(|place| job(order, place));
        orders.flat_map(on_places).collect()
    }

    fn parts(&self, study: &Study) -> Vec<Part> {
        let mut parts: Vec<Part> = vec![self.introduction.into()];
        let [equal, probes, recall] = measures();
        for place in FAR {
            let at_recall =
                |order: &Ordering| mean(&probes_at_recall(study, &job(order, place), EQUAL_RECALL));
            parts.push(self.heat(place, &equal, at_recall).into());
        }
        for place in FAR {
            let published = |order: &Ordering| as_published(study, &job(order, place));
            let cost = |order: &Ordering| mean(&published(order).probes);
            let gain = |order: &Ordering| mean(&published(order).recall);
            parts.push(self.heat(place, &probes, cost).into());
            parts.push(self.heat(place, &recall, gain).into());
        }
        if !self.others.is_empty() {
            parts.push(others(study, &self.others).into());
        }
        parts
    }
}

fn measures() -> [Measure; 3] {
    [
        Measure {
            name: "equal",
            caption: "What each setting costs when all find the same.",
            label: format!("probes at {EQUAL_RECALL} % recall (% of the list)"),
        },
        Measure {
            name: "probes",
            caption: "Cost with the published stop.",
            label: "probes at the stop (% of the list)".to_owned(),
        },
        Measure {
            name: "recall",
            caption: "What the published stop finds.",
            label: "playable servers found (%)".to_owned(),
        },
    ]
}

fn others(study: &Study, orders: &[Ordering]) -> Table {
    let caption = format!("Country clusters: probes at {EQUAL_RECALL} % recall, and at the stop");
    let mut table = Table::new("country", caption).column(Column::new("setting"));
    for place in FAR {
        let low = place.to_lowercase();
        let percent = |name: &str| Column::new(format!("{low}_{name}")).unit("%").not_fitted();
        table = table
            .column(percent("equal").heading(format!("{place}: probes at equal recall")))
            .column(percent("probes").heading(format!("{place}: probes at the stop")))
            .column(percent("recall").heading(format!("{place}: recall at the stop")));
    }
    for order in orders {
        let of_place = |place| {
            let job = job(order, place);
            let outcome = as_published(study, &job);
            let equal = probes_at_recall(study, &job, EQUAL_RECALL);
            [
                Cell::spread(&equal, Better::Low, 1),
                Cell::spread(&outcome.probes, Better::Low, 1),
                Cell::spread(&outcome.recall, Better::High, 1),
            ]
        };
        let cells = FAR.into_iter().flat_map(of_place);
        table.push([Cell::from(order.words())].into_iter().chain(cells));
    }
    table
}
