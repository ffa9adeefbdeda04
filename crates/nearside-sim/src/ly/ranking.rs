//! What rankings of relays are worth: the share of an oracle's gain that K candidates capture, chosen
//! on one slice of time and judged on a later one.

use nearside_coords::Node;
use nearside_detour::directory::{Directory, Ranking};
use nearside_report::{Cell, Column, Table};
use nearside_types::{LatencyMatrix, Rtt};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::Serialize;
use thiserror::Error;

use super::lies::Liars;
use super::matrix_mode::{Knowledge, MatrixMode, Telling, client, trust};
use super::network::either_way;
use super::tables::{mean, share_of_gain};
use crate::batch::{Progress, parallel};
use crate::seeds::Seeds;

/// Rankings on one pair of matrices.
#[derive(Debug, Clone)]
pub struct RankingStudy {
    /// What the matrices are called: the one that chooses and the one that judges.
    pub labels: [String; 2],
    /// How clients measure.
    pub mode: MatrixMode,
    /// Numbers of candidates to try.
    pub ks: Vec<usize>,
    /// Pairs judged on each seed.
    pub pairs: usize,
    /// What a relay adds to a round trip.
    pub overhead: Rtt,
    /// Clients that lie; pairs are drawn among the others.
    pub liars: Option<Liars>,
    /// Neighbours, pings and pairs are drawn anew for each.
    pub seeds: Seeds,
}

/// One ranking with one number of candidates, over all seeds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RankingRow {
    /// `random`, `equation-1`, `leg-sums-vivaldi`, `leg-sums-factorisation`, `mixed` or `oracle`.
    pub ranking: &'static str,
    /// Candidates.
    pub k: usize,
    /// The mean over seeds; 1 is all that any relay could gain.
    /// Nothing where no relay gains anything.
    pub share_of_oracle_gain: Option<f64>,
    /// The worst seed's.
    pub worst_share_of_oracle_gain: Option<f64>,
    /// Pairs judged on all seeds.
    pub pairs: usize,
    /// What the candidates gain for a pair, on average, in milliseconds.
    pub mean_gain_ms: f64,
    /// The matrix that relays were chosen on.
    pub chosen_on: String,
    /// The one that judged them.
    pub judged_on: String,
    /// `0-3`.
    pub seeds: String,
    /// N.
    pub neighbours: usize,
    /// P.
    pub pings: usize,
    /// What a relay adds.
    pub overhead_ms: f64,
    /// Who lied, such as `0.3 deflate`; nothing if nobody did.
    pub liars: Option<String>,
}

impl RankingRow {
    /// What it takes to make the rows again.
    fn caption(&self) -> String {
        let liars = self.liars.as_ref();
        let liars = liars.map_or_else(String::new, |liars| format!(", liars {liars}"));
        format!(
            "Share of the oracle's gain that K candidates capture; chosen on {}, judged on {}, seeds {}, N = \
             {}, P = {}, relay overhead {} ms{liars}",
            self.chosen_on,
            self.judged_on,
            self.seeds,
            self.neighbours,
            self.pings,
            self.overhead_ms
        )
    }
}

/// The judging matrix has no pair to judge.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum NoPairs {
    /// The two matrices are of different worlds.
    #[error("{chooses} nodes choose and {judges} judge (give slices of one file)")]
    DifferentSizes {
        /// Nodes of the first matrix.
        chooses: usize,
        /// Nodes of the second.
        judges: usize,
    },
    /// Fewer than two honest nodes with a known RTT.
    #[error("no known pair to judge (are all cells empty, or all clients liars?)")]
    Empty,
}

const RANKINGS: [(&str, Ranking); 5] = [
    ("random", Ranking::Random),
    ("equation-1", Ranking::Likelihood),
    ("leg-sums-vivaldi", Ranking::CoordinateSums),
    ("leg-sums-factorisation", Ranking::FactorSums),
    ("mixed", Ranking::Mixed),
];
const ORACLE: &str = "oracle";

/// The names of rows, in their order.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    RANKINGS.iter().map(|(name, _)| *name).chain([ORACLE])
}

