//! Sleeping at the same ports again and again, at the same cost however many there are.

use nearside_types::Moment;

use crate::clock::MonotonicClock;
use crate::error::NetError;
use crate::poll::Stop;
use crate::udp::UdpPort;

/// The ports that a loop sleeps at, each with a name of its own. [`crate::wait`] tells the kernel each
/// time what it waits for, which for seven ports took a seventh of what a forwarder does for a packet;
/// this tells it once.
///
/// It holds one file from the beginning to the end: a loop that has opened as many sockets as it may
/// goes on sleeping.
#[derive(Debug)]
pub struct Watch {
    #[cfg(target_os = "linux")]
    told: linux::Told,
}

#[cfg(target_os = "linux")]
impl Watch {
    /// Watches nothing yet but the stop of a loop.
    pub fn new(stop: &Stop) -> Result<Self, NetError> {
        linux::Told::new(stop).map(|told| Self { told })
    }

    /// Watches a port under a name that no other has, until the port is closed.
    pub fn add(&self, port: &UdpPort, name: u64) -> Result<(), NetError> {
        self.told.add(port, name)
    }

    /// Waits until one of the ports has a datagram or an error, `until` has come, or the loop was
    /// stopped; puts the names of ports to be read into `ready`, in order. `ports` are those that were
    /// added and are open. It may wake up to a millisecond late for `until`.
    pub fn wait<'a>(
        &self,
        _ports: impl IntoIterator<Item = (u64, &'a UdpPort)>,
        _stop: &Stop,
        until: Option<Moment>,
        clock: &MonotonicClock,
        ready: &mut Vec<u64>,
    ) -> Result<(), NetError> {
        self.told.wait(until, clock, ready)
    }
}

/// Other systems are told each time.
#[cfg(not(target_os = "linux"))]
impl Watch {
    /// Watches nothing yet.
    pub fn new(_: &Stop) -> Result<Self, NetError> {
        Ok(Self {})
    }

    /// There is nothing to be told in advance.
    pub fn add(&self, _: &UdpPort, _: u64) -> Result<(), NetError> {
        Ok(())
    }

