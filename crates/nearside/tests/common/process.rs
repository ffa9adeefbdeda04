//! Child processes that end with the test, and are waited for only so long.

use std::fmt;
use std::io::{Read, Write};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// The command under test, as a user would type it; but runs must not learn from each other, nor
/// from those of the user.
pub fn nearside<S: AsRef<str>>(arguments: &[S]) -> Program {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nearside"));
    command.args(arguments.iter().map(AsRef::as_ref));
    let has = |word: &str| arguments.iter().any(|argument| argument.as_ref() == word);
    if has("browse") && !has("--cache-dir") {
        command.arg("--no-cache");
    }
    Program(command)
}

/// A program that has not started yet.
pub struct Program(pub Command);

impl Program {
    /// Starts it with pipes on all three streams.
    pub fn start(mut self) -> Running {
        let piped = self.0.stdin(Stdio::piped());
        let piped = piped.stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = piped.spawn();
        Running {
            child: child.unwrap_or_else(|error| panic!("{:?}: {error}", self.0)),
            name: format!("{:?}", self.0),
        }
    }

    /// Runs it to its end, which must come within `most`.
    pub fn finish(self, stdin: &[u8], most: Duration) -> Finished {
        let mut running = self.start();
        // A child that refuses its arguments may never read: that is its right.
        let _ = running.child.stdin.take().unwrap().write_all(stdin);
        running.finish(most)
    }
}

/// A child that is ended and waited for when dropped.
pub struct Running {
    pub child: Child,
    name: String,
}

impl Running {
    /// Takes standard output, to be read while the child runs.
    pub fn stdout(&mut self) -> ChildStdout {
        self.child.stdout.take().expect("taken once")
    }

    /// What Ctrl-C sends.
    pub fn interrupt(&self) {
        kill_process(Pid::from_child(&self.child), Signal::INT).unwrap();
    }

    /// What asks a service to read its files again.
    pub fn hang_up(&self) {
        kill_process(Pid::from_child(&self.child), Signal::HUP).unwrap();
    }

    /// Allows it so many files and sockets from now on.
    #[cfg(target_os = "linux")]
    pub fn may_open(&self, files: u64) {
        use rustix::process::{Resource, Rlimit, prlimit};
        let limit = Rlimit {
            current: Some(files),
            maximum: Some(files),
        };
        prlimit(Some(Pid::from_child(&self.child)), Resource::Nofile, limit).unwrap();
    }

    /// Waits for the end, which must come within `most`, and collects what was not taken yet.
    pub fn finish(mut self, most: Duration) -> Finished {
        drop(self.child.stdin.take());
        let stdout = self.child.stdout.take().map(read_to_end);
        let stderr = self.child.stderr.take().map(read_to_end);
        let status = self.wait(most);
        let text = |reader: Option<JoinHandle<Vec<u8>>>| {
            let bytes = reader.map_or_else(Vec::new, |reader| reader.join().unwrap());
            String::from_utf8(bytes).expect("whatever servers send, our output is UTF-8")
        };
        Finished {
            name: self.name.clone(),
            code: status.code(),
            stdout: text(stdout),
            stderr: text(stderr),
        }
    }

    fn wait(&mut self, most: Duration) -> ExitStatus {
        let deadline = Instant::now() + most;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(
                Instant::now() < deadline,
                "not over in {most:?}: {}",
                self.name
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn read_to_end(mut from: impl Read + Send + 'static) -> JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = from.read_to_end(&mut bytes);
        bytes
    })
}

/// What a child left behind.
#[derive(Debug)]
pub struct Finished {
    name: String,
    /// `None` when a signal ended it.
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Finished {
    /// Insists on an exit code.
    #[track_caller]
    pub fn expect_code(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self}");
        self
    }

    /// Insists on words on standard error.
    #[track_caller]
    pub fn expect_stderr(self, words: &str) -> Self {
        assert!(
            self.stderr.contains(words),
            "no `{words}` on stderr: {self}"
        );
        self
    }
}

impl fmt::Display for Finished {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} ended with {:?}", self.name, self.code)?;
        writeln!(f, "--- stdout\n{}", self.stdout)?;
        write!(f, "--- stderr\n{}", self.stderr)
    }
}
