//! One process for each node: this command starts itself as `place node`, reads what the nodes report,
//! and ends them when all who live agree.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use nearside_net::{LoopbackPorts, MonotonicClock, Stop, run_node};
use nearside_placement::distributed::{
    ClusterConfig, Committed, Crash, Epoch, NodeEvent, NodeId, Rough, Roughness, node_of,
};
use nearside_placement::{Delay, Instance, PlacementFile, ServerId};
use serde::{Deserialize, Serialize};

use super::super::args::{DistributeArgs, NodeArgs};
use super::{Run, worldly};
use crate::commands::stop_on_interrupt;
use crate::exit::Exit;

/// What a node process prints, one JSON object a line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    /// The commit has reached it.
    Committed(Seats),
    /// It leads, and the bound is not met.
    Unmet { epoch: Number },
    /// It leads, and the epoch is over, with these taking part.
    Settled {
        epoch: Number,
        clients: Vec<bool>,
        servers: Vec<bool>,
    },
}

/// An epoch: its number and its initiator. Later ones are greater.
type Number = (u32, u16);

/// What was committed.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Seats {
    epoch: Number,
    contacts: Vec<Option<usize>>,
}

impl Line {
    fn of(event: NodeEvent) -> Option<Self> {
        match event {
            NodeEvent::Committed(committed) => Some(Self::Committed(Seats::of(&committed))),
            NodeEvent::BoundUnmet(epoch) => Some(Self::Unmet {
                epoch: number(epoch),
            }),
            NodeEvent::Settled {
                epoch,
                clients,
                servers,
            } => Some(Self::Settled {
                epoch: number(epoch),
                clients,
                servers,
            }),
            NodeEvent::Epoch(_) | NodeEvent::Leads(_) => None,
        }
    }
}

fn number(epoch: Epoch) -> Number {
    (epoch.number, epoch.initiator)
}

impl Seats {
    fn of(committed: &Committed) -> Self {
        let index = |contact: &Option<ServerId>| contact.map(ServerId::index);
        Self {
            epoch: number(committed.epoch),
            contacts: committed.contacts.iter().map(index).collect(),
        }
    }

    fn committed(self) -> Committed {
        let (number, initiator) = self.epoch;
        let contacts = self.contacts.into_iter();
        Committed {
            epoch: Epoch { number, initiator },
            contacts: contacts.map(|contact| contact.map(ServerId::new)).collect(),
        }
    }
}

/// One node, until its process is ended or its parent goes away.
pub(crate) fn node(args: &NodeArgs) -> Result<Exit> {
    let file = PlacementFile::from_json(first_line(&mut std::io::stdin().lock())?.as_bytes())?;
    let bound = Delay::from_millis(args.bound).context("--bound")?;
    let mut config = ClusterConfig::of(&file.instance, bound)?;
    config.window = args.window;
    let me = args.node.0;
    let clock = MonotonicClock::start();
    let node = node_of(&file.instance, config, me, clock.now());
    let roughness = Roughness {
        loss: args.loss,
        duplicates: args.duplicates,
        jitter: Duration::from_secs_f64(args.jitter / 1e3),
    };
    let mut node = Rough::new(node, roughness, args.seed);
    let stop = Stop::new()?;
    end_with_parent(stop.clone());
    let mut out = std::io::stdout().lock();
    run_node(
        &mut node,
        me,
        ports(config, args.base_port),
        &clock,
        &stop,
        |event| {
            let Some(line) = Line::of(event) else { return };
            let text = serde_json::to_string(&line).expect("a line is plain data");
            if writeln!(out, "{text}").and_then(|()| out.flush()).is_err() {
                stop.stop();
            }
        },
    )?;
    Ok(Exit::Done)
}

/// The parent writes the instance to standard input: no file that others could read, replace or find
/// later.
fn first_line(input: &mut impl BufRead) -> Result<String> {
    let mut line = String::new();
    worldly(input.read_line(&mut line), "read the instance")?;
    Ok(line)
}

/// Standard input ends when the parent does, whatever became of it.
fn end_with_parent(stop: Stop) {
    thread::spawn(move || {
        let _ = std::io::stdin().read_line(&mut String::new());
        stop.stop();
    });
}

