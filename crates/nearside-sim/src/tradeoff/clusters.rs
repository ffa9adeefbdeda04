//! AS against country and /8 against country against /16 against none, on the same servers.

use nearside_report::{Axis, Better, Cell, Column, Evidence, Figure, Layer, Part, Point, Table};

use super::ordering::{Grouping, Ordering};
use super::outcome::{EQUAL_RECALL, as_published, probes_at_recall};
use super::stops::{PLAYABLE, Stops};
use super::{FAR, PLACES, job};
use crate::experiment::{Crowd, Experiment, Job, Name, Study};
use crate::method::Method;
use crate::score::Score;

/// The comparison of groupings.
pub(super) struct Clusters(pub(super) Name);

/// The places of the country paper's second game.
const ET_PLACES: [&str; 3] = ["AU", "JP", "CH"];

impl Experiment for Clusters {
    fn name(&self) -> Name {
        self.0
    }

    fn title(&self) -> String {
        "Clusters: AS, country and /8, country, /16, none".to_owned()
    }

    fn jobs(&self) -> Vec<Job> {
        let games = [(Crowd::Css, PLACES), (Crowd::EnemyTerritory, ET_PLACES)];
        let jobs = games.into_iter().flat_map(|(crowd, places)| {
            let of_place = move |place| {
                let clusters =
                    Grouping::RIVALS.map(|grouping| clusters_job(grouping, crowd, place));
                let bounds = beside()
                    .into_iter()
                    .map(move |method| Job::new(crowd, place, method));
                clusters.into_iter().chain(bounds)
            };
            places.into_iter().flat_map(of_place)
        });
        jobs.collect()
    }

    fn pictures(&self) -> Vec<Job> {
        let of_place = |place| {
            let rivals = Grouping::RIVALS.map(|grouping| clusters_job(grouping, Crowd::Css, place));
            let none = Job::new(Crowd::Css, place, Method::CONVENTIONAL);
            rivals.into_iter().chain([none])
        };
        FAR.into_iter().flat_map(of_place).collect()
    }

    fn parts(&self, study: &Study) -> Vec<Part> {
        let css = table(study, Crowd::Css, &PLACES);
        let et = table(study, Crowd::EnemyTerritory, &ET_PLACES);
        let mut parts: Vec<Part> = vec![introduction().into(), css.into()];
        parts.extend(FAR.map(|place| Part::from(order(study, place))));
        parts.extend([Part::from(et)]);
        parts
    }
}

fn introduction() -> String {
    format!(
        "Clusters differ, everything else is as published. Probes are servers probed in percent of \
         the list; at equal recall the threshold of the stop is moved, in hindsight, until \
         {EQUAL_RECALL} % of the playable servers are found over all seeds. The CS:S world was \
         fitted to the probes that AS and country + /8 clusters need until the published stop; what \
         they find, the other clusters and Enemy Territory were not fitted."
    )
}

/// Those that are no clusters: the baseline, our planner if there is one, and the bound.
fn beside() -> Vec<Method> {
    let ours = "adaptive".parse().ok();
    let all = [Method::CONVENTIONAL].into_iter().chain(ours);
    all.chain([Method::Oracle]).collect()
}

fn clusters_job(grouping: Grouping, crowd: Crowd, place: &'static str) -> Job {
    let ordering = Ordering::published(grouping);
    match crowd {
        Crowd::Css => job(&ordering, place),
        Crowd::CssFebruary | Crowd::EnemyTerritory => ordering.job(crowd, place, Stops::Thresholds),
    }
}

