//! Builds by hand what docs/wire/detour.md says, and compares.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::hash::Hasher;

use nearside_coords::{Coordinate, CoordinateParts};
use nearside_detour::ClientId;
use nearside_tunnel::crypto::{HopKey, PingKey, PublicKey};
use nearside_tunnel::messages::{
    Ask, Complaint, Fault, Found, Introduction, Measured, Notice, RelayPass, Request, Talk, Tell,
    TicketBytes, encode,
};
use nearside_types::Rtt;
use siphasher::{sip, sip128};

const KEY: [u8; 16] = *b"sixteen bytes ok";

fn tag(parts: &[&[u8]]) -> u64 {
    let mut hasher = sip::SipHasher24::new_with_key(&KEY);
    hasher.write(&parts.concat());
    hasher.finish()
}

#[test]
fn hashed_numbers_go_lowest_byte_first() {
    let number = 0x0102_0304_0506_0708_u64;
    let low_first = [8, 7, 6, 5, 4, 3, 2, 1];
    let hash = sip128::SipHasher24::new_with_key(&KEY).hash(&low_first);
    assert_eq!(PingKey(KEY).of(ClientId(number)).0, hash.as_bytes());
    let ping = PingKey(KEY).tag_ping(number);
    assert_eq!(ping, tag(&[b"ping", &low_first]));
    let pong = PingKey(KEY).tag_pong(number, b"place");
    assert_eq!(pong, tag(&[b"pong", &low_first, b"place"]));
    let opened = HopKey(KEY).tag_opened(0x0102_0304);
    assert_eq!(opened, tag(&[b"opened", &[4, 3, 2, 1]]));
    let ticket = [7; 100];
    assert_eq!(HopKey(KEY).tag_open(&ticket), tag(&[b"open", &ticket]));
}

#[test]
fn requests_are_as_the_tables_say() {
    let request = |ask| encode(&Request { number: 300, ask });
    // Version 1, the number 300 in two bytes, the variant.
    assert_eq!(request(Ask::Leave), [1, 0xAC, 2, 9]);
    let server = "192.0.2.1:27960".parse().unwrap();
    let find = request(Ask::Find(server));
    // 27,960 is 0x6D38: 0x38 with more to follow, 0x5A with more to follow, 1.
    assert_eq!(find, [1, 0xAC, 2, 3, 0, 192, 0, 2, 1, 0xB8, 0xDA, 1]);
    let uses = request(Ask::Uses {
        session: 5,
        relay: Some(ClientId(6)),
        complaint: Some(Complaint {
            relay: ClientId(7),
            fault: Fault::Lossy,
        }),
    });
    assert_eq!(uses, [1, 0xAC, 2, 7, 5, 1, 6, 1, 7, 2]);
    let parts = CoordinateParts {
        position_ms: vec![1.5, -2.0],
        height_ms: 3.0,
        adjustment_ms: 0.0,
        error: 0.25,
    };
    let report = request(Ask::Report(Measured {
        coordinate: Some(Coordinate::try_from(parts).unwrap()),
        legs: vec![(ClientId(9), Rtt::from_micros(100))],
        overloaded: true,
    }));
    let f64s = |values: &[f64]| {
        values
            .iter()
            .flat_map(|x| x.to_le_bytes())
            .collect::<Vec<_>>()
    };
    let position = [vec![1, 0xAC, 2, 2, 1, 2], f64s(&[1.5, -2.0])].concat();
    let rest = [f64s(&[3.0, 0.0, 0.25]), vec![1, 9, 100, 1]].concat();
    assert_eq!(report, [position, rest].concat());
}

#[test]
fn notices_are_as_the_tables_say() {
    let notice = |tell| {
        let (answers, number) = (Some(1), 2);
        encode(&Notice {
            answers,
            number,
            tell,
        })
    };
    let found = Found {
        peer: PublicKey([3; 32]),
        is_exit: true,
    };
    let expected = [&[1, 1, 1, 2, 4][..], &[3; 32], &[1]].concat();
    assert_eq!(notice(Tell::Found(found)), expected);
    let pass = RelayPass {
        relay: ClientId(6),
        address: "[::1]:80".parse().unwrap(),
        hop: 127,
        key: HopKey(KEY),
        ticket: TicketBytes([9; 100]),
        packets: 60,
        kilobits: 120,
    };
    let introduction = notice(Tell::Introduce(Introduction {
        session: 5,
        peer: PublicKey([3; 32]),
        addresses: vec!["192.0.2.1:80".parse().unwrap()],
        pass: KEY,
        leads: true,
        through: Some(pass),
    }));
    let mut six = [0; 16];
    six[15] = 1;
    let expected = [
        &[1, 1, 1, 2, 5, 5][..],
        &[3; 32],
        &[1, 0, 192, 0, 2, 1, 80],
        &KEY,
        &[1, 1, 6, 1],
        &six,
        &[80, 127],
        &KEY,
        &[100],
        &[9; 100],
        &[60, 120],
    ];
    assert_eq!(introduction, expected.concat());
}

#[test]
fn talks_are_as_the_tables_say() {
    let to = "192.0.2.1:80".parse().ok();
    let flow = encode(&Talk::Flow { flow: 200, to });
    assert_eq!(flow, [1, 1, 0xC8, 1, 1, 0, 192, 0, 2, 1, 80]);
    assert_eq!(encode(&Talk::NoFlow { flow: 3 }), [1, 2, 3]);
    assert_eq!(encode(&Talk::Losing(None)), [1, 4, 0]);
    assert_eq!(encode(&Talk::Goodbye), [1, 5]);
}
