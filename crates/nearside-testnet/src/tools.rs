//! Programs of the system that build the network: `ip`, `nft` and, for one call, `perl`.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::TestnetError;

/// Debian puts system tools where the PATH of an ordinary user does not look.
const MORE_FOLDERS: [&str; 2] = ["/usr/sbin", "/sbin"];

/// Where a program is, if it is anywhere.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    let usual = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&usual).chain(MORE_FOLDERS.map(PathBuf::from));
    folders
        .map(|folder| folder.join(program))
        .find(|path| path.is_file())
}

/// A command by its full path, so that it is also found behind `ip netns exec`.
pub(crate) fn command(program: &str) -> Command {
    Command::new(path(program))
}

/// The full path; the bare name where nobody has it, so that the error names it.
pub(crate) fn path(program: &str) -> PathBuf {
    find(program).unwrap_or_else(|| PathBuf::from(program))
}

/// Runs to the end and gives what was printed.
pub(crate) fn run(command: &mut Command) -> Result<String, TestnetError> {
    run_with(command, "")
}

/// Runs to the end with `input` on standard input.
pub(crate) fn run_with(command: &mut Command, input: &str) -> Result<String, TestnetError> {
    let program = format!("{command:?}");
    let failed = |source| TestnetError::Io {
        what: format!("run {program}"),
        source,
    };
    let pipes = [Stdio::piped(), Stdio::piped(), Stdio::piped()];
    let [stdin, stdout, stderr] = pipes;
    command.stdin(stdin).stdout(stdout).stderr(stderr);
    let mut child = command.spawn().map_err(failed)?;
    if let Some(mut stdin) = child.stdin.take() {
        // A program that ends early tells why by its exit code.
        let _closed = stdin.write_all(input.as_bytes());
    }
    let output = child.wait_with_output().map_err(failed)?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let words = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(TestnetError::Program { program, words })
}
