//! Methods beside each other on the papers' clients: one table for each figure that counts.

use nearside_report::{Better, Cell, Column, Evidence, Table};

use crate::experiment::{Crowd, Job, Study};
use crate::method::Method;
use crate::score::Score;

/// A client of a paper: whose servers it looked for, from where, how fast.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Client {
    /// As the paper calls it.
    pub(super) label: &'static str,
    pub(super) crowd: Crowd,
    /// As the world calls it.
    pub(super) place: &'static str,
    /// Probes a second.
    pub(super) rate: f64,
}

impl Client {
    pub(super) const fn new(
        label: &'static str,
        crowd: Crowd,
        place: &'static str,
        rate: f64,
    ) -> Self {
        Self {
            label,
            crowd,
            place,
            rate,
        }
    }

    /// This client's run by a method.
    pub(super) fn job(&self, method: Method) -> Job {
        Job::new(self.crowd, self.place, method).at_rate(self.rate)
    }
}

/// The planner of this project, once there is one beyond the papers.
pub(super) fn ours() -> Option<Method> {
    "adaptive".parse().ok()
}

/// A paper's method, ours, the baseline and the oracle, on the same instances.
pub(super) struct Contest {
    pub(super) clients: Vec<Client>,
    /// What the paper's numbers are about comes first.
    methods: Vec<Method>,
}

/// What a paper prints for a client, if it does.
pub(super) type Published<'a> = &'a dyn Fn(&Client) -> Option<f64>;

/// A figure to compare by.
pub(super) struct Measure<'a> {
    /// The table's name, of small letters and hyphens.
    pub(super) name: &'a str,
    pub(super) caption: &'a str,
    pub(super) unit: Option<&'a str>,
    pub(super) decimals: u8,
    pub(super) better: Better,
    /// How much it proves of what the paper's numbers are about.
    pub(super) evidence: Evidence,
    /// What the paper prints for a client.
    pub(super) published: Published<'a>,
    /// What a run shows; `None` where that makes no sense.
    pub(super) value: fn(&Judged<'_>) -> Option<f64>,
}

/// A run and what it is held against.
pub(super) struct Judged<'a> {
    pub(super) score: &'a Score,
    /// Conventional discovery of the same instance.
    pub(super) full: &'a Score,
    /// Probes a second.
    pub(super) rate: f64,
}

impl Judged<'_> {
    /// The papers' percentage: datagrams over those of a full scan, retries included in both.
    pub(super) fn cost_percent(&self) -> f64 {
        100.0 * self.score.datagrams as f64 / self.full.datagrams as f64
    }

    /// The papers' clock: datagrams at the nominal rate, as if no phase waited for another.
    pub(super) fn nominal_seconds(&self) -> f64 {
        self.score.datagrams as f64 / self.rate
    }
}

impl Contest {
    /// The method the paper proposes comes first.
    pub(super) fn of_proposal(clients: Vec<Client>, proposed: Method) -> Self {
        let first = [proposed].into_iter().chain(ours());
        let methods = first
            .chain([Method::CONVENTIONAL, Method::Oracle])
            .collect();
        Self { clients, methods }
    }

    /// Conventional discovery comes first: the table or figure is about that.
    pub(super) fn of_baseline(clients: Vec<Client>, proposed: Method) -> Self {
        let first = [Method::CONVENTIONAL, proposed].into_iter().chain(ours());
        let methods = first.chain([Method::Oracle]).collect();
        Self { clients, methods }
    }

    /// The runs it takes.
    pub(super) fn jobs(&self) -> Vec<Job> {
        let of_client = |client: &Client| {
            let client = *client;
            let methods = self.methods.iter().cloned();
            methods.map(move |method| client.job(method))
        };
        self.clients.iter().flat_map(of_client).collect()
    }

    /// A line for each client: the paper's number, then each method's.
    pub(super) fn table(&self, study: &Study, measure: &Measure<'_>) -> Table {
        let mut table = self.empty_table(measure);
        for client in &self.clients {
            let published = (measure.published)(client);
            let published = published.map_or(Cell::Missing, |number| {
                Cell::number(number, measure.decimals)
            });
            let measured = self.methods.iter().map(|method| {
                let values = values(study, client, method, measure.value);
                Cell::spread(&values, measure.better, measure.decimals)
            });
            table.push([client.label.into(), published].into_iter().chain(measured));
        }
        table
    }

    fn empty_table(&self, measure: &Measure<'_>) -> Table {
        let with_unit = |column: Column| match measure.unit {
            Some(unit) => column.unit(unit),
            None => column,
        };
        let table = Table::new(measure.name, measure.caption)
            .column(Column::new("client"))
            .column(with_unit(Column::new("paper")).published());
        let columns = self.methods.iter().map(|method| {
            let column = with_unit(Column::new(method.name()));
            column.evidence(match *method == self.methods[0] {
                true => measure.evidence,
                false => Evidence::NotFitted,
            })
        });
        columns.fold(table, Table::column)
    }
}

/// A figure of a client's runs by a method, seed by seed.
pub(super) fn values(
    study: &Study,
    client: &Client,
    method: &Method,
    value: fn(&Judged<'_>) -> Option<f64>,
) -> Vec<f64> {
    let scores = study.scores(&client.job(method.clone()));
    let full = study.scores(&client.job(Method::CONVENTIONAL));
    let rate = client.rate;
    let judged = scores
        .iter()
        .zip(full)
        .map(|(score, full)| Judged { score, full, rate });
    judged.filter_map(|judged| value(&judged)).collect()
}
