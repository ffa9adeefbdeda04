//! The lab as a child: a population of the bench's own, a truth log, and an end that flushes it.

use std::io::{BufRead, BufReader, BufWriter};
use std::net::{IpAddr, Ipv4Addr, UdpSocket};
use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use nearside_net::Stop;
use nearside_types::{Asn, Origin, Rtt, ServerAddr};
use nearside_world::{Population, WorldServer};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::child::{CommandLine, Running};
use super::scenario::Scenario;
use crate::exit::WorldFailure;

/// The list both programs read, in qstat's form.
pub(super) const LIST: &str = "list.txt";
/// What the lab logs.
pub(super) const TRUTH: &str = "truth.csv";
const POPULATION: &str = "population.csv";
const PLACE: &str = "BENCH";

/// A lab that answers.
#[derive(Debug)]
pub(super) struct Lab {
    process: Running,
    command: String,
}

impl Lab {
    pub(super) fn start(folder: &Path, scenario: Scenario, seed: u64) -> Result<Self> {
        let [servers, steam, quake3] = free_ports()?;
        let flags = scenario.lab_flags();
        let command = CommandLine::nearside(&format!(
            "lab --population {POPULATION} --place {PLACE} --truth {TRUTH} --write-list {LIST} \
             --no-noise --no-rate-limits --base-port {servers} --steam-master-port {steam} \
             --quake3-master-port {quake3} --seed {seed} {flags}"
        ))?;
        let mut process = Running::start(&command, folder, Stdio::piped())?;
        wait_until_ready(&mut process)?;
        Ok(Self {
            process,
            command: command.to_string(),
        })
    }

    pub(super) fn command(&self) -> &str {
        &self.command
    }

    /// Ends it with its truth log written.
    pub(super) fn stop(mut self, stop: &Stop) -> Result<()> {
        self.process.interrupt()?;
        self.process.watch(stop).map(drop)
    }
}

fn wait_until_ready(process: &mut Running) -> Result<()> {
    let stdout = process.take_stdout().expect("piped and taken only here");
    for line in BufReader::new(stdout).lines() {
        if line? == "ready" {
            return Ok(());
        }
    }
    let said = process.complaint();
    Err(WorldFailure(format!("the lab did not start: {said}")).into())
}

/// Three ports that nobody uses now. Another program may take one before the lab does; the lab then
/// says so.
fn free_ports() -> Result<[u16; 3]> {
    let sockets = [free_socket()?, free_socket()?, free_socket()?];
    let mut ports = [0; 3];
    for (port, socket) in ports.iter_mut().zip(&sockets) {
        *port = socket.local_addr()?.port();
    }
    Ok(ports)
}

/// Held while the others are looked for, so that they differ.
fn free_socket() -> Result<UdpSocket> {
    (FIRST_PORT..LAST_PORT)
        .find_map(|port| UdpSocket::bind((Ipv4Addr::UNSPECIFIED, port)).ok())
        .with_context(|| format!("no free UDP port from {FIRST_PORT} to {LAST_PORT}"))
}

/// Below the ports that systems hand out to clients (32768 on Linux, 49152 by RFC 6335), so that no
/// client of the bench can be given one of them.
const FIRST_PORT: u16 = 28_200;
const LAST_PORT: u16 = 32_700;

/// Writes `servers` servers with RTTs from 5 to 300 ms, drawn evenly by the seed.
pub(super) fn write_population(folder: &Path, servers: usize, seed: u64) -> Result<()> {
    ensure!(
        servers <= MAX_SERVERS,
        "--servers {servers}: the bench has addresses for {MAX_SERVERS}"
    );
    let path = folder.join(POPULATION);
    let file = BufWriter::new(crate::commands::create(&path)?);
    population(servers, seed)
        .write(file)
        .with_context(|| format!("cannot write {}", path.display()))
}

/// Few enough in one /16 that one port serves them all after folding, as a real list has it.
const PER_PREFIX: usize = 50;
/// First bytes in use, from 128: the old class B and more.
const FIRST_BYTES: usize = 64;
const MAX_SERVERS: usize = PER_PREFIX * FIRST_BYTES * 256;
/// 4200000000 and above are for private use (RFC 6996).
const FIRST_PRIVATE_AS: u32 = 4_200_000_000;
const COUNTRIES: [&str; 5] = ["DE", "US", "JP", "BR", "AU"];
const RTT_MS: std::ops::Range<f64> = 5.0..300.0;

fn population(servers: usize, seed: u64) -> Population {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let server = |index: usize| WorldServer {
        addr: address(index),
        origin: origin(index / PER_PREFIX),
        rtt: vec![Some(Rtt::from_millis_f64(rng.random_range(RTT_MS)))],
    };
    Population {
        clients: vec![PLACE.to_owned()],
        servers: (0..servers).map(server).collect(),
    }
}

fn address(index: usize) -> ServerAddr {
    let (prefix, host) = (index / PER_PREFIX, index % PER_PREFIX);
    let (first, second) = (128 + prefix % FIRST_BYTES, prefix / FIRST_BYTES);
    let bytes = [first, second, 0, host + 1]
        .map(|byte| u8::try_from(byte).expect("at most MAX_SERVERS, checked before"));
    ServerAddr::new(IpAddr::from(bytes), 27015).expect("the port is not 0")
}

fn origin(prefix: usize) -> Origin {
    let number = u32::try_from(prefix).expect("fewer prefixes than IPv4 has");
    let country = COUNTRIES[prefix % COUNTRIES.len()];
    Origin {
        asn: Some(Asn(FIRST_PRIVATE_AS + number)),
        country: Some(country.parse().expect("two letters")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn servers_differ_in_address_and_spread_over_delays_and_prefixes() {
        let world = population(5_000, 3);
        let addresses: BTreeSet<ServerAddr> = world.servers.iter().map(|s| s.addr).collect();
        assert_eq!(addresses.len(), 5_000);
        let origins: BTreeSet<Option<Asn>> = world.servers.iter().map(|s| s.origin.asn).collect();
        assert_eq!(origins.len(), 100);
        let mut rtts: Vec<f64> = world.rtts(0).map(Rtt::as_millis_f64).collect();
        rtts.sort_by(f64::total_cmp);
        assert!(rtts[0] >= 5.0 && rtts[0] < 6.0);
        assert!(rtts[4_999] <= 300.0 && rtts[4_999] > 299.0);
        assert!((rtts[2_500] - 152.5).abs() < 6.0);
    }

    #[test]
    fn the_seed_decides_the_population() {
        assert_eq!(population(100, 1), population(100, 1));
        assert_ne!(population(100, 1), population(100, 2));
    }

    #[test]
    fn every_permitted_server_has_an_address() {
        assert_eq!(address(MAX_SERVERS - 1).to_string(), "191.255.0.50:27015");
    }

    #[test]
    fn free_ports_differ() {
        let [a, b, c] = free_ports().unwrap();
        assert!(a != b && b != c && a != c);
    }
}
