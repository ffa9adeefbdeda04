//! A file of its own: `redb`, which survives being killed at any moment.

use std::path::Path;

use nearside_registry::packed;
use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition};

use super::{Change, Loaded, Store, StoreError};

const SERVERS: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("servers");

/// The embedded store.
#[derive(Debug)]
pub struct Embedded {
    database: Database,
    place: String,
}

/// Pages kept in memory. The servers themselves are in the registry, so little is needed.
const CACHE_BYTES: usize = 16 << 20;

impl Embedded {
    /// Opens the file, or makes it.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let place = path.display().to_string();
        let fail = |reason: String| StoreError {
            place: place.clone(),
            reason,
        };
        let database = redb::Builder::new()
            .set_cache_size(CACHE_BYTES)
            .create(path)
            .map_err(|error| fail(error.to_string()))?;
        Ok(Self { database, place })
    }

    fn failed(&self, error: impl Into<redb::Error>) -> StoreError {
        StoreError {
            place: self.place.clone(),
            reason: error.into().to_string(),
        }
    }

    fn read(&self) -> Result<Loaded, redb::Error> {
        let mut loaded = Loaded::default();
        let transaction = self.database.begin_read()?;
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

    fn commit(&self, changes: &[Change]) -> Result<(), redb::Error> {
        let mut transaction = self.database.begin_write()?;
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
}

impl Store for Embedded {
    fn load(&mut self) -> Result<Loaded, StoreError> {
        self.read().map_err(|error| self.failed(error))
    }

    fn write(&mut self, changes: &[Change]) -> Result<(), StoreError> {
        self.commit(changes).map_err(|error| self.failed(error))
    }
}
