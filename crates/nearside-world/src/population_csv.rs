//! Population files: CSV with the header `addr,port,asn,country` and one column `rtt_ms:NAME` for
//! each client, plain or gzipped. An empty RTT never answers; an empty AS or country is unknown.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io::{self, Read, Write};
use std::net::IpAddr;

use nearside_types::{Origin, Rtt, ServerAddr};
use thiserror::Error;

use crate::lines::{LineFault, Lines};
use crate::population::{Population, WorldServer};

const FIXED_COLUMNS: [&str; 4] = ["addr", "port", "asn", "country"];
const RTT_PREFIX: &str = "rtt_ms:";
/// A minute: what takes longer is a mistake of units, not a round trip.
const MAX_RTT_MS: f64 = 60_000.0;

/// Why a population file was refused, and where.
#[derive(Debug, Error)]
pub enum PopulationError {
    /// The bytes could not be read, or not unpacked.
    #[error("{label}: {source}")]
    Read {
        /// The file's name, as the caller gave it.
        label: String,
        /// What the operating system or the decompressor said.
        source: io::Error,
    },
    /// The first line is not the header of a population.
    #[error("{label}, line 1: {fault}")]
    Header {
        /// The file's name, as the caller gave it.
        label: String,
        /// What is wrong.
        fault: HeaderFault,
    },
    /// A line is not a server.
    #[error("{label}, line {line}: {fault}")]
    Row {
        /// The file's name, as the caller gave it.
        label: String,
        /// The line, counted from 1.
        line: u64,
        /// What is wrong.
        fault: RowFault,
    },
}

/// What is wrong with the header of a population file.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum HeaderFault {
    /// The line cannot be taken apart into columns.
    #[error(transparent)]
    Line(#[from] LineFault),
    /// The fixed columns are not there, or not in their order.
    #[error(
        "column {column} is `{found}`, expected `{expected}` (a population starts with addr,port,asn,country,rtt_ms:NAME)"
    )]
    Fixed {
        /// The column, counted from 1.
        column: usize,
        /// What the file says there.
        found: String,
        /// What it should say.
        expected: &'static str,
    },
    /// There is no column of round-trip times.
    #[error("no column `rtt_ms:NAME`: a population needs the RTTs of at least one client")]
    NoClients,
    /// A further column is not `rtt_ms:NAME`.
    #[error("column {column} is `{found}`, expected `rtt_ms:NAME`")]
    NotRtt {
        /// The column, counted from 1.
        column: usize,
        /// What the file says there.
        found: String,
    },
    /// Two columns are for the same client.
    #[error("client `{client}` has two columns")]
    ClientTwice {
        /// The client's name.
        client: String,
    },
}

/// What is wrong with one line of a population file.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum RowFault {
    /// More or fewer fields than the header has.
    #[error("{found} fields where the header has {expected}")]
    FieldCount {
        /// Fields of the header.
        expected: usize,
        /// Fields of the line.
        found: usize,
    },
    /// A field does not hold what its column says.
    #[error("column `{column}`: `{found}` is not {expected}")]
    Field {
        /// The name of the column.
        column: String,
        /// What the file says there.
        found: String,
        /// What it should be.
        expected: &'static str,
    },
    /// The same address and port as on an earlier line.
    #[error("columns `addr`, `port`: {addr} was listed on line {first} already")]
    Duplicate {
        /// The server.
        addr: ServerAddr,
        /// The line that had it first.
        first: u64,
    },
    /// The line cannot be taken apart into fields.
    #[error(transparent)]
    Line(#[from] LineFault),
}

/// Reads a population server by server; the header is read when it is made.
///
/// After an error about one line, reading may go on with the next.
pub struct PopulationReader<R> {
    label: String,
    clients: Vec<String>,
    lines: Lines<R>,
    seen: HashMap<ServerAddr, u64>,
}

