//! One line for each thing that happens: a word, then `key=value`.

use std::io::{self, Write};

use nearside_registry::{Event, Server, Text};
use nearside_wire::GameText;

/// Writes an event to standard error. Renewals are not worth a line.
pub(super) fn line(event: &Event) {
    if let Some(words) = words(event) {
        // Nobody reads any more: serving goes on.
        let _closed = writeln!(io::stderr(), "{} {words}", super::timestamp());
    }
}

/// Writes a line of another kind.
pub(super) fn say(words: &str) {
    let _closed = writeln!(io::stderr(), "{} {words}", super::timestamp());
}

fn words(event: &Event) -> Option<String> {
    match event {
        Event::Put { is_new: false, .. } => None,
        Event::Put { server, .. } => Some(format!("registered {}", described(server))),
        Event::Removed(addr) => Some(format!("removed addr={addr}")),
        Event::Refused { addr, refusal } => Some(format!("refused addr={addr} why=\"{refusal}\"")),
        Event::Reminded { addr, refusal } => {
            Some(format!("came again addr={addr} refused=\"{refusal}\""))
        }
    }
}

fn described(server: &Server) -> String {
    let text = |which| {
        GameText::from(server.facts.text(which))
            .plain()
            .replace('"', "'")
    };
    let asn = server
        .origin
        .asn
        .map_or("-".to_owned(), |asn| asn.to_string());
    let country = server.origin.country;
    let country = country.map_or("-".to_owned(), |country| country.to_string());
    format!(
        "addr={} game=\"{}\" protocol={} map=\"{}\" name=\"{}\" as={asn} country={country}",
        server.addr,
        text(Text::Game),
        server.facts.protocol,
        text(Text::Map),
        text(Text::Name),
    )
}
