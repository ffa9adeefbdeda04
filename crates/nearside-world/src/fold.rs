//! Real populations on loopback: the /16 `a.b` becomes `127.a.b.0/24`, so that every /16 of the
//! Internet keeps its identity and every IPv4 prefix a planner uses is 8 bits longer in the lab.

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv4Addr};

use nearside_types::{Origin, ServerAddr};
use thiserror::Error;

use crate::population::{Population, WorldServer};

/// A population moved onto loopback.
///
/// One thing is lost: servers that shared a real address do not share a loopback one (the host byte
/// tells servers of a /16 apart, and the port only where 254 host bytes are not enough), so limits
/// per address are not felt in the lab as they are outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folded {
    /// The servers in the same order, with loopback addresses.
    pub population: Population,
    /// Where each folded address comes from: the lab's origin table.
    pub origins: BTreeMap<ServerAddr, Origin>,
    /// The real address behind each folded one.
    pub unfolded: BTreeMap<ServerAddr, ServerAddr>,
}

/// Why a server has no place on loopback.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum FoldError {
    /// The folding is one of IPv4's /16s.
    #[error("{0} is IPv6, which the lab cannot fold onto 127.0.0.0/8: leave it out of the list")]
    Ipv6(ServerAddr),
    /// Folded, it would be in 127.0.0.0/24, where masters and other programs live.
    #[error("{0} is in 0.0.0.0/16, where no server can be: leave it out of the list")]
    ThisHost(ServerAddr),
    /// More servers in one /16 than host bytes and ports.
    #[error("{0} is one server too many for its /16: use a lower base port or a shorter list")]
    Full(ServerAddr),
}

/// Host bytes 1 to 254: 0 and 255 look like network and broadcast addresses to foreign tools.
const HOSTS: u32 = 254;

/// Folds a population onto loopback. The servers of a /16 get host bytes 1, 2, … of its /24 in list
/// order, all at `base_port`; when those are used up, the same host bytes at the next port.
///
/// # Errors
/// When a server has no place there.
pub fn fold(population: &Population, base_port: u16) -> Result<Folded, FoldError> {
    let mut counts: HashMap<[u8; 2], u32> = HashMap::new();
    let mut folded = Folded {
        population: Population {
            clients: population.clients.clone(),
            servers: Vec::with_capacity(population.servers.len()),
        },
        origins: BTreeMap::new(),
        unfolded: BTreeMap::new(),
    };
    for server in &population.servers {
        let block = block_of(server.addr)?;
        let index = counts.entry(block).or_default();
        let addr = place(block, *index, base_port).ok_or(FoldError::Full(server.addr))?;
        *index += 1;
        folded.add(addr, server);
    }
    Ok(folded)
}

impl Folded {
    fn add(&mut self, addr: ServerAddr, server: &WorldServer) {
        self.origins.insert(addr, server.origin);
        self.unfolded.insert(addr, server.addr);
        self.population.servers.push(WorldServer {
            addr,
            ..server.clone()
        });
    }
}

fn block_of(addr: ServerAddr) -> Result<[u8; 2], FoldError> {
    let IpAddr::V4(ip) = addr.ip() else {
        return Err(FoldError::Ipv6(addr));
    };
    match ip.octets() {
        [0, 0, ..] => Err(FoldError::ThisHost(addr)),
        [a, b, ..] => Ok([a, b]),
    }
}

/// The loopback address of the `index`-th server of a /16.
fn place([a, b]: [u8; 2], index: u32, base_port: u16) -> Option<ServerAddr> {
    let host = u8::try_from(1 + index % HOSTS).expect("at most 254");
    let port = base_port.checked_add(u16::try_from(index / HOSTS).ok()?)?;
    ServerAddr::new(Ipv4Addr::new(127, a, b, host).into(), port)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Game, WorldParams, generate};
    use nearside_types::Rtt;
    use proptest::prelude::*;

    fn list(addrs: impl IntoIterator<Item = ServerAddr>) -> Population {
        let server = |addr| WorldServer {
            addr,
            origin: Origin::default(),
            rtt: vec![Some(Rtt::from_micros(1))],
        };
        Population {
            clients: vec!["X".to_owned()],
            servers: addrs.into_iter().map(server).collect(),
        }
    }

    fn addr(text: &str) -> ServerAddr {
        text.parse().unwrap()
    }

    #[test]
    fn host_bytes_are_used_up_before_ports() {
        let real = (0..600).map(|port| addr(&format!("85.14.2.9:{}", 20_000 + port)));
        let folded = fold(&list(real), 27_015).unwrap();
        let at = |index: usize| folded.population.servers[index].addr.to_string();
        assert_eq!(at(0), "127.85.14.1:27015");
        assert_eq!(at(253), "127.85.14.254:27015");
        assert_eq!(at(254), "127.85.14.1:27016");
        assert_eq!(at(599), "127.85.14.92:27017");
    }

    #[test]
    fn what_has_no_place_is_refused_by_name() {
        let refused = |text: &str| fold(&list([addr(text)]), 27_015).unwrap_err();
        assert_eq!(refused("[2a00::1]:1"), FoldError::Ipv6(addr("[2a00::1]:1")));
        assert_eq!(refused("0.0.3.4:1"), FoldError::ThisHost(addr("0.0.3.4:1")));
        let crowd = (1..=255).map(|port| addr(&format!("9.9.9.9:{port}")));
        assert_eq!(
            fold(&list(crowd), u16::MAX).unwrap_err(),
            FoldError::Full(addr("9.9.9.9:255"))
        );
    }

    #[test]
    fn the_default_population_needs_few_ports() {
        let population = generate(&WorldParams::builtin(), Game::Css, None, 1);
        let folded = fold(&population, 27_015).unwrap();
        let last = folded.origins.keys().map(|addr| addr.port()).max();
        assert!(last.unwrap() < 27_025, "{last:?}");
    }

    proptest! {
        #[test]
        fn folding_keeps_servers_apart_and_sixteens_together(
            hosts in proptest::collection::btree_set((1u8..4, 0u8..4, any::<u8>(), 1u16..5), 0..600),
            base_port in 1024u16..60_000,
        ) {
            let real: Vec<ServerAddr> = hosts
                .into_iter()
                .map(|(a, b, d, port)| ServerAddr::new(Ipv4Addr::new(a, b, 0, d).into(), port).unwrap())
                .collect();
            let folded = fold(&list(real.clone()), base_port).unwrap();
            prop_assert_eq!(folded.unfolded.len(), real.len());
            for (server, real) in folded.population.servers.iter().zip(&real) {
                prop_assert_eq!(folded.unfolded[&server.addr], *real);
                let (IpAddr::V4(inside), IpAddr::V4(outside)) = (server.addr.ip(), real.ip()) else {
                    unreachable!("only IPv4 was folded")
                };
                prop_assert_eq!(&inside.octets()[..3], &[127, outside.octets()[0], outside.octets()[1]]);
                prop_assert!((1..=254).contains(&inside.octets()[3]));
                prop_assert!(server.addr.port() >= base_port);
            }
        }
    }
}
