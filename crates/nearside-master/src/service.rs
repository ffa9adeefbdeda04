//! The loop that owns the engine: datagrams in, datagrams out, a tick each second.

use std::net::{IpAddr, SocketAddr};
use std::ops::Range;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, PoisonError, RwLock};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use nearside_net::{
    Datagram, IcmpErrors, NetError, Outbox, PortConfig, RecvBuffers, Stop, UdpPort, wait,
};
use nearside_registry::{Bans, Event, Master, Output, Secret, SocketId, Tally};
use nearside_types::{Moment, Origin};
use thiserror::Error;

use crate::command::Command;
use crate::follow::{Following, follow};
use crate::keeper::{Change, Keeper};
use crate::listing::{Listing, Shared};
use crate::store::{Dated, Loaded, Store, StoreError};
use crate::wall::{Wall, WallClock};

/// Where a master listens.
#[derive(Debug, Clone)]
pub struct ServiceConfig {
    /// UDP addresses; every one of them speaks all protocols.
    pub listen: Vec<SocketAddr>,
    /// What the operator decided.
    pub settings: nearside_registry::Settings,
    /// The key of cookies.
    pub secret: Secret,
    /// The bans to begin with.
    pub bans: Bans,
}

/// Why a master cannot run.
#[derive(Debug, Error)]
pub enum ServiceError {
    /// A socket failed.
    #[error(transparent)]
    Net(#[from] NetError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A setting cannot work.
    #[error(transparent)]
    Settings(#[from] nearside_registry::SettingsError),
    /// There is no address to listen on.
    #[error(
        "`listen` is empty, so no server could register; write at least one address, as 0.0.0.0:27950"
    )]
    Nowhere,
    /// The thread could not be started.
    #[error("the system starts no thread: {0}")]
    Thread(std::io::Error),
}

/// How a master stands; made anew each second.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    /// What was received and answered.
    pub tally: Tally,
    /// Registered servers.
    pub servers: usize,
    /// Grows with every change that a list could show.
    pub version: u64,
    /// Datagrams the kernel would not take.
    pub unsent: u64,
    /// When it was made, since the Unix epoch.
    pub at: Moment,
    /// When the master started.
    pub started: Moment,
}

/// A store that fails. Lists go on meanwhile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreTrouble {
    /// In the store's words, which may name files and machines.
    pub reason: String,
    /// Changes that wait to be written.
    pub waiting: u64,
}

/// A master with its sockets open.
pub struct Service {
    master: Master,
    /// Where it listens, then the ports that questions to servers leave from.
    ports: Vec<UdpPort>,
    /// How many of the ports it listens on.
    listening: usize,
    /// For each of those, the port that questions to its servers leave from.
    asking: Vec<usize>,
    keeper: Keeper,
    clock: WallClock,
    stop: Stop,
    commands: Receiver<Command>,
    snapshot: Arc<RwLock<Arc<Snapshot>>>,
    listing: Arc<Shared>,
    started: Moment,
    log: Box<dyn FnMut(&Event) + Send>,
    /// What the engine said to the last batch; kept for its memory.
    outputs: Vec<(Option<IpAddr>, Output)>,
    /// What waits to be sent, all from one port.
    outbox: Outbox,
    outbox_port: usize,
    unsent: u64,
    handle: ServiceHandle,
}

/// Speaks to a running master from other threads.
#[derive(Debug, Clone)]
pub struct ServiceHandle {
    commands: Sender<Command>,
    snapshot: Arc<RwLock<Arc<Snapshot>>>,
    listing: Arc<Shared>,
    stop: Stop,
    addresses: Vec<SocketAddr>,
    keeper: Arc<crate::keeper::KeeperStats>,
    following: Following,
}

impl ServiceHandle {
    /// Hands over a command; it takes effect within a tenth of a second.
    pub fn tell(&self, command: Command) {
        // A master that has ended needs no commands.
        let _ended = self.commands.send(command);
    }

