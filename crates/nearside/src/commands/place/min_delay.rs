//! `nearside place min-delay`: what a number of servers can do at best.

use anyhow::Result;
use nearside_placement::{Delay, Instance, MinDelay, MinDelayError, Status, min_delay};
use serde::Serialize;

use super::args::{MinDelayArgs, PlaceFormat};
use super::effort::Effort;
use super::input;
use super::show::{self, Assignment};
use crate::commands::stop_on_interrupt;
use crate::exit::Exit;

pub(super) fn run(args: &MinDelayArgs) -> Result<Exit> {
    let mut effort = Effort::new(&args.effort, stop_on_interrupt()?)?;
    let file = input::read(&args.input, args.effort.seed)?;
    effort.restart();
    let found = effort.spend("looking for the smallest bound", |budget| {
        min_delay(&file.instance, args.servers, budget)
    });
    let (seconds, seed) = (effort.seconds(), effort.seed());
    let answer = Answer::new(&file.instance, args.servers, &found, seconds, seed);
    show::print(&match show::format(args.format) {
        PlaceFormat::Table => answer.in_words(),
        PlaceFormat::Json => show::json(&answer)?,
        PlaceFormat::Csv => answer.csv(),
    })?;
    Ok(match found {
        _ if effort.interrupted() => Exit::Interrupted,
        Ok(_) => Exit::Done,
        Err(_) => Exit::Negative,
    })
}

/// The JSON of `min-delay`, also of the service.
#[derive(Serialize)]
pub(super) struct Answer<'a> {
    /// As of `solve`: whether nothing faster exists, or nothing at all, or nobody knows.
    status: Status,
    servers: usize,
    servers_used: Option<usize>,
    delay_ms: Option<Delay>,
    at_least_ms: Option<Delay>,
    proven: bool,
    assignment: Option<Assignment<'a>>,
    seconds: f64,
    seed: u64,
}

impl<'a> Answer<'a> {
    pub(super) fn new(
        instance: &'a Instance,
        servers: usize,
        found: &'a Result<MinDelay, MinDelayError>,
        seconds: f64,
        seed: u64,
    ) -> Self {
        let status = status(found);
        let found = found.as_ref().ok();
        Self {
            status,
            servers,
            servers_used: found.map(|found| found.servers_used),
            delay_ms: found.map(|found| found.delay),
            at_least_ms: found.map(|found| found.at_least),
            proven: found.is_some_and(MinDelay::is_proven),
            assignment: found.map(|found| Assignment {
                instance,
                allocation: &found.allocation,
            }),
            seconds,
            seed,
        }
    }

    fn in_words(&self) -> String {
        let allowed = show::servers(self.servers);
        let (Some(delay), Some(at_least)) = (self.delay_ms, self.at_least_ms) else {
            let took = format!("{:.2} s, seed {}", self.seconds, self.seed);
            return match self.status {
                Status::Infeasible => {
                    format!("Impossible: {allowed} cannot serve everybody at any bound ({took}).\n")
                }
                _ => format!(
                    "Nothing found with at most {allowed} so far ({took}); try a longer --time.\n"
                ),
            };
        };
        let used = self.servers_used.unwrap_or_default();
        let proof = match self.proven {
            true => "proven to be the smallest".to_owned(),
            false => format!("not below {} ms", show::not_below(at_least)),
        };
        format!(
            "{} ms with at most {allowed} ({used} used), {proof} ({:.2} s, seed {}).\n",
            show::as_bound(delay),
            self.seconds,
            self.seed
        )
    }

    fn csv(&self) -> String {
        let number = |delay: Option<Delay>| {
            delay
                .map(|delay| delay.as_millis().to_string())
                .unwrap_or_default()
        };
        format!(
            "servers,servers_used,delay_ms,at_least_ms,proven,status\n{},{},{},{},{},{}\n",
            self.servers,
            self.servers_used
                .map(|used| used.to_string())
                .unwrap_or_default(),
            number(self.delay_ms),
            number(self.at_least_ms),
            self.proven,
            show::word(self.status),
        )
    }
}

fn status(found: &Result<MinDelay, MinDelayError>) -> Status {
    match found {
        Ok(found) if found.is_proven() => Status::Optimal,
        Ok(_) => Status::Feasible,
        Err(MinDelayError::Impossible) => Status::Infeasible,
        Err(MinDelayError::OutOfBudget) => Status::OutOfBudget,
    }
}
