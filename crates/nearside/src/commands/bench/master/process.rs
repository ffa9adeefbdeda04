//! What is measured, a master or the echo: a child process, its processor time and its memory.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::echo::{self, Echo};
use crate::commands::bench::child::{free_address, processor_s, this_program};

/// Where the master keeps its servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keeping {
    Nothing,
    Embedded,
}

/// A process that answers; killed when dropped.
#[derive(Debug)]
pub(super) struct Measured {
    child: Child,
    pub(super) addr: SocketAddr,
}

impl Measured {
    pub(super) fn master(folder: &Path, keeping: Keeping) -> Result<Self> {
        let addr = free_address()?;
        let store = match keeping {
            Keeping::Nothing => "none",
            Keeping::Embedded => "bench.redb",
        };
        let _none_before = fs::remove_file(folder.join(store));
        let config = folder.join("master.toml");
        fs::write(&config, configuration(addr, store))?;
        let child = this_program()?
            .args(["master", "--config"])
            .arg(&config)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            // A line for each server that registers: written, as an operator's is, but kept nowhere.
            .stderr(Stdio::null())
            .spawn()
            .context("cannot start nearside master")?;
        let master = Self { child, addr };
        master.wait_until_it_answers(b"\xFF\xFF\xFF\xFFgetservers 71 empty full")?;
        Ok(master)
    }

    pub(super) fn echo(what: Echo) -> Result<Self> {
        let addr = free_address()?;
        let child = this_program()?
            .args(["bench", "master"])
            .env(echo::VARIABLE, what.told(addr))
            .stdin(Stdio::piped())
            .spawn()
            .context("cannot start the echo")?;
        let echo = Self { child, addr };
        echo.wait_until_it_answers(b"?")?;
        Ok(echo)
    }

    fn wait_until_it_answers(&self, knock: &[u8]) -> Result<()> {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        socket.set_read_timeout(Some(Duration::from_millis(50)))?;
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(20) {
            socket.send_to(knock, self.addr)?;
            if socket.recv(&mut [0; 2000]).is_ok() {
                return Ok(());
            }
        }
        bail!("nothing answers on {}", self.addr);
    }

    /// Of all its threads, in seconds.
    pub(super) fn cpu_s(&self) -> Result<f64> {
        processor_s(self.child.id())
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

impl Drop for Measured {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing to end.
        let _ended = self.child.kill();
        let _ended = self.child.wait();
    }
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
