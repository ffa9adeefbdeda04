use std::cmp::Reverse;
use std::fmt;

use crate::Delay;

/// A client or a server of the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NodeId {
    /// A client, by its place in the list.
    Client(u16),
    /// A server, by its place in the list.
    Server(u16),
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Client(number) => write!(f, "c{number}"),
            Self::Server(number) => write!(f, "s{number}"),
        }
    }
}

/// One run of the algorithm. Later epochs supersede earlier ones; of two that begin at once, the one
/// of the lower server wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Epoch {
    /// Counts up; 0 is before the first.
    pub number: u32,
    /// Who began it.
    pub initiator: u16,
}

impl Epoch {
    /// Before anything happened.
    pub(super) const NONE: Self = Self {
        number: 0,
        initiator: 0,
    };
}

impl Ord for Epoch {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.number, Reverse(self.initiator)).cmp(&(other.number, Reverse(other.initiator)))
    }
}

impl PartialOrd for Epoch {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// What nodes send each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The run it belongs to.
    pub epoch: Epoch,
    pub(super) body: Body,
}

/// A set of servers or clients, by place.
pub(super) type Members = Vec<bool>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Body {
    /// Leader to everybody, again and again: I live; do you?
    Beat,
    /// The answer.
    Alive,
    /// Initiator to everybody: a new epoch begins, are you there?
    Census,
    /// The answer, with the last epoch this node has prepared and committed.
    Here { prepared: Epoch, committed: Epoch },
    /// Initiator to who has prepared a commit that others have made: make it too.
    Settle { committed: Epoch },
    /// Server to client: how far are we apart?
    Ask,
    /// The answer.
    Distance(Delay),
    /// Server to server: find the best of your part of the bracket.
    Match(Bracket),
    /// The answer: a server and how far its farthest client is.
    Winner { server: u16, farthest: Delay },
    /// Initiator to the core: lead these.
    Lead(Roll),
    /// The answer.
    Leading,
    /// Leader to everybody: I lead. To clients also how far servers are from the core, with no entry
    /// for those that are not in this epoch.
    Begin(Vec<Option<Delay>>),
    /// The answer; a server's with its places.
    Began { places: Option<u32> },
    /// Leader to client: it is your turn.
    Turn(Turn),
    /// The answer.
    TurnDone { turn: u32, act: Act },
    /// Client to server: would the bound hold if I came to you?
    Probe(Probe),
    /// The answer.
    Answer { turn: u32, accepted: bool },
    /// Server to leader: the state, please; mine is older than this.
    Fetch { version: u32 },
    /// The answer.
    State(Seats),
    /// Server to leader: judged at this version, the bound holds with this move.
    Propose { probe: Probe },
    /// The answer.
    Decision { turn: u32, decision: Decision },
    /// Leader to server: does the bound hold, seen from you, at this version?
    Check { version: u32 },
    /// The answer.
    Checked { version: u32, holds: bool },
    /// Leader to everybody: be ready to sit like this.
    Prepare { contacts: Vec<Option<u16>> },
    /// The answer.
    Prepared,
    /// Leader to everybody: now.
    Commit,
    /// The answer.
    CommitDone,
    /// Leader to everybody: it cannot be done within the bound.
    Unmet,
    /// The answer.
    UnmetDone,
}

/// Who takes part in an epoch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Roll {
    pub(super) clients: Members,
    pub(super) servers: Members,
}

/// A part of the tournament: who takes part in the epoch, and which of its servers, in the order of
/// the list, are in this part: `2^level` of them from `first` on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Bracket {
    pub(super) roll: Roll,
    pub(super) first: u16,
    pub(super) level: u8,
}

/// What a client may do when it has its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    Seat,
    ZoomIn,
    ZoomOut,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Turn {
    pub(super) number: u32,
    pub(super) phase: Phase,
    /// The version of the virtual state that the rest is of.
    pub(super) version: u32,
    /// Where the client sits; `None` before step 1.
    pub(super) present: Option<u16>,
    pub(super) in_use: Members,
    pub(super) full: Members,
}

/// What a client did with its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Act {
    /// There was nowhere to go.
    Pass,
    /// Step 1: it sits down.
    Sit { server: u16, distance: Delay },
    /// It probed, and stays.
    Stay,
    /// It probed, and moves.
    Go,
}

/// A move to be judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Probe {
    pub(super) turn: u32,
    pub(super) phase: Phase,
    /// The state it is, or was, judged on.
    pub(super) version: u32,
    pub(super) client: u16,
    pub(super) distance: Delay,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decision {
    /// The move is part of the state from now on.
    Taken,
    /// The state has moved on to this version: judge again.
    Stale { version: u32 },
}

/// The virtual state: what a probed server needs to know of the servers in use.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Seats {
    pub(super) version: u32,
    pub(super) in_use: Vec<InUse>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct InUse {
    pub(super) server: u16,
    pub(super) load: u16,
    /// The farthest client, its distance, and the distance of the next, so that one can tell the
    /// radius without the farthest.
    pub(super) farthest: u16,
    pub(super) radius: Delay,
    pub(super) second: Option<Delay>,
}

impl InUse {
    /// The radius if `leaving` were not there; `None` if nobody would be.
    pub(super) fn radius_without(self, leaving: u16) -> Option<Delay> {
        if self.farthest == leaving {
            self.second
        } else {
            Some(self.radius)
        }
    }
}
