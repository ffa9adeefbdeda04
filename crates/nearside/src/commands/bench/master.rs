//! `nearside bench master`: a real `nearside master` in a process of its own, fed by a fleet of game
//! servers and by clients, beside an echo that sends the same datagrams and keeps nothing.

mod clients;
mod cycles;
mod echo;
mod process;
mod store;

use std::io::{self, Write};

use anyhow::{Context, Result};
use nearside_net::Stop;
use nearside_report::{Cell, Column, Report, Table, json, text};

use super::child::Folder;
use super::machine::{self, Machine};
use super::place::targets;
use super::targets::{Bound, Verdict};
use crate::cli::BenchMasterArgs;
use crate::commands::stop_on_interrupt;
use crate::exit::Exit;
use crate::faces::is_closed_pipe;
use crate::fleet::Fleet;
use clients::ListKind;
use process::{Keeping, Measured};

/// What a terminal is wide enough for.
const WIDTH: usize = 120;

/// Runs `nearside bench master`.
pub fn run(args: &BenchMasterArgs) -> Result<Exit> {
    if let Ok(told) = std::env::var(echo::VARIABLE) {
        echo::serve(&told)?;
        return Ok(Exit::Done);
    }
    let stop = stop_on_interrupt()?;
    let before = Machine::read();
    let bench = Bench {
        folder: Folder::create()?,
        stop: &stop,
    };
    let found = match bench.measure(args.quick) {
        _ if stop.is_stopped() => {
            writeln!(io::stderr(), "interrupted: without figures")?;
            return Ok(Exit::Interrupted);
        }
        found => found?,
    };
    let verdicts = found.verdicts();
    let met = verdicts.iter().all(|verdict| verdict.met != Some(false));
    let report = found.report(args, &before, &verdicts);
    let mut out = io::stdout().lock();
    let printed = match args.json {
        true => out.write_all(json::render(&report).as_bytes()),
        false => write!(out, "{}", text::render(&report, WIDTH)),
    };
    match printed {
        Err(error) if !is_closed_pipe(&error) => {
            return Err(error).context("cannot write the report");
        }
        _ => {}
    }
    Ok(if met { Exit::Done } else { Exit::Negative })
}

/// What all parts of the bench share.
struct Bench<'a> {
    folder: Folder,
    stop: &'a Stop,
}

/// Datagrams in and out, and what they cost.
#[derive(Debug, Clone, Copy, Default)]
struct Traffic {
    datagrams: f64,
    cpu_s: f64,
    wall_s: f64,
    p50_ms: f64,
    p99_ms: f64,
}

impl Traffic {
    fn per_cpu_second(self) -> f64 {
        self.datagrams / self.cpu_s
    }
}

/// One row of the report.
struct Row {
    what: String,
    servers: u32,
    /// What is counted: cycles or lists.
    count: f64,
    of_master: Traffic,
    of_echo: Option<Traffic>,
}

#[derive(Default)]
struct Found {
    rows: Vec<Row>,
    /// Servers, bytes for each without a store, and with the embedded one.
    memory: Vec<(u32, f64, Option<f64>)>,
    store: Option<store::Updates>,
}

impl Bench<'_> {
    fn measure(&self, quick: bool) -> Result<Found> {
        let mut found = Found::default();
        let populations: &[u32] = if quick {
            &[10_000, 100_000]
        } else {
            &[10_000, 100_000, 1_000_000]
        };
        for servers in populations.iter().copied() {
            self.say(&format!("{servers} servers"))?;
            // Right before, so that both meet the same machine.
            let echo_cycles = cycles::of_echo(self.stop, CYCLES)?;
            let master = Measured::master(self.folder.path(), Keeping::Nothing)?;
            let empty = master.memory_bytes()?;
            let mut fleet = Fleet::open()?;
            let arrivals = cycles::of(&mut fleet, &master, self.stop, servers, servers)?;
            let per_server = (master.memory_bytes()? - empty) / f64::from(servers);
            found.row("registrations", servers, arrivals, Some(echo_cycles));
            let (renewals, echo) = self.cycles(&mut fleet, &master, servers)?;
            found.row("heartbeat cycles", servers, renewals, Some(echo));
            for kind in ListKind::USUAL {
                let (lists, echo) = median_of(|| {
                    let echo = clients::of_echo(self.stop)?;
                    Ok((clients::of_master(&master, self.stop, kind)?, echo))
                })?;
                found.row(kind.name(), servers, lists, Some(echo));
            }
            for kind in ListKind::UNUSUAL {
                let lists = clients::of_new(&master, self.stop, kind)?;
                found.row(kind.name(), servers, lists, None);
            }
            drop(master);
            let with_store = self.with_store(&mut found, servers)?;
            found.memory.push((servers, per_server, Some(with_store)));
        }
        self.say("updates of the embedded store")?;
        found.store = Some(store::measure(self.folder.path())?);
        Ok(found)
    }

    /// The same with the embedded store, as an operator runs it.
    fn with_store(&self, found: &mut Found, servers: u32) -> Result<f64> {
        let master = Measured::master(self.folder.path(), Keeping::Embedded)?;
        let empty = master.memory_bytes()?;
        let mut fleet = Fleet::open()?;
        let arrivals = cycles::of(&mut fleet, &master, self.stop, servers, servers)?;
        found.row("registrations, kept", servers, arrivals, None);
        let (renewals, echo) = self.cycles(&mut fleet, &master, servers)?;
        found.row(KEPT, servers, renewals, Some(echo));
        Ok((master.memory_bytes()? - empty) / f64::from(servers))
    }

    /// Heartbeat cycles of known servers, and of the echo.
    fn cycles(&self, fleet: &mut Fleet, master: &Measured, servers: u32) -> Result<Pair> {
        median_of(|| {
            let echo = cycles::of_echo(self.stop, CYCLES)?;
            let renewals = cycles::of(fleet, master, self.stop, servers, CYCLES)?;
            Ok((renewals, echo))
        })
    }

    /// Tells somebody who waits.
    fn say(&self, what: &str) -> Result<()> {
        Ok(writeln!(io::stderr(), "{what} …")?)
    }
}

