//! Whoever a forged source belongs to: counts what it gets without having asked.

use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use nearside_net::{MonotonicClock, PortConfig, RecvBuffers, Stop, UdpPort, wait};

/// The port that forged packets come from.
pub(crate) const PORT: u16 = 5000;

/// All of them, on one socket.
pub(crate) struct Victims {
    bytes: Arc<AtomicU64>,
    stop: Stop,
}

impl Victims {
    pub(crate) fn open() -> Self {
        let clock = MonotonicClock::start();
        let config = PortConfig {
            icmp_errors: nearside_net::IcmpErrors::Ignore,
            ..PortConfig::at(([0, 0, 0, 0], PORT).into())
        };
        let mut port = UdpPort::bind(config, &clock).unwrap();
        let (bytes, stop) = (Arc::new(AtomicU64::new(0)), Stop::new().unwrap());
        let (counted, told) = (Arc::clone(&bytes), stop.clone());
        std::thread::spawn(move || {
            let mut buffers = RecvBuffers::new();
            while !wait([&port], &told, None, &clock).unwrap().stopped {
                let count = |datagram: nearside_net::Datagram<'_>| {
                    counted.fetch_add(datagram.payload.len() as u64, Ordering::Relaxed);
                };
                port.recv_batch(&mut buffers, &clock, count).unwrap();
            }
        });
        // Counting works: a byte that is sent to one of them is seen.
        let probe = UdpSocket::bind("50.0.0.9:0").unwrap();
        probe.send_to(b"!", ("30.1.2.3", PORT)).unwrap();
        while bytes.load(Ordering::Relaxed) == 0 {
            std::thread::yield_now();
        }
        Self { bytes, stop }
    }

    /// Bytes that reached any of them.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }
}

impl Drop for Victims {
    fn drop(&mut self) {
        self.stop.stop();
    }
}
