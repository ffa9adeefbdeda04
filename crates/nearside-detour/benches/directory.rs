//! A directory of 100,000 clients with 32 edges each: memory, the time of a look-up over all clients
//! and over a shortlist, and what the shortlist loses of the gain.
//!
//! `cargo bench -p nearside-detour` prints it; with `-- --matrix FILE`, a file of `u32` microseconds in
//! little-endian order, upper triangles of 490 nodes one after the other (PlanetLab of Zhu et al.,
//! unpacked), clients stand beside the hosts of the first one and the shortlist is judged on that matrix
//! alone, too. Worse would be: more than 1 GiB, a p99 above 5 ms over all or above 1 ms with the
//! shortlist, or more than 2 % of the gain lost. As a test it runs a small directory.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a program for developers"
)]
#![allow(clippy::disallowed_methods, reason = "a benchmark reads the clock")]

use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use nearside_coords::{Coordinate, CoordinateParts};
use nearside_detour::directory::{Candidate, Newcomer, Relaying, Report};
use nearside_detour::{ClientId, Directory, DirectoryConfig};
use nearside_types::{Asn, Moment, Origin, Rtt, ServerAddr};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const EDGES: u32 = 32;
const K: usize = 8;
/// Networks that the clients are spread over.
const ASES: u32 = 5_000;
/// Clients of one /24 where networks are uneven.
const NEIGHBOURHOOD: u32 = 16;
/// What a relay adds, in milliseconds.
const OVERHEAD: f64 = 0.2;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let in_earnest = arguments.iter().any(|argument| argument == "--bench");
    let matrix = arguments.iter().position(|a| a == "--matrix");
    let matrix = matrix.map(|at| Matrix::read(&arguments[at + 1]));
    let (clients, lookups) = if in_earnest {
        (100_000, 5_000)
    } else {
        (500, 20)
    };
    let crowd = |seed| Crowd::new(clients, matrix.clone(), seed);
    for networks in [Networks::Even, Networks::Uneven] {
        at_scale(&crowd(1), networks, lookups);
    }
    if let Some(matrix) = matrix {
        for shortlist in [123, 98, 49, 25] {
            alone(&matrix, shortlist);
        }
    }
}

/// How clients are spread over ASes and prefixes, which candidates must not be crowded in.
#[derive(Debug, Clone, Copy)]
enum Networks {
    /// 5,000 ASes of one size, and a /24 for each client.
    Even,
    /// Half of the clients in one AS, the others in ASes of falling size, and sixteen to a /24: what was
    /// ranked first seldom suffices, and the choice must look further down.
    Uneven,
}

impl Networks {
    fn asn(self, client: u32) -> Asn {
        match self {
            Self::Even => Asn(1 + client % ASES),
            Self::Uneven if client.is_multiple_of(2) => Asn(1),
            // Squares of numbers that are spread evenly crowd at zero: sizes fall like 1 / √n.
            Self::Uneven => {
                let place = u64::from(client.wrapping_mul(0x9E37_79B1) >> 16);
                Asn(2 + u32::try_from((place * place * u64::from(ASES)) >> 32).unwrap())
            }
        }
    }

    fn address(self, client: u32) -> Ipv4Addr {
        let (prefix, host) = match self {
            Self::Even => (client, 0),
            Self::Uneven => (client / NEIGHBOURHOOD, client % NEIGHBOURHOOD),
        };
        Ipv4Addr::from_bits(0x1400_0000 + prefix * 256 + host)
    }
}

/// A large directory: memory, time and loss.
fn at_scale(world: &Crowd, networks: Networks, lookups: usize) {
    let began = Instant::now();
    let mut directory = filled(world, networks, DirectoryConfig::default());
    let clients = world.clients();
    println!(
        "{clients} clients × {EDGES} edges, {networks:?} networks: {:.1?}",
        began.elapsed()
    );
    let (began, legs) = (Instant::now(), clients * 160);
    directory.study(legs as usize);
    println!("study: {:.0?} for each leg", began.elapsed() / legs);
    println!("resident: {} MiB", resident_mib().map_or(-1, i64::from));
    let pairs = pairs(clients, lookups);
    let all = look_up(&mut directory, usize::MAX, world, &pairs);
    println!("all clients:         {all}");
    let default = DirectoryConfig::default().shortlist;
    for shortlist in [default / 2, default, default * 2] {
        let found = look_up(&mut directory, shortlist, world, &pairs);
        let kept = found.gain / all.gain;
        println!("shortlist of {shortlist:>6}: {found}, {kept:.4} of the gain");
    }
}

