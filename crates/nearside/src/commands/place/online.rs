//! `nearside place online`: events in, reports out.

use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;

use anyhow::{Context, Result, anyhow};
use nearside_placement::session::{Event, of_one_line};
use nearside_placement::{Session, SessionSetup};

use super::args::OnlineArgs;
use super::input;
use crate::exit::Exit;
use crate::faces::is_closed_pipe;

pub(super) fn run(args: &OnlineArgs) -> Result<Exit> {
    let name = args.file.display().to_string();
    // Standard input is answered line by line, so that a program can talk to us.
    let ended = if args.file == Path::new("-") {
        play(args, "standard input", io::stdin().lock())
    } else {
        let bytes = input::bytes_of(&args.file)?;
        play(args, &name, BufReader::new(&bytes[..]))
    };
    match ended {
        Err(error) if error.downcast_ref().is_some_and(is_closed_pipe) => Ok(Exit::Done),
        ended => ended,
    }
}

fn play(args: &OnlineArgs, name: &str, lines: impl BufRead) -> Result<Exit> {
    let mut out = io::stdout().lock();
    let mut session: Option<Session> = None;
    for (index, line) in lines.lines().enumerate() {
        let place = || format!("{name}, line {}", index + 1);
        let line = line.with_context(place)?;
        if line.trim().is_empty() {
            continue;
        }
        let Some(session) = &mut session else {
            let setup = SessionSetup::from_json(line.as_bytes());
            let setup = setup.map_err(|error| anyhow!("{}{}", place(), of_one_line(&error)))?;
            session = Some(Session::new(setup));
            continue;
        };
        let event = serde_json::from_str(&line);
        let event: Event = event.map_err(|error| anyhow!("{}{}", place(), of_one_line(&error)))?;
        let report = session.handle(&event);
        if !args.quiet {
            serde_json::to_writer(&mut out, &report).map_err(io::Error::from)?;
            writeln!(out)?;
            out.flush()?;
        }
    }
    let session =
        session.with_context(|| format!("{name} is empty: its first line should be the set-up"))?;
    let view = session.view();
    if args.view {
        serde_json::to_writer_pretty(&mut out, &view).map_err(io::Error::from)?;
        writeln!(out)?;
    }
    Ok(if view.kept {
        Exit::Done
    } else {
        Exit::Negative
    })
}
