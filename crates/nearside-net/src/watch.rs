//! Sleeping at the same ports again and again, at the same cost however many there are.

use nearside_types::Moment;

use crate::clock::MonotonicClock;
use crate::error::NetError;
use crate::poll::{Ready, Stop};
use crate::udp::UdpPort;

/// A row of ports that a loop sleeps at. [`crate::wait`] tells the kernel each time what it waits for,
/// which for seven ports took a seventh of what a forwarder does for a packet; this tells it once.
///
/// It stands for the row it was made of: who opens or closes a port makes a new one.
#[derive(Debug)]
pub struct Watch {
    #[cfg(target_os = "linux")]
    told: linux::Told,
}

impl Watch {
    /// Watches the ports of a row, and the stop of its loop.
    #[cfg(target_os = "linux")]
    pub fn over<'a>(
        ports: impl IntoIterator<Item = &'a UdpPort>,
        stop: &Stop,
    ) -> Result<Self, NetError> {
        linux::Told::new(ports, stop).map(|told| Self { told })
    }

    /// The same contract as [`crate::wait`] has, with the row that this was made of; what it finds is
    /// put into `ready`. It may wake up to a millisecond late for `until`.
    #[cfg(target_os = "linux")]
    pub fn wait<'a>(
        &self,
        _row: impl IntoIterator<Item = &'a UdpPort>,
        stop: &Stop,
        until: Option<Moment>,
        clock: &MonotonicClock,
        ready: &mut Ready,
    ) -> Result<(), NetError> {
        self.told.wait(until, clock, &mut ready.ports)?;
        ready.stopped = stop.is_stopped();
        Ok(())
    }

    /// Other systems are told each time.
    #[cfg(not(target_os = "linux"))]
    pub fn over<'a>(_: impl IntoIterator<Item = &'a UdpPort>, _: &Stop) -> Result<Self, NetError> {
        Ok(Self {})
    }

    /// See [`crate::wait`].
    #[cfg(not(target_os = "linux"))]
    pub fn wait<'a>(
        &self,
        row: impl IntoIterator<Item = &'a UdpPort>,
        stop: &Stop,
        until: Option<Moment>,
        clock: &MonotonicClock,
        ready: &mut Ready,
    ) -> Result<(), NetError> {
        *ready = crate::wait(row, stop, until, clock)?;
        Ok(())
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::mem::MaybeUninit;
    use std::os::fd::OwnedFd;

    use rustix::event::epoll;
    use rustix::io::Errno;

    use super::{Moment, MonotonicClock, NetError, Stop, UdpPort};
    use crate::poll::timespec;

    /// What the kernel was told to watch (epoll(7)). A port's number is its place in the row.
    #[derive(Debug)]
    pub(super) struct Told {
        epoll: OwnedFd,
        ports: usize,
    }

    /// The number of the stop.
    const STOP: u64 = u64::MAX;
    /// Ports that one wait names at most; the others are named by the next.
    const MOST_READY: usize = 32;

    impl Told {
        pub(super) fn new<'a>(
            ports: impl IntoIterator<Item = &'a UdpPort>,
            stop: &Stop,
        ) -> Result<Self, NetError> {
            let failed = |ports| move |errno: Errno| wait_failed(ports, errno);
            let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(failed(0))?;
            let watch = |fd, number| {
                let data = epoll::EventData::new_u64(number);
                epoll::add(&epoll, fd, data, epoll::EventFlags::IN)
            };
            watch(stop.receiver(), STOP).map_err(failed(0))?;
            let mut count = 0;
            for port in ports {
                let fd = std::os::fd::AsFd::as_fd(port.socket());
                watch(fd, count as u64).map_err(failed(count))?;
                count += 1;
            }
            Ok(Self {
                epoll,
                ports: count,
            })
        }

        /// Puts the places of ports that can be read into `ready`.
        pub(super) fn wait(
            &self,
            until: Option<Moment>,
            clock: &MonotonicClock,
            ready: &mut Vec<usize>,
        ) -> Result<(), NetError> {
            ready.clear();
            let timeout = until.map(|until| timespec(until, clock.now()));
            let mut room = [MaybeUninit::uninit(); MOST_READY];
            let named = match epoll::wait(&self.epoll, &mut room, timeout.as_ref()) {
                Ok((named, _)) => named,
                // A signal: the caller looks at its state and comes back.
                Err(Errno::INTR) => return Ok(()),
                Err(errno) => return Err(wait_failed(self.ports, errno)),
            };
            let numbers = named.iter().map(|event| event.data.u64());
            ready.extend(
                numbers
                    .filter(|number| *number != STOP)
                    .map(|number| number as usize),
            );
            ready.sort_unstable();
            Ok(())
        }
    }

    fn wait_failed(ports: usize, errno: Errno) -> NetError {
        NetError::Wait {
            ports,
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

    fn port(clock: &MonotonicClock) -> UdpPort {
        UdpPort::bind(PortConfig::at((Ipv4Addr::LOCALHOST, 0).into()), clock).unwrap()
    }

    #[test]
    fn names_the_ports_that_can_be_read_until_they_are() {
        let clock = MonotonicClock::start();
        let stop = Stop::new().unwrap();
        let mut ports = [port(&clock), port(&clock), port(&clock)];
        let watch = Watch::over(&ports, &stop).unwrap();
        for reader in [2, 0] {
            let to = ports[reader].local_addr();
            ports[1].send(to, b"x", None).unwrap();
        }
        let mut ready = Ready::default();
        for _ in 0..2 {
            let waited = watch.wait(&ports, &stop, None, &clock, &mut ready);
            waited.unwrap();
            assert_eq!(ready.ports, [0, 2]);
            assert!(!ready.stopped);
        }
        let mut buffers = RecvBuffers::new();
        ports[0].recv_batch(&mut buffers, &clock, |_| {}).unwrap();
        let waited = watch.wait(&ports, &stop, None, &clock, &mut ready);
        waited.unwrap();
        assert_eq!(ready.ports, [2]);
    }

    #[test]
    fn sleeps_until_the_moment_and_ends_when_stopped() {
        let clock = MonotonicClock::start();
        let stop = Stop::new().unwrap();
        let ports = [port(&clock)];
        let watch = Watch::over(&ports, &stop).unwrap();
        let until = clock.now() + Duration::from_micros(2_300);
        let mut ready = Ready {
            ports: vec![7],
            stopped: true,
        };
        let waited = watch.wait(&ports, &stop, Some(until), &clock, &mut ready);
        waited.unwrap();
        assert_eq!(ready, Ready::default());
        assert!(clock.now() >= until, "it would turn in circles until then");
        stop.stop();
        let waited = watch.wait(&ports, &stop, None, &clock, &mut ready);
        assert!(waited.is_ok() && ready.stopped);
    }
}
