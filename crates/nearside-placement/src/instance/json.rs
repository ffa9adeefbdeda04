//! Instance files: the JSON form of an instance with its bound. Matrices are read cell by cell into
//! their final place, so that 10 million cells need no second copy, and a bad cell is named.

use std::fmt;

use serde::de::{DeserializeSeed, Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use thiserror::Error;

use super::object::{self, Object};
use super::{Instance, InstanceError, InstanceParts, Latency, Server, ServerGraph};
use crate::matrix::MatrixBuilder;
use crate::numbers::{millis_or_null, price};
use crate::{Cost, Delay, DelayMatrix, ServerId};

/// An instance as files hold it: with the bound it is meant for, where the file gives one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacementFile {
    /// The instance.
    pub instance: Instance,
    /// `delay_bound_ms` of the file.
    pub bound: Option<Delay>,
}

/// Why bytes are not an instance.
#[derive(Debug, Error)]
pub enum PlacementFileError {
    /// Not JSON, or not of this form; the text names line and column, and the cell in a matrix.
    #[error("{0}")]
    Json(#[from] serde_json::Error),
    /// A number outside the matrices makes no sense.
    #[error("{field}: {value} is not {expected}")]
    Number {
        /// Where it stands.
        field: String,
        /// What stands there.
        value: f64,
        /// What should.
        expected: &'static str,
    },
    /// A link of the server graph names an unknown server.
    #[error("server_links[{link}] names `{name}`, which is no server")]
    UnknownServer {
        /// The link's place, from 0.
        link: usize,
        /// The name.
        name: String,
    },
    /// The parts do not fit together.
    #[error(transparent)]
    Instance(#[from] InstanceError),
}

impl PlacementFile {
    /// Reads the JSON form.
    ///
    /// # Errors
    /// The first thing that is wrong, with its place.
    pub fn from_json(text: &[u8]) -> Result<Self, PlacementFileError> {
        let Object(form) = serde_json::from_slice::<Object<Form>>(text)?;
        form.check()
    }

    /// Writes the JSON form, delays one-way.
    ///
    /// # Errors
    /// When `out` refuses.
    pub fn write_json(&self, out: impl std::io::Write) -> serde_json::Result<()> {
        serde_json::to_writer(out, &Written::new(self))
    }
}

/// The file as it is written by people; what types cannot say is checked afterwards.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Form {
    #[serde(default, deserialize_with = "millis_or_null")]
    delay_bound_ms: Option<f64>,
    #[serde(default)]
    latency: Latency,
    #[serde(default, deserialize_with = "millis_or_null")]
    processing_ms: Option<f64>,
    clients: Vec<String>,
    #[serde(deserialize_with = "servers")]
    servers: Vec<ServerForm>,
    #[serde(deserialize_with = "client_server")]
    client_server_ms: DelayMatrix,
    #[serde(deserialize_with = "server_server")]
    server_server_ms: DelayMatrix,
    server_links: Option<Vec<(String, String)>>,
}

impl object::Written for Form {
    const EXPECTED: &'static str = "an instance: an object with `clients`, `servers`, `client_server_ms` and `server_server_ms`";
}

/// A server as files write it.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ServerForm {
    name: String,
    #[serde(
        default,
        deserialize_with = "object::places",
        skip_serializing_if = "Option::is_none"
    )]
    capacity: Option<u32>,
    #[serde(
        default,
        deserialize_with = "price",
        skip_serializing_if = "Option::is_none"
    )]
    cost: Option<f64>,
}

impl object::Written for ServerForm {
    const EXPECTED: &'static str = "an object such as {\"name\": \"fra\", \"capacity\": 10}";
}

impl Form {
    fn check(self) -> Result<PlacementFile, PlacementFileError> {
        let bound = self
            .delay_bound_ms
            .map(|millis| delay("delay_bound_ms", millis))
            .transpose()?;
        let processing = delay("processing_ms", self.processing_ms.unwrap_or(0.0))?;
        let servers = self.servers.into_iter().enumerate();
        let servers = servers.map(|(index, server)| server.check(index));
        let servers: Vec<Server> = servers.collect::<Result<_, _>>()?;
        let graph = self
            .server_links
            .map(|links| graph(&links, &servers))
            .transpose()?;
        let instance = Instance::new(InstanceParts {
            clients: self.clients,
            servers,
            client_server: self.client_server_ms,
            server_server: self.server_server_ms,
            latency: self.latency,
            processing,
            graph,
        })?;
        Ok(PlacementFile { instance, bound })
    }
}

/// A number of a file as a delay.
pub(crate) fn delay(field: &str, millis: f64) -> Result<Delay, PlacementFileError> {
    Delay::from_millis(millis).ok_or_else(|| PlacementFileError::Number {
        field: field.to_owned(),
        value: millis,
        expected: "a delay (write milliseconds from 0 to 1e9)",
    })
}

