use std::io::{self, BufWriter, Write};

use super::Render;
use super::selection::Chosen;
use super::terminal::Terminal;

/// How the document is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layout {
    /// For people on a terminal.
    Pretty,
    /// One line, for programs.
    Compact,
}

/// The whole result as one JSON document, at the end.
pub(crate) struct Json<'out> {
    out: Box<dyn Write + 'out>,
    layout: Layout,
}

impl<'out> Json<'out> {
    pub(crate) fn new(out: Box<dyn Write + 'out>, terminal: Option<Terminal>) -> Self {
        let layout = match terminal {
            Some(_) => Layout::Pretty,
            None => Layout::Compact,
        };
        Self { out, layout }
    }
}

impl Render for Json<'_> {
    fn finish(&mut self, chosen: &Chosen, _notes: &mut dyn Write) -> io::Result<()> {
        let mut out = BufWriter::new(&mut self.out);
        match self.layout {
            Layout::Pretty => serde_json::to_writer_pretty(&mut out, &chosen.snapshot)?,
            Layout::Compact => serde_json::to_writer(&mut out, &chosen.snapshot)?,
        }
        out.write_all(b"\n")?;
        out.flush()
    }
}
