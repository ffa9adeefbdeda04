//! The bodies of the fuzz targets in `fuzz/`, also called by the property tests in
//! `tests/never_panics.rs`.

use nearside_types::Rtt;

use crate::{
    Coordinate, CoordinateParts, Estimator, Factorisation, FactorisationConfig, Neighbour, Node,
    Vivaldi, VivaldiConfig,
};

/// Whatever neighbours say, a node's coordinate stays one that others accept, and its estimates stay
/// finite.
pub fn vivaldi(bytes: &[u8]) {
    let mut node = Vivaldi::new(VivaldiConfig::default(), 0);
    for chunk in bytes.chunks_exact(CHUNK) {
        let Ok(peer) = Coordinate::try_from(parts(chunk)) else {
            continue;
        };
        let rtt = Rtt::from_micros(u32::from_le_bytes(four(&chunk[40..])));
        let before = node.coordinate().clone();
        if node
            .observe(Neighbour(u64::from(chunk[44] % 4)), &peer, rtt)
            .is_err()
        {
            assert_eq!(*node.coordinate(), before);
        }
        let told = CoordinateParts::from(node.coordinate().clone());
        assert_eq!(Coordinate::try_from(told).as_ref(), Ok(node.coordinate()));
        let there = node.coordinate().estimate(&peer);
        assert_eq!(there, peer.estimate(node.coordinate()));
    }
}

/// Bytes of one step: four positions, height, adjustment and error of 5 bytes each, and more.
const CHUNK: usize = 48;

fn parts(chunk: &[u8]) -> CoordinateParts {
    let number = |at: usize| match chunk[at] & 7 {
        // Mostly sane, sometimes any bit pattern at all.
        0 => f64::from(f32::from_le_bytes(four(&chunk[at + 1..]))),
        _ => f64::from(i16::from_le_bytes([chunk[at + 1], chunk[at + 2]])) / 64.0,
    };
    CoordinateParts {
        position_ms: (0..4).map(|axis| number(axis * 5)).collect(),
        height_ms: number(20),
        adjustment_ms: number(25),
        error: number(30).abs() / 100.0,
    }
}

fn four(bytes: &[u8]) -> [u8; 4] {
    [bytes[0], bytes[1], bytes[2], bytes[3]]
}

/// Any sequence of samples leaves predictions that are finite and the same in both directions.
pub fn factorisation(bytes: &[u8]) {
    let mut learner = Factorisation::new(FactorisationConfig::default(), 0);
    for chunk in bytes.chunks_exact(6) {
        let (a, b) = (Node(u32::from(chunk[0] % 8)), Node(u32::from(chunk[1] % 8)));
        let rtt = Rtt::from_micros(u32::from_le_bytes(four(&chunk[2..])));
        match chunk[0] >> 4 {
            15 => learner.forget(a),
            _ => learner.observe(a, b, rtt),
        }
        assert_eq!(learner.estimate(a, b), learner.estimate(b, a));
        let mut row = [0.0; 8];
        learner.estimate_row(a, &mut row);
        assert!(row.iter().all(|rtt| !rtt.is_nan() && *rtt >= 0.0));
    }
}
