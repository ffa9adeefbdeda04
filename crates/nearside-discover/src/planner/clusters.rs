//! How a list falls into clusters: by origin AS (first paper), by country and /8 (second paper),
//! by country alone (the 2006 idea both improve on), by prefix, or not at all.

use std::collections::BTreeMap;

use nearside_types::{Asn, Country, Prefix, PrefixLengths};
use serde::{Deserialize, Serialize};

use super::{Listed, ServerId};

/// What makes servers members of one cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClusterBy {
    /// The same origin AS; of unknown AS, the same country; else the same split prefix.
    As,
    /// The same country and, where one prefix (a /8) has more than 10 servers and more than 10 %
    /// of its country's, that prefix apart. Of unknown country: by AS, else by split prefix.
    CountryAndPrefix {
        /// How long the prefix is; 8 in the paper.
        prefix: PrefixLengths,
    },
    /// The same country only. Of unknown country: by AS, else by split prefix.
    Country,
    /// The same prefix, whatever the origin.
    Prefix {
        /// How long the prefix is.
        prefix: PrefixLengths,
    },
}

/// What the members of a cluster share. The order of keys is the order of cluster ids, which
/// settles ties in the ranking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ClusterKey {
    /// Servers of one AS.
    As(Asn),
    /// Servers of one country.
    Country(Country),
    /// Servers of one country inside one prefix.
    CountryPrefix(Country, Prefix),
    /// Servers inside one prefix.
    Prefix(Prefix),
}

/// The second paper's step 2(b): a /8 becomes a cluster of its own with more servers than this …
const PREFIX_MIN_SERVERS: usize = 10;
/// … and more than this share of its country's servers.
const PREFIX_MIN_SHARE: f64 = 0.10;

/// Groups `servers` by `rule`; keys in order, members in list order. `split` is the prefix that
/// servers of unknown origin fall back to.
pub(super) fn group(
    rule: ClusterBy,
    split: PrefixLengths,
    servers: &[Listed],
) -> BTreeMap<ClusterKey, Vec<ServerId>> {
    let dense = match rule {
        ClusterBy::CountryAndPrefix { prefix } => dense_prefixes(servers, prefix),
        _ => Vec::new(),
    };
    let mut groups: BTreeMap<ClusterKey, Vec<ServerId>> = BTreeMap::new();
    for (index, server) in servers.iter().enumerate() {
        let key = key_of(rule, split, server, &dense);
        groups
            .entry(key)
            .or_default()
            .push(ServerId::from_index(index));
    }
    groups
}

/// The members of one cluster by prefix, prefixes in order, members in list order.
pub(super) fn group_members(
    members: &[ServerId],
    servers: &[Listed],
    split: PrefixLengths,
) -> Vec<Vec<ServerId>> {
    let mut groups: BTreeMap<Prefix, Vec<ServerId>> = BTreeMap::new();
    for &member in members {
        let prefix = servers[member.index()].addr.prefix(split);
        groups.entry(prefix).or_default().push(member);
    }
    groups.into_values().collect()
}

fn key_of(
    rule: ClusterBy,
    split: PrefixLengths,
    server: &Listed,
    dense: &[(Country, Prefix)],
) -> ClusterKey {
    let by_as = server.origin.asn.map(ClusterKey::As);
    let by_country = server.origin.country.map(ClusterKey::Country);
    let fallback = ClusterKey::Prefix(server.addr.prefix(split));
    match rule {
        ClusterBy::As => by_as.or(by_country).unwrap_or(fallback),
        ClusterBy::Country => by_country.or(by_as).unwrap_or(fallback),
        ClusterBy::CountryAndPrefix { prefix } => server
            .origin
            .country
            .map(|country| (country, server.addr.prefix(prefix)))
            .filter(|pair| dense.binary_search(pair).is_ok())
            .map(|(country, prefix)| ClusterKey::CountryPrefix(country, prefix))
            .or(by_country)
            .or(by_as)
            .unwrap_or(fallback),
        ClusterBy::Prefix { prefix } => ClusterKey::Prefix(server.addr.prefix(prefix)),
    }
}

