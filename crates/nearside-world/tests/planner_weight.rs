//! Whether the adaptive planner knows how much memory it takes. Alone in its file, since it weighs the
//! process.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::net::{Ipv4Addr, SocketAddr};

use nearside_discover::planner::{
    AdaptiveConfig, AdaptivePlanner, Listed, Outcome, Planner, Sample, ServerId,
};
use nearside_types::{Asn, Origin, Rtt, ServerAddr};

/// The planner's own count is checked by the kernel's, on a heap from which nothing was freed: there a
/// process grows by what it keeps, and by what it took for a while.
#[test]
fn what_the_planner_counts_is_what_the_process_grows_by() {
    const SERVERS: u32 = 1_000_000;
    let server = |index: u32| Listed {
        addr: address(index),
        origin: Origin {
            asn: Some(Asn(index / 500)),
            country: "DE".parse().ok(),
        },
    };
    let list: Vec<Listed> = (0..SERVERS).map(server).collect();
    let before = resident_bytes();
    let mut planner = AdaptivePlanner::new(AdaptiveConfig::new(), 1);
    planner.servers_listed(&list);
    planner.list_complete();
    for index in (0..SERVERS).step_by(2) {
        planner.observe(Sample {
            server: ServerId(index),
            outcome: Outcome::Answered(Rtt::from_micros(10_000 + index % 90_000)),
            matches: true,
        });
    }
    let _decided = planner.next();
    let grown = resident_bytes() - before;
    let counted = planner.heap_bytes();
    assert!(
        counted <= grown && 2 * counted >= grown,
        "counted {counted}, grown by {grown}"
    );
}

fn address(index: u32) -> ServerAddr {
    let ip = Ipv4Addr::from(0x0B00_0000 + 7 * index);
    ServerAddr::from_socket(SocketAddr::from((ip, 27015))).unwrap()
}

/// What the process has in memory, by the kernel's count of pages.
fn resident_bytes() -> usize {
    const PAGE: usize = 4096;
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    PAGE * statm.split(' ').nth(1).unwrap().parse::<usize>().unwrap()
}
