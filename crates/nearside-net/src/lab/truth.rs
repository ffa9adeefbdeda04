//! What each reply was really delayed by: the truth that measured RTTs are judged against.

use std::fmt;
use std::io::{self, BufWriter, Write};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use nearside_types::Moment;

/// One reply that the lab sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TruthRow {
    /// When the request arrived, by the kernel's stamp, on the lab's clock.
    pub at: Moment,
    /// The server that answered.
    pub server: SocketAddr,
    /// Who had asked.
    pub client: SocketAddr,
    /// What kind of reply it was.
    pub kind: ReplyKind,
    /// The delay the responder wanted.
    pub intended: Duration,
    /// From the arrival of the request to right before the send call: what a client that measures
    /// without error sees.
    pub actual: Duration,
}

/// The kind of a reply, as far as the first bytes tell in both protocol families.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplyKind {
    /// A whole message (`FF FF FF FF` and this byte): `0x41` is an A2S challenge, `0x49` an A2S info,
    /// `0x69` (`i`) a Quake 3 infoResponse.
    Message(u8),
    /// A part of a split A2S message (`FE FF FF FF`).
    Part,
    /// Something else.
    Other,
}

impl ReplyKind {
    /// The kind of this payload.
    pub fn of(payload: &[u8]) -> Self {
        match payload {
            [0xFF, 0xFF, 0xFF, 0xFF, kind, ..] => Self::Message(*kind),
            [0xFE, 0xFF, 0xFF, 0xFF, ..] => Self::Part,
            _ => Self::Other,
        }
    }
}

impl fmt::Display for ReplyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Message(kind) => write!(f, "{kind:02x}"),
            Self::Part => f.write_str("part"),
            Self::Other => f.write_str("other"),
        }
    }
}

/// Takes rows on the lab's thread, so it must be quick.
pub trait TruthLog: Send {
    /// Adds a row.
    fn record(&mut self, row: &TruthRow) -> io::Result<()>;

    /// Makes sure that nothing is held back.
    fn flush(&mut self) -> io::Result<()>;
}

/// Rows as CSV with the header `at_s,server,client,kind,intended_us,actual_us`.
///
/// The kind is the byte of a whole message in hexadecimal, `part` or `other`.
pub struct CsvTruth<W: Write> {
    writer: BufWriter<W>,
}

impl<W: Write> CsvTruth<W> {
    /// Starts a log with its header.
    pub fn new(writer: W) -> io::Result<Self> {
        let mut writer = BufWriter::with_capacity(256 * 1024, writer);
        writeln!(writer, "at_s,server,client,kind,intended_us,actual_us")?;
        Ok(Self { writer })
    }
}

impl<W: Write + Send> TruthLog for CsvTruth<W> {
    fn record(&mut self, row: &TruthRow) -> io::Result<()> {
        writeln!(
            self.writer,
            "{:.6},{},{},{},{},{}",
            row.at.since_epoch().as_secs_f64(),
            row.server,
            row.client,
            row.kind,
            row.intended.as_micros(),
            row.actual.as_micros(),
        )
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

/// Rows in memory, for whoever runs the lab in the same process. Clones share the rows.
#[derive(Debug, Clone, Default)]
pub struct MemoryTruth {
    rows: Arc<Mutex<Vec<TruthRow>>>,
}

impl MemoryTruth {
    /// Takes the rows recorded so far, in the order the replies were sent.
    pub fn take(&self) -> Vec<TruthRow> {
        std::mem::take(&mut self.rows.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl TruthLog for MemoryTruth {
    fn record(&mut self, row: &TruthRow) -> io::Result<()> {
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        rows.push(*row);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn csv_rows_say_where_when_and_how_late() {
        let mut csv = Vec::new();
        let mut log = CsvTruth::new(&mut csv).unwrap();
        let row = TruthRow {
            at: Moment::from_nanos(1_234_567_890),
            server: "127.4.5.6:27015".parse().unwrap(),
            client: "127.0.0.1:40000".parse().unwrap(),
            kind: ReplyKind::of(b"\xFF\xFF\xFF\xFFI\x11"),
            intended: Duration::from_micros(85_000),
            actual: Duration::from_nanos(85_021_900),
        };
        log.record(&row).unwrap();
        log.flush().unwrap();
        drop(log);
        assert_eq!(
            String::from_utf8(csv).unwrap(),
            "at_s,server,client,kind,intended_us,actual_us\n\
             1.234568,127.4.5.6:27015,127.0.0.1:40000,49,85000,85021\n"
        );
    }

    #[test]
    fn kinds_are_told_by_the_first_bytes() {
        let kind = |payload: &[u8]| ReplyKind::of(payload).to_string();
        assert_eq!(kind(b"\xFF\xFF\xFF\xFFA1234"), "41");
        assert_eq!(kind(b"\xFF\xFF\xFF\xFFinfoResponse\n"), "69");
        assert_eq!(kind(b"\xFE\xFF\xFF\xFF\0\0\0\0\x02\0"), "part");
        assert_eq!(kind(b"\xFF\xFF\xFF\xFF"), "other");
        assert_eq!(kind(b""), "other");
    }
}
