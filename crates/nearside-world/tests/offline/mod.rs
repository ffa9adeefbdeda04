//! Algorithms 1 and 2 of both Armitage papers, run on a finished population as the papers did on
//! their recordings: no packets, no time. A yardstick for generated worlds, apart from the engine
//! that browses, so that neither can hide a mistake of the other.

use std::collections::{BTreeMap, VecDeque};

use nearside_types::{Prefix, PrefixLengths, median, quantile};
use nearside_world::{Population, ProbeNoise, WorldServer};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

/// How servers are put together before calibration.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Clustering {
    /// By origin AS (the first paper).
    As,
    /// By country and populous /8s (the second).
    Country,
}

/// What one run cost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outcome {
    pub(crate) clusters: usize,
    /// Servers probed before the ranked list begins.
    pub(crate) calibration: usize,
    /// Probes with retries until the stop, over those of a full scan.
    pub(crate) cost_share: f64,
}

const STOP_MS: f64 = 200.0;
const WINDOW: usize = 100;
/// RTT_bottom is the second smallest of the window: ceil(2 % of 100).
const BOTTOM: usize = 2;
const SPLIT_ABOVE_MS: f64 = 40.0;
const TRIES: usize = 3;

pub(crate) fn run(
    population: &Population,
    client: usize,
    clustering: Clustering,
    noise: ProbeNoise,
    seed: u64,
) -> Outcome {
    let clusters = match clustering {
        Clustering::As => by_as(population),
        Clustering::Country => by_country(population),
    };
    let count = clusters.len();
    let mut scan = Scan::new(population, client, noise, seed);
    let mut ranked: Vec<(f64, Vec<usize>)> = Vec::new();
    for members in clusters {
        ranked.extend(scan.calibrate(members));
    }
    let calibration = scan.probed.iter().filter(|&&done| done).count();
    ranked.sort_by(|a, b| a.0.total_cmp(&b.0));
    scan.probe_in_order(ranked.into_iter().flat_map(|(_, members)| members));
    Outcome {
        clusters: count,
        calibration,
        cost_share: scan.sent as f64 / scan.full_scan() as f64,
    }
}

fn by_as(population: &Population) -> Vec<Vec<usize>> {
    group(0..population.servers.len(), |index| {
        population.servers[index].origin.asn
    })
}

/// Every /8 with more than 10 servers and more than a tenth of its country's is a cluster; the rest
/// of the country is another.
fn by_country(population: &Population) -> Vec<Vec<usize>> {
    let server = |index: usize| &population.servers[index];
    let countries = group(0..population.servers.len(), |i| server(i).origin.country);
    let mut clusters = Vec::new();
    for members in countries {
        let total = members.len();
        let eights = group(members.into_iter(), |i| prefix(server(i), 8));
        let (large, small): (Vec<_>, Vec<_>) = eights
            .into_iter()
            .partition(|eight| eight.len() > 10 && eight.len() * 10 > total);
        clusters.extend(large);
        let rest: Vec<usize> = small.into_iter().flatten().collect();
        if !rest.is_empty() {
            clusters.push(rest);
        }
    }
    clusters
}

fn group<K: Ord>(
    members: impl Iterator<Item = usize>,
    key: impl Fn(usize) -> K,
) -> Vec<Vec<usize>> {
    let mut groups: BTreeMap<K, Vec<usize>> = BTreeMap::new();
    for index in members {
        groups.entry(key(index)).or_default().push(index);
    }
    groups.into_values().collect()
}

fn prefix(server: &WorldServer, bits: u8) -> Prefix {
    let lengths = PrefixLengths { v4: bits, v6: 32 };
    server.addr.prefix(lengths)
}

struct Scan<'a> {
    population: &'a Population,
    client: usize,
    noise: ProbeNoise,
    rng: ChaCha8Rng,
    probed: Vec<bool>,
    sent: usize,
}

