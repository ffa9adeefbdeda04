//! Sessions on disk: the set-up of each, and its events by number. An event is safe when `append`
//! returns; what a session was is what its events make of it.

use std::path::Path;

use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition};

/// Set-ups by session, as JSON.
const SETUPS: TableDefinition<'_, &str, &str> = TableDefinition::new("setups");
/// Events by session and number, as JSON.
const EVENTS: TableDefinition<'_, (&str, u64), &str> = TableDefinition::new("events");
/// Sessions are read once, when they are first asked for.
const CACHE_BYTES: usize = 16 << 20;

/// An embedded store, locked against other processes while it is open.
pub(super) struct Store(Database);

type Result<T> = std::result::Result<T, redb::Error>;

impl Store {
    /// Opens a file, or makes it.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let database = Database::builder()
            .set_cache_size(CACHE_BYTES)
            .create(path)?;
        let tables = database.begin_write()?;
        tables.open_table(SETUPS)?;
        tables.open_table(EVENTS)?;
        tables.commit()?;
        Ok(Self(database))
    }

    /// All sessions.
    pub(super) fn ids(&self) -> Result<Vec<String>> {
        let setups = self.0.begin_read()?.open_table(SETUPS)?;
        let id = |entry: std::result::Result<(redb::AccessGuard<'_, &str>, _), _>| {
            Ok(entry?.0.value().to_owned())
        };
        setups.iter()?.map(id).collect()
    }

    pub(super) fn create(&self, id: &str, setup: &str) -> Result<()> {
        let change = self.0.begin_write()?;
        change.open_table(SETUPS)?.insert(id, setup)?;
        change.commit()?;
        Ok(())
    }

    pub(super) fn append(&self, id: &str, number: u64, event: &str) -> Result<()> {
        let change = self.0.begin_write()?;
        change.open_table(EVENTS)?.insert((id, number), event)?;
        change.commit()?;
        Ok(())
    }

    pub(super) fn remove(&self, id: &str) -> Result<()> {
        let change = self.0.begin_write()?;
        change.open_table(SETUPS)?.remove(id)?;
        let all = (id, 0)..=(id, u64::MAX);
        change.open_table(EVENTS)?.retain_in(all, |_, _| false)?;
        change.commit()?;
        Ok(())
    }

    /// A session as the lines of its log; `None` if there is none.
    pub(super) fn log(&self, id: &str) -> Result<Option<Vec<String>>> {
        let read = self.0.begin_read()?;
        let Some(setup) = read.open_table(SETUPS)?.get(id)? else {
            return Ok(None);
        };
        let mut lines = vec![setup.value().to_owned()];
        for entry in read.open_table(EVENTS)?.range((id, 0)..=(id, u64::MAX))? {
            lines.push(entry?.1.value().to_owned());
        }
        Ok(Some(lines))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_come_back_in_order_and_apart_from_each_other() {
        let folder = tempfile();
        let store = Store::open(&folder).unwrap();
        for id in ["a", "ab"] {
            store.create(id, &format!("setup of {id}")).unwrap();
        }
        for number in 1..=11 {
            store.append("a", number, &number.to_string()).unwrap();
        }
        store.append("ab", 1, "other").unwrap();
        drop(store);

        let store = Store::open(&folder).unwrap();
        assert_eq!(store.ids().unwrap(), ["a", "ab"]);
        let log = store.log("a").unwrap().unwrap();
        assert_eq!(log[0], "setup of a");
        assert_eq!((log[2].as_str(), log[11].as_str()), ("2", "11"));
        store.remove("a").unwrap();
        assert_eq!(store.log("a").unwrap(), None);
        assert_eq!(store.log("ab").unwrap().unwrap().len(), 2);
        std::fs::remove_file(&folder).unwrap();
    }

    fn tempfile() -> std::path::PathBuf {
        let name = format!("nearside-store-{}.redb", std::process::id());
        std::env::temp_dir().join(name)
    }
}