/// Heartbeat cycles that are measured at a time: some seconds.
const CYCLES: u32 = 300_000;

/// What was counted, and its traffic.
type Counted = (f64, Traffic);

/// The same of a master, and of the echo right before it.
type Pair = (Counted, Counted);

/// How often what is judged is measured: on a machine with other work one round says little.
const ROUNDS: usize = 3;

/// The cycles that the target is about: with state kept, as an operator runs it.
const KEPT: &str = "heartbeat cycles, kept";

/// How many times as much a question may cost among a hundred times as many servers. It looks at the
/// same ones, but these no longer lie in the processor's caches: some hundred nanoseconds for each.
const GROWTH: f64 = 2.0;

/// Measures in rounds; gives the one whose share of the echo is the median.
fn median_of(mut measure: impl FnMut() -> Result<Pair>) -> Result<Pair> {
    let share = |((_, master), (_, echo)): &Pair| master.per_cpu_second() / echo.per_cpu_second();
    let mut rounds: Vec<Pair> = (0..ROUNDS).map(|_| measure()).collect::<Result<_>>()?;
    rounds.sort_by(|one, other| share(one).total_cmp(&share(other)));
    Ok(rounds[ROUNDS / 2])
}

impl Found {
    fn row(
        &mut self,
        what: &str,
        servers: u32,
        (count, of_master): Counted,
        of_echo: Option<Counted>,
    ) {
        self.rows.push(Row {
            what: what.to_owned(),
            servers,
            count,
            of_master,
            of_echo: of_echo.map(|(_, traffic)| traffic),
        });
    }

    fn share(&self, what: &str, servers: u32) -> Option<f64> {
        let is_it = |row: &&Row| row.what == what && row.servers == servers;
        let row = self.rows.iter().find(is_it)?;
        Some(row.of_master.per_cpu_second() / row.of_echo?.per_cpu_second())
    }

    /// Processor seconds for each.
    fn cost(&self, what: &str, servers: u32) -> Option<f64> {
        let is_it = |row: &&Row| row.what == what && row.servers == servers;
        let row = self.rows.iter().find(is_it)?;
        Some(row.of_master.cpu_s / row.count)
    }

    fn verdicts(&self) -> Vec<Verdict> {
        let mut verdicts = Vec::new();
        for (servers, ..) in &self.memory {
            let mut judge = |what: &str, least| {
                let name = format!("{what}, {servers} servers, beside the echo");
                let share = self.share(what, *servers);
                verdicts.push(Verdict::new(name, Bound::AtLeast(least), "share", share));
            };
            judge("heartbeat cycles", 0.6);
            judge(KEPT, 0.6);
            judge(ListKind::Whole.name(), 0.8);
            judge(ListKind::Paged.name(), 0.8);
        }
        verdicts.extend(self.growth());
        let million = self.memory.iter().find(|row| row.0 == 1_000_000);
        verdicts.push(Verdict::new(
            "memory for each of a million servers".to_owned(),
            Bound::AtMost(300.0),
            "bytes",
            million.map(|row| row.1),
        ));
        verdicts.push(Verdict::new(
            "embedded store".to_owned(),
            Bound::AtLeast(20_000.0),
            "updates/s",
            self.store.as_ref().map(|updates| updates.per_second),
        ));
        verdicts.push(Verdict::new(
            "embedded store, longest group commit".to_owned(),
            Bound::AtMost(1.0),
            "s",
            self.store.as_ref().map(|updates| updates.longest_s),
        ));
        verdicts
    }

    /// What a question that an index answers costs among most servers, beside the same among fewest.
    fn growth(&self) -> impl Iterator<Item = Verdict> {
        let population = |row: &(u32, f64, Option<f64>)| row.0;
        let fewest = self.memory.first().map_or(0, population);
        let most = self.memory.last().map_or(0, population);
        ListKind::INDEXED.into_iter().map(move |kind| {
            let name = format!("{}, {most} servers beside {fewest}", kind.name());
            let costs = [most, fewest].map(|servers| self.cost(kind.name(), servers));
            let ratio = match costs {
                [Some(among_most), Some(among_fewest)] => Some(among_most / among_fewest),
                _ => None,
            };
            Verdict::new(name, Bound::AtMost(GROWTH), "times", ratio)
        })
    }

