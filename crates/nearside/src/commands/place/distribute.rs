//! `nearside place distribute`: the paper's algorithm as it is meant to run, in virtual time or with
//! one process for each node on loopback.

mod processes;

pub(super) use processes::node;

use std::time::Duration;

use anyhow::{Context, Result};
use nearside_placement::distributed::{
    ClusterConfig, Committed, Crash, NetworkConfig, NodeId, simulate,
};
use nearside_placement::solver::Zizo;
use nearside_placement::{
    Budget, ClientId, Delay, Instance, Outcome, PlacementFile, ServerId, Solver, Task, Verdict,
    verify,
};
use serde::Serialize;

use super::args::DistributeArgs;
use super::{input, show};
use crate::commands::share;
use crate::exit::Exit;

pub(super) fn run(args: &DistributeArgs) -> Result<Exit> {
    share("loss", args.loss)?;
    share("duplicates", args.duplicates)?;
    let file = input::read(&args.input, args.seed)?;
    let bound = input::bound(args.bound, &file)?;
    let mut config = ClusterConfig::of(&file.instance, bound)?;
    config.window = args.window;
    let crashes = crashes(args, &file.instance)?;
    let run = if args.in_virtual_time {
        in_virtual_time(args, &file.instance, config, &crashes)
    } else {
        processes::run(args, &file.instance, bound, config, &crashes)?
    };
    let report = Report::new(args, &file, bound, &crashes, &run);
    show::print(&if args.json {
        show::json(&report)?
    } else {
        report.in_words()
    })?;
    Ok(if run.interrupted {
        Exit::Interrupted
    } else if report.committed && report.same_as_library != Some(false) {
        Exit::Done
    } else {
        Exit::Negative
    })
}

/// Who crashes when. Servers go before players of the same name.
fn crashes(args: &DistributeArgs, instance: &Instance) -> Result<Vec<Crash>> {
    let number = |place: usize| u16::try_from(place).ok();
    let server = |name: &str| {
        let mut servers = instance.servers().iter();
        number(servers.position(|server| server.name == name)?).map(NodeId::Server)
    };
    let client = |name: &str| {
        let mut clients = instance.clients().iter();
        number(clients.position(|client| client == name)?).map(NodeId::Client)
    };
    let crash = |crash: &super::CrashArg| {
        let node = server(&crash.name).or_else(|| client(&crash.name));
        Ok(Crash {
            node: node.with_context(|| {
                format!("--crash: there is no server or player `{}`", crash.name)
            })?,
            at: Duration::from_secs_f64(crash.after),
            back: None,
        })
    };
    args.crash.iter().map(crash).collect()
}

/// How a distributed session went.
struct Run {
    committed: Option<Committed>,
    bound_unmet: bool,
    interrupted: bool,
    seconds: f64,
    messages: Option<u64>,
}

fn in_virtual_time(
    args: &DistributeArgs,
    instance: &Instance,
    config: ClusterConfig,
    crashes: &[Crash],
) -> Run {
    let network = NetworkConfig {
        loss: args.loss,
        duplicates: args.duplicates,
        jitter: Duration::from_secs_f64(args.jitter / 1e3),
        crashes: crashes.to_vec(),
        seed: args.seed,
        patience: patience(args, instance, crashes),
    };
    let run = simulate(instance, config, &network);
    Run {
        committed: run.committed,
        bound_unmet: run.bound_unmet,
        interrupted: false,
        seconds: run.elapsed.as_secs_f64(),
        messages: Some(run.messages),
    }
}

/// Virtual time costs little, but without a player there is nothing to wait for.
fn patience(args: &DistributeArgs, instance: &Instance, crashes: &[Crash]) -> Duration {
    let dead: Vec<NodeId> = crashes.iter().map(|crash| crash.node).collect();
    let last = crashes.iter().map(|crash| crash.at).max();
    match last {
        Some(last) if Survivors::of(instance, &dead).clients.is_empty() => last,
        _ => Duration::from_secs_f64(args.time.max(3_600.0)),
    }
}

/// What is shown.
#[derive(Serialize)]
struct Report {
    committed: bool,
    bound_unmet: bool,
    servers_used: Option<usize>,
    delay_ms: Option<Delay>,
    bound_ms: Delay,
    clients: usize,
    /// Whether the library's ZIZO-Sr-C gives the same seats to those who take part; `None` when turns
    /// went side by side, since their order is then chance, and when nobody does.
    same_as_library: Option<bool>,
    messages: Option<u64>,
    seconds: f64,
}

