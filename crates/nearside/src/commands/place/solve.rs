//! `nearside place solve`: an allocation, how good it is, or why there is none.

use std::fmt::Write as _;

use anyhow::Result;
use nearside_placement::{
    Allocation, ClientId, Conflict, Cost, Delay, Instance, Outcome, Status, Task, explain, regroup,
    verify,
};
use serde::Serialize;

use super::args::{PlaceFormat, SolveArgs};
use super::effort::Effort;
use super::show::{self, Assignment};
use super::{SolverName, input};
use crate::commands::stop_on_interrupt;
use crate::exit::Exit;

pub(super) fn run(args: &SolveArgs) -> Result<Exit> {
    let mut effort = Effort::new(&args.effort, stop_on_interrupt()?)?;
    let file = input::read(&args.input, args.effort.seed)?;
    let task = Task {
        instance: &file.instance,
        bound: input::bound(args.bound, &file)?,
    };
    effort.restart();
    let outcome = effort.spend("solving", |budget| args.solver.solver().solve(task, budget));
    let seconds = effort.seconds();
    let why = (outcome.status == Status::Infeasible).then(|| {
        effort.restart();
        effort.spend("asking who makes it impossible", |budget| {
            Impossible::find(task, budget)
        })
    });
    let answer = Answer::new(task, &outcome, args.solver, seconds, effort.seed(), why);
    show::print(&match show::format(args.format) {
        PlaceFormat::Json => show::json(&answer)?,
        PlaceFormat::Csv => csv(task.instance, &outcome)?,
        PlaceFormat::Table => answer.in_words(task, &outcome),
    })?;
    Ok(match outcome.is_within_bound() {
        _ if effort.interrupted() => Exit::Interrupted,
        true => Exit::Done,
        false => Exit::Negative,
    })
}

/// The JSON of `solve`, also of the service.
#[derive(Serialize)]
pub(crate) struct Answer<'a> {
    status: Status,
    servers_used: Option<usize>,
    delay_ms: Option<Delay>,
    bound_ms: Delay,
    lower_bound: Option<Cost>,
    gap: Option<f64>,
    assignment: Option<Assignment<'a>>,
    solver: String,
    seconds: f64,
    seed: u64,
    /// What the servers cost, where they have prices.
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<Cost>,
    #[serde(skip_serializing_if = "Option::is_none")]
    impossible: Option<Impossible>,
}

/// Why a bound cannot be kept, by name.
#[derive(Serialize)]
pub(crate) struct Impossible {
    /// Players who cannot be together within the bound, none of whom could be left out of the blame.
    clients: Vec<String>,
    /// The smallest delay at which they could.
    possible_from_ms: Option<Delay>,
    /// The fewest players to move to another session so that the bound holds for the rest.
    r#move: Vec<String>,
    /// Whether fewer will not do.
    move_is_minimal: bool,
}

impl Impossible {
    pub(crate) fn find(task: Task<'_>, budget: &nearside_placement::Budget<'_>) -> Self {
        let regrouping = regroup(task, budget);
        let conflict = regrouping.conflicts.first().cloned();
        let conflict = conflict.or_else(|| explain(task, budget));
        let name = |&client: &ClientId| task.instance.client_name(client).to_owned();
        let (clients, possible_from_ms) = match conflict {
            Some(Conflict { clients, delay }) => (clients.iter().map(name).collect(), delay),
            None => (Vec::new(), None),
        };
        Self {
            clients,
            possible_from_ms,
            move_is_minimal: regrouping.is_proven(),
            r#move: regrouping.moved.iter().map(name).collect(),
        }
    }

    fn in_words(&self) -> String {
        let mut text = String::new();
        if let [one] = &self.clients[..] {
            let _ = write!(text, "{one} alone is too far from every server");
        } else if !self.clients.is_empty() {
            let _ = write!(text, "{} cannot be together", list(&self.clients));
        }
        match self.possible_from_ms {
            Some(delay) => {
                let _ = writeln!(text, " below {} ms.", show::millis(delay));
            }
            None if !text.is_empty() => text.push_str(".\n"),
            None => {}
        }
        let least = if self.move_is_minimal {
            "at least "
        } else {
            ""
        };
        let _ = writeln!(
            text,
            "To keep the bound, move {least}{} of the players to another session: {}.",
            self.r#move.len(),
            list(&self.r#move)
        );
        text
    }
}

/// Names up to a dozen.
fn list(names: &[String]) -> String {
    const MOST: usize = 12;
    match names.len() {
        0..=MOST => names.join(", "),
        all => format!("{} and {} more", names[..MOST].join(", "), all - MOST),
    }
}

impl<'a> Answer<'a> {
    pub(crate) fn new(
        task: Task<'a>,
        outcome: &'a Outcome,
        solver: SolverName,
        seconds: f64,
        seed: u64,
        impossible: Option<Impossible>,
    ) -> Self {
        let instance = task.instance;
        let seated = outcome.allocation.as_ref();
        let priced = !instance.has_unit_costs();
        Self {
            status: outcome.status,
            servers_used: seated.map(|_| outcome.servers_used),
            delay_ms: outcome.delay,
            bound_ms: task.bound,
            lower_bound: Some(outcome.lower_bound).filter(|&lower| lower != Cost::INFINITE),
            gap: outcome.gap(),
            assignment: seated.map(|allocation| Assignment {
                instance,
                allocation,
            }),
            solver: solver.to_string(),
            seconds,
            seed,
            cost: outcome.cost.filter(|_| priced),
            impossible,
        }
    }

