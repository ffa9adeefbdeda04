//! A collector in a thread, foreign daemons in processes, and patience.
#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    reason = "each test file uses its part"
)]

use std::collections::BTreeMap;
use std::io::Write as _;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use nearside_net::{
    BgpConfig, BgpListenError, BgpListener, BgpObserver, MonotonicClock, Protection, Stop,
};
use nearside_origin::bgp::{CollectorConfig, Neighbour, PeerEvent, Refusal, Rib};
use nearside_types::Asn;

pub const LOCAL_ASN: u32 = 64_512;

/// What the collector has told so far.
#[derive(Debug, Clone, Default)]
pub struct Told {
    pub routes: BTreeMap<String, u32>,
    pub events: Vec<String>,
    pub publications: usize,
    /// Set when a table with routes was followed by one without.
    pub emptied: bool,
}

struct Observer {
    told: Arc<Mutex<Told>>,
}

impl BgpObserver for Observer {
    fn publish(&mut self, rib: &Rib) {
        let routes: BTreeMap<String, u32> = rib
            .routes()
            .map(|route| (route.prefix.to_string(), route.origin.0))
            .collect();
        let mut told = self.told.lock().unwrap();
        told.emptied |= routes.is_empty() && !told.routes.is_empty();
        told.publications += 1;
        told.routes = routes;
    }

    fn event(&mut self, neighbour: Neighbour, event: &PeerEvent) {
        let text = format!("{} {event:?}", neighbour.addr);
        self.told.lock().unwrap().events.push(text);
    }

    fn refused(&mut self, refusal: Refusal) {
        self.told.lock().unwrap().events.push(refusal.to_string());
    }
}

/// A collector that runs until it is dropped.
pub struct Running {
    pub addr: SocketAddr,
    told: Arc<Mutex<Told>>,
    stop: Stop,
    thread: Option<JoinHandle<Result<(), BgpListenError>>>,
}

impl Running {
    pub fn start(neighbours: &[(&str, u32)]) -> Self {
        let neighbour = |(addr, asn): &(&str, u32)| Neighbour {
            addr: addr.parse().unwrap(),
            asn: Asn(*asn),
        };
        let neighbours = neighbours.iter().map(neighbour).collect();
        Self::with_config(CollectorConfig::new(neighbours))
    }

    pub fn with_config(config: CollectorConfig) -> Self {
        Self::with_protection(config, Vec::new())
    }

    pub fn with_protection(config: CollectorConfig, protection: Vec<Protection>) -> Self {
        let mut config = BgpConfig::new(config);
        config.protection = protection;
        config.listen.set_port(0);
        let listener = BgpListener::bind(config).unwrap();
        let addr = listener.local_addr().unwrap();
        let stop = Stop::new().unwrap();
        let told = Arc::new(Mutex::new(Told::default()));
        let mut observer = Observer {
            told: Arc::clone(&told),
        };
        let clock = MonotonicClock::start();
        let stopper = stop.clone();
        let thread = std::thread::spawn(move || listener.run(&stopper, &clock, &mut observer));
        Self {
            addr,
            told,
            stop,
            thread: Some(thread),
        }
    }

    pub fn told(&self) -> Told {
        self.told.lock().unwrap().clone()
    }

