//! The rows of a comparison as tables for people: every run, and what the seeds have in common.

use nearside_report::{Better, Cell, Column, Table};

use super::Row;

/// Every run in a line.
pub fn every_run(rows: &[Row]) -> Table {
    let mut table = EVERY_RUN.iter().fold(
        Table::new("runs", "Every run."),
        |table, &(name, heading)| table.column(Column::new(name).heading(heading)),
    );
    for row in rows {
        table.push([
            row.planner.as_str().into(),
            row.client.as_str().into(),
            row.seed.into(),
            row.listed.into(),
            row.answering.into(),
            row.playable.into(),
            row.probes.into(),
            row.found.into(),
            Cell::number(row.recall, 3),
            row.expected_missed
                .map_or(Cell::Missing, |missed| Cell::number(missed, 1)),
            row.probes_to_50.into(),
            row.probes_to_90.into(),
            row.probes_to_99.into(),
            row.probes_to_10_best.into(),
            row.best_found.into(),
            row.better.into(),
            row.expected_better
                .map_or(Cell::Missing, |better| Cell::number(better, 2)),
            Cell::number(row.seconds, 1),
            row.stopped.to_string().into(),
        ]);
    }
    table
}

/// The names of the contract, and what fits above a narrow column.
const EVERY_RUN: [(&str, &str); 19] = [
    ("planner", "planner"),
    ("client", "client"),
    ("seed", "seed"),
    ("listed", "listed"),
    ("answering", "answer"),
    ("playable", "playable"),
    ("probes", "probes"),
    ("found", "found"),
    ("recall", "recall"),
    ("expected_missed", "missed?"),
    ("probes_to_50", "to 50 %"),
    ("probes_to_90", "to 90 %"),
    ("probes_to_99", "to 99 %"),
    ("probes_to_10_best", "to 10 best"),
    ("best_found", "best"),
    ("better", "better"),
    ("expected_better", "better?"),
    ("seconds", "s"),
    ("stopped", "stopped"),
];

/// One line for each client and planner: mean, deviation and worst seed, and how many times the
/// oracle's probes it took.
pub fn over_seeds(rows: &[Row]) -> Table {
    let caption = "Over all seeds. Oracle: how many probes for each playable server, since perfect \
                   knowledge probes those and nothing else.";
    let mut table = Table::new("seeds", caption)
        .column(Column::new("client"))
        .column(Column::new("planner"))
        .column(Column::new("probes"))
        .column(Column::new("recall").unit("%"))
        .column(Column::new("probes_to_10_best").heading("to 10 best"))
        .column(Column::new("best_found").heading("of the best"))
        .column(Column::new("seconds").heading("time").unit("s"))
        .column(Column::new("oracle").heading("of oracle").unit("×"));
    for group in rows.chunk_by(|a, b| (&a.client, &a.planner) == (&b.client, &b.planner)) {
        let cell = |better, decimals, value: fn(&Row) -> Option<f64>| {
            let values: Vec<f64> = group.iter().filter_map(value).collect();
            Cell::spread(&values, better, decimals)
        };
        table.push([
            group[0].client.as_str().into(),
            group[0].planner.as_str().into(),
            cell(Better::Low, 0, |row| Some(row.probes as f64)),
            cell(Better::High, 1, |row| Some(100.0 * row.recall)),
            cell(Better::Low, 0, |row| {
                row.probes_to_10_best.map(|probes| probes as f64)
            }),
            cell(Better::High, 1, |row| Some(row.best_found as f64)),
            cell(Better::Low, 0, |row| Some(row.seconds)),
            cell(Better::Low, 2, times_the_oracle),
        ]);
    }
    table
}

fn times_the_oracle(row: &Row) -> Option<f64> {
    (row.playable > 0).then(|| row.probes as f64 / row.playable as f64)
}
