//! The loop that owns the engine: datagrams in, datagrams out, on two UDP ports.

use std::net::{IpAddr, SocketAddr};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, PoisonError, RwLock};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use nearside_detour::DirectoryConfig;
use nearside_detour::directory::Relaying;
use nearside_net::{
    Datagram, IcmpErrors, NetError, Outbox, PortConfig, RecvBuffers, Stop, UdpPort, wait,
};
use nearside_tunnel::crypto::{Chance, Identity};
use nearside_tunnel::service::{Change, Counts, Event, Output, Service, ServiceConfig};
use nearside_types::{Moment, Origin};
use thiserror::Error;

use crate::clock::Clock;
use crate::command::Command;
use crate::follow::{Following, follow};
use crate::keeper::{Keeper, KeeperStats};
use crate::store::{Dated, Loaded, Store, StoreError};

/// Where a directory listens, and how it behaves.
#[derive(Debug, Clone)]
pub struct ServerConfig {
    /// UDP addresses that clients are told of; one in each family at most.
    pub listen: Vec<SocketAddr>,
    /// The same addresses with a second port, by which clients learn what their NAT does. May be empty:
    /// then nobody does, and nobody is found unfit to relay.
    pub second: Vec<SocketAddr>,
    /// How it treats clients; the second port is filled in.
    pub service: ServiceConfig,
    /// How it ranks relays.
    pub directory: DirectoryConfig,
}

/// Why a directory cannot run.
#[derive(Debug, Error)]
pub enum ServerError {
    /// A socket failed.
    #[error(transparent)]
    Net(#[from] NetError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A thread could not be started.
    #[error("the system starts no thread: {0}")]
    Thread(std::io::Error),
    /// The second ports of the two families differ.
    #[error("the second port must be the same in both families (set it)")]
    SecondPorts,
}

/// How a directory stands; made anew each second.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    /// What it did.
    pub counts: Counts,
    /// Clients that are joined.
    pub clients: usize,
    /// Of those, how many relay.
    pub relays: usize,
    /// Connections, with strangers'.
    pub connections: usize,
    /// Sessions.
    pub sessions: usize,
    /// Sessions that use a relay.
    pub relayed: usize,
    /// Datagrams the kernel would not take.
    pub unsent: u64,
    /// Milliseconds that the system's clock was set ahead since the start; less than nothing if back.
    pub clock_step_ms: i64,
    /// When it was made, since the Unix epoch.
    pub at: Moment,
    /// When the directory started.
    pub started: Moment,
}

/// A store that fails. Clients are served meanwhile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreTrouble {
    /// In the store's words, which may name files and machines.
    pub reason: String,
    /// Changes that wait to be written.
    pub waiting: u64,
}

/// A directory with its sockets open.
pub struct Server {
    engine: Service,
    ports: Vec<UdpPort>,
    /// Which of the engine's two ports each of them is.
    roles: Vec<usize>,
    keeper: Keeper,
    clock: Clock,
    stop: Stop,
    commands: Receiver<Command>,
    handle: Handle,
    started: Moment,
    log: Box<dyn FnMut(&Event) + Send>,
    /// What the engine said to the last batch, and who was asked where; kept for its memory.
    outputs: Vec<(Option<(SocketAddr, IpAddr)>, Output)>,
    /// What waits to be sent, all from one port.
    outbox: Outbox,
    outbox_port: usize,
    unsent: u64,
}

/// Speaks to a running directory from other threads.
#[derive(Debug, Clone)]
pub struct Handle {
    commands: Sender<Command>,
    snapshot: Arc<RwLock<Arc<Snapshot>>>,
    addresses: Vec<SocketAddr>,
    second_port: Option<u16>,
    following: Following,
    keeper: Arc<KeeperStats>,
    stop: Stop,
}

impl Handle {
    /// Hands over a command; it takes effect within a few hundredths of a second.
    pub fn tell(&self, command: Command) {
        // A directory that has ended needs no commands.
        let _ended = self.commands.send(command);
    }

    /// How it stands.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        let snapshot = self.snapshot.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&snapshot)
    }

    /// How keeping goes.
    pub fn keeper(&self) -> &KeeperStats {
        &self.keeper
    }

    /// What is wrong with the store; `None` while it takes changes and tells those of others.
    pub fn store_trouble(&self) -> Option<StoreTrouble> {
        let reason = self
            .keeper
            .last_error()
            .or_else(|| self.following.error())?;
        let waiting = self.keeper.waiting();
        Some(StoreTrouble { reason, waiting })
    }

    /// Where it listens, with real port numbers, the first ports before the second.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// The number of the second port, if there is one.
    pub fn second_port(&self) -> Option<u16> {
        self.second_port
    }

    /// Ends it.
    pub fn stop(&self) {
        self.stop.stop();
    }
}

