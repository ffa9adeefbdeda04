//! What the measurements say: medians over rounds, tables and verdicts.

use nearside_report::{Cell, Column, Report, Table};

use super::lane::Kind;
use super::stream::{Pace, Tally};
use crate::cli::BenchDetourArgs;
use crate::commands::bench::machine::{self, Machine};
use crate::commands::bench::place::targets;
use crate::commands::bench::targets::{Bound, Verdict};

/// Everything that was measured, in order.
#[derive(Default)]
pub(super) struct Found {
    tallies: Vec<(Kind, Pace, Tally)>,
    /// What was left out, and why.
    pub(super) notes: Vec<String>,
}

/// A pace in words.
pub(super) fn words(pace: Pace) -> String {
    match pace {
        Pace::PerSecond(rate) => format!("{rate} packets/s"),
        Pace::Full => "full rate".to_owned(),
    }
}

impl Found {
    pub(super) fn add(&mut self, kind: Kind, pace: Pace, tally: Tally) {
        self.tallies.push((kind, pace, tally));
    }

    /// One lane at one pace, a tally for each round.
    fn of(&self, kind: Kind, pace: Pace) -> Vec<&Tally> {
        let of_it = |row: &&(Kind, Pace, Tally)| row.0 == kind && row.1 == pace;
        self.tallies
            .iter()
            .filter(of_it)
            .map(|row| &row.2)
            .collect()
    }

    /// The median over rounds of something about a lane.
    fn median(&self, kind: Kind, pace: Pace, value: impl Fn(&Tally) -> Option<f64>) -> Option<f64> {
        median(self.of(kind, pace).into_iter().filter_map(value).collect())
    }

    /// The median over rounds of what a lane takes longer than its baseline did in the same round.
    fn added(&self, kind: Kind, pace: Pace, share: f64) -> Option<f64> {
        let base = self.of(kind.baseline(), pace);
        let rounds = self.of(kind, pace).into_iter().zip(base);
        let added = rounds
            .filter_map(|(with, without)| Some(with.quantile(share)? - without.quantile(share)?));
        median(added.collect())
    }

    fn kinds(&self) -> impl Iterator<Item = Kind> {
        Kind::ALL
            .into_iter()
            .filter(|kind| self.tallies.iter().any(|row| row.0 == *kind))
    }

    /// Against what is asked of relay and sidecars; like with like, one process with one and two with
    /// two.
    pub(super) fn verdicts(&self) -> Vec<Verdict> {
        let mut verdicts = Vec::new();
        let pairs = [
            (Kind::Relay, Kind::Socat),
            (Kind::ProxyPlain, Kind::Socat),
            (Kind::Sidecars, Kind::SocatTwice),
        ];
        let paces = [Pace::PerSecond(60), Pace::PerSecond(1_000)];
        for (ours, theirs) in pairs {
            for pace in paces {
                let added = [ours, theirs].map(|kind| self.added(kind, pace, 0.5));
                let [ours_added, theirs_added] = added;
                let verdict = Verdict::new(
                    format!(
                        "{}: added p50 beside {}, {}",
                        ours.name(),
                        theirs.name(),
                        words(pace)
                    ),
                    Bound::AtMost(1.3),
                    "×",
                    ours_added.zip(theirs_added).map(|(a, b)| a / b),
                );
                verdicts.push(judged_if_added(verdict, &added));
            }
        }
        for kind in [Kind::Sidecars, Kind::Relay] {
            for pace in paces {
                let added = self.added(kind, pace, 0.5);
                let verdict = Verdict::new(
                    format!("{}: added p50, {}", kind.name(), words(pace)),
                    Bound::AtMost(0.25),
                    "ms",
                    added.map(|added| added / 1e3),
                );
                verdicts.push(judged_if_added(verdict, &[added]));
            }
        }
        verdicts.push(Verdict::new(
            "relay: packets per CPU-second beside the bare forwarder".to_owned(),
            Bound::AtLeast(0.9),
            "share",
            self.share(Kind::Relay),
        ));
        verdicts
    }

