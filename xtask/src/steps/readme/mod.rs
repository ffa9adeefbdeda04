//! Runs the commands that README.md shows, so that the first page never lies. Each line runs alone
//! in the repository root with the release binary first on PATH; nothing it starts outlives it.

mod script;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::foreign::search_path;
use crate::failure::Failure;
use crate::process;
use crate::report::Outcome;
use crate::workspace::Workspace;
use script::ShownCommand;

const FILE: &str = "README.md";

/// A first page that keeps its reader waiting longer than this has another problem.
const SECONDS: u32 = 120;

/// The exit code by which coreutils' `timeout` says that the time is up.
const TIMED_OUT: i32 = 124;

pub(crate) fn run(workspace: &Workspace) -> Result<Outcome, Failure> {
    if !workspace.path(FILE).is_file() {
        return Err(Failure::new(
            "README.md not found",
            "write it, with its commands",
        ));
    }
    let commands = script::commands(&workspace.read(FILE)?)?;
    if commands.is_empty() {
        return Err(Failure::new(
            "README.md shows no command",
            "put them into blocks marked ```console, on lines that begin with `$ `",
        ));
    }
    let folder = build(workspace)?;
    let log = scratch(workspace)?.join("readme.log");
    for command in &commands {
        println!("{FILE}:{} $ {}", command.line, command.text);
        execute(workspace, command, &folder, &log)?;
    }
    Ok(Outcome::passed(format!("{} commands", commands.len())))
}

/// Commands of the page may write into `target`, also where cargo's output was moved elsewhere.
fn scratch(workspace: &Workspace) -> Result<PathBuf, Failure> {
    let folder = workspace.path("target");
    match std::fs::create_dir_all(&folder) {
        Ok(()) => Ok(folder),
        Err(error) => Err(Failure::from_io("make the folder `target`", &error)),
    }
}

/// The folder with the release binary, which is what a user has.
pub(super) fn build(workspace: &Workspace) -> Result<PathBuf, Failure> {
    process::run(&mut workspace.cargo(["build", "--release", "--package", "nearside"]))?;
    Ok(workspace.target().join("release"))
}

fn execute(
    workspace: &Workspace,
    command: &ShownCommand,
    folder: &Path,
    log: &Path,
) -> Result<(), Failure> {
    let mut limited = workspace.command("timeout");
    limited.args([
        "--kill-after=5",
        &SECONDS.to_string(),
        "sh",
        "-eu",
        "-c",
        &command.text,
    ]);
    limited.env("PATH", search_path(&[folder.to_path_buf()]));
    let code = exit_code(&mut limited, log)
        .map_err(|error| Failure::from_io(format_args!("run `{}`", command.text), &error))?;
    if code == Some(command.expected) {
        return Ok(());
    }
    let said = std::fs::read(log).unwrap_or_default();
    let said = process::tail(&String::from_utf8_lossy(&said), 40);
    Err(Failure::new(
        format!(
            "{FILE}:{} `{}` {}\n{said}",
            command.line,
            command.text,
            ending(code, command)
        ),
        "make the command work, or say `# exits N` behind it",
    ))
}

/// Output goes to a file, not a pipe: a process left in the background cannot keep us waiting.
fn exit_code(command: &mut Command, log: &Path) -> io::Result<Option<i32>> {
    let log = File::create(log)?;
    command
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log);
    let mut child = command.spawn()?;
    let group = child.id();
    let status = child.wait()?;
    end_group(group);
    Ok(status.code())
}

/// `timeout` leads a process group of its own, named by its id: whatever is left in it ends here.
fn end_group(group: u32) {
    let script = format!("kill -s KILL -- -{group}");
    process::succeeds(Command::new("sh").args(["-c", &script]));
}

fn ending(code: Option<i32>, command: &ShownCommand) -> String {
    match code {
        Some(TIMED_OUT) => format!("took longer than {SECONDS} s"),
        Some(code) => format!("exits {code}, not {}", command.expected),
        None => "was killed by a signal".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn execute_line(line: &str) -> Result<(), Failure> {
        let commands = script::commands(&format!("```console\n$ {line}\n```\n"))?;
        let number = line.len();
        let log = std::env::temp_dir().join(format!("xtask-{}-{number}.log", std::process::id()));
        let result = execute(&Workspace::find(), &commands[0], Path::new("/ours"), &log);
        std::fs::remove_file(log).unwrap();
        result
    }

    #[test]
    fn a_command_must_exit_as_it_says() {
        assert_eq!(execute_line("true"), Ok(()));
        assert_eq!(execute_line("exit 3 # exits 3"), Ok(()));
        let failure = execute_line("echo too bad; false").unwrap_err().to_string();
        assert!(failure.contains("README.md:2"), "{failure}");
        assert!(failure.contains("exits 1, not 0\ntoo bad"), "{failure}");
    }

    #[test]
    fn unset_variables_and_missing_programs_fail() {
        assert!(execute_line("echo \"$NO_SUCH_VARIABLE_HERE\"").is_err());
        assert!(execute_line("no-such-program-here").is_err());
    }

    #[test]
    fn our_binary_is_found_first() {
        assert_eq!(
            execute_line("case \"$PATH\" in /ours:*) ;; *) exit 1 ;; esac"),
            Ok(())
        );
    }

    #[test]
    fn nothing_outlives_its_command() {
        let file = std::env::temp_dir().join(format!("xtask-{}-pid", std::process::id()));
        let line = format!("sleep 60 & echo $! > {}", file.display());
        assert_eq!(execute_line(&line), Ok(()));
        let pid = std::fs::read_to_string(&file).unwrap();
        std::fs::remove_file(&file).unwrap();
        // Gone, or a zombie that nobody has collected yet; the kernel may need a moment for it.
        let runs = format!("ps -o stat= -p {} | grep -qv Z", pid.trim());
        let runs = || process::succeeds(Command::new("sh").args(["-c", &runs]));
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
        while runs() {
            assert!(std::time::Instant::now() < deadline, "sleep still runs");
        }
    }
}
