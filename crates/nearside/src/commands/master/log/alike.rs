use std::collections::HashMap;
use std::time::{Duration, Instant};

/// Lines of each kind that are written in a second; more are counted.
const LINES_PER_SECOND: u32 = 20;

const SECOND: Duration = Duration::from_secs(1);

/// How many lines of each kind came lately.
#[derive(Debug, Default)]
pub(super) struct Alike {
    kinds: HashMap<&'static str, Kind>,
    total: u64,
}

#[derive(Debug)]
struct Kind {
    /// When the second began that `lines` counts.
    since: Instant,
    lines: u32,
    /// Not written and not told yet.
    more: u64,
}

impl Alike {
    /// Whether one more line of this kind may be written; it is counted otherwise.
    pub(super) fn may_write(&mut self, kind: &'static str, now: Instant) -> bool {
        let kind = self.kinds.entry(kind).or_insert(Kind {
            since: now,
            lines: 0,
            more: 0,
        });
        if now.saturating_duration_since(kind.since) >= SECOND {
            (kind.since, kind.lines) = (now, 0);
        }
        let may_write = kind.lines < LINES_PER_SECOND;
        kind.lines += u32::from(may_write);
        kind.more += u64::from(!may_write);
        self.total += u64::from(!may_write);
        may_write
    }

    /// Those that were only counted since the last call, by kind.
    pub(super) fn take(&mut self) -> Vec<(&'static str, u64)> {
        let kinds = self.kinds.iter_mut().filter(|(_, kind)| kind.more > 0);
        kinds
            .map(|(name, kind)| (*name, std::mem::take(&mut kind.more)))
            .collect()
    }

    /// All that were only counted.
    pub(super) const fn total(&self) -> u64 {
        self.total
    }
}
