//! The general instrument: methods side by side on the same instances, one row for each run.

mod calibration;
mod row;
mod tables;

use nearside_types::Listed;
use nearside_world::{Fraction, Population};

use crate::batch::{Progress, parallel};
use crate::labels::{Label, mislabel, unlabel};
use crate::method::Method;
use crate::scene::{Conditions, Scene, UnknownClient, World};
use crate::score::Score;
use crate::seeds::Seeds;

pub use calibration::{CalibratedBy, Calibration, calibration, calibration_table};
pub use row::Row;
pub use tables::{every_run, over_seeds};

/// What to compare.
#[derive(Debug, Clone)]
pub struct Comparison {
    /// Where servers come from.
    pub world: World,
    /// The places to look from.
    pub clients: Vec<String>,
    /// Who competes.
    pub methods: Vec<Method>,
    /// On which instances.
    pub seeds: Seeds,
    /// The network.
    pub conditions: Conditions,
    /// The share of /16s whose country label is wrong.
    pub wrong_labels: Fraction,
    /// What the list does not tell of servers.
    pub without: Vec<Label>,
}

impl Comparison {
    /// Runs everything: rows by client, then method, then seed.
    ///
    /// # Errors
    /// When the world has no such client; nothing was run then.
    pub fn run(&self, progress: &dyn Progress) -> Result<Vec<Row>, UnknownClient> {
        let clients = self.clients.iter().map(|name| self.world.client(name));
        let clients: Vec<String> = clients.collect::<Result<_, _>>()?;
        let pairs = self.pairs(&clients);
        progress.expect(pairs.len() * self.seeds.as_slice().len());
        // By seed first: a population serves all its runs and is dropped after them.
        let by_seed = parallel(self.seeds.as_slice(), |&seed| {
            self.rows_of(seed, &pairs, progress)
        });
        let row = |pair: usize| by_seed.iter().map(move |rows| rows[pair].clone());
        Ok((0..pairs.len()).flat_map(row).collect())
    }

    fn pairs<'a>(&'a self, clients: &'a [String]) -> Vec<(&'a str, &'a Method)> {
        let with_methods = |client: &'a String| {
            let methods = self.methods.iter();
            methods.map(move |method| (client.as_str(), method))
        };
        clients.iter().flat_map(with_methods).collect()
    }

    fn rows_of(&self, seed: u64, pairs: &[(&str, &Method)], progress: &dyn Progress) -> Vec<Row> {
        let population = self.world.population(seed);
        let listed = self.listed(&population, seed);
        parallel(pairs, |&(client, method)| {
            let scene = Scene {
                population: &population,
                listed: &listed,
                client: population.client(client).expect("checked before"),
                conditions: &self.conditions,
            };
            let score = Score::of_run(&scene, method, seed);
            progress.done();
            Row::new(method, client, seed, &score)
        })
    }

    fn listed(&self, population: &Population, seed: u64) -> Vec<Listed> {
        let mut listed = population.listed();
        mislabel(&mut listed, self.wrong_labels, seed);
        unlabel(&mut listed, &self.without);
        listed
    }
}
