//! The world at recorded distances: its cities stand on the nodes of a recording.

use nearside_types::Rtt;
use rand::seq::SliceRandom;
use rand::{Rng, RngExt};

use super::machines::Machine;
use crate::chance::stream;
use crate::cities::Cities;
use crate::params::WorldParams;
use crate::recorded::RecordedPaths;

/// Which node each city stands on.
pub(super) struct OnRecord<'a> {
    paths: &'a RecordedPaths,
    /// By the number of the city; those of countries without servers stay on the first.
    nodes: Vec<usize>,
}

impl<'a> OnRecord<'a> {
    pub(super) fn new(
        paths: &'a RecordedPaths,
        params: &WorldParams,
        cities: &Cities,
        seed: u64,
    ) -> Self {
        let mut rng = stream(seed, "recorded places");
        let mut nodes = vec![0; cities.positions().len()];
        for &country in params.country_shares.keys() {
            let neighbours = neighbourhood(paths, &mut rng);
            let places = neighbours.into_iter().cycle();
            for (city, node) in cities.of_country(country).zip(places) {
                nodes[city.0] = node;
            }
        }
        Self { paths, nodes }
    }

    /// The RTT of a machine from each client.
    pub(super) fn rtts(&self, clients: &[usize], machine: &Machine) -> Vec<Option<Rtt>> {
        let node = self.nodes[machine.city.0];
        let rtt = |&client: &usize| {
            let path = self.paths.rtt(client, node)?;
            Some(Rtt::from_millis_f64(
                path.as_millis_f64() + machine.access_ms,
            ))
        };
        clients.iter().map(rtt).collect()
    }
}

/// A random node, then all others by their distance from it; those at unknown distance come last, in
/// random order.
fn neighbourhood(paths: &RecordedPaths, rng: &mut impl Rng) -> Vec<usize> {
    let count = paths.nodes().len();
    let capital = rng.random_range(0..count);
    let mut nodes: Vec<usize> = (0..count).collect();
    nodes.shuffle(rng);
    nodes.sort_by_key(|&node| {
        let rtt = paths.rtt(capital, node);
        (node != capital, rtt.is_none(), rtt)
    });
    nodes
}

#[cfg(test)]
mod tests {
    use super::*;
    use nearside_types::LatencyMatrix;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    /// Nodes on a line, 10 ms from one to the next; nothing is known of the last.
    fn line(count: usize) -> RecordedPaths {
        let mut matrix = LatencyMatrix::unknown(count);
        for from in 0..count - 1 {
            for to in 0..from {
                let rtt = Rtt::from_micros(10_000 * (from - to) as u32);
                matrix.set_both(from, to, Some(rtt));
            }
        }
        RecordedPaths::of_matrix(matrix).unwrap()
    }

    #[test]
    fn a_country_stands_on_neighbouring_nodes() {
        let paths = line(20);
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        for _ in 0..50 {
            let nodes = neighbourhood(&paths, &mut rng);
            let steps: Vec<_> = nodes
                .iter()
                .map(|&node| paths.rtt(nodes[0], node))
                .collect();
            match nodes[0] {
                19 => assert_eq!(steps[1], None, "nothing is near the unknown"),
                _ => {
                    assert!(steps[..19].is_sorted(), "{steps:?}");
                    assert_eq!((nodes[19], steps[19]), (19, None));
                }
            }
        }
    }
}
