//! RTT against time in list order: figures 2 and 3 of both papers. Near servers come at any time,
//! so a player has to wait for all of them.

use nearside_discover::planner::PlannerKind;
use nearside_report::{Better, Evidence, Figure, Layer, Part};

use super::contest::{Client, Contest, Measure};
use super::published::{AS_FULL_SECONDS, as_row, country_row};
use super::reordered::{RTT_STOP_MS, figure_title, points, time_axes};
use crate::experiment::{Experiment, Job, Name, Study};
use crate::method::Method;
use crate::record::Phase;

/// A conventional discovery, drawn.
pub(super) struct Conventional {
    name: Name,
    client: Client,
    /// The paper's own method.
    proposed: PlannerKind,
    full_seconds: Option<f64>,
}

impl Conventional {
    pub(super) fn of_as(name: Name, label: &str) -> Self {
        Self {
            name,
            client: as_row(label).client,
            proposed: PlannerKind::As,
            full_seconds: Some(AS_FULL_SECONDS),
        }
    }

    pub(super) fn of_country(name: Name, label: &str) -> Self {
        let row = country_row(label);
        Self {
            name,
            client: row.client,
            proposed: PlannerKind::Country,
            full_seconds: row.full_seconds,
        }
    }

    fn contest(&self) -> Contest {
        Contest::of_baseline(vec![self.client], Method::published(self.proposed))
    }
}

impl Experiment for Conventional {
    fn name(&self) -> Name {
        self.name
    }

    fn title(&self) -> String {
        let label = self.client.label;
        let what = format!("RTT against time in list order, seen from {label}");
        figure_title(self.name, &what)
    }

    fn jobs(&self) -> Vec<Job> {
        self.contest().jobs()
    }

    fn pictures(&self) -> Vec<Job> {
        vec![self.client.job(Method::CONVENTIONAL)]
    }

    fn parts(&self, study: &Study) -> Vec<Part> {
        let contest = self.contest();
        let published = |_: &Client| self.full_seconds;
        let seconds = Measure {
            name: "seconds",
            caption: "Duration of the discovery",
            unit: Some("s"),
            decimals: 0,
            better: Better::Low,
            evidence: Evidence::NotFitted,
            published: &published,
            value: |run| Some(run.score.seconds),
        };
        let to_99 = Measure {
            name: "wait",
            caption: "Servers probed until 99 % of the playable ones were found, of all listed",
            unit: Some("%"),
            published: &|_| None,
            value: |run| {
                let probes = run.score.probes_to_99? as f64;
                Some(100.0 * probes / run.score.listed as f64)
            },
            ..seconds
        };
        let playable = Measure {
            name: "playable",
            caption: "Share of the answering servers that is nearer than 200 ms",
            better: Better::High,
            value: |run| Some(100.0 * run.score.playable as f64 / run.score.answering as f64),
            ..to_99
        };
        vec![
            self.figure(study).into(),
            contest.table(study, &seconds).into(),
            contest.table(study, &to_99).into(),
            contest.table(study, &playable).into(),
        ]
    }
}

impl Conventional {
    fn figure(&self, study: &Study) -> Figure {
        let record = study.record(&self.client.job(Method::CONVENTIONAL));
        let (x, y) = time_axes();
        let caption = format!(
            "Every reply of one conventional discovery from {}, seed {}: near and far servers come \
             at any time.",
            self.client.label,
            study.setup().seeds.first(),
        );
        Figure::chart(self.name.item, caption, x, y)
            .evidence(Evidence::NotFitted)
            .layer(Layer::points("replies", points(record, Phase::Ordered)))
            .layer(Layer::horizontal("200 ms", RTT_STOP_MS))
    }
}