    fn in_words(&self, task: Task<'_>, outcome: &Outcome) -> String {
        let mut text = self.headline(outcome);
        if let Some(why) = &self.impossible {
            text.push_str(&why.in_words());
        }
        if let Some(allocation) = &outcome.allocation {
            text.push('\n');
            text.push_str(&servers_table(task, allocation));
        }
        text
    }

    fn headline(&self, outcome: &Outcome) -> String {
        let bound = show::millis(self.bound_ms);
        let took = format!("{}, {:.2} s, seed {}", self.solver, self.seconds, self.seed);
        let found = || {
            let delay = self.delay_ms.map(show::millis).unwrap_or_default();
            let servers = show::servers(outcome.servers_used);
            let cost = self.cost.map(|cost| format!(" at a cost of {cost}"));
            format!(
                "{servers}{}, {delay} ms of {bound} ms",
                cost.unwrap_or_default()
            )
        };
        match self.status {
            Status::Optimal => format!("Optimal: {} ({took}).\n", found()),
            Status::Feasible => {
                let gap = self.gap.unwrap_or(1.0) * 100.0;
                let lower = self.lower_bound.unwrap_or(Cost::ZERO);
                format!(
                    "Found: {}; not below {lower}, a gap of {gap:.0} % at most ({took}).\n",
                    found()
                )
            }
            Status::Infeasible => format!("Impossible: no allocation keeps {bound} ms ({took}).\n"),
            Status::BoundUnmet => {
                let delay = self.delay_ms.map(show::millis);
                let delay = delay.map_or_else(
                    || "somebody has no seat".to_owned(),
                    |delay| format!("it takes {delay} ms"),
                );
                format!(
                    "Not within {bound} ms: {delay} ({took}). Another solver may do better: try auto.\n"
                )
            }
            Status::OutOfBudget => {
                format!("Nothing found within {bound} ms so far ({took}); try a longer --time.\n")
            }
        }
    }
}

/// Servers in use with their loads, and the slowest path.
fn servers_table(task: Task<'_>, allocation: &Allocation) -> String {
    let instance = task.instance;
    let Ok(verdict) = verify(instance, allocation, task.bound) else {
        return String::new();
    };
    let rows: Vec<Vec<String>> = allocation
        .servers_in_use()
        .into_iter()
        .map(|server| {
            let distances = instance
                .client_ids()
                .filter(|&client| allocation.server_of(client) == server);
            let farthest = distances
                .map(|client| instance.access(client, server))
                .max();
            let places = instance.servers()[server.index()].capacity;
            vec![
                instance.server_name(server).to_owned(),
                verdict.loads[server.index()].to_string(),
                places.map_or_else(|| "-".to_owned(), |places| places.to_string()),
                farthest.map(show::millis).unwrap_or_default(),
            ]
        })
        .collect();
    let path = verdict.critical;
    format!(
        "{}\nSlowest path: {} > {} > {} > {}, {} ms.\n",
        show::columns(&["SERVER", "PLAYERS", "PLACES", "FARTHEST ms"], &rows),
        instance.client_name(path.from),
        instance.server_name(path.entry),
        instance.server_name(path.exit),
        instance.client_name(path.to),
        show::millis(verdict.delay),
    )
}

/// One row for each player.
fn csv(instance: &Instance, outcome: &Outcome) -> Result<String> {
    let mut out = csv::Writer::from_writer(Vec::new());
    out.write_record(["client", "server", "delay_ms"])?;
    for client in instance.client_ids() {
        let server = outcome
            .allocation
            .as_ref()
            .map(|allocation| allocation.server_of(client));
        out.write_record([
            instance.client_name(client),
            server
                .map(|server| instance.server_name(server))
                .unwrap_or_default(),
            &server
                .map(|server| instance.access(client, server).as_millis().to_string())
                .unwrap_or_default(),
        ])?;
    }
    Ok(String::from_utf8(out.into_inner()?)?)
}
