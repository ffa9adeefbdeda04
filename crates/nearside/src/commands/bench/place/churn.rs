//! Sessions with players who come and go: no promise broken, and not many servers more than somebody
//! needs who may seat everybody anew after every event.

use std::time::Duration;

use anyhow::Result;
use nearside_placement::network::NetworkParams;
use nearside_placement::session::Event;
use nearside_placement::solver::Auto;
use nearside_placement::{ClientId, Instance, Session, SessionSetup, Task, verify};
use nearside_report::{Cell, Column, Table};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::figures::{Interval, largest, millis};
use super::{Bench, Findings};
use crate::commands::bench::targets::{Bound, Verdict};

const EVENTS: usize = 200;
/// Events between two consolidations. Every event pays for one move, and what a consolidation does not
/// use is saved for the next: most need few, some need many. On seeds 0–7 that left 4 % too many
/// servers, where 25 moves every 25 events left 11 %.
const CONSOLIDATION: usize = 5;
/// Moves that can be saved up: everybody once.
const SAVINGS: usize = 50;
/// Players there are; a third of them plays when the events begin, and most of the time.
const PLAYERS: usize = 150;
const USUAL: usize = 50;

/// Tight, middle and loose, in milliseconds.
const BOUNDS: [f64; 3] = [20.0, 24.0, 30.0];
/// Sessions at each bound: the offline optimum after every event is what takes long.
const SESSIONS: usize = 10;
const PATIENCE: Duration = Duration::from_secs(60);

/// What became of one session.
#[derive(Debug, Default)]
struct Story {
    refused: usize,
    violations: usize,
    moves: usize,
    /// Servers in use and servers needed, summed over the events.
    used: f64,
    needed: f64,
}

pub(super) fn measure(bench: &Bench<'_>) -> Result<Findings> {
    bench.say("churn: sessions of 200 events")?;
    let mut table = Table::new(
        "churn",
        format!(
            "{EVENTS} joins and leaves of {PLAYERS} players, of whom {USUAL} have been seated on 100 \
             servers. Every {CONSOLIDATION} events players are moved to save servers, one for each event so \
             far and at most {SAVINGS} at once. Servers over the offline optimum, summed over all events of a session: mean of sessions \
             with its 95 % interval, and the worst session"
        ),
    )
    .column(Column::new("bound").heading("delay bound").unit("ms"))
    .column(Column::new("sessions"))
    .column(Column::new("refused").heading("events refused").not_fitted())
    .column(Column::new("violations").not_fitted())
    .column(Column::new("moves").heading("moves / session").not_fitted())
    .column(Column::new("ratio").heading("servers / optimum").not_fitted())
    .column(Column::new("low").heading("95 % from").not_fitted())
    .column(Column::new("high").heading("to").not_fitted())
    .column(Column::new("worst").not_fitted());
    let mut all: Vec<Story> = Vec::new();
    for bound in BOUNDS {
        let mut stories = Vec::new();
        for &seed in bench.seeds.as_slice().iter().take(SESSIONS) {
            stories.push(story(bench, bound, seed)?);
            if bench.stop.is_stopped() {
                return Ok(Findings::default());
            }
        }
        table.push(row(bound, &stories));
        all.extend(stories);
    }
    Ok(Findings {
        verdicts: verdicts(&all),
        parts: vec![table.into()],
    })
}

fn row(bound: f64, stories: &[Story]) -> Vec<Cell> {
    let sum = |of: fn(&Story) -> usize| stories.iter().map(of).sum::<usize>();
    let ratios = ratios(stories);
    let moves = sum(|story| story.moves) as f64 / stories.len() as f64;
    let start = [
        Cell::number(bound, 0),
        stories.len().into(),
        sum(|story| story.refused).into(),
        sum(|story| story.violations).into(),
        Cell::number(moves, 1),
    ];
    let worst = largest(&ratios).map_or(Cell::Missing, |worst| Cell::number(worst, 3));
    let interval = Interval::cells(Interval::of(&ratios), 4);
    start.into_iter().chain(interval).chain([worst]).collect()
}

