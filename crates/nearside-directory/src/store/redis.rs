//! A Redis Cluster that several directories share.
//!
//! Each client is a hash `nearside:dir:client:{ID}`: what it said when it joined, when it was heard,
//! its coordinate, what others need to be introduced to it, and a field for each leg. Who there is, which sessions, and which relays they use
//! stands in `nearside:dir:clients`, `nearside:dir:sessions` and `nearside:dir:relays`. All that is
//! written goes to the stream `nearside:dir:log` as well, where the other directories read it, and so do
//! letters to their clients, which are kept nowhere else; whoever has missed so much of it that it was cut
//! reads everything anew.
//!
//! A group is not written all at once. After a failure it is written again from its beginning, and every
//! change says what is to be there afterwards, so that it ends the same.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use nearside_detour::ClientId;
use nearside_detour::directory::{self, SessionKey};
use nearside_tunnel::service::{Change, Pair};
use redis::cluster::{ClusterClient, ClusterConnection, cluster_pipe};
use redis::streams::{StreamId, StreamRangeReply};
use redis::{RedisError, Value};

use super::record::{self, ClientRecord};
use super::{Loaded, News, Store, StoreError, Watch};

const CLIENTS: &str = "nearside:dir:clients";
const SESSIONS: &str = "nearside:dir:sessions";
const RELAYS: &str = "nearside:dir:relays";
const LOG: &str = "nearside:dir:log";

/// Entries of the stream, each a group of changes of one directory: minutes, with ten of them.
const LOG_ENTRIES: u32 = 4_096;
/// Entries that are taken in at a time.
const ENTRIES_AT_ONCE: u32 = 64;
/// Clients that are read at a time.
const CLIENTS_AT_ONCE: usize = 1_000;

/// The writing side, and the loading of everything.
pub struct Redis {
    nodes: Nodes,
    connection: Option<ClusterConnection>,
    /// Tells this directory's entries of the stream from others'.
    name: [u8; 16],
    /// Where the stream stood when everything was loaded.
    anchor: String,
}

/// The reading side: what other directories write.
struct RedisWatch {
    nodes: Nodes,
    connection: Option<ClusterConnection>,
    name: [u8; 16],
    anchor: String,
}

/// Where the cluster is.
#[derive(Clone)]
struct Nodes {
    client: ClusterClient,
    /// Without passwords, for messages.
    place: String,
}

impl std::fmt::Debug for Redis {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Redis").field(&self.nodes.place).finish()
    }
}

impl Redis {
    /// Connects to the cluster. `nodes` are `host:port` or `redis://user:password@host:port`, of which one
    /// has to answer; `name` is this process's alone.
    pub fn connect(nodes: &[String], name: [u8; 16]) -> Result<Self, StoreError> {
        let nodes = Nodes::of(nodes)?;
        let connection = Some(nodes.connect()?);
        Ok(Self {
            nodes,
            connection,
            name,
            anchor: String::new(),
        })
    }

    fn with<T>(
        &mut self,
        work: impl FnOnce(&mut ClusterConnection) -> Result<T, RedisError>,
    ) -> Result<T, StoreError> {
        self.nodes.with(&mut self.connection, work)
    }
}

impl Nodes {
    fn of(nodes: &[String]) -> Result<Self, StoreError> {
        let place = nodes.iter().map(|node| without_password(node));
        let place = format!("redis {}", place.collect::<Vec<_>>().join(","));
        let urls = nodes.iter().map(|node| match node.contains("://") {
            true => node.clone(),
            false => format!("redis://{node}"),
        });
        let client = ClusterClient::builder(urls)
            .connection_timeout(Duration::from_secs(1))
            .response_timeout(Duration::from_secs(2))
            .retries(1)
            .build();
        match client {
            Ok(client) => Ok(Self { client, place }),
            Err(error) => Err(StoreError {
                place,
                reason: format!("{error}; write HOST:PORT"),
            }),
        }
    }

    fn connect(&self) -> Result<ClusterConnection, StoreError> {
        self.client
            .get_connection()
            .map_err(|error| self.failed(&error))
    }

    /// A failed connection is given up: the next call makes a new one, which knows the new primaries.
    fn with<T>(
        &self,
        connection: &mut Option<ClusterConnection>,
        work: impl FnOnce(&mut ClusterConnection) -> Result<T, RedisError>,
    ) -> Result<T, StoreError> {
        let mut open = match connection.take() {
            Some(open) => open,
            None => self.connect()?,
        };
        let done = work(&mut open).map_err(|error| self.failed(&error))?;
        *connection = Some(open);
        Ok(done)
    }

    fn failed(&self, error: &RedisError) -> StoreError {
        let hint = match error.to_string().contains("cluster support disabled") {
            true => " (start Redis with `cluster-enabled yes`)",
            false => "",
        };
        StoreError {
            place: self.place.clone(),
            reason: format!("{error}{hint}"),
        }
    }
}

/// Passwords do not belong into logs.
fn without_password(node: &str) -> &str {
    node.rsplit_once('@').map_or(node, |(_, host)| host)
}

