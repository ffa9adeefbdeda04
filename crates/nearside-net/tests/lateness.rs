//! How late the lab's replies are. In a file of its own, so that no other test of this crate runs at
//! the same time.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::Duration;

use nearside_net::MonotonicClock;
use nearside_net::lab::{LabConfig, LabShell, Reply, Responder};
use nearside_types::Moment;

/// Answers each server after a delay between 5 and 36 ms.
struct ShortDelays;

impl Responder for ShortDelays {
    fn handle(
        &mut self,
        _: Moment,
        _: SocketAddr,
        to: SocketAddr,
        _: &[u8],
        replies: &mut Vec<Reply>,
    ) {
        let SocketAddr::V4(server) = to else { return };
        let host = u64::from(server.ip().octets()[3]);
        replies.push(Reply {
            delay: Duration::from_micros(5_000 + host * 123),
            payload: vec![0; 100],
        });
    }
}

/// The median lateness of 250 replies.
fn median_lateness() -> Duration {
    let config = LabConfig {
        server_ports: BTreeSet::from([0]),
        masters: Vec::new(),
    };
    let clock = MonotonicClock::start();
    let shell = LabShell::bind(&config, ShortDelays, clock).expect("a free port");
    let port = shell.local_addrs()[0].port();
    let lab = shell.spawn().expect("one more thread");
    let client = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    for host in 1..=250 {
        client
            .send_to(b"?", (Ipv4Addr::new(127, 50, 0, host), port))
            .expect("loopback works");
    }
    let patience = clock.now() + Duration::from_secs(5);
    while lab.stats().replies < 250 && clock.now() < patience {
        std::thread::sleep(Duration::from_millis(5));
    }
    let stats = lab.stop().expect("nothing to fail");
    assert_eq!(stats.replies, 250);
    stats.lateness.quantile(0.5).expect("250 replies")
}

#[test]
fn replies_leave_less_than_a_millisecond_late_at_the_median() {
    // A machine busy with other things may be late now and then; the lab itself must not be.
    let rounds: Vec<Duration> = std::iter::repeat_with(median_lateness).take(8).collect();
    let best = rounds.iter().min().expect("eight rounds");
    assert!(*best < Duration::from_millis(1), "{rounds:?}");
}