const TICK: Duration = Duration::from_secs(1);
/// A command waits at most this long.
const TURN: Duration = Duration::from_millis(20);
/// Batches taken from one socket before the others have their turn.
const BATCHES_PER_ROUND: usize = 8;

impl Server {
    /// Opens the sockets and goes on from what the store remembers. `seed` makes all keys: it must be
    /// secret and never the same.
    pub fn start(
        mut config: ServerConfig,
        identity: Identity,
        seed: [u8; 32],
        store: impl Store + 'static,
        stop: Stop,
    ) -> Result<(Self, Loaded), ServerError> {
        let clock = Clock::start();
        let mut store = Dated::new(store, clock.step().clone());
        let first = open(&config.listen, &clock)?;
        let second = open(&config.second, &clock)?;
        let second_port = port_of(&second)?;
        config.service.second_port = second_port;
        let mut loaded = store.load()?;
        let state = std::mem::take(&mut loaded.state);
        let now = clock.now();
        let mut engine = Service::restored(
            config.service,
            identity,
            config.directory,
            state,
            Chance::from_seed(seed),
            now,
            now.since_epoch(),
        );
        let watch = store.watch();
        if watch.is_some() {
            engine = engine.with_others();
        }
        let keeper = Keeper::start(store).map_err(ServerError::Thread)?;
        let roles = [vec![0; first.len()], vec![1; second.len()]].concat();
        let ports: Vec<UdpPort> = first.into_iter().chain(second).collect();
        let (sender, commands) = channel();
        let following = Following::default();
        if let Some(watch) = watch {
            let (sender, stop) = (sender.clone(), stop.clone());
            let followed = follow(watch, sender, stop, following.clone());
            followed.map_err(ServerError::Thread)?;
        }
        let beginning = Snapshot {
            at: now,
            started: now,
            ..Snapshot::default()
        };
        let handle = Handle {
            commands: sender,
            snapshot: Arc::new(RwLock::new(Arc::new(beginning))),
            addresses: ports.iter().map(UdpPort::local_addr).collect(),
            second_port,
            following,
            keeper: keeper.stats(),
            stop: stop.clone(),
        };
        let server = Self {
            engine,
            ports,
            roles,
            keeper,
            clock,
            stop,
            commands,
            handle,
            started: now,
            log: Box::new(|_| {}),
            outputs: Vec::new(),
            outbox: Outbox::default(),
            outbox_port: 0,
            unsent: 0,
        };
        Ok((server, loaded))
    }

    /// Calls `log` with everything that happens.
    #[must_use]
    pub fn with_log(mut self, log: impl FnMut(&Event) + Send + 'static) -> Self {
        self.log = Box::new(log);
        self
    }

    /// Looks up where addresses come from.
    #[must_use]
    pub fn with_origins(mut self, origin_of: impl Fn(IpAddr) -> Origin + Send + 'static) -> Self {
        self.engine = self.engine.with_origins(origin_of);
        self
    }

    /// How many clients it knows.
    pub fn clients(&self) -> usize {
        self.engine.directory().state().len()
    }

    /// Speaks to it while it runs.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Serves until stopped, on the calling thread; what changed is written before it returns.
    pub fn run(mut self) -> Result<Counts, ServerError> {
        let mut buffers = RecvBuffers::new();
        self.publish();
        let mut next_tick = self.monotonic() + TICK;
        let mut next_turn = self.monotonic();
        loop {
            let due = self.due().min(next_turn);
            let ready = wait(&self.ports, &self.stop, Some(due), self.clock.monotonic())?;
            if ready.stopped {
                self.say_goodbye();
                return Ok(self.engine.counts());
            }
            for index in ready.ports {
                self.receive(index, &mut buffers)?;
            }
            let now = self.monotonic();
            if now >= next_turn {
                next_turn = now + TURN;
                self.obey();
            }
            let moment = self.clock.now();
            if self.engine.next_time() <= moment {
                self.engine.handle_time(moment, moment.since_epoch());
            }
            self.empty_outputs();
            if now >= next_tick {
                next_tick = now + TICK;
                self.publish();
            }
        }
    }

    /// Serves on a thread of its own.
    pub fn spawn(self) -> Result<JoinHandle<Result<Counts, ServerError>>, ServerError> {
        let builder = thread::Builder::new().name("directory".to_owned());
        builder.spawn(|| self.run()).map_err(ServerError::Thread)
    }

    fn monotonic(&self) -> Moment {
        self.clock.monotonic().now()
    }

