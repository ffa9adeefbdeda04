//! The operator's desk: bans, settings and sources of a running master, changed by requests, by
//! SIGHUP and by files that change.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::SystemTime;

use anyhow::Result;
use nearside_master::upstream::Followers;
use nearside_master::{
    BanEntry, BanPlace, Command, LogStatus, Operator, OperatorError, OriginStatus, ServiceHandle,
    SourceStatus,
};
use nearside_registry::{Ban, BanTarget, Bans};

use super::ban_file;
use super::config::MasterConfig;
use super::log::Log;
use super::tables::Tables;
use crate::cli::MasterArgs;

/// Who runs the master.
pub(super) struct Desk {
    args: MasterArgs,
    handle: ServiceHandle,
    tables: Arc<Tables>,
    pub(super) log: Log,
    pub(super) followers: OnceLock<Followers>,
    papers: Mutex<Papers>,
}

/// What lies on it.
struct Papers {
    config: MasterConfig,
    /// Bans that requests made.
    made: Vec<Ban>,
    /// How the files looked when they were read.
    stamps: Stamps,
    changing: Changing,
}

/// How files looked the last time, if not as when they were read.
#[derive(Debug, Default)]
struct Changing(Option<Stamps>);

impl Changing {
    /// Whether files differ from what was read, and look the same as the last time.
    fn is_settled(&mut self, now: Stamps, read: &Stamps) -> bool {
        let changed = (now != *read).then_some(now);
        let is_settled = changed.is_some() && changed == self.0;
        self.0 = changed;
        is_settled
    }
}

type Stamps = BTreeMap<PathBuf, Option<Stamp>>;

type Stamp = (SystemTime, u64);

impl Desk {
    pub(super) fn new(
        args: &MasterArgs,
        config: MasterConfig,
        handle: ServiceHandle,
        tables: Arc<Tables>,
        log: Log,
    ) -> Result<Self> {
        let made = ban_file::read(config.ban_file.as_deref())?;
        let desk = Self {
            args: args.clone(),
            handle,
            tables,
            log,
            followers: OnceLock::new(),
            papers: Mutex::new(Papers {
                stamps: stamps(&config),
                config,
                made,
                changing: Changing::default(),
            }),
        };
        desk.tell_bans(&desk.papers());
        Ok(desk)
    }

    /// Reads the files again if one of them looks different, and the same at two looks: one that is
    /// being written is no file to believe. Gives what changed, or what is wrong.
    pub(super) fn look(&self) -> Option<Result<Vec<String>, OperatorError>> {
        let mut papers = self.papers();
        let now = stamps(&papers.config);
        let Papers {
            changing, stamps, ..
        } = &mut *papers;
        let is_settled = changing.is_settled(now, stamps);
        drop(papers);
        is_settled.then(|| self.reload())
    }

    fn papers(&self) -> MutexGuard<'_, Papers> {
        self.papers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell_bans(&self, papers: &Papers) {
        let bans = papers.made.iter().chain(papers.config.bans());
        let bans = Bans::new(bans.cloned());
        self.handle.tell(Command::SetBans(bans));
    }

    /// Changes the bans that requests make: first in the file, then in the engine.
    fn change(&self, papers: &mut Papers, made: Vec<Ban>) -> Result<(), OperatorError> {
        if let Some(path) = &papers.config.ban_file {
            ban_file::write(path, &made)
                .map_err(|error| OperatorError::Failed(format!("{error:#}; nothing changed")))?;
            papers.stamps = stamps(&papers.config);
        }
        papers.made = made;
        self.tell_bans(papers);
        Ok(())
    }

