//! Processes that packets go through: socat, nginx, the bare forwarder, and ours. Each ends with the
//! bench.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::bare;
use crate::commands::bench::child::this_program;
use crate::exit::WorldFailure;

/// A process; killed when dropped.
#[derive(Debug)]
pub(super) struct Forwarder {
    child: Child,
    /// What it prints, if it is one of ours.
    events: Option<Receiver<Value>>,
}

impl Forwarder {
    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// One flow in one process: without `fork` it takes the first who comes.
    pub(super) fn socat(at: SocketAddr, to: SocketAddr) -> Result<Self> {
        let mut command = Command::new(find("socat")?);
        let listen = format!("UDP4-LISTEN:{},bind={}", at.port(), at.ip());
        command.arg(listen).arg(format!("UDP4:{to}"));
        Self::start(command.stdin(Stdio::null()).stdout(Stdio::null()))
    }

    /// One process, as it comes otherwise.
    pub(super) fn nginx(folder: &Path, at: SocketAddr, to: SocketAddr) -> Result<Self> {
        let mut command = Command::new(find("nginx")?);
        let file = folder.join("nginx.conf");
        std::fs::write(&file, nginx_configuration(folder, at, to))?;
        command.arg("-p").arg(folder).arg("-c").arg(&file);
        command.arg("-e").arg(folder.join("nginx.log"));
        Self::start(command.stdin(Stdio::null()).stdout(Stdio::null()))
    }

    /// See [`bare`].
    pub(super) fn bare(at: SocketAddr, to: SocketAddr) -> Result<Self> {
        let mut command = this_program()?;
        command.args(["bench", "detour"]);
        command.env(bare::VARIABLE, bare::told(at, to));
        Self::start(command.stdin(Stdio::piped()).stdout(Stdio::null()))
    }

    /// One of our own programs, `nearside detour …`.
    pub(super) fn ours(folder: &Path, name: &str, args: &[String]) -> Result<Self> {
        let mut command = this_program()?;
        command.arg("detour").args(args);
        command.args(["--no-ipv6", "--json", "--status"]);
        command.arg(folder.join(name).with_extension("sock"));
        // The user's own are none of the bench's business.
        for variable in ["NEARSIDE_DETOUR_KEY", "NEARSIDE_DETOUR_TOKEN"] {
            command.env_remove(variable);
        }
        let mut forwarder = Self::start(command.stdin(Stdio::null()).stdout(Stdio::piped()))?;
        forwarder.events = forwarder.child.stdout.take().map(events_of);
        Ok(forwarder)
    }

    fn start(command: &mut Command) -> Result<Self> {
        let child = command.stderr(Stdio::null()).spawn();
        let name = command.get_program().display();
        let child = child.map_err(|error| WorldFailure(format!("cannot start {name}: {error}")))?;
        Ok(Self {
            child,
            events: None,
        })
    }

    /// Waits until it says that something happened.
    pub(super) fn expect(&self, event: &str) -> Result<Value> {
        let events = self.events.as_ref().context("it prints no events")?;
        let until = Instant::now() + Duration::from_secs(30);
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match events.recv_timeout(left) {
                Ok(told) if told["event"] == event => return Ok(told),
                Ok(_) => {}
                Err(_) => bail!("nearside detour never said `{event}`"),
            }
        }
    }
}

impl Drop for Forwarder {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing to end.
        let _ended = self.child.kill();
        let _ended = self.child.wait();
    }
}

/// Read by a thread of their own, so that nobody waits for a full pipe; it ends with the process.
fn events_of(stdout: std::process::ChildStdout) -> Receiver<Value> {
    let (told, events) = channel();
    thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            // Once nobody listens any more, the rest is read and forgotten.
            let _ = serde_json::from_str(&line).map(|event| told.send(event));
        }
    });
    events
}

fn nginx_configuration(folder: &Path, at: SocketAddr, to: SocketAddr) -> String {
    let module = NGINX_MODULES.iter().find(|path| Path::new(path).exists());
    let load = module.map_or(String::new(), |path| format!("load_module {path};\n"));
    let folder = folder.display();
    format!(
        "{load}daemon off;
master_process off;
pid {folder}/nginx.pid;
events {{ worker_connections 256; }}
stream {{
    server {{
        listen {at} udp;
        proxy_pass {to};
        proxy_timeout 60m;
    }}
}}
"
    )
}

/// Where distributions put the stream module, unless it is built in.
const NGINX_MODULES: [&str; 2] = [
    "/usr/lib/nginx/modules/ngx_stream_module.so",
    "/usr/lib64/nginx/modules/ngx_stream_module.so",
];

/// Where a program is; Debian puts nginx where the PATH of a user does not look.
fn find(program: &str) -> Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/sbin".into()]);
    let mut files = folders.map(|folder| folder.join(program));
    let found = files.find(|file| file.is_file());
    found.with_context(|| format!("{program} is not installed"))
}