    fn report(&self, args: &BenchMasterArgs, machine: &Machine, verdicts: &[Verdict]) -> Report {
        let known = |text: &Option<String>| text.clone().unwrap_or_else(|| "unknown".to_owned());
        let quick = if args.quick { " --quick" } else { "" };
        let machine = format!(
            "{} UTC, {} cores of {}, load {} before and {} after. Shares of the echo from one run can \
             be compared; seconds belong to this machine and its load.",
            machine.date,
            machine.cores.unwrap_or(0),
            known(&machine.cpu),
            known(&machine.load),
            known(&machine::load()),
        );
        Report::new(
            "bench-master",
            format!("nearside {} bench master", env!("CARGO_PKG_VERSION")),
            format!("nearside bench master{quick}"),
            "none".to_owned(),
        )
        .with(machine)
        .with(self.traffic())
        .with(self.memory())
        .with(targets(verdicts))
    }

    fn traffic(&self) -> Table {
        let number = |name: &str, unit: &str| Column::new(name).unit(unit).not_fitted();
        let table = Table::new(
            "traffic",
            "Datagrams in and out per CPU-second, beside the echo",
        )
        .column(Column::new("what"))
        .column(Column::new("servers"))
        .column(number("rate", "1/s"))
        .column(number("CPU for each", "µs"))
        .column(number("datagrams per CPU-second", "1/s"))
        .column(number("echo", "1/s"))
        .column(number("share", ""))
        .column(number("p50", "ms"))
        .column(number("p99", "ms"));
        self.rows.iter().fold(table, |table, row| {
            let of = row.of_master;
            let echo = row.of_echo.map(Traffic::per_cpu_second);
            let cell = |value: Option<f64>, decimals| {
                value.map_or(Cell::Missing, |value| Cell::number(value, decimals))
            };
            table.row([
                Cell::from(row.what.as_str()),
                Cell::number(f64::from(row.servers), 0),
                Cell::number(row.count / of.wall_s, 0),
                Cell::number(of.cpu_s / row.count * 1e6, 2),
                Cell::number(of.per_cpu_second(), 0),
                cell(echo, 0),
                cell(echo.map(|echo| of.per_cpu_second() / echo), 2),
                Cell::number(of.p50_ms, 3),
                Cell::number(of.p99_ms, 3),
            ])
        })
    }

    fn memory(&self) -> Table {
        let bytes = |name: &str| Column::new(name).unit("bytes").not_fitted();
        let table = Table::new("memory", "Resident memory for each server")
            .column(Column::new("servers"))
            .column(bytes("registry"))
            .column(bytes("with the embedded store and its cache"));
        self.memory.iter().fold(table, |table, row| {
            let (servers, alone, kept) = *row;
            let kept = kept.map_or(Cell::Missing, |kept| Cell::number(kept, 0));
            table.row([
                Cell::number(f64::from(servers), 0),
                Cell::number(alone, 0),
                kept,
            ])
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_round_in_the_middle_counts_with_its_own_echo() {
        let traffic = |datagrams| Traffic {
            datagrams,
            cpu_s: 1.0,
            ..Traffic::default()
        };
        let mut rounds = [(50.0, 100.0), (90.0, 100.0), (140.0, 200.0)].into_iter();
        let (master, echo) = median_of(|| {
            let (master, echo) = rounds.next().expect("three rounds");
            Ok(((1.0, traffic(master)), (1.0, traffic(echo))))
        })
        .expect("all were measured");
        assert_eq!((master.1.datagrams, echo.1.datagrams), (140.0, 200.0));
    }

    #[test]
    fn cycles_with_state_kept_are_judged() {
        let traffic = |datagrams| {
            let traffic = Traffic {
                datagrams,
                cpu_s: 1.0,
                ..Traffic::default()
            };
            (1.0, traffic)
        };
        let mut found = Found::default();
        found.row(KEPT, 10, traffic(59.0), Some(traffic(100.0)));
        found.memory.push((10, 1.0, None));
        let verdicts = found.verdicts();
        let kept = verdicts.iter().find(|verdict| verdict.what.contains(KEPT));
        assert_eq!(kept.and_then(|verdict| verdict.met), Some(false));
    }

    #[test]
    fn questions_that_grow_with_the_number_of_servers_are_judged() {
        let traffic = |cpu_s| {
            let traffic = Traffic {
                cpu_s,
                ..Traffic::default()
            };
            (1.0, traffic)
        };
        let mut found = Found::default();
        for (servers, cpu_s) in [(10, 1.0), (1000, 2.1)] {
            found.row(ListKind::NewMap.name(), servers, traffic(cpu_s), None);
            found.row(ListKind::NewFlags.name(), servers, traffic(1.0), None);
            found.memory.push((servers, 1.0, None));
        }
        let met: Vec<Option<bool>> = found.growth().map(|verdict| verdict.met).collect();
        assert_eq!(met[..3], [Some(false), Some(true), None]);
    }
}
