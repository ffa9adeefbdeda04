//! A `nearside lab` that runs as long as its guard lives.

use std::io::{BufRead, BufReader};
use std::sync::MutexGuard;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use super::process::{self, Running};
use super::{Folder, one_lab_at_a_time};

/// A lab, the list of its servers, and the right to be the only one.
pub struct Lab {
    running: Running,
    folder: Folder,
    /// All listed servers, in list order.
    pub servers: Vec<String>,
    /// How many of them answer.
    pub answering: usize,
    _alone: MutexGuard<'static, ()>,
}

/// How long another program may hold the masters' ports before we give up.
const PATIENCE: Duration = Duration::from_secs(60);

impl Lab {
    /// Starts a lab and waits until it is ready.
    pub fn start(arguments: &[&str]) -> Self {
        let alone = one_lab_at_a_time();
        let folder = Folder::new();
        let list = folder.join("servers.txt");
        let mut all = vec!["lab", "--write-list", &list];
        all.extend(arguments);
        let deadline = Instant::now() + PATIENCE;
        loop {
            let mut running = process::nearside(&all).start();
            let lines = lines_of(&mut running);
            if let Some(announced) = wait_until_ready(&lines) {
                return Self {
                    servers: addresses(&folder.join("servers.txt")),
                    answering: answering(&announced),
                    running,
                    folder,
                    _alone: alone,
                };
            }
            let ended = running.finish(Duration::from_secs(5)).expect_code(3);
            assert!(
                Instant::now() < deadline,
                "the lab's ports stay taken: {ended}"
            );
            std::thread::sleep(Duration::from_secs(1));
        }
    }

    /// The list file, in qstat's form.
    pub fn list(&self) -> String {
        self.folder.join("servers.txt")
    }

    /// Room for more files.
    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    /// Ends it by Ctrl-C.
    pub fn interrupt(self) -> process::Finished {
        self.running.interrupt();
        self.running.finish(Duration::from_secs(10))
    }
}

fn lines_of(running: &mut Running) -> Receiver<String> {
    let (sender, lines) = channel();
    let out = BufReader::new(running.stdout());
    std::thread::spawn(move || {
        for line in out.lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    lines
}

/// The lines before `ready`; `None` if the lab ended instead.
fn wait_until_ready(lines: &Receiver<String>) -> Option<Vec<String>> {
    let mut announced = Vec::new();
    while let Ok(line) = lines.recv_timeout(Duration::from_secs(30)) {
        if line == "ready" {
            return Some(announced);
        }
        announced.push(line);
    }
    None
}

fn addresses(list: &str) -> Vec<String> {
    let text = std::fs::read_to_string(list).unwrap();
    text.lines()
        .map(|line| line.split_once(' ').expect("type and address").1.to_owned())
        .collect()
}

/// From `lab: 318 servers listed, 300 of them answer, …`.
fn answering(announced: &[String]) -> usize {
    let (before, _) = announced[0].split_once(" of them answer").unwrap();
    before.rsplit(' ').next().unwrap().parse().unwrap()
}
