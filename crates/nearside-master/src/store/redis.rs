//! A Redis Cluster that several front ends share.
//!
//! Each server has a place in one of 64 parts, by the hash of its address. A part is a hash
//! `nearside:reg:{N}` (field: the packed address, value: the packed record, whose expiry is
//! absolute) and a stream `nearside:log:{N}` of what was written to it; the braces put both on one
//! node, so that one script writes both. The stream only says what is new: whoever lags so far
//! behind that it was cut, or whose last entry went down with a primary, reads the hash again.
//!
//! Nothing is deleted on the word of one front end: expiries are absolute, each sweeps for itself,
//! and a record is dropped only when its own expiry has passed by the node's clock. A front end whose
//! clock is ahead can neither drop what others keep nor write what nobody can renew.

use std::collections::HashMap;
use std::hash::Hasher;
use std::time::Duration;

use nearside_registry::{Secret, Server, Standing, packed};
use nearside_types::ServerAddr;
use redis::cluster::{ClusterClient, ClusterConnection, cluster_pipe};
use redis::streams::StreamRangeReply;
use redis::{RedisError, Value};
use siphasher::sip::SipHasher13;

use super::{Change, Loaded, News, Part, Store, StoreError, Watch};

/// The writing side, and the loading of everything.
pub struct Redis {
    nodes: Nodes,
    connection: Option<ClusterConnection>,
    /// Where the streams stood when everything was loaded.
    anchors: Vec<String>,
}

/// The reading side: what other front ends write.
struct RedisWatch {
    nodes: Nodes,
    connection: Option<ClusterConnection>,
    anchors: Vec<String>,
    secret: Option<Secret>,
    /// What is wrong with the key of cookies; all else goes on.
    trouble: Option<String>,
}

/// Where the cluster is.
#[derive(Clone)]
struct Nodes {
    client: ClusterClient,
    /// Without passwords, for messages.
    place: String,
}

/// Parts of the registry. Each is read as a whole, so a million servers come in answers of 2 MB.
const PARTS: u32 = 64;

/// Entries of each stream: enough for a front end that is away for seconds while 100,000 servers
/// come up, and 40 MB in all.
const STREAM_ENTRIES: u32 = 4096;

/// The key of cookies.
const COOKIE: &str = "nearside:cookie";

/// Longer than any server stays on a list unheard of, in milliseconds: a day. What expires later was
/// dated by a clock that is wrong.
const LONGEST_TIMEOUT_MS: u32 = 24 * 3600 * 1000;

/// Writes records that are newer than what is there, and says so in the stream. The expiry stands
/// behind version and flags, see `packed`.
const PUT: &str = "
local function expiry(record) return struct.unpack('>I8', record, 3) end
local time = redis.call('TIME')
local latest = time[1] * 1000 + math.floor(time[2] / 1000) + tonumber(ARGV[2])
for i = 3, #ARGV, 2 do
  local field, record = ARGV[i], ARGV[i + 1]
  local known = redis.call('HGET', KEYS[1], field)
  if not known or expiry(known) < expiry(record)
     or (expiry(known) == expiry(record) and known ~= record)
     or (expiry(known) > latest and known ~= record) then
    redis.call('HSET', KEYS[1], field, record)
    redis.call('XADD', KEYS[2], 'MAXLEN', '~', ARGV[1], '*', 'k', field, 'r', record)
  end
end
return 1";

/// Drops records whose time is up, by the node's clock.
const SWEEP: &str = "
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
for i = 1, #ARGV do
  local known = redis.call('HGET', KEYS[1], ARGV[i])
  if known and struct.unpack('>I8', known, 3) <= now then
    redis.call('HDEL', KEYS[1], ARGV[i])
  end
end
return 1";

/// Records of one script call; longer ones would keep a node from its other clients.
const RECORDS_PER_CALL: usize = 200;

impl std::fmt::Debug for Redis {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Redis").field(&self.nodes.place).finish()
    }
}

