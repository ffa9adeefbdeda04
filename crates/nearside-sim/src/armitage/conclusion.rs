//! The answer in one table: what was published, what is measured today, and how far both are from
//! perfect.

use nearside_discover::planner::PlannerKind;
use nearside_report::{Better, Cell, Column, Evidence, Part, Table};

use super::contest::{Client, Judged, ours, values};
use super::optimised::times_the_oracle;
use super::published::{AS_ROWS, COUNTRY_ROWS};
use crate::experiment::{Crowd, Experiment, Job, Name, Study};
use crate::method::Method;

/// Stands on top of the page with all experiments.
pub struct Conclusion;

/// A client of either paper.
struct Line {
    client: Client,
    own: PlannerKind,
    published: f64,
}

fn lines() -> Vec<Line> {
    let as_clusters = AS_ROWS.iter().map(|row| Line {
        client: row.client,
        own: PlannerKind::As,
        published: row.stop_percent,
    });
    let country = COUNTRY_ROWS.iter().map(|row| Line {
        client: row.client,
        own: PlannerKind::Country,
        published: row.stop_percent,
    });
    as_clusters.chain(country).collect()
}

impl Line {
    fn methods(&self) -> Vec<Method> {
        let own = Method::published(self.own);
        [own, Method::CONVENTIONAL, Method::Oracle]
            .into_iter()
            .chain(ours())
            .collect()
    }
}

impl Experiment for Conclusion {
    fn name(&self) -> Name {
        Name {
            paper: "all",
            item: "summary",
        }
    }

    fn title(&self) -> String {
        "Published, measured, and how far from perfect".to_owned()
    }

    fn jobs(&self) -> Vec<Job> {
        let of_line = |line: Line| {
            let methods = line.methods().into_iter();
            methods.map(move |method| line.client.job(method))
        };
        lines().into_iter().flat_map(of_line).collect()
    }

    fn parts(&self, study: &Study) -> Vec<Part> {
        let text = "Cost is datagrams until the stop over those of conventional discovery; the \
             oracle knows every RTT beforehand and probes what is playable and nothing else. The \
             CS:S world was fitted to the papers' tables, so that agreement there is consistency \
             and no proof; what is missed was published by nobody.";
        let seeds = format!("Seeds: {}.", study.setup().seeds_in_words());
        vec![
            text.into(),
            seeds.into(),
            cost(study).into(),
            missed(study).into(),
        ]
    }
}

fn game(client: &Client) -> &'static str {
    match client.crowd {
        Crowd::EnemyTerritory => "Enemy Territory",
        Crowd::Css | Crowd::CssFebruary => "CS:S",
    }
}

/// The CS:S world was fitted to what both papers print of auto-stop.
fn evidence(client: &Client) -> Evidence {
    match client.crowd {
        Crowd::EnemyTerritory => Evidence::NotFitted,
        Crowd::Css | Crowd::CssFebruary => Evidence::Fitted,
    }
}

fn cost(study: &Study) -> Table {
    let caption = "Cost of a discovery at RTT_stop = 200 ms, of conventional discovery (100 %)";
    let percent = |column: Column| column.unit("%");
    let mut table = Table::new("cost", caption)
        .column(Column::new("method").heading("paper's method"))
        .column(Column::new("client"))
        .column(Column::new("game"))
        .column(percent(Column::new("published")).published())
        .column(percent(Column::new("today").heading("same method today")))
        .column(Column::new("world"));
    if ours().is_some() {
        table = table.column(percent(Column::new("ours").heading("adaptive")).not_fitted());
    }
    table = table.column(percent(Column::new("oracle")).not_fitted());
    for line in lines() {
        let cell = |method: &Method| spread(study, &line, method, |run| Some(run.cost_percent()));
        let mut cells = head(&line);
        cells.push(Cell::number(line.published, 1));
        cells.push(cell(&Method::published(line.own)));
        cells.push(evidence(&line.client).words().into());
        cells.extend(ours().as_ref().map(cell));
        cells.push(cell(&Method::Oracle));
        table.push(cells);
    }
    table
}

fn missed(study: &Study) -> Table {
    let caption =
        "Playable servers missed, and servers probed for each playable one (the oracle: 1)";
    let mut table = Table::new("missed", caption)
        .column(Column::new("method").heading("paper's method"))
        .column(Column::new("client"))
        .column(Column::new("game"))
        .column(Column::new("missed").unit("%").not_fitted())
        .column(Column::new("times").heading("× oracle").not_fitted());
    if ours().is_some() {
        table = table
            .column(
                Column::new("ours_missed")
                    .heading("adaptive missed")
                    .unit("%")
                    .not_fitted(),
            )
            .column(
                Column::new("ours_times")
                    .heading("adaptive × oracle")
                    .not_fitted(),
            );
    }
    for line in lines() {
        let mut cells = head(&line);
        for method in [Method::published(line.own)].into_iter().chain(ours()) {
            cells.push(spread(study, &line, &method, |run| {
                Some(100.0 * (1.0 - run.score.recall()))
            }));
            let times = values(study, &line.client, &method, times_the_oracle);
            cells.push(Cell::spread(&times, Better::Low, 2));
        }
        table.push(cells);
    }
    table
}

fn head(line: &Line) -> Vec<Cell> {
    vec![
        line.own.name().into(),
        line.client.label.into(),
        game(&line.client).into(),
    ]
}

fn spread(
    study: &Study,
    line: &Line,
    method: &Method,
    value: fn(&Judged<'_>) -> Option<f64>,
) -> Cell {
    let values = values(study, &line.client, method, value);
    Cell::spread(&values, Better::Low, 1)
}
