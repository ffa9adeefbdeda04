//! The browse driver: moves datagrams between the network and the engines of one discovery run.
//!
//! It decides nothing. Sources give servers, the merged list admits them, the prober says what to
//! send; here are only the sockets, the clock and the order of service.

use std::net::SocketAddr;

use nearside_discover::journal::{Recorded, Sink};
use nearside_discover::planner::{Memory, PlannerConfig, ServerId};
use nearside_discover::prober::{Event, Input, Output, PortId, Prober, ProberConfig};
use nearside_discover::sources::{
    ListPolicy, MergeCounts, MergedList, OriginLookup, Source, SourceOutput, SourceReport,
};
use nearside_types::{Listed, Moment, ServerAddr};

use crate::buffers::RecvBuffers;
use crate::clock::MonotonicClock;
use crate::error::NetError;
use crate::poll::{Ready, Stop, sharpen_timers, wait};
use crate::udp::{PortConfig, SendOutcome, UdpPort};

/// A master to ask.
pub struct MasterSource {
    /// What to call it in messages.
    pub name: String,
    /// Where it listens.
    pub addr: SocketAddr,
    /// Who speaks with it.
    pub engine: Box<dyn Source>,
}

/// Everything one run needs.
pub struct BrowseSetup {
    /// Settings of the prober.
    pub prober: ProberConfig,
    /// The planner.
    pub planner: PlannerConfig,
    /// Masters to ask, all at once.
    pub masters: Vec<MasterSource>,
    /// Servers known already, from files.
    pub servers: Vec<ServerAddr>,
    /// Servers to probe first.
    pub favourites: Vec<ServerAddr>,
    /// What may be probed.
    pub policy: ListPolicy,
    /// Who knows origins that masters do not tell.
    pub origins: Box<dyn OriginLookup>,
    /// What an earlier run left behind.
    pub memory: Option<Memory>,
    /// Where the run is recorded, if at all.
    pub record: Option<Sink>,
}

/// Is told what happens, while it happens.
pub trait BrowseObserver {
    /// A server answered or did not.
    fn event(&mut self, prober: &Prober, event: Event);

    /// Time went by; called often, so it should return quickly.
    fn tick(&mut self, prober: &Prober, now: Moment);

    /// A master is done with its list.
    fn source_done(&mut self, name: &str, report: &SourceReport);
}

/// How a run ended.
pub struct BrowseOutcome {
    /// The prober, to read rows and summary from.
    pub prober: Recorded,
    /// What the merged list left out.
    pub merge: MergeCounts,
    /// How each master fared.
    pub sources: Vec<(String, SourceReport)>,
    /// Datagrams that the kernel had no room to send; their tries count as lost.
    pub unsent: u64,
}

/// Runs a discovery to its end, or until `stop`.
pub fn browse(
    setup: BrowseSetup,
    clock: &MonotonicClock,
    stop: &Stop,
    observer: &mut dyn BrowseObserver,
) -> Result<BrowseOutcome, NetError> {
    sharpen_timers();
    let mut driver = Driver::new(setup, clock, stop, observer)?;
    driver.run()?;
    driver.prober.close();
    Ok(BrowseOutcome {
        prober: driver.prober,
        merge: driver.merged.counts(),
        sources: driver.reports,
        unsent: driver.unsent,
    })
}

struct Driver<'a> {
    clock: &'a MonotonicClock,
    stop: &'a Stop,
    observer: &'a mut dyn BrowseObserver,
    prober: Recorded,
    merged: MergedList,
    origins: Box<dyn OriginLookup>,
    listed: usize,
    /// Servers from files.
    servers: Vec<ServerAddr>,
    /// The prober's ports first, in the order of [`PortId::index`], then one for each master.
    ports: Vec<UdpPort>,
    /// Which of the prober's ports could be opened, and where it is in `ports`.
    probe_ports: Vec<Option<usize>>,
    masters: Vec<Asked>,
    reports: Vec<(String, SourceReport)>,
    buffers: RecvBuffers,
    unsent: u64,
}

/// A master and its socket.
struct Asked {
    source: MasterSource,
    port: usize,
    done: bool,
}

/// Servers of which only the address is known.
fn unknown(servers: &[ServerAddr]) -> Vec<Listed> {
    servers.iter().copied().map(Listed::unknown).collect()
}