impl Redis {
    /// Connects to the cluster. `nodes` are `host:port` or `redis://user:password@host:port`, of
    /// which one has to answer.
    pub fn connect(nodes: &[String]) -> Result<Self, StoreError> {
        let nodes = Nodes::of(nodes)?;
        let connection = nodes.connect()?;
        Ok(Self {
            nodes,
            connection: Some(connection),
            anchors: Vec::new(),
        })
    }

    /// The key of cookies that all front ends share; `own` becomes it if there is none yet.
    pub fn shared_secret(&mut self, own: Secret) -> Result<Secret, StoreError> {
        let nodes = self.nodes.clone();
        let connection = self.connected()?;
        match shared_secret(connection, own).map_err(|error| nodes.failed(&error))? {
            Ok(shared) => Ok(shared),
            Err(WrongLength(reason)) => Err(StoreError {
                place: nodes.place,
                reason,
            }),
        }
    }

    fn connected(&mut self) -> Result<&mut ClusterConnection, StoreError> {
        let nodes = &self.nodes;
        connected(nodes, &mut self.connection)
    }

    /// A failed connection is given up: the next call makes a new one, which knows the new primaries.
    fn give_up(&mut self, error: &RedisError) -> StoreError {
        self.connection = None;
        self.nodes.failed(error)
    }
}

impl Nodes {
    fn of(nodes: &[String]) -> Result<Self, StoreError> {
        let place = nodes.iter().map(|node| without_password(node));
        let place = format!("redis {}", place.collect::<Vec<_>>().join(","));
        let fail = |reason: String| StoreError {
            place: place.clone(),
            reason,
        };
        if nodes.is_empty() {
            return Err(fail("no node is named".to_owned()));
        }
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
            Err(error) => Err(fail(format!("{error}; write HOST:PORT"))),
        }
    }

    fn connect(&self) -> Result<ClusterConnection, StoreError> {
        self.client
            .get_connection()
            .map_err(|error| self.failed(&error))
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

fn connected<'a>(
    nodes: &Nodes,
    connection: &'a mut Option<ClusterConnection>,
) -> Result<&'a mut ClusterConnection, StoreError> {
    match connection {
        Some(connection) => Ok(connection),
        None => Ok(connection.insert(nodes.connect()?)),
    }
}

fn registry_key(part: u32) -> String {
    format!("nearside:reg:{{{part}}}")
}

fn log_key(part: u32) -> String {
    format!("nearside:log:{{{part}}}")
}

fn part_of(addr: ServerAddr) -> u32 {
    let mut hasher = SipHasher13::new();
    hasher.write(&packed::key(addr));
    (hasher.finish() % u64::from(PARTS)) as u32
}

/// Something else lies where the key should; with what to do about it.
struct WrongLength(String);

fn shared_secret(
    connection: &mut ClusterConnection,
    own: Secret,
) -> Result<Result<Secret, WrongLength>, RedisError> {
    let mut set = redis::cmd("SET");
    let _: Value = set
        .arg(COOKIE)
        .arg(&own.0[..])
        .arg("NX")
        .query(connection)?;
    let shared: Vec<u8> = redis::cmd("GET").arg(COOKIE).query(connection)?;
    let length = shared.len();
    let secret = <[u8; 16]>::try_from(shared).map(Secret);
    Ok(secret.map_err(|_| {
        WrongLength(format!(
            "the key `{COOKIE}` holds {length} bytes instead of 16, so front ends would refuse each \
             other's cookies; delete it (`redis-cli -c del {COOKIE}`), and one of them writes a new one"
        ))
    }))
}