    /// See [`crate::wait`]; puts the names of ports to be read into `ready`.
    pub fn wait<'a>(
        &self,
        ports: impl IntoIterator<Item = (u64, &'a UdpPort)>,
        stop: &Stop,
        until: Option<Moment>,
        clock: &MonotonicClock,
        ready: &mut Vec<u64>,
    ) -> Result<(), NetError> {
        let (names, ports): (Vec<u64>, Vec<&UdpPort>) = ports.into_iter().unzip();
        let found = crate::wait(ports, stop, until, clock)?;
        ready.clear();
        ready.extend(found.ports.iter().map(|place| names[*place]));
        Ok(())
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::mem::MaybeUninit;
    use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

    use rustix::event::epoll;
    use rustix::io::Errno;

    use super::{Moment, MonotonicClock, NetError, Stop, UdpPort};
    use crate::poll::timespec;

    /// What the kernel was told to watch (epoll(7)); it forgets ports that are closed.
    #[derive(Debug)]
    pub(super) struct Told {
        epoll: OwnedFd,
    }

    /// The name of the stop, which no port can have.
    const STOP: u64 = u64::MAX;
    /// Ports that one wait names at most; the others come first next time.
    const MOST_READY: usize = 32;

    impl Told {
        pub(super) fn new(stop: &Stop) -> Result<Self, NetError> {
            let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(failed)?;
            let told = Self { epoll };
            told.watch(stop.receiver(), STOP)?;
            Ok(told)
        }

        pub(super) fn add(&self, port: &UdpPort, name: u64) -> Result<(), NetError> {
            self.watch(port.socket().as_fd(), name)
        }

        fn watch(&self, fd: BorrowedFd<'_>, name: u64) -> Result<(), NetError> {
            let data = epoll::EventData::new_u64(name);
            epoll::add(&self.epoll, fd, data, epoll::EventFlags::IN).map_err(failed)
        }

        pub(super) fn wait(
            &self,
            until: Option<Moment>,
            clock: &MonotonicClock,
            ready: &mut Vec<u64>,
        ) -> Result<(), NetError> {
            ready.clear();
            let timeout = until.map(|until| timespec(until, clock.now()));
            let mut room = [MaybeUninit::uninit(); MOST_READY];
            let named = match epoll::wait(&self.epoll, &mut room, timeout.as_ref()) {
                Ok((named, _)) => named,
                // A signal: the caller looks at its state and comes back.
                Err(Errno::INTR) => return Ok(()),
                Err(errno) => return Err(failed(errno)),
            };
            let names = named.iter().map(|event| event.data.u64());
            ready.extend(names.filter(|name| *name != STOP));
            ready.sort_unstable();
            Ok(())
        }
    }

    fn failed(errno: Errno) -> NetError {
        NetError::Watch {
            source: errno.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::time::Duration;

    use super::*;
    use crate::buffers::RecvBuffers;
    use crate::udp::PortConfig;

    /// Ports by name, and who watches them.
    struct Row {
        clock: MonotonicClock,
        stop: Stop,
        watch: Watch,
        ports: Vec<(u64, UdpPort)>,
    }

    impl Row {
        fn of(names: impl IntoIterator<Item = u64>) -> Self {
            let stop = Stop::new().unwrap();
            let mut row = Self {
                clock: MonotonicClock::start(),
                watch: Watch::new(&stop).unwrap(),
                stop,
                ports: Vec::new(),
            };
            names.into_iter().for_each(|name| row.open(name));
            row
        }

        fn open(&mut self, name: u64) {
            let config = PortConfig::at((Ipv4Addr::LOCALHOST, 0).into());
            let port = UdpPort::bind(config, &self.clock).unwrap();
            self.watch.add(&port, name).unwrap();
            self.ports.push((name, port));
        }

        fn port(&mut self, name: u64) -> &mut UdpPort {
            let mut ports = self.ports.iter_mut();
            let found = ports.find(|(known, _)| *known == name);
            &mut found.unwrap().1
        }

        fn send_to(&mut self, name: u64) {
            let to = self.port(name).local_addr();
            self.ports[0].1.send(to, b"x", None).unwrap();
        }

        fn ready(&self, until: Option<Moment>) -> Vec<u64> {
            let ports = self.ports.iter().map(|(name, port)| (*name, port));
            let mut ready = vec![77];
            let (watch, stop) = (&self.watch, &self.stop);
            let waited = watch.wait(ports, stop, until, &self.clock, &mut ready);
            waited.unwrap();
            ready
        }

        fn read(&mut self, name: u64) {
            let clock = self.clock;
            let mut buffers = RecvBuffers::new();
            let port = self.port(name);
            port.recv_batch(&mut buffers, &clock, |_| {}).unwrap();
        }
    }

    #[test]
    fn names_the_ports_that_can_be_read_until_they_are() {
        let mut row = Row::of([4, 5, 9]);
        row.send_to(9);
        row.send_to(4);
        assert_eq!(row.ready(None), [4, 9]);
        assert_eq!(row.ready(None), [4, 9]);
        row.read(4);
        assert_eq!(row.ready(None), [9]);
    }

    #[test]
    fn ports_come_and_go_between_two_sleeps() {
        let mut row = Row::of([1, 2, 3]);
        row.send_to(2);
        row.send_to(3);
        // Its number with the kernel is free now, and the next port gets it.
        row.ports.remove(1);
        row.open(4);
        assert_eq!(row.ready(None), [3]);
        row.send_to(4);
        assert_eq!(row.ready(None), [3, 4]);
    }

    #[test]
    fn of_many_ports_all_have_their_turn() {
        let mut row = Row::of(0..100);
        (0..100).for_each(|name| row.send_to(name));
        let mut seen = 0;
        while seen < 100 {
            let ready = row.ready(Some(row.clock.now()));
            assert!(!ready.is_empty(), "{seen} of 100");
            seen += ready.len();
            ready.into_iter().for_each(|name| row.read(name));
        }
        assert_eq!((seen, row.ready(Some(row.clock.now())).len()), (100, 0));
    }

    #[test]
    fn sleeps_until_the_moment_and_ends_when_stopped() {
        let row = Row::of([1]);
        let until = row.clock.now() + Duration::from_micros(2_300);
        assert!(row.ready(Some(until)).is_empty());
        assert!(
            row.clock.now() >= until,
            "it would turn in circles until then"
        );
        row.stop.stop();
        assert!(row.ready(None).is_empty());
    }
}
