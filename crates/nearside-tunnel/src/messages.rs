//! What players and the directory tell each other, and players among themselves, inside the seals: as
//! `postcard` writes it, behind a byte that says which version it is.
//!
//! A client repeats a request until it is answered, so every one may arrive twice and must mean the
//! same then. The directory repeats what it tells unasked until the client says that it came.

use std::net::SocketAddr;

use nearside_coords::Coordinate;
use nearside_detour::ClientId;
use nearside_types::Rtt;
use nearside_wire::detour::{PASS_BYTES, TICKET_BYTES};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::crypto::{HopKey, PingKey, PublicKey};
use crate::vouched::Vouched;

/// The version of everything here.
const VERSION: u8 = 1;

/// From a client to the directory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// To be named in the answer.
    pub number: u32,
    /// What is asked.
    pub ask: Ask,
}

/// What a client asks of the directory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Ask {
    /// To be a client. Answered by [`Tell::Welcome`] or [`Tell::Refused`].
    Join(Join),
    /// Which address the directory sees on the port this was sent to. Answered by
    /// [`Tell::Observed`].
    Observe,
    /// Takes in what was measured. Answered by [`Tell::Done`].
    Report(Measured),
    /// Who stands beside the game server at this address. Answered by [`Tell::Found`] or
    /// [`Tell::Refused`].
    Find(SocketAddr),
    /// To be introduced to a peer. Answered by [`Tell::Introduce`], which goes to the peer as well, or
    /// [`Tell::Refused`].
    Connect(PublicKey),
    /// No direct path to the peer of this session was found: both are introduced again, with a relay
    /// that the handshake goes through. Answered by [`Tell::Introduce`] or [`Tell::Refused`].
    Through(u64),
    /// Relays for a session. Answered by [`Tell::Relays`] or [`Tell::Refused`].
    Relays {
        /// The session, as introduced.
        session: u64,
        /// How many.
        most: u8,
        /// Those the client has already.
        known: Vec<ClientId>,
    },
    /// The session uses this relay now, or none. Answered by [`Tell::Done`].
    Uses {
        /// The session.
        session: u64,
        /// Its relay.
        relay: Option<ClientId>,
        /// Why the last one was left, if it failed.
        complaint: Option<Complaint>,
    },
    /// A neighbour does not answer: it shall open its NAT. Answered by [`Tell::Done`].
    Nudge(ClientId),
    /// Goodbye. Answered by [`Tell::Done`].
    Leave,
    /// What the directory told under this number has come; 0 says only that the client is there. Not
    /// answered.
    Heard(u32),
    /// The direct path to the peer of this session was lost: both are introduced again, from where they
    /// are now. Answered by [`Tell::Introduce`] or [`Tell::Refused`].
    Again(u64),
    /// This session is over, or never began; either end may say so. Answered by [`Tell::Done`].
    Part(u64),
}

/// How a relay failed somebody.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Complaint {
    /// The relay.
    pub relay: ClientId,
    /// What it did.
    pub fault: Fault,
}

/// What may be wrong with a relay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fault {
    /// Nothing came through any more.
    Silent,
    /// What came was late.
    Late,
    /// Too much got lost.
    Lossy,
}

/// Who wants to be a client.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Join {
    /// The operator's word that it may, where one is needed.
    pub token: Option<String>,
    /// What it would carry for others.
    pub relaying: Option<Capacity>,
    /// Its addresses inside its own network.
    pub local: Vec<SocketAddr>,
    /// The port of the game server it stands beside, on the address the directory sees.
    pub exposes: Option<u16>,
    /// Game servers elsewhere that it gives a way out to.
    pub exits: Vec<SocketAddr>,
}

/// How much a relay carries at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capacity {
    /// Sessions.
    pub sessions: u16,
    /// Packets each second, over all sessions.
    pub packets: u32,
    /// Kilobits each second, over all sessions.
    pub kilobits: u32,
}

