use std::io::{self, Write};

use nearside_discover::snapshot::Row;

use super::Render;
use super::goal::Goal;
use super::selection::Chosen;
use super::words;

/// The fields of a row under their JSON names; written even when there is no row to take them from.
pub(crate) const HEADER: [&str; 13] = [
    "addr",
    "rtt_ms",
    "asn",
    "country",
    "name",
    "map",
    "game",
    "players",
    "bots",
    "max_players",
    "password",
    "samples",
    "clean",
];

/// Rows for spreadsheets (RFC 4180 with plain line ends); unknown values are empty. The summary,
/// which is no row, goes to the notes in words.
pub(crate) struct Csv<'out> {
    out: Box<dyn Write + 'out>,
    goal: Goal,
}

impl<'out> Csv<'out> {
    pub(crate) fn new(out: Box<dyn Write + 'out>, goal: Goal) -> Self {
        Self { out, goal }
    }

    fn write_rows(&mut self, rows: &[Row]) -> io::Result<()> {
        let mut writer = ::csv::WriterBuilder::new()
            .has_headers(false)
            .from_writer(&mut self.out);
        writer.write_record(HEADER)?;
        for row in rows {
            writer.serialize(row)?;
        }
        writer.flush()
    }
}

impl Render for Csv<'_> {
    fn finish(&mut self, chosen: &Chosen, notes: &mut dyn Write) -> io::Result<()> {
        self.write_rows(&chosen.snapshot.servers)?;
        words::write(notes, chosen, self.goal, None)
    }
}