/// The last entry of each stream; one is written where there is none, so that later reads have
/// something to begin behind.
fn anchors(connection: &mut ClusterConnection, parts: &[u32]) -> Result<Vec<String>, RedisError> {
    let mut pipe = cluster_pipe();
    for part in parts {
        pipe.cmd("XREVRANGE")
            .arg(log_key(*part))
            .arg("+")
            .arg("-")
            .arg("COUNT")
            .arg(1);
    }
    let last: Vec<StreamRangeReply> = pipe.query(connection)?;
    let mut anchors = Vec::new();
    for (part, reply) in parts.iter().zip(last) {
        anchors.push(match reply.ids.into_iter().next() {
            Some(entry) => entry.id,
            None => {
                let mut begin = redis::cmd("XADD");
                begin.arg(log_key(*part)).arg("*").arg("begin").arg(1);
                begin.query(connection)?
            }
        });
    }
    Ok(anchors)
}

/// Everything in some parts, and where their streams stood before it was read.
fn read_parts(
    connection: &mut ClusterConnection,
    parts: &[u32],
) -> Result<(Vec<String>, Loaded), RedisError> {
    let anchors = anchors(connection, parts)?;
    let mut pipe = cluster_pipe();
    for part in parts {
        pipe.cmd("HGETALL").arg(registry_key(*part));
    }
    let tables: Vec<HashMap<Vec<u8>, Vec<u8>>> = pipe.query(connection)?;
    let mut loaded = Loaded::default();
    for (key, record) in tables.into_iter().flatten() {
        match unpack(&key, &record) {
            Some(server) => loaded.servers.push(server),
            None => loaded.unreadable += 1,
        }
    }
    Ok((anchors, loaded))
}

/// A server that another front end vouches for, or this one before it was restarted.
fn unpack(key: &[u8], record: &[u8]) -> Option<Server> {
    let server = packed::unpack(key, record).ok()?;
    Some(Server {
        standing: Standing::Vouched,
        ..server
    })
}

fn all_parts() -> Vec<u32> {
    (0..PARTS).collect()
}

impl Store for Redis {
    fn load(&mut self) -> Result<Loaded, StoreError> {
        let read = read_parts(self.connected()?, &all_parts());
        let (anchors, loaded) = read.map_err(|error| self.give_up(&error))?;
        self.anchors = anchors;
        Ok(loaded)
    }

    fn write(&mut self, changes: &[Change]) -> Result<(), StoreError> {
        let mut puts: Vec<Vec<Vec<u8>>> = vec![Vec::new(); PARTS as usize];
        let mut sweeps = puts.clone();
        for change in changes {
            let part = part_of(change.addr()) as usize;
            let key = packed::key(change.addr());
            match change {
                Change::Put(server) => puts[part].extend([key, packed::pack(server)]),
                Change::Remove(_) => sweeps[part].push(key),
            }
        }
        let mut pipe = cluster_pipe();
        for (part, (puts, sweeps)) in (0..).zip(puts.iter().zip(&sweeps)) {
            let keys = [registry_key(part), log_key(part)];
            for some in puts.chunks(2 * RECORDS_PER_CALL) {
                let script = pipe.cmd("EVAL").arg(PUT).arg(2).arg(&keys);
                let script = script.arg(STREAM_ENTRIES).arg(LONGEST_TIMEOUT_MS);
                script.arg(some).ignore();
            }
            for some in sweeps.chunks(RECORDS_PER_CALL) {
                let script = pipe.cmd("EVAL").arg(SWEEP).arg(2).arg(&keys);
                script.arg(some).ignore();
            }
        }
        let written = pipe.exec(self.connected()?);
        written.map_err(|error| self.give_up(&error))
    }

    fn watch(&mut self) -> Option<Box<dyn Watch>> {
        Some(Box::new(RedisWatch {
            nodes: self.nodes.clone(),
            connection: None,
            anchors: std::mem::take(&mut self.anchors),
            secret: None,
            trouble: None,
        }))
    }
}

