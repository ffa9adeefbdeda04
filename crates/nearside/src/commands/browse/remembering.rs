//! What the last run left behind, and what this one leaves.

use std::time::SystemTime;

use nearside_discover::planner::{PlannerKind, StopReason};
use nearside_discover::prober::Prober;
use nearside_discover::snapshot::Snapshot;

use crate::cli::BrowseArgs;
use crate::memory::{Cache, LastRun};

/// The memory of one game.
pub(super) struct Remembering {
    /// `None` where nothing is to be remembered.
    cache: Option<Cache>,
    game: &'static str,
    /// What the last run left behind.
    pub(super) last: Option<LastRun>,
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
        let last = cache
            .as_ref()
            .and_then(|cache| cache.recall(game, SystemTime::now()));
        Self { cache, game, last }
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
        Some(format!("this run will not be remembered: {error}"))
    }
}
