//! Expiries in a store are those of the wall clock, whatever has become of it since this process
//! started: other processes read them.

use nearside_registry::{Secret, Server};

use super::{Change, Loaded, News, Store, StoreError, Watch};
use crate::wall::Step;

/// A store that dates what it keeps by the wall clock.
#[derive(Debug)]
pub(crate) struct Dated<S> {
    store: S,
    step: Step,
}

impl<S: Store> Dated<S> {
    pub(crate) const fn new(store: S, step: Step) -> Self {
        Self { store, step }
    }
}

impl<S: Store> Store for Dated<S> {
    fn load(&mut self) -> Result<Loaded, StoreError> {
        let mut loaded = self.store.load()?;
        undate(&mut loaded.servers, &self.step);
        Ok(loaded)
    }

    fn write(&mut self, changes: &[Change]) -> Result<(), StoreError> {
        // Nearly always: a clock that is right when a master starts stays right.
        if self.step.ms() == 0 {
            return self.store.write(changes);
        }
        let dated: Vec<Change> = changes
            .iter()
            .map(|change| date(change, &self.step))
            .collect();
        self.store.write(&dated)
    }

    fn watch(&mut self) -> Option<Box<dyn Watch>> {
        let watch = self.store.watch()?;
        let step = self.step.clone();
        Some(Box::new(DatedWatch { watch, step }))
    }
}

fn date(change: &Change, step: &Step) -> Change {
    match change {
        Change::Put(server) => Change::Put(Box::new(Server {
            expires: step.to_wall(server.expires),
            ..Server::clone(server)
        })),
        Change::Remove(addr) => Change::Remove(*addr),
    }
}

fn undate(servers: &mut [Server], step: &Step) {
    for server in servers {
        server.expires = step.of_wall(server.expires);
    }
}

struct DatedWatch {
    watch: Box<dyn Watch>,
    step: Step,
}

impl Watch for DatedWatch {
    fn begin(&mut self, secret: Secret) {
        self.watch.begin(secret);
    }

    fn next(&mut self) -> Result<Vec<News>, StoreError> {
        let mut news = self.watch.next()?;
        for one in &mut news {
            match one {
                News::Servers(servers) | News::Reloaded { servers, .. } => {
                    undate(servers, &self.step);
                }
                News::Secret(_) => {}
            }
        }
        Ok(news)
    }

    fn trouble(&self) -> Option<String> {
        self.watch.trouble()
    }
}
