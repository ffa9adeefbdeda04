//! Faces: one snapshot, many renderings. A command tells its [`Face`] of rows and progress as they
//! come and of the snapshot at the end; which rows are shown and in which order is decided here
//! once, by the [`Selection`], for all of them.

mod cells;
mod colour;
mod csv;
#[cfg(test)]
pub(crate) mod fixtures;
mod format;
mod goal;
mod json;
mod live;
mod ndjson;
pub(crate) mod numbers;
mod page;
mod rate;
mod screen;
mod selection;
mod sort;
mod table;
mod terminal;
#[cfg(test)]
mod tests;
mod text;
mod words;

use std::io::{self, Write};
use std::time::Duration;

use nearside_discover::snapshot::{Progress, Row, Snapshot};
use nearside_types::ServerAddr;

pub use colour::Colours;
pub use format::{Format, UnknownFormat};
pub use goal::Goal;
pub use live::{Headline, render as render_live};
pub use nearside_discover::filter::{Filters, ParsePatternError, Pattern};
pub use selection::{Favourites, Selection};
pub use sort::{SortKey, UnknownSortKey};
pub use table::{Style, lines as table_lines, notes as table_notes};
pub use terminal::{Size, Terminal};
pub use words::{Shown, sentences};

use self::csv::Csv;
use self::json::Json;
use self::ndjson::Ndjson;
use self::page::Page;
use self::selection::Chosen;

/// What a face is to show and how.
#[derive(Debug, Clone)]
pub struct FaceConfig {
    /// The form; `None`: a table on a terminal, NDJSON elsewhere.
    pub format: Option<Format>,
    /// Which rows, in which order.
    pub selection: Selection,
    /// What the run looks for, for what is said of it.
    pub goal: Goal,
    /// The terminal that the output is, if it is one: [`Terminal::stdout`].
    pub terminal: Option<Terminal>,
}

/// Shows one run. Drive it so:
///
/// 1. [`row`](Self::row) for every server that answered, and for favourites that did not;
/// 2. [`progress`](Self::progress) after each batch of rows and some ten times a second: it
///    redraws the live view and flushes what streams;
/// 3. [`finish`](Self::finish) once, also after an interrupt.
///
/// Every call may fail when the reader went away: see [`is_closed_pipe`].
pub struct Face<'out> {
    selection: Selection,
    renderer: Box<dyn Render + 'out>,
    notes: Box<dyn Write + 'out>,
}

/// One form of output. Gets only rows that are to be shown.
trait Render {
    fn row(&mut self, _row: &Row) -> io::Result<()> {
        Ok(())
    }

    /// A row of an earlier run, which was so long ago, until the server answers or is found to be gone.
    fn remembered(&mut self, _row: &Row, _age: Duration) {}

    fn gone(&mut self, _server: ServerAddr) {}

    /// Of what is remembered, only these servers are still there.
    fn retain_remembered(&mut self, _is_there: &dyn Fn(ServerAddr) -> bool) {}

    fn progress(&mut self, _progress: &Progress) -> io::Result<()> {
        Ok(())
    }

    /// The result; what is not part of it goes to `notes`.
    fn finish(&mut self, chosen: &Chosen, notes: &mut dyn Write) -> io::Result<()>;
}

impl<'out> Face<'out> {
    /// A face that writes the result to `out`, and what is not part of it to `notes`: the summary
    /// in words, where the form has no place for a summary.
    pub fn new(config: FaceConfig, out: impl Write + 'out, notes: impl Write + 'out) -> Self {
        Self {
            selection: config.selection.clone(),
            renderer: config.renderer(Box::new(out)),
            notes: Box::new(notes),
        }
    }

    /// A server answered, or a favourite did not. What is remembered of a server that is not to be
    /// shown any more, since it is full by now, is no longer true.
    pub fn row(&mut self, row: &Row) -> io::Result<()> {
        if self.selection.shows(row) {
            return self.renderer.row(row);
        }
        self.renderer.gone(row.addr);
        Ok(())
    }

    /// What an earlier run found, so long ago. A live view shows it, marked, until it is confirmed;
    /// the result never has it.
    pub fn remembered(&mut self, rows: &[Row], age: Duration) {
        for row in rows.iter().filter(|row| self.selection.shows(row)) {
            self.renderer.remembered(row, age);
        }
    }

    /// A server did not answer.
    pub fn gone(&mut self, server: ServerAddr) {
        self.renderer.gone(server);
    }

    /// The list is whole: what is remembered of servers that are not on it is out of date.
    pub fn list_complete(&mut self, is_listed: impl Fn(ServerAddr) -> bool) {
        self.renderer.retain_remembered(&is_listed);
    }

    /// How far the run is.
    pub fn progress(&mut self, progress: &Progress) -> io::Result<()> {
        self.renderer.progress(progress)
    }

    /// The run is over. `snapshot` holds every row that was passed before, and may hold more. Returns
    /// how many of them are shown.
    pub fn finish(&mut self, snapshot: &Snapshot) -> io::Result<Shown> {
        let chosen = self.selection.choose_from(snapshot);
        self.renderer.finish(&chosen, &mut self.notes)?;
        Ok(chosen.shown())
    }
}

impl FaceConfig {
    fn resolved_format(&self) -> Format {
        let usual = match self.terminal {
            Some(_) => Format::Table,
            None => Format::Ndjson,
        };
        self.format.unwrap_or(usual)
    }

    fn renderer<'out>(self, out: Box<dyn Write + 'out>) -> Box<dyn Render + 'out> {
        match self.resolved_format() {
            Format::Table => Box::new(Page::new(out, self.terminal, self.selection, self.goal)),
            Format::Json => Box::new(Json::new(out, self.terminal)),
            Format::Ndjson => Box::new(Ndjson::new(out, &self.selection)),
            Format::Csv => Box::new(Csv::new(out, self.goal)),
        }
    }
}

/// Whether a write failed because the reader went away (`nearside browse | head`): no error of
/// ours, to be ended on quietly.
pub fn is_closed_pipe(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::BrokenPipe
}