fn client_key(id: ClientId) -> String {
    format!("nearside:dir:client:{{{}}}", id.0)
}

fn ends_field(session: &SessionKey) -> Vec<u8> {
    [session.source, session.target]
        .map(|id| id.0.to_be_bytes())
        .concat()
}

/// The commands of one change.
fn add(pipe: &mut redis::cluster::ClusterPipeline, change: &Change) {
    use directory::Change as C;
    let set = "HSET";
    match change {
        Change::Met { session, pair } => {
            let pair = record::pack(pair);
            pipe.cmd(set).arg(SESSIONS).arg(session).arg(pair).ignore();
        }
        Change::Parted { session } => {
            pipe.cmd("HDEL").arg(SESSIONS).arg(session).ignore();
        }
        Change::Shown { id, card } => {
            let (key, card) = (client_key(*id), record::pack(card));
            pipe.cmd(set).arg(key).arg(CARD).arg(card).ignore();
        }
        // The stream has it.
        Change::Letter { .. } => {}
        Change::Directory(C::Engaged { session, relay }) => {
            let field = ends_field(session);
            pipe.cmd(set).arg(RELAYS).arg(field).arg(relay.0).ignore();
        }
        Change::Directory(C::Released { session }) => {
            pipe.cmd("HDEL")
                .arg(RELAYS)
                .arg(ends_field(session))
                .ignore();
        }
        Change::Directory(change) => add_to_client(pipe, change),
    }
}

fn add_to_client(pipe: &mut redis::cluster::ClusterPipeline, change: &directory::Change) {
    use directory::Change as C;
    let Some(id) = record::client_of(change) else {
        return;
    };
    let key = client_key(id);
    if matches!(change, C::Joined { .. } | C::Left { .. }) {
        pipe.cmd("DEL").arg(&key).ignore();
    }
    let (field, value) = match change {
        C::Left { .. } => {
            pipe.cmd("SREM").arg(CLIENTS).arg(id.0).ignore();
            return;
        }
        C::Forgotten { to, .. } => {
            pipe.cmd("HDEL").arg(&key).arg(leg_field(*to)).ignore();
            return;
        }
        C::Joined { client, at } | C::Altered { client, at } => {
            pipe.cmd("SADD").arg(CLIENTS).arg(id.0).ignore();
            let heard = record::pack(at);
            pipe.cmd("HSET").arg(&key).arg(HEARD).arg(heard).ignore();
            (NEWCOMER.to_vec(), record::pack(client))
        }
        C::Heard { at, .. } => (HEARD.to_vec(), record::pack(at)),
        C::Placed { coordinate, .. } => (PLACE.to_vec(), record::pack(coordinate)),
        C::Measured { to, rtt, at, .. } => (leg_field(*to), record::pack(&(*rtt, *at))),
        C::Engaged { .. } | C::Released { .. } => return,
    };
    pipe.cmd("HSET").arg(&key).arg(field).arg(value).ignore();
}

/// Fields of a client.
const NEWCOMER: &[u8] = b"n";
const HEARD: &[u8] = b"h";
const PLACE: &[u8] = b"p";
const CARD: &[u8] = b"c";

/// A leg's field: a letter and the number of the other end.
fn leg_field(to: ClientId) -> Vec<u8> {
    [b"l".as_slice(), &to.0.to_be_bytes()].concat()
}

type Fields = HashMap<Vec<u8>, Vec<u8>>;

fn unpack(fields: &Fields) -> Option<ClientRecord> {
    let mut legs = BTreeMap::new();
    for (field, value) in fields {
        if let Some(to) = field.strip_prefix(b"l") {
            let to = ClientId(u64::from_be_bytes(to.try_into().ok()?));
            legs.insert(to, record::unpack(value)?);
        }
    }
    let client = record::unpack(fields.get(NEWCOMER)?)?;
    let heard = record::unpack(fields.get(HEARD)?)?;
    let place = fields.get(PLACE);
    let coordinate = place.and_then(|place| record::unpack(place));
    Some(ClientRecord::of(client, heard, coordinate, legs))
}

