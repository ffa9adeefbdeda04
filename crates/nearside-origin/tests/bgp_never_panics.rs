//! The bodies of the fuzz targets for BGP and MRT, fed by proptest.

use nearside_origin::fuzzing;
use proptest::collection::vec;
use proptest::prelude::*;

/// Messages with a proper header more often than chance would make them, and octets that are often
/// small, as lengths and types are.
fn streams() -> impl Strategy<Value = Vec<u8>> {
    let octets = |most| vec(prop_oneof![3 => 0u8..=33, 1 => any::<u8>()], 0..most);
    let framed = (1u8..=5, octets(80)).prop_map(|(kind, body)| {
        let length = (19 + body.len() as u16).to_be_bytes();
        [&[0xFF; 16], length.as_slice(), &[kind], &body].concat()
    });
    let messages = vec(prop_oneof![6 => framed, 1 => octets(40)], 0..12);
    (any::<u8>(), messages)
        .prop_map(|(choice, messages)| [vec![choice], messages.concat()].concat())
}

/// Path attributes that are right but for one octet, behind which prefixes follow.
fn attributes() -> impl Strategy<Value = Vec<u8>> {
    let good: Vec<u8> = [
        [0x40, 1, 1, 0].as_slice(),
        &[0x40, 2, 6, 2, 1, 0, 0, 0x3B, 0x41],
        &[0x40, 3, 4, 10, 0, 0, 1],
    ]
    .concat();
    let prefixes = vec((8u8..=24, any::<[u8; 3]>()), 1..4);
    (any::<prop::sample::Index>(), any::<u8>(), 0u8..4, prefixes).prop_map(
        move |(at, value, break_it, prefixes)| {
            let mut attributes = good.clone();
            if break_it == 0 {
                *at.get_mut(&mut attributes) = value;
            }
            let nlri = prefixes.iter().flat_map(|(length, octets)| {
                let octets = octets[..usize::from(length.div_ceil(8))].iter().copied();
                std::iter::once(*length).chain(octets).collect::<Vec<u8>>()
            });
            let length = [0, attributes.len() as u8];
            [length.to_vec(), attributes, nlri.collect()].concat()
        },
    )
}

/// Events for the collector: what, how long after the last one, and some bytes.
fn sequences() -> impl Strategy<Value = Vec<u8>> {
    let body = prop_oneof![
        3 => attributes(),
        1 => vec(any::<u8>(), 0..24),
    ];
    let what = prop_oneof![4 => Just(26u8), 12 => Just(5u8), 1 => any::<u8>()];
    let event = (what, any::<u8>(), body).prop_map(|(what, wait, body)| {
        let (wait, length) = (wait / 8, body.len() as u8);
        [vec![what, wait, length], body].concat()
    });
    vec(event, 0..40).prop_map(|events| events.concat())
}

/// MRT records with a proper header more often than not, also packed.
fn dumps() -> impl Strategy<Value = Vec<u8>> {
    let kinds = prop_oneof![
        Just((13u8, 1u8)),
        Just((13, 2)),
        Just((13, 4)),
        Just((16, 4)),
        any::<(u8, u8)>()
    ];
    let body = vec(prop_oneof![3 => 0u8..=33, 1 => any::<u8>()], 0..90);
    let record = (kinds, body).prop_map(|((kind, subtype), body)| {
        let head = [0, 0, 0, 9, 0, kind, 0, subtype, 0, 0, 0, body.len() as u8];
        [head.as_slice(), &body].concat()
    });
    let peers = [
        [0, 0, 0, 9, 0, 13, 0, 1, 0, 0, 0, 21].as_slice(),
        &[
            1, 1, 1, 1, 0, 0, 0, 1, 2, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 7,
        ],
    ]
    .concat();
    let opening = prop_oneof![
        4 => Just(peers),
        1 => Just(vec![0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3]),
        1 => Just(b"BZh91AY&SY".to_vec()),
        1 => Just(Vec::new()),
    ];
    (opening, vec(record, 0..8)).prop_map(|(opening, records)| [opening, records.concat()].concat())
}

fn config() -> ProptestConfig {
    ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(2_000)
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_stream_gives_the_same_events_however_it_is_cut(bytes in streams()) {
        fuzzing::bgp_session(&bytes);
    }

    #[test]
    fn any_sequence_leaves_the_collectors_books_straight(bytes in sequences()) {
        fuzzing::bgp_collector(&bytes);
    }

    #[test]
    fn any_bytes_are_a_dump_with_some_end(bytes in dumps()) {
        fuzzing::mrt(&bytes);
    }
}
