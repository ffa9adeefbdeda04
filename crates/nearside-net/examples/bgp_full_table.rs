//! A full-size table from a real daemon: BIRD announces a million routes, every publication builds a
//! table for look-ups, and the collector's CPU time and peak memory are printed. At the end BIRD is
//! killed, which makes one more publication: then the full table is there twice, old and new, as it
//! is in a service that runs for days.
//!
//! `cargo run --release -p nearside-net --example bgp_full_table`. Needs BIRD (Debian `bird2`) and
//! Linux. To reach: under 3 s of CPU and 64 MiB.
#![allow(clippy::print_stdout, reason = "a benchmark")]

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

use nearside_net::{BgpConfig, BgpListener, BgpObserver, MonotonicClock, Stop};
use nearside_origin::RangeTable;
use nearside_origin::bgp::{CollectorConfig, Neighbour, PeerEvent, Rib};
use nearside_types::Asn;

const V4: u32 = 800_000;
const V6: u32 = 200_000;
const PEER: u32 = 64_501;
const LOCAL: u32 = 64_512;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let neighbour = Neighbour {
        addr: [127, 0, 0, 2].into(),
        asn: Asn(PEER),
    };
    let mut config = BgpConfig::new(CollectorConfig::new(vec![neighbour]));
    config.listen.set_port(0);
    let listener = BgpListener::bind(config)?;
    let folder = std::env::temp_dir().join(format!("nearside-full-table-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let bird = start_bird(&folder, listener.local_addr()?.port())?;
    let before = cpu_seconds()?;
    let clock = MonotonicClock::start();
    let stop = Stop::new()?;
    let mut bench = Bench {
        stop: stop.clone(),
        clock,
        bird,
        table: RangeTable::default(),
        building: Vec::new(),
        stage: Stage::Loading,
    };
    listener.run(&stop, &clock, &mut bench)?;
    let (cpu, peak) = (cpu_seconds()? - before, peak_mebibytes()?);
    bench.report();
    println!("CPU   {cpu:.2} s, {}", verdict(cpu < 3.0, "3 s"));
    println!("peak  {peak:.1} MiB, {}", verdict(peak < 64.0, "64 MiB"));
    bench.bird.wait()?;
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}

fn verdict(is_met: bool, target: &str) -> String {
    let words = if is_met { "below" } else { "NOT below" };
    format!("{words} the {target} to reach")
}

/// Ends the run after the publication that follows the daemon's death.
struct Bench {
    stop: Stop,
    clock: MonotonicClock,
    bird: Child,
    /// The newest table, as a service would keep it.
    table: RangeTable,
    building: Vec<Duration>,
    stage: Stage,
}

#[derive(PartialEq, Eq)]
enum Stage {
    Loading,
    Loaded,
    Killed,
}

impl Bench {
    fn report(&self) {
        let times = self.building.len();
        let building: Duration = self.building.iter().sum();
        let last = self.building.last().copied().unwrap_or_default();
        let (v4, v6) = self.table.known_ranges();
        println!("published {times} times, {building:.2?} for tables, {last:.2?} for the last");
        println!(
            "table of {v4} IPv4 and {v6} IPv6 ranges, {} bytes",
            self.table.heap_bytes()
        );
    }
}

impl BgpObserver for Bench {
    fn publish(&mut self, rib: &Rib) {
        let started = self.clock.now();
        self.table = rib.to_table().0;
        self.building.push(self.clock.now() - started);
        match self.stage {
            Stage::Loading => {}
            Stage::Loaded => {
                let _ = self.bird.kill();
                self.stage = Stage::Killed;
            }
            Stage::Killed => self.stop.stop(),
        }
    }

    fn event(&mut self, _neighbour: Neighbour, event: &PeerEvent) {
        let now = self.clock.now().since_epoch().as_secs_f64();
        match event {
            PeerEvent::Loaded { prefixes } => {
                println!("{now:7.2} s  loaded {prefixes} prefixes");
                self.stage = Stage::Loaded;
            }
            PeerEvent::Established(_) => println!("{now:7.2} s  established"),
            other => println!("{now:7.2} s  {other:?}"),
        }
    }
}

fn start_bird(folder: &Path, port: u16) -> std::io::Result<Child> {
    // Written piece by piece: a hundred megabytes in memory would be counted as ours.
    let mut config = BufWriter::new(File::create(folder.join("bird.conf"))?);
    write_config(&mut config, port)?;
    config.into_inner()?.sync_all()?;
    let mut command = Command::new("bird");
    command.args(["-f", "-c", "bird.conf", "-s", "bird.ctl", "-P", "bird.pid"]);
    command.current_dir(folder);
    command.stderr(File::create(folder.join("log"))?);
    command.spawn()
}

fn write_config(config: &mut impl Write, port: u16) -> std::io::Result<()> {
    writeln!(
        config,
        "log stderr all;
router id 127.0.0.2;
protocol device {{ }}
protocol bgp feed {{
  local 127.0.0.2 port 17902 as {PEER};
  neighbor 127.0.0.1 port {port} as {LOCAL};
  strict bind yes;
  multihop;
  connect delay time 1;
  ipv4 {{ import none; export all; }};
  ipv6 {{ import none; export all; next hop address 2001:db8::1; }};
}}
protocol static full4 {{
  ipv4;"
    )?;
    for index in 0..V4 {
        // From 1.0.0.0 to 98.0.0.0: BIRD refuses 0/8, 127/8 and multicast.
        let [_, a, b, c] = (index * 8 + 0x01_00_00).to_be_bytes();
        write_route(config, &format!("{a}.{b}.{c}.0/24"), index)?;
    }
    writeln!(config, "}}\nprotocol static full6 {{\n  ipv6;")?;
    for index in 0..V6 {
        let (high, low) = (index >> 16, index & 0xFFFF);
        write_route(config, &format!("2a00:{high:x}:{low:x}::/48"), index)?;
    }
    writeln!(config, "}}")
}

fn write_route(config: &mut impl Write, prefix: &str, index: u32) -> std::io::Result<()> {
    let origin = 1 + index.wrapping_mul(2_654_435_761) % 60_000;
    let path = format!("bgp_path.prepend({origin}); bgp_path.prepend(3356);");
    writeln!(config, "  route {prefix} blackhole {{ {path} }};")
}

/// CPU time of this process: fields 14 and 15 of proc(5)'s stat, in hundredths of a second.
fn cpu_seconds() -> std::io::Result<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let behind_name = stat.rsplit(") ").next().unwrap_or_default();
    let fields = behind_name.split(' ').skip(11).take(2);
    let ticks: f64 = fields.filter_map(|text| text.parse::<f64>().ok()).sum();
    Ok(ticks / 100.0)
}

/// The most memory this process ever had: VmHWM of proc(5)'s status.
fn peak_mebibytes() -> std::io::Result<f64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let peak = status.lines().find(|line| line.starts_with("VmHWM"));
    let kibibytes = peak.and_then(|line| line.split_whitespace().nth(1));
    let kibibytes: f64 = kibibytes
        .and_then(|text| text.parse().ok())
        .unwrap_or(f64::NAN);
    Ok(kibibytes / 1024.0)
}
