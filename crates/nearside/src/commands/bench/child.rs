//! Children of the bench: started in its folder, watched until they end, killed if the bench leaves
//! first.

use std::fmt;
use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use nearside_net::Stop;

use crate::exit::WorldFailure;

/// A folder for lists, populations and truths, removed with all it holds when dropped.
#[derive(Debug)]
pub(super) struct Folder(PathBuf);

impl Folder {
    pub(super) fn create() -> Result<Self> {
        let name = format!("nearside-bench-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir(&path).with_context(|| format!("cannot make {}", path.display()))?;
        Ok(Self(path))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Nothing can be done about a file that stays, and nothing depends on it.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// What is run, and how it is shown: files are named relative to the bench's folder.
#[derive(Debug, Clone)]
pub(super) struct CommandLine {
    pub(super) program: PathBuf,
    pub(super) name: &'static str,
    pub(super) args: Vec<String>,
}

impl CommandLine {
    /// Words separated by spaces, which none of ours contains.
    pub(super) fn new(program: PathBuf, name: &'static str, args: &str) -> Self {
        Self {
            program,
            name,
            args: args.split_whitespace().map(str::to_owned).collect(),
        }
    }

    /// This very program.
    pub(super) fn nearside(args: &str) -> Result<Self> {
        let program = std::env::current_exe().context("cannot find the nearside that runs")?;
        Ok(Self::new(program, "nearside", args))
    }
}

impl fmt::Display for CommandLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, self.args.join(" "))
    }
}

/// This program, to be started with other arguments.
pub(super) fn this_program() -> Result<Command> {
    let program = std::env::current_exe().context("cannot find the nearside that runs")?;
    Ok(Command::new(program))
}

/// An address that was free a moment ago.
pub(super) fn free_address() -> Result<SocketAddr> {
    Ok(UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?)
}

/// Processor time of all threads of a process, in seconds, as the scheduler counts it.
pub(super) fn processor_s(pid: u32) -> Result<f64> {
    let tasks = format!("/proc/{pid}/task");
    let mut nanoseconds = 0;
    for task in std::fs::read_dir(&tasks).context("it has ended, or this is not Linux")? {
        let text = std::fs::read_to_string(task?.path().join("schedstat")).unwrap_or_default();
        let first = text.split_whitespace().next();
        nanoseconds += first.and_then(|word| word.parse::<u64>().ok()).unwrap_or(0);
    }
    Ok(nanoseconds as f64 / 1e9)
}

/// A child that lives; dropped, it is killed.
#[derive(Debug)]
pub(super) struct Running {
    child: Child,
    name: &'static str,
    complaints: PathBuf,
    started: Instant,
}

/// What a child took, from its start to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Account {
    pub(super) wall: Duration,
    /// User and system time; only Linux tells.
    pub(super) cpu: Option<Duration>,
    /// Most memory resident at a time; only Linux tells.
    pub(super) peak_memory_kib: Option<u64>,
}

/// Between looks at a child: fine enough for a run of half a second, and some 1 % of a core.
const LOOK_EVERY: Duration = Duration::from_millis(2);

impl Running {
    pub(super) fn start(
        command: &CommandLine,
        folder: &Path,
        stdout: impl Into<Stdio>,
    ) -> Result<Self> {
        let complaints = folder.join(format!("{}.stderr", command.name));
        let stderr = File::create(&complaints)
            .with_context(|| format!("cannot write {}", complaints.display()))?;
        let started = Instant::now();
        let child = Command::new(&command.program)
            .args(&command.args)
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(stdout)
            .stderr(stderr)
            .spawn()
            .with_context(|| format!("cannot start {}", command.program.display()))?;
        Ok(Self {
            child,
            name: command.name,
            complaints,
            started,
        })
    }

    /// Its standard output, if it was piped and not taken yet.
    pub(super) fn take_stdout(&mut self) -> Option<std::process::ChildStdout> {
        self.child.stdout.take()
    }

    /// Waits for the end and says what it took.
    pub(super) fn watch(mut self, stop: &Stop) -> Result<Account> {
        let pid = self.child.id();
        let mut peak_memory_kib = None;
        while !has_ended(&mut self.child)? {
            if stop.is_stopped() {
                bail!("interrupted");
            }
            // The peak only grows, so the last look before the end is the one that counts.
            peak_memory_kib = peak_memory_kib.max(usage::peak_memory_kib(pid));
            std::thread::sleep(LOOK_EVERY);
        }
        let wall = self.started.elapsed();
        let cpu = usage::cpu_time(pid);
        let status = self.child.wait()?;
        self.check(status)?;
        Ok(Account {
            wall,
            cpu,
            peak_memory_kib,
        })
    }

    /// Asks it to end as Ctrl-C would, which lets it write its logs.
    pub(super) fn interrupt(&mut self) -> io::Result<()> {
        interrupt(&mut self.child)
    }

