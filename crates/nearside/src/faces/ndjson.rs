use std::collections::HashSet;
use std::io::{self, BufWriter, Write};

use nearside_discover::snapshot::{Progress, Row, Summary};
use nearside_types::ServerAddr;
use serde::Serialize;

use super::Render;
use super::selection::{Chosen, Selection};

/// When rows are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum When {
    /// As they arrive.
    Arriving,
    /// All at the end, in their final order.
    AtTheEnd,
}

/// One JSON object a line: the rows, then the summary in an object of its own.
///
/// Lines wait in a buffer until the next progress, so that one write carries all rows that came
/// between two, and a reader still sees them promptly.
pub(crate) struct Ndjson<'out> {
    out: BufWriter<Box<dyn Write + 'out>>,
    when: When,
    written: HashSet<ServerAddr>,
}

/// The last line: `{"summary":{…}}`.
#[derive(Serialize)]
struct LastLine<'a> {
    summary: &'a Summary,
}

impl<'out> Ndjson<'out> {
    pub(crate) fn new(out: Box<dyn Write + 'out>, selection: &Selection) -> Self {
        let when = if selection.can_stream() {
            When::Arriving
        } else {
            When::AtTheEnd
        };
        Self {
            out: BufWriter::new(out),
            when,
            written: HashSet::new(),
        }
    }

    /// Each server once: what arrived twice keeps its first line.
    fn write_row(&mut self, row: &Row) -> io::Result<()> {
        if !self.written.insert(row.addr) {
            return Ok(());
        }
        self.write_line(row)
    }

    fn write_line(&mut self, value: &impl Serialize) -> io::Result<()> {
        serde_json::to_writer(&mut self.out, value)?;
        self.out.write_all(b"\n")
    }
}

impl Render for Ndjson<'_> {
    fn row(&mut self, row: &Row) -> io::Result<()> {
        match self.when {
            When::Arriving => self.write_row(row),
            When::AtTheEnd => Ok(()),
        }
    }

    fn progress(&mut self, _progress: &Progress) -> io::Result<()> {
        self.out.flush()
    }

    fn finish(&mut self, chosen: &Chosen, _notes: &mut dyn Write) -> io::Result<()> {
        for row in &chosen.snapshot.servers {
            self.write_row(row)?;
        }
        let summary = &chosen.snapshot.summary;
        self.write_line(&LastLine { summary })?;
        self.out.flush()
    }
}
