//! A service under test, ended when dropped.

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::common::process::{self, Finished, Running};
use super::common::{Folder, LONG};
use super::http::{self, Answer};

pub struct Server {
    pub addr: SocketAddr,
    running: Running,
    errors: std::thread::JoinHandle<()>,
}

/// Waits, but not for ever.
pub fn wait_for(what: &str, wanted: impl Fn() -> bool) {
    let deadline = Instant::now() + LONG;
    while !wanted() {
        assert!(Instant::now() < deadline, "no {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

impl Server {
    /// One that keeps nothing.
    pub fn start(flags: &[&str]) -> Self {
        Self::run(&[&["--in-memory"], flags].concat())
    }

    /// One that keeps its sessions in this folder.
    pub fn on_disk(folder: &Folder) -> Self {
        Self::run(&["--store", &folder.join("place.redb")])
    }

    /// One that keeps its sessions where it does unless told.
    pub fn at_home(home: &Path) -> Self {
        let mut program = process::nearside(&["place", "serve", "--listen", "127.0.0.1:0"]);
        program.0.env("HOME", home).env_remove("XDG_DATA_HOME");
        Self::of(program.start())
    }

    fn run(flags: &[&str]) -> Self {
        let all = [&["place", "serve", "--listen", "127.0.0.1:0"], flags].concat();
        Self::of(process::nearside(&all).start())
    }

    fn of(mut running: Running) -> Self {
        let mut errors = BufReader::new(running.child.stderr.take().unwrap());
        let mut line = String::new();
        errors.read_line(&mut line).unwrap();
        let addr = line.trim().strip_prefix("listening on http://");
        let addr = addr.unwrap_or_else(|| panic!("it said {line:?}"));
        Self {
            addr: addr.parse().unwrap(),
            running,
            errors: std::thread::spawn(move || {
                let _ = errors.read_to_end(&mut Vec::new());
            }),
        }
    }

    pub fn ask(&self, method: &str, path: &str, body: &str) -> Answer {
        let mut stream = http::connect(self.addr);
        http::send(&mut stream, method, path, "", body.as_bytes());
        http::receive(&mut stream)
    }

    pub fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, "")
    }

    pub fn post(&self, path: &str, body: &str) -> Answer {
        self.ask("POST", path, body)
    }

    /// Starts a session and returns its path.
    pub fn session(&self, setup: &str) -> String {
        let created = self.post("/v1/sessions", setup).expect(201);
        format!("/v1/sessions/{}", created.json()["id"].as_str().unwrap())
    }

    /// A figure of `/metrics`.
    pub fn metric(&self, name: &str) -> f64 {
        let text = self.get("/metrics").expect(200).body;
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix(&format!("nearside_place_{name} ")));
        line.unwrap_or_else(|| panic!("{name} is not in {text}"))
            .parse()
            .unwrap()
    }

    pub fn document(&self) -> Value {
        self.get("/openapi.json").expect(200).json()
    }

    /// The power is cut.
    pub fn kill(mut self) {
        self.running.child.kill().unwrap();
        self.running.child.wait().unwrap();
        self.errors.join().unwrap();
    }

    pub fn interrupt(self) -> Finished {
        self.running.interrupt();
        let finished = self.running.finish(LONG);
        self.errors.join().unwrap();
        finished
    }
}
