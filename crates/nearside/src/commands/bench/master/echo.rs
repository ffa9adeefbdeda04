//! The yardstick: a process that receives and sends the same datagrams as a master, by the same
//! calls, and neither checks, looks up nor keeps anything.
//!
//! It is this program again, told by the environment to be the echo: a thread beside the clients
//! would be spared the change of address spaces that a master pays for with each wake-up.

use std::io::{self, Read};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::LazyLock;
use std::thread;

use anyhow::{Context, Result};
use nearside_net::{
    Datagram, IcmpErrors, MonotonicClock, NetError, Outbox, PortConfig, RecvBuffers, Stop, UdpPort,
    wait,
};
use nearside_types::{Origin, ServerAddr};
use nearside_wire::list::Listed;
use nearside_wire::steam;

/// Which datagrams it sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Echo {
    /// Challenges of masters.
    Cycles,
    /// Full pages of servers, which clients can read.
    Pages,
}

/// Tells a `nearside bench master` to be the echo: what it echoes, and where.
pub(super) const VARIABLE: &str = "NEARSIDE_BENCH_ECHO";

impl Echo {
    const ALL: [Self; 2] = [Self::Cycles, Self::Pages];

    const fn name(self) -> &'static str {
        match self {
            Self::Cycles => "cycles",
            Self::Pages => "pages",
        }
    }

    /// What [`VARIABLE`] says for an echo at an address.
    pub(super) fn told(self, addr: SocketAddr) -> String {
        format!("{} {addr}", self.name())
    }

    fn parse(told: &str) -> Option<(Self, SocketAddr)> {
        let (name, addr) = told.split_once(' ')?;
        let echo = Self::ALL.into_iter().find(|echo| echo.name() == name)?;
        Some((echo, addr.parse().ok()?))
    }

    fn answer(self, payload: &[u8]) -> Option<&'static [u8]> {
        match (self, payload) {
            // Whoever waits for the echo to come up.
            (_, b"?") => Some(b"!"),
            (Self::Pages, _) => Some(&PAGE),
            (Self::Cycles, [0xFF, 0xFF, 0xFF, 0xFF, b'h', ..]) => {
                Some(b"\xFF\xFF\xFF\xFFgetinfo abcdefgh")
            }
            (Self::Cycles, b"q") => Some(b"\xFF\xFF\xFF\xFFs\nabcd"),
            (Self::Cycles, _) => None,
        }
    }
}

/// As full as a master's pages, so that clients have the same work with it.
static PAGE: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let listed = |number: u32| Listed {
        addr: ServerAddr::new(Ipv4Addr::from_bits(0x7F01_0000 + number).into(), 27015)
            .expect("the port is not 0"),
        origin: Origin::default(),
    };
    let servers: Vec<Listed> = (0..1000).map(listed).collect();
    steam::page(&servers, None).emit()
});

/// Is the echo, until nobody holds the other end of standard input: however the bench ends, this
/// process ends too.
pub(super) fn serve(told: &str) -> Result<()> {
    let (echo, addr) = Echo::parse(told).with_context(|| format!("{VARIABLE} says `{told}`"))?;
    let clock = MonotonicClock::start();
    let config = PortConfig {
        icmp_errors: IcmpErrors::Ignore,
        ..PortConfig::at(addr)
    };
    let port = UdpPort::bind(config, &clock)?;
    let stop = Stop::new()?;
    let serving = {
        let stop = stop.clone();
        thread::spawn(move || answer(port, &clock, &stop, echo))
    };
    io::stdin().read_to_end(&mut Vec::new())?;
    stop.stop();
    let ended = serving.join();
    Ok(ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?)
}

fn answer(
    mut port: UdpPort,
    clock: &MonotonicClock,
    stop: &Stop,
    echo: Echo,
) -> Result<(), NetError> {
    let mut buffers = RecvBuffers::new();
    let mut outbox = Outbox::default();
    while !wait([&port], stop, None, clock)?.stopped {
        loop {
            let reply = |datagram: Datagram<'_>| {
                if let Some(payload) = echo.answer(datagram.payload) {
                    outbox.push(datagram.from, payload, datagram.to_ip);
                }
            };
            let count = port.recv_batch(&mut buffers, clock, reply)?;
            port.send_all(&mut outbox);
            if count == 0 {
                break;
            }
        }
    }
    Ok(())
}
