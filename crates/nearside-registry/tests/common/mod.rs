//! A master, and game servers and clients as they behave on the wire.

#![allow(dead_code, reason = "each test program uses its part")]

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use nearside_registry::{Event, Master, Output, Secret, Settings, SocketId};
use nearside_types::{Asn, Moment, Origin};
use nearside_wire::list::Listed;
use nearside_wire::quake3::{Heartbeat, InfoString, Request, Response, master as quake3};
use nearside_wire::steam;

/// The /16 is the AS, and the first byte the country: enough to follow in a test.
pub(crate) fn origin_of(ip: IpAddr) -> Origin {
    let IpAddr::V4(ip) = ip.to_canonical() else {
        return Origin::default();
    };
    let [a, b, ..] = ip.octets();
    Origin {
        asn: Some(Asn(u32::from(a) * 256 + u32::from(b))),
        country: Some(if a < 50 { "DE" } else { "JP" }.parse().unwrap()),
    }
}

pub(crate) struct Net {
    pub(crate) master: Master,
    pub(crate) now: Moment,
    /// The socket that datagrams arrive on.
    pub(crate) socket: SocketId,
    pub(crate) events: Vec<Event>,
    /// What the master sent, for the address it went to.
    pub(crate) sent: Vec<(SocketAddr, Vec<u8>)>,
    /// What it sent from its port for questions.
    pub(crate) asked: Vec<(SocketAddr, Vec<u8>)>,
    /// The socket that the last of these was to leave by.
    pub(crate) left_by: Option<SocketId>,
}

impl Net {
    pub(crate) fn new(settings: Settings) -> Self {
        Self {
            master: Master::new(settings, Secret([5; 16]), origin_of),
            now: Moment::EPOCH + Duration::from_secs(1_700_000_000),
            socket: SocketId(0),
            events: Vec::new(),
            sent: Vec::new(),
            asked: Vec::new(),
            left_by: None,
        }
    }

    pub(crate) fn pass(&mut self, seconds: u64) {
        for _ in 0..seconds {
            self.now += Duration::from_secs(1);
            self.master.poll(self.now);
        }
        self.drain();
    }

    pub(crate) fn drain(&mut self) {
        while let Some(output) = self.master.poll_output() {
            match output {
                Output::Send { to, via, payload } => {
                    self.left_by = via;
                    self.sent.push((to, payload.to_vec()));
                }
                Output::Ask { to, via, payload } => {
                    self.left_by = via;
                    self.asked.push((to, payload.to_vec()));
                }
                Output::Event(event) => self.events.push(event),
            }
        }
    }

    /// What the master answers to one datagram.
    pub(crate) fn ask(&mut self, from: SocketAddr, payload: &[u8]) -> Vec<Vec<u8>> {
        self.drain();
        let before = self.sent.len();
        self.master.handle_on(self.now, self.socket, from, payload);
        self.drain();
        let answers = self.sent.split_off(before).into_iter();
        answers
            .map(|(to, bytes)| {
                assert_eq!(to, from, "answers go where the question came from");
                bytes
            })
            .collect()
    }

    /// A Quake 3 server's whole registration; whether the master asked for it.
    pub(crate) fn register(&mut self, addr: SocketAddr, info: InfoString) -> bool {
        let tag = "QuakeArena-1".into();
        let answers = self.ask(addr, &Heartbeat { tag }.emit());
        let Some(asked) = answers.first() else {
            return false;
        };
        self.ask(addr, &answer(asked, info));
        true
    }

    /// A GoldSource server's whole registration.
    pub(crate) fn join(&mut self, addr: SocketAddr, info: InfoString) {
        let answers = self.ask(addr, b"q");
        let challenge = steam::JoinChallenge::parse(&answers[0]).unwrap().0;
        let info = info.with("challenge", challenge.to_string().as_str());
        self.ask(addr, &steam::Heartbeat::Join(info).emit());
    }

    /// A Quake 3 list, the cookie fetched first.
    pub(crate) fn list(
        &mut self,
        from: SocketAddr,
        mut request: quake3::ListRequest,
    ) -> Vec<Listed> {
        let form = request.origin;
        let mut answers = self.ask(from, &request.emit());
        let first = answers
            .first()
            .map(|bytes| quake3::ListReply::parse(bytes, form));
        if let Some(Ok(quake3::ListReply::Cookie(cookie))) = first {
            request.challenge = Some(cookie);
            answers = self.ask(from, &request.emit());
        }
        let packets = answers
            .iter()
            .map(|bytes| match quake3::ListReply::parse(bytes, form) {
                Ok(quake3::ListReply::List(packet)) => packet,
                other => panic!("a list, not {other:?}"),
            });
        packets
            .flat_map(|packet| packet.servers().collect::<Vec<_>>())
            .collect()
    }

    /// All pages of a Steam list, the cookie fetched first.
    pub(crate) fn pages(&mut self, from: SocketAddr, filter: &str) -> Vec<Listed> {
        let mut filter = steam::Filter::parse(filter.as_bytes()).unwrap();
        let form = filter.origin();
        let first = self.ask(from, &steam::ListRequest::new(filter.clone()).emit());
        if let Ok(steam::ListReply::Cookie(cookie)) = steam::ListReply::parse(&first[0], form) {
            filter = filter.with_challenge(cookie);
        }
        let mut next = Some(steam::ListRequest::new(filter));
        let mut servers = Vec::new();
        while let Some(request) = next {
            let answers = self.ask(from, &request.emit());
            let packet = match steam::ListReply::parse(&answers[0], form) {
                Ok(steam::ListReply::List(packet) | steam::ListReply::Countries(packet)) => packet,
                other => panic!("a page, not {other:?}"),
            };
            servers.extend(packet.servers());
            next = request.next_page(&packet);
        }
        servers
    }
}

/// What a game server answers to `getinfo`.
pub(crate) fn answer(getinfo: &[u8], info: InfoString) -> Vec<u8> {
    let Ok(Request::GetInfo {
        challenge: Some(challenge),
    }) = Request::parse(getinfo)
    else {
        panic!("a getinfo with a challenge, not {getinfo:?}");
    };
    Response::Info(info.with("challenge", challenge.as_bytes())).emit()
}

pub(crate) fn quake3_info() -> InfoString {
    InfoString::new()
        .with("protocol", "71")
        .with("gamename", "Quake3Arena")
        .with("clients", "3")
        .with("sv_maxclients", "8")
        .with("mapname", "oa_dm1")
}

pub(crate) fn steam_info(map: &str) -> InfoString {
    InfoString::new()
        .with("protocol", "48")
        .with("players", "3")
        .with("max", "8")
        .with("gamedir", "cstrike")
        .with("map", map)
        .with("type", "d")
}

pub(crate) fn public(number: u32) -> SocketAddr {
    let ip = Ipv4Addr::from_bits(0x0B00_0000 + number * 257);
    SocketAddr::from((ip, 27960))
}

pub(crate) fn client() -> SocketAddr {
    "9.9.9.9:40000".parse().unwrap()
}
