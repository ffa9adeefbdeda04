//! A real OpenArena server that ends with the test.

use std::ffi::OsStr;
use std::net::UdpSocket;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::Folder;
use super::foreign::program;
use super::process::{Program, Running};

/// A server with a colourful name and no players.
pub struct OpenArena {
    pub addr: String,
    _running: Running,
    _home: Folder,
}

const BINARY: &str = env!("CARGO_BIN_EXE_nearside");
/// Loading its maps takes a few seconds on a busy machine.
const START: Duration = Duration::from_secs(60);

impl OpenArena {
    /// Starts it with further settings, and waits until it answers.
    pub fn start(test: &str, more: &[(&str, &str)]) -> Option<Self> {
        Self::start_on(test, |program| Command::new(program), free_port(), more)
    }

    /// The same at a port of the loopback where `command` runs programs: on another host, perhaps.
    pub fn start_on(
        test: &str,
        command: impl Fn(&OsStr) -> Command,
        port: u16,
        more: &[(&str, &str)],
    ) -> Option<Self> {
        let program = program(test, "openarena", "openarena-server")?;
        let mut program = Program(command(program.0.get_program()));
        let home = Folder::new();
        let settings = [
            ("dedicated", "1"),
            ("net_enabled", "1"),
            ("net_ip", "127.0.0.1"),
            ("net_port", &port.to_string()),
            ("sv_maxclients", "12"),
            ("sv_hostname", "^1Near^7side ^2test"),
            ("fraglimit", "17"),
        ];
        program.0.env("HOME", home.path()).current_dir(home.path());
        for (name, value) in settings.iter().chain(more) {
            program.0.args(["+set", name, value]);
        }
        program.0.args(["+map", "oa_dm1"]);
        let mut running = program.start();
        // Nobody reads its chatter, which would fill a pipe.
        drain(&mut running);
        let server = Self {
            addr: format!("127.0.0.1:{port}"),
            _running: running,
            _home: home,
        };
        server.wait(command);
        Some(server)
    }

    fn wait(&self, command: impl Fn(&OsStr) -> Command) {
        let deadline = Instant::now() + START;
        let answers = || {
            let mut query = Program(command(BINARY.as_ref()));
            query.0.args(["query", &self.addr, "--game", "openarena"]);
            query.finish(b"", super::LONG).code == Some(0)
        };
        while !answers() {
            assert!(Instant::now() < deadline, "openarena-server does not start");
            std::thread::sleep(Duration::from_millis(200));
        }
    }
}

fn drain(running: &mut Running) {
    for pipe in [
        running.child.stdout.take().map(Stdio::from),
        running.child.stderr.take().map(Stdio::from),
    ] {
        let mut cat = Command::new("cat");
        let cat = cat.stdin(pipe.unwrap()).stdout(Stdio::null()).spawn();
        std::thread::spawn(move || cat.unwrap().wait());
    }
}

/// A port that nobody uses at this moment.
pub fn free_port() -> u16 {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.local_addr().unwrap().port()
}
