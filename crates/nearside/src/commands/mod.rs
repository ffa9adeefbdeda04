//! One module for each command: resolves its flags once, runs it, and says how it ended.

pub mod bench;
pub mod browse;
pub mod cache;
pub mod detour;
pub mod lab;
pub mod master;
pub mod origin;
pub mod place;
pub mod query;
pub mod replay;
pub mod sim;

use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use nearside_net::Stop;
use nearside_world::Fraction;
use nearside_world::farm::ChallengePolicy;

/// A seed from the user or from the system.
fn seed(given: Option<u64>) -> Result<u64> {
    match given {
        Some(seed) => Ok(seed),
        None => getrandom::u64().context("the system gives no random numbers; use --seed"),
    }
}

/// A second signal that comes sooner than this is no second Ctrl-C: `timeout -s INT` signals the
/// process and its group.
const ONE_PRESS: Duration = Duration::from_millis(500);

/// Ctrl-C ends the loop that waits with this; a second one ends the process.
fn stop_on_interrupt() -> Result<Stop> {
    let stop = Stop::new()?;
    let handle = stop.clone();
    let mut first: Option<Instant> = None;
    ctrlc::set_handler(move || match first {
        None => {
            first = Some(Instant::now());
            handle.stop();
        }
        Some(first) if first.elapsed() < ONE_PRESS => {}
        Some(_) => std::process::exit(i32::from(crate::exit::Exit::Interrupted.code())),
    })
    .context("cannot catch Ctrl-C")?;
    Ok(stop)
}

fn share(flag: &str, number: f64) -> Result<Fraction> {
    Fraction::try_from(number).with_context(|| format!("--{flag}"))
}

fn challenge_policy(flag: &str, text: &str) -> Result<ChallengePolicy> {
    Ok(match text {
        "never" => ChallengePolicy::Never,
        "classic" => ChallengePolicy::Classic,
        "always" => ChallengePolicy::Always,
        number => match number.parse::<u8>() {
            Ok(times) if times > 0 => ChallengePolicy::Repeated(times),
            _ => bail!("--{flag} {text}: write never, classic, always, or how often"),
        },
    })
}

fn create(path: &Path) -> Result<File> {
    File::create(path).with_context(|| format!("cannot write {}", path.display()))
}
