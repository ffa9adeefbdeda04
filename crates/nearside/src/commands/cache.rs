//! `nearside cache`: what `browse` remembers, and how to forget it.

use std::io::Write;
use std::time::SystemTime;

use anyhow::{Context, Result};

use crate::cli::CacheArgs;
use crate::exit::{Exit, WorldFailure};
use crate::faces::numbers::{ago, bytes, count};
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
        let when = ago(last.age(now));
        return format!("{game}: {when}, which is too old, so it is not used · {size} · {path}");
    }
    let memory = &last.memory;
    let nearest = memory.best.first().map_or(String::new(), |best| {
        format!(" (the nearest {:.0} ms away)", best.rtt.as_millis_f64())
    });
    format!(
        "{game}: {} · {}{nearest} · {} · {size} · {path}",
        ago(last.age(now)),
        count(memory.best.len() as u64, "server"),
        count(memory.groups.len() as u64, "network"),
    )
}
