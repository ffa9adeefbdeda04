//! What the last run of a game left behind: first results for the screen while the list is still
//! on its way, and a head start for the planner. One JSON file for each game.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use nearside_discover::planner::Memory;
use nearside_discover::snapshot::Row;
use serde::{Deserialize, Serialize};

use crate::games::Game;
use crate::origins::folder_of;

/// Files of another version are forgotten, not converted: the next run writes a new one.
const VERSION: u32 = 2;

/// Older memories are left alone: servers move and routes change.
const OLDEST: Duration = Duration::from_secs(30 * 24 * 3600);

/// How far a clock may have been set back since.
const CLOCKS_DIFFER: Duration = Duration::from_secs(24 * 3600);

/// The last run of one game.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LastRun {
    version: u32,
    /// When it was, in seconds since 1970.
    saved_at: u64,
    /// The best servers as they were shown.
    pub rows: Vec<Row>,
    /// For the planner.
    pub memory: Memory,
}

impl LastRun {
    /// A run that ended at `now`; of `rows` those are kept that the next run asks first.
    pub fn new(now: SystemTime, rows: &[Row], memory: Memory) -> Self {
        let is_best = |row: &&Row| memory.best.iter().any(|best| best.addr == row.addr);
        Self {
            version: VERSION,
            saved_at: seconds(now),
            rows: rows.iter().filter(is_best).cloned().collect(),
            memory,
        }
    }

    /// Whether it is still used: not too old, and not from a time to come, of which nobody knows
    /// how long ago it was.
    pub fn is_fresh(&self, now: SystemTime) -> bool {
        self.age(now) <= OLDEST && !self.is_from_the_future(now)
    }

    /// Whether it says that it is yet to come.
    pub fn is_from_the_future(&self, now: SystemTime) -> bool {
        self.saved_at > seconds(now) + CLOCKS_DIFFER.as_secs()
    }

    /// How long ago it was; a clock that was set back makes it no younger than now.
    pub fn age(&self, now: SystemTime) -> Duration {
        Duration::from_secs(seconds(now).saturating_sub(self.saved_at))
    }
}

fn seconds(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

/// The folder of memories.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cache {
    folder: PathBuf,
}

/// A memory as it lies in its folder.
#[derive(Debug)]
pub struct Kept {
    /// The game it is of.
    pub game: String,
    /// Its file.
    pub path: PathBuf,
    /// The size of the file.
    pub bytes: u64,
    /// What it says; `None` if it cannot be read.
    pub last: Option<LastRun>,
}

impl Cache {
    /// A folder that the user named.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        let folder = folder.into();
        Self { folder }
    }

    /// `nearside/browse` below `$XDG_CACHE_HOME` or `~/.cache`; `None` without a home.
    pub fn of_user() -> Option<Self> {
        let caches = folder_of("XDG_CACHE_HOME", ".cache")?;
        Some(Self::at(caches.join("nearside").join("browse")))
    }

    /// The last run of a game, unless it is too old or makes no sense.
    pub fn recall(&self, game: &str, now: SystemTime) -> Option<LastRun> {
        read(&self.path(game)).filter(|last| last.is_fresh(now))
    }

    /// The file of a game, if there is one that makes no sense.
    pub fn broken(&self, game: &str) -> Option<PathBuf> {
        let path = self.path(game);
        (path.exists() && read(&path).is_none()).then_some(path)
    }

    /// Keeps a run in the place of the one before. Written beside it first: who is interrupted
    /// keeps the old one.
    pub fn keep(&self, game: &str, last: &LastRun) -> io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        let path = self.path(game);
        let unfinished = path.with_extension(format!("{}.tmp", std::process::id()));
        fs::write(&unfinished, serde_json::to_vec(last)?)?;
        fs::rename(&unfinished, &path)
    }

    /// Everything that is kept, by game.
    pub fn list(&self) -> io::Result<Vec<Kept>> {
        let entries = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut kept = Vec::new();
        for entry in entries {
            let path = entry?.path();
            // A link that leads nowhere is none of ours.
            if is_memory(&path) && path.exists() {
                kept.push(Kept::read(path)?);
            }
        }
        kept.sort_by(|a, b| a.game.cmp(&b.game));
        Ok(kept)
    }

    /// Removes what runs that were killed left half written.
    pub fn sweep(&self) -> io::Result<()> {
        for entry in fs::read_dir(&self.folder)? {
            let path = entry?.path();
            if is_unfinished(&path) {
                fs::remove_file(path)?;
            }
        }
        Ok(())
    }

    /// Where memories lie.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn path(&self, game: &str) -> PathBuf {
        self.folder.join(format!("{game}.json"))
    }
}