fn ratios(stories: &[Story]) -> Vec<f64> {
    stories
        .iter()
        .map(|story| story.used / story.needed)
        .collect()
}

fn verdicts(stories: &[Story]) -> Vec<Verdict> {
    let violations: usize = stories.iter().map(|story| story.violations).sum();
    vec![
        Verdict::new(
            format!("churn: broken bounds or loads in {EVENTS} events"),
            Bound::AtMost(0.0),
            "",
            Some(violations as f64),
        ),
        Verdict::new(
            "churn: servers over the offline optimum".to_owned(),
            Bound::AtMost(1.1),
            "×",
            Interval::of(&ratios(stories)).map(|interval| interval.mean),
        ),
    ]
}

/// One session: its first players come, are seated as well as can be, and then the events begin.
fn story(bench: &Bench<'_>, bound: f64, seed: u64) -> Result<Story> {
    let params = NetworkParams {
        clients: PLAYERS,
        ..NetworkParams::default()
    };
    let instance = params.generate(seed);
    let mut setup = SessionSetup::new(&instance, millis(bound));
    setup.seed = seed;
    let mut session = Session::new(setup);
    for client in instance.client_ids().take(USUAL) {
        session.handle(&join_event(&instance, client));
    }
    session.handle(&Event::Consolidate {
        max_moves: usize::MAX,
    });
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut story = Story::default();
    let mut savings = 0;
    for number in 1..=EVENTS {
        let report = session.handle(&next_event(&instance, &session, &mut rng));
        story.refused += usize::from(!report.is_kept());
        story.judge(&session)?;
        savings = (savings + 1).min(SAVINGS);
        if number % CONSOLIDATION == 0 {
            let report = session.handle(&Event::Consolidate { max_moves: savings });
            savings -= report.moves.len();
            story.moves += report.moves.len();
            story.judge(&session)?;
        }
        story.compare(bench, &session, seed)?;
    }
    Ok(story)
}

/// Somebody who is not here joins, or somebody who is leaves; rather the one that brings the session
/// back to its usual size.
fn next_event(instance: &Instance, session: &Session, rng: &mut ChaCha8Rng) -> Event {
    let here = session.clients();
    let join = here == 0 || rng.random_range(0..2 * USUAL) >= here;
    loop {
        let client = ClientId::new(rng.random_range(0..PLAYERS));
        let name = instance.client_name(client);
        match (join, session.server_of(name).is_some()) {
            (true, false) => return join_event(instance, client),
            (false, true) => {
                return Event::Leave {
                    client: name.to_owned(),
                };
            }
            _ => {}
        }
    }
}

fn join_event(instance: &Instance, client: ClientId) -> Event {
    let names = instance.servers().iter().map(|server| server.name.clone());
    let delays = instance.access_row(client).iter();
    Event::Join {
        client: instance.client_name(client).to_owned(),
        latencies_ms: names
            .zip(delays.map(|delay| Some(delay.as_millis())))
            .collect(),
    }
}

impl Story {
    /// Counts what the session must never do.
    fn judge(&mut self, session: &Session) -> Result<()> {
        if session.clients() == 0 {
            return Ok(());
        }
        let good = match session.allocation() {
            Some(allocation) => verify(session.instance(), &allocation, session.bound())?.is_good(),
            // Somebody is in the session and has no seat.
            None => false,
        };
        self.violations += usize::from(!good);
        Ok(())
    }

    /// Beside somebody who may seat everybody anew.
    fn compare(&mut self, bench: &Bench<'_>, session: &Session, seed: u64) -> Result<()> {
        let Some(allocation) = session.allocation() else {
            return Ok(());
        };
        let task = Task {
            instance: session.instance(),
            bound: session.bound(),
        };
        let verdict = verify(task.instance, &allocation, task.bound)?;
        let offline = bench.solve(&Auto, task, seed, PATIENCE)?;
        if let Some(needed) = offline.servers() {
            self.used += verdict.servers_used as f64;
            self.needed += needed;
        }
        Ok(())
    }
}
