//! All tests of the workspace, then its doctests; hears which tests skipped themselves and why.

use super::foreign;
use crate::chance::Seed;
use crate::failure::Failure;
use crate::process::{self, Overheard};
use crate::report::{Outcome, Skip};
use crate::workspace::Workspace;

pub(crate) fn run(workspace: &Workspace) -> Result<Outcome, Failure> {
    // All failures in one run: the next round costs minutes.
    let tests = ["test", "--workspace", "--all-targets", "--no-fail-fast"];
    let doctests = ["test", "--workspace", "--doc", "--no-fail-fast"];
    let mut verdict = Verdict::default();
    let seed = Seed::find();
    println!("property tests draw from {seed}");
    for arguments in [&tests, &doctests[..]] {
        let mut command = workspace.cargo(arguments.iter().copied());
        seed.give(foreign::tell(&mut command, workspace));
        let heard = process::listen(&mut command)?;
        verdict.hear(&heard)?;
    }
    if verdict.passed == 0 {
        return Err(Failure::new(
            "no test ran",
            "look for a filter in the cargo configuration",
        ));
    }
    Ok(Outcome::Passed {
        remark: format!("{} tests, {seed}", verdict.passed),
        skips: verdict.skips,
    })
}

#[derive(Debug, Default)]
struct Verdict {
    passed: usize,
    skips: Vec<Skip>,
}

impl Verdict {
    fn hear(&mut self, heard: &Overheard) -> Result<(), Failure> {
        if !heard.success {
            return Err(failed_tests(heard));
        }
        self.passed += heard
            .stdout
            .iter()
            .filter_map(|line| passed(line))
            .sum::<usize>();
        self.skips
            .extend(heard.stdout.iter().filter_map(|line| ignored(line)));
        self.skips
            .extend(heard.stderr.iter().filter_map(|line| skipped(line)));
        Ok(())
    }
}

fn failed_tests(heard: &Overheard) -> Failure {
    let name = |line: &String| test_ending(line, "FAILED").map(|(name, _)| name.to_owned());
    let names: Vec<String> = heard.stdout.iter().filter_map(name).collect();
    if names.is_empty() {
        return Failure::new("the tests did not run to their end", "see the output above");
    }
    Failure::new(
        format!("{} tests failed:\n  {}", names.len(), names.join("\n  ")),
        "run one by itself with `cargo test -p CRATE NAME`",
    )
}

/// `test result: ok. 12 passed; 0 failed; …`.
fn passed(line: &str) -> Option<usize> {
    let counts = line.strip_prefix("test result: ok. ")?;
    counts.split_once(" passed")?.0.parse().ok()
}

/// `test name ... ignored, reason`, as the test harness prints it.
fn ignored(line: &str) -> Option<Skip> {
    let (name, rest) = test_ending(line, "ignored")?;
    let reason = rest.strip_prefix(", ").unwrap_or("marked #[ignore]");
    Some(Skip {
        name: name.to_owned(),
        reason: reason.to_owned(),
    })
}

/// `SKIPPED name: reason`, as our own tests write it when a foreign program is missing.
fn skipped(line: &str) -> Option<Skip> {
    let (name, reason) = line.strip_prefix("SKIPPED ")?.split_once(": ")?;
    Some(Skip {
        name: name.to_owned(),
        reason: reason.to_owned(),
    })
}

/// Name and remainder of `test NAME ... VERDICT<remainder>`.
fn test_ending<'a>(line: &'a str, verdict: &str) -> Option<(&'a str, &'a str)> {
    let (name, ending) = line.strip_prefix("test ")?.split_once(" ... ")?;
    Some((name, ending.strip_prefix(verdict)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(stdout: &[&str], stderr: &[&str], success: bool) -> Overheard {
        let owned = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect();
        Overheard {
            stdout: owned(stdout),
            stderr: owned(stderr),
            success,
        }
    }

    #[test]
    fn passes_of_all_binaries_are_added() {
        let mut verdict = Verdict::default();
        let line = "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out";
        verdict
            .hear(&heard(&[line, "test a ... ok", line], &[], true))
            .unwrap();
        assert_eq!(verdict.passed, 24);
        assert_eq!(verdict.skips, []);
    }

    #[test]
    fn a_test_that_skips_itself_is_named() {
        let mut verdict = Verdict::default();
        let line = "SKIPPED quakestat_reads_the_lab: quakestat is not installed";
        verdict
            .hear(&heard(&[], &["Compiling x", line], true))
            .unwrap();
        let [Skip { name, reason }] = &verdict.skips[..] else {
            panic!("{verdict:?}");
        };
        assert_eq!(name, "quakestat_reads_the_lab");
        assert_eq!(reason, "quakestat is not installed");
    }

    #[test]
    fn an_ignored_test_is_named_with_or_without_a_reason() {
        let slow = ignored("test slow ... ignored, takes an hour").unwrap();
        assert_eq!(
            (slow.name.as_str(), slow.reason.as_str()),
            ("slow", "takes an hour")
        );
        let silent = ignored("test src/lib.rs - a (line 3) ... ignored").unwrap();
        assert_eq!(silent.name, "src/lib.rs - a (line 3)");
        assert_eq!(silent.reason, "marked #[ignore]");
        assert_eq!(ignored("test fine ... ok"), None);
    }

    #[test]
    fn failed_tests_are_listed() {
        let heard = heard(&["test a ... ok", "test b::c ... FAILED"], &[], false);
        let failure = Verdict::default().hear(&heard).unwrap_err().to_string();
        assert!(
            failure.starts_with("1 tests failed:\n  b::c\n"),
            "{failure}"
        );
    }

    #[test]
    fn a_run_that_did_not_compile_fails_too() {
        assert!(
            Verdict::default()
                .hear(&heard(&[], &["error"], false))
                .is_err()
        );
    }
}
