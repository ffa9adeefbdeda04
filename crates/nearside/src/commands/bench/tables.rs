//! The report as tables for people.

use std::fmt;

use super::programs::Program;
use super::report::{Report, RunFigures, ScenarioFigures};
use super::scenario::Scenario;
use super::targets::Verdict;
use super::truth::Spread;

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_heading(f)?;
        for figures in &self.scenarios {
            writeln!(
                f,
                "\n{}, {} servers",
                figures.scenario.name(),
                figures.servers
            )?;
            write_table(f, &figures.table())?;
            figures.write_ratios(f)?;
        }
        writeln!(f, "\ntargets")?;
        write_table(f, &self.target_table())?;
        self.write_commands(f)?;
        writeln!(f)?;
        self.notes.iter().try_for_each(|note| writeln!(f, "{note}"))
    }
}

impl Report {
    fn write_heading(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let machine = &self.machine;
        let known = |text: &Option<String>| text.clone().unwrap_or_else(|| "unknown".to_owned());
        let cores = machine
            .cores
            .map_or_else(String::new, |n| format!("{n} × "));
        writeln!(
            f,
            "nearside {}, {} UTC, seed {}",
            self.version, machine.date, self.seed
        )?;
        writeln!(
            f,
            "{cores}{}, kernel {}",
            known(&machine.cpu),
            known(&machine.kernel)
        )?;
        writeln!(
            f,
            "load {} before, {} after",
            known(&machine.load),
            known(&self.load_after)
        )
    }

    fn target_table(&self) -> Vec<Vec<String>> {
        let heading = ["", "target", "measured", "unit", ""]
            .map(str::to_owned)
            .to_vec();
        let row = |target: &Verdict| {
            let verdict = match target.met {
                Some(true) => "met",
                Some(false) => "MISSED",
                None => "not judged",
            };
            vec![
                target.what.clone(),
                target.target.to_string(),
                number(target.measured, 3),
                target.unit.to_owned(),
                verdict.to_owned(),
            ]
        };
        [heading]
            .into_iter()
            .chain(self.targets.iter().map(row))
            .collect()
    }

    fn write_commands(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\ncommands (a fresh lab for every run)")?;
        for figures in &self.scenarios {
            let name = figures.scenario.name();
            let mut last_lab = None;
            for run in &figures.runs {
                // Each run has a lab of its own, but mostly of the same words.
                if last_lab.replace(&run.lab_command) != Some(&run.lab_command) {
                    writeln!(f, "{name}: {}", run.lab_command)?;
                }
                writeln!(f, "{name}: {}", run.command)?;
            }
        }
        Ok(())
    }
}

const HEADING: [&str; 14] = [
    "",
    "found",
    "share",
    "s",
    "servers/s",
    "cpu s",
    "MiB",
    "error p50",
    "p90",
    "p99",
    "max",
    "late p50",
    "p99",
    "max",
];

impl ScenarioFigures {
    fn table(&self) -> Vec<Vec<String>> {
        let mut rows = vec![HEADING.map(str::to_owned).to_vec()];
        for run in &self.runs {
            rows.push(run.row());
            if self.scenario == Scenario::Loss {
                rows.push(run.retried_row());
            }
        }
        rows
    }

    fn write_ratios(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(ours) = self.run(Program::NearsideUnlimited) else {
            return Ok(());
        };
        for theirs in Program::QUAKESTAT
            .iter()
            .filter_map(|theirs| self.run(*theirs))
        {
            writeln!(
                f,
                "{} is {:.1} times as fast as {} and takes {} of its CPU time",
                ours.program.name(),
                ours.servers_per_second / theirs.servers_per_second,
                theirs.program.name(),
                percent(ours.cpu_seconds, theirs.cpu_seconds),
            )?;
        }
        Ok(())
    }
}

impl RunFigures {
    fn row(&self) -> Vec<String> {
        let name = self.program.name().to_owned();
        let figures = [
            self.found.to_string(),
            format!("{:.2} %", 100.0 * self.share_found),
            format!("{:.2}", self.seconds),
            format!("{:.0}", self.servers_per_second),
            number(self.cpu_seconds, 2),
            number(self.peak_memory_mib, 1),
        ];
        let error = spread(self.error).into_iter();
        let [p50, _, p99, max] = spread(self.lab_lateness);
        [name]
            .into_iter()
            .chain(figures)
            .chain(error)
            .chain([p50, p99, max])
            .collect()
    }

    /// The servers that took more than one try.
    fn retried_row(&self) -> Vec<String> {
        let retried = self.retried_error.map_or(0, |spread| spread.samples);
        let mut row = vec![String::new(); HEADING.len()];
        row[0] = "  after a retry".to_owned();
        row[1] = retried.to_string();
        row[7..11].clone_from_slice(&spread(self.retried_error));
        row
    }
}

fn spread(spread: Option<Spread>) -> [String; 4] {
    let quantile = |of: fn(&Spread) -> f64| number(spread.as_ref().map(of), 2);
    [
        quantile(|spread| spread.p50_ms),
        quantile(|spread| spread.p90_ms),
        quantile(|spread| spread.p99_ms),
        quantile(|spread| spread.max_ms),
    ]
}

fn number(value: Option<f64>, decimals: usize) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.decimals$}"))
}

fn percent(part: Option<f64>, whole: Option<f64>) -> String {
    let share = part.zip(whole).map(|(part, whole)| 100.0 * part / whole);
    share.map_or_else(
        || "an unknown share".to_owned(),
        |share| format!("{share:.0} %"),
    )
}

/// The first column to the left, numbers to the right.
fn write_table(f: &mut fmt::Formatter<'_>, rows: &[Vec<String>]) -> fmt::Result {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..rows[0].len()).map(width).collect();
    for row in rows {
        let mut line = format!("{:<1$}", row[0], widths[0]);
        for (cell, width) in row.iter().zip(&widths).skip(1) {
            line.push_str(&format!("  {cell:>width$}"));
        }
        writeln!(f, "{}", line.trim_end())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::report::tests::report;
    use std::time::Duration;

    #[test]
    fn columns_line_up() {
        let text = report(Duration::from_secs(20)).to_string();
        let table: Vec<&str> = text
            .lines()
            .skip_while(|line| !line.starts_with("plain"))
            .collect();
        let end_of = |line: &str, cell: &str| line.find(cell).unwrap() + cell.len();
        assert_eq!(end_of(table[1], "servers/s"), end_of(table[2], "2000"));
        assert_eq!(end_of(table[1], "servers/s"), end_of(table[3], " 50"));
    }
}