/// At full speed, receive after this many sends: neither side of the loop starves the other.
const SENDS_PER_TURN: usize = 32;

impl<'a> Driver<'a> {
    fn new(
        setup: BrowseSetup,
        clock: &'a MonotonicClock,
        stop: &'a Stop,
        observer: &'a mut dyn BrowseObserver,
    ) -> Result<Self, NetError> {
        let wanted = setup.prober.wanted.clone();
        let prober = Recorded::new(setup.prober, &setup.planner, clock.now(), setup.record);
        let mut driver = Self {
            clock,
            stop,
            observer,
            prober,
            merged: MergedList::new(setup.policy, wanted),
            origins: setup.origins,
            listed: 0,
            servers: setup.servers,
            ports: Vec::new(),
            probe_ports: Vec::new(),
            masters: Vec::new(),
            reports: Vec::new(),
            buffers: RecvBuffers::new(),
            unsent: 0,
        };
        driver.open_probe_ports()?;
        driver.open_masters(setup.masters)?;
        if let Some(memory) = &setup.memory {
            let now = clock.now();
            driver.prober.handle_input(now, Input::Remembered(memory));
        }
        driver.admit_favourites(&setup.favourites);
        Ok(driver)
    }

    /// IPv4 has to work. A machine without IPv6 has no IPv6 ports, and its IPv6 servers are
    /// unreachable.
    fn open_probe_ports(&mut self) -> Result<(), NetError> {
        for port in PortId::all() {
            let config = if port.ipv6 {
                PortConfig::ephemeral_v6()
            } else {
                PortConfig::ephemeral_v4()
            };
            match UdpPort::bind(config, self.clock) {
                Ok(opened) => {
                    self.probe_ports.push(Some(self.ports.len()));
                    self.ports.push(opened);
                }
                Err(_) if port.ipv6 => self.probe_ports.push(None),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn open_masters(&mut self, masters: Vec<MasterSource>) -> Result<(), NetError> {
        for source in masters {
            let config = if source.addr.is_ipv6() {
                PortConfig::ephemeral_v6()
            } else {
                PortConfig::ephemeral_v4()
            };
            self.masters.push(Asked {
                source,
                port: self.ports.len(),
                done: false,
            });
            self.ports.push(UdpPort::bind(config, self.clock)?);
        }
        Ok(())
    }

    fn admit_favourites(&mut self, favourites: &[ServerAddr]) {
        let unknown = unknown(favourites);
        let new = self.merged.admit_any(&unknown, self.origins.as_ref());
        self.list(&new);
        let first: Vec<ServerId> = (0..self.listed).map(ServerId::from_index).collect();
        let now = self.clock.now();
        self.prober.handle_input(now, Input::Favourites(&first));
    }

    fn admit(&mut self, batch: &[Listed]) {
        let new = self.merged.admit(batch, self.origins.as_ref());
        self.list(&new);
    }

    fn list(&mut self, new: &[Listed]) {
        if !new.is_empty() {
            self.listed += new.len();
            self.prober
                .handle_input(self.clock.now(), Input::Listed(new));
        }
    }

    fn run(&mut self) -> Result<(), NetError> {
        if self.stop.is_stopped() {
            // Told so while lists were fetched: nobody is asked any more.
            let now = self.clock.now();
            self.prober.handle_input(now, Input::Interrupt);
            return Ok(());
        }
        let mut complete = false;
        loop {
            let sources_wake = self.serve_sources()?;
            if !complete && self.masters.iter().all(|master| master.done) {
                complete = true;
                // Last, so that what a master says of their origin is not lost on a duplicate.
                let servers = std::mem::take(&mut self.servers);
                self.admit(&unknown(&servers));
                let now = self.clock.now();
                self.prober.handle_input(now, Input::ListComplete);
            }
            let prober_wake = match self.serve_prober()? {
                Turn::Finished => return Ok(()),
                Turn::Busy => Some(self.clock.now()),
                Turn::Waits(until) => until,
            };
            self.observer.tick(self.prober.prober(), self.clock.now());
            let until = [sources_wake, prober_wake].into_iter().flatten().min();
            let ready = wait(&self.ports, self.stop, until, self.clock)?;
            self.serve_network(ready)?;
        }
    }

    /// Lets every master's engine act; returns when the first of them wants to act again.
    fn serve_sources(&mut self) -> Result<Option<Moment>, NetError> {
        let mut wake: Option<Moment> = None;
        for index in 0..self.masters.len() {
            while !self.masters[index].done {
                let now = self.clock.now();
                let asked = &mut self.masters[index];
                match asked.source.engine.poll_output(now) {
                    SourceOutput::Transmit(payload) => {
                        // A request that is not sent is like one that is lost: the engine retries.
                        self.ports[asked.port].send(asked.source.addr, &payload, None)?;
                    }
                    SourceOutput::Servers(servers) => self.admit(&servers),
                    SourceOutput::Wait(until) => {
                        wake = Some(wake.map_or(until, |wake| wake.min(until)));
                        break;
                    }
                    SourceOutput::Done(report) => {
                        asked.done = true;
                        let name = asked.source.name.clone();
                        self.observer.source_done(&name, &report);
                        self.reports.push((name, report));
                    }
                }
            }
        }
        Ok(wake)
    }

    fn serve_prober(&mut self) -> Result<Turn, NetError> {
        let mut sends = 0;
        while sends < SENDS_PER_TURN {
            // The clock is read for every poll: a probe is timed from the poll that sends it.
            match self.prober.poll_output(self.clock.now()) {
                Output::Transmit { port, to, payload } => {
                    self.transmit(port, to, &payload)?;
                    sends += 1;
                }
                Output::Event(event) => self.observer.event(self.prober.prober(), event),
                Output::Wait(until) => return Ok(Turn::Waits(until)),
                Output::Finished => return Ok(Turn::Finished),
            }
        }
        Ok(Turn::Busy)
    }

    fn transmit(&mut self, port: PortId, to: SocketAddr, payload: &[u8]) -> Result<(), NetError> {
        let outcome = match self.probe_ports[port.index()] {
            Some(index) => self.ports[index].send(to, payload, None)?,
            None => SendOutcome::Unreachable,
        };
        match outcome {
            SendOutcome::Sent => {}
            SendOutcome::WouldBlock => self.unsent += 1,
            SendOutcome::Unreachable => {
                let now = self.clock.now();
                self.prober.handle_input(now, Input::Unreachable { to });
            }
        }
        Ok(())
    }

    fn serve_network(&mut self, ready: Ready) -> Result<(), NetError> {
        if ready.stopped {
            let now = self.clock.now();
            self.prober.handle_input(now, Input::Interrupt);
        }
        for index in ready.ports {
            let probe_port =
                PortId::all().find(|port| self.probe_ports[port.index()] == Some(index));
            match probe_port {
                Some(port) => self.receive_probes(index, port)?,
                None => self.receive_list(index)?,
            }
        }
        Ok(())
    }

    fn receive_probes(&mut self, index: usize, port: PortId) -> Result<(), NetError> {
        let prober = &mut self.prober;
        let clock = self.clock;
        self.ports[index].drain_errors(|unreachable| {
            let to = unreachable.to;
            prober.handle_input(clock.now(), Input::Unreachable { to });
        })?;
        loop {
            let received = self.ports[index].recv_batch(&mut self.buffers, clock, |datagram| {
                prober.handle_input(
                    clock.now(),
                    Input::Datagram {
                        port,
                        from: datagram.from,
                        received: datagram.received.moment(),
                        payload: datagram.payload,
                    },
                );
            })?;
            if received == 0 {
                return Ok(());
            }
        }
    }

    /// Only the master itself is listened to on its port.
    fn receive_list(&mut self, index: usize) -> Result<(), NetError> {
        let Some(asked) = self.masters.iter_mut().find(|asked| asked.port == index) else {
            return Ok(());
        };
        let clock = self.clock;
        let addr = asked.source.addr;
        let engine = &mut asked.source.engine;
        self.ports[index].drain_errors(|unreachable| {
            if unreachable.to == addr {
                engine.handle_unreachable();
            }
        })?;
        loop {
            let received = self.ports[index].recv_batch(&mut self.buffers, clock, |datagram| {
                if datagram.from == addr {
                    engine.handle_datagram(clock.now(), datagram.payload);
                }
            })?;
            if received == 0 {
                return Ok(());
            }
        }
    }
}

/// How a turn of the prober ended.
enum Turn {
    /// It has more to send.
    Busy,
    Waits(Option<Moment>),
    Finished,
}