fn read(connection: &mut ClusterConnection) -> Result<Loaded, RedisError> {
    let mut loaded = Loaded::default();
    let ids: Vec<u64> = redis::cmd("SMEMBERS").arg(CLIENTS).query(connection)?;
    let mut clients = Vec::with_capacity(ids.len());
    let mut cards = Vec::new();
    for some in ids.chunks(CLIENTS_AT_ONCE) {
        let mut pipe = cluster_pipe();
        for id in some {
            pipe.cmd("HGETALL").arg(client_key(ClientId(*id)));
        }
        let tables: Vec<Fields> = pipe.query(connection)?;
        // One without fields has left, by the word of somebody who was stopped in the middle.
        let tables = some.iter().zip(&tables);
        for (id, fields) in tables.filter(|(_, fields)| !fields.is_empty()) {
            let card = fields.get(CARD).and_then(|card| record::unpack(card));
            cards.extend(card.map(|card| (ClientId(*id), card)));
            match unpack(fields) {
                Some(client) => clients.push(client),
                None => loaded.unreadable += 1,
            }
        }
    }
    let state = &mut loaded.state;
    clients.iter().for_each(|client| client.join(state));
    clients.iter().for_each(|client| client.measure(state));
    state.cards.extend(cards);
    let sessions: HashMap<u64, Vec<u8>> = redis::cmd("HGETALL").arg(SESSIONS).query(connection)?;
    for (session, pair) in sessions {
        match record::unpack::<Pair>(&pair) {
            Some(pair) => state.apply(&Change::Met { session, pair }),
            None => loaded.unreadable += 1,
        }
    }
    let relays: HashMap<Vec<u8>, u64> = redis::cmd("HGETALL").arg(RELAYS).query(connection)?;
    for (ends, relay) in relays {
        let Some((source, target)) = ends.split_first_chunk().zip(ends.last_chunk()) else {
            continue;
        };
        let ((source, _), relay) = (source, ClientId(relay));
        let [source, target] = [source, target].map(|id| ClientId(u64::from_be_bytes(*id)));
        let session = SessionKey { source, target };
        let joined = |id| state.directory.node(id).is_some();
        if joined(source) && joined(target) {
            let engaged = directory::Change::Engaged { session, relay };
            state.apply(&Change::Directory(engaged));
        }
    }
    Ok(loaded)
}

/// The last entry of the stream; one is written if there is none, so that later reads have something to
/// begin behind.
fn last_entry(connection: &mut ClusterConnection) -> Result<String, RedisError> {
    let mut last = redis::cmd("XREVRANGE");
    last.arg(LOG).arg("+").arg("-").arg("COUNT").arg(1);
    let last: StreamRangeReply = last.query(connection)?;
    match last.ids.into_iter().next() {
        Some(entry) => Ok(entry.id),
        None => {
            let mut begin = redis::cmd("XADD");
            begin.arg(LOG).arg("*").arg("begin").arg(1);
            begin.query(connection)
        }
    }
}

impl Store for Redis {
    fn load(&mut self) -> Result<Loaded, StoreError> {
        let (anchor, loaded) = self.with(|connection| {
            // First where the stream stands: what comes meanwhile is heard twice rather than never.
            Ok((last_entry(connection)?, read(connection)?))
        })?;
        self.anchor = anchor;
        Ok(loaded)
    }

    fn write(&mut self, changes: &[Change]) -> Result<(), StoreError> {
        let mut pipe = cluster_pipe();
        changes.iter().for_each(|change| add(&mut pipe, change));
        let entry = pipe.cmd("XADD").arg(LOG).arg("MAXLEN").arg("~");
        let entry = entry.arg(LOG_ENTRIES).arg("*").arg("by").arg(&self.name);
        entry.arg("changes").arg(record::pack(&changes)).ignore();
        self.with(|connection| pipe.exec(connection))
    }

    fn watch(&mut self) -> Option<Box<dyn Watch>> {
        Some(Box::new(RedisWatch {
            nodes: self.nodes.clone(),
            connection: None,
            name: self.name,
            anchor: std::mem::take(&mut self.anchor),
        }))
    }
}

impl Watch for RedisWatch {
    fn next(&mut self) -> Result<News, StoreError> {
        let mut changes = Vec::new();
        loop {
            let entries = self.entries()?;
            // The entry that was last read is asked for too: if it is there, nothing is missing.
            if entries.first().is_none_or(|first| first.id != self.anchor) {
                return self.everything();
            }
            let count = entries.len();
            for entry in entries.into_iter().skip(1) {
                changes.extend(self.changes(&entry));
                self.anchor = entry.id;
            }
            if count < ENTRIES_AT_ONCE as usize {
                return Ok(News::Changes(changes));
            }
        }
    }
}

impl RedisWatch {
    /// The last entry that was read, and some behind it.
    fn entries(&mut self) -> Result<Vec<StreamId>, StoreError> {
        let anchor = &self.anchor;
        let reply: StreamRangeReply = self.nodes.with(&mut self.connection, |connection| {
            let mut range = redis::cmd("XRANGE");
            let range = range.arg(LOG).arg(anchor).arg("+");
            range.arg("COUNT").arg(ENTRIES_AT_ONCE).query(connection)
        })?;
        Ok(reply.ids)
    }

    /// What another directory wrote into an entry; nothing of our own.
    fn changes(&self, entry: &StreamId) -> Vec<Change> {
        let bytes = |name: &str| match entry.map.get(name) {
            Some(Value::BulkString(bytes)) => Some(bytes.as_slice()),
            _ => None,
        };
        if bytes("by") == Some(&self.name) {
            return Vec::new();
        }
        let written = bytes("changes").and_then(record::unpack::<Vec<Change>>);
        written.unwrap_or_default()
    }

    /// What was missed is gone from the log: how everything stands now.
    fn everything(&mut self) -> Result<News, StoreError> {
        let (anchor, loaded) = self.nodes.with(&mut self.connection, |connection| {
            Ok((last_entry(connection)?, read(connection)?))
        })?;
        self.anchor = anchor;
        Ok(News::Everything(Box::new(loaded.state)))
    }
}
