//! How well an RTT is measured: a client with kernel stamps probes the delay line at a steady rate,
//! and every sample is compared with what the lab logged.
//!
//! `cargo run --release -p nearside-net --example rtt_error -- [probes per second] [seconds]`
//!
//! Client and lab are two threads of one process, so on two free cores they do not disturb each
//! other; on a busy machine the tail is the scheduler's.

// The table is the purpose of the program.
#![allow(clippy::print_stdout)]

use std::collections::{BTreeSet, HashMap};
use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use nearside_net::lab::{LabConfig, LabShell, LabStats, MemoryTruth, Reply, Responder, TruthRow};
use nearside_net::{
    Datagram, MonotonicClock, NetError, PortConfig, ReceivedAt, RecvBuffers, Stop, UdpPort,
    sharpen_timers, wait,
};
use nearside_types::{Moment, quantile};

/// Delays of 5–300 ms, spread evenly over the servers.
struct SpreadDelays;

impl Responder for SpreadDelays {
    fn handle(
        &mut self,
        _: Moment,
        _: SocketAddr,
        to: SocketAddr,
        _: &[u8],
        replies: &mut Vec<Reply>,
    ) {
        let SocketAddr::V4(server) = to else { return };
        // Fibonacci hashing: neighbouring addresses get distant delays.
        let mixed = server.ip().to_bits().wrapping_mul(0x9E37_79B9);
        let micros = 5_000 + u64::from(mixed) * 295_000 / u64::from(u32::MAX);
        replies.push(Reply {
            delay: Duration::from_micros(micros),
            payload: [b"\xFF\xFF\xFF\xFFI".as_slice(), &[b'x'; 100]].concat(),
        });
    }
}

/// The client's side of the experiment.
struct Client {
    port: UdpPort,
    clock: MonotonicClock,
    sent: HashMap<SocketAddr, Moment>,
    samples: Vec<(SocketAddr, Duration)>,
    kernel_stamped: usize,
}

impl Client {
    fn probe(&mut self, server: SocketAddr) -> Result<(), NetError> {
        self.sent.insert(server, self.clock.now());
        self.port.send(server, &[b'?'; 25], None).map(drop)
    }

    fn receive(&mut self, buffers: &mut RecvBuffers) -> Result<(), NetError> {
        let (sent, samples) = (&self.sent, &mut self.samples);
        let stamped = &mut self.kernel_stamped;
        let mut take = |datagram: Datagram<'_>| {
            *stamped += usize::from(matches!(datagram.received, ReceivedAt::Kernel(_)));
            if let (Some(sent), Some(at)) = (sent.get(&datagram.from), datagram.received.moment()) {
                samples.push((datagram.from, at - *sent));
            }
        };
        while self.port.recv_batch(buffers, &self.clock, &mut take)? > 0 {}
        Ok(())
    }

    /// One probe every `interval` to a server of its own each, then a second for the last replies.
    fn run(&mut self, servers: &[SocketAddr], interval: Duration) -> Result<(), NetError> {
        sharpen_timers();
        let stop = Stop::new()?;
        let mut buffers = RecvBuffers::new();
        let mut next_send = self.clock.now();
        for server in servers {
            while self.clock.now() < next_send {
                wait([&self.port], &stop, Some(next_send), &self.clock)?;
                self.receive(&mut buffers)?;
            }
            self.probe(*server)?;
            next_send += interval;
        }
        let end = self.clock.now() + Duration::from_secs(1);
        while self.clock.now() < end {
            wait([&self.port], &stop, Some(end), &self.clock)?;
            self.receive(&mut buffers)?;
        }
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default| arguments.next().map_or(Ok(default), |text| text.parse());
    let (rate, seconds): (u32, u32) = (number(1_000)?, number(5)?);
    let clock = MonotonicClock::start();
    let truth = MemoryTruth::default();
    let config = LabConfig {
        server_ports: BTreeSet::from([0]),
        masters: Vec::new(),
    };
    let shell = LabShell::bind(&config, SpreadDelays, clock)?.with_truth(truth.clone());
    let lab_port = shell.local_addrs()[0].port();
    let lab = shell.spawn()?;
    let mut client = Client {
        port: UdpPort::bind(PortConfig::ephemeral_v4(), &clock)?,
        clock,
        sent: HashMap::new(),
        samples: Vec::new(),
        kernel_stamped: 0,
    };
    // 127.1.0.0 and on, one server for each probe, so that a sample belongs to one row of the log.
    let first = Ipv4Addr::new(127, 1, 0, 0).to_bits();
    let servers: Vec<SocketAddr> = (first..first + rate * seconds)
        .map(|bits| (Ipv4Addr::from_bits(bits), lab_port).into())
        .collect();

    client.run(&servers, Duration::from_secs(1) / rate)?;

    report(rate, &client, &lab.stop()?, &truth.take());
    Ok(())
}

fn report(rate: u32, client: &Client, stats: &LabStats, rows: &[TruthRow]) {
    let truth: HashMap<SocketAddr, &TruthRow> = rows.iter().map(|row| (row.server, row)).collect();
    let against = |reference: fn(&TruthRow) -> Duration| {
        let errors = client.samples.iter().filter_map(|(server, rtt)| {
            let expected = reference(truth.get(server)?);
            Some(rtt.as_secs_f64() * 1e3 - expected.as_secs_f64() * 1e3)
        });
        errors.map(f64::abs).collect()
    };
    let lateness = rows
        .iter()
        .map(|row| (row.actual - row.intended).as_secs_f64() * 1e3);
    println!(
        "{rate} probes/s: {} sent, {} answered, {} with a kernel stamp; lab {} requests, {} replies",
        client.sent.len(),
        client.samples.len(),
        client.kernel_stamped,
        stats.requests,
        stats.replies
    );
    println!(
        "{:<28} {:>8} {:>8} {:>8} {:>8}",
        "ms", "p50", "p90", "p99", "max"
    );
    line("|RTT - logged delay|", against(|row| row.actual));
    line("|RTT - intended delay|", against(|row| row.intended));
    line("lab: reply late by", lateness.collect());
}

fn line(label: &str, mut values: Vec<f64>) {
    values.sort_by(f64::total_cmp);
    let [p50, p90, p99, max] =
        [0.5, 0.9, 0.99, 1.0].map(|q| quantile(&values, q).unwrap_or(f64::NAN));
    println!("{label:<28} {p50:>8.3} {p90:>8.3} {p99:>8.3} {max:>8.3}");
}
