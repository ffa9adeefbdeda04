//! `nearside cache`: what `browse` remembers, and how to forget it.

use std::io::Write;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};

use crate::cli::CacheArgs;
use crate::exit::{Exit, WorldFailure};
use crate::faces::numbers::{bytes, count};
use crate::memory::{Cache, Kept};

/// Runs the command.
pub fn run(args: &CacheArgs) -> Result<Exit> {
    let cache = match &args.cache_dir {
        Some(folder) => Cache::at(folder),
        None => Cache::of_user()
            .context("neither HOME nor XDG_CACHE_HOME is set: name the folder with --cache-dir")?,
    };
    let mut kept = cache
        .list()
        .with_context(|| format!("cannot look into {}", cache.folder().display()))?;
    kept.retain(|kept| args.game.is_none_or(|game| game.name == kept.game));
    if args.clear && cache.folder().exists() {
        cache
            .sweep()
            .with_context(|| format!("cannot tidy {}", cache.folder().display()))?;
    }
    let mut out = std::io::stdout().lock();
    if kept.is_empty() {
        writeln!(out, "Nothing is remembered.")?;
        return Ok(Exit::Negative);
    }
    let now = SystemTime::now();
    for kept in &kept {
        if args.clear {
            forget(kept)?;
            writeln!(out, "{}: forgotten", kept.game)?;
        } else {
            writeln!(out, "{}", line(kept, now))?;
        }
    }
    Ok(Exit::Done)
}

fn forget(kept: &Kept) -> Result<()> {
    std::fs::remove_file(&kept.path).map_err(|error| {
        let path = kept.path.display();
        WorldFailure(format!("cannot remove {path}: {error}")).into()
    })
}

fn line(kept: &Kept, now: SystemTime) -> String {
    let Kept { game, path, .. } = kept;
    let (size, path) = (bytes(kept.bytes), path.display());
    let Some(last) = &kept.last else {
        return format!("{game}: cannot be read, so it is not used · {size} · {path}");
    };
    if last.is_from_the_future(now) {
        return format!("{game}: from a time to come, so it is not used · {size} · {path}");
    }
    if !last.is_fresh(now) {
        let when = age_words(last.age(now));
        return format!("{game}: {when}, which is too old, so it is not used · {size} · {path}");
    }
    let memory = &last.memory;
    let nearest = memory.best.first().map_or(String::new(), |best| {
        format!(" (the nearest {:.0} ms away)", best.rtt.as_millis_f64())
    });
    format!(
        "{game}: {} · {}{nearest} · {} · {size} · {path}",
        age_words(last.age(now)),
        count(memory.best.len() as u64, "server"),
        count(memory.groups.len() as u64, "network"),
    )
}

/// An age as one says it: `3 hours ago`.
pub(crate) fn age_words(age: Duration) -> String {
    let seconds = age.as_secs();
    let (number, unit) = match seconds {
        0..60 => return "just now".to_owned(),
        60..3_600 => (seconds / 60, "minute"),
        3_600..86_400 => (seconds / 3_600, "hour"),
        _ => (seconds / 86_400, "day"),
    };
    format!("{} ago", count(number, unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_told_in_one_unit() {
        let words = |seconds| age_words(Duration::from_secs(seconds));
        assert_eq!(words(59), "just now");
        assert_eq!(words(60), "1 minute ago");
        assert_eq!(words(7_199), "1 hour ago");
        assert_eq!(words(3 * 86_400 + 5), "3 days ago");
    }
}