    /// How it stands.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        let snapshot = self.snapshot.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&snapshot)
    }

    /// All servers as they last were, and a word that they are wanted anew. `None` until the engine
    /// has turned once since somebody asked for the first time: an empty list would be a lie.
    pub fn listing(&self) -> Option<Arc<Listing>> {
        self.listing.ask()
    }

    /// Whether a listing is as good as can be had: nothing has changed since, or it is not a second
    /// old.
    pub fn is_current(&self, listing: &Listing) -> bool {
        let snapshot = self.snapshot();
        listing.version == snapshot.version || snapshot.at.since(listing.at) < TICK
    }

    /// How keeping goes.
    pub fn keeper(&self) -> &crate::keeper::KeeperStats {
        &self.keeper
    }

    /// Why other front ends are not heard of; `None` while they are, or if there are none.
    pub fn follow_error(&self) -> Option<String> {
        self.following.error()
    }

    /// What is wrong with the store; `None` while it takes changes and tells those of others.
    pub fn store_trouble(&self) -> Option<StoreTrouble> {
        let reason = self.keeper.last_error().or_else(|| self.follow_error())?;
        Some(StoreTrouble {
            reason,
            waiting: self.keeper.waiting(),
        })
    }

    /// Where it listens, with real port numbers.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Ends it.
    pub fn stop(&self) {
        self.stop.stop();
    }
}

const TICK: Duration = Duration::from_secs(1);
/// A command waits at most this long.
const TURN: Duration = Duration::from_millis(100);
/// Origins looked up in one turn, some ten milliseconds of work.
const ORIGINS_PER_TURN: usize = 50_000;
/// Batches taken from one socket before the others have their turn.
const BATCHES_PER_ROUND: usize = 8;
/// Datagrams are sent when so many bytes wait, even within a batch: lists are long.
const OUTBOX_BYTES: usize = 1 << 18;

impl Service {
    /// Opens the sockets and takes in what the store remembers.
    pub fn start(
        config: ServiceConfig,
        store: impl Store + 'static,
        origin_of: impl Fn(IpAddr) -> Origin + Send + 'static,
        stop: Stop,
    ) -> Result<(Self, Loaded), ServiceError> {
        Self::start_by(Wall::default(), config, store, origin_of, stop)
    }

    /// The same by another wall clock.
    pub fn start_by(
        wall: Wall,
        config: ServiceConfig,
        store: impl Store + 'static,
        origin_of: impl Fn(IpAddr) -> Origin + Send + 'static,
        stop: Stop,
    ) -> Result<(Self, Loaded), ServiceError> {
        config.settings.check()?;
        if config.listen.is_empty() {
            return Err(ServiceError::Nowhere);
        }
        let clock = WallClock::start(wall);
        let mut store = Dated::new(store, clock.step().clone());
        let mut ports = open(&config.listen, &clock)?;
        let listening = ports.len();
        let (askers, asking) = asking_addresses(&config.listen);
        ports.extend(open(&askers, &clock)?);
        let asking = asking.iter().map(|place| listening + place).collect();
        let mut loaded = store.load()?;
        let mut master = Master::new(config.settings, config.secret, origin_of);
        master.set_bans(config.bans);
        let now = clock.now();
        let watch = store.watch();
        let keeper = Keeper::start(store);
        for server in std::mem::take(&mut loaded.servers) {
            if server.expires <= now {
                keeper.keep(Change::Remove(server.addr));
            }
            master.remember(now, server);
        }
        let (sender, commands) = channel();
        let following = Following::default();
        if let Some(mut watch) = watch {
            watch.begin(config.secret);
            follow(watch, sender.clone(), stop.clone(), following.clone())?;
        }
        // Before the first turn somebody may look: at this life's beginning, not at the epoch.
        let beginning = Snapshot {
            servers: master.shelf().len(),
            version: master.shelf().version(),
            at: now,
            started: now,
            ..Snapshot::default()
        };
        let snapshot = Arc::new(RwLock::new(Arc::new(beginning)));
        let listing = Arc::<Shared>::default();
        let handle = ServiceHandle {
            commands: sender,
            snapshot: Arc::clone(&snapshot),
            listing: Arc::clone(&listing),
            stop: stop.clone(),
            addresses: ports[..listening].iter().map(UdpPort::local_addr).collect(),
            keeper: keeper.stats(),
            following,
        };
        let service = Self {
            master,
            ports,
            listening,
            asking,
            keeper,
            clock,
            stop,
            commands,
            snapshot,
            listing,
            started: now,
            log: Box::new(|_| {}),
            outputs: Vec::new(),
            outbox: Outbox::default(),
            outbox_port: 0,
            unsent: 0,
            handle,
        };
        Ok((service, loaded))
    }

