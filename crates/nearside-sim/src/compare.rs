//! The general instrument: methods side by side on the same instances, one row for each run.

use nearside_discover::planner::StopReason;
use nearside_types::Listed;
use nearside_world::{Fraction, Population};
use serde::{Deserialize, Serialize};

use crate::batch::{Progress, parallel};
use crate::labels::mislabel;
use crate::method::Method;
use crate::run::run;
use crate::scene::{Conditions, Scene, UnknownClient, World};
use crate::score::Score;
use crate::seeds::Seeds;

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
}

/// One run. The names and their order are the contract of `docs/sim.md`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// Who: a planner, or the oracle.
    pub planner: String,
    /// From where.
    pub client: String,
    /// On which instance.
    pub seed: u64,
    /// Servers on the list.
    pub listed: usize,
    /// Of those, the ones that answer.
    pub answering: usize,
    /// Of those, the ones whose base RTT is below the stop.
    pub playable: usize,
    /// Servers probed, retries not counted.
    pub probes: usize,
    /// Playable servers that were probed and answered.
    pub found: usize,
    /// `found` over `playable`, 0 to 1; 1 where nothing is playable.
    pub recall: f64,
    /// Playable servers the planner itself expects to have missed; `null` if it cannot tell.
    pub expected_missed: Option<f64>,
    /// Servers probed until half of the playable ones were found; `null` if that never came.
    pub probes_to_50: Option<usize>,
    /// … nine tenths of them.
    pub probes_to_90: Option<usize>,
    /// … 99 % of them.
    pub probes_to_99: Option<usize>,
    /// … the ten nearest servers of all, playable or not.
    pub probes_to_10_best: Option<usize>,
    /// How long it took.
    pub seconds: f64,
    /// Why it stopped.
    pub stopped: StopReason,
}

impl Row {
    fn new(method: &Method, client: &str, seed: u64, score: &Score) -> Self {
        Self {
            planner: method.name().to_owned(),
            client: client.to_owned(),
            seed,
            listed: score.listed,
            answering: score.answering,
            playable: score.playable,
            probes: score.probes,
            found: score.found,
            recall: score.recall(),
            expected_missed: score.expected_missed,
            probes_to_50: score.probes_to_50,
            probes_to_90: score.probes_to_90,
            probes_to_99: score.probes_to_99,
            probes_to_10_best: score.probes_to_10_best,
            seconds: score.seconds,
            stopped: score.stopped,
        }
    }
}

impl Comparison {
    /// Runs everything: rows by client, then method, then seed.
    ///
    /// # Errors
    /// When the world has no such client; nothing was run then.
    pub fn run(&self, progress: &dyn Progress) -> Result<Vec<Row>, UnknownClient> {
        for client in &self.clients {
            self.world.check_client(client)?;
        }
        let pairs = self.pairs();
        progress.expect(pairs.len() * self.seeds.as_slice().len());
        // By seed first: a population serves all its runs and is dropped after them.
        let by_seed = parallel(self.seeds.as_slice(), |&seed| {
            self.rows_of(seed, &pairs, progress)
        });
        let row = |pair: usize| by_seed.iter().map(move |rows| rows[pair].clone());
        Ok((0..pairs.len()).flat_map(row).collect())
    }

    fn pairs(&self) -> Vec<(&str, &Method)> {
        let with_methods = |client| self.methods.iter().map(move |method| (client, method));
        let clients = self.clients.iter().map(String::as_str);
        clients.flat_map(with_methods).collect()
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
            let score = Score::of(&run(&scene, method, seed), &scene);
            progress.done();
            Row::new(method, client, seed, &score)
        })
    }

    fn listed(&self, population: &Population, seed: u64) -> Vec<Listed> {
        let mut listed = population.listed();
        mislabel(&mut listed, self.wrong_labels, seed);
        listed
    }
}