/// Whether a row is of a ranking whose numbers were chosen by us.
pub(super) fn is_ours(name: &str) -> bool {
    let found = RANKINGS.iter().find(|(of, _)| *of == name);
    found.is_some_and(|(_, ranking)| !matches!(ranking, Ranking::Random | Ranking::Likelihood))
}

/// Gains in milliseconds, summed over pairs: for each K, and the oracle's.
struct Gains {
    by_k: Vec<f64>,
    oracle: f64,
    pairs: usize,
}

impl RankingStudy {
    /// Runs it on all cores: clients choose by one matrix and are judged by the other.
    ///
    /// # Errors
    /// If there is nothing to judge.
    pub fn run(
        &self,
        chooses: &LatencyMatrix,
        judges: &LatencyMatrix,
        progress: &dyn Progress,
    ) -> Result<Vec<RankingRow>, NoPairs> {
        let sizes = (chooses.nodes(), judges.nodes());
        if sizes.0 != sizes.1 {
            let (chooses, judges) = sizes;
            return Err(NoPairs::DifferentSizes { chooses, judges });
        }
        let pairs = self.known_pairs(judges);
        if pairs.is_empty() {
            return Err(NoPairs::Empty);
        }
        let seeds = self.seeds.as_slice();
        progress.expect(seeds.len() * (1 + RANKINGS.len()));
        let worlds = parallel(seeds, |seed| {
            let known = self.mode.run(chooses, *seed);
            progress.done();
            (*seed, known, self.sample(&pairs, *seed))
        });
        let jobs: Vec<_> = RANKINGS
            .iter()
            .flat_map(|(_, ranking)| worlds.iter().map(move |world| (*ranking, world)))
            .collect();
        let gains = parallel(&jobs, |(ranking, (seed, known, pairs))| {
            let gains = self.gains(known, judges, *ranking, pairs, *seed);
            progress.done();
            gains
        });
        Ok(self.rows(&gains))
    }

    /// Pairs of honest clients whose direct path is known where it is judged.
    fn known_pairs(&self, judges: &LatencyMatrix) -> Vec<(Node, Node)> {
        let nodes = judges.nodes();
        let honest = |node: Node| !self.liars.is_some_and(|liars| liars.include(node, nodes));
        judges
            .known()
            .map(|(from, to, _)| (Node::at(from), Node::at(to)))
            .filter(|(from, to)| honest(*from) && honest(*to))
            .collect()
    }

    fn sample(&self, pairs: &[(Node, Node)], seed: u64) -> Vec<(Node, Node)> {
        // Another stream than the neighbours': more pings must not draw other pairs.
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        random.set_stream(1);
        (0..self.pairs)
            .map(|_| pairs[random.random_range(0..pairs.len())])
            .collect()
    }

    fn gains(
        &self,
        known: &Knowledge,
        judges: &LatencyMatrix,
        ranking: Ranking,
        pairs: &[(Node, Node)],
        seed: u64,
    ) -> Gains {
        let mut directory = self.directory(known, ranking, seed);
        let most = self.ks.iter().copied().max().unwrap_or(0);
        let mut gains = Gains {
            by_k: vec![0.0; self.ks.len()],
            oracle: 0.0,
            pairs: pairs.len(),
        };
        for (s, t) in pairs {
            let gain = |relay: Node| self.gain(judges, *s, relay, *t);
            let found = directory.lookup(client(*s), client(*t), most);
            let found = found.expect("everybody has joined, and pairs are of two");
            let relays = found.iter().map(|candidate| relay_of(candidate.relay.id.0));
            let each: Vec<f64> = relays.map(gain).collect();
            for (sum, k) in gains.by_k.iter_mut().zip(&self.ks) {
                *sum += each.iter().take(*k).copied().fold(0.0, f64::max);
            }
            let all = (0..judges.nodes()).map(Node::at);
            let others = all.filter(|relay| relay != s && relay != t);
            gains.oracle += others.map(gain).fold(0.0, f64::max);
        }
        gains
    }