impl<R: Read> PopulationReader<R> {
    /// Starts reading; `label` names the file in errors. Gzip is recognised by its magic bytes.
    ///
    /// # Errors
    /// When nothing can be read or the first line is not a population's header.
    pub fn new(label: &str, source: R) -> Result<Self, PopulationError> {
        let label = label.to_owned();
        let opened = Lines::new(source, ',').and_then(|mut lines| {
            let header = lines.next_fields()?;
            Ok((lines, header))
        });
        let (lines, header) = match opened {
            Ok(opened) => opened,
            Err(source) => return Err(PopulationError::Read { label, source }),
        };
        let header = header.unwrap_or(Ok(Vec::new()));
        let clients = header
            .map_err(HeaderFault::Line)
            .and_then(|header| parse_header(&header));
        match clients {
            Err(fault) => Err(PopulationError::Header { label, fault }),
            Ok(clients) => Ok(Self {
                label,
                clients,
                lines,
                seen: HashMap::new(),
            }),
        }
    }

    /// The clients of the header, in column order.
    pub fn clients(&self) -> &[String] {
        &self.clients
    }

    fn server(&mut self, fields: &[String]) -> Result<WorldServer, RowFault> {
        let server = parse_row(fields, &self.clients)?;
        match self.seen.entry(server.addr) {
            Entry::Vacant(entry) => {
                entry.insert(self.lines.number);
                Ok(server)
            }
            Entry::Occupied(entry) => Err(RowFault::Duplicate {
                addr: server.addr,
                first: *entry.get(),
            }),
        }
    }
}

impl<R: Read> Iterator for PopulationReader<R> {
    type Item = Result<WorldServer, PopulationError>;

    fn next(&mut self) -> Option<Self::Item> {
        let label = self.label.clone();
        let fields = match self.lines.next_fields() {
            Ok(fields) => fields?,
            Err(source) => return Some(Err(PopulationError::Read { label, source })),
        };
        let fields = fields.map_err(RowFault::from);
        let server = fields.and_then(|fields| self.server(&fields));
        let line = self.lines.number;
        Some(server.map_err(|fault| PopulationError::Row { label, line, fault }))
    }
}

impl Population {
    /// Reads a whole population file; `label` names it in errors.
    ///
    /// # Errors
    /// At the first thing that is wrong with the file, with line, column and reason.
    pub fn read(label: &str, source: impl Read) -> Result<Self, PopulationError> {
        let mut reader = PopulationReader::new(label, source)?;
        let servers: Vec<WorldServer> = reader.by_ref().collect::<Result<_, _>>()?;
        Ok(Self {
            clients: reader.clients,
            servers,
        })
    }

    /// Writes the population as CSV that [`Population::read`] reads back unchanged.
    ///
    /// # Errors
    /// When the sink fails.
    pub fn write(&self, sink: impl Write) -> io::Result<()> {
        let mut csv = csv::Writer::from_writer(sink);
        let clients = self.clients.iter();
        let rtt_columns = clients.map(|client| format!("{RTT_PREFIX}{client}"));
        csv.write_record(
            FIXED_COLUMNS
                .map(str::to_owned)
                .into_iter()
                .chain(rtt_columns),
        )?;
        for server in &self.servers {
            csv.write_record(row_of(server))?;
        }
        csv.flush()
    }

    /// Writes the same, gzipped.
    ///
    /// # Errors
    /// When the sink fails.
    pub fn write_gzip(&self, sink: impl Write) -> io::Result<()> {
        let mut gzip = flate2::write::GzEncoder::new(sink, flate2::Compression::default());
        self.write(&mut gzip)?;
        gzip.finish().map(drop)
    }
}

