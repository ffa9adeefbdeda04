//! A client as one record: what all changes to it come to.

use std::collections::BTreeMap;

use nearside_coords::Coordinate;
use nearside_detour::ClientId;
use nearside_detour::directory::{self, Newcomer};
use nearside_tunnel::service::{Change, State};
use nearside_types::{Moment, Rtt};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// A client with its legs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct ClientRecord {
    client: Newcomer,
    heard: Moment,
    coordinate: Option<Coordinate>,
    legs: BTreeMap<ClientId, (Rtt, Moment)>,
}

/// The first byte of every record, for later forms.
const VERSION: u8 = 1;

pub(super) fn pack<T: Serialize>(record: &T) -> Vec<u8> {
    let bytes = postcard::to_extend(record, vec![VERSION]);
    bytes.expect("only a full buffer is an error, and vectors grow")
}

/// `None` for what this program did not write, or another version of it.
pub(super) fn unpack<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    let [VERSION, body @ ..] = bytes else {
        return None;
    };
    let (record, rest) = postcard::take_from_bytes(body).ok()?;
    rest.is_empty().then_some(record)
}

/// Whose record a change of the directory is about; `None` if it is about a session.
pub(super) fn client_of(change: &directory::Change) -> Option<ClientId> {
    use directory::Change as C;
    match change {
        C::Joined { client, .. } | C::Altered { client, .. } => Some(client.id),
        C::Left { id } | C::Heard { id, .. } | C::Placed { id, .. } => Some(*id),
        C::Measured { from, .. } | C::Forgotten { from, .. } => Some(*from),
        C::Engaged { .. } | C::Released { .. } => None,
    }
}

/// What a change makes of a record. What others measured of a client that leaves stays in their records,
/// and means nothing when it is read: there is nobody at the other end.
pub(super) fn apply(
    record: Option<ClientRecord>,
    change: &directory::Change,
) -> Option<ClientRecord> {
    use directory::Change as C;
    let mut record = match change {
        C::Joined { client, at } => return Some(ClientRecord::new(client, *at)),
        C::Left { .. } => return None,
        _ => record?,
    };
    match change {
        C::Altered { client, at } => {
            record.client = client.clone();
            record.heard = *at;
        }
        C::Heard { at, .. } => record.heard = *at,
        C::Placed { coordinate, .. } => record.coordinate = Some(coordinate.clone()),
        C::Measured { to, rtt, at, .. } => {
            record.legs.insert(*to, (*rtt, *at));
        }
        C::Forgotten { to, .. } => {
            record.legs.remove(to);
        }
        C::Joined { .. } | C::Left { .. } | C::Engaged { .. } | C::Released { .. } => {}
    }
    Some(record)
}

impl ClientRecord {
    pub(super) fn of(
        client: Newcomer,
        heard: Moment,
        coordinate: Option<Coordinate>,
        legs: BTreeMap<ClientId, (Rtt, Moment)>,
    ) -> Self {
        Self {
            client,
            heard,
            coordinate,
            legs,
        }
    }

    fn new(client: &Newcomer, heard: Moment) -> Self {
        Self {
            client: client.clone(),
            heard,
            coordinate: None,
            legs: BTreeMap::new(),
        }
    }

    /// The changes that make a state have this client, without its legs.
    pub(super) fn join(&self, state: &mut State) {
        let (client, at) = (self.client.clone(), self.heard);
        let id = client.id;
        let joined = directory::Change::Joined { client, at };
        state.apply(&Change::Directory(joined));
        if let Some(coordinate) = self.coordinate.clone() {
            let placed = directory::Change::Placed { id, coordinate };
            state.apply(&Change::Directory(placed));
        }
    }

    /// Those that give it its legs, once everybody is in.
    pub(super) fn measure(&self, state: &mut State) {
        let from = self.client.id;
        for (to, (rtt, at)) in &self.legs {
            let (to, rtt, at) = (*to, *rtt, *at);
            let measured = directory::Change::Measured { from, to, rtt, at };
            state.apply(&Change::Directory(measured));
        }
    }
}