/// What a client measured, as in [`nearside_detour::directory::Report`], and how it fares as a relay.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Measured {
    /// Where it is, if it moved.
    pub coordinate: Option<Coordinate>,
    /// The legs it measured anew.
    pub legs: Vec<(ClientId, Rtt)>,
    /// Whether it has more to carry than it can, so that nobody should come.
    pub overloaded: bool,
}

impl Measured {
    /// Takes over from an older one what this one does not say.
    pub(crate) fn complete(&mut self, older: &mut Self) {
        let is_new = |id: &ClientId| self.legs.iter().all(|(known, _)| known != id);
        older.legs.retain(|(id, _)| is_new(id));
        self.legs.append(&mut older.legs);
        self.coordinate = self.coordinate.take().or(older.coordinate.take());
    }
}

/// From the directory to a client.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Notice {
    /// The request it answers.
    pub answers: Option<u32>,
    /// To be confirmed by [`Ask::Heard`]; 0 needs no confirmation.
    pub number: u32,
    /// What is told.
    pub tell: Tell,
}

/// What the directory tells a client.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Tell {
    /// It is a client now.
    Welcome(Welcome),
    /// The address seen, on the port that was asked.
    Observed(SocketAddr),
    /// That was done.
    Done,
    /// That is not done, and why.
    Refused(Refusal),
    /// Who stands beside a game server.
    Found(Found),
    /// A peer for a session.
    Introduce(Introduction),
    /// Relays for a session, for the one who leads it alone.
    Relays {
        /// The session.
        session: u64,
        /// The most promising first.
        relays: Vec<RelayOffer>,
    },
    /// Players will come with tickets: open the NAT for them.
    Expect {
        /// Where they are.
        players: Vec<SocketAddr>,
        /// What to send them.
        pass: [u8; PASS_BYTES],
    },
    /// A neighbour more to measure, as a witness.
    Witness(Neighbour),
    /// The directory forgot the client, or ends: join again.
    Rejoin,
}

/// Why a request is not fulfilled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error, Serialize, Deserialize)]
pub enum Refusal {
    /// The token is missing or unknown.
    #[error("the directory wants a token that it knows (ask its operator)")]
    Token,
    /// The token does not allow to relay.
    #[error("this token does not allow to relay (join without, or ask the operator)")]
    RelayToken,
    /// Too many clients, altogether or from one network.
    #[error("the directory has as many clients as it takes, or as it takes from one network")]
    Full,
    /// The client has to join first.
    #[error("not joined, or forgotten meanwhile (join again)")]
    NotJoined,
    /// Nobody of that name.
    #[error("nobody with that key or address has joined")]
    Unknown,
    /// Too many requests in a short time.
    #[error("too many requests (wait a little)")]
    TooMany,
    /// The token does not allow to be an exit.
    #[error(
        "only who has a token for it may be an exit (ask the operator for one, or join without --exit)"
    )]
    ExitToken,
}

/// What a new client needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Welcome {
    /// Where the directory sees it.
    pub observed: SocketAddr,
    /// The directory's second port, where it is to ask [`Ask::Observe`].
    pub second_port: Option<u16>,
    /// Whom to measure.
    pub neighbours: Vec<Neighbour>,
    /// Where others of its network are, as a place to start from.
    pub start: Option<Coordinate>,
    /// What pings to it are proven with.
    pub ping_key: PingKey,
    /// What tickets to it are sealed with, if it relays.
    pub ticket_key: Option<[u8; 32]>,
    /// Milliseconds since 1970, so that expiry of tickets does not hang on the client's clock.
    pub wall_ms: u64,
}

/// Another client to be measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Neighbour {
    /// Who it is.
    pub id: ClientId,
    /// Where it is.
    pub address: SocketAddr,
    /// What pings to it are proven with.
    pub key: PingKey,
}

