//! RTT against time in the planned order, with RTT_bottom and the stop: figures 5 to 7 of the AS
//! paper and 4 to 9 of the country paper.

use nearside_discover::planner::{PlannerConfig, PlannerKind, StopRule};
use nearside_report::{Axis, Better, Evidence, Figure, Layer, Part, Point};
use nearside_types::{Moment, Rtt};

use super::AS_CLUSTERS;
use super::contest::{Client, Contest, Measure};
use super::published::{AS_CALIBRATION_SECONDS, as_row, country_row};
use crate::experiment::{Crowd, Experiment, Job, Name, Study};
use crate::method::Method;
use crate::record::{Phase, RunRecord};

/// The papers' RTT_stop.
pub(super) const RTT_STOP: Rtt = Rtt::from_micros(200_000);
/// The same as a height in a chart.
pub(super) const RTT_STOP_MS: f64 = 200.0;

/// What the charts show of the RTT axis; beyond are only queues.
const HIGHEST_MS: f64 = 600.0;

/// An optimised discovery, drawn.
pub(super) struct Reordered {
    name: Name,
    client: Client,
    kind: PlannerKind,
    shows: Shows,
    calibration_seconds: Option<f64>,
    stop_seconds: f64,
}

/// What the paper draws.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shows {
    /// The AS paper: both phases.
    Everything,
    /// The country paper: "only re-ordered probes are shown".
    ReorderedOnly,
}

impl Reordered {
    pub(super) fn of_as(name: Name, label: &str) -> Self {
        let row = as_row(label);
        Self {
            name,
            client: row.client,
            kind: PlannerKind::As,
            shows: Shows::Everything,
            calibration_seconds: Some(AS_CALIBRATION_SECONDS),
            stop_seconds: row.stop_seconds,
        }
    }

    pub(super) fn of_country(name: Name, label: &str) -> Self {
        let row = country_row(label);
        Self {
            name,
            client: row.client,
            kind: PlannerKind::Country,
            shows: Shows::ReorderedOnly,
            calibration_seconds: row.initial_seconds,
            stop_seconds: row.stop_seconds,
        }
    }

    fn contest(&self) -> Contest {
        Contest::of_proposal(vec![self.client], Method::published(self.kind))
    }

    /// The same run without its end: "re-ordered probes are plotted beyond auto-stop to illustrate
    /// the effectiveness of re-ordering". Up to the stop it is the same, probe by probe.
    fn endless(&self) -> Job {
        let mut config = PlannerConfig::published(self.kind);
        config.clusters.stop = None;
        self.client.job(Method::Planner(config))
    }

    fn evidence(&self) -> Evidence {
        match self.client.crowd {
            Crowd::Css | Crowd::CssFebruary => Evidence::Fitted,
            Crowd::EnemyTerritory => Evidence::NotFitted,
        }
    }
}

impl Experiment for Reordered {
    fn name(&self) -> Name {
        self.name
    }

    fn title(&self) -> String {
        let what = format!("optimised discovery, client in {}", self.client.label);
        figure_title(self.name, &what)
    }

    fn jobs(&self) -> Vec<Job> {
        self.contest().jobs()
    }

    fn pictures(&self) -> Vec<Job> {
        vec![self.endless()]
    }

    fn parts(&self, study: &Study) -> Vec<Part> {
        let contest = self.contest();
        let calibrated = |_: &Client| self.calibration_seconds;
        let stopped = |_: &Client| Some(self.stop_seconds);
        let begin = Measure {
            name: "begin",
            caption: "Time until re-ordered probes begin",
            unit: Some("s"),
            decimals: 1,
            better: Better::Low,
            evidence: Evidence::NotFitted,
            published: &calibrated,
            value: |run| run.score.calibration_seconds,
        };
        let stop = Measure {
            name: "stop",
            caption: "Time to the stop as the papers count it: datagrams over the rate",
            evidence: match self.kind {
                PlannerKind::As => self.evidence(),
                _ => Evidence::NotFitted, // lists of another length than the paper's
            },
            published: &stopped,
            value: |run| Some(run.nominal_seconds()),
            ..begin
        };
        let recall = Measure {
            name: "recall",
            caption: "Playable servers found, of all",
            unit: Some("%"),
            better: Better::High,
            published: &|_| None,
            value: |run| Some(100.0 * run.score.recall()),
            ..begin
        };
        vec![
            self.figure(study).into(),
            contest.table(study, &begin).into(),
            contest.table(study, &stop).into(),
            contest.table(study, &recall).into(),
        ]
    }
}

impl Reordered {
    fn figure(&self, study: &Study) -> Figure {
        let record = study.record(&self.endless());
        let track = record.rtt_bottom(StopRule::PUBLISHED, RTT_STOP);
        let stop = track.iter().position(|(_, bottom)| *bottom >= RTT_STOP);
        let until_stop = &track[..stop.map_or(track.len(), |place| place + 1)];
        let (x, y) = time_axes();
        let mut figure = Figure::chart(self.name.item, self.caption(study, stop.is_some()), x, y)
            .evidence(self.evidence());
        if self.shows == Shows::Everything {
            let calibration = points(record, Phase::Calibration);
            figure = figure.layer(Layer::points("calibration probes", calibration));
        }
        let ordered = points(record, Phase::Ordered);
        let bottom = until_stop.iter().map(|&(at, rtt)| point(at, rtt));
        figure = figure
            .layer(Layer::points("re-ordered probes", ordered))
            .layer(Layer::line("RTT_bottom", bottom))
            .layer(Layer::horizontal("RTT_stop", RTT_STOP_MS));
        match stop {
            Some(place) => figure.layer(Layer::vertical("auto-stop", seconds(track[place].0))),
            None => figure,
        }
    }

    fn caption(&self, study: &Study, stops: bool) -> String {
        let ending = match stops {
            true => "probes are shown beyond the stop, which a client would not send",
            false => "the stop never comes",
        };
        format!(
            "One discovery from {}, seed {}: {ending}.",
            self.client.label,
            study.setup().seeds.first(),
        )
    }
}

/// `AS clusters, Figure 5: …`.
pub(super) fn figure_title(name: Name, what: &str) -> String {
    let paper = match name.paper {
        AS_CLUSTERS => "AS clusters",
        _ => "Country clusters",
    };
    let number = name.item.trim_start_matches("figure");
    format!("{paper}, Figure {number}: {what}")
}

/// The axes of the papers' pictures.
pub(super) fn time_axes() -> (Axis, Axis) {
    let y = Axis::linear("RTT (ms)").range(0.0, HIGHEST_MS);
    (Axis::linear("time (s)"), y)
}

/// The answered probes of a phase.
pub(super) fn points(record: &RunRecord, phase: Phase) -> Vec<Point> {
    let of_phase = record.probes.iter().filter(|probe| probe.phase == phase);
    of_phase
        .filter_map(|probe| Some(point(probe.at(), probe.rtt?)))
        .collect()
}

fn point(at: Moment, rtt: Rtt) -> Point {
    Point {
        x: seconds(at),
        y: rtt.as_millis_f64(),
    }
}

fn seconds(at: Moment) -> f64 {
    at.since_epoch().as_secs_f64()
}
