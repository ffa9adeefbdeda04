//! List files: one server a line, also in qstat's form (`A2S 192.0.2.1:27015`).

use nearside_types::{ParseAddrError, ServerAddr};
use thiserror::Error;

use crate::prober::Protocol;

/// Why a list file was refused.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("{file}, line {line}: {fault}")]
pub struct ListFileError {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub fault: ListLineFault,
}

/// What is wrong with a line.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum ListLineFault {
    /// Not an address.
    #[error(transparent)]
    Address(#[from] ParseAddrError),
    /// More words than a type and an address.
    #[error("expected an address, or a qstat type and an address, found {0} words")]
    Words(usize),
    /// A type qstat may know and we do not.
    #[error("unknown server type `{0}` (known: A2S, GOLDSRC, Q3S, ET, OPENARENAS, RWS, WOETS)")]
    UnknownType(String),
    /// A type whose protocol is not the one of the game.
    #[error(
        "`{word}` servers speak another protocol than the game asked for; give `--game` to match"
    )]
    OtherProtocol {
        /// The type.
        word: String,
    },
}

/// Reads a list file. Blank lines and lines that start with `#` or `;` are skipped. `file` is named
/// in errors; `protocol` is what the game speaks, and a line of another is refused rather than
/// probed with the wrong question.
pub fn parse_list_file(
    file: &str,
    text: &str,
    protocol: Protocol,
) -> Result<Vec<ServerAddr>, ListFileError> {
    text.lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line.trim()))
        .filter(|(_, line)| !line.is_empty() && !line.starts_with(['#', ';']))
        .map(|(line, text)| {
            parse_line(text, protocol).map_err(|fault| ListFileError {
                file: file.to_owned(),
                line,
                fault,
            })
        })
        .collect()
}

fn parse_line(line: &str, protocol: Protocol) -> Result<ServerAddr, ListLineFault> {
    let words: Vec<&str> = line.split_whitespace().collect();
    match words[..] {
        [addr] => Ok(addr.parse()?),
        [word, addr] => {
            let spoken =
                protocol_of(word).ok_or_else(|| ListLineFault::UnknownType(word.to_owned()))?;
            if spoken != protocol {
                let word = word.to_owned();
                return Err(ListLineFault::OtherProtocol { word });
            }
            Ok(addr.parse()?)
        }
        _ => Err(ListLineFault::Words(words.len())),
    }
}

/// What servers of a qstat type speak.
fn protocol_of(word: &str) -> Option<Protocol> {
    match word.to_ascii_uppercase().as_str() {
        "A2S" | "GOLDSRC" | "HL2S" => Some(Protocol::A2s),
        "Q3S" | "ET" | "WOETS" | "OPENARENAS" | "RWS" => Some(Protocol::Quake3),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_and_qstat_lines_are_read() {
        let text = "# favourites\n1.2.3.4:27015\n\nA2S 1.2.3.5:27015\r\na2s [2a00::1]:27016\n";
        let servers = parse_list_file("f", text, Protocol::A2s).unwrap();
        assert_eq!(servers.len(), 3);
        assert_eq!(servers[1].to_string(), "1.2.3.5:27015");
    }

    #[test]
    fn bad_lines_are_refused_with_file_line_and_reason() {
        for (text, expected) in [
            (
                "1.2.3.4:1\n1.2.3.4\n",
                "list.txt, line 2: `1.2.3.4` is not an address with a port",
            ),
            ("1.2.3.4:0\n", "list.txt, line 1: `1.2.3.4:0` has port 0"),
            (
                "QWS 1.2.3.4:1\n",
                "list.txt, line 1: unknown server type `QWS`",
            ),
            (
                "Q3S 1.2.3.4:1\n",
                "list.txt, line 1: `Q3S` servers speak another protocol",
            ),
            (
                "A2S 1.2.3.4:1 x\n",
                "list.txt, line 1: expected an address, or a qstat type",
            ),
        ] {
            let error = parse_list_file("list.txt", text, Protocol::A2s).unwrap_err();
            assert!(error.to_string().starts_with(expected), "{error}");
        }
    }
}
