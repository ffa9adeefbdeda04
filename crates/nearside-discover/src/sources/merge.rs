//! One list out of many: duplicates, addresses that cannot be probed and crowded addresses left out,
//! each counted so that nothing disappears silently.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

use nearside_types::{AddrClass, Origin, ServerAddr};

use super::OriginLookup;
use crate::filter::Filters;
use crate::planner::Listed;

/// What may be probed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListPolicy {
    /// How far out probes may go.
    pub reach: Reach,
    /// The most servers of one address. One address once listed a thousand fake servers
    /// (Source-1-Games#5101); honest ones have a few.
    pub per_address: usize,
}

/// How far out probes may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Public addresses only.
    Internet,
    /// Private and loopback addresses too: a LAN.
    InternetAndLocal,
    /// This machine only: the lab.
    Loopback,
}

impl Default for ListPolicy {
    fn default() -> Self {
        Self {
            reach: Reach::Internet,
            per_address: 32,
        }
    }
}

/// What was left out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MergeCounts {
    /// Servers kept.
    pub kept: usize,
    /// Servers that were listed before.
    pub duplicates: usize,
    /// Addresses that are out of reach, or that no server can have.
    pub bogons: usize,
    /// Servers beyond the cap of their address.
    pub crowded: usize,
    /// Servers of another country or AS than wanted, or of an unknown one.
    pub unwanted: usize,
}

/// The merged list as it grows.
#[derive(Debug)]
pub struct MergedList {
    policy: ListPolicy,
    wanted: Filters,
    seen: HashSet<ServerAddr>,
    per_address: HashMap<IpAddr, usize>,
    counts: MergeCounts,
}

impl MergedList {
    /// An empty list, for servers whose origin passes the filters.
    pub fn new(policy: ListPolicy, wanted: Filters) -> Self {
        Self {
            policy,
            wanted,
            seen: HashSet::new(),
            per_address: HashMap::new(),
            counts: MergeCounts::default(),
        }
    }

    /// The servers of `batch` that are new, may be probed and are of a wanted origin. Of their origins the
    /// user's own word comes first, then the master's, then what else `origins` knows.
    pub fn admit(&mut self, batch: &[Listed], origins: &dyn OriginLookup) -> Vec<Listed> {
        let mut admitted = self.admit_any(batch, origins);
        let new = admitted.len();
        admitted.retain(|listed| self.wanted.want_origin(listed.origin));
        self.counts.unwanted += new - admitted.len();
        self.counts.kept -= new - admitted.len();
        admitted
    }

    /// The same for servers the user named: wherever they are.
    pub fn admit_any(&mut self, batch: &[Listed], origins: &dyn OriginLookup) -> Vec<Listed> {
        batch
            .iter()
            .filter(|listed| self.admit_one(listed.addr))
            .map(|listed| Listed {
                addr: listed.addr,
                origin: known(listed, origins),
            })
            .collect()
    }

    fn admit_one(&mut self, addr: ServerAddr) -> bool {
        if !self.is_probeable(addr) {
            self.counts.bogons += 1;
            return false;
        }
        if self.seen.contains(&addr) {
            self.counts.duplicates += 1;
            return false;
        }
        let at_address = self.per_address.entry(addr.ip()).or_default();
        if *at_address >= self.policy.per_address {
            self.counts.crowded += 1;
            return false;
        }
        *at_address += 1;
        self.seen.insert(addr);
        self.counts.kept += 1;
        true
    }

    fn is_probeable(&self, addr: ServerAddr) -> bool {
        match addr.class() {
            AddrClass::Public => self.policy.reach != Reach::Loopback,
            AddrClass::Loopback => self.policy.reach != Reach::Internet,
            AddrClass::Local => self.policy.reach == Reach::InternetAndLocal,
            AddrClass::Unusable => false,
        }
    }

    /// What was kept and what was left out.
    pub fn counts(&self) -> MergeCounts {
        self.counts
    }
}

