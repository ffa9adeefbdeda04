//! What lines say. Values from the network stand in quotes with everything escaped that could end a
//! line, close the quote or move the cursor, as Rust's `{:?}` does.

use std::time::{SystemTime, UNIX_EPOCH};

use nearside_origin::Timestamp;
use nearside_registry::{Event, Server, Text};
use nearside_wire::GameText;

/// Which events are alike; `None` for those that are not worth a line.
pub(super) fn kind(event: &Event) -> Option<&'static str> {
    match event {
        Event::Put { is_new: false, .. } => None,
        Event::Put { .. } => Some("registered"),
        Event::Removed { cause, .. } => Some(cause.label()),
        Event::Refused { refusal, .. } => Some(refusal.label()),
        Event::Reminded { .. } => Some("came again"),
    }
}

/// The words of an event.
pub(super) fn of(event: &Event) -> String {
    match event {
        Event::Put { server, .. } => format!("registered {}", described(server)),
        Event::Removed { addr, cause } => {
            format!("removed addr={addr} why={:?}", cause.to_string())
        }
        Event::Refused { addr, refusal } => {
            format!("refused addr={addr} why={:?}", refusal.to_string())
        }
        Event::Reminded { addr, refusal } => {
            format!("came again addr={addr} refused={:?}", refusal.to_string())
        }
    }
}

fn described(server: &Server) -> String {
    let text = |which| GameText::from(server.facts.text(which)).plain();
    let asn = server.origin.asn;
    let asn = asn.map_or("-".to_owned(), |asn| asn.to_string());
    let country = server.origin.country;
    let country = country.map_or("-".to_owned(), |country| country.to_string());
    format!(
        "addr={} game={:?} protocol={} map={:?} name={:?} as={asn} country={country}",
        server.addr,
        text(Text::Game),
        server.facts.protocol,
        text(Text::Map),
        text(Text::Name),
    )
}

/// Whatever the words came from, they make one line.
pub(in super::super) fn one_line(words: &str) -> String {
    let escaped = words.chars().flat_map(|character| {
        let (plain, escaped) = match character.is_control() {
            true => (None, Some(character.escape_default())),
            false => (Some(character), None),
        };
        plain.into_iter().chain(escaped.into_iter().flatten())
    });
    escaped.collect()
}

/// A moment as of RFC 3339, in UTC and to the millisecond.
pub(super) fn time(at: SystemTime) -> String {
    let since_epoch = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (seconds, milliseconds) = (since_epoch.as_secs(), since_epoch.subsec_millis());
    let day = Timestamp::from_unix_seconds(seconds);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{day}T{hour:02}:{minute:02}:{second:02}.{milliseconds:03}Z")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use nearside_registry::{Facts, Family, Refusal, Removal, Standing};
    use nearside_types::{Moment, Origin, ServerAddr};

    use super::*;

    fn addr() -> ServerAddr {
        "192.0.2.1:27960".parse().unwrap()
    }

    fn named(name: &[u8]) -> Event {
        let server = Server {
            addr: addr(),
            family: Family::Other,
            standing: Standing::Verified,
            origin: Origin::default(),
            expires: Moment::EPOCH,
            facts: Facts::of_texts(&[(Text::Name, name)]),
        };
        Event::Put {
            server,
            is_new: true,
        }
    }

    #[test]
    fn times_are_of_rfc_3339() {
        let at = UNIX_EPOCH + Duration::from_millis(1_794_828_923_045);
        assert_eq!(time(at), "2026-11-16T11:35:23.045Z");
    }

    #[test]
    fn names_from_the_network_forge_no_line_and_no_value() {
        let forged = b"x\" why=\"y\r\n2026-01-01T00:00:00Z removed\x1B[2J\xE2\x80\xA8\xE2\x80\xAE";
        let line = of(&named(forged));
        assert!(!line.chars().any(char::is_control), "{line:?}");
        assert!(!line.contains(['\u{2028}', '\u{202E}']), "{line:?}");
        let name = line.split("name=").nth(1).unwrap();
        let quotes = name.replace("\\\"", "").matches('"').count();
        assert_eq!(quotes, 2, "{line}");
    }

    #[test]
    fn reasons_that_an_operator_wrote_stay_on_their_line() {
        let refusal = Refusal::Banned("two\nlines".to_owned());
        let line = of(&Event::Refused {
            addr: addr(),
            refusal,
        });
        assert!(line.ends_with(r#"two\nlines""#), "{line}");
        assert_eq!(one_line("a\nb\u{9b}c"), r"a\nb\u{9b}c");
    }

    #[test]
    fn who_is_removed_is_told_with_the_cause() {
        let line = of(&Event::Removed {
            addr: addr(),
            cause: Removal::Expired,
        });
        let expected = "removed addr=192.0.2.1:27960 why=\"not heard of in its time\"";
        assert_eq!(line, expected);
    }
}