    /// Packets per CPU-second beside the bare forwarder's.
    fn share(&self, kind: Kind) -> Option<f64> {
        let rate = |kind| self.median(kind, Pace::Full, Tally::per_cpu_second);
        Some(rate(kind)? / rate(Kind::Bare)?)
    }

    pub(super) fn report(
        &self,
        args: &BenchDetourArgs,
        machine: &Machine,
        verdicts: &[Verdict],
    ) -> Report {
        let known = |text: &Option<String>| text.clone().unwrap_or_else(|| "unknown".to_owned());
        let where_and_when = format!(
            "{} UTC, {} cores of {}, load {} before and {} after. Medians of {} rounds, in which all \
             took turns. Ratios from one run can be compared; times belong to this machine and its \
             load.",
            machine.date,
            machine.cores.unwrap_or(0),
            known(&machine.cpu),
            known(&machine.load),
            known(&machine::load()),
            args.rounds,
        );
        let (rounds, seconds, seed) = (args.rounds, args.seconds, args.seed);
        let report = Report::new(
            "bench-detour",
            format!("nearside {} bench detour", env!("CARGO_PKG_VERSION")),
            format!("nearside bench detour --rounds {rounds} --seconds {seconds} --seed {seed}"),
            seed.to_string(),
        )
        .with(where_and_when);
        let notes = self.notes.iter().cloned();
        notes
            .fold(report, Report::with)
            .with(self.latency(Pace::PerSecond(60), "latency-60"))
            .with(self.latency(Pace::PerSecond(1_000), "latency-1000"))
            .with(self.full_rate())
            .with(targets(verdicts))
    }

    fn latency(&self, pace: Pace, name: &str) -> Table {
        let number = |name: &str| Column::new(name).unit("µs").not_fitted();
        let caption = format!("Round trips at {}, and what they take longer", words(pace));
        let table = Table::new(name, caption)
            .column(Column::new("way"))
            .column(Column::new("packets"))
            .column(Column::new("lost"))
            .column(Column::new("corrupted"))
            .column(number("p50"))
            .column(number("p99"))
            .column(number("added p50"))
            .column(number("added p99"))
            .column(number("CPU for each packet"));
        self.kinds().fold(table, |table, kind| {
            let quantile = |share| self.median(kind, pace, move |tally| tally.quantile(share));
            let added = |share| {
                let own = kind.baseline() == kind;
                self.added(kind, pace, share).filter(|_| !own)
            };
            let [packets, lost, corrupted] = self.counts(kind, pace);
            table.row([
                Cell::from(kind.name()),
                packets,
                lost,
                corrupted,
                cell(quantile(0.5), 1),
                cell(quantile(0.99), 1),
                cell(added(0.5), 1),
                cell(added(0.99), 1),
                cell(self.median(kind, pace, Tally::cpu_us_each), 2),
            ])
        })
    }

    fn full_rate(&self) -> Table {
        let number = |name: &str, unit: &str| Column::new(name).unit(unit).not_fitted();
        let caption = "Packets forwarded at full rate, there and back, 64 under way at a time";
        let table = Table::new("full-rate", caption)
            .column(Column::new("way"))
            .column(Column::new("packets"))
            .column(Column::new("lost"))
            .column(Column::new("corrupted"))
            .column(number("rate", "1/s"))
            .column(number("per core", "1/s"))
            .column(number("CPU for each packet", "µs"))
            .column(number("beside the bare forwarder", ""));
        self.kinds().fold(table, |table, kind| {
            let median = |value: fn(&Tally) -> Option<f64>| self.median(kind, Pace::Full, value);
            let [packets, lost, corrupted] = self.counts(kind, Pace::Full);
            table.row([
                Cell::from(kind.name()),
                packets,
                lost,
                corrupted,
                cell(median(|tally| Some(tally.per_second())), 0),
                cell(median(Tally::per_cpu_second), 0),
                cell(median(Tally::cpu_us_each), 2),
                cell(self.share(kind), 2),
            ])
        })
    }