/// Who stands beside a game server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Found {
    /// Whom to connect to.
    pub peer: PublicKey,
    /// Whether it is a way out to the server rather than beside it.
    pub is_exit: bool,
}

/// Two who shall find each other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Introduction {
    /// The session.
    pub session: u64,
    /// The other one's key: whoever proves to have it is the right one.
    pub peer: PublicKey,
    /// Where it may be reached, the best first.
    pub addresses: Vec<SocketAddr>,
    /// What hellos and punches carry.
    pub pass: [u8; PASS_BYTES],
    /// Whether the receiver begins, and chooses paths later.
    pub leads: bool,
    /// A relay for both, when no direct path is possible.
    pub through: Option<RelayPass>,
}

/// What one player needs to use a relay.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RelayPass {
    /// The relay.
    pub relay: ClientId,
    /// Where it is.
    pub address: SocketAddr,
    /// The number of this player's way through it.
    pub hop: u32,
    /// What this player proves its packets with.
    pub key: HopKey,
    /// To be shown to the relay.
    pub ticket: TicketBytes,
    /// Packets each second that the ticket is good for: the relay drops what is more.
    pub packets: u16,
    /// And kilobits.
    pub kilobits: u16,
}

/// A relay for both ends of a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RelayOffer {
    /// For the one who leads.
    pub ours: RelayPass,
    /// To be handed to the other by the one who leads.
    pub theirs: Vouched,
    /// What the path may take.
    pub expected: Option<Rtt>,
}

/// A ticket in a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<u8>", into = "Vec<u8>")]
pub struct TicketBytes(pub [u8; TICKET_BYTES]);

impl From<TicketBytes> for Vec<u8> {
    fn from(ticket: TicketBytes) -> Self {
        ticket.0.to_vec()
    }
}

impl TryFrom<Vec<u8>> for TicketBytes {
    type Error = &'static str;

    fn try_from(bytes: Vec<u8>) -> Result<Self, Self::Error> {
        let bytes = bytes.try_into().map_err(|_| "not as long as a ticket")?;
        Ok(Self(bytes))
    }
}

/// What two players say to each other beside the game.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Talk {
    /// Open this way, too; there will be measurements on it.
    Meet {
        /// What the receiver needs for it, with the word of its own directory.
        pass: Vouched,
        /// What it will be called in packets.
        number: u8,
    },
    /// Packets under this number go to this game server.
    Flow {
        /// The number.
        flow: u16,
        /// The game server; `None` for the one the peer stands beside.
        to: Option<SocketAddr>,
    },
    /// The peer does not let packets of this flow out.
    NoFlow {
        /// The number.
        flow: u16,
    },
    /// What comes by this relay, or directly, is late.
    Lagging(Option<ClientId>),
    /// Much of what is sent by this relay, or directly, does not come.
    Losing(Option<ClientId>),
    /// The session ends.
    Goodbye,
    /// The game at this end says that what comes by this relay, or directly, is late.
    LagReported(Option<ClientId>),
}

/// Why bytes are no message.
#[derive(Debug, Error, Clone, Copy, PartialEq, Eq)]
pub enum Unreadable {
    /// Nothing at all, or of another version.
    #[error("a message of another version (update one of both)")]
    Version,
    /// Damaged, or with something behind its end.
    #[error("a damaged message")]
    Damaged,
}

/// The bytes of a message.
pub fn encode<T: Serialize>(message: &T) -> Vec<u8> {
    let bytes = postcard::to_extend(message, vec![VERSION]);
    bytes.expect("only a full buffer is an error, and vectors grow")
}

/// The message of bytes.
///
/// # Errors
/// If there is none.
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Unreadable> {
    let [VERSION, body @ ..] = bytes else {
        return Err(Unreadable::Version);
    };
    match postcard::take_from_bytes(body) {
        Ok((message, [])) => Ok(message),
        _ => Err(Unreadable::Damaged),
    }
}
