//! What pages and admin requests ask of whoever runs the master: bans, sources and origins belong
//! to its configuration, which this crate does not read.

use nearside_registry::{Ban, BanTarget};
use serde::Serialize;
use thiserror::Error;

/// Who runs a master. Called from the web's threads; what takes long is called off the network's.
pub trait Operator: Send + Sync {
    /// All bans.
    fn bans(&self) -> Vec<BanEntry>;

    /// Adds a ban, or changes its reason.
    fn ban(&self, ban: Ban) -> Result<(), OperatorError>;

    /// Lifts a ban.
    fn unban(&self, target: BanTarget) -> Result<(), OperatorError>;

    /// The masters that are followed.
    fn sources(&self) -> Vec<SourceStatus>;

    /// Where origins come from.
    fn origins(&self) -> OriginStatus;

    /// Reads configuration and bans again; says what changed.
    fn reload(&self) -> Result<Vec<String>, OperatorError>;

    /// What became of the lines of the log.
    fn log(&self) -> LogStatus {
        LogStatus::default()
    }
}

/// What became of the lines of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LogStatus {
    /// Written.
    pub written: u64,
    /// Only counted, since many like them came in the same second.
    pub alike: u64,
    /// Lost, since nobody read the log.
    pub dropped: u64,
}

/// Why something was not done.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum OperatorError {
    /// There is no such thing.
    #[error("{0}")]
    NotThere(String),
    /// It is decided elsewhere.
    #[error("{0}")]
    Elsewhere(String),
    /// A file could not be read or written.
    #[error("{0}")]
    Failed(String),
}

/// A ban, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BanEntry {
    /// The ban.
    #[serde(flatten)]
    pub ban: Ban,
    /// Where.
    pub place: BanPlace,
}

/// Where a ban stands, and so who can lift it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BanPlace {
    /// In the configuration, which is edited by hand.
    Configuration,
    /// In the file of bans, which requests change.
    BanFile,
    /// In memory, until the master ends.
    Memory,
}

/// A master that is followed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SourceStatus {
    /// What the operator calls it.
    pub name: String,
    /// `steam`, `quake3`, `steam_web`, `nearside` or `json`.
    pub kind: String,
    /// Servers on its last list.
    pub servers: usize,
    /// Of those, listed here because of it.
    pub taken: usize,
    /// Seconds since its last good list.
    pub age_s: Option<u64>,
    /// What went wrong the last time, if it did.
    pub error: Option<String>,
}

/// Where origins come from.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct OriginStatus {
    /// The sources, the most trusted first.
    pub layers: Vec<OriginLayer>,
    /// What is to be said about them.
    pub notes: Vec<String>,
    /// The live feed, if there is one.
    pub feed: Option<FeedStatus>,
}

/// One source of origins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OriginLayer {
    /// Its name.
    pub label: String,
    /// How far it is trusted.
    pub source: String,
    /// How old it is.
    pub age_days: Option<u64>,
}

/// The live feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct FeedStatus {
    /// BGP neighbours.
    pub neighbours: usize,
    /// Of those, connected.
    pub up: usize,
    /// Seconds without any neighbour; missing if there never was one.
    pub age_s: Option<u64>,
    /// Ranges of IPv4.
    pub ranges_v4: usize,
    /// Ranges of IPv6.
    pub ranges_v6: usize,
    /// Tables published.
    pub publications: u64,
}