    /// Packets that came back, that did not, and that came back changed, over all rounds.
    fn counts(&self, kind: Kind, pace: Pace) -> [Cell; 3] {
        let of = self.of(kind, pace);
        let sum = |value: fn(&Tally) -> usize| of.iter().map(|tally| value(tally)).sum::<usize>();
        let sums = [
            sum(|tally| tally.received),
            sum(|tally| tally.sent - tally.received),
            sum(|tally| tally.corrupted),
        ];
        sums.map(|sum| Cell::number(sum as f64, 0))
    }
}

/// Nobody forwards in no time: who seems to add nothing, or less, was measured on a machine too busy to
/// tell, and then neither side is judged.
fn judged_if_added(verdict: Verdict, added: &[Option<f64>]) -> Verdict {
    let is_noise = added.iter().flatten().any(|added| *added <= 0.0);
    Verdict {
        met: verdict.met.filter(|_| !is_noise),
        ..verdict
    }
}

fn cell(value: Option<f64>, decimals: u8) -> Cell {
    value.map_or(Cell::Missing, |value| Cell::number(value, decimals))
}

/// The middle one, or the mean of the two in the middle.
fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    let last = values.len().checked_sub(1)?;
    Some(f64::midpoint(values[last / 2], values[values.len() / 2]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(round_trip: f64, cpu_s: f64) -> Tally {
        Tally {
            sent: 11,
            received: 10,
            round_trips: vec![round_trip; 10],
            wall_s: 1.0,
            cpu_s: Some(cpu_s),
            ..Tally::default()
        }
    }

    #[test]
    fn what_is_added_is_the_median_of_the_differences_within_rounds() {
        let mut found = Found::default();
        let pace = Pace::PerSecond(60);
        // The second round was disturbed, for both alike.
        for (loopback, socat) in [(50.0, 80.0), (500.0, 531.0), (51.0, 80.0)] {
            found.add(Kind::Loopback, pace, tally(loopback, 1.0));
            found.add(Kind::Socat, pace, tally(socat, 1.0));
        }
        assert_eq!(found.added(Kind::Socat, pace, 0.5), Some(30.0));
        assert_eq!(found.added(Kind::Relay, pace, 0.5), None);
    }

    #[test]
    fn who_seems_to_add_less_than_nothing_is_not_judged() {
        let pace = Pace::PerSecond(60);
        let found = |socat: f64, relay: f64| {
            let mut found = Found::default();
            for (kind, took) in [
                (Kind::Loopback, 50.0),
                (Kind::Socat, socat),
                (Kind::Link, 60.0),
                (Kind::Relay, relay),
            ] {
                found.add(kind, pace, tally(took, 1.0));
            }
            found
        };
        let verdicts = |socat, relay| -> Vec<_> {
            let verdicts = found(socat, relay).verdicts();
            let measured = verdicts.iter().filter(|verdict| verdict.measured.is_some());
            measured.map(|verdict| verdict.met).collect()
        };
        assert_eq!(verdicts(80.0, 85.0), [Some(true), Some(true)]);
        assert_eq!(verdicts(80.0, 55.0), [None, None], "the relay took no time");
        assert_eq!(verdicts(45.0, 85.0), [None, Some(true)], "socat took none");
    }

    #[test]
    fn verdicts_need_both_sides() {
        let mut found = Found::default();
        found.add(Kind::Relay, Pace::Full, tally(1.0, 0.5));
        let judged = |found: &Found| {
            let verdicts = found.verdicts();
            verdicts.iter().filter_map(|verdict| verdict.met).count()
        };
        assert_eq!(judged(&found), 0);
        found.add(Kind::Bare, Pace::Full, tally(1.0, 0.45));
        assert_eq!(found.share(Kind::Relay), Some(0.9));
        assert_eq!(judged(&found), 1);
    }

    #[test]
    fn a_median_is_in_the_middle() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(vec![4.0, 1.0]), Some(2.5));
        assert_eq!(median(Vec::new()), None);
    }
}