fn table(study: &Study, crowd: Crowd, places: &[&'static str]) -> Table {
    let (name, game, fit) = match crowd {
        Crowd::EnemyTerritory => ("et", "Enemy Territory", Evidence::NotFitted),
        Crowd::Css | Crowd::CssFebruary => ("css", "CS:S", Evidence::Fitted),
    };
    let caption = format!("{game}: probes at the published stop and at equal recall");
    let percent = |name: &str| Column::new(name).unit("%");
    let equal = format!("probes at {EQUAL_RECALL} % recall");
    let mut table = Table::new(name, caption)
        .column(Column::new("client"))
        .column(Column::new("clusters"))
        .column(Column::new("formed").evidence(fit))
        .column(
            percent("probes")
                .heading("probes at the stop")
                .evidence(fit),
        )
        .column(percent("recall").heading("recall at the stop").not_fitted())
        .column(percent("equal").heading(equal).not_fitted())
        .column(
            percent("to_90")
                .heading("probes until 90 % found")
                .not_fitted(),
        );
    for &place in places {
        for grouping in Grouping::RIVALS {
            table.push(clusters_row(study, grouping, crowd, place));
        }
        for method in beside() {
            table.push(other_row(study, &method, crowd, place));
        }
    }
    table
}

fn clusters_row(study: &Study, grouping: Grouping, crowd: Crowd, place: &'static str) -> Vec<Cell> {
    let job = clusters_job(grouping, crowd, place);
    let (scores, outcome) = (study.scores(&job), as_published(study, &job));
    let equal = probes_at_recall(study, &job, EQUAL_RECALL);
    vec![
        place.into(),
        grouping.words().into(),
        spread(scores, 0, |score| Some(score.clusters as f64)),
        Cell::spread(&outcome.probes, Better::Low, 1),
        Cell::spread(&outcome.recall, Better::High, 1),
        Cell::spread(&equal, Better::Low, 1),
        spread(scores, 1, until_90),
    ]
}

fn other_row(study: &Study, method: &Method, crowd: Crowd, place: &'static str) -> Vec<Cell> {
    let scores = study.scores(&Job::new(crowd, place, method.clone()));
    let name = match *method == Method::CONVENTIONAL {
        true => "none (list order)",
        false => method.name(),
    };
    let recall: Vec<f64> = scores.iter().map(|score| 100.0 * score.recall()).collect();
    vec![
        place.into(),
        name.into(),
        Cell::Missing,
        spread(scores, 1, |score| {
            Some(100.0 * score.probes as f64 / score.listed as f64)
        }),
        Cell::spread(&recall, Better::High, 1),
        Cell::Missing,
        spread(scores, 1, until_90),
    ]
}

fn until_90(score: &Score) -> Option<f64> {
    let probes = score.probes_to_90?;
    Some(100.0 * probes as f64 / score.listed as f64)
}

fn spread(scores: &[Score], decimals: u8, value: fn(&Score) -> Option<f64>) -> Cell {
    let values: Vec<f64> = scores.iter().filter_map(value).collect();
    Cell::spread(&values, Better::Low, decimals)
}

/// How soon what is playable is found: the first seed, everything probed.
fn order(study: &Study, place: &'static str) -> Figure {
    let caption = format!(
        "Playable servers found against servers probed, CS:S from {place}, first seed. The farther \
         up and left, the better the order; until the kink the clusters are calibrated."
    );
    let x = Axis::linear("servers probed (% of the list)").range(0.0, 100.0);
    let y = Axis::linear("playable servers found (%)").range(0.0, 100.0);
    let rivals = Grouping::RIVALS.map(|grouping| {
        let job = clusters_job(grouping, Crowd::Css, place);
        Layer::line(grouping.words(), found(study, &job))
    });
    let none = Job::new(Crowd::Css, place, Method::CONVENTIONAL);
    let none = Layer::line("none (list order)", found(study, &none));
    let layers = rivals.into_iter().chain([none]);
    let figure = Figure::chart(format!("order-{}", place.to_lowercase()), caption, x, y);
    layers
        .fold(figure, Figure::layer)
        .evidence(Evidence::NotFitted)
}

/// The curve of a run that probes everything. What is playable is told by the measured RTT.
fn found(study: &Study, job: &Job) -> Vec<Point> {
    let record = study.record(job);
    let is_near = |rtt: Option<nearside_types::Rtt>| rtt.is_some_and(|rtt| rtt < PLAYABLE);
    let near = record.probes.iter().filter(|probe| is_near(probe.rtt));
    let (listed, all) = (record.probes.len() as f64, near.clone().count() as f64);
    let point = |(place, probe): (usize, &crate::record::Probe)| Point {
        x: 100.0 * probe.probed as f64 / listed,
        y: 100.0 * (place + 1) as f64 / all,
    };
    near.enumerate().map(point).collect()
}
