//! `nearside bench`: nearside beside other programs, in one run.

use anyhow::{Result, bail};

use crate::cli::BenchBrowseArgs;
use crate::exit::Exit;

/// Runs `nearside bench browse`.
pub fn run(_args: &BenchBrowseArgs) -> Result<Exit> {
    bail!("not built yet")
}
