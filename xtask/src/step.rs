//! The steps of `cargo xtask test`, in the order they run: cheap complaints first.

use crate::failure::Failure;
use crate::process;
use crate::report::Outcome;
use crate::steps;
use crate::workspace::Workspace;

/// One thing that is checked, with a name the command line knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Step {
    Setup,
    Fmt,
    Clippy,
    Doc,
    Engines,
    Test,
    Fuzz,
    Readme,
    Drift,
    Words,
}

impl Step {
    pub(crate) const ALL: [Self; 10] = [
        Self::Setup,
        Self::Fmt,
        Self::Clippy,
        Self::Doc,
        Self::Engines,
        Self::Test,
        Self::Fuzz,
        Self::Readme,
        Self::Drift,
        Self::Words,
    ];

    /// What needs no foreign program and no long wait: the loop while writing code.
    pub(crate) const QUICK: [Self; 5] = [
        Self::Fmt,
        Self::Clippy,
        Self::Doc,
        Self::Engines,
        Self::Words,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Setup => "setup",
            Self::Fmt => "fmt",
            Self::Clippy => "clippy",
            Self::Doc => "doc",
            Self::Engines => "engines",
            Self::Test => "test",
            Self::Fuzz => "fuzz",
            Self::Readme => "readme",
            Self::Drift => "drift",
            Self::Words => "words",
        }
    }

    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|step| step.name() == name)
    }

    /// One line for the heading and the help.
    pub(crate) fn purpose(self) -> &'static str {
        match self {
            Self::Setup => "install the foreign programs that tests talk to",
            Self::Fmt => "the code is formatted",
            Self::Clippy => "no lint complains",
            Self::Doc => "the documentation builds without a warning",
            Self::Engines => "engines name no runtime, and crates depend downwards only",
            Self::Test => "all tests and doctests; benchmarks and examples compile",
            Self::Fuzz => "every fuzz target, or its property-test twin, for 10 s",
            Self::Readme => "the commands of README.md do what it says",
            Self::Drift => "the help texts in docs/cli are those of the binary",
            Self::Words => "no tracked file names a machine path or a registry host",
        }
    }

    pub(crate) fn run(self, workspace: &Workspace) -> Result<Outcome, Failure> {
        match self {
            Self::Setup => steps::setup::run(workspace),
            Self::Fmt => fmt(workspace),
            Self::Clippy => clippy(workspace),
            Self::Doc => doc(workspace),
            Self::Engines => steps::engines::run(workspace),
            Self::Test => steps::suite::run(workspace),
            Self::Fuzz => steps::fuzz::run(workspace),
            Self::Readme => steps::readme::run(workspace),
            Self::Drift => steps::drift::run(workspace),
            Self::Words => steps::words::run(workspace),
        }
    }
}

fn fmt(workspace: &Workspace) -> Result<Outcome, Failure> {
    process::run(&mut workspace.cargo(["fmt", "--all", "--check"]))
        .map_err(|_| Failure::new("the code is not formatted", "run `cargo fmt --all`"))?;
    Ok(Outcome::passed(""))
}

fn clippy(workspace: &Workspace) -> Result<Outcome, Failure> {
    let arguments = [
        "clippy",
        "--workspace",
        "--all-targets",
        "--",
        "-D",
        "warnings",
    ];
    process::run(&mut workspace.cargo(arguments))?;
    Ok(Outcome::passed(""))
}

fn doc(workspace: &Workspace) -> Result<Outcome, Failure> {
    let mut command = workspace.cargo(["doc", "--workspace", "--no-deps"]);
    process::run(command.env("RUSTDOCFLAGS", "-Dwarnings"))?;
    Ok(Outcome::passed(""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_is_found_by_its_name() {
        for step in Step::ALL {
            assert_eq!(Step::from_name(step.name()), Some(step));
        }
        assert_eq!(Step::from_name("tests"), None);
    }

    #[test]
    fn the_quick_steps_keep_the_order_of_all() {
        let quick: Vec<_> = Step::ALL
            .into_iter()
            .filter(|step| Step::QUICK.contains(step))
            .collect();
        assert_eq!(quick, Step::QUICK);
    }
}
