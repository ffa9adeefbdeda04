//! Worlds and populations by the names and files the user gives.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use anyhow::{Context, Result};
use nearside_world::{Population, WorldParams};

/// The parameters of a generated world: `hub`, `great-circle`, or a file.
pub fn params(world: &str) -> Result<WorldParams> {
    if let Some(params) = WorldParams::named(world) {
        return Ok(params);
    }
    let text = std::fs::read_to_string(world)
        .with_context(|| format!("cannot read the world {world} (or write hub or great-circle)"))?;
    WorldParams::from_toml(&text).with_context(|| format!("in {world}"))
}

/// Reads a population file.
pub fn population(path: &Path) -> Result<Population> {
    let (label, file) = open("population", path)?;
    Ok(Population::read(&label, file)?)
}

/// Opens a file, with the label its errors name it by.
pub fn open(what: &str, path: &Path) -> Result<(String, BufReader<File>)> {
    let label = path.display().to_string();
    let file = File::open(path).with_context(|| format!("cannot open the {what} {label}"))?;
    Ok((label, BufReader::new(file)))
}