/// The hosts of a matrix by themselves, with small buckets, since there are few.
fn alone(matrix: &Matrix, shortlist: usize) {
    let world = Crowd::hosts(matrix.clone());
    let config = DirectoryConfig {
        bucket: 16,
        ..DirectoryConfig::default()
    };
    let mut directory = filled(&world, Networks::Even, config);
    directory.study(490 * EDGES as usize * 60);
    let pairs = pairs(world.clients(), 5_000);
    let all = look_up(&mut directory, usize::MAX, &world, &pairs);
    let some = look_up(&mut directory, shortlist, &world, &pairs);
    let kept = some.gain / all.gain;
    println!("490 hosts, shortlist of {shortlist}: {kept:.4} of the gain over all");
}

/// Look-ups in a row: how long they took, and what the best of the candidates saved.
struct Found {
    times: Vec<Duration>,
    first_times: Vec<Duration>,
    gain: f64,
}

impl std::fmt::Display for Found {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let at =
            |times: &[Duration], share: f64| times[((times.len() - 1) as f64 * share) as usize];
        let (p50, p99) = (at(&self.times, 0.5), at(&self.times, 0.99));
        let first = at(&self.first_times, 0.99);
        let mean = self.gain / self.times.len() as f64;
        write!(
            f,
            "p50 {p50:.2?}, p99 {p99:.2?} (at the first try {first:.2?}), gain {mean:.2} ms on average"
        )
    }
}

/// Each look-up counts as the quickest of three, so that other programs on the machine do not.
fn look_up(
    directory: &mut Directory,
    shortlist: usize,
    world: &Crowd,
    pairs: &[(u32, u32)],
) -> Found {
    directory.set_shortlist(shortlist);
    let (mut times, mut first_times, mut gain) = (Vec::new(), Vec::new(), 0.0);
    for (s, t) in pairs {
        let mut found = Vec::new();
        let tries = (0..3).map(|_| {
            let began = Instant::now();
            found = directory.lookup(id(*s), id(*t), K).unwrap();
            began.elapsed()
        });
        let tries: Vec<Duration> = tries.collect();
        first_times.extend(tries.first());
        times.extend(tries.iter().min());
        gain += world.gain(*s, *t, &found);
    }
    times.sort();
    first_times.sort();
    Found {
        times,
        first_times,
        gain,
    }
}

fn pairs(clients: u32, count: usize) -> Vec<(u32, u32)> {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let mut draw = || {
        (
            random.random_range(0..clients),
            random.random_range(0..clients),
        )
    };
    let apart = std::iter::repeat_with(&mut draw).filter(|(s, t)| s != t);
    apart.take(count).collect()
}

fn filled(world: &Crowd, networks: Networks, config: DirectoryConfig) -> Directory {
    let mut directory = Directory::new(config, 0);
    let mut random = ChaCha8Rng::seed_from_u64(0);
    let clients = world.clients();
    for client in 0..clients {
        directory.join(Moment::EPOCH, newcomer(client, networks));
        directory.take_changes().for_each(drop);
    }
    for client in 0..clients {
        let others = (0..EDGES).map(|_| random.random_range(0..clients));
        let legs = others
            .filter(|to| *to != client)
            .map(|to| (id(to), Rtt::from_millis_f64(world.rtt_ms(client, to))));
        let report = Report {
            coordinate: world.coordinate(client),
            legs: legs.collect(),
        };
        directory.report(Moment::EPOCH, id(client), report).unwrap();
        directory.take_changes().for_each(drop);
    }
    directory
}

fn id(client: u32) -> ClientId {
    ClientId(u64::from(client))
}

fn newcomer(client: u32, networks: Networks) -> Newcomer {
    let ip = networks.address(client);
    Newcomer {
        id: id(client),
        address: ServerAddr::new(ip.into(), 9000).unwrap(),
        origin: Origin {
            asn: Some(networks.asn(client)),
            country: None,
        },
        relaying: Relaying::Yes,
    }
}

