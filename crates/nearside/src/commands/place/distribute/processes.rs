//! One process for each node: this command starts itself as `place node`, reads what the nodes report,
//! and ends them when all who live agree.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
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
use super::super::input;
use super::{Run, worldly};
use crate::commands::stop_on_interrupt;
use crate::exit::Exit;

/// What a node process prints, one JSON object a line.
#[derive(Debug, Serialize, Deserialize)]
struct Line {
    epoch: (u32, u16),
    /// The seats that were committed; `None` when the bound is not met.
    contacts: Option<Vec<Option<usize>>>,
}

/// One node, until its process is ended or its parent goes away.
pub(crate) fn node(args: &NodeArgs) -> Result<Exit> {
    let file = PlacementFile::from_json(&input::bytes_of(&args.file)?)?;
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
            let line = match event {
                NodeEvent::Committed(committed) => Line {
                    epoch: (committed.epoch.number, committed.epoch.initiator),
                    contacts: Some(numbers(&committed)),
                },
                NodeEvent::BoundUnmet(epoch) => Line {
                    epoch: (epoch.number, epoch.initiator),
                    contacts: None,
                },
                NodeEvent::Epoch(_) | NodeEvent::Leads(_) => return,
            };
            let text = serde_json::to_string(&line).expect("a line is plain data");
            if writeln!(out, "{text}").and_then(|()| out.flush()).is_err() {
                stop.stop();
            }
        },
    )?;
    Ok(Exit::Done)
}

/// Standard input ends when the parent does, whatever became of it.
fn end_with_parent(stop: Stop) {
    thread::spawn(move || {
        let _ = std::io::stdin().read_line(&mut String::new());
        stop.stop();
    });
}

fn numbers(committed: &Committed) -> Vec<Option<usize>> {
    let number = |contact: &Option<ServerId>| contact.map(ServerId::index);
    committed.contacts.iter().map(number).collect()
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
    let shared = SharedInstance::write(instance, bound)?;
    let started = Instant::now();
    let mut cluster = Cluster::start(args, config, bound, &shared.0)?;
    let ended = cluster.watch(args, crashes, &stop, started)?;
    Ok(Run {
        committed: ended.as_ref().and_then(committed),
        bound_unmet: ended.is_some_and(|line| line.contacts.is_none()),
        interrupted: stop.is_stopped(),
        seconds: started.elapsed().as_secs_f64(),
        messages: None,
    })
}

fn committed(line: &Line) -> Option<Committed> {
    let contacts = line.contacts.as_ref()?;
    Some(Committed {
        epoch: Epoch {
            number: line.epoch.0,
            initiator: line.epoch.1,
        },
        contacts: contacts
            .iter()
            .map(|contact| contact.map(ServerId::new))
            .collect(),
    })
}

/// The instance in a file that all nodes read; gone when dropped.
struct SharedInstance(PathBuf);

impl SharedInstance {
    fn write(instance: &Instance, bound: Delay) -> Result<Self> {
        let name = format!("nearside-place-{}.json", std::process::id());
        let shared = Self(std::env::temp_dir().join(name));
        let file = PlacementFile {
            instance: instance.clone(),
            bound: Some(bound),
        };
        let out = worldly(
            std::fs::File::create(&shared.0),
            "write the instance for the nodes",
        )?;
        file.write_json(std::io::BufWriter::new(out))?;
        Ok(shared)
    }
}

impl Drop for SharedInstance {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
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
        file: &Path,
    ) -> Result<Self> {
        let (sender, lines) = channel();
        let mut cluster = Self {
            children: BTreeMap::new(),
            lines,
        };
        let clients = (0..config.clients).map(NodeId::Client);
        for node in clients.chain((0..config.servers).map(NodeId::Server)) {
            let child = start_one(args, bound, file, node)?;
            let child = cluster.children.entry(node).or_insert(child);
            listen(node, child, sender.clone());
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
    ) -> Result<Option<Line>> {
        let mut said: BTreeMap<NodeId, Line> = BTreeMap::new();
        let mut crashes = crashes.to_vec();
        loop {
            let elapsed = started.elapsed();
            crashes.retain(|crash| {
                let due = crash.at <= elapsed;
                if due {
                    self.crash(crash.node);
                    said.remove(&crash.node);
                }
                !due
            });
            if crashes.is_empty() && !self.somebody_plays() {
                return Ok(None);
            }
            if crashes.is_empty() && self.all_agree(&said) {
                return Ok(said.into_values().last());
            }
            if elapsed.as_secs_f64() > args.time || stop.is_stopped() {
                return Ok(None);
            }
            match self.lines.recv_timeout(Duration::from_millis(50)) {
                Ok((node, line)) => drop(said.insert(node, line)),
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

    /// Everybody has committed the same; or the leader found the bound unmet, which only it reports.
    fn all_agree(&self, said: &BTreeMap<NodeId, Line>) -> bool {
        if let Some(unmet) = said.values().find(|line| line.contacts.is_none()) {
            let latest = said.values().map(|line| line.epoch.0).max();
            return latest == Some(unmet.epoch.0);
        }
        let mut lines = self.children.keys().map(|node| said.get(node));
        let Some(Some(first)) = lines.next() else {
            return false;
        };
        let everybody = first
            .contacts
            .iter()
            .flatten()
            .enumerate()
            .all(|(client, contact)| {
                let number = u16::try_from(client).unwrap_or(u16::MAX);
                contact.is_some() == self.children.contains_key(&NodeId::Client(number))
            });
        everybody && lines.all(|line| line.is_some_and(|line| line.epoch == first.epoch))
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

fn start_one(args: &DistributeArgs, bound: Delay, file: &Path, node: NodeId) -> Result<Child> {
    let program = worldly(std::env::current_exe(), "find this program")?;
    let mut command = Command::new(program);
    command
        .args(["place", "node", &node.to_string()])
        .arg(file)
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