impl<'a> Scan<'a> {
    fn new(population: &'a Population, client: usize, noise: ProbeNoise, seed: u64) -> Self {
        Self {
            population,
            client,
            noise,
            rng: ChaCha8Rng::seed_from_u64(seed),
            probed: vec![false; population.servers.len()],
            sent: 0,
        }
    }

    /// The RTT in milliseconds one probe sees, or nothing after three tries.
    fn probe(&mut self, index: usize) -> Option<f64> {
        assert!(!self.probed[index], "a server is probed once");
        self.probed[index] = true;
        let Some(base) = self.population.servers[index].rtt[self.client] else {
            self.sent += TRIES;
            return None;
        };
        self.sent += 1;
        let sample = self.noise.sample(base.as_duration(), &mut self.rng);
        Some(sample.as_secs_f64() * 1000.0)
    }

    /// Samples a cluster; gives it back with its RTT, or its /16s with theirs if it must be split.
    fn calibrate(&mut self, members: Vec<usize>) -> Vec<(f64, Vec<usize>)> {
        let mut rtts = self.sample(&members);
        rtts.sort_by(f64::total_cmp);
        let Some(middle) = median(&rtts) else {
            return vec![(f64::INFINITY, members)];
        };
        let spread = quantile(&rtts, 0.8).zip(quantile(&rtts, 0.2));
        if spread.is_none_or(|(high, low)| high - low <= SPLIT_ABOVE_MS) {
            return vec![(middle, members)];
        }
        self.split(members)
    }

    /// floor(sqrt(n)) answers, going round the /16s in random order; the silent are replaced.
    fn sample(&mut self, members: &[usize]) -> Vec<f64> {
        let wanted = members.len().isqrt();
        let mut rtts = Vec::new();
        for index in self.going_round(members) {
            if rtts.len() == wanted {
                break;
            }
            rtts.extend(self.probe(index));
        }
        rtts
    }

    fn going_round(&mut self, members: &[usize]) -> Vec<usize> {
        let servers = &self.population.servers;
        let mut sixteens = group(members.iter().copied(), |i| prefix(&servers[i], 16));
        sixteens.shuffle(&mut self.rng);
        for sixteen in &mut sixteens {
            sixteen.shuffle(&mut self.rng);
        }
        let rounds = sixteens.iter().map(Vec::len).max().unwrap_or(0);
        (0..rounds)
            .flat_map(|round| sixteens.iter().filter_map(move |s| s.get(round).copied()))
            .collect()
    }

    fn split(&mut self, members: Vec<usize>) -> Vec<(f64, Vec<usize>)> {
        let servers = &self.population.servers;
        let sixteens = group(members.into_iter(), |i| prefix(&servers[i], 16));
        let mut clusters = Vec::new();
        for sixteen in sixteens {
            let mut unprobed: Vec<usize> = sixteen.clone();
            unprobed.retain(|&index| !self.probed[index]);
            unprobed.shuffle(&mut self.rng);
            let answer = unprobed.into_iter().find_map(|index| self.probe(index));
            clusters.push((answer.unwrap_or(f64::INFINITY), sixteen));
        }
        clusters
    }

    /// Probes what is left until Algorithm 2 says stop.
    fn probe_in_order(&mut self, order: impl Iterator<Item = usize>) {
        let mut window = VecDeque::with_capacity(WINDOW);
        for index in order {
            if self.probed[index] {
                continue;
            }
            let Some(rtt) = self.probe(index) else {
                continue;
            };
            if window.len() == WINDOW {
                window.pop_front();
            }
            window.push_back(rtt);
            if window.len() == WINDOW && bottom(&window) >= STOP_MS {
                return;
            }
        }
    }

    fn full_scan(&self) -> usize {
        let servers = self.population.servers.len();
        let answering = self.population.answering(self.client);
        answering + TRIES * (servers - answering)
    }
}

fn bottom(window: &VecDeque<f64>) -> f64 {
    let mut sorted: Vec<f64> = window.iter().copied().collect();
    sorted.sort_by(f64::total_cmp);
    sorted[BOTTOM - 1]
}