impl RedisWatch {
    fn read(&mut self) -> Result<Vec<News>, RedisError> {
        let connection = self.connection.as_mut().expect("connected before reading");
        let mut news = Vec::new();
        if let Some(own) = self.secret {
            let shared = shared_secret(connection, own)?;
            if let Some(shared) = shared.as_ref().ok().filter(|shared| **shared != own) {
                self.secret = Some(*shared);
                news.push(News::Secret(*shared));
            }
            self.trouble = shared.err().map(|WrongLength(reason)| reason);
        }
        let mut pipe = cluster_pipe();
        for (part, anchor) in (0..PARTS).zip(&self.anchors) {
            pipe.cmd("XRANGE")
                .arg(log_key(part))
                .arg(anchor)
                .arg("+")
                .arg("COUNT")
                .arg(ENTRIES_AT_ONCE);
        }
        let replies: Vec<StreamRangeReply> = pipe.query(connection)?;
        let mut lost = Vec::new();
        let mut servers = Vec::new();
        for (part, reply) in (0..PARTS).zip(replies) {
            let anchor = &mut self.anchors[part as usize];
            // The entry that was last read is asked for too: if it is there, nothing is missing.
            if reply.ids.first().is_none_or(|first| first.id != *anchor) {
                lost.push(part);
                continue;
            }
            for entry in reply.ids.into_iter().skip(1) {
                let bytes = |name: &str| match entry.map.get(name) {
                    Some(Value::BulkString(bytes)) => Some(bytes.as_slice()),
                    _ => None,
                };
                let put = bytes("k").zip(bytes("r"));
                servers.extend(put.and_then(|(key, record)| unpack(key, record)));
                *anchor = entry.id;
            }
        }
        if !servers.is_empty() {
            news.push(News::Servers(servers));
        }
        if !lost.is_empty() {
            news.push(self.read_again(lost)?);
        }
        Ok(news)
    }

    fn read_again(&mut self, parts: Vec<u32>) -> Result<News, RedisError> {
        let connection = self.connection.as_mut().expect("connected before reading");
        let (anchors, loaded) = read_parts(connection, &parts)?;
        for (part, anchor) in parts.iter().zip(anchors) {
            self.anchors[*part as usize] = anchor;
        }
        Ok(News::Reloaded {
            parts: Part::new(parts, part_of),
            servers: loaded.servers,
        })
    }
}

/// Entries of one stream that are taken in at a time.
const ENTRIES_AT_ONCE: u32 = 1000;

impl Watch for RedisWatch {
    fn begin(&mut self, secret: Secret) {
        self.secret = Some(secret);
    }

    fn trouble(&self) -> Option<String> {
        self.trouble.clone()
    }

    fn next(&mut self) -> Result<Vec<News>, StoreError> {
        connected(&self.nodes, &mut self.connection)?;
        self.read().map_err(|error| {
            self.connection = None;
            self.nodes.failed(&error)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_the_nodes_and_never_a_password() {
        let nodes = ["10.0.0.1:7000", "b:7001"].map(|node| format!("redis://us:secret@{node}"));
        let place = Nodes::of(&nodes).unwrap().place;
        assert_eq!(place, "redis 10.0.0.1:7000,b:7001");
        let message = Nodes::of(&[]).err().unwrap().to_string();
        assert!(message.contains("no node is named"), "{message}");
    }

    #[test]
    fn servers_spread_over_all_parts() {
        let mut counts = vec![0; PARTS as usize];
        for number in 0..6400_u32 {
            let ip = std::net::Ipv4Addr::from_bits(0x7F01_0000 + number).into();
            counts[part_of(ServerAddr::new(ip, 27960).unwrap()) as usize] += 1;
        }
        assert!(
            counts.iter().all(|count| (50..160).contains(count)),
            "{counts:?}"
        );
    }

    #[test]
    fn nobody_there_is_said_soon_and_with_the_place() {
        let began = std::time::Instant::now();
        let error = Redis::connect(&["127.0.0.1:1".to_owned()]).unwrap_err();
        assert!(error.to_string().contains("redis 127.0.0.1:1"), "{error}");
        assert!(began.elapsed() < Duration::from_secs(10));
    }
}
