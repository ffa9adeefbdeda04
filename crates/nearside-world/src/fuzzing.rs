//! The bodies of this crate's fuzz targets in `fuzz/`, also called by property tests in `tests/`.

use std::net::SocketAddr;
use std::time::Duration;

use nearside_types::{LatencyMatrix, Moment, Rtt, ServerAddr};

use crate::Population;
use crate::farm::{Farm, FarmConfig, FarmServer, Protocol};
use crate::params::WorldParams;
use crate::recorded::{
    MAX_NODES, MatrixLayout, MatrixSlices, Trace, read_matrix, read_series, write_matrix_csv,
};

/// Any bytes are a population or are refused; what is read is read back unchanged once written.
pub fn population_file(bytes: &[u8]) {
    let Ok(population) = Population::read("fuzz", bytes) else {
        return;
    };
    let mut text = Vec::new();
    population.write(&mut text).expect("memory does not fail");
    let again = Population::read("fuzz", &text[..]).expect("what was written is a population");
    assert_eq!(again, population);
}

/// Any bytes are matrices, a trace, series, or are refused. The first byte chooses.
pub fn recorded_file(bytes: &[u8]) {
    let Some((&choice, bytes)) = bytes.split_first() else {
        return;
    };
    let (nodes, slice) = (
        usize::from(choice >> 4) + 2,
        usize::from(choice >> 2 & 3) + 1,
    );
    match choice & 3 {
        0 => csv_matrix(bytes),
        1 => slices(bytes, MatrixLayout::UpperMicros { nodes, slice }),
        2 => slices(bytes, MatrixLayout::FullTenMillis { nodes, slice }),
        _ => {
            if let Ok(trace) = Trace::read("fuzz", bytes) {
                assert_eq!(trace.medians(Rtt::default()).nodes(), trace.nodes.len());
            }
            let series = read_series("fuzz", bytes).unwrap_or_default();
            assert!(series.iter().all(|series| !series.points.is_empty()));
        }
    }
}

fn csv_matrix(bytes: &[u8]) {
    let read = |bytes: &[u8]| read_matrix("fuzz", bytes, MatrixLayout::Csv);
    let Ok(matrix) = read(bytes) else {
        return;
    };
    assert!(matrix.nodes() <= MAX_NODES);
    let mut text = Vec::new();
    write_matrix_csv(&matrix, &mut text).expect("memory does not fail");
    // One node is one cell, which is blank if it says nothing, as the end of a file is.
    if matrix.nodes() > 1 {
        let again = read(&text).expect("what was written is a matrix");
        assert_eq!(again, matrix);
    }
}

fn slices(bytes: &[u8], layout: MatrixLayout) {
    let Ok(Some(slices)) = MatrixSlices::open("fuzz", bytes, layout) else {
        return;
    };
    let matrices: Vec<LatencyMatrix> = slices.map_while(Result::ok).collect();
    assert!(matrices.len() <= bytes.len());
}

/// Any text is a world or is refused with a reason.
pub fn world_file(bytes: &[u8]) {
    if let Ok(text) = std::str::from_utf8(bytes)
        && let Err(error) = WorldParams::from_toml(text)
    {
        assert!(!error.to_string().is_empty());
    }
}

/// A farm takes any datagram, and its books are straight. The first byte chooses the protocol.
pub fn farm(bytes: &[u8]) {
    let Some((&choice, payload)) = bytes.split_first() else {
        return;
    };
    let addr: ServerAddr = "127.1.1.1:27015".parse().expect("an address");
    let server = FarmServer {
        addr,
        rtt: Some(Rtt::from_micros(1000)),
        busiest: Duration::ZERO,
    };
    let config = FarmConfig {
        protocol: match choice & 1 {
            0 => Protocol::A2s,
            _ => Protocol::EnemyTerritory,
        },
        ..FarmConfig::default()
    };
    let mut farm = Farm::new(config, vec![server], 1);
    let from: SocketAddr = "127.0.0.1:5000".parse().expect("an address");
    let mut replies = Vec::new();
    farm.handle(Moment::EPOCH, from, addr.socket(), payload, &mut replies);
    let stats = farm.stats();
    assert_eq!(stats.requests, stats.answered + stats.malformed);
    assert_eq!(replies.is_empty(), stats.answered == 0);
}
