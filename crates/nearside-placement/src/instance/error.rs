use std::collections::HashMap;

use thiserror::Error;

use super::{InstanceParts, ServerGraph};
use crate::Delay;

/// Why parts do not make an instance. Names and places are those of the input.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum InstanceError {
    /// Nobody plays.
    #[error("no clients: an instance needs at least one")]
    NoClients,
    /// Nowhere to play.
    #[error("no servers: an instance needs at least one")]
    NoServers,
    /// A name is empty.
    #[error("{kind} {index} has an empty name")]
    EmptyName {
        /// `client` or `server`.
        kind: &'static str,
        /// Its place in the list, from 0.
        index: usize,
    },
    /// A name could take over the terminal it is shown on.
    #[error(
        "the name of {kind} {index} has control characters or marks of reading direction; write it without them"
    )]
    UnprintableName {
        /// `client` or `server`.
        kind: &'static str,
        /// Its place in the list, from 0.
        index: usize,
    },
    /// Two of a kind have the same name.
    #[error("{kind} `{name}` is listed twice, at {first} and {second}")]
    SameName {
        /// `client` or `server`.
        kind: &'static str,
        /// The name.
        name: String,
        /// The first place, from 0.
        first: usize,
        /// The second.
        second: usize,
    },
    /// A matrix has not one row for each member or not one column for each server.
    #[error(
        "{matrix} is {rows} × {columns}, expected {expected_rows} × {expected_columns} ({meaning})"
    )]
    Shape {
        /// The matrix.
        matrix: &'static str,
        /// Its rows.
        rows: usize,
        /// Its columns.
        columns: usize,
        /// Rows it should have.
        expected_rows: usize,
        /// Columns it should have.
        expected_columns: usize,
        /// What rows and columns are.
        meaning: &'static str,
    },
    /// A server is said to be away from itself.
    #[error(
        "server_server_ms[{server}][{server}] (server `{name}` to itself) is {delay}; write 0 or null"
    )]
    Diagonal {
        /// The server's place in the list, from 0.
        server: usize,
        /// Its name.
        name: String,
        /// What the matrix says.
        delay: Delay,
    },
    /// A link of the server graph names a server that is not there.
    #[error("link {link} of the server graph names server {server}, but there are {servers}")]
    Link {
        /// The link's place in the list, from 0.
        link: usize,
        /// The server it names.
        server: usize,
        /// How many there are.
        servers: usize,
    },
}

/// Checks everything that types do not, but that somebody plays.
pub(super) fn check(parts: &InstanceParts) -> Result<(), InstanceError> {
    if parts.servers.is_empty() {
        return Err(InstanceError::NoServers);
    }
    names("client", parts.clients.iter().map(String::as_str))?;
    names(
        "server",
        parts.servers.iter().map(|server| server.name.as_str()),
    )?;
    shapes(parts)?;
    diagonal(parts)?;
    links(parts)
}

/// Names of players come from anywhere. Control characters move a terminal's cursor, and marks of the
/// bidirectional algorithm (UAX #9) turn what stands around them.
pub(crate) fn is_printable(name: &str) -> bool {
    let turns = |c: char| matches!(c, '\u{61C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}');
    !name.chars().any(|c| c.is_control() || turns(c))
}

fn names<'a>(
    kind: &'static str,
    names: impl Iterator<Item = &'a str>,
) -> Result<(), InstanceError> {
    let mut seen = HashMap::new();
    for (index, name) in names.enumerate() {
        if name.is_empty() {
            return Err(InstanceError::EmptyName { kind, index });
        }
        if !is_printable(name) {
            return Err(InstanceError::UnprintableName { kind, index });
        }
        if let Some(first) = seen.insert(name, index) {
            return Err(InstanceError::SameName {
                kind,
                name: name.to_owned(),
                first,
                second: index,
            });
        }
    }
    Ok(())
}

fn shapes(parts: &InstanceParts) -> Result<(), InstanceError> {
    let (clients, servers) = (parts.clients.len(), parts.servers.len());
    let matrices = [
        (
            "client_server_ms",
            &parts.client_server,
            clients,
            "a row for each client, a column for each server",
        ),
        (
            "server_server_ms",
            &parts.server_server,
            servers,
            "a row and a column for each server",
        ),
    ];
    for (matrix, delays, expected_rows, meaning) in matrices {
        if (delays.rows(), delays.columns()) != (expected_rows, servers) {
            return Err(InstanceError::Shape {
                matrix,
                rows: delays.rows(),
                columns: delays.columns(),
                expected_rows,
                expected_columns: servers,
                meaning,
            });
        }
    }
    Ok(())
}

fn diagonal(parts: &InstanceParts) -> Result<(), InstanceError> {
    for (index, server) in parts.servers.iter().enumerate() {
        let delay = parts.server_server.get(index, index);
        if delay != Delay::ZERO && delay.is_usable() {
            return Err(InstanceError::Diagonal {
                server: index,
                name: server.name.clone(),
                delay,
            });
        }
    }
    Ok(())
}

fn links(parts: &InstanceParts) -> Result<(), InstanceError> {
    let servers = parts.servers.len();
    let all = parts.graph.iter().flat_map(ServerGraph::links);
    for (link, (one, other)) in all.enumerate() {
        let server = one.index().max(other.index());
        if server >= servers {
            return Err(InstanceError::Link {
                link,
                server,
                servers,
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DelayMatrix, Instance, Server, ServerId, samples};

    fn refusal(change: impl FnOnce(&mut InstanceParts)) -> String {
        let mut parts = samples::figure1_parts();
        change(&mut parts);
        Instance::new(parts).unwrap_err().to_string()
    }

    #[test]
    fn every_refusal_names_the_place() {
        let nobody = refusal(|parts| parts.clients.clear());
        assert!(nobody.contains("no clients"), "{nobody}");
        let nowhere = refusal(|parts| parts.servers.clear());
        assert!(nowhere.contains("no servers"), "{nowhere}");
        let nameless = refusal(|parts| parts.clients[1].clear());
        assert!(nameless.contains("client 1"), "{nameless}");
        let coloured = refusal(|parts| parts.servers[2] = Server::named("\u{1b}[31mred"));
        assert!(
            coloured.contains("server 2") && !coloured.contains('\u{1b}'),
            "{coloured}"
        );
        let twice = refusal(|parts| parts.servers[2] = Server::named("s1"));
        assert!(
            twice.contains("`s1`") && twice.contains("0 and 2"),
            "{twice}"
        );
        let shape = refusal(|parts| {
            parts.client_server = DelayMatrix::from_fn(2, 4, |_, _| Delay::ZERO);
        });
        assert!(
            shape.contains("client_server_ms is 2 × 4, expected 2 × 3"),
            "{shape}"
        );
        let diagonal = refusal(|parts| {
            parts
                .server_server
                .set(1, 1, Delay::from_millis(2.0).unwrap());
        });
        assert!(diagonal.contains("server_server_ms[1][1]"), "{diagonal}");
        let link = refusal(|parts| {
            let missing = (ServerId::new(0), ServerId::new(7));
            parts.graph = Some(ServerGraph::new([missing]));
        });
        assert!(link.contains("names server 7"), "{link}");
    }
}
