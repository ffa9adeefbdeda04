//! What a probe says in each protocol, and what the reply means to discovery.
//!
//! A new protocol is one more arm in each function here.

use nearside_wire::a2s::{self, Challenge};
use nearside_wire::quake3::{self, InfoString};
use nearside_wire::{DecodeError, GameText};

use super::config::Protocol;

/// What a server says about itself, safe to print.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ServerInfo {
    /// Name, colour codes removed.
    pub name: Option<Box<str>>,
    /// Map.
    pub map: Option<Box<str>>,
    /// Game or mod.
    pub game: Option<Box<str>>,
    /// Players, bots included.
    pub players: Option<u32>,
    /// Bots.
    pub bots: Option<u32>,
    /// Places.
    pub max_players: Option<u32>,
    /// Whether a password is needed.
    pub password: Option<bool>,
}

/// A reply, as far as discovery cares.
#[derive(Debug)]
pub(crate) enum Reply {
    /// The server wants its challenge back first.
    Challenge(Challenge),
    /// The server answers.
    Info(Box<ServerInfo>),
    /// An answer that does not echo the nonce of the request: forged or stale.
    Forged,
    /// Well formed, but nothing that was asked for.
    Other,
}

/// The bytes of a probe.
pub(crate) fn request(protocol: Protocol, challenge: Option<Challenge>, nonce: u64) -> Vec<u8> {
    match protocol {
        Protocol::A2s => a2s::Request::Info { challenge }.emit(),
        Protocol::Quake3 => quake3::Request::GetInfo {
            challenge: Some(quake3::Challenge::from_random(nonce)),
        }
        .emit(),
    }
}

/// What a whole message says, as a reply to a request with `nonce`. A2S has no nonce: there the
/// socket alone tells which request it answers.
pub(crate) fn interpret(
    protocol: Protocol,
    message: &[u8],
    nonce: u64,
) -> Result<Reply, DecodeError> {
    match protocol {
        Protocol::A2s => a2s::Response::parse(message).map(interpret_a2s),
        Protocol::Quake3 => {
            quake3::Response::parse(message).map(|response| interpret_quake3(&response, nonce))
        }
    }
}

fn interpret_a2s(response: a2s::Response) -> Reply {
    match response {
        a2s::Response::Challenge(challenge) => Reply::Challenge(challenge),
        a2s::Response::Info(info) => Reply::Info(Box::new(describe_a2s(&info))),
        a2s::Response::Players(_) | a2s::Response::Rules(_) => Reply::Other,
    }
}

fn interpret_quake3(response: &quake3::Response, nonce: u64) -> Reply {
    let quake3::Response::Info(info) = response else {
        return Reply::Other;
    };
    let expected = quake3::Challenge::from_random(nonce);
    if response.challenge() != Some(expected.as_bytes()) {
        return Reply::Forged;
    }
    Reply::Info(Box::new(describe_quake3(info)))
}

/// What discovery keeps of an A2S_INFO reply.
pub(crate) fn describe_a2s(info: &a2s::Info) -> ServerInfo {
    let counts = info.counts();
    ServerInfo {
        name: text(&info.name),
        map: text(&info.map),
        game: text(&info.game).or_else(|| text(&info.folder)),
        players: Some(counts.players),
        bots: Some(u32::from(info.bots)),
        max_players: Some(counts.max_players),
        password: Some(info.password),
    }
}

/// What discovery keeps of an `infoResponse` or `statusResponse`.
pub(crate) fn describe_quake3(info: &InfoString) -> ServerInfo {
    ServerInfo {
        name: info.hostname().and_then(text),
        map: info.mapname().and_then(text),
        game: info.get("game").or(info.gamename()).and_then(text),
        players: info.clients(),
        bots: info.bots(),
        max_players: info.max_clients(),
        password: info.needs_password(),
    }
}

fn text(raw: &GameText) -> Option<Box<str>> {
    let plain = raw.plain();
    let trimmed = plain.trim();
    (!trimmed.is_empty()).then(|| trimmed.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_bytes_are_interpreted_or_refused(bytes: Vec<u8>, nonce: u64) {
            let _ = interpret(Protocol::A2s, &bytes, nonce);
            let reply = interpret(Protocol::Quake3, &bytes, nonce);
            prop_assert!(!matches!(reply, Ok(Reply::Info(_))), "nobody guesses the nonce");
        }
    }

    #[test]
    fn a_quake3_reply_must_echo_the_nonce() {
        let nonce = 77;
        let challenge = quake3::Challenge::from_random(nonce);
        let info = InfoString::new()
            .with("hostname", "^1x")
            .with("clients", "3")
            .with("challenge", challenge.as_bytes());
        let reply = quake3::Response::Info(info).emit();
        match interpret(Protocol::Quake3, &reply, nonce) {
            Ok(Reply::Info(info)) => {
                assert_eq!(info.name.as_deref(), Some("x"));
                assert_eq!(info.players, Some(3));
            }
            other => panic!("{other:?}"),
        }
        assert!(matches!(
            interpret(Protocol::Quake3, &reply, nonce + 1),
            Ok(Reply::Forged)
        ));
    }
}
