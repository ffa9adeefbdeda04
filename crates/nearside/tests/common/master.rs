//! A `nearside master` that runs, and its log.

use std::io::{BufRead, BufReader};
use std::sync::mpsc::{Receiver, channel};
use std::time::Instant;

use super::LONG;
use super::process::{Program, Running};

/// A master whose log is read as it is written.
pub struct Master {
    pub running: Running,
    lines: Receiver<String>,
}

impl Master {
    /// Starts it and waits until it listens.
    pub fn start(program: Program) -> Self {
        let mut running = program.start();
        let stderr = running.child.stderr.take().expect("taken once");
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                let _gone = sender.send(line);
            }
        });
        let master = Self { running, lines };
        master.wait_for("listening on");
        master
    }

    /// The next line of its log with these words.
    pub fn wait_for(&self, words: &str) -> String {
        let deadline = Instant::now() + LONG;
        let mut seen = String::new();
        while let Ok(line) = self.lines.recv_timeout(deadline - Instant::now()) {
            if line.contains(words) {
                return line;
            }
            seen += &format!("{line}\n");
        }
        panic!("no `{words}` in its log:\n{seen}");
    }
}
