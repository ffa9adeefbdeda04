//! A file of its own: `redb`, which survives being killed at any moment.
//!
//! After one failed write, as on a full disk, `redb` refuses all others until its file was closed and
//! opened again. So a handle that has failed is given up, and the next write begins with a new one.

use std::path::{Path, PathBuf};

use nearside_registry::packed;
use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition};

use super::{Change, Loaded, Store, StoreError};

const SERVERS: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("servers");

/// The embedded store.
#[derive(Debug)]
pub struct Embedded {
    path: PathBuf,
    /// `None` after a failure.
    database: Option<Database>,
}

/// Pages kept in memory. The servers themselves are in the registry, so little is needed.
const CACHE_BYTES: usize = 16 << 20;

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
        let done = match self.database.take() {
            Some(database) => Ok(database),
            None => create(&self.path),
        };
        let done = done.and_then(|database| {
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

fn create(path: &Path) -> Result<Database, redb::Error> {
    let mut builder = redb::Builder::new();
    Ok(builder.set_cache_size(CACHE_BYTES).create(path)?)
}

fn read(database: &Database) -> Result<Loaded, redb::Error> {
    let mut loaded = Loaded::default();
    let transaction = database.begin_read()?;
    let table = match transaction.open_table(SERVERS) {
        Ok(table) => table,
        // A new file.
        Err(redb::TableError::TableDoesNotExist(_)) => return Ok(loaded),
        Err(error) => return Err(error.into()),
    };
    for entry in table.iter()? {
        let (key, record) = entry?;
        match packed::unpack(key.value(), record.value()) {
            Ok(server) => loaded.servers.push(server),
            Err(_) => loaded.unreadable += 1,
        }
    }
    Ok(loaded)
}

fn commit(database: &Database, changes: &[Change]) -> Result<(), redb::Error> {
    let mut transaction = database.begin_write()?;
    // The next start after a crash then need not walk through the whole file.
    transaction.set_quick_repair(true);
    {
        let mut table = transaction.open_table(SERVERS)?;
        for change in changes {
            match change {
                Change::Put(server) => {
                    let (key, record) = (packed::key(server.addr), packed::pack(server));
                    table.insert(key.as_slice(), record.as_slice())?;
                }
                Change::Remove(addr) => {
                    table.remove(packed::key(*addr).as_slice())?;
                }
            }
        }
    }
    transaction.commit()?;
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
