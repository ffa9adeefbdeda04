use std::io::{self, Write};
use std::time::Duration;

use nearside_discover::snapshot::{Progress, Row};
use nearside_types::ServerAddr;

use super::Render;
use super::colour::Colours;
use super::goal::Goal;
use super::live::Live;
use super::selection::{Chosen, Selection};
use super::table::{self, Style};
use super::terminal::Terminal;
use super::words;

/// The face for people: on a terminal the live view while it runs; then, in its place, the table.
/// The summary in words goes to the notes, which on a terminal come below it.
pub(crate) struct Page<'out> {
    out: Box<dyn Write + 'out>,
    terminal: Option<Terminal>,
    live: Option<Live>,
    selection: Selection,
    goal: Goal,
}

impl<'out> Page<'out> {
    pub(crate) fn new(
        out: Box<dyn Write + 'out>,
        terminal: Option<Terminal>,
        selection: Selection,
        goal: Goal,
    ) -> Self {
        Self {
            out,
            terminal,
            live: terminal.map(|terminal| Live::new(terminal, &selection, goal)),
            selection,
            goal,
        }
    }

    fn style(&self) -> Style<'_> {
        Style {
            width: self.terminal.map(|terminal| terminal.size().room()),
            colours: self.terminal.map_or(Colours::Off, Terminal::colours),
            favourites: &self.selection.favourites,
        }
    }

    /// The table and what its marks mean; nothing for no rows.
    fn table(&self, rows: &[Row]) -> String {
        if rows.is_empty() {
            return String::new();
        }
        let mut lines = table::lines(rows, self.style());
        lines.extend(table::notes(rows, &self.selection.favourites));
        lines.join("\n") + "\n"
    }
}

impl Render for Page<'_> {
    fn row(&mut self, row: &Row) -> io::Result<()> {
        if let Some(live) = &mut self.live {
            live.row(row);
        }
        Ok(())
    }

    fn remembered(&mut self, row: &Row, age: Duration) {
        if let Some(live) = &mut self.live {
            live.remembered(row, age);
        }
    }

    fn gone(&mut self, server: ServerAddr) {
        if let Some(live) = &mut self.live {
            live.gone(server);
        }
    }

    fn retain_remembered(&mut self, is_there: &dyn Fn(ServerAddr) -> bool) {
        if let Some(live) = &mut self.live {
            live.retain_remembered(is_there);
        }
    }

    fn progress(&mut self, progress: &Progress) -> io::Result<()> {
        match &mut self.live {
            Some(live) => live.progress(&mut self.out, progress, &self.selection),
            None => Ok(()),
        }
    }

    fn finish(&mut self, chosen: &Chosen, notes: &mut dyn Write) -> io::Result<()> {
        if let Some(live) = &mut self.live {
            live.clear(&mut self.out)?;
        }
        let table = self.table(&chosen.snapshot.servers);
        self.out.write_all(table.as_bytes())?;
        self.out.flush()?;
        if self.terminal.is_some() && !table.is_empty() {
            writeln!(notes)?;
        }
        words::write(notes, chosen, self.goal, self.style().width)
    }
}
