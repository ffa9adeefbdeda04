//! A `nearside master` of the test.

use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::Folder;
use crate::common::web::{ask, free_tcp_port, wait_for};

/// One front end; killed when dropped, as by the power cut.
pub(crate) struct FrontEnd {
    pub(crate) addr: SocketAddr,
    /// Where it tells its figures.
    admin: String,
    config: String,
    child: Child,
}

/// Settings that lift the caps, since all servers are on this machine.
pub(crate) fn settings(timeout_s: u64) -> String {
    format!(
        "[registry]
timeout_s = {timeout_s}
lan = true
uncapped = [\"127.0.0.0/8\"]
join_challenge_bytes_per_second = 1000000000
[origins]
folders = false
"
    )
}

impl FrontEnd {
    /// `top` is the part of the file before its first table: the store. A port that was free may be
    /// taken by the time it is used, above all by a connection to Redis: then others are tried.
    pub(crate) fn start(folder: &Folder, name: &str, top: &str, settings: &str) -> Self {
        let mut tries = 0..5;
        loop {
            assert!(
                tries.next().is_some(),
                "{name} ends as soon as it is started"
            );
            let mut front_end = Self::try_start(folder, name, top, settings);
            if front_end.is_up() {
                return front_end;
            }
        }
    }

    fn try_start(folder: &Folder, name: &str, top: &str, settings: &str) -> Self {
        let free = UdpSocket::bind("127.0.0.1:0").unwrap();
        let addr = free.local_addr().unwrap();
        drop(free);
        let admin = format!("127.0.0.1:{}", free_tcp_port());
        let token = folder.write("token", "a token that nobody needs here");
        let operator = format!("[admin]\nlisten = \"{admin}\"\ntoken_file = \"{token}\"");
        let text = format!("listen = [\"{addr}\"]\n{top}\n{settings}\n{operator}\n");
        let config = folder.write(&format!("{name}.toml"), text);
        let child = spawn(&config);
        Self {
            addr,
            admin,
            config,
            child,
        }
    }

    /// Waits until its operator's side is there; `false` if it ended instead.
    fn is_up(&mut self) -> bool {
        let limit = Instant::now() + Duration::from_secs(60);
        while TcpStream::connect(&self.admin).is_err() {
            assert!(Instant::now() < limit, "a front end does not come up");
            if self.child.try_wait().unwrap().is_some() {
                return false;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        self.child.try_wait().unwrap().is_none()
    }

    /// `kill -9`.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// With the same address and store.
    pub(crate) fn start_again(&mut self) {
        self.child = spawn(&self.config);
    }

    /// Waits until its store has all that it was told.
    pub(crate) fn wait_until_all_is_written(&self) {
        wait_for("a store that has written all", || {
            let metrics = ask(&self.admin, "GET", "/metrics", "", "");
            metrics.is_some_and(|(_, text)| text.contains("\nnearside_master_store_waiting 0\n"))
        });
    }

    /// How long its main thread has stood in line for a processor, which is no time of its own.
    pub(crate) fn stood_in_line(&self) -> Duration {
        let path = format!("/proc/{}/schedstat", self.child.id());
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let second = text.split_whitespace().nth(1);
        let nanoseconds = second.and_then(|word| word.parse().ok());
        Duration::from_nanos(nanoseconds.unwrap_or(0))
    }

    /// Resident memory in MiB.
    pub(crate) fn memory_mib(&self) -> f64 {
        let path = format!("/proc/{}/status", self.child.id());
        let status = std::fs::read_to_string(path).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
        kib.unwrap_or_default() / 1024.0
    }
}

impl Drop for FrontEnd {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _ended = self.child.wait();
    }
}

fn spawn(config: &str) -> Child {
    Command::new(env!("CARGO_BIN_EXE_nearside"))
        .args(["master", "--config", config])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        // 100,000 lines that nobody reads.
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}
