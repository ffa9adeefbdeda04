//! The paper's section 6.1: addresses of players become subnets, measurements between them a trace and
//! a matrix of medians.

use std::collections::BTreeMap;
use std::io::Read;
use std::net::IpAddr;
use std::time::Duration;

use nearside_types::{LatencyMatrix, Prefix, Rtt};
use nearside_world::recorded::{RecordedError, Trace, TraceSample};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Addresses that were seen, clustered to /24 (IPv6: /48), one of each picked to be measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collected {
    /// The subnets in the order of their numbers, each with the address that stands for it.
    pub subnets: BTreeMap<Prefix, IpAddr>,
    /// Different addresses.
    pub addresses: usize,
}

/// What became of measurements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filtered {
    /// Between subnets, in the order of time.
    pub trace: Trace,
    /// Measurements from or to an address that was not collected.
    pub foreign: usize,
    /// Measurements inside one subnet.
    pub inside: usize,
    /// Measurements below 1 ms, dropped.
    pub too_short: usize,
}

/// What an address that was not collected is called.
const FOREIGN: &str = "foreign";

/// Below this a firewall or proxy has answered (section 6.1).
const SHORTEST: Rtt = Rtt::from_micros(1000);

impl Collected {
    /// Clusters addresses; which of a subnet's stands for it is drawn by the seed.
    pub fn new(addresses: impl IntoIterator<Item = IpAddr>, seed: u64) -> Self {
        let mut all: Vec<IpAddr> = addresses.into_iter().collect();
        all.sort_unstable();
        all.dedup();
        let mut members: BTreeMap<Prefix, Vec<IpAddr>> = BTreeMap::new();
        for address in &all {
            members.entry(subnet(*address)).or_default().push(*address);
        }
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let subnets = members.into_iter().map(|(prefix, addresses)| {
            let picked = addresses[random.random_range(0..addresses.len())];
            (prefix, picked)
        });
        Self {
            subnets: subnets.collect(),
            addresses: all.len(),
        }
    }

    /// Reads measurements between addresses as measurements between collected subnets; `label` names the
    /// file in errors. Addresses become subnets while they are read, so there may be any number of them.
    ///
    /// # Errors
    /// As [`Trace::read`]; the limit of nodes is one of subnets.
    pub fn read(&self, label: &str, source: impl Read) -> Result<Filtered, RecordedError> {
        let measured = Trace::read_renamed(label, source, |name| {
            let subnet = self.subnet_of(name).map(|prefix| prefix.to_string());
            subnet.or_else(|| Some(FOREIGN.to_owned()))
        })?;
        Ok(self.filter(&measured))
    }

    /// The collected subnet of an address.
    fn subnet_of(&self, name: &str) -> Option<Prefix> {
        let prefix = subnet(name.parse().ok()?);
        self.subnets.contains_key(&prefix).then_some(prefix)
    }

    /// Sorts out measurements between subnets.
    fn filter(&self, measured: &Trace) -> Filtered {
        let names = self.subnets.keys().map(Prefix::to_string);
        let numbers: BTreeMap<String, usize> = names.zip(0..).collect();
        let place = |name: &String| numbers.get(name).copied();
        let places: Vec<Option<usize>> = measured.nodes.iter().map(place).collect();
        let mut filtered = Filtered {
            trace: Trace {
                nodes: self.subnets.keys().map(Prefix::to_string).collect(),
                samples: Vec::new(),
            },
            foreign: 0,
            inside: 0,
            too_short: 0,
        };
        for sample in &measured.samples {
            filtered.add(sample, places[sample.from], places[sample.to]);
        }
        filtered.trace.samples.sort_by_key(|sample| sample.at);
        filtered
    }
}

impl Filtered {
    fn add(&mut self, sample: &TraceSample, from: Option<usize>, to: Option<usize>) {
        match (from, to) {
            (Some(from), Some(to)) if from == to => self.inside += 1,
            (Some(_), Some(_)) if sample.rtt.is_some_and(|rtt| rtt < SHORTEST) => {
                self.too_short += 1;
            }
            (Some(from), Some(to)) => self.trace.samples.push(TraceSample {
                from,
                to,
                ..*sample
            }),
            _ => self.foreign += 1,
        }
    }