    /// What it said on standard error so far.
    pub(super) fn complaint(&self) -> String {
        let said = std::fs::read_to_string(&self.complaints).unwrap_or_default();
        said.trim().to_owned()
    }

    fn check(&self, status: ExitStatus) -> Result<(), WorldFailure> {
        if status.success() {
            return Ok(());
        }
        let (name, said) = (self.name, self.complaint());
        Err(WorldFailure(format!("{name} failed ({status}): {said}")))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Both fail only if it has ended and was waited for already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(unix)]
fn interrupt(child: &mut Child) -> io::Result<()> {
    use rustix::process::{Pid, Signal, kill_process};
    Ok(kill_process(Pid::from_child(child), Signal::INT)?)
}

#[cfg(not(unix))]
fn interrupt(child: &mut Child) -> io::Result<()> {
    child.kill()
}

/// Whether it has ended. It is left waiting to be waited for, since its CPU time is in `/proc` only
/// until then.
#[cfg(target_os = "linux")]
fn has_ended(child: &mut Child) -> io::Result<bool> {
    use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    let ended = waitid(WaitId::Pid(Pid::from_child(child)), options)?;
    Ok(ended.is_some())
}

#[cfg(not(target_os = "linux"))]
fn has_ended(child: &mut Child) -> io::Result<bool> {
    Ok(child.try_wait()?.is_some())
}

/// What `/proc` says about a process (proc_pid_stat(5), proc_pid_status(5)); nothing elsewhere.
mod usage {
    use std::time::Duration;

    /// User and system time, in ticks of usually 10 ms; also of a child not waited for yet.
    pub(super) fn cpu_time(pid: u32) -> Option<Duration> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let ticks = cpu_ticks(&stat)?;
        Some(Duration::from_secs_f64(
            ticks as f64 / ticks_per_second() as f64,
        ))
    }

    pub(super) fn peak_memory_kib(pid: u32) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        peak_of(&status)
    }

    /// Fields 14 and 15. The second is the program's name in brackets and may contain anything.
    fn cpu_ticks(stat: &str) -> Option<u64> {
        let (_, after_name) = stat.rsplit_once(')')?;
        let mut fields = after_name.split_whitespace().skip(11);
        let user: u64 = fields.next()?.parse().ok()?;
        let system: u64 = fields.next()?.parse().ok()?;
        Some(user + system)
    }

    fn peak_of(status: &str) -> Option<u64> {
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        line?.trim().strip_suffix("kB")?.trim().parse().ok()
    }

    #[cfg(target_os = "linux")]
    fn ticks_per_second() -> u64 {
        rustix::param::clock_ticks_per_second()
    }

    #[cfg(not(target_os = "linux"))]
    fn ticks_per_second() -> u64 {
        100
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_name_with_brackets_and_spaces_does_not_shift_the_fields() {
            let stat = "7 (a) b (c) S 1 7 7 0 -1 4194560 99 0 0 0 31 11 5 6 20 0 1 0 8 9";
            assert_eq!(cpu_ticks(stat), Some(42));
            assert_eq!(cpu_ticks("7 (cut"), None);
        }

        #[test]
        fn the_peak_is_read_in_kibibytes() {
            let status = "Name:\tx\nVmPeak:\t  99 kB\nVmHWM:\t    5120 kB\nVmRSS:\t 10 kB\n";
            assert_eq!(peak_of(status), Some(5120));
            assert_eq!(peak_of("Name:\tx\nState:\tZ (zombie)\n"), None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(folder: &Path, script: &str) -> Running {
        let mut command = CommandLine::new("/bin/sh".into(), "sh", "-c");
        command.args.push(script.to_owned());
        Running::start(&command, folder, Stdio::null()).unwrap()
    }

    #[test]
    fn a_child_is_accounted_interrupted_and_never_left_behind() {
        let folder = Folder::create().unwrap();
        let (path, stop) = (folder.path().to_owned(), Stop::new().unwrap());

        let busy = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done";
        let account = shell(&path, busy).watch(&stop).unwrap();
        assert!(account.wall > Duration::from_millis(5));
        if cfg!(target_os = "linux") {
            assert!(account.cpu.unwrap() > Duration::ZERO);
            assert!(account.peak_memory_kib.unwrap() > 100);
        }

        let failed = shell(&path, "echo no such luck >&2; exit 3").watch(&stop);
        let said = failed.unwrap_err().to_string();
        assert!(said.contains("no such luck"), "{said}");

        let mut patient = shell(&path, "trap 'exit 0' INT; while :; do sleep 0.01; done");
        std::thread::sleep(Duration::from_millis(200));
        patient.interrupt().unwrap();
        patient.watch(&stop).unwrap();

        let endless = shell(&path, "sleep 600");
        let proc_entry = PathBuf::from(format!("/proc/{}", endless.child.id()));
        stop.stop();
        assert!(endless.watch(&stop).is_err());
        assert!(!proc_entry.exists());

        drop(folder);
        assert!(!path.exists());
    }
}
