//! What the paper says of a figure in words, and what was measured.

use nearside_report::{Cell, Column, Table};

/// A sentence of the paper and a measurement in words.
pub(super) struct Claim {
    pub(super) paper: &'static str,
    pub(super) measured: String,
}

/// A row for each.
pub(super) fn table(claims: impl IntoIterator<Item = Claim>) -> Table {
    let table = Table::new("claims", "What the paper says, and what was measured here")
        .column(Column::new("claim").heading("the paper").published())
        .column(Column::new("measured").not_fitted());
    claims.into_iter().fold(table, |table, claim| {
        table.row([Cell::from(claim.paper), Cell::from(claim.measured)])
    })
}

/// A number of a sentence.
pub(super) fn number(value: Option<f64>) -> String {
    value.map_or_else(|| "nothing".to_owned(), |value| format!("{value:.2}"))
}
