use serde::ser::{SerializeMap as _, SerializeSeq as _, SerializeStruct as _};
use serde::{Serialize, Serializer};

use super::{Cell, Evidence};

/// Numbers in rows and columns. Every row has one cell for each column.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    name: String,
    caption: String,
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
}

/// What the cells below a heading are.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Column {
    /// The field's name in CSV and JSON: `auto_stop`.
    pub name: String,
    /// What a reader sees: `auto-stop`.
    pub heading: String,
    /// The unit of its numbers: `%`, `ms`, `probes/s`.
    pub unit: Option<String>,
    /// How much its numbers prove; `None` for labels and parameters.
    pub evidence: Option<Evidence>,
}

impl Column {
    /// A column whose heading is its name, without unit and without claim.
    pub fn new(name: impl Into<String>) -> Self {
        let name = name.into();
        Self {
            heading: name.replace('_', " "),
            name,
            unit: None,
            evidence: None,
        }
    }

    /// Another heading than the name.
    #[must_use]
    pub fn heading(mut self, heading: impl Into<String>) -> Self {
        self.heading = heading.into();
        self
    }

    /// The unit of the column's numbers.
    #[must_use]
    pub fn unit(mut self, unit: impl Into<String>) -> Self {
        self.unit = Some(unit.into());
        self
    }

    /// How much the column's numbers prove.
    #[must_use]
    pub fn evidence(mut self, evidence: Evidence) -> Self {
        self.evidence = Some(evidence);
        self
    }

    /// Numbers copied from the paper.
    #[must_use]
    pub fn published(self) -> Self {
        self.evidence(Evidence::Published)
    }

    /// Numbers the world was fitted to.
    #[must_use]
    pub fn fitted(self) -> Self {
        self.evidence(Evidence::Fitted)
    }

    /// Numbers the world was not fitted to.
    #[must_use]
    pub fn not_fitted(self) -> Self {
        self.evidence(Evidence::NotFitted)
    }
}

impl Table {
    /// A table without columns and rows. Its name is short, of small letters, digits and hyphens,
    /// and no other part of the report has it: the CSV file is named by it.
    pub fn new(name: impl Into<String>, caption: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            caption: caption.into(),
            columns: Vec::new(),
            rows: Vec::new(),
        }
    }

    /// The same table with one more column, before the first row is added.
    ///
    /// # Panics
    ///
    /// If there are rows already, or a column of this name: both are mistakes in the program.
    #[must_use]
    pub fn column(mut self, column: Column) -> Self {
        assert!(self.rows.is_empty(), "columns come before rows");
        let is_new = self.columns.iter().all(|known| known.name != column.name);
        assert!(is_new, "two columns are called {}", column.name);
        self.columns.push(column);
        self
    }

    /// Adds a row.
    ///
    /// # Panics
    ///
    /// If it has not one cell for each column, which is a mistake in the program.
    pub fn push(&mut self, cells: impl IntoIterator<Item = Cell>) {
        let cells: Vec<Cell> = cells.into_iter().collect();
        let (found, wanted) = (cells.len(), self.columns.len());
        assert!(found == wanted, "{found} cells for {wanted} columns");
        self.rows.push(cells);
    }

    /// The same table with one more row; panics as [`push`](Self::push) does.
    #[must_use]
    pub fn row(mut self, cells: impl IntoIterator<Item = Cell>) -> Self {
        self.push(cells);
        self
    }

    /// The short name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the table shows, in a sentence.
    pub fn caption(&self) -> &str {
        &self.caption
    }

    /// The same table with all its measured numbers marked as following from an assumption.
    #[must_use]
    pub fn assumed(mut self) -> Self {
        let measured = |column: &&mut Column| column.evidence == Some(Evidence::NotFitted);
        for column in self.columns.iter_mut().filter(measured) {
            column.evidence = Some(Evidence::Assumed);
        }
        self
    }

    /// The columns, to change what they are headed by or proven with.
    pub fn columns_mut(&mut self) -> &mut [Column] {
        &mut self.columns
    }

    /// From left to right.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// From top to bottom, each as long as [`columns`](Self::columns).
    pub fn rows(&self) -> &[Vec<Cell>] {
        &self.rows
    }

    /// Whether the column at `place` has words, which stand at the left; numbers stand at the right.
    pub(crate) fn is_text(&self, place: usize) -> bool {
        self.cells(place).any(|cell| matches!(cell, Cell::Text(_)))
    }

    /// The cells of the column at `place`, from top to bottom.
    pub(crate) fn cells(&self, place: usize) -> impl Iterator<Item = &Cell> {
        self.rows.iter().filter_map(move |row| row.get(place))
    }
}

/// Rows become objects with the columns' names as keys, which is what scripts want to ask for.
impl Serialize for Table {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Table", 4)?;
        fields.serialize_field("name", &self.name)?;
        fields.serialize_field("caption", &self.caption)?;
        fields.serialize_field("columns", &self.columns)?;
        fields.serialize_field("rows", &Rows(self))?;
        fields.end()
    }
}

struct Rows<'a>(&'a Table);

impl Serialize for Rows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let rows = &self.0.rows;
        let mut sequence = serializer.serialize_seq(Some(rows.len()))?;
        for cells in rows {
            let columns = &self.0.columns;
            sequence.serialize_element(&Row { columns, cells })?;
        }
        sequence.end()
    }
}

struct Row<'a> {
    columns: &'a [Column],
    cells: &'a [Cell],
}

impl Serialize for Row<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.cells.len()))?;
        for (column, cell) in self.columns.iter().zip(self.cells) {
            map.serialize_entry(&column.name, cell)?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "1 cells for 2 columns")]
    fn a_short_row_is_a_mistake() {
        let table = Table::new("t", "").column(Column::new("a"));
        let _ = table.column(Column::new("b")).row(["x".into()]);
    }

    #[test]
    #[should_panic(expected = "two columns are called a")]
    fn two_columns_of_one_name_are_a_mistake() {
        let table = Table::new("t", "").column(Column::new("a"));
        let _ = table.column(Column::new("a"));
    }
}
