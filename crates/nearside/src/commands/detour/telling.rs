//! What happens to a player, as sentences or as JSON.

use std::io::{self, Write};

use nearside_detour::path::{self, Reason, Route};
use nearside_player::{Happening, WhyPlain};
use nearside_tunnel::link;
use nearside_tunnel::messages::Fault;
use serde_json::{Value, json};

use crate::faces::is_closed_pipe;

/// Says what happens.
#[derive(Debug)]
pub(super) struct Teller {
    json: bool,
}

impl Teller {
    pub(super) fn new(json: bool) -> Self {
        Self { json }
    }

    /// A sentence of the program itself.
    pub(super) fn say(&self, sentence: &str) -> io::Result<()> {
        match self.json {
            true => unless_nobody_reads(&json!({ "event": "note", "text": sentence }).to_string()),
            false => unless_nobody_reads(sentence),
        }
    }

    pub(super) fn tell(&self, happening: &Happening) -> io::Result<()> {
        let Some((sentence, value)) = words(happening) else {
            return Ok(());
        };
        match self.json {
            true => unless_nobody_reads(&value.to_string()),
            false => unless_nobody_reads(&sentence),
        }
    }
}

/// Whoever read may have seen enough: the game goes on, in silence.
fn unless_nobody_reads(line: &str) -> io::Result<()> {
    match out(line) {
        Err(error) if is_closed_pipe(&error) => Ok(()),
        written => written,
    }
}

/// A line, at once: somebody may wait for it at the other end of a pipe.
fn out(line: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{line}")?;
    stdout.flush()
}

fn words(happening: &Happening) -> Option<(String, Value)> {
    Some(match happening {
        Happening::Joined(at) => (
            format!("joined; the directory sees us at {at}"),
            json!({ "event": "joined", "address": at.to_string() }),
        ),
        Happening::DirectoryLost => (
            "the directory does not answer; sessions go on without it".to_owned(),
            json!({ "event": "directory_lost" }),
        ),
        Happening::SymmetricNat => (
            "our NAT gives every peer another port: we use relays, and are none".to_owned(),
            json!({ "event": "symmetric_nat" }),
        ),
        Happening::Connected {
            link,
            peer,
            leads,
            through_relay,
        } => {
            let how = if *through_relay {
                "through a relay, since there is no direct path"
            } else {
                "directly"
            };
            let who = if *leads { "connected to" } else { "reached by" };
            (
                format!("{who} {peer}, {how}"),
                json!({ "event": "connected", "link": link, "peer": peer.to_string(),
                        "leads": leads, "through_relay": through_relay }),
            )
        }
        Happening::Unreachable(peer) => (
            format!("{peer} cannot be reached"),
            json!({ "event": "unreachable", "peer": peer.to_string() }),
        ),
        Happening::Plain { game, why } => {
            let (code, reason) = plain(*why);
            (
                format!("{reason} {game}: packets go there plainly, as without us"),
                json!({ "event": "plain", "game": game.to_string(), "why": code }),
            )
        }
        Happening::Link(link, event) => {
            let (sentence, mut value) = link_words(event)?;
            value["link"] = json!(link);
            (sentence, value)
        }
        Happening::Refused(_)
        | Happening::Found { .. }
        | Happening::Delivered { .. }
        | Happening::NotSent { .. }
        | Happening::Ended(_) => return None,
    })
}

/// Why packets go plainly, for programs and for people.
fn plain(why: WhyPlain) -> (&'static str, &'static str) {
    match why {
        WhyPlain::NobodyThere => ("nobody_there", "nobody of ours stands beside"),
        WhyPlain::Unreachable => ("unreachable", "we cannot reach who stands beside"),
        WhyPlain::Refused => ("refused", "the other end does not take this game to"),
        WhyPlain::NoAnswer => ("no_answer", "it is not known in time who stands beside"),
        WhyPlain::DirectoryRefuses => (
            "directory_refuses",
            "the directory does not say who stands beside",
        ),
    }
}

fn link_words(event: &link::Event) -> Option<(String, Value)> {
    Some(match event {
        link::Event::Path(path::Event::Switched {
            from,
            to,
            reason,
            expected_gain_us,
            ..
        }) => {
            let gain = expected_gain_us.map(|gain| gain as f64 / 1_000.0);
            let saved = gain.map_or(String::new(), |gain| match gain >= 0.0 {
                true => format!(", {gain:.1} ms quicker"),
                false => format!(", {:.1} ms slower", -gain),
            });
            (
                format!("now {}: {}{saved}", way(*to), why(*reason)),
                json!({ "event": "switched", "from": from, "to": to, "reason": reason,
                        "expected_gain_ms": gain }),
            )
        }
        link::Event::Path(path::Event::Vetoed { relay, .. }) => (
            format!("{relay} is not used for a while"),
            json!({ "event": "vetoed", "relay": relay }),
        ),
        link::Event::SourcePort { port, gain } => (
            format!(
                "the direct path is {:.1} ms quicker from another source port",
                gain.as_millis_f64()
            ),
            json!({ "event": "source_port", "port": port, "gain_ms": gain.as_millis_f64() }),
        ),
        link::Event::RelayFailed { relay, fault } => (
            format!(
                "{relay} {}",
                match fault {
                    Fault::Silent => "is silent",
                    Fault::Late => "lags",
                    Fault::Lossy => "loses packets",
                }
            ),
            json!({ "event": "relay_failed", "relay": relay, "fault": fault }),
        ),
        link::Event::DirectLost => (
            "nobody answers on the direct path; looking where the other end is now".to_owned(),
            json!({ "event": "direct_lost" }),
        ),
        link::Event::PeerSilent => (
            "nothing comes from the other end on any path".to_owned(),
            json!({ "event": "peer_silent" }),
        ),
        link::Event::Closed => ("the session ended".to_owned(), json!({ "event": "closed" })),
        link::Event::Talk(_) | link::Event::Settled => return None,
    })
}

/// A path in words.
pub(super) fn way(route: Route) -> String {
    match route {
        Route::Direct => "on the direct path".to_owned(),
        Route::Via(relay) => format!("by way of {relay}"),
    }
}

/// A reason in words.
pub(super) fn why(reason: Reason) -> &'static str {
    match reason {
        Reason::QuickerDetour => "a quicker detour",
        Reason::DirectIsGood => "the direct path is as good again",
        Reason::LagReported => "the game said that it lags",
        Reason::LagDetected => "the path before began to lag",
        Reason::RelayFailed => "the relay before failed",
        Reason::Silent => "the path before fell silent",
        Reason::Lossy => "the path before lost packets",
        Reason::TooFast => "the game sends more than a relay takes",
    }
}