/// A master may hear live routes, so it is believed before tables.
fn known(listed: &Listed, origins: &dyn OriginLookup) -> Origin {
    let ip = listed.addr.ip();
    let said = origins.overriding(ip).or(listed.origin);
    said.or(origins.origin(ip))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sources::OriginTable;
    use nearside_types::Asn;

    fn listed(addr: &str) -> Listed {
        Listed {
            addr: addr.parse().unwrap(),
            origin: Origin::default(),
        }
    }

    #[test]
    fn duplicates_bogons_and_crowds_are_left_out_and_counted() {
        let policy = ListPolicy {
            reach: Reach::Internet,
            per_address: 2,
        };
        let mut list = MergedList::new(policy, Filters::default());
        let batch = [
            "8.8.8.8:1",
            "8.8.8.8:1",
            "8.8.8.8:2",
            "8.8.8.8:3",
            "10.0.0.1:1",
            "127.0.0.1:1",
            "169.254.7.7:1",
            "[2a00::1]:1",
            "224.0.0.1:1",
        ]
        .map(listed);
        let kept = list.admit(&batch, &OriginTable::default());
        assert_eq!(kept.len(), 3);
        assert_eq!(
            list.counts(),
            MergeCounts {
                kept: 3,
                duplicates: 1,
                bogons: 4,
                crowded: 1,
                unwanted: 0,
            }
        );
        let again = list.admit(&batch[..1], &OriginTable::default());
        assert!(again.is_empty(), "known from the first batch");
    }

    #[test]
    fn on_a_lan_local_addresses_are_welcome_and_in_the_lab_only_loopback_is() {
        let batch = ["8.8.8.8:1", "127.0.0.1:1", "192.168.1.1:1", "224.0.0.1:1"].map(listed);
        let admitted = |reach| {
            let policy = ListPolicy {
                reach,
                per_address: 2,
            };
            let mut list = MergedList::new(policy, Filters::default());
            list.admit(&batch, &OriginTable::default()).len()
        };
        assert_eq!(admitted(Reach::InternetAndLocal), 3);
        assert_eq!(admitted(Reach::Loopback), 1);
    }

    #[test]
    fn the_master_is_believed_first_and_the_table_fills_gaps() {
        let table = OriginTable::parse("t", "8.8.0.0/16,15169,US\n").unwrap();
        let mut list = MergedList::new(ListPolicy::default(), Filters::default());
        let mut from_master = listed("8.8.8.8:1");
        from_master.origin.asn = Some(Asn(7));
        let kept = list.admit(&[from_master, listed("8.8.4.4:1")], &table);
        assert_eq!(kept[0].origin.asn, Some(Asn(7)));
        assert_eq!(kept[0].origin.country, "US".parse().ok());
        assert_eq!(kept[1].origin.asn, Some(Asn(15169)));
    }

    #[test]
    fn the_users_own_word_is_believed_before_the_master() {
        struct Own;
        impl OriginLookup for Own {
            fn origin(&self, _: IpAddr) -> Origin {
                origin(1, "US")
            }

            fn overriding(&self, _: IpAddr) -> Origin {
                Origin {
                    asn: Some(Asn(2)),
                    country: None,
                }
            }
        }
        fn origin(asn: u32, country: &str) -> Origin {
            Origin {
                asn: Some(Asn(asn)),
                country: country.parse().ok(),
            }
        }
        let mut from_master = listed("8.8.8.8:1");
        from_master.origin = origin(3, "SE");
        let mut list = MergedList::new(ListPolicy::default(), Filters::default());
        let kept = list.admit(&[from_master], &Own);
        assert_eq!(kept[0].origin, origin(2, "SE"));
    }

    #[test]
    fn who_wants_one_country_does_not_probe_the_others() {
        let table = OriginTable::parse("t", "8.0.0.0/16,1,US\n8.1.0.0/16,2,DE\n").unwrap();
        let batch = ["8.0.0.1:1", "8.1.0.1:1", "8.2.0.1:1"].map(listed);
        let ports = |wanted: Filters| {
            let mut list = MergedList::new(ListPolicy::default(), wanted);
            let kept = list.admit(&batch, &table);
            assert_eq!(list.counts().unwanted, batch.len() - kept.len());
            assert_eq!(list.counts().kept, kept.len());
            kept.iter()
                .map(|l| l.addr.to_string())
                .collect::<Vec<_>>()
                .join(" ")
        };
        let german = Filters {
            countries: vec!["DE".parse().unwrap()],
            ..Filters::default()
        };
        assert_eq!(ports(german.clone()), "8.1.0.1:1");
        let of_as = Filters {
            asns: vec![Asn(1)],
            ..Filters::default()
        };
        assert_eq!(ports(of_as), "8.0.0.1:1");
        let mut list = MergedList::new(ListPolicy::default(), german);
        assert_eq!(list.admit_any(&batch, &table).len(), 3, "favourites");
    }
}
