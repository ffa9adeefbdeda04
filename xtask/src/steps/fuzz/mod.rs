//! Ten seconds for every fuzz target: under libFuzzer where `cargo fuzz` and a nightly compiler are
//! at hand, else by its property-test twin, repeated with one seed after the other until the time is up.

mod pairs;
mod target;
mod twins;

use std::process::Command;

use crate::failure::Failure;
use crate::process;
use crate::report::Outcome;
use crate::workspace::Workspace;
use target::Target;

/// Long enough to get past the headers of every format, short enough for each change.
const SECONDS: u64 = 10;

pub(crate) fn run(workspace: &Workspace) -> Result<Outcome, Failure> {
    let targets = target::discover(workspace)?;
    let judge = match missing_fuzzer(workspace) {
        None => {
            under_libfuzzer(workspace, &targets)?;
            "under libFuzzer".to_owned()
        }
        Some(missing) => {
            twins::run(workspace, &targets)?;
            format!("by property-test twins, since {missing} is missing")
        }
    };
    let count = targets.len();
    Ok(Outcome::passed(format!(
        "{count} targets, {SECONDS} s each, {judge}"
    )))
}

/// What libFuzzer would need and is not here.
fn missing_fuzzer(workspace: &Workspace) -> Option<&'static str> {
    let knows = |arguments: &[&str]| process::succeeds(&mut nightly(workspace, arguments));
    match (knows(&["--version"]), knows(&["fuzz", "--version"])) {
        (false, _) => Some("a nightly toolchain"),
        (true, false) => Some("cargo-fuzz"),
        (true, true) => None,
    }
}

/// `+nightly` is understood by rustup's cargo only; any other says no and the twins take over.
fn nightly(workspace: &Workspace, arguments: &[&str]) -> Command {
    let mut command = workspace.cargo(["+nightly"]);
    command.args(arguments);
    command
}

fn under_libfuzzer(workspace: &Workspace, targets: &[Target]) -> Result<(), Failure> {
    process::run(&mut nightly(workspace, &["fuzz", "build"]))?;
    let time = format!("-max_total_time={SECONDS}");
    // An input that takes this long is a finding too.
    let hang = format!("-timeout={SECONDS}");
    let failures = pairs::two_at_a_time(targets, |target| {
        let arguments = ["fuzz", "run", &target.name, "--", &time, &hang];
        smoke(&mut nightly(workspace, &arguments), target)?;
        println!("{}: nothing found", target.name);
        Ok(())
    });
    verdict(
        &failures,
        "the input is in fuzz/artifacts; replay it with `cargo +nightly fuzz run`",
    )
}

/// One run of one target. What it said is long, and worth showing only when it fails.
fn smoke(command: &mut Command, target: &Target) -> Result<String, String> {
    let output = command
        .output()
        .map_err(|error| format!("{}: did not start: {error}", target.name))?;
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    if output.status.success() {
        return Ok(said);
    }
    // Property tests print one line for each byte of a failing input.
    let said = process::tail(&said, 400);
    Err(format!("{} found something:\n{said}", target.name))
}

fn verdict(failures: &[String], advice: &str) -> Result<(), Failure> {
    if failures.is_empty() {
        return Ok(());
    }
    Err(Failure::new(failures.join("\n\n"), advice))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some_target() -> Target {
        let text = "fuzz_target!(|bytes: &[u8]| nearside_wire::fuzzing::some(bytes));";
        Target::parse("some", text).unwrap()
    }

    #[test]
    fn a_target_that_fails_fails_the_step_with_its_last_words() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo panicked at byte 7 >&2; exit 77"]);
        let failure = smoke(&mut command, &some_target()).unwrap_err();
        assert_eq!(failure, "some found something:\npanicked at byte 7");
        assert!(verdict(&[failure], "look").is_err());
    }

    #[test]
    fn a_target_that_passes_says_nothing() {
        assert_eq!(
            smoke(&mut Command::new("true"), &some_target()),
            Ok(String::new())
        );
        assert_eq!(verdict(&[], "look"), Ok(()));
    }
}
