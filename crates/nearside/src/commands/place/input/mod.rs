//! Instances from files: ours, tables, latency lists of matchmakers, and matrices of round trips.

mod between;
mod lists;
mod matrix;
pub(super) mod strict;
mod table;

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use anyhow::{Context, Result, bail};
use flate2::read::GzDecoder;
use nearside_placement::{
    Delay, DelayMatrix, Instance, InstanceParts, Latency, PlacementFile, Server,
};

use super::args::InputArgs;

/// More than 10,000 players and 1,000 servers take; beyond it, it is not an instance.
const MAX_BYTES: u64 = 1 << 30;

/// Who reaches which server how fast; what most inputs are.
pub(crate) struct Latencies {
    pub(crate) clients: Vec<String>,
    pub(crate) servers: Vec<String>,
    /// Milliseconds, a row for each client.
    pub(crate) rows: Vec<Vec<Option<f64>>>,
}

/// The instance that the flags name, and the bound of its file.
pub(super) fn read(args: &InputArgs, seed: u64) -> Result<PlacementFile> {
    read_from(args, args.file.as_deref(), seed)
}

/// The same, from another file than the flags name.
pub(super) fn read_from(args: &InputArgs, file: Option<&Path>, seed: u64) -> Result<PlacementFile> {
    let mut file = match (&args.matrix, file) {
        (Some(_), Some(_)) => bail!("name an instance file or a matrix, not both"),
        (Some(path), None) => PlacementFile {
            instance: matrix::draw(args, path, seed)?,
            bound: None,
        },
        (None, Some(path)) => {
            let bytes = bytes_of(path)?;
            parse(args, path, &bytes).with_context(|| format!("in {}", name_of(path)))?
        }
        (None, None) => bail!("name an instance file, or a matrix with --matrix"),
    };
    if let Some(places) = args.capacity {
        file.instance = file.instance.with_capacity(places);
    }
    if args.closure {
        file.instance = file.instance.metric_closure();
    }
    Ok(file)
}

/// The bound of the flag, or of the file.
pub(super) fn bound(flag: Option<f64>, file: &PlacementFile) -> Result<Delay> {
    match flag.and_then(Delay::from_millis).or(file.bound) {
        Some(bound) => Ok(bound),
        None => bail!("the input has no delay_bound_ms; give a bound with --bound MS"),
    }
}

fn parse(args: &InputArgs, path: &Path, bytes: &[u8]) -> Result<PlacementFile> {
    if table::is_named(path) {
        let latencies = table::read(bytes)?;
        return from_latencies(args, latencies);
    }
    match lists::read(bytes)? {
        Some(latencies) => from_latencies(args, latencies),
        None => {
            if args.latency.is_some() || args.between.is_some() || args.between_ms.is_some() {
                bail!("an instance says itself what its numbers are; drop --latency and --between");
            }
            Ok(PlacementFile::from_json(bytes)?)
        }
    }
}

/// Inputs without servers' delays: the flags bring them.
fn from_latencies(args: &InputArgs, latencies: Latencies) -> Result<PlacementFile> {
    let Some(latency) = args.latency else {
        bail!("say what the numbers are: --latency one-way or --latency round-trip");
    };
    let server_server = between::matrix(args, &latencies.servers)?;
    Ok(PlacementFile {
        instance: assemble(latencies, server_server, latency)?,
        bound: None,
    })
}

fn assemble(
    latencies: Latencies,
    server_server: DelayMatrix,
    latency: Latency,
) -> Result<Instance> {
    let client_server = DelayMatrix::from_millis(latencies.rows)
        .map_err(|error| anyhow::anyhow!("latencies{error}"))?;
    let parts = InstanceParts {
        clients: latencies.clients,
        servers: latencies.servers.into_iter().map(Server::named).collect(),
        client_server,
        server_server,
        latency,
        processing: Delay::ZERO,
        graph: None,
    };
    Ok(Instance::new(parts)?)
}

/// What to call a file in a sentence.
pub(super) fn name_of(path: &Path) -> String {
    match path.to_str() {
        Some("-") => "standard input".to_owned(),
        _ => path.display().to_string(),
    }
}

/// The bytes of a file or of standard input, unpacked if they are gzip.
pub(super) fn bytes_of(path: &Path) -> Result<Vec<u8>> {
    let name = name_of(path);
    let raw = match path.to_str() {
        Some("-") => read_all(io::stdin().lock()),
        _ => File::open(path).and_then(read_all),
    };
    let raw = raw.with_context(|| format!("cannot read {name}"))?;
    match raw.starts_with(&[0x1f, 0x8b, 0x08]) {
        true => read_all(GzDecoder::new(&raw[..])).with_context(|| format!("cannot unpack {name}")),
        false => Ok(raw),
    }
}

fn read_all(source: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let length = source.take(MAX_BYTES + 1).read_to_end(&mut bytes)? as u64;
    if length > MAX_BYTES {
        return Err(io::Error::other("larger than 1 GiB: is this an instance?"));
    }
    Ok(bytes)
}
