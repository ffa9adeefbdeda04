//! `nearside place generate`: the simulated network of the paper, as an instance file.

use std::io::{self, BufWriter, Write};

use anyhow::{Context, Result, ensure};
use nearside_placement::network::{AsLevel, Geography, NetworkParams};
use nearside_placement::{Delay, PlacementFile};

use super::args::GenerateArgs;
use crate::exit::{Exit, WorldFailure};
use crate::faces::is_closed_pipe;

pub(super) fn run(args: &GenerateArgs) -> Result<Exit> {
    let routers = args.systems.saturating_mul(args.routers);
    ensure!(
        args.servers < routers,
        "{} servers need as many routers and one more, but there are {routers}; add --systems or --routers",
        args.servers
    );
    ensure!(
        routers <= 1_000_000,
        "{routers} routers are too many; a million will do"
    );
    let params = NetworkParams {
        systems: args.systems,
        routers: args.routers,
        as_level: if args.hubs {
            AsLevel::BarabasiAlbert
        } else {
            AsLevel::Waxman
        },
        geography: if args.geo {
            Geography::Geo
        } else {
            Geography::OwnPlanes
        },
        servers: args.servers,
        clients: args.clients,
        server_factor: args.server_factor,
    };
    let mut instance = params.generate(args.seed);
    if let Some(places) = args.capacity {
        instance = instance.with_capacity(places);
    }
    let file = PlacementFile {
        instance,
        bound: Delay::from_millis(args.bound),
    };
    write(args, &file)?;
    Ok(Exit::Done)
}

fn write(args: &GenerateArgs, file: &PlacementFile) -> Result<()> {
    let Some(path) = &args.out else {
        let mut out = BufWriter::new(io::stdout().lock());
        let written = write_line(file, &mut out);
        return match written {
            Err(error) if !is_closed_pipe(&error) => {
                Err(error).context("cannot write the instance")
            }
            _ => Ok(()),
        };
    };
    let failed =
        |error: io::Error| WorldFailure(format!("cannot write {}: {error}", path.display()));
    let mut out = BufWriter::new(std::fs::File::create(path).map_err(failed)?);
    write_line(file, &mut out).map_err(failed)?;
    Ok(())
}

fn write_line(file: &PlacementFile, mut out: impl Write) -> io::Result<()> {
    file.write_json(&mut out).map_err(io::Error::from)?;
    writeln!(out)?;
    out.flush()
}
