//! Who chooses servers: the paper's algorithms, what came before, and what is best.

use nearside_placement::session::Event;
use nearside_placement::solver::{Auto, Gathering, Greedy, Nearest, TightSpan, Zizo};
use nearside_placement::{
    Budget, ClientId, Instance, Outcome, Session, SessionSetup, Solver, Status, Task, verify,
};

/// A way to choose servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    /// Every client at its nearest server: step 1 of the paper, and what was usual before it.
    Nearest,
    /// The paper's algorithm, everybody there from the start.
    Zizo(Zizo),
    /// The same with clients that join one by one (Figure 5).
    Joining(Zizo),
    /// The paper's centralised rival.
    Greedy,
    /// Ours, fast.
    TightSpan,
    /// Ours, with clients that join one by one and few moves.
    Session,
    /// The fewest servers there can be, with proof.
    Optimum,
}

/// What a method did on one instance at one bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Run {
    /// Servers in use; `None` without an allocation within the bound.
    pub(super) servers: Option<usize>,
    /// Virtual moves of all clients together.
    pub(super) migrations: u64,
    /// Servers asked.
    pub(super) probes: u64,
    /// Whether it is proven that nothing better, or nothing at all, exists.
    pub(super) is_proven: bool,
    /// Clients of the instance.
    pub(super) clients: usize,
}

/// Steps for a proof. Ten times what the slowest of seeds 0–19 needed.
const STEPS: u64 = 3_000_000;

/// Joins between two consolidations of a session, and the moves each may make.
const JOINS_PER_CONSOLIDATION: usize = 25;
const MOVES: usize = 10;

impl Method {
    /// In legends and headings.
    pub(super) fn label(self) -> &'static str {
        match self {
            Self::Nearest => "nearest",
            Self::Zizo(zizo) | Self::Joining(zizo) => match zizo.name() {
                "zizo-sr-c" => "ZIZO-Sr-C",
                "zizo-sr-s" => "ZIZO-Sr-S",
                "zizo-tr-c" => "ZIZO-Tr-C",
                _ => "ZIZO-Tr-S",
            },
            Self::Greedy => "greedy",
            Self::TightSpan => "tight span (ours)",
            Self::Session => "session (ours)",
            Self::Optimum => "optimum",
        }
    }

    /// In CSV and JSON.
    pub(super) fn column(self) -> &'static str {
        match self {
            Self::Nearest => "nearest",
            Self::Zizo(zizo) | Self::Joining(zizo) => match zizo.name() {
                "zizo-sr-c" => "sr_c",
                "zizo-sr-s" => "sr_s",
                "zizo-tr-c" => "tr_c",
                _ => "tr_s",
            },
            Self::Greedy => "greedy",
            Self::TightSpan => "tight_span",
            Self::Session => "session",
            Self::Optimum => "optimum",
        }
    }

    /// Solves a task. Everything it counts was verified by the paper's literal formula.
    pub(super) fn run(self, task: Task<'_>, seed: u64) -> Run {
        let budget = Budget::unlimited(seed).with_steps(STEPS);
        match self {
            Self::Nearest => Run::of(task, &Nearest.solve(task, &budget)),
            Self::Zizo(zizo) => Run::of(task, &zizo.solve(task, &budget)),
            Self::Joining(zizo) => joining(zizo, task),
            Self::Greedy => Run::of(task, &Greedy::default().solve(task, &budget)),
            Self::TightSpan => Run::of(task, &TightSpan::default().solve(task, &budget)),
            Self::Session => session(task, seed),
            Self::Optimum => Run::of(task, &Auto.solve(task, &budget)),
        }
    }
}

impl Run {
    fn nothing(task: Task<'_>) -> Self {
        Self {
            servers: None,
            migrations: 0,
            probes: 0,
            is_proven: false,
            clients: task.instance.clients().len(),
        }
    }

    fn of(task: Task<'_>, outcome: &Outcome) -> Self {
        let servers = outcome.is_within_bound().then_some(outcome.servers_used);
        if let Some(allocation) = outcome.allocation.as_ref().filter(|_| servers.is_some()) {
            let verdict = verify(task.instance, allocation, task.bound);
            let verdict = verdict.expect("an allocation of this instance");
            assert!(verdict.is_good(), "an answer breaks {:?}", verdict.breaches);
        }
        Self {
            servers,
            migrations: outcome.counts.migrations,
            probes: outcome.counts.probes,
            is_proven: matches!(outcome.status, Status::Optimal | Status::Infeasible),
            ..Self::nothing(task)
        }
    }

    /// Servers in use, 0 without an allocation.
    pub(super) fn servers(&self) -> f64 {
        self.servers.unwrap_or(0) as f64
    }

    /// Virtual moves of one client.
    pub(super) fn migrations_per_client(&self) -> f64 {
        self.migrations as f64 / self.clients as f64
    }

    /// Servers that one client asked.
    pub(super) fn probes_per_client(&self) -> f64 {
        self.probes as f64 / self.clients as f64
    }
}

/// Everybody joins in the order of the list; one refusal ends it.
fn joining(zizo: Zizo, task: Task<'_>) -> Run {
    let mut gathering = Gathering::new(zizo, task.instance, task.bound);
    for client in task.instance.client_ids() {
        if gathering.join(client).is_err() {
            return Run::nothing(task);
        }
    }
    let outcome = gathering.outcome().expect("everybody has joined");
    Run::of(task, &outcome)
}

fn session(task: Task<'_>, seed: u64) -> Run {
    let mut setup = SessionSetup::new(task.instance, task.bound);
    setup.seed = seed;
    let mut session = Session::new(setup);
    let mut moves = 0;
    for (number, client) in task.instance.client_ids().enumerate() {
        let report = session.handle(&join(task.instance, client));
        if !report.is_kept() {
            return Run::nothing(task);
        }
        moves += report.moves.len().saturating_sub(1);
        if (number + 1) % JOINS_PER_CONSOLIDATION == 0 {
            let report = session.handle(&Event::Consolidate { max_moves: MOVES });
            moves += report.moves.len();
        }
    }
    let allocation = session.allocation().expect("everybody has joined");
    let verdict = verify(task.instance, &allocation, task.bound).expect("clients in their order");
    assert!(verdict.is_good(), "a session breaks {:?}", verdict.breaches);
    Run {
        servers: Some(verdict.servers_used),
        migrations: moves as u64,
        ..Run::nothing(task)
    }
}

fn join(instance: &Instance, client: ClientId) -> Event {
    let servers = instance.servers().iter();
    let row = instance.access_row(client).iter();
    let named = servers.zip(row);
    Event::Join {
        client: instance.client_name(client).to_owned(),
        latencies_ms: named
            .map(|(server, delay)| (server.name.clone(), Some(delay.as_millis())))
            .collect(),
    }
}
