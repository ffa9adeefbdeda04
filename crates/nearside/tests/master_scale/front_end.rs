//! A `nearside master` of the test.

use std::net::{SocketAddr, UdpSocket};
use std::process::{Child, Command, Stdio};

use crate::common::Folder;

/// One front end; killed when dropped, as by the power cut.
pub(crate) struct FrontEnd {
    pub(crate) addr: SocketAddr,
    config: String,
    child: Child,
}

/// Settings that lift the caps, since all servers are on this machine.
pub(crate) fn settings(timeout_s: u32) -> String {
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
    /// `top` is the part of the file before its first table: the store.
    pub(crate) fn start(folder: &Folder, name: &str, top: &str, settings: &str) -> Self {
        let free = UdpSocket::bind("127.0.0.1:0").unwrap();
        let addr = free.local_addr().unwrap();
        drop(free);
        let text = format!("listen = [\"{addr}\"]\n{top}\n{settings}");
        let config = folder.write(&format!("{name}.toml"), text);
        let child = spawn(&config);
        Self {
            addr,
            config,
            child,
        }
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
