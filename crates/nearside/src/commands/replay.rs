//! `nearside replay`: a recorded run, fed to the engine again.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};

use anyhow::{Context, Result, bail};
use nearside_discover::journal::{Entry, replay};

use crate::cli::ReplayArgs;
use crate::exit::Exit;

/// Runs the command.
pub fn run(args: &ReplayArgs) -> Result<Exit> {
    let name = args.file.display();
    let file = File::open(&args.file).with_context(|| format!("cannot open {name}"))?;
    let mut entries = Vec::new();
    for (index, line) in BufReader::new(file).lines().enumerate() {
        let line = line.with_context(|| format!("cannot read {name}, line {}", index + 1))?;
        let entry: Entry = serde_json::from_str(&line)
            .with_context(|| format!("{name}, line {}: not a record of nearside", index + 1))?;
        entries.push(entry);
    }
    let outcome = replay(entries).with_context(|| format!("in {name}"))?;
    let mut out = std::io::stdout().lock();
    if args.json {
        serde_json::to_writer(&mut out, &outcome.prober.snapshot())?;
        writeln!(out)?;
    } else {
        let summary = outcome.prober.summary();
        writeln!(
            out,
            "{} listed, {} probed, {} answered, {} probes sent",
            summary.listed, summary.probed, summary.answered, summary.probes_sent
        )?;
    }
    match outcome.identical {
        Some(true) => {
            writeln!(
                std::io::stderr(),
                "identical: the engine did exactly what was recorded"
            )?;
            Ok(Exit::Done)
        }
        Some(false) => {
            writeln!(
                std::io::stderr(),
                "different: the engine did not do what was recorded (another version?)"
            )?;
            Ok(Exit::Negative)
        }
        None => bail!("{name} has no end: the run was killed while it was recorded"),
    }
}