    /// Waits until `wanted` holds, or fails with everything that was told.
    pub fn wait_for(&self, what: &str, wanted: impl Fn(&Told) -> bool) -> Told {
        for _ in 0..600 {
            let told = self.told();
            if wanted(&told) {
                return told;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("30 s passed without {what}: {:#?}", self.told());
    }

    /// Waits until the table is exactly this.
    pub fn wait_for_routes(&self, what: &str, routes: &[(&str, u32)]) {
        let wanted: BTreeMap<String, u32> = routes
            .iter()
            .map(|(prefix, asn)| ((*prefix).to_owned(), *asn))
            .collect();
        self.wait_for(what, |told| told.routes == wanted);
    }

    pub fn count(&self, word: &str) -> usize {
        let told = self.told();
        told.events
            .iter()
            .filter(|event| event.contains(word))
            .count()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.stop();
        let ended = self.thread.take().expect("dropped once").join();
        if !std::thread::panicking() {
            ended.unwrap().unwrap();
        }
    }
}

/// A foreign program that ends with the test.
pub struct Daemon {
    child: Child,
}

impl Daemon {
    pub fn start(command: &mut Command, folder: &Folder) -> Self {
        let log = |name| std::fs::File::create(folder.path(name)).unwrap();
        let child = command
            .stdin(Stdio::null())
            .stdout(log("stdout"))
            .stderr(log("stderr"))
            .current_dir(folder.path(""))
            .spawn()
            .unwrap();
        Self { child }
    }

    /// SIGKILL: no goodbye.
    pub fn kill(mut self) {
        self.end();
    }

    fn end(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.end();
    }
}

/// A temporary folder of one test.
pub struct Folder {
    path: PathBuf,
}

impl Folder {
    pub fn new(test: &str) -> Self {
        let name = format!("nearside-{test}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self { path }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// The path of a foreign program, or `None` after saying that the test is skipped; the rules are in
/// docs/testing.md.
pub fn foreign(test: &str, name: &str, program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let more = ["/usr/sbin", "/sbin"].map(PathBuf::from);
    let folders = std::env::split_paths(&path).chain(more);
    if let Some(found) = folders
        .map(|folder| folder.join(program))
        .find(|path| path.is_file())
    {
        return Some(found);
    }
    let skipped = std::env::var("NEARSIDE_SKIP_FOREIGN").unwrap_or_default();
    assert!(
        skipped.split(',').any(|skipped| skipped == name),
        "{program} is missing: run `cargo xtask setup`"
    );
    // Not eprintln!: the harness swallows that when the test passes.
    let _ = writeln!(
        std::io::stderr(),
        "SKIPPED {test}: {program} is not installed"
    );
    None
}

/// A port on that address that nobody has at the moment.
pub fn free_port(addr: Ipv4Addr) -> u16 {
    let socket = std::net::TcpListener::bind((addr, 0)).unwrap();
    socket.local_addr().unwrap().port()
}

/// A BIRD on its own loopback address.
pub struct Bird {
    program: PathBuf,
    pub folder: Folder,
    daemon: Option<Daemon>,
    /// With a place for more lines about the session.
    config: String,
}

impl Bird {
    /// Announces two IPv4 prefixes and one of IPv6 from AS 15169, and one from AS 24940 that can be
    /// switched off as `more`.
    pub fn start(test: &str, program: &Path, addr: Ipv4Addr, asn: u32, to: SocketAddr) -> Self {
        Self::start_with(test, program, addr, asn, to, "multihop;")
    }

    /// The same with these lines in the description of the session.
    pub fn start_with(
        test: &str,
        program: &Path,
        addr: Ipv4Addr,
        asn: u32,
        to: SocketAddr,
        session: &str,
    ) -> Self {
        let port = free_port(addr);
        let mut bird = Self {
            program: program.to_path_buf(),
            folder: Folder::new(test),
            daemon: None,
            config: bird_config((addr, port).into(), asn, to),
        };
        bird.write_config(session);
        bird.revive();
        bird
    }

    /// Gives the running daemon other lines for its session.
    pub fn reconfigure(&self, session: &str) {
        self.write_config(session);
        self.tell("configure");
    }

    fn write_config(&self, session: &str) {
        let config = self.config.replace("@session@", session);
        self.folder.write("bird.conf", &config);
    }

    pub fn revive(&mut self) {
        let mut command = Command::new(&self.program);
        command.args(["-f", "-c", "bird.conf", "-s", "bird.ctl", "-P", "bird.pid"]);
        self.daemon = Some(Daemon::start(&mut command, &self.folder));
    }

    pub fn kill(&mut self) {
        self.daemon.take().expect("alive").kill();
    }

    /// Says something on BIRD's control socket.
    pub fn tell(&self, words: &str) {
        let client = self.program.with_file_name("birdc");
        let mut command = Command::new(client);
        command.args(["-s", "bird.ctl"]).args(words.split(' '));
        let output = command.current_dir(self.folder.path("")).output().unwrap();
        assert!(output.status.success(), "birdc {words}: {output:?}");
    }
}

fn bird_config(from: SocketAddr, asn: u32, to: SocketAddr) -> String {
    let (addr, port) = (from.ip(), from.port());
    let (to_addr, to_port) = (to.ip(), to.port());
    let origin = |asn: u32| format!("import filter {{ bgp_path.prepend({asn}); accept; }};");
    let (google, hetzner) = (origin(15_169), origin(24_940));
    format!(
        "log stderr all;
router id {addr};
protocol device {{ }}
protocol static base4 {{
  ipv4 {{ {google} }};
  route 8.8.8.0/24 blackhole;
  route 9.0.0.0/8 blackhole;
}}
protocol static base6 {{ ipv6 {{ {google} }}; route 2001:4860::/32 blackhole; }}
protocol static more {{ ipv4 {{ {hetzner} }}; route 5.9.0.0/16 blackhole; }}
protocol bgp feed {{
  local {addr} port {port} as {asn};
  neighbor {to_addr} port {to_port} as {LOCAL_ASN};
  strict bind yes;
  @session@
  connect delay time 1;
  connect retry time 1;
  error wait time 1, 2;
  ipv4 {{ import none; export all; }};
  ipv6 {{ import none; export all; next hop address 2001:db8::1; }};
}}
"
    )
}

/// The IP address of a neighbour of ours on loopback.
pub fn loopback(last: u8) -> Ipv4Addr {
    Ipv4Addr::new(127, 0, 0, last)
}

/// Connects from a chosen loopback address, as a configured neighbour must.
pub fn connect_from(addr: Ipv4Addr, to: SocketAddr) -> std::net::TcpStream {
    use socket2::{Domain, Socket, Type};
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    let from = SocketAddr::new(IpAddr::V4(addr), 0);
    socket.bind(&from.into()).unwrap();
    socket.connect(&to.into()).unwrap();
    socket.into()
}
