//! What a player sees: all lists of one front end, as a set of servers.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use nearside::fleet::number;
use nearside_net::{MonotonicClock, PortConfig, RecvBuffers, Stop, UdpPort, wait};
use nearside_wire::list::ListPacket;
use nearside_wire::quake3::master as quake3;
use nearside_wire::steam;

/// A client of one front end.
pub(crate) struct Player {
    port: UdpPort,
    clock: MonotonicClock,
    stop: Stop,
    buffers: RecvBuffers,
    master: SocketAddr,
}

/// How long the next packet may take, on a machine with twenty programs that all want a processor.
const PATIENCE: Duration = Duration::from_secs(3);

/// How often a question is asked.
const TRIES: u32 = 5;

impl Player {
    pub(crate) fn of(master: SocketAddr) -> Self {
        let clock = MonotonicClock::start();
        Self {
            port: new_port(&clock),
            clock,
            stop: Stop::new().unwrap(),
            buffers: RecvBuffers::new(),
            master,
        }
    }

    /// Knocks until the master answers.
    pub(crate) fn wait_until_it_answers(&mut self) {
        let request = quake3::ListRequest::new(None, 71).emit();
        let limit = Instant::now() + Duration::from_secs(60);
        loop {
            self.port.send(self.master, &request, None).unwrap();
            let until = self.clock.now() + Duration::from_millis(5);
            let ready = wait([&self.port], &self.stop, Some(until), &self.clock).unwrap();
            if !ready.ports.is_empty() {
                return;
            }
            assert!(Instant::now() < limit, "the master does not answer");
        }
    }

    /// Which of these servers are on no list; `None` if the master does not answer. A list of 200
    /// packets may lose one on its way to a player that is held up, so what seems to be missing is
    /// looked for again at once.
    pub(crate) fn missing(&mut self, wanted: &[u32]) -> Option<usize> {
        let mut missing = wanted.to_vec();
        for _ in 0..LOOKS {
            let seen = self.see()?;
            missing.retain(|number| !seen.get(*number as usize).is_some_and(|seen| *seen));
            if missing.is_empty() {
                break;
            }
        }
        Some(missing.len())
    }

    /// Which servers are on the lists; `None` if the master does not answer.
    pub(crate) fn see(&mut self) -> Option<Vec<bool>> {
        let mut seen = Vec::new();
        let mut take = |packet: &ListPacket| {
            for listed in packet.servers() {
                let Some(place) = number(listed.addr.ip()).map(|number| number as usize) else {
                    continue;
                };
                if seen.len() <= place {
                    seen.resize(place + 1, false);
                }
                seen[place] = true;
            }
        };
        for protocol in [71, 68] {
            self.quake3(protocol)?.iter().for_each(&mut take);
        }
        self.steam()?.iter().for_each(&mut take);
        Some(seen)
    }

    /// Whatever comes late for an earlier question reaches nobody: above all its last packet, which
    /// would end another list.
    fn leave(&mut self) {
        self.port = new_port(&self.clock);
    }

    fn quake3(&mut self, protocol: u32) -> Option<Vec<ListPacket>> {
        (0..TRIES).find_map(|_| {
            self.leave();
            self.try_quake3(protocol)
        })
    }

    fn try_quake3(&mut self, protocol: u32) -> Option<Vec<ListPacket>> {
        let mut request = quake3::ListRequest::new(None, protocol);
        let parse = |bytes: &Vec<u8>| quake3::ListReply::parse(bytes, None).ok();
        let answers = self.ask(&request.emit(), |_| true);
        let Some(quake3::ListReply::Cookie(cookie)) = answers.first().and_then(parse) else {
            return None;
        };
        request.challenge = Some(cookie);
        let answers = self.ask(&request.emit(), |bytes| bytes.ends_with(b"\\EOT\0\0\0"));
        let packets = answers.iter().filter_map(|bytes| match parse(bytes)? {
            quake3::ListReply::List(packet) => Some(packet),
            quake3::ListReply::Cookie(_) => None,
        });
        let packets: Vec<ListPacket> = packets.collect();
        packets.iter().any(|packet| packet.end).then_some(packets)
    }

    fn steam(&mut self) -> Option<Vec<ListPacket>> {
        let mut packets = Vec::new();
        let mut request = steam::ListRequest::new(steam::Filter::default());
        let mut tries = 0;
        self.leave();
        loop {
            let answers = self.ask(&request.emit(), |_| true);
            let answer = answers
                .first()
                .and_then(|bytes| steam::ListReply::parse(bytes, None).ok());
            match answer {
                Some(steam::ListReply::Cookie(cookie)) => {
                    request.filter = request.filter.with_challenge(cookie);
                }
                Some(steam::ListReply::List(packet) | steam::ListReply::Countries(packet)) => {
                    let next = request.next_page(&packet);
                    packets.push(packet);
                    let Some(next) = next else {
                        return Some(packets);
                    };
                    request = next;
                }
                None if tries < TRIES => {
                    tries += 1;
                    self.leave();
                }
                None => return None,
            }
        }
    }

    /// Asks, and collects answers until one is the last or none comes for a while.
    fn ask(&mut self, request: &[u8], is_last: impl Fn(&[u8]) -> bool) -> Vec<Vec<u8>> {
        self.port.send(self.master, request, None).unwrap();
        let mut answers = Vec::new();
        let mut done = false;
        while !done {
            let until = self.clock.now() + PATIENCE;
            let ready = wait([&self.port], &self.stop, Some(until), &self.clock).unwrap();
            if ready.ports.is_empty() {
                break;
            }
            let take = |datagram: nearside_net::Datagram<'_>| {
                done |= is_last(datagram.payload);
                answers.push(datagram.payload.to_vec());
            };
            self.port
                .recv_batch(&mut self.buffers, &self.clock, take)
                .unwrap();
        }
        answers
    }
}

/// Readings of all lists before a server counts as missing.
const LOOKS: u32 = 3;

fn new_port(clock: &MonotonicClock) -> UdpPort {
    let config = PortConfig {
        icmp_errors: nearside_net::IcmpErrors::Ignore,
        ..PortConfig::at("127.0.0.1:0".parse().unwrap())
    };
    UdpPort::bind(config, clock).unwrap()
}