fn ports(config: ClusterConfig, base: u16) -> LoopbackPorts {
    LoopbackPorts {
        base,
        clients: config.clients,
        servers: config.servers,
    }
}

/// Runs all nodes until those who live agree.
pub(super) fn run(
    args: &DistributeArgs,
    instance: &Instance,
    bound: Delay,
    config: ClusterConfig,
    crashes: &[Crash],
) -> Result<Run> {
    ensure!(
        ports(config, args.base_port).fit(),
        "not enough ports above {}",
        args.base_port
    );
    let nodes = usize::from(config.clients) + usize::from(config.servers);
    ensure!(
        nodes <= 500,
        "{nodes} processes are too many; try --virtual"
    );
    let stop = stop_on_interrupt()?;
    let line = line_of(instance, bound)?;
    let started = Instant::now();
    let mut cluster = Cluster::start(args, config, bound, &line)?;
    let ended = cluster.watch(args, crashes, &stop, started)?;
    Ok(Run {
        bound_unmet: matches!(ended, Some(Ending::Unmet)),
        committed: match ended {
            Some(Ending::Committed(seats)) => Some(seats.committed()),
            Some(Ending::Unmet) | None => None,
        },
        interrupted: stop.is_stopped(),
        seconds: started.elapsed().as_secs_f64(),
        messages: None,
    })
}

/// How a session ends.
enum Ending {
    Committed(Seats),
    Unmet,
}

/// The instance as nodes read it: one line.
fn line_of(instance: &Instance, bound: Delay) -> Result<Vec<u8>> {
    let file = PlacementFile {
        instance: instance.clone(),
        bound: Some(bound),
    };
    let mut line = Vec::new();
    file.write_json(&mut line)?;
    line.push(b'\n');
    Ok(line)
}

