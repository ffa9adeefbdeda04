//! Sessions in a store: the set-up of each, its events by number, and from time to time a snapshot. An
//! event is safe when `append` returns; what a session is, is what the events after its snapshot make
//! of that.

use std::path::Path;

use redb::backends::InMemoryBackend;
use redb::{Builder, Database, ReadableDatabase, ReadableTable, TableDefinition};

/// Set-ups by session, as JSON.
const SETUPS: TableDefinition<'_, &str, &str> = TableDefinition::new("setups");
/// Events by session and number, as JSON.
const EVENTS: TableDefinition<'_, (&str, u64), &str> = TableDefinition::new("events");
/// The last snapshot of a session, with the number of events it includes.
const SNAPSHOTS: TableDefinition<'_, &str, (u64, &str)> = TableDefinition::new("snapshots");
/// Sessions are read once, when they are first asked for.
const CACHE_BYTES: usize = 16 << 20;

/// An embedded store, locked against other processes while it is open.
pub(super) struct Store(Database);

/// What a session is made from.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Saved {
    pub(super) setup: String,
    pub(super) snapshot: Option<String>,
    /// The events after the snapshot.
    pub(super) events: Vec<String>,
}

type Result<T> = std::result::Result<T, redb::Error>;

impl Store {
    /// Opens a file, or makes it.
    pub(super) fn open(path: &Path) -> Result<Self> {
        Self::of(Self::builder().create(path)?)
    }

    /// One that is gone with the process.
    pub(super) fn in_memory() -> Result<Self> {
        Self::of(Self::builder().create_with_backend(InMemoryBackend::new())?)
    }

    fn builder() -> Builder {
        let mut builder = Database::builder();
        builder.set_cache_size(CACHE_BYTES);
        builder
    }

    fn of(database: Database) -> Result<Self> {
        let tables = database.begin_write()?;
        tables.open_table(SETUPS)?;
        tables.open_table(EVENTS)?;
        tables.open_table(SNAPSHOTS)?;
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

    /// An event, and with some of them the session as it is afterwards.
    pub(super) fn append(
        &self,
        id: &str,
        number: u64,
        event: &str,
        snapshot: Option<&str>,
    ) -> Result<()> {
        let change = self.0.begin_write()?;
        change.open_table(EVENTS)?.insert((id, number), event)?;
        if let Some(snapshot) = snapshot {
            let mut snapshots = change.open_table(SNAPSHOTS)?;
            snapshots.insert(id, (number, snapshot))?;
        }
        change.commit()?;
        Ok(())
    }

    pub(super) fn remove(&self, id: &str) -> Result<()> {
        let change = self.0.begin_write()?;
        change.open_table(SETUPS)?.remove(id)?;
        change.open_table(SNAPSHOTS)?.remove(id)?;
        let all = (id, 0)..=(id, u64::MAX);
        change.open_table(EVENTS)?.retain_in(all, |_, _| false)?;
        change.commit()?;
        Ok(())
    }

    /// What a session is made from; `None` if there is none.
    pub(super) fn load(&self, id: &str) -> Result<Option<Saved>> {
        let read = self.0.begin_read()?;
        let snapshot = read.open_table(SNAPSHOTS)?.get(id)?;
        let snapshot = snapshot.map(|entry| (entry.value().0, entry.value().1.to_owned()));
        let after = snapshot.as_ref().map_or(0, |(number, _)| *number);
        self.read(id, snapshot.map(|(_, text)| text), after)
    }

    /// A session from its beginning; `None` if there is none.
    pub(super) fn log(&self, id: &str) -> Result<Option<Saved>> {
        self.read(id, None, 0)
    }

    fn read(&self, id: &str, snapshot: Option<String>, after: u64) -> Result<Option<Saved>> {
        let read = self.0.begin_read()?;
        let Some(setup) = read.open_table(SETUPS)?.get(id)? else {
            return Ok(None);
        };
        let mut events = Vec::new();
        let later = (id, after.saturating_add(1))..=(id, u64::MAX);
        for entry in read.open_table(EVENTS)?.range(later)? {
            events.push(entry?.1.value().to_owned());
        }
        Ok(Some(Saved {
            setup: setup.value().to_owned(),
            snapshot,
            events,
        }))
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
            let text = number.to_string();
            let snapshot = (number % 4 == 0).then_some(text.as_str());
            store.append("a", number, &text, snapshot).unwrap();
        }
        store.append("ab", 1, "other", None).unwrap();
        drop(store);

        let store = Store::open(&folder).unwrap();
        assert_eq!(store.ids().unwrap(), ["a", "ab"]);
        let saved = store.load("a").unwrap().unwrap();
        assert_eq!(saved.setup, "setup of a");
        assert_eq!(saved.snapshot.as_deref(), Some("8"));
        assert_eq!(saved.events, ["9", "10", "11"]);
        assert_eq!(store.log("a").unwrap().unwrap().events.len(), 11);
        store.remove("a").unwrap();
        assert_eq!(store.load("a").unwrap(), None);
        assert_eq!(store.load("ab").unwrap().unwrap().events, ["other"]);
        std::fs::remove_file(&folder).unwrap();
    }

    fn tempfile() -> std::path::PathBuf {
        let name = format!("nearside-store-{}.redb", std::process::id());
        std::env::temp_dir().join(name)
    }
}