    fn read_again(&self, papers: &mut Papers) -> Result<Vec<String>> {
        // Also after a failure: one bad state of a file is told once.
        papers.stamps = stamps(&papers.config);
        let config = MasterConfig::resolve(&self.args)?;
        config.registry.check()?;
        let made = match config.ban_file.as_deref() {
            Some(path) => ban_file::read(Some(path))?,
            // They are nowhere else.
            None => papers.made.clone(),
        };
        let mut changes = Vec::new();
        let before = &papers.config;
        if config.registry != before.registry {
            changes.push("settings of the registry".to_owned());
            let settings = Box::new(config.registry.clone());
            self.handle.tell(Command::SetSettings(settings));
        }
        if made != papers.made || !config.bans().eq(before.bans()) {
            let count = made.len() + config.bans().count();
            changes.push(format!("bans: {count} now"));
        }
        let later = config.needs_restart(before);
        changes.extend(later.map(|what| format!("{what}: from the next start on")));
        // What needs a restart stays as it runs, so that it is told again next time.
        papers.config = before.with_changes_of(config);
        papers.made = made;
        papers.stamps = stamps(&papers.config);
        self.tell_bans(papers);
        Ok(changes)
    }
}

impl Papers {
    /// The bans of the file as it is now, with what somebody has written into it by hand since; a file
    /// that cannot be read is not written over.
    fn as_filed(&self) -> Result<Vec<Ban>, OperatorError> {
        let Some(path) = self.config.ban_file.as_deref() else {
            return Ok(self.made.clone());
        };
        let refuse = |error| OperatorError::Elsewhere(format!("{error:#}; mend that file first"));
        ban_file::read(Some(path)).map_err(refuse)
    }
}

impl Operator for Desk {
    fn bans(&self) -> Vec<BanEntry> {
        let papers = self.papers();
        let place = match papers.config.ban_file {
            Some(_) => BanPlace::BanFile,
            None => BanPlace::Memory,
        };
        let entry = |place| {
            move |ban: &Ban| BanEntry {
                ban: ban.clone(),
                place,
            }
        };
        let made = papers.made.iter().map(entry(place));
        let fixed = papers.config.bans().map(entry(BanPlace::Configuration));
        fixed.chain(made).collect()
    }

    fn ban(&self, ban: Ban) -> Result<(), OperatorError> {
        let mut papers = self.papers();
        if papers.config.bans().any(|fixed| fixed.target == ban.target) {
            let why = format!("{} is banned by the configuration already", ban.target);
            return Err(OperatorError::Elsewhere(why));
        }
        let mut made = papers.as_filed()?;
        made.retain(|made| made.target != ban.target);
        made.push(ban);
        self.change(&mut papers, made)
    }

    fn unban(&self, target: BanTarget) -> Result<(), OperatorError> {
        let mut papers = self.papers();
        if papers.config.bans().any(|fixed| fixed.target == target) {
            let why = format!("{target} is banned by the configuration: take it out there");
            return Err(OperatorError::Elsewhere(why));
        }
        let mut made = papers.as_filed()?;
        let before = made.len();
        made.retain(|made| made.target != target);
        if made.len() == before {
            return Err(OperatorError::NotThere(format!("{target} is not banned")));
        }
        self.change(&mut papers, made)
    }

    fn sources(&self) -> Vec<SourceStatus> {
        let followers = self.followers.get();
        followers.map(Followers::status).unwrap_or_default()
    }

    fn origins(&self) -> OriginStatus {
        self.tables.status()
    }

    fn reload(&self) -> Result<Vec<String>, OperatorError> {
        let read = self.read_again(&mut self.papers());
        read.map_err(|error| OperatorError::Failed(format!("{error:#}; all stays as it was")))
    }

    fn log(&self) -> LogStatus {
        self.log.status()
    }
}

fn stamps(config: &MasterConfig) -> Stamps {
    let files = config.file.iter().chain(&config.ban_file);
    files.map(|path| (path.clone(), stamp(path))).collect()
}

/// How a file looks; another look means that it has changed.
fn stamp(path: &Path) -> Option<Stamp> {
    let metadata = std::fs::metadata(path).ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_again_when_it_has_changed_and_is_no_longer_being_written() {
        let looks = |length: u64| -> Stamps {
            let stamp = (SystemTime::UNIX_EPOCH, length);
            BTreeMap::from([(PathBuf::from("bans.toml"), Some(stamp))])
        };
        let read = looks(5);
        let mut changing = Changing::default();
        let seen = [5, 0, 3, 9, 9].map(|length| changing.is_settled(looks(length), &read));
        assert_eq!(seen, [false, false, false, false, true]);
        assert!(!changing.is_settled(looks(5), &read), "as it was");
        assert!(!changing.is_settled(looks(9), &read), "one look is none");
    }
}
