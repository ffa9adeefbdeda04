//! RTT_stop: for players who want nearer or farther servers, and above what they want.

use nearside_discover::planner::StopRule;
use nearside_report::{Axis, Better, Cell, Column, Evidence, Figure, Layer, Part, Point, Table};

use super::ordering::{Grouping, Ordering, ms};
use super::outcome::{Outcome, mean};
use super::stops::{WISHES, over_thresholds};
use super::{PLACES, job};
use crate::experiment::{Experiment, Job, Name, Study};
use crate::hindsight::Stop;

/// The sweep of RTT_stop.
pub(super) struct Wishes(pub(super) Name);

/// Both papers' clusters.
const METHODS: [Grouping; 2] = [Grouping::As, Grouping::CountryAnd(8)];

impl Experiment for Wishes {
    fn name(&self) -> Name {
        self.0
    }

    fn title(&self) -> String {
        "RTT_stop: what players want, and how much above it to stop".to_owned()
    }

    fn jobs(&self) -> Vec<Job> {
        let of_place = |place| METHODS.map(|grouping| published(grouping, place));
        PLACES.into_iter().flat_map(of_place).collect()
    }

    fn parts(&self, study: &Study) -> Vec<Part> {
        let words = "First, RTT_stop is what the player calls playable, from 50 to 300 ms; then \
                     200 ms are playable and the stop waits for less or more than that, as the AS \
                     paper advises (\"slightly higher than the player's RTT preference\").";
        let mut parts: Vec<Part> = vec![words.into(), table(study).into()];
        parts.push(recall_by_wish(study).into());
        parts.extend(METHODS.map(|grouping| Part::from(recall_by_cost(study, grouping))));
        parts
    }
}

fn published(grouping: Grouping, place: &'static str) -> Job {
    job(&Ordering::published(grouping), place)
}

/// What a stop does for players who call exactly its threshold playable.
pub(super) fn wish(study: &Study, grouping: Grouping, place: &'static str, wish: u32) -> Outcome {
    let stop = Stop {
        rule: StopRule::PUBLISHED,
        at: ms(wish),
        playable: ms(wish),
    };
    Outcome::of(study, &published(grouping, place), &stop)
}

fn table(study: &Study) -> Table {
    let caption = "The published stop at other thresholds, each also what is playable";
    let mut table = Table::new("wishes", caption)
        .column(Column::new("client"))
        .column(Column::new("rtt_stop").heading("RTT_stop").unit("ms"));
    for grouping in METHODS {
        let words = grouping.words();
        let name = |what: &str| format!("{what}_{}", grouping.words().replace([' ', '+', '/'], ""));
        let percent = |column: Column| column.unit("%").not_fitted();
        table = table
            .column(percent(
                Column::new(name("probes")).heading(format!("{words}: probes")),
            ))
            .column(percent(
                Column::new(name("recall")).heading(format!("{words}: recall")),
            ));
    }
    for place in PLACES {
        for bound in WISHES {
            let of_method = |grouping| {
                let outcome = wish(study, grouping, place, bound);
                [
                    Cell::spread(&outcome.probes, Better::Low, 1),
                    Cell::spread(&outcome.recall, Better::High, 1),
                ]
            };
            let cells = METHODS.into_iter().flat_map(of_method);
            table.push(
                [place.into(), u64::from(bound).into()]
                    .into_iter()
                    .chain(cells),
            );
        }
    }
    table
}

fn recall_by_wish(study: &Study) -> Figure {
    let caption = "Recall against RTT_stop where RTT_stop is what is playable. Mean over seeds.";
    let x = Axis::linear("RTT_stop (ms)");
    let y = Axis::linear("playable servers found (%)");
    let mut figure = Figure::chart("recall-by-wish", caption, x, y).evidence(Evidence::NotFitted);
    for place in PLACES {
        for grouping in METHODS {
            let points = WISHES.map(|bound| Point {
                x: f64::from(bound),
                y: mean(&wish(study, grouping, place, bound).recall),
            });
            let label = format!("{place}, {}", grouping.words());
            figure = figure.layer(Layer::line(label, points));
        }
    }
    figure
}

/// One curve for each place; along it, the threshold grows.
fn recall_by_cost(study: &Study, grouping: Grouping) -> Figure {
    let words = grouping.words();
    let caption = format!(
        "Recall against cost while the threshold of the stop grows from 60 to 340 ms; 200 ms are \
         playable. {words} clusters, mean over seeds; dots mark the published stop."
    );
    let x = Axis::linear("probes (% of the list)").range(0.0, 100.0);
    let y = Axis::linear("playable servers found (%)");
    let name = format!("recall-by-cost-{words}");
    let mut figure = Figure::chart(name, caption, x, y).evidence(Evidence::NotFitted);
    for place in PLACES {
        let job = published(grouping, place);
        let point = |stop: &Stop| {
            let outcome = Outcome::of(study, &job, stop);
            Point {
                x: mean(&outcome.probes),
                y: mean(&outcome.recall),
            }
        };
        let stops = over_thresholds(StopRule::PUBLISHED);
        figure = figure
            .layer(Layer::line(place, stops.iter().map(point)))
            .layer(Layer::points(place, [point(&super::stops::PUBLISHED)]));
    }
    figure
}
