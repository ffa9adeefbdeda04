//! Writes a dump of a routing table (TABLE_DUMP_V2, RFC 6396) with one neighbour. Put together from
//! the RFC, not with the code under test.

use std::net::IpAddr;

/// 2026-06-01, the date of every record.
const WRITTEN: u32 = 1_780_272_000;

const TABLE_DUMP_V2: u16 = 13;
const PEER_INDEX_TABLE: u16 = 1;
const RIB_IPV4_UNICAST: u16 = 2;
const RIB_IPV6_UNICAST: u16 = 4;

pub(crate) struct MrtWriter {
    dump: Vec<u8>,
    routes: u32,
}

impl MrtWriter {
    pub(crate) fn new() -> Self {
        let mut writer = Self {
            dump: Vec::new(),
            routes: 0,
        };
        // Collector 10.0.0.9, no name, one neighbour: AS 174 at 10.0.0.1.
        let collector = [10, 0, 0, 9, 0, 0, 0, 1];
        let neighbour = [2, 10, 0, 0, 1, 10, 0, 0, 1, 0, 0, 0, 174];
        writer.record(PEER_INDEX_TABLE, &[&collector, &neighbour]);
        writer
    }

    /// Adds the networks that make up a range.
    pub(crate) fn insert_range(&mut self, first: IpAddr, last: IpAddr, origin: u32) {
        match (first, last) {
            (IpAddr::V4(first), IpAddr::V4(last)) => {
                let (first, last) = (first.to_bits().into(), last.to_bits().into());
                for (network, hosts) in networks(first, last, 32) {
                    let octets = &network.to_be_bytes()[12..];
                    self.route(RIB_IPV4_UNICAST, octets, 32 - hosts, origin);
                }
            }
            (IpAddr::V6(first), IpAddr::V6(last)) => {
                for (network, hosts) in networks(first.to_bits(), last.to_bits(), 128) {
                    let octets = &network.to_be_bytes();
                    self.route(RIB_IPV6_UNICAST, octets, 128 - hosts, origin);
                }
            }
            _ => panic!("a range has one family"),
        }
    }

    pub(crate) fn routes(&self) -> u32 {
        self.routes
    }

    pub(crate) fn finish(self) -> Vec<u8> {
        self.dump
    }

    fn route(&mut self, subtype: u16, octets: &[u8], length: u32, origin: u32) {
        let number = self.routes.to_be_bytes();
        let prefix = &octets[..length.div_ceil(8) as usize];
        // One entry of neighbour 0, whose attributes have 17 octets: ORIGIN, AS_PATH.
        let entry = [0, 1, 0, 0];
        let attributes = [0, 17, 0x40, 1, 1, 0, 0x40, 2, 10, 2, 2, 0, 0, 0, 174];
        let [a, b, c, d] = origin.to_be_bytes();
        let length = [u8::try_from(length).expect("at most 128")];
        let written = WRITTEN.to_be_bytes();
        self.record(
            subtype,
            &[
                &number,
                &length,
                prefix,
                &entry,
                &written,
                &attributes,
                &[a, b, c, d],
            ],
        );
        self.routes += 1;
    }

    fn record(&mut self, subtype: u16, parts: &[&[u8]]) {
        let length: usize = parts.iter().map(|part| part.len()).sum();
        let length = u32::try_from(length).expect("records are short");
        self.dump.extend(WRITTEN.to_be_bytes());
        self.dump.extend(TABLE_DUMP_V2.to_be_bytes());
        self.dump.extend(subtype.to_be_bytes());
        self.dump.extend(length.to_be_bytes());
        parts
            .iter()
            .for_each(|part| self.dump.extend_from_slice(part));
    }
}

/// The networks of a range: first address and bits for hosts.
fn networks(first: u128, last: u128, bits: u32) -> impl Iterator<Item = (u128, u32)> {
    let mut next = Some(first);
    std::iter::from_fn(move || {
        let first = next?;
        let fits = (last - first).checked_add(1).map_or(bits, u128::ilog2);
        let hosts = first.trailing_zeros().min(fits).min(bits);
        next = 1_u128
            .checked_shl(hosts)
            .and_then(|size| first.checked_add(size))
            .filter(|next| *next <= last);
        Some((first, hosts))
    })
}
