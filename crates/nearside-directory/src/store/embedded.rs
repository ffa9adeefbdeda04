//! A file of its own: `redb`, which survives being killed at any moment.
//!
//! A group of changes is one transaction: the records of the clients that they are about are read,
//! changed and written, each once. After one failed write `redb` refuses all others until its file was
//! closed and opened again, so a handle that has failed is given up.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io;
use std::path::{Path, PathBuf};

use nearside_detour::ClientId;
use nearside_detour::directory::{self, SessionKey};
use nearside_tunnel::service::{Change, Pair};
use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition, WriteTransaction};

use super::record::{self, ClientRecord};
use super::{Loaded, Store, StoreError};

/// Clients by their numbers.
const CLIENTS: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("clients");
/// Sessions by theirs.
const SESSIONS: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("sessions");
/// Which relay two ends use.
const RELAYS: TableDefinition<'_, (u64, u64), u64> = TableDefinition::new("relays");

/// Pages kept in memory. What is known is in the engine, so little is needed.
const CACHE_BYTES: usize = 16 << 20;

/// The embedded store.
#[derive(Debug)]
pub struct Embedded {
    path: PathBuf,
    /// `None` after a failure.
    database: Option<Database>,
}

impl Embedded {
    /// Opens the file, or makes it.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let mut store = Self {
            path: path.to_owned(),
            database: None,
        };
        store.with_database(|_| Ok(()))?;
        Ok(store)
    }

    /// Does something with the database, which is opened if it is not; one that fails is closed.
    fn with_database<T>(
        &mut self,
        work: impl FnOnce(&Database) -> Result<T, redb::Error>,
    ) -> Result<T, StoreError> {
        let opened = match self.database.take() {
            Some(database) => Ok(database),
            None => create(&self.path),
        };
        let done = opened.and_then(|database| {
            let result = work(&database)?;
            Ok((database, result))
        });
        match done {
            Ok((database, result)) => {
                self.database = Some(database);
                Ok(result)
            }
            Err(error) => Err(StoreError {
                place: self.path.display().to_string(),
                reason: error.to_string(),
            }),
        }
    }
}

/// With all tables, so that reading need not ask whether they are there.
fn create(path: &Path) -> Result<Database, redb::Error> {
    make_for_owner(path).map_err(redb::StorageError::Io)?;
    let mut builder = redb::Builder::new();
    let database = builder.set_cache_size(CACHE_BYTES).create(path)?;
    let transaction = database.begin_write()?;
    transaction.open_table(CLIENTS)?;
    transaction.open_table(SESSIONS)?;
    transaction.open_table(RELAYS)?;
    transaction.commit()?;
    Ok(database)
}

/// Where players are is nobody's business but the operator's: a new file is empty, and its owner's alone.
fn make_for_owner(path: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    match options.open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made.map(drop),
    }
}

fn read(database: &Database) -> Result<Loaded, redb::Error> {
    let mut loaded = Loaded::default();
    let transaction = database.begin_read()?;
    let mut clients = Vec::new();
    for entry in transaction.open_table(CLIENTS)?.iter()? {
        match record::unpack::<ClientRecord>(entry?.1.value()) {
            Some(client) => clients.push(client),
            None => loaded.unreadable += 1,
        }
    }
    let state = &mut loaded.state;
    clients.iter().for_each(|client| client.join(state));
    clients.iter().for_each(|client| client.measure(state));
    for entry in transaction.open_table(SESSIONS)?.iter()? {
        let (session, pair) = entry?;
        let session = session.value();
        match record::unpack::<Pair>(pair.value()) {
            Some(pair) => state.apply(&Change::Met { session, pair }),
            None => loaded.unreadable += 1,
        }
    }
    for entry in transaction.open_table(RELAYS)?.iter()? {
        let (ends, relay) = entry?;
        let (source, target) = ends.value();
        let session = SessionKey {
            source: ClientId(source),
            target: ClientId(target),
        };
        let relay = ClientId(relay.value());
        let engaged = directory::Change::Engaged { session, relay };
        loaded.state.apply(&Change::Directory(engaged));
    }
    Ok(loaded)
}

fn commit(database: &Database, changes: &[Change]) -> Result<(), redb::Error> {
    let mut transaction = database.begin_write()?;
    // The next start after a crash then need not walk through the whole file.
    transaction.set_quick_repair(true);
    commit_clients(&transaction, changes)?;
    commit_sessions(&transaction, changes)?;
    transaction.commit()?;
    Ok(())
}

fn commit_clients(transaction: &WriteTransaction, changes: &[Change]) -> Result<(), redb::Error> {
    let mut table = transaction.open_table(CLIENTS)?;
    let mut records: BTreeMap<ClientId, Option<ClientRecord>> = BTreeMap::new();
    for change in changes {
        let Change::Directory(change) = change else {
            continue;
        };
        let Some(id) = record::client_of(change) else {
            continue;
        };
        let before = match records.remove(&id) {
            Some(touched) => touched,
            None => table
                .get(id.0)?
                .and_then(|bytes| record::unpack(bytes.value())),
        };
        records.insert(id, record::apply(before, change));
    }
    for (id, record) in records {
        match record {
            Some(record) => table.insert(id.0, record::pack(&record).as_slice())?,
            None => table.remove(id.0)?,
        };
    }
    Ok(())
}

fn commit_sessions(transaction: &WriteTransaction, changes: &[Change]) -> Result<(), redb::Error> {
    let mut sessions = transaction.open_table(SESSIONS)?;
    let mut relays = transaction.open_table(RELAYS)?;
    let ends = |key: &SessionKey| (key.source.0, key.target.0);
    for change in changes {
        match change {
            Change::Met { session, pair } => {
                sessions.insert(session, record::pack(pair).as_slice())?;
            }
            Change::Parted { session } => {
                sessions.remove(session)?;
            }
            Change::Directory(directory::Change::Engaged { session, relay }) => {
                relays.insert(ends(session), relay.0)?;
            }
            Change::Directory(directory::Change::Released { session }) => {
                relays.remove(ends(session))?;
            }
            Change::Directory(directory::Change::Left { id }) => {
                let involved = |(source, target): (u64, u64), relay: u64| {
                    [source, target, relay].contains(&id.0)
                };
                relays.retain(|ends, relay| !involved(ends, relay))?;
            }
            Change::Directory(_) | Change::Shown { .. } | Change::Letter { .. } => {}
        }
    }
    Ok(())
}

impl Store for Embedded {
    fn load(&mut self) -> Result<Loaded, StoreError> {
        self.with_database(read)
    }

    fn write(&mut self, changes: &[Change]) -> Result<(), StoreError> {
        self.with_database(|database| commit(database, changes))
    }
}
