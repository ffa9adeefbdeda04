//! `nearside place solve`: an allocation, how good it is, or why there is none.

use std::fmt::Write as _;

use anyhow::Result;
use nearside_placement::{
    Allocation, ClientId, Cost, Delay, Instance, Outcome, Status, Task, explain, regroup, verify,
};
use serde::Serialize;

use super::args::{PlaceFormat, SolveArgs};
use super::effort::Effort;
use super::show::{self, Assignment, counted};
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
    let solving = effort.seconds();
    let mut asking = 0.0;
    let why = (outcome.status == Status::Infeasible).then(|| {
        effort.restart();
        let why = effort.spend("asking who makes it impossible", |budget| {
            Impossible::find(task, budget)
        });
        asking = effort.seconds();
        why
    });
    let seconds = solving + asking;
    let answer = Answer::new(task, &outcome, args.solver, seconds, effort.seed(), why);
    let format = show::format(args.format);
    show::print(&match format {
        PlaceFormat::Json => show::json(&answer)?,
        PlaceFormat::Csv => csv(task.instance, &outcome)?,
        PlaceFormat::Table => answer.in_words(task, &outcome),
    })?;
    // Rows of players have no place for what went wrong.
    if format == PlaceFormat::Csv && !outcome.is_within_bound() {
        show::tell(&answer.summary(&outcome));
    }
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
    reason: Lack,
    #[serde(skip)]
    processing: Delay,
    /// How many want places, and how many there are for them; where those are the reason.
    #[serde(flatten)]
    crowd: Option<Crowd>,
    /// Players who cannot be together within the bound. Nobody, where there are not enough places for
    /// all.
    clients: Vec<String>,
    /// Whether none of them could be left out of the blame.
    clients_is_minimal: bool,
    /// The smallest delay at which they could; unknown for large groups, or when time was short.
    possible_from_ms: Option<Delay>,
    /// The fewest players to move to another session so that the bound holds for the rest.
    r#move: Vec<String>,
    /// Whether fewer will not do.
    move_is_minimal: bool,
}

/// What there is not enough of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Lack {
    Delay,
    /// Of time after processing: the bound would not hold without any network.
    Processing,
    Places,
}

/// More players than places.
#[derive(Debug, Clone, Copy, Serialize)]
struct Crowd {
    players: usize,
    places: usize,
}

impl Crowd {
    /// All players of an instance, if that is too many of them.
    fn of_everybody(instance: &Instance) -> Option<Self> {
        let players = instance.clients().len();
        let places = instance.too_few_places()?;
        Some(Self { players, places })
    }

    /// A group that reaches too few places at any delay.
    fn of_group(instance: &Instance, group: &[ClientId]) -> Option<Self> {
        let players = group.len();
        let places = instance.places_for(group)?;
        // Who reaches no server at all is just too far away.
        let mut ways = group.iter().flat_map(|&client| instance.access_row(client));
        let lacking = places < players && ways.any(|way| way.is_usable());
        lacking.then_some(Self { players, places })
    }
}

impl Impossible {
    pub(crate) fn find(task: Task<'_>, budget: &nearside_placement::Budget<'_>) -> Self {
        let regrouping = regroup(task, budget);
        let everybody = Crowd::of_everybody(task.instance);
        let conflict = match everybody {
            Some(_) => None,
            None => regrouping.conflicts.first().cloned(),
        };
        let conflict = conflict.or_else(|| {
            let asked = everybody.is_none();
            asked.then(|| explain(task, budget)).flatten()
        });
        let group = conflict.as_ref().map_or(&[][..], |group| &group.clients);
        let crowd = everybody.or_else(|| Crowd::of_group(task.instance, group));
        let name = |&client: &ClientId| task.instance.client_name(client).to_owned();
        Self {
            reason: match crowd {
                Some(_) => Lack::Places,
                None if task.instance.processing() > task.bound => Lack::Processing,
                None => Lack::Delay,
            },
            processing: task.instance.processing(),
            crowd,
            clients: group.iter().map(name).collect(),
            // Where nobody was found in time, that says nothing about who is to blame.
            clients_is_minimal: conflict
                .as_ref()
                .map_or(everybody.is_some(), |group| group.is_minimal),
            possible_from_ms: conflict.as_ref().and_then(|group| group.delay),
            move_is_minimal: regrouping.is_proven(),
            r#move: regrouping.moved.iter().map(name).collect(),
        }
    }