fn graph(
    links: &[(String, String)],
    servers: &[Server],
) -> Result<ServerGraph, PlacementFileError> {
    let find = |link: usize, name: &String| {
        let place = servers.iter().position(|server| server.name == *name);
        let unknown = || PlacementFileError::UnknownServer {
            link,
            name: name.clone(),
        };
        place.map(ServerId::new).ok_or_else(unknown)
    };
    let ends = links.iter().enumerate();
    let links = ends.map(|(link, (one, other))| Ok((find(link, one)?, find(link, other)?)));
    let links: Vec<_> = links.collect::<Result<_, PlacementFileError>>()?;
    Ok(ServerGraph::new(links))
}

fn client_server<'de, D: Deserializer<'de>>(deserializer: D) -> Result<DelayMatrix, D::Error> {
    deserializer.deserialize_seq(Rows("client_server_ms"))
}

/// Reads `servers`.
pub(crate) fn servers<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<ServerForm>, D::Error> {
    object::list(deserializer, "servers")
}

/// Reads `server_server_ms`.
pub(crate) fn server_server<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<DelayMatrix, D::Error> {
    deserializer.deserialize_seq(Rows("server_server_ms"))
}

/// Reads a matrix of this field.
struct Rows(&'static str);

impl<'de> Visitor<'de> for Rows {
    type Value = DelayMatrix;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: an array of rows", self.0)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut rows: A) -> Result<DelayMatrix, A::Error> {
        let mut matrix = MatrixBuilder::default();
        while let Some(()) = rows.next_element_seed(Row {
            field: self.0,
            matrix: &mut matrix,
        })? {}
        Ok(matrix.finish())
    }
}

/// Reads one row to the end of a matrix.
struct Row<'m> {
    field: &'static str,
    matrix: &'m mut MatrixBuilder,
}

impl<'de> DeserializeSeed<'de> for Row<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Row<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (row, _) = self.matrix.position();
        write!(f, "{}[{row}]: an array of cells", self.field)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut cells: A) -> Result<(), A::Error> {
        let misplaced = |error| A::Error::custom(format_args!("{}{error}", self.field));
        loop {
            let (row, column) = self.matrix.position();
            // Also what is no number at all, such as NaN or 1e999, is named with its cell.
            let unread = |error| {
                let field = self.field;
                A::Error::custom(format_args!("{field}[{row}][{column}]: {error}"))
            };
            let Some(millis) = cells.next_element_seed(Cell).map_err(unread)? else {
                break;
            };
            self.matrix.push(millis).map_err(misplaced)?;
        }
        self.matrix.end_row().map_err(misplaced)
    }
}

/// Reads one cell: a number, or null where there is no path.
struct Cell;

impl<'de> DeserializeSeed<'de> for Cell {
    type Value = Option<f64>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Option<f64>, D::Error> {
        millis_or_null(deserializer)
    }
}

/// The file as it is written by us.
#[derive(Serialize)]
struct Written<'i> {
    #[serde(skip_serializing_if = "Option::is_none")]
    delay_bound_ms: Option<Delay>,
    latency: Latency,
    #[serde(skip_serializing_if = "is_zero")]
    processing_ms: Delay,
    clients: &'i [String],
    servers: Vec<ServerForm>,
    client_server_ms: Vec<&'i [Delay]>,
    server_server_ms: Vec<&'i [Delay]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    server_links: Option<Vec<(&'i str, &'i str)>>,
}

fn is_zero(delay: &Delay) -> bool {
    *delay == Delay::ZERO
}

impl<'i> Written<'i> {
    fn new(file: &'i PlacementFile) -> Self {
        let instance = &file.instance;
        let link = |(one, other)| (instance.server_name(one), instance.server_name(other));
        Self {
            delay_bound_ms: file.bound,
            latency: Latency::OneWay,
            processing_ms: instance.processing,
            clients: &instance.clients,
            servers: instance.servers.iter().map(ServerForm::of).collect(),
            client_server_ms: rows(&instance.access),
            server_server_ms: rows(&instance.between),
            server_links: instance
                .graph()
                .map(|graph| graph.links().map(link).collect()),
        }
    }
}

fn rows(matrix: &DelayMatrix) -> Vec<&[Delay]> {
    (0..matrix.rows()).map(|row| matrix.row(row)).collect()
}

impl ServerForm {
    /// The server, which is the `index`th in its list.
    pub(crate) fn check(self, index: usize) -> Result<Server, PlacementFileError> {
        let cost = self.cost.map(|units| {
            Cost::from_units(units).ok_or_else(|| PlacementFileError::Number {
                field: format!("servers[{index}].cost (server `{}`)", self.name),
                value: units,
                expected: "a cost (write a number from 0 to 1e6)",
            })
        });
        Ok(Server {
            cost: cost.transpose()?.unwrap_or(Cost::ONE),
            name: self.name,
            capacity: self.capacity,
        })
    }

