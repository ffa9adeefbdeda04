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

impl Player {
    pub(crate) fn of(master: SocketAddr) -> Self {
        let clock = MonotonicClock::start();
        let config = PortConfig {
            icmp_errors: nearside_net::IcmpErrors::Ignore,
            ..PortConfig::at("127.0.0.1:0".parse().unwrap())
        };
        Self {
            port: UdpPort::bind(config, &clock).unwrap(),
            clock,
            stop: Stop::new().unwrap(),
            buffers: RecvBuffers::new(),
            master,
        }
    }

    /// Knocks until the master answers.
    pub(crate) fn wait_until_it_answers(&mut self) {
        let request = quake3::ListRequest::new(None, 71).emit();
        let limit = Instant::now() + Duration::from_secs(30);
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

    /// Which of so many servers are on the lists; `None` if the master does not answer.
    pub(crate) fn see(&mut self, servers: u32) -> Option<Vec<bool>> {
        let mut seen = vec![false; servers as usize];
        let mut take = |packet: &ListPacket| {
            for listed in packet.servers() {
                if let Some(place) = number(listed.addr.ip()).and_then(|n| seen.get_mut(n as usize))
                {
                    *place = true;
                }
            }
        };
        for protocol in [71, 68] {
            let request = quake3::ListRequest::new(None, protocol);
            self.quake3(request)?.iter().for_each(&mut take);
        }
        self.steam()?.iter().for_each(&mut take);
        Some(seen)
    }

    /// The whole list, however many tries it takes a busy machine to receive its end.
    fn quake3(&mut self, mut request: quake3::ListRequest) -> Option<Vec<ListPacket>> {
        let parse = |bytes: &[u8]| quake3::ListReply::parse(bytes, None).ok();
        let mut packets = Vec::new();
        for _ in 0..TRIES {
            let answers = self.ask(&request.emit(), |bytes| {
                bytes.ends_with(b"\\EOT\0\0\0") || bytes.starts_with(b"\xFF\xFF\xFF\xFFck ")
            });
            for answer in answers.iter().filter_map(|bytes| parse(bytes)) {
                match answer {
                    quake3::ListReply::Cookie(cookie) => request.challenge = Some(cookie),
                    quake3::ListReply::List(packet) => packets.push(packet),
                }
            }
            if packets.iter().any(|packet| packet.end) {
                return Some(packets);
            }
        }
        None
    }

    fn steam(&mut self) -> Option<Vec<ListPacket>> {
        let mut packets = Vec::new();
        let mut request = steam::ListRequest::new(steam::Filter::default());
        let mut tries = 0;
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
                None if tries < TRIES => tries += 1,
                None => return None,
            }
        }
    }

    /// Asks, and collects answers until one is the last or none comes for a while.
    fn ask(&mut self, request: &[u8], is_last: impl Fn(&[u8]) -> bool) -> Vec<Vec<u8>> {
        // What came late for an earlier question answers none.
        while self
            .port
            .recv_batch(&mut self.buffers, &self.clock, |_| {})
            .unwrap()
            > 0
        {}
        self.port.send(self.master, request, None).unwrap();
        let mut answers = Vec::new();
        let mut done = false;
        let limit = Instant::now() + Duration::from_secs(5);
        while !done && Instant::now() < limit {
            let until = self.clock.now() + Duration::from_millis(700);
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

/// Each waits for most of a second.
const TRIES: u32 = 8;

/// How many of these servers are not seen.
pub(crate) fn missing(seen: &[bool], wanted: &[u32]) -> usize {
    wanted
        .iter()
        .filter(|number| !seen[**number as usize])
        .count()
}