    /// Calls `log` with everything that happens.
    #[must_use]
    pub fn with_log(mut self, log: impl FnMut(&Event) + Send + 'static) -> Self {
        self.log = Box::new(log);
        self
    }

    /// How many servers it has.
    pub fn servers(&self) -> usize {
        self.master.shelf().len()
    }

    /// Speaks to it while it runs.
    pub fn handle(&self) -> ServiceHandle {
        self.handle.clone()
    }

    /// Serves until stopped, on the calling thread; what changed is written before it returns.
    pub fn run(mut self) -> Result<Tally, ServiceError> {
        let mut buffers = RecvBuffers::new();
        self.publish();
        let mut next_tick = self.clock.monotonic().now() + TICK;
        let mut next_turn = self.clock.monotonic().now();
        loop {
            let ready = wait(
                &self.ports,
                &self.stop,
                Some(next_turn),
                self.clock.monotonic(),
            )?;
            if ready.stopped {
                return Ok(self.master.tally());
            }
            for index in ready.ports {
                self.receive(index, &mut buffers)?;
            }
            let now = self.clock.monotonic().now();
            if now >= next_turn {
                self.obey();
                next_turn = now + TURN;
            }
            if now >= next_tick {
                self.publish();
                next_tick = now + TICK;
            }
        }
    }

    /// Serves on a thread of its own.
    pub fn spawn(self) -> Result<JoinHandle<Result<Tally, ServiceError>>, ServiceError> {
        let builder = thread::Builder::new().name("master".to_owned());
        builder.spawn(|| self.run()).map_err(ServiceError::Thread)
    }

