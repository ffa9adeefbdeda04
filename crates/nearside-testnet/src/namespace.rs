//! A named network namespace that is gone, with all processes in it, when its owner is.

use std::fs::{self, File};
use std::os::fd::AsFd as _;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::{panic, process, thread};

use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::{TestnetError, tools};

/// Where `ip netns` keeps names.
const FOLDER: &str = "/run/netns";
/// What our names begin with; the id of the process that owns them follows.
const PREFIX: &str = "nearside-";

/// Names begin with [`Prefix::text`], so that tests and processes do not meet.
#[derive(Debug, Clone)]
pub(crate) struct Prefix {
    pub(crate) text: String,
}

impl Prefix {
    /// One that nobody else in this or another process has.
    pub(crate) fn unique() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let serial = NEXT.fetch_add(1, Ordering::Relaxed);
        let text = format!("{PREFIX}{}-{serial}-", process::id());
        Self { text }
    }
}

#[derive(Debug)]
pub(crate) struct Namespace {
    name: String,
    handle: File,
}

impl Namespace {
    pub(crate) fn create(name: String) -> Result<Self, TestnetError> {
        tools::run(tools::command("ip").args(["netns", "add", &name]))?;
        let open = File::open(Path::new(FOLDER).join(&name));
        match open {
            Ok(handle) => Ok(Self { name, handle }),
            Err(source) => {
                remove(&name);
                let what = format!("open the namespace {name}");
                Err(TestnetError::Io { what, source })
            }
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Lines for `ip -batch`, run inside.
    pub(crate) fn configure(&self, lines: &str) -> Result<(), TestnetError> {
        let mut ip = tools::command("ip");
        ip.args(["-n", &self.name, "-batch", "-"]);
        tools::run_with(&mut ip, lines).map(drop)
    }

    /// A script for `nft`, taken as a whole or not at all.
    pub(crate) fn filter(&self, script: &str) -> Result<(), TestnetError> {
        let mut nft = self.command(tools::path("nft"));
        tools::run_with(nft.args(["-f", "-"]), script).map(drop)
    }

    /// Settings below `/proc/sys/net`, which shows each thread those of its own namespace.
    pub(crate) fn set(&self, setting: &str, value: &str) -> Result<(), TestnetError> {
        let file = format!("/proc/sys/net/{setting}");
        self.inside(|| fs::write(&file, value))?
            .map_err(TestnetError::io(format!("write {file}")))
    }

    pub(crate) fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = tools::command("ip");
        command.args(["netns", "exec", &self.name]).arg(program);
        command
    }

    /// Runs `work` on a thread of its own inside. A panic goes on in the caller.
    pub(crate) fn inside<T: Send>(
        &self,
        work: impl FnOnce() -> T + Send,
    ) -> Result<T, TestnetError> {
        let enter = || {
            let network = Some(LinkNameSpaceType::Network);
            move_into_link_name_space(self.handle.as_fd(), network)?;
            Ok::<T, rustix::io::Errno>(work())
        };
        let result = thread::scope(|scope| scope.spawn(enter).join());
        result
            .unwrap_or_else(|cause| panic::resume_unwind(cause))
            .map_err(TestnetError::io(format!("enter {}", self.name)))
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        remove(&self.name);
    }
}

/// Removes what processes left that were killed before they could tidy up.
pub(crate) fn remove_leftovers() {
    let Ok(entries) = fs::read_dir(FOLDER) else {
        return;
    };
    let names = entries
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok());
    for name in names.filter(|name| owner(name).is_some_and(is_dead)) {
        remove(&name);
    }
}

/// The process that made a namespace of this name, if one of ours did.
fn owner(name: &str) -> Option<u32> {
    let (pid, _) = name.strip_prefix(PREFIX)?.split_once('-')?;
    pid.parse().ok()
}

fn is_dead(pid: u32) -> bool {
    !Path::new(&format!("/proc/{pid}")).exists()
}

/// Best effort: somebody else may be removing the same leftover.
fn remove(name: &str) {
    let pids = tools::run(tools::command("ip").args(["netns", "pids", name]));
    let pids = pids.unwrap_or_default();
    let numbers = pids.lines().filter_map(|line| line.trim().parse().ok());
    for pid in numbers.filter(|pid| *pid != process::id() as i32) {
        if let Some(pid) = Pid::from_raw(pid) {
            let _ended = kill_process(pid, Signal::KILL);
        }
    }
    let _removed = tools::run(tools::command("ip").args(["netns", "delete", name]));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_its_owner() {
        let prefix = Prefix::unique();
        assert_eq!(owner(&format!("{}alice", prefix.text)), Some(process::id()));
        assert_eq!(owner("nearside-x-alice"), None);
        assert_eq!(owner("somebody-12-alice"), None);
        assert!(!is_dead(process::id()));
    }
}
