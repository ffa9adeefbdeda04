//! The yardstick: a loop that receives and sends the same datagrams as a master, by the same calls,
//! and neither checks, looks up nor keeps anything.

use std::net::SocketAddr;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::Result;
use nearside_net::{
    Datagram, IcmpErrors, MonotonicClock, NetError, Outbox, PortConfig, RecvBuffers, Stop, UdpPort,
    wait,
};
use rustix::time::{ClockId, clock_gettime};

/// What to answer to a datagram, if anything.
pub(super) type Answer = fn(&[u8]) -> Option<&'static [u8]>;

/// An echo on a thread of its own.
pub(super) struct Echo {
    pub(super) addr: SocketAddr,
    stop: Stop,
    thread: JoinHandle<Result<Echoed, NetError>>,
}

/// What went through an echo.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Echoed {
    pub(super) datagrams: u64,
    pub(super) cpu: Duration,
}

impl Echo {
    pub(super) fn start(answer: Answer) -> Result<Self> {
        let clock = MonotonicClock::start();
        let config = PortConfig {
            icmp_errors: IcmpErrors::Ignore,
            ..PortConfig::at(super::process::free_address()?)
        };
        let port = UdpPort::bind(config, &clock)?;
        let stop = Stop::new()?;
        let (addr, told) = (port.local_addr(), stop.clone());
        let thread = thread::spawn(move || serve(port, &clock, &told, answer));
        Ok(Self { addr, stop, thread })
    }

    /// Ends it and tells what it did.
    pub(super) fn finish(self) -> Result<Echoed> {
        self.stop.stop();
        let ended = self.thread.join();
        Ok(ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?)
    }
}

fn serve(
    mut port: UdpPort,
    clock: &MonotonicClock,
    stop: &Stop,
    answer: Answer,
) -> Result<Echoed, NetError> {
    let mut buffers = RecvBuffers::new();
    let mut outbox = Outbox::default();
    let mut datagrams = 0;
    while !wait([&port], stop, None, clock)?.stopped {
        loop {
            let reply = |datagram: Datagram<'_>| {
                datagrams += 1;
                if let Some(payload) = answer(datagram.payload) {
                    datagrams += 1;
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
    Ok(Echoed {
        datagrams,
        cpu: thread_time(),
    })
}

fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(
        time.tv_sec.unsigned_abs(),
        time.tv_nsec.unsigned_abs() as u32,
    )
}