/// The processes; ended when dropped.
struct Cluster {
    children: BTreeMap<NodeId, Child>,
    lines: Receiver<(NodeId, Line)>,
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for child in self.children.values_mut() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Cluster {
    fn start(
        args: &DistributeArgs,
        config: ClusterConfig,
        bound: Delay,
        instance: &[u8],
    ) -> Result<Self> {
        let (sender, lines) = channel();
        let mut cluster = Self {
            children: BTreeMap::new(),
            lines,
        };
        let clients = (0..config.clients).map(NodeId::Client);
        for node in clients.chain((0..config.servers).map(NodeId::Server)) {
            let child = start_one(args, bound, node)?;
            let child = cluster.children.entry(node).or_insert(child);
            listen(node, child, sender.clone());
        }
        for child in cluster.children.values_mut() {
            // Kept open: its end is ours. Who has gone already is missed soon.
            let _ = child.stdin.as_mut().map(|input| input.write_all(instance));
        }
        Ok(cluster)
    }

    /// Waits until every process that lives has said the same, and crashes those that are to.
    fn watch(
        &mut self,
        args: &DistributeArgs,
        crashes: &[Crash],
        stop: &Stop,
        started: Instant,
    ) -> Result<Option<Ending>> {
        let mut said = Said::default();
        let mut crashes = crashes.to_vec();
        loop {
            let elapsed = started.elapsed();
            crashes.retain(|crash| {
                let due = crash.at <= elapsed;
                if due {
                    self.crash(crash.node);
                }
                !due
            });
            if crashes.is_empty() && !self.somebody_plays() {
                return Ok(None);
            }
            let ending = said.ending(&self.children.keys().copied().collect());
            if crashes.is_empty() && ending.is_some() {
                return Ok(ending);
            }
            if elapsed.as_secs_f64() > args.time || stop.is_stopped() {
                return Ok(None);
            }
            match self.lines.recv_timeout(Duration::from_millis(50)) {
                Ok((node, line)) => said.note(node, line),
                Err(RecvTimeoutError::Timeout) => self.check_that_all_live()?,
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
            }
        }
    }

    fn crash(&mut self, node: NodeId) {
        if let Some(mut child) = self.children.remove(&node) {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Whether any player is left; without one there is nothing to agree on.
    fn somebody_plays(&self) -> bool {
        let mut nodes = self.children.keys();
        nodes.any(|node| matches!(node, NodeId::Client(_)))
    }

    fn check_that_all_live(&mut self) -> Result<()> {
        for (node, child) in &mut self.children {
            let ended = worldly(child.try_wait(), "look after a node")?;
            if let Some(status) = ended {
                let failure = format!(
                    "node {node} ended by itself ({status}); is its port taken? Try another --base-port"
                );
                return Err(crate::exit::WorldFailure(failure).into());
            }
        }
        Ok(())
    }
}

/// What the nodes have said so far.
#[derive(Default)]
struct Said {
    /// The last commit of each.
    seats: BTreeMap<NodeId, Seats>,
    unmet: Option<Number>,
    /// The last epoch that has come to its end, and who took part.
    settled: Option<(Number, BTreeSet<NodeId>)>,
}

impl Said {
    fn note(&mut self, node: NodeId, line: Line) {
        match line {
            Line::Committed(seats) => drop(self.seats.insert(node, seats)),
            Line::Unmet { epoch } => self.unmet = self.unmet.max(Some(epoch)),
            Line::Settled {
                epoch,
                clients,
                servers,
            } => {
                let later = self.settled.as_ref().is_none_or(|(last, _)| *last < epoch);
                if later {
                    self.settled = Some((epoch, members(&clients, &servers)));
                }
            }
        }
    }

    /// How the last epoch ended, if those who took part are those who live: one that had the dead in
    /// it may have seated players at them, and another will follow.
    fn ending(&self, alive: &BTreeSet<NodeId>) -> Option<Ending> {
        let (epoch, members) = self.settled.as_ref()?;
        if members != alive {
            return None;
        }
        if self.unmet == Some(*epoch) {
            return Some(Ending::Unmet);
        }
        let mut seats = members.iter().map(|node| {
            let seats = self.seats.get(node)?;
            (seats.epoch == *epoch).then_some(seats)
        });
        let first = seats.next()??;
        let same = seats.all(|seats| seats.is_some_and(|seats| seats.contacts == first.contacts));
        same.then(|| Ending::Committed(first.clone()))
    }
}

fn members(clients: &[bool], servers: &[bool]) -> BTreeSet<NodeId> {
    let clients = (0u16..).map(NodeId::Client).zip(clients);
    let servers = (0u16..).map(NodeId::Server).zip(servers);
    let here = clients.chain(servers).filter(|(_, here)| **here);
    here.map(|(node, _)| node).collect()
}

fn start_one(args: &DistributeArgs, bound: Delay, node: NodeId) -> Result<Child> {
    let program = worldly(std::env::current_exe(), "find this program")?;
    let mut command = Command::new(program);
    command
        .args(["place", "node", &node.to_string()])
        .args(["--bound", &bound.as_millis().to_string()])
        .args(["--window", &args.window.to_string()])
        .args(["--loss", &args.loss.to_string()])
        .args(["--duplicates", &args.duplicates.to_string()])
        .args(["--jitter", &args.jitter.to_string()])
        .args(["--base-port", &args.base_port.to_string()])
        .args(["--seed", &seed_of(args.seed, node).to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    worldly(command.spawn(), "start a node")
}

/// Every node has its own luck.
fn seed_of(seed: u64, node: NodeId) -> u64 {
    let number = match node {
        NodeId::Client(client) => u64::from(client),
        NodeId::Server(server) => 65_536 + u64::from(server),
    };
    seed.wrapping_mul(131_072).wrapping_add(number)
}

/// Passes on what a node prints.
fn listen(node: NodeId, child: &mut Child, sender: Sender<(NodeId, Line)>) {
    let Some(out) = child.stdout.take() else {
        return;
    };
    thread::spawn(move || {
        for line in BufReader::new(out).lines() {
            let line = line.ok().and_then(|line| serde_json::from_str(&line).ok());
            let Some(line) = line else { return };
            if sender.send((node, line)).is_err() {
                return;
            }
        }
    });
}