    fn receive(&mut self, index: usize, buffers: &mut RecvBuffers) -> Result<(), ServiceError> {
        let mut outputs = std::mem::take(&mut self.outputs);
        for _ in 0..BATCHES_PER_ROUND {
            let now = self.clock.now();
            let (master, port) = (&mut self.master, &mut self.ports[index]);
            let is_answer = index >= self.listening;
            let via = SocketId(u8::try_from(index).unwrap_or(u8::MAX));
            let accept = |datagram: Datagram<'_>| {
                match is_answer {
                    true => master.handle_answer(now, datagram.from, datagram.payload),
                    false => master.handle_on(now, via, datagram.from, datagram.payload),
                }
                while let Some(output) = master.poll_output() {
                    outputs.push((datagram.to_ip, output));
                }
            };
            let count = port.recv_batch(buffers, self.clock.monotonic(), accept)?;
            for (from_ip, output) in outputs.drain(..) {
                self.carry_out(index, from_ip, output);
            }
            self.flush();
            if count == 0 {
                break;
            }
        }
        self.outputs = outputs;
        Ok(())
    }

    fn carry_out(&mut self, port: usize, from_ip: Option<IpAddr>, output: Output) {
        match output {
            Output::Send { to, via, payload } => match self.listening_port(via) {
                Some(own) => self.send(own, to, &payload, from_ip.filter(|_| own == port)),
                None => self.send(port, to, &payload, from_ip),
            },
            Output::Ask { to, via, payload } => {
                let own = self.listening_port(via).map(|port| self.asking[port]);
                let any = || self.port_towards(to, self.listening..self.ports.len());
                if let Some(port) = own.or_else(any) {
                    self.send(port, to, &payload, None);
                }
            }
            Output::Event(event) => {
                (self.log)(&event);
                match event {
                    Event::Put { server, .. } => self.keeper.keep(Change::Put(Box::new(server))),
                    Event::Removed { addr, .. } => self.keeper.keep(Change::Remove(addr)),
                    Event::Refused { .. } | Event::Reminded { .. } => {}
                }
            }
        }
    }

    /// Datagrams wait until the batch is read, so that they leave together.
    fn send(&mut self, port: usize, to: SocketAddr, payload: &[u8], from_ip: Option<IpAddr>) {
        if port != self.outbox_port || self.outbox.bytes() > OUTBOX_BYTES {
            self.flush();
        }
        self.outbox_port = port;
        self.outbox.push(to, payload, from_ip);
    }

    fn flush(&mut self) {
        let unsent = self.ports[self.outbox_port].send_all(&mut self.outbox);
        self.unsent += unsent as u64;
    }

    /// Commands, and work that is done in small pieces between datagrams.
    fn obey(&mut self) {
        let commands: Vec<Command> = self.commands.try_iter().collect();
        for command in commands {
            command.carry_out(self.clock.now(), &mut self.master, &self.keeper);
        }
        self.master.poll(self.clock.now());
        if self.master.has_stale_origins() {
            self.master.refresh_some_origins(ORIGINS_PER_TURN);
        }
        self.empty_outputs();
        self.listing.refresh(&self.clock, &self.master);
    }

    /// Does what the engine wants without a datagram having come.
    fn empty_outputs(&mut self) {
        while let Some(output) = self.master.poll_output() {
            let port = match &output {
                Output::Send { to, .. } => self.port_towards(*to, 0..self.listening),
                Output::Ask { .. } | Output::Event(_) => Some(0),
            };
            if let Some(port) = port {
                self.carry_out(port, None, output);
            }
        }
        self.flush();
    }

    /// Where a server registered: it expects to hear from the address it sends heartbeats to.
    fn listening_port(&self, via: Option<SocketId>) -> Option<usize> {
        let port = via.map(|SocketId(number)| usize::from(number));
        port.filter(|port| *port < self.listening)
    }

    /// The first of these sockets in the address's family, where nothing is known of the server.
    fn port_towards(&self, to: SocketAddr, ports: Range<usize>) -> Option<usize> {
        let same_family = |port: &usize| self.ports[*port].local_addr().is_ipv4() == to.is_ipv4();
        ports.into_iter().find(same_family)
    }

    fn publish(&mut self) {
        if let Some(ahead_ms) = self.clock.look() {
            self.master.set_wall(ahead_ms);
        }
        let shelf = self.master.shelf();
        let snapshot = Arc::new(Snapshot {
            tally: self.master.tally(),
            servers: shelf.len(),
            version: shelf.version(),
            unsent: self.unsent,
            at: self.clock.now(),
            started: self.started,
        });
        *self
            .snapshot
            .write()
            .unwrap_or_else(PoisonError::into_inner) = snapshot;
    }
}

/// One free port of each IP address that is listened on, and which of them belongs to each.
fn asking_addresses(listen: &[SocketAddr]) -> (Vec<SocketAddr>, Vec<usize>) {
    let mut addresses: Vec<SocketAddr> = Vec::new();
    let mut places = Vec::new();
    for addr in listen {
        let known = addresses.iter().position(|known| known.ip() == addr.ip());
        places.push(known.unwrap_or(addresses.len()));
        if known.is_none() {
            addresses.push(SocketAddr::new(addr.ip(), 0));
        }
    }
    (addresses, places)
}

fn open(addresses: &[SocketAddr], clock: &WallClock) -> Result<Vec<UdpPort>, NetError> {
    let config = |addr: &SocketAddr| PortConfig {
        icmp_errors: IcmpErrors::Ignore,
        ..PortConfig::at(*addr)
    };
    addresses
        .iter()
        .map(|addr| UdpPort::bind(config(addr), clock.monotonic()))
        .collect()
}