    fn directory(&self, known: &Knowledge, ranking: Ranking, seed: u64) -> Directory {
        let telling = Telling {
            ranking,
            trust: trust(ranking),
            rounds: self.liars.map_or(1, Liars::reports),
        };
        match self.liars {
            Some(liars) => liars.told(known, &telling, seed),
            None => known.told(ranking, seed),
        }
    }

    /// What a relay saves on a path: nothing if it is slower or out of reach.
    fn gain(&self, judges: &LatencyMatrix, s: Node, relay: Node, t: Node) -> f64 {
        let rtt =
            |a: Node, b: Node| either_way(judges, a.index(), b.index()).map(Rtt::as_millis_f64);
        let by_relay = rtt(s, relay).zip(rtt(relay, t));
        let direct = rtt(s, t).unwrap_or(0.0);
        by_relay.map_or(0.0, |(first, second)| {
            (direct - (first + second + self.overhead.as_millis_f64())).max(0.0)
        })
    }

    fn rows(&self, gains: &[Gains]) -> Vec<RankingRow> {
        let seeds = self.seeds.as_slice().len();
        let by_ranking = RANKINGS.iter().zip(gains.chunks(seeds));
        let mut rows: Vec<RankingRow> = by_ranking
            .flat_map(|((name, _), gains)| {
                let each = self.ks.iter().enumerate();
                each.map(move |(place, k)| self.row(name, *k, gains, |g| g.by_k[place]))
            })
            .collect();
        let oracle = gains.get(..seeds).unwrap_or_default();
        let ks = self.ks.iter();
        rows.extend(ks.map(|k| self.row(ORACLE, *k, oracle, |gains| gains.oracle)));
        rows
    }

    fn row(
        &self,
        ranking: &'static str,
        k: usize,
        gains: &[Gains],
        of: impl Fn(&Gains) -> f64,
    ) -> RankingRow {
        let shares = gains
            .iter()
            .map(|gains| share_of_gain(of(gains), gains.oracle));
        let shares: Vec<f64> = shares.flatten().collect();
        let pairs: usize = gains.iter().map(|gains| gains.pairs).sum();
        let [chosen_on, judged_on] = self.labels.clone();
        RankingRow {
            ranking,
            k,
            share_of_oracle_gain: (!shares.is_empty()).then(|| mean(&shares)),
            worst_share_of_oracle_gain: shares.iter().copied().reduce(f64::min),
            pairs,
            mean_gain_ms: gains.iter().map(of).sum::<f64>() / pairs as f64,
            chosen_on,
            judged_on,
            seeds: self.seeds.to_string(),
            neighbours: self.mode.neighbours,
            pings: self.mode.pings,
            overhead_ms: self.overhead.as_millis_f64(),
            liars: self.liars.map(|liars| liars.to_string()),
        }
    }

    /// The rows as a table for readers.
    pub fn table(rows: &[RankingRow]) -> Table {
        let caption = rows.first().map_or_else(String::new, RankingRow::caption);
        let table = Table::new("ranking", caption)
            .column(Column::new("ranking"))
            .column(Column::new("k").heading("K"))
            .column(Column::new("share_of_oracle_gain").heading("share of the oracle's gain"))
            .column(Column::new("worst_share_of_oracle_gain").heading("worst seed"))
            .column(Column::new("mean_gain_ms").heading("mean gain").unit("ms"))
            .column(Column::new("pairs"));
        let share = |share: Option<f64>| share.map_or(Cell::Missing, |s| Cell::number(s, 3));
        rows.iter().fold(table, |table, row| {
            table.row([
                row.ranking.into(),
                Cell::Count(row.k as u64),
                share(row.share_of_oracle_gain),
                share(row.worst_share_of_oracle_gain),
                Cell::number(row.mean_gain_ms, 2),
                Cell::Count(row.pairs as u64),
            ])
        })
    }
}

fn relay_of(id: u64) -> Node {
    Node(u32::try_from(id).expect("clients are numbered by their place in the matrix"))
}
