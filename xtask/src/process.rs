//! Four ways to run another program: loudly, for its output, as a question, and listening along.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use std::thread;

use crate::failure::Failure;

/// Runs a command whose output the reader sees; anything but exit code 0 is a failure.
pub(crate) fn run(command: &mut Command) -> Result<(), Failure> {
    println!("$ {}", line(command));
    let status = command
        .status()
        .map_err(|error| not_started(command, &error))?;
    if status.success() {
        return Ok(());
    }
    Err(ended_badly(command, &status, ""))
}

/// What a command prints on its standard output; its complaints belong to the failure.
pub(crate) fn output(command: &mut Command) -> Result<String, Failure> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| not_started(command, &error))?;
    if !output.status.success() {
        let complaint = String::from_utf8_lossy(&output.stderr);
        return Err(ended_badly(command, &output.status, complaint.trim_end()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Whether a command can be started and says yes. It says so in silence.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// What a command said while the reader saw it too.
#[derive(Debug, Default)]
pub(crate) struct Overheard {
    pub(crate) stdout: Vec<String>,
    pub(crate) stderr: Vec<String>,
    pub(crate) success: bool,
}

/// Runs a command loudly and remembers every line.
pub(crate) fn listen(command: &mut Command) -> Result<Overheard, Failure> {
    println!("$ {}", line(command));
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| not_started(command, &error))?;
    let stderr = child.stderr.take().expect("stderr is piped above");
    let stdout = child.stdout.take().expect("stdout is piped above");
    let errors = thread::spawn(move || repeat(stderr, |line| eprintln!("{line}")));
    let stdout = repeat(stdout, |line| println!("{line}"));
    let stderr = errors.join().expect("printing a line does not panic");
    let status = child.wait().map_err(|error| not_started(command, &error))?;
    Ok(Overheard {
        stdout,
        stderr,
        success: status.success(),
    })
}

fn repeat(stream: impl Read, mut print: impl FnMut(&str)) -> Vec<String> {
    let mut reader = BufReader::new(stream);
    let mut heard = Vec::new();
    let mut bytes = Vec::new();
    // Lines as bytes: a test may print anything, and a strict reader would stop at bad UTF-8.
    while reader
        .read_until(b'\n', &mut bytes)
        .is_ok_and(|read| read > 0)
    {
        let line = String::from_utf8_lossy(&bytes).trim_end().to_owned();
        print(&line);
        heard.push(line);
        bytes.clear();
    }
    heard
}

/// The last lines of a long text: where compilers, tests and fuzzers say what went wrong.
pub(crate) fn tail(text: &str, lines: usize) -> String {
    let all: Vec<&str> = text.lines().collect();
    all[all.len().saturating_sub(lines)..].join("\n")
}

/// The command as one would type it.
pub(crate) fn line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
    words.join(" ")
}

fn not_started(command: &Command, error: &std::io::Error) -> Failure {
    let program = command.get_program().to_string_lossy();
    Failure::new(
        format!("`{program}` did not start: {error}"),
        format!("install `{program}` or put it on PATH"),
    )
}

fn ended_badly(command: &Command, status: &std::process::ExitStatus, complaint: &str) -> Failure {
    Failure::new(
        format!("`{}` ended with {status}\n{complaint}", line(command)).trim_end(),
        "see its output above, or run the command by hand",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn a_failing_command_is_a_failure_that_names_it() {
        let failure = run(&mut shell("exit 3")).unwrap_err().to_string();
        assert!(failure.contains("sh -c exit 3"), "{failure}");
        assert!(failure.contains("exit status: 3"), "{failure}");
    }

    #[test]
    fn complaints_of_a_captured_command_are_kept() {
        let failure = output(&mut shell("echo oh no >&2; exit 1")).unwrap_err();
        assert!(failure.to_string().contains("oh no"), "{failure}");
    }

    #[test]
    fn a_missing_program_is_named() {
        let failure = output(&mut Command::new("no-such-program")).unwrap_err();
        assert!(failure.to_string().contains("install `no-such-program`"));
    }

    #[test]
    fn listening_keeps_both_streams_apart_and_survives_bad_text() {
        let heard = listen(&mut shell(r"printf 'a\n\377b\n'; echo c >&2; exit 1")).unwrap();
        assert_eq!(heard.stdout, ["a", "\u{FFFD}b"]);
        assert_eq!(heard.stderr, ["c"]);
        assert!(!heard.success);
    }

    #[test]
    fn the_tail_is_the_end() {
        assert_eq!(tail("a\nb\nc", 2), "b\nc");
        assert_eq!(tail("a", 2), "a");
    }
}
