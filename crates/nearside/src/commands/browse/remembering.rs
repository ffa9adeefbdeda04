//! What the last run left behind, and what this one leaves.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use nearside_discover::planner::{MemoryFate, PlannerKind, StopReason};
use nearside_discover::prober::Prober;
use nearside_discover::snapshot::Snapshot;

use crate::cli::BrowseArgs;
use crate::faces::numbers::ago;
use crate::memory::{Cache, LastRun};

/// The memory of one game.
pub(super) struct Remembering {
    /// `None` where nothing is to be remembered.
    cache: Option<Cache>,
    game: &'static str,
    /// What the last run left behind.
    pub(super) last: Option<LastRun>,
    /// Its file, if that makes no sense.
    broken: Option<PathBuf>,
    /// When this run began.
    began: SystemTime,
}

/// Answers that make a run worth remembering even if it was cut short.
const WORTH_KEEPING: usize = 50;

impl Remembering {
    /// The lab is another Internet with every seed: it is remembered only where the user says.
    /// Planners other than the adaptive one learn nothing that lasts.
    pub(super) fn of(args: &BrowseArgs) -> Self {
        let game = args.sources.game.name;
        let named = args.remembering.cache_dir.as_ref().map(Cache::at);
        let is_usual = !args.remembering.no_cache && args.sources.lab.is_none();
        let cache = named
            .or_else(|| is_usual.then(Cache::of_user).flatten())
            .filter(|_| args.planning.planner == PlannerKind::Adaptive);
        let began = SystemTime::now();
        let last = cache.as_ref().and_then(|cache| cache.recall(game, began));
        let broken = cache.as_ref().and_then(|cache| cache.broken(game));
        Self {
            cache,
            game,
            last,
            broken,
            began,
        }
    }

    /// How long ago the last run was, when this one began.
    pub(super) fn age(&self) -> Option<Duration> {
        self.last.as_ref().map(|last| last.age(self.began))
    }

    /// What to say of the part that the last run had in this one.
    pub(super) fn told(&self, fate: Option<MemoryFate>) -> Option<String> {
        let Some(age) = self.age() else {
            let broken = self.broken.as_ref()?.display();
            return Some(format!("{broken} cannot be used and was passed over"));
        };
        let when = ago(age);
        Some(match fate? {
            MemoryFate::Used => {
                format!("began with what the last run found, {when} (--no-cache begins afresh)")
            }
            MemoryFate::Dropped => format!(
                "what the last run found, {when}, was dropped: it was somewhere else, or routes have changed"
            ),
        })
    }

    /// Keeps what was learned; returns what to say if that fails. A run without answers, one that was
    /// cut short after a few, or that looked at a few servers only, is no reason to forget the last
    /// one; nor is one that left all but some countries or ASes out (`narrowed`).
    pub(super) fn keep(
        &self,
        prober: &Prober,
        snapshot: &Snapshot,
        narrowed: bool,
    ) -> Option<String> {
        let cache = self.cache.as_ref()?;
        let summary = &snapshot.summary;
        let own_end = matches!(
            summary.stopped,
            Some(StopReason::AutoStop | StopReason::Exhausted | StopReason::Expected)
        );
        let is_small = summary.answered < WORTH_KEEPING;
        let is_poor = is_small && (!own_end || self.last.is_some());
        if summary.answered == 0 || narrowed || is_poor {
            return None;
        }
        let last = LastRun::new(SystemTime::now(), &snapshot.servers, prober.memory());
        let error = cache.keep(self.game, &last).err()?;
        let folder = cache.folder().display();
        Some(format!(
            "this run will not be remembered in {folder}: {error}"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fate_of_a_memory_is_told_with_its_age() {
        let last = LastRun::new(SystemTime::UNIX_EPOCH, &[], Default::default());
        let remembering = Remembering {
            cache: None,
            game: "css",
            last: Some(last),
            broken: None,
            began: SystemTime::UNIX_EPOCH + Duration::from_secs(3 * 86_400),
        };
        let told = |fate| remembering.told(fate).unwrap_or_default();
        let used = told(Some(MemoryFate::Used));
        assert!(
            used.starts_with("began with what the last run found, 3 days ago"),
            "{used}"
        );
        let dropped = told(Some(MemoryFate::Dropped));
        assert!(dropped.contains("3 days ago, was dropped"), "{dropped}");
        assert_eq!(told(None), "");
        let broken = Remembering {
            last: None,
            broken: Some(PathBuf::from("cache/css.json")),
            ..remembering
        };
        let told = broken.told(None).unwrap_or_default();
        assert_eq!(told, "cache/css.json cannot be used and was passed over");
    }
}
