//! The property tests that call the same bodies as the fuzz targets. They are found in the crate's
//! `tests/` by that call, built once, and run again and again for the time a target gets.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use super::target::{Target, is_word};
use super::{SECONDS, pairs, smoke, verdict};
use crate::chance::Seed;
use crate::failure::Failure;
use crate::process;
use crate::workspace::{Workspace, stem, with_extension};

/// The tests of one file that call a target's body.
#[derive(Debug, PartialEq, Eq)]
struct Twin {
    target: Target,
    binary: PathBuf,
    tests: Vec<String>,
}

pub(super) fn run(workspace: &Workspace, targets: &[Target]) -> Result<(), Failure> {
    let mut twins = Vec::new();
    for target in targets {
        twins.extend(find(workspace, target)?);
    }
    let failures = pairs::two_at_a_time(&twins, |twin| twin.run(workspace));
    verdict(
        &failures,
        "the failing input is printed above; make it a test of its own",
    )
}

impl Twin {
    /// Each round draws new random inputs; the last one may run over the time by its own length.
    fn run(&self, workspace: &Workspace) -> Result<(), String> {
        let started = Instant::now();
        let mut rounds = 0;
        while started.elapsed() < Duration::from_secs(SECONDS) {
            let seed = Seed::find().of_round(rounds);
            let said = smoke(seed.give(&mut self.command(workspace)), &self.target)
                .map_err(|failure| format!("with {seed}, {failure}"))?;
            self.check_that_all_ran(&said)?;
            rounds += 1;
        }
        println!(
            "{}: {rounds} rounds of {}",
            self.target.name,
            self.tests.join(", ")
        );
        Ok(())
    }

    /// A test binary is content with a filter that matches nothing; we are not.
    fn check_that_all_ran(&self, said: &str) -> Result<(), String> {
        let count = self.tests.len();
        if said.contains(&format!("test result: ok. {count} passed;")) {
            return Ok(());
        }
        let tests = self.tests.join(", ");
        let name = &self.target.name;
        Err(format!(
            "{name}: not all twins ran; are they top-level tests? {tests}"
        ))
    }

    /// Tests run in their package's folder, as under cargo.
    fn command(&self, workspace: &Workspace) -> Command {
        let folder = workspace.path("crates").join(&self.target.krate);
        let mut command = Command::new(&self.binary);
        command
            .current_dir(folder)
            .args(["--exact", "--test-threads", "1"]);
        // The failing input tells more than the way to it, and would drown in it.
        command.args(&self.tests).env("RUST_BACKTRACE", "0");
        command
    }
}

/// All twins of a target; a target without one would go unchecked, so that is a failure.
fn find(workspace: &Workspace, target: &Target) -> Result<Vec<Twin>, Failure> {
    let folder = format!("crates/{}/tests", target.krate);
    let mut twins = Vec::new();
    for file in with_extension(workspace.files(&folder)?, "rs") {
        let tests = callers(&workspace.read(&file)?, &target.function);
        if tests.is_empty() {
            continue;
        }
        twins.push(Twin {
            target: target.clone(),
            binary: build(workspace, &target.krate, &file)?,
            tests,
        });
    }
    if twins.is_empty() {
        return Err(Failure::new(
            format!("the fuzz target {} has no property-test twin", target.name),
            format!(
                "call `fuzzing::{}` from a property test in {folder}",
                target.function
            ),
        ));
    }
    Ok(twins)
}

/// The functions that call `fuzzing::<body>`, in the order of the file. Each call belongs to the
/// last `fn` above it, which is good enough for tests and needs no parser.
fn callers(text: &str, body: &str) -> Vec<String> {
    let call = format!("fuzzing::{body}(");
    let mut current = "";
    let mut found: Vec<String> = Vec::new();
    for line in text.lines().map(str::trim_start) {
        if let Some(rest) = line.strip_prefix("fn ") {
            current = rest.split(|c| !is_word(c)).next().unwrap_or_default();
        }
        if line.contains(&call) && found.last().is_none_or(|last| last != current) {
            found.push(current.to_owned());
        }
    }
    found
}

/// Builds a test file and says where its program is.
fn build(workspace: &Workspace, krate: &str, file: &Path) -> Result<PathBuf, Failure> {
    let name = stem(file);
    let arguments = ["test", "--package", krate, "--test", &name, "--no-run"];
    let mut cargo = workspace.cargo(arguments);
    let messages = process::output(cargo.arg("--message-format=json-render-diagnostics"))?;
    executable(&messages).ok_or_else(|| {
        Failure::new(
            format!("cargo names no program for the test {name} of {krate}"),
            "run `cargo test --no-run` by hand",
        )
    })
}

/// Cargo's message about the test's program is one line of JSON; its path is all that matters here.
fn executable(messages: &str) -> Option<PathBuf> {
    let test = messages
        .lines()
        .find(|line| line.contains(r#""kind":["test"]"#))?;
    let (_, path) = test.split_once(r#""executable":""#)?;
    Some(PathBuf::from(path.split_once('"')?.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TESTS: &str = "
fn helper() {}
proptest! {
    #[test]
    fn replies_are_read(bytes in any()) {
        fuzzing::reply(&bytes);
        fuzzing::reply(&bytes[1..]);
    }
    #[test]
    fn requests_are_read(
        bytes in any()
    ) {
        fuzzing::request(&bytes);
    }
    #[test]
    fn lines_are_read(text in any()) {
        fuzzing::reply(&text);
    }
}
";

    #[test]
    fn twins_are_the_tests_that_call_the_body() {
        assert_eq!(
            callers(TESTS, "reply"),
            ["replies_are_read", "lines_are_read"]
        );
        assert_eq!(callers(TESTS, "request"), ["requests_are_read"]);
        assert!(callers(TESTS, "rep").is_empty());
    }

    #[test]
    fn the_program_of_a_test_is_read_from_cargos_messages() {
        let messages = concat!(
            r#"{"reason":"compiler-artifact","target":{"kind":["lib"]},"executable":null}"#,
            "\n",
            r#"{"reason":"compiler-artifact","target":{"kind":["test"]},"executable":"/t/x-1"}"#,
        );
        assert_eq!(executable(messages), Some(PathBuf::from("/t/x-1")));
        assert_eq!(executable("{}"), None);
    }

    fn orphan() -> Target {
        let text = "fuzz_target!(|b: &[u8]| nearside_wire::fuzzing::no_such_body(b));";
        Target::parse("orphan", text).unwrap()
    }

    #[test]
    fn twins_that_did_not_all_run_are_a_failure() {
        let twin = Twin {
            target: orphan(),
            binary: PathBuf::new(),
            tests: vec!["one".to_owned(), "two".to_owned()],
        };
        let ran = |said| twin.check_that_all_ran(said).is_ok();
        assert!(ran("test result: ok. 2 passed; 0 failed;"));
        assert!(!ran("test result: ok. 0 passed; 0 failed;"));
        assert!(!ran("test result: ok. 12 passed; 0 failed;"));
    }

    #[test]
    fn a_target_without_a_twin_is_a_failure() {
        let failure = find(&Workspace::find(), &orphan()).unwrap_err().to_string();
        assert!(
            failure.contains("orphan has no property-test twin"),
            "{failure}"
        );
    }
}