/// The (country, prefix) pairs that hold enough of their country to be clusters, sorted.
fn dense_prefixes(servers: &[Listed], lengths: PrefixLengths) -> Vec<(Country, Prefix)> {
    let mut per_country: BTreeMap<Country, usize> = BTreeMap::new();
    let mut per_pair: BTreeMap<(Country, Prefix), usize> = BTreeMap::new();
    for server in servers {
        if let Some(country) = server.origin.country {
            *per_country.entry(country).or_default() += 1;
            *per_pair
                .entry((country, server.addr.prefix(lengths)))
                .or_default() += 1;
        }
    }
    per_pair
        .into_iter()
        .filter(|&((country, _), count)| {
            let all = per_country[&country] as f64;
            count > PREFIX_MIN_SERVERS && count as f64 > PREFIX_MIN_SHARE * all
        })
        .map(|(pair, _)| pair)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use nearside_types::{Origin, ServerAddr};

    const SPLIT: PrefixLengths = PrefixLengths { v4: 16, v6: 32 };
    const EIGHT: PrefixLengths = PrefixLengths { v4: 8, v6: 20 };

    fn listed(addr: &str, asn: Option<u32>, country: &str) -> Listed {
        Listed {
            addr: addr.parse::<ServerAddr>().unwrap(),
            origin: Origin {
                asn: asn.map(Asn),
                country: country.parse().ok(),
            },
        }
    }

    fn keys(rule: ClusterBy, servers: &[Listed]) -> Vec<String> {
        group(rule, SPLIT, servers)
            .into_iter()
            .map(|(key, members)| format!("{key:?} {}", members.len()))
            .collect()
    }

    #[test]
    fn unknown_as_falls_back_to_country_and_then_to_the_sixteen() {
        let servers = [
            listed("1.2.3.4:1", Some(7), "DE"),
            listed("1.9.3.4:1", Some(7), "FR"),
            listed("2.2.3.4:1", None, "DE"),
            listed("3.4.3.4:1", None, "-"),
            listed("3.4.9.4:1", None, "-"),
        ];
        assert_eq!(
            keys(ClusterBy::As, &servers),
            [
                "As(Asn(7)) 2",
                "Country(Country(DE)) 1",
                "Prefix(3.4.0.0/16) 2"
            ]
        );
    }

    #[test]
    fn an_eight_is_a_cluster_above_ten_servers_and_a_tenth_of_its_country() {
        let mut servers = Vec::new();
        // 11 servers of 100 in 5/8: above both limits. 10 in 6/8: not above ten.
        servers.extend((0..11).map(|i| listed(&format!("5.0.0.{i}:1"), None, "DE")));
        servers.extend((0..10).map(|i| listed(&format!("6.0.0.{i}:1"), None, "DE")));
        servers.extend((0..79).map(|i| listed(&format!("{}.0.0.1:1", 20 + i), None, "DE")));
        let rule = ClusterBy::CountryAndPrefix { prefix: EIGHT };
        assert_eq!(
            keys(rule, &servers),
            [
                "Country(Country(DE)) 89",
                "CountryPrefix(Country(DE), 5.0.0.0/8) 11"
            ]
        );
        // With ten more of the country elsewhere, 11 of 110 is exactly a tenth: no longer above it.
        servers.extend((0..10).map(|i| listed(&format!("{}.0.0.1:1", 110 + i), None, "DE")));
        assert_eq!(keys(rule, &servers), ["Country(Country(DE)) 110"]);
    }

    #[test]
    fn unknown_country_falls_back_to_as() {
        let servers = [
            listed("1.2.3.4:1", Some(7), "-"),
            listed("1.2.3.5:1", None, "-"),
        ];
        assert_eq!(
            keys(ClusterBy::Country, &servers),
            ["As(Asn(7)) 1", "Prefix(1.2.0.0/16) 1"]
        );
    }
}