    /// The median of each pair of subnets, whoever of the two measured (section 6.1 knows no direction).
    pub fn medians(&self) -> LatencyMatrix {
        let mut one_way = self.trace.clone();
        for sample in &mut one_way.samples {
            (sample.from, sample.to) = (sample.from.min(sample.to), sample.from.max(sample.to));
        }
        let mut matrix = LatencyMatrix::unknown(one_way.nodes.len());
        for (from, to, rtt) in one_way.medians(SHORTEST).known() {
            matrix.set_both(from, to, Some(rtt));
        }
        matrix
    }

    /// The trace as a file: `time_s,src,dst,rtt_ms`.
    pub fn trace_csv(&self) -> String {
        let mut text = "time_s,src,dst,rtt_ms\n".to_owned();
        for sample in &self.trace.samples {
            let rtt = sample.rtt.map(|rtt| rtt.as_millis_f64().to_string());
            let (from, to) = (&self.trace.nodes[sample.from], &self.trace.nodes[sample.to]);
            let at = seconds(sample.at);
            text += &format!("{at},{from},{to},{}\n", rtt.unwrap_or_default());
        }
        text
    }
}

fn seconds(at: Duration) -> f64 {
    at.as_secs_f64()
}

fn subnet(address: IpAddr) -> Prefix {
    match address {
        IpAddr::V4(_) => Prefix::new(address, 24),
        IpAddr::V6(_) => Prefix::new(address, 48),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collected() -> Collected {
        let addresses = [
            "192.0.2.1",
            "192.0.2.77",
            "198.51.100.9",
            "203.0.113.5",
            "192.0.2.1",
        ];
        Collected::new(addresses.map(|a| a.parse().unwrap()), 0)
    }

    #[test]
    fn addresses_become_subnets_with_one_to_stand_for_each() {
        let collected = collected();
        assert_eq!((collected.addresses, collected.subnets.len()), (4, 3));
        for (prefix, address) in &collected.subnets {
            assert!(prefix.contains(*address));
        }
    }

    #[test]
    fn measurements_below_a_millisecond_inside_and_foreign_are_dropped_and_the_rest_medians() {
        let text = "time_s,src,dst,rtt_ms\n\
                    2,192.0.2.1,198.51.100.9,30\n\
                    1,192.0.2.77,198.51.100.9,10\n\
                    3,198.51.100.1,192.0.2.77,20\n\
                    4,192.0.2.1,203.0.113.5,0.4\n\
                    5,192.0.2.1,192.0.2.77,3\n\
                    6,192.0.2.1,8.8.8.8,3\n\
                    7,203.0.113.5,192.0.2.1,\n";
        let filtered = collected().read("t", text.as_bytes()).unwrap();
        assert_eq!(
            (filtered.foreign, filtered.inside, filtered.too_short),
            (1, 1, 1)
        );
        let matrix = filtered.medians();
        let of_both_ways = Some(Rtt::from_micros(20_000));
        assert_eq!([matrix.rtt(0, 1), matrix.rtt(1, 0)], [of_both_ways; 2]);
        assert_eq!(matrix.rtt(0, 2), None);
        let again = Trace::read("t", filtered.trace_csv().as_bytes()).unwrap();
        assert_eq!(again.samples.len(), 4);
        assert_eq!(again.samples[0].at, Duration::from_secs(1));
    }

    #[test]
    fn measurements_may_name_more_addresses_than_a_matrix_has_nodes() {
        let mut text = "time_s,src,dst,rtt_ms\n".to_owned();
        for (third, last) in (0..40).flat_map(|third| (0..250).map(move |last| (third, last))) {
            text += &format!("1,192.0.{third}.{last},198.51.100.9,30\n");
        }
        let addresses = (0..40).map(|third| IpAddr::from([192, 0, third, 1]));
        let both = addresses.chain([IpAddr::from([198, 51, 100, 1])]);
        let filtered = Collected::new(both, 0).read("t", text.as_bytes()).unwrap();
        assert_eq!(filtered.trace.nodes.len(), 41);
        assert_eq!(filtered.trace.samples.len(), 10_000);
    }
}