/// Any number of clients, the RTT of each pair made up when it is asked for: 100,000 clients have no
/// matrix that fits in memory.
struct Crowd {
    /// Plane and access link, in milliseconds.
    places: Vec<[f64; 3]>,
    /// The host beside which each client stands.
    matrix: Option<Matrix>,
}

impl Crowd {
    fn new(clients: u32, matrix: Option<Matrix>, seed: u64) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut place = || {
            [
                random.random_range(0.0..150.0),
                random.random_range(0.0..150.0),
                random.random_range(1.0..15.0f64),
            ]
        };
        Self {
            places: (0..clients).map(|_| place()).collect(),
            matrix,
        }
    }

    /// The hosts themselves.
    fn hosts(matrix: Matrix) -> Self {
        Self {
            places: vec![[0.0; 3]; Matrix::HOSTS],
            matrix: Some(matrix),
        }
    }

    /// Where a client is, as if its coordinate had settled. Hosts of a matrix stand nowhere in particular.
    fn coordinate(&self, client: u32) -> Option<Coordinate> {
        let [x, y, access] = self.places[client as usize];
        let parts = CoordinateParts {
            position_ms: vec![x, y, 0.0, 0.0],
            height_ms: access,
            adjustment_ms: 0.0,
            error: 0.1,
        };
        let known = self.matrix.is_none();
        known.then(|| Coordinate::try_from(parts).unwrap())
    }

    fn clients(&self) -> u32 {
        u32::try_from(self.places.len()).unwrap()
    }

    fn rtt_ms(&self, a: u32, b: u32) -> f64 {
        let (one, other) = (self.places[a as usize], self.places[b as usize]);
        let access = one[2] + other[2];
        let Some(matrix) = &self.matrix else {
            let straight = (one[0] - other[0]).hypot(one[1] - other[1]);
            return access + straight * stretch(a, b);
        };
        matrix.rtt_ms(a as usize % Matrix::HOSTS, b as usize % Matrix::HOSTS) + access
    }

    /// What the best candidate saves.
    fn gain(&self, s: u32, t: u32, found: &[Candidate]) -> f64 {
        let direct = self.rtt_ms(s, t);
        let gains = found.iter().map(|candidate| {
            let relay = u32::try_from(candidate.relay.id.0).unwrap();
            direct - self.rtt_ms(s, relay) - self.rtt_ms(relay, t) - OVERHEAD
        });
        gains.fold(0.0, f64::max)
    }
}

/// How much longer than straight a pair's path is: one in ten up to three times, the others a little.
fn stretch(a: u32, b: u32) -> f64 {
    let pair = u64::from(a.min(b)) << 32 | u64::from(a.max(b));
    let mut random = ChaCha8Rng::seed_from_u64(pair);
    match random.random_bool(0.1) {
        true => random.random_range(1.2..3.0),
        false => random.random_range(1.0..1.2),
    }
}

/// A recorded matrix.
#[derive(Clone)]
struct Matrix {
    rtts_ms: Vec<f64>,
}

impl Matrix {
    const HOSTS: usize = 490;

    fn read(path: &str) -> Self {
        let bytes = std::fs::read(path).unwrap();
        let mut upper = bytes
            .chunks_exact(4)
            .map(|four| u32::from_le_bytes(four.try_into().unwrap()));
        let mut rtts_ms = vec![1.0; Self::HOSTS * Self::HOSTS];
        for a in 0..Self::HOSTS {
            for b in a + 1..Self::HOSTS {
                let rtt = f64::from(upper.next().unwrap()) / 1000.0;
                rtts_ms[a * Self::HOSTS + b] = rtt;
                rtts_ms[b * Self::HOSTS + a] = rtt;
            }
        }
        Self { rtts_ms }
    }

    fn rtt_ms(&self, a: usize, b: usize) -> f64 {
        self.rtts_ms[a * Self::HOSTS + b]
    }
}

/// From /proc, where there is one.
fn resident_mib() -> Option<i32> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    let kib: i32 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib / 1024)
}
