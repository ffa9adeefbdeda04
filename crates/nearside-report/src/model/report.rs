use serde::Serialize;

use super::{Figure, Table};

/// One experiment: what was asked, how, and what came out.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// A short name of small letters, digits and hyphens, such as `armitage-as-table2`; files and
    /// links are named by it.
    pub name: String,
    /// What the reader sees first: `Table 2: calibration probes and auto-stop`.
    pub title: String,
    /// The command that makes this report again, to be copied into a shell.
    pub command: String,
    /// The seeds in words: `1000–1015 (reporting)`.
    pub seeds: String,
    /// In reading order.
    pub parts: Vec<Part>,
}

/// A piece of a report.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Words. An empty line begins a new paragraph, a line that begins with `- ` is an item of a
    /// list, and what stands between backticks is code.
    Text(String),
    /// Numbers in rows and columns.
    Table(Table),
    /// A picture of numbers.
    Figure(Figure),
}

/// How much a number proves. A world that was fitted to a paper's table agrees with that table for
/// this reason alone, so every column and figure says which kind it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Evidence {
    /// Copied from the paper.
    Published,
    /// Measured on a world whose parameters were chosen to come close to this very number.
    Fitted,
    /// Measured on a world that knows nothing of this number.
    NotFitted,
    /// Calculated from what was measured by a relation that nobody measured here.
    Assumed,
}

impl Report {
    /// A report without parts, to be filled with [`with`](Self::with).
    pub fn new(
        name: impl Into<String>,
        title: impl Into<String>,
        command: impl Into<String>,
        seeds: impl Into<String>,
    ) -> Self {
        Self {
            name: name.into(),
            title: title.into(),
            command: command.into(),
            seeds: seeds.into(),
            parts: Vec::new(),
        }
    }

    /// The same report with one more part.
    #[must_use]
    pub fn with(mut self, part: impl Into<Part>) -> Self {
        self.parts.push(part.into());
        self
    }

    /// The tables, in reading order.
    pub fn tables(&self) -> impl Iterator<Item = &Table> {
        self.parts.iter().filter_map(|part| match part {
            Part::Table(table) => Some(table),
            Part::Text(_) | Part::Figure(_) => None,
        })
    }

    /// The figures, in reading order.
    pub fn figures(&self) -> impl Iterator<Item = &Figure> {
        self.parts.iter().filter_map(|part| match part {
            Part::Figure(figure) => Some(figure),
            Part::Text(_) | Part::Table(_) => None,
        })
    }
}

impl Part {
    /// The name of a table or figure; words have none.
    pub(crate) fn name(&self) -> Option<&str> {
        match self {
            Self::Text(_) => None,
            Self::Table(table) => Some(table.name()),
            Self::Figure(figure) => Some(&figure.name),
        }
    }
}

impl From<String> for Part {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for Part {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<Table> for Part {
    fn from(table: Table) -> Self {
        Self::Table(table)
    }
}

impl From<Figure> for Part {
    fn from(figure: Figure) -> Self {
        Self::Figure(figure)
    }
}

impl Evidence {
    /// As it stands beside a heading.
    pub fn words(self) -> &'static str {
        match self {
            Self::Published => "paper",
            Self::Fitted => "fitted",
            Self::NotFitted => "not fitted",
            Self::Assumed => "assumed",
        }
    }
}