impl Report {
    fn new(
        args: &DistributeArgs,
        file: &PlacementFile,
        bound: Delay,
        crashes: &[Crash],
        run: &Run,
    ) -> Self {
        let dead: Vec<NodeId> = crashes.iter().map(|crash| crash.node).collect();
        let rest = Survivors::of(&file.instance, &dead);
        let expected = rest.library(bound);
        let seats = run
            .committed
            .as_ref()
            .filter(|_| !rest.clients.is_empty())
            .and_then(|committed| rest.seats(committed));
        let verdict = seats
            .as_ref()
            .and_then(|seats| verify(&rest.instance, seats, bound).ok());
        let same = match &seats {
            Some(seats) => {
                expected.is_within_bound() && expected.allocation.as_ref() == Some(seats)
            }
            None => run.bound_unmet && !expected.is_within_bound(),
        };
        Self {
            committed: verdict.as_ref().is_some_and(Verdict::is_good),
            bound_unmet: run.bound_unmet,
            servers_used: verdict.as_ref().map(|verdict| verdict.servers_used),
            delay_ms: verdict.as_ref().map(|verdict| verdict.delay),
            bound_ms: bound,
            clients: rest.instance.clients().len(),
            same_as_library: (args.window == 1 && !rest.clients.is_empty()).then_some(same),
            messages: run.messages,
            seconds: run.seconds,
        }
    }

    fn in_words(&self) -> String {
        let bound = show::bound(self.bound_ms);
        let took = match self.messages {
            Some(messages) => format!("{:.2} s of virtual time, {messages} messages", self.seconds),
            None => format!("{:.2} s", self.seconds),
        };
        let library = match self.same_as_library {
            Some(true) => " The library's ZIZO-Sr-C says the same.",
            Some(false) => " The library's ZIZO-Sr-C says otherwise.",
            None => "",
        };
        let (Some(used), Some(delay)) = (self.servers_used, self.delay_ms) else {
            let why = match (self.clients, self.bound_unmet) {
                (0, _) => "no player lives".to_owned(),
                (_, true) => format!("step 1 does not keep {bound} ms"),
                (_, false) => "nobody has committed".to_owned(),
            };
            return format!("Not committed: {why} ({took}).{library}\n");
        };
        format!(
            "Committed: {} players on {}, {} ms of {bound} ms ({took}).{library}\n",
            self.clients,
            show::servers(used),
            show::millis(delay)
        )
    }
}

/// Those who have not crashed, as an instance of their own.
struct Survivors {
    instance: Instance,
    clients: Vec<ClientId>,
    servers: Vec<ServerId>,
}

impl Survivors {
    fn of(instance: &Instance, dead: &[NodeId]) -> Self {
        let lives = |node: NodeId| !dead.contains(&node);
        let number = |index: usize| u16::try_from(index).unwrap_or(u16::MAX);
        let clients: Vec<ClientId> = instance
            .client_ids()
            .filter(|client| lives(NodeId::Client(number(client.index()))))
            .collect();
        let (servers, gone): (Vec<ServerId>, Vec<ServerId>) = instance
            .server_ids()
            .partition(|server| lives(NodeId::Server(number(server.index()))));
        Self {
            instance: instance.restricted_to(&clients).without_servers(&gone),
            clients,
            servers,
        }
    }

    fn library(&self, bound: Delay) -> Outcome {
        let task = Task {
            instance: &self.instance,
            bound,
        };
        Zizo::default().solve(task, &Budget::unlimited(0))
    }

    /// What was committed, in the survivors' own numbers.
    fn seats(&self, committed: &Committed) -> Option<nearside_placement::Allocation> {
        let own = |server: ServerId| {
            let place = self.servers.iter().position(|&known| known == server)?;
            Some(ServerId::new(place))
        };
        let seat = |client: &ClientId| own((*committed.contacts.get(client.index())?)?);
        let seats: Option<Vec<ServerId>> = self.clients.iter().map(seat).collect();
        seats.map(nearside_placement::Allocation::new)
    }
}

/// Something that must not fail on this machine.
fn worldly<T>(result: std::io::Result<T>, doing: &str) -> Result<T> {
    result
        .map_err(|error| crate::exit::WorldFailure(format!("cannot {doing}: {error}")))
        .context("distribute")
}
