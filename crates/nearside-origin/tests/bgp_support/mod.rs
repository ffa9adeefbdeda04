//! Messages as a neighbour writes them, put together octet by octet from the RFCs and not with the
//! code under test.
#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    reason = "each test file uses its part"
)]

use std::net::Ipv4Addr;

use nearside_origin::bgp::{Event, Output, Session, SessionConfig};
use nearside_types::{Asn, Moment, Prefix};

pub const PEER_ASN: u32 = 64_501;

pub fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = u16::try_from(19 + body.len()).unwrap().to_be_bytes();
    [&[0xFF; 16], length.as_slice(), &[kind], body].concat()
}

pub fn keep_alive() -> Vec<u8> {
    message(4, &[])
}

pub fn notification(code: u8, subcode: u8) -> Vec<u8> {
    message(3, &[code, subcode])
}

pub const CAPABILITY_V4: &[u8] = &[1, 4, 0, 1, 0, 1];
pub const CAPABILITY_V6: &[u8] = &[1, 4, 0, 2, 0, 1];
pub const CAPABILITY_GRACEFUL: &[u8] = &[64, 2, 0, 120];
pub const CAPABILITY_FOUR_OCTETS: &[u8] = &[65, 4, 0, 0, 0xFB, 0xF5];

/// An OPEN of AS 64501.
pub fn open(hold_time: u16, capabilities: &[&[u8]]) -> Vec<u8> {
    let capabilities = capabilities.concat();
    let [high, low] = hold_time.to_be_bytes();
    let fixed = [4, 0xFB, 0xF5, high, low, 10, 0, 0, 1];
    let length = capabilities.len() as u8;
    let parameters = [length + 2, 2, length];
    message(1, &[&fixed, parameters.as_slice(), &capabilities].concat())
}

/// An OPEN with all that BIRD offers.
pub fn full_open() -> Vec<u8> {
    open(
        240,
        &[
            CAPABILITY_V4,
            CAPABILITY_V6,
            CAPABILITY_GRACEFUL,
            CAPABILITY_FOUR_OCTETS,
        ],
    )
}

pub fn attribute(flags: u8, kind: u8, value: &[u8]) -> Vec<u8> {
    [&[flags, kind, value.len() as u8], value].concat()
}

pub fn origin_attribute() -> Vec<u8> {
    attribute(0x40, 1, &[0])
}

pub fn next_hop() -> Vec<u8> {
    attribute(0x40, 3, &[10, 0, 0, 1])
}

/// An AS_PATH of one sequence in four octets.
pub fn as_path(path: &[u32]) -> Vec<u8> {
    let members: Vec<u8> = path.iter().flat_map(|asn| asn.to_be_bytes()).collect();
    let segment = [&[2, path.len() as u8], members.as_slice()].concat();
    attribute(0x40, 2, if path.is_empty() { &[] } else { &segment })
}

pub fn nlri(prefixes: &[&str]) -> Vec<u8> {
    prefixes.iter().flat_map(|text| one_prefix(text)).collect()
}

fn one_prefix(text: &str) -> Vec<u8> {
    let (network, length) = text.split_once('/').unwrap();
    let length: u8 = length.parse().unwrap();
    let octets = match network.parse().unwrap() {
        std::net::IpAddr::V4(v4) => v4.octets().to_vec(),
        std::net::IpAddr::V6(v6) => v6.octets().to_vec(),
    };
    [&[length], &octets[..usize::from(length.div_ceil(8))]].concat()
}

/// An UPDATE of its three fields.
pub fn update(withdrawn: &[u8], attributes: &[Vec<u8>], announced: &[u8]) -> Vec<u8> {
    let attributes = attributes.concat();
    let lengths = [withdrawn.len(), attributes.len()].map(|length| (length as u16).to_be_bytes());
    let body = [&lengths[0], withdrawn, &lengths[1], &attributes, announced].concat();
    message(2, &body)
}

/// Announces IPv4 prefixes with this path.
pub fn announce(prefixes: &[&str], path: &[u32]) -> Vec<u8> {
    let attributes = [origin_attribute(), as_path(path), next_hop()];
    update(&[], &attributes, &nlri(prefixes))
}

pub fn withdraw(prefixes: &[&str]) -> Vec<u8> {
    update(&nlri(prefixes), &[], &[])
}

/// MP_REACH_NLRI for IPv6 with a link-local next hop beside the global one.
pub fn mp_reach_v6(prefixes: &[&str]) -> Vec<u8> {
    let head = [&[0, 2, 1, 32], [0x20; 32].as_slice(), &[0]].concat();
    attribute(0x80, 14, &[head, nlri(prefixes)].concat())
}

pub fn mp_unreach_v6(prefixes: &[&str]) -> Vec<u8> {
    attribute(0x80, 15, &[vec![0, 2, 1], nlri(prefixes)].concat())
}

pub fn announce_v6(prefixes: &[&str], path: &[u32]) -> Vec<u8> {
    let attributes = [mp_reach_v6(prefixes), origin_attribute(), as_path(path)];
    update(&[], &attributes, &[])
}

pub fn end_of_rib_v4() -> Vec<u8> {
    update(&[], &[], &[])
}

pub fn end_of_rib_v6() -> Vec<u8> {
    update(&[], &[mp_unreach_v6(&[])], &[])
}

pub fn prefix(text: &str) -> Prefix {
    let (network, length) = text.split_once('/').unwrap();
    Prefix::new(network.parse().unwrap(), length.parse().unwrap())
}

pub fn session() -> Session {
    let config = SessionConfig {
        local_asn: Asn(64_502),
        router_id: Ipv4Addr::new(10, 0, 0, 2),
        peer_asn: Asn(PEER_ASN),
        hold_time: SessionConfig::HOLD_TIME,
    };
    Session::new(config, Moment::EPOCH)
}

/// What a session did: messages sent, events, and when it wants to be called.
#[derive(Debug, Default, PartialEq)]
pub struct Done {
    pub sent: Vec<Vec<u8>>,
    pub events: Vec<Event>,
    pub wait: Option<Moment>,
}

pub fn drain(session: &mut Session) -> Done {
    let mut done = Done::default();
    loop {
        match session.poll_output() {
            Output::Send(bytes) => done.sent.push(bytes),
            Output::Event(event) => done.events.push(event),
            Output::Wait(until) => {
                done.wait = until;
                return done;
            }
        }
    }
}

/// Feeds one message and returns what came of it.
pub fn feed(session: &mut Session, bytes: &[u8]) -> Done {
    session.handle_bytes(Moment::EPOCH, bytes);
    drain(session)
}

/// A session that is up, with these capabilities on the neighbour's side.
pub fn established_with(capabilities: &[&[u8]]) -> Session {
    let mut session = session();
    feed(&mut session, &open(240, capabilities));
    feed(&mut session, &keep_alive());
    assert!(session.is_established());
    session
}

pub fn established() -> Session {
    established_with(&[CAPABILITY_V4, CAPABILITY_V6, CAPABILITY_FOUR_OCTETS])
}
