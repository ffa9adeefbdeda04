//! The measured master: a child process, its processor time and its memory.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// Where the master keeps its servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keeping {
    Nothing,
    Embedded,
}

/// A master that serves; killed when dropped.
#[derive(Debug)]
pub(super) struct MasterProcess {
    child: Child,
    pub(super) addr: SocketAddr,
}

impl MasterProcess {
    pub(super) fn start(folder: &Path, keeping: Keeping) -> Result<Self> {
        let addr = free_address()?;
        let store = match keeping {
            Keeping::Nothing => "none",
            Keeping::Embedded => "bench.redb",
        };
        let _none_before = fs::remove_file(folder.join(store));
        let config = folder.join("master.toml");
        fs::write(&config, configuration(addr, store))?;
        let program = std::env::current_exe().context("cannot find the nearside that runs")?;
        let child = Command::new(program)
            .args(["master", "--config"])
            .arg(&config)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            // A line for each server that registers: written, as an operator's is, but kept nowhere.
            .stderr(Stdio::null())
            .spawn()
            .context("cannot start nearside master")?;
        let master = Self { child, addr };
        master.wait_until_it_answers()?;
        Ok(master)
    }

    fn wait_until_it_answers(&self) -> Result<()> {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        socket.set_read_timeout(Some(Duration::from_millis(50)))?;
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(20) {
            socket.send_to(b"\xFF\xFF\xFF\xFFgetservers 71 empty full", self.addr)?;
            if socket.recv(&mut [0; 2000]).is_ok() {
                return Ok(());
            }
        }
        bail!("nearside master does not answer on {}", self.addr);
    }

    /// Of all its threads, in seconds.
    pub(super) fn cpu_s(&self) -> Result<f64> {
        let tasks = format!("/proc/{}/task", self.child.id());
        let mut nanoseconds = 0;
        for task in fs::read_dir(&tasks).context("processor time is told by Linux only")? {
            let text = fs::read_to_string(task?.path().join("schedstat")).unwrap_or_default();
            let first = text.split_whitespace().next();
            nanoseconds += first.and_then(|word| word.parse::<u64>().ok()).unwrap_or(0);
        }
        Ok(nanoseconds as f64 / 1e9)
    }

    /// Resident memory, once nothing more changes.
    pub(super) fn memory_bytes(&self) -> Result<f64> {
        // The store's groups are half a second apart.
        std::thread::sleep(Duration::from_millis(1500));
        let path = format!("/proc/{}/status", self.child.id());
        let status = fs::read_to_string(path).context("memory is told by Linux only")?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
        Ok(kib.context("no VmRSS in the status of the master")? * 1024.0)
    }
}

impl Drop for MasterProcess {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing to end.
        let _ended = self.child.kill();
        let _ended = self.child.wait();
    }
}

pub(super) fn free_address() -> Result<SocketAddr> {
    Ok(UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?)
}

fn configuration(addr: SocketAddr, store: &str) -> String {
    format!(
        "listen = [\"{addr}\"]
store = \"{store}\"
[registry]
uncapped = [\"127.0.0.0/8\"]
join_challenge_bytes_per_second = 4000000000
lan = true
[origins]
folders = false
"
    )
}