fn row_of(server: &WorldServer) -> impl Iterator<Item = String> {
    let Origin { asn, country } = server.origin;
    let fixed = [
        server.addr.ip().to_string(),
        server.addr.port().to_string(),
        asn.map_or(String::new(), |asn| asn.0.to_string()),
        country.map_or(String::new(), |country| country.to_string()),
    ];
    let rtts = server.rtt.iter().map(|rtt| match rtt {
        Some(rtt) => format!("{:.3}", rtt.as_millis_f64()),
        None => String::new(),
    });
    fixed.into_iter().chain(rtts)
}

fn parse_header(header: &[String]) -> Result<Vec<String>, HeaderFault> {
    for (index, expected) in FIXED_COLUMNS.into_iter().enumerate() {
        let found = header.get(index).map_or("", String::as_str);
        if found != expected {
            return Err(HeaderFault::Fixed {
                column: index + 1,
                found: found.to_owned(),
                expected,
            });
        }
    }
    let mut clients: Vec<String> = Vec::new();
    for (index, found) in header.iter().enumerate().skip(FIXED_COLUMNS.len()) {
        let name = found.strip_prefix(RTT_PREFIX).unwrap_or("").trim();
        if name.is_empty() {
            return Err(HeaderFault::NotRtt {
                column: index + 1,
                found: found.to_owned(),
            });
        }
        if clients.iter().any(|client| client == name) {
            return Err(HeaderFault::ClientTwice {
                client: name.to_owned(),
            });
        }
        clients.push(name.to_owned());
    }
    if clients.is_empty() {
        return Err(HeaderFault::NoClients);
    }
    Ok(clients)
}

fn parse_row(fields: &[String], clients: &[String]) -> Result<WorldServer, RowFault> {
    let expected = FIXED_COLUMNS.len() + clients.len();
    if fields.len() != expected {
        return Err(RowFault::FieldCount {
            expected,
            found: fields.len(),
        });
    }
    let ip: IpAddr = field("addr", &fields[0], "an IP address")?;
    let port: u16 = field("port", &fields[1], "a port from 1 to 65535")?;
    let addr = ServerAddr::new(ip, port)
        .ok_or_else(|| fault("port", &fields[1], "a port from 1 to 65535"))?;
    let asn = optional("asn", &fields[2], "0", "an AS number")?;
    let country = optional("country", &fields[3], "ZZ", "a two-letter country code")?;
    let rtts = clients.iter().zip(&fields[FIXED_COLUMNS.len()..]);
    Ok(WorldServer {
        addr,
        origin: Origin { asn, country },
        rtt: rtts
            .map(|(client, text)| parse_rtt(client, text))
            .collect::<Result<_, _>>()?,
    })
}

/// A field that may be empty, or say "unknown" in the way of the wire formats.
fn optional<T: std::str::FromStr>(
    column: &str,
    text: &str,
    unknown: &str,
    expected: &'static str,
) -> Result<Option<T>, RowFault> {
    if text.is_empty() || text == unknown {
        return Ok(None);
    }
    field(column, text, expected).map(Some)
}

fn field<T: std::str::FromStr>(
    column: &str,
    text: &str,
    expected: &'static str,
) -> Result<T, RowFault> {
    text.parse().map_err(|_| fault(column, text, expected))
}

fn fault(column: &str, found: &str, expected: &'static str) -> RowFault {
    RowFault::Field {
        column: column.to_owned(),
        found: found.to_owned(),
        expected,
    }
}

fn parse_rtt(client: &str, text: &str) -> Result<Option<Rtt>, RowFault> {
    if text.is_empty() {
        return Ok(None);
    }
    let millis = text.parse().ok();
    millis
        .filter(|millis| (0.0..=MAX_RTT_MS).contains(millis))
        .map(Rtt::from_millis_f64)
        // Nobody answers before being asked.
        .filter(|&rtt| rtt > Rtt::from_micros(0))
        .map(Some)
        .ok_or_else(|| {
            let column = format!("{RTT_PREFIX}{client}");
            fault(&column, text, "a time above 0 and up to 60000 ms, or empty")
        })
}