impl Kept {
    fn read(path: PathBuf) -> io::Result<Self> {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        Ok(Self {
            game: name.into_owned(),
            bytes: fs::metadata(&path)?.len(),
            last: read(&path),
            path,
        })
    }
}

/// Whether a file is named as ours are. Nobody wants others listed, and still less forgotten, in a
/// folder that holds other things too.
fn is_memory(path: &Path) -> bool {
    let is_json = path.extension().is_some_and(|ending| ending == "json");
    let name = path.file_stem().and_then(|stem| stem.to_str());
    is_json && name.is_some_and(|name| Game::find(name).is_some())
}

/// Whether a file is one that [`Cache::keep`] did not come to rename.
fn is_unfinished(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    let parts: Vec<&str> = name.unwrap_or_default().split('.').collect();
    matches!(parts[..], [game, process, "tmp"]
        if Game::find(game).is_some() && process.parse::<u32>().is_ok())
}

/// A file that is damaged, or of another version, is as good as none.
fn read(path: &Path) -> Option<LastRun> {
    let bytes = fs::read(path).ok()?;
    let last: LastRun = serde_json::from_slice(&bytes).ok()?;
    let has_sense = |row: &Row| row.rtt_ms.is_none_or(|ms| ms.is_finite() && ms >= 0.0);
    (last.version == VERSION && last.rows.iter().all(has_sense)).then_some(last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::faces::fixtures::four_rows;
    use nearside_discover::planner::{PlaceName, RememberedGroup, RememberedServer};
    use nearside_types::Rtt;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let name = format!("nearside-memory-{name}-{}", std::process::id());
            Self(std::env::temp_dir().join(name))
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn day(number: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(number * 24 * 3600)
    }

    fn last_run() -> LastRun {
        let rows = four_rows();
        let memory = Memory {
            best: vec![RememberedServer {
                addr: rows[0].addr,
                rtt: Rtt::from_micros(12_300),
            }],
            groups: vec![RememberedGroup {
                place: PlaceName::Region("9.0.0.0/8".parse().unwrap()),
                asn: None,
                answers: vec![(Rtt::from_micros(12_300), 1.5)],
            }],
        };
        LastRun::new(day(20_000), &rows, memory)
    }

    #[test]
    fn what_is_kept_comes_back_until_it_is_a_month_old() {
        let folder = Folder::new("back");
        let cache = Cache::at(&folder.0);
        assert_eq!(cache.recall("css", day(20_000)), None);
        let last = last_run();
        assert_eq!(last.rows, four_rows()[..1], "only what is asked first");
        cache.keep("css", &last).unwrap();
        assert_eq!(cache.recall("css", day(20_030)), Some(last));
        assert_eq!(cache.recall("css", day(20_031)), None);
        assert_eq!(
            cache.recall("css", day(19_998)),
            None,
            "from a time to come"
        );
        assert_eq!(cache.recall("et", day(20_000)), None);
        fs::write(folder.0.join("package.json"), "{}").unwrap();
        fs::write(folder.0.join("css.4711.tmp"), "{\"ver").unwrap();
        fs::write(folder.0.join("mine.tmp"), "").unwrap();
        let kept = cache.list().unwrap();
        assert_eq!(
            kept.len(),
            1,
            "nothing unfinished lies about, nothing of others is listed"
        );
        assert_eq!(kept[0].game, "css");
        cache.sweep().unwrap();
        assert!(!folder.0.join("css.4711.tmp").exists());
        assert!(folder.0.join("mine.tmp").exists(), "not ours");
    }

    #[test]
    fn a_damaged_file_is_as_good_as_none() {
        let folder = Folder::new("damaged");
        let cache = Cache::at(&folder.0);
        let last = last_run();
        cache.keep("css", &last).unwrap();
        let whole = fs::read_to_string(cache.path("css")).unwrap();
        let other_version = whole.replacen("\"version\":2", "\"version\":1", 1);
        let negative = whole.replacen("\"rtt_ms\":12.3", "\"rtt_ms\":-12.3", 1);
        assert_ne!(negative, whole);
        let half = &whole[..whole.len() / 2];
        for text in ["", "{}", half, &other_version, &negative] {
            fs::write(cache.path("css"), text).unwrap();
            assert_eq!(cache.recall("css", day(20_000)), None, "{text}");
            assert!(cache.list().unwrap()[0].last.is_none());
        }
    }
}