    /// When the engine wants to be asked again, on the clock that waits use.
    fn due(&self) -> Moment {
        self.monotonic() + self.engine.next_time().since(self.clock.now())
    }

    fn receive(&mut self, index: usize, buffers: &mut RecvBuffers) -> Result<(), ServerError> {
        for _ in 0..BATCHES_PER_ROUND {
            let (now, role) = (self.clock.now(), self.roles[index]);
            let mut outputs = std::mem::take(&mut self.outputs);
            let (engine, port) = (&mut self.engine, &mut self.ports[index]);
            let accept = |datagram: Datagram<'_>| {
                let (from, bytes) = (datagram.from, datagram.payload);
                engine.handle_datagram(now, now.since_epoch(), role, from, bytes);
                // Answers leave from the address that was asked: a NAT would not know another.
                let asked = datagram.to_ip.map(|ip| (from, ip));
                while let Some(output) = engine.poll_output() {
                    outputs.push((asked, output));
                }
            };
            let count = port.recv_batch(buffers, self.clock.monotonic(), accept)?;
            for (asked, output) in outputs.drain(..) {
                self.carry_out(output, asked);
            }
            self.outputs = outputs;
            self.finish();
            if count == 0 {
                break;
            }
        }
        Ok(())
    }

    /// Does what the engine wants without a datagram having come, and ends the turn.
    fn empty_outputs(&mut self) {
        while let Some(output) = self.engine.poll_output() {
            self.carry_out(output, None);
        }
        self.finish();
    }

    fn carry_out(&mut self, output: Output, asked: Option<(SocketAddr, IpAddr)>) {
        match output {
            Output::Send { port, to, bytes } => {
                let asked = asked.filter(|(from, _)| *from == to);
                self.send(port, to, &bytes, asked.map(|(_, ip)| ip));
            }
            Output::Event(event) => (self.log)(&event),
        }
    }

    /// Sends what waits, and has kept what changed.
    fn finish(&mut self) {
        self.flush();
        let changes: Vec<Change> = self.engine.take_changes().collect();
        if !changes.is_empty() {
            self.keeper.keep(changes);
        }
    }

    fn send(&mut self, role: usize, to: SocketAddr, bytes: &[u8], from_ip: Option<IpAddr>) {
        let family = |port: &UdpPort| port.local_addr().is_ipv4() == to.is_ipv4();
        let mut ports = self.ports.iter().zip(&self.roles).enumerate();
        let port = ports.find(|(_, (port, own))| **own == role && family(port));
        let Some((index, _)) = port else {
            self.unsent += 1;
            return;
        };
        if index != self.outbox_port {
            self.flush();
        }
        self.outbox_port = index;
        self.outbox.push(to, bytes, from_ip);
    }

    fn flush(&mut self) {
        let unsent = self.ports[self.outbox_port].send_all(&mut self.outbox);
        self.unsent += unsent as u64;
    }

    fn obey(&mut self) {
        let commands: Vec<Command> = self.commands.try_iter().collect();
        for command in commands {
            command.carry_out(self.clock.now(), &mut self.engine);
        }
    }

    fn say_goodbye(&mut self) {
        self.engine.say_goodbye();
        self.empty_outputs();
        self.publish();
    }

    fn publish(&mut self) {
        self.clock.look();
        let state = self.engine.directory().state();
        let relays = state.members().map(|(_, member)| member.client.relaying);
        let snapshot = Arc::new(Snapshot {
            counts: self.engine.counts(),
            clients: state.len(),
            relays: relays.filter(|relaying| *relaying != Relaying::No).count(),
            connections: self.engine.connections(),
            sessions: self.engine.sessions().count(),
            relayed: state.sessions().count(),
            unsent: self.unsent,
            clock_step_ms: self.clock.step().ms(),
            at: self.clock.now(),
            started: self.started,
        });
        let shared = self.handle.snapshot.write();
        *shared.unwrap_or_else(PoisonError::into_inner) = snapshot;
    }
}

fn open(addresses: &[SocketAddr], clock: &Clock) -> Result<Vec<UdpPort>, NetError> {
    let port = |addr: &SocketAddr| {
        let config = PortConfig {
            icmp_errors: IcmpErrors::Ignore,
            ..PortConfig::at(*addr)
        };
        UdpPort::bind(config, clock.monotonic())
    };
    addresses.iter().map(port).collect()
}

/// The one number of the second port.
fn port_of(second: &[UdpPort]) -> Result<Option<u16>, ServerError> {
    let mut numbers = second.iter().map(|port| port.local_addr().port());
    let first = numbers.next();
    match numbers.all(|number| Some(number) == first) {
        true => Ok(first),
        false => Err(ServerError::SecondPorts),
    }
}