    fn in_words(&self) -> String {
        let mut text = self.why();
        // With too little time for processing everybody would have to go, which helps nobody.
        if self.r#move.is_empty() || self.reason == Lack::Processing {
            return text;
        }
        let number = self.r#move.len();
        let names = list(&self.r#move);
        let fewest = if self.move_is_minimal {
            ""
        } else {
            "; fewer may do"
        };
        let _ = match self.clients.is_empty() && self.crowd.is_some() {
            true => writeln!(
                text,
                "{number} of them have to play another session, whoever they are; for example {names}{fewest}."
            ),
            false => writeln!(
                text,
                "To keep the bound, move {number} of the players to another session: {names}{fewest}."
            ),
        };
        text
    }

    /// The reason as a sentence on a line of its own, or nothing.
    fn why(&self) -> String {
        let group = list(&self.clients);
        let at_any = match self.possible_from_ms {
            Some(delay) => format!(" below {} ms{}", show::as_bound(delay), self.of_which()),
            None => String::new(),
        };
        let rough = match self.clients_is_minimal {
            true => "",
            false => "; there was no time to find out who of them has nothing to do with it",
        };
        match (self.crowd, &self.clients[..]) {
            (Some(Crowd { players, places }), []) => {
                let are = if players == 1 { "is" } else { "are" };
                let (players, places) = (counted(players, "player"), counted(places, "place"));
                format!("{players} {are} more than the {places} of all servers.\n")
            }
            (Some(Crowd { places, .. }), group_of) => {
                let reach = if group_of.len() == 1 {
                    "reaches"
                } else {
                    "reach"
                };
                let places = counted(places, "place");
                format!("{group} {reach} servers with {places} in all{rough}.\n")
            }
            (None, _) if self.reason == Lack::Processing => self.why_processing(),
            (None, []) => String::new(),
            (None, [_]) => format!("{group} alone is too far from every server{at_any}.\n"),
            (None, _) => format!("{group} cannot be together{at_any}{rough}.\n"),
        }
    }

    /// Nobody in particular is in the way.
    fn why_processing(&self) -> String {
        let processing = show::millis(self.processing);
        let from = match (self.possible_from_ms, &self.clients[..]) {
            (Some(delay), [client, ..]) => {
                format!("; for {client} alone it takes {} ms", show::as_bound(delay))
            }
            _ => String::new(),
        };
        format!("Processing alone takes {processing} ms, however near the servers are{from}.\n")
    }

    /// How much of a delay is not the network's.
    fn of_which(&self) -> String {
        match self.processing == Delay::ZERO {
            true => String::new(),
            false => format!(
                ", {} ms of it for processing",
                show::millis(self.processing)
            ),
        }
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
        let mut text = self.summary(outcome);
        if let Some(allocation) = &outcome.allocation {
            text.push('\n');
            text.push_str(&servers_table(task, allocation));
        }
        text
    }

    /// How it went, and why it went no better.
    fn summary(&self, outcome: &Outcome) -> String {
        let why = self.impossible.as_ref().map(Impossible::in_words);
        self.headline(outcome) + &why.unwrap_or_default()
    }

    fn headline(&self, outcome: &Outcome) -> String {
        let bound = show::bound(self.bound_ms);
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
            Status::Infeasible => match self.impossible.as_ref().map(|why| why.reason) {
                Some(Lack::Places) => {
                    format!("Impossible at any bound: places are missing ({took}).\n")
                }
                _ => format!("Impossible: no allocation keeps {bound} ms ({took}).\n"),
            },
            Status::BoundUnmet => {
                let delay = match self.delay_ms {
                    None => "somebody has no seat".to_owned(),
                    Some(delay) if delay.is_usable() => format!("it takes {}", show::taken(delay)),
                    Some(_) => "some servers have no path between them".to_owned(),
                };
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
        "{}\nSlowest path: {} > {} > {} > {}, {}.\n",
        show::columns(&["SERVER", "PLAYERS", "PLACES", "FARTHEST ms"], &rows),
        instance.client_name(path.from),
        instance.server_name(path.entry),
        instance.server_name(path.exit),
        instance.client_name(path.to),
        show::taken(verdict.delay),
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
