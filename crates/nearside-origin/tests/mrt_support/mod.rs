//! MRT records, put together from RFC 6396 and not with the code under test.
#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    reason = "each test file uses its part"
)]

use crate::bgp_support::{as_path, nlri, origin_attribute};

/// 2026-06-01, the date of every record here.
pub const WRITTEN: u32 = 1_780_272_000;

pub fn record(kind: u16, subtype: u16, body: &[u8]) -> Vec<u8> {
    let [seconds, length] = [WRITTEN, body.len() as u32].map(u32::to_be_bytes);
    let [kind, subtype] = [kind, subtype].map(u16::to_be_bytes);
    [&seconds, kind.as_slice(), &subtype, &length, body].concat()
}

/// A PEER_INDEX_TABLE of neighbours with these AS numbers.
pub fn peer_index(asns: &[u32]) -> Vec<u8> {
    let mut body = vec![10, 0, 0, 9, 0, 0];
    body.extend((asns.len() as u16).to_be_bytes());
    for (index, asn) in asns.iter().enumerate() {
        let last = index as u8;
        body.extend([2, 10, 0, 0, last, 10, 0, 0, last]);
        body.extend(asn.to_be_bytes());
    }
    record(13, 1, &body)
}

pub fn rib_v4(prefix: &str, routes: &[(u16, &[u32])]) -> Vec<u8> {
    rib_v4_raw(prefix, &with_attributes(routes))
}

pub fn rib_v6(prefix: &str, routes: &[(u16, &[u32])]) -> Vec<u8> {
    record(13, 4, &rib_body(prefix, &with_attributes(routes)))
}

pub fn rib_v4_raw(prefix: &str, routes: &[(u16, Vec<u8>)]) -> Vec<u8> {
    record(13, 2, &rib_body(prefix, routes))
}

fn with_attributes(routes: &[(u16, &[u32])]) -> Vec<(u16, Vec<u8>)> {
    let attributes = |path| [origin_attribute(), as_path(path)].concat();
    routes
        .iter()
        .map(|(peer, path)| (*peer, attributes(path)))
        .collect()
}

fn rib_body(prefix: &str, routes: &[(u16, Vec<u8>)]) -> Vec<u8> {
    let mut body = vec![0, 0, 0, 1];
    body.extend(nlri(&[prefix]));
    body.extend((routes.len() as u16).to_be_bytes());
    for (peer, attributes) in routes {
        body.extend(peer.to_be_bytes());
        body.extend(WRITTEN.to_be_bytes());
        body.extend((attributes.len() as u16).to_be_bytes());
        body.extend(attributes);
    }
    body
}

/// A BGP4MP_MESSAGE_AS4 from AS 64501.
pub fn bgp4mp(message: &[u8]) -> Vec<u8> {
    let head = [
        [0, 0, 0xFB, 0xF5].as_slice(),
        &[0, 0, 0xFB, 0xF6],
        &[0, 0, 0, 1],
        &[10, 0, 0, 1, 10, 0, 0, 2],
    ]
    .concat();
    record(16, 4, &[head.as_slice(), message].concat())
}
