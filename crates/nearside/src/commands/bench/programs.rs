//! The programs measured: how each is called, and how its result is read.

use std::net::SocketAddr;

use anyhow::{Context, Result};
use nearside_discover::snapshot::Snapshot;
use nearside_types::Rtt;
use serde::Serialize;

use super::child::CommandLine;
use super::lab::LIST;
use super::quakestat;

/// A program with its settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Program {
    NearsideUnlimited,
    #[serde(rename = "nearside-1000")]
    NearsidePaced,
    #[serde(rename = "nearside-5000")]
    NearsideFast,
    QuakestatDefault,
    QuakestatTuned,
}

/// One server that a program found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) server: SocketAddr,
    pub(super) rtt: Rtt,
    /// Further tries it took, where the program says so.
    pub(super) retries: Option<u32>,
}

/// Which of a server's replies a program's ping is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reports {
    /// The quickest, each timed from its own request.
    Lowest,
    /// One that the program does not tell; the most favourable is taken.
    SomeReply,
}

impl Program {
    pub(super) const NEARSIDE: [Self; 2] = [Self::NearsideUnlimited, Self::NearsidePaced];
    pub(super) const QUAKESTAT: [Self; 2] = [Self::QuakestatDefault, Self::QuakestatTuned];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::NearsideUnlimited => "nearside unlimited",
            Self::NearsidePaced => "nearside 1000/s",
            Self::NearsideFast => "nearside 5000/s",
            Self::QuakestatDefault => "quakestat default",
            Self::QuakestatTuned => "quakestat tuned",
        }
    }

    pub(super) fn command(self, seed: u64) -> Result<CommandLine> {
        match self {
            Self::NearsideUnlimited => browse("unlimited", seed),
            Self::NearsidePaced => browse("1000", seed),
            Self::NearsideFast => browse("5000", seed),
            Self::QuakestatDefault => Ok(quakestat::command("")),
            Self::QuakestatTuned => Ok(quakestat::command(quakestat::BEST_TUNING)),
        }
    }

    pub(super) const fn reports(self) -> Reports {
        match self {
            Self::NearsideUnlimited | Self::NearsidePaced | Self::NearsideFast => Reports::Lowest,
            Self::QuakestatDefault | Self::QuakestatTuned => Reports::SomeReply,
        }
    }

    /// The servers in what it printed.
    pub(super) fn read(self, output: &[u8]) -> Result<Vec<Finding>> {
        match self {
            Self::NearsideUnlimited | Self::NearsidePaced | Self::NearsideFast => snapshot(output),
            Self::QuakestatDefault | Self::QuakestatTuned => Ok(quakestat::read(output)),
        }
    }
}

/// List order and no auto-stop, as quakestat: the bench is about probing, not planning.
fn browse(pace: &str, seed: u64) -> Result<CommandLine> {
    CommandLine::nearside(&format!(
        "browse --file {LIST} --lan --planner conventional --pace {pace} --format json \
         --seed {seed} --quiet"
    ))
}

fn snapshot(output: &[u8]) -> Result<Vec<Finding>> {
    let snapshot: Snapshot = serde_json::from_slice(output).context("nearside's JSON")?;
    let found = snapshot.servers.into_iter().filter_map(|row| {
        Some(Finding {
            server: row.addr.socket(),
            rtt: Rtt::from_millis_f64(row.rtt_ms?),
            retries: None,
        })
    });
    Ok(found.collect())
}