    pub(crate) fn of(server: &Server) -> Self {
        Self {
            name: server.name.clone(),
            capacity: server.capacity,
            cost: (server.cost != Cost::ONE).then(|| server.cost.as_units()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    const FIGURE1: &str = r#"{
        "delay_bound_ms": 6, "latency": "one_way",
        "clients": ["c1", "c2"],
        "servers": [{"name": "s1"}, {"name": "s2", "capacity": 1}, {"name": "s3", "cost": 2.5}],
        "client_server_ms": [[1, 3, 5.5], [5, null, 1]],
        "server_server_ms": [[0, 1, 2], [1, 0, 1], [2, 1, 0]]
    }"#;

    fn refusal(change: impl FnOnce(String) -> String) -> String {
        let text = change(FIGURE1.to_owned());
        PlacementFile::from_json(text.as_bytes())
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn a_file_reads_back_as_it_was_written() {
        let file = PlacementFile::from_json(FIGURE1.as_bytes()).unwrap();
        assert_eq!(file.bound, Delay::from_millis(6.0));
        assert_eq!(file.instance.servers()[1].capacity, Some(1));
        let mut text = Vec::new();
        file.write_json(&mut text).unwrap();
        assert_eq!(PlacementFile::from_json(&text).unwrap(), file);
    }

    #[test]
    fn the_server_graph_goes_by_names() {
        let mut parts = samples::figure1_parts();
        let link = (ServerId::new(0), ServerId::new(2));
        parts.graph = Some(ServerGraph::new([link]));
        let file = PlacementFile {
            instance: Instance::new(parts).unwrap(),
            bound: None,
        };
        let mut text = Vec::new();
        file.write_json(&mut text).unwrap();
        assert_eq!(PlacementFile::from_json(&text).unwrap(), file);
        let unknown = refusal(|text| {
            text.replace(
                "\"clients\"",
                "\"server_links\": [[\"s1\", \"s9\"]], \"clients\"",
            )
        });
        assert!(unknown.contains("server_links[0] names `s9`"), "{unknown}");
    }

    #[test]
    fn bad_cells_are_named_with_their_matrix() {
        let negative = refusal(|text| text.replace("5.5", "-5.5"));
        assert!(
            negative.contains("client_server_ms[0][2]: -5.5"),
            "{negative}"
        );
        let word = refusal(|text| text.replace("5.5", "\"far\""));
        assert!(
            word.contains("client_server_ms[0][2]") && word.contains("\"far\""),
            "{word}"
        );
        for unwritable in ["NaN", "1e999", "-Infinity"] {
            let refused = refusal(|text| text.replace("5.5", unwritable));
            assert!(refused.contains("client_server_ms[0][2]"), "{refused}");
            assert_eq!(refused.matches(" line ").count(), 1, "{refused}");
        }
        let short = refusal(|text| text.replace("[1, 0, 1]", "[1, 0]"));
        assert!(short.contains("server_server_ms[1] has 2 cells"), "{short}");
    }

    #[test]
    fn other_mistakes_are_named_too() {
        let typo = refusal(|text| text.replace("latency", "latencies"));
        assert!(typo.contains("latencies"), "{typo}");
        let cost = refusal(|text| text.replace("2.5", "-1"));
        assert!(cost.contains("servers[2].cost (server `s3`)"), "{cost}");
        let bound = refusal(|text| text.replace("_ms\": 6", "_ms\": -6"));
        assert!(bound.contains("delay_bound_ms: -6"), "{bound}");
        for (places, told) in [
            ("-1", "`-1`"),
            ("2.5", "`2.5`"),
            ("\"ten\"", "\"ten\""),
            ("5e9", ""),
        ] {
            let capacity = format!("\"capacity\": {places}");
            let capacity = refusal(|text| text.replace("\"capacity\": 1", &capacity));
            assert!(capacity.contains("servers[1]: "), "{capacity}");
            assert!(capacity.contains("from 0 to 4294967295"), "{capacity}");
            assert!(capacity.contains(told), "{capacity}");
        }
        for named in ["\"s1\"", "[\"s1\", 3]"] {
            let named = refusal(|text| text.replace("{\"name\": \"s1\"}", named));
            assert!(named.contains("servers[0]: "), "{named}");
            assert!(named.contains("an object such as"), "{named}");
        }
        let alone =
            refusal(|text| text.replace("[{\"name\": \"s1\"}", "7, \"x\": [{\"name\": \"s1\"}"));
        assert!(
            alone.contains("servers: a list, each an object such as"),
            "{alone}"
        );
        let missing = refusal(|text| text.replace("\"clients\": [\"c1\", \"c2\"],", ""));
        assert!(missing.contains("clients"), "{missing}");
    }
}
