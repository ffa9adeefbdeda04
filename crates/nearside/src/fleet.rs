//! A fleet of game servers in one thread, for benches and tests of masters: each has a loopback
//! address of its own, sends heartbeats when told so and answers challenges as real servers do.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use nearside_net::{
    Datagram, MonotonicClock, NetError, Outbox, PortConfig, RecvBuffers, Stop, UdpPort, wait,
};
use nearside_types::Moment;

/// What a server of the fleet plays, by its number: of the first 60,000 every other one is a game of
/// the Quake 3 family and the rest one of GoldSource, so that small fleets have both; all others are
/// one of fifty games that nobody in a bench asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Game {
    /// What lists are asked for: `Quake3Arena`, protocol 71.
    Arena,
    /// `cstrike`, by the old Steam protocol.
    Strike,
    /// `game0` to `game49`, protocol 68.
    Other(u32),
}

/// Servers of each game that lists are asked for, at most.
pub const LISTED: u32 = 30_000;

/// Servers of each of these games that are on a map of their own, whatever the size of the fleet: what
/// questions for few servers ask for. Every other one of them has a password, and no other server has.
pub const RARE: u32 = 100;

impl Game {
    /// The game of a server.
    pub const fn of(number: u32) -> Self {
        match (number < 2 * LISTED, number % 2) {
            (true, 0) => Self::Arena,
            (true, _) => Self::Strike,
            (false, _) => Self::Other(number % 50),
        }
    }
}

/// Game servers on `127.1.0.0`, `127.1.0.1`, …, all on one port.
#[derive(Debug)]
pub struct Fleet {
    port: UdpPort,
    clock: MonotonicClock,
    buffers: RecvBuffers,
    outbox: Outbox,
    /// Answers that wait: which server, to whom, and the challenge.
    asked: Vec<(u32, SocketAddr, Asked)>,
    /// Counts on: with each round a tenth of the servers has other players.
    round: u32,
}

/// How a master asked, with what is to be repeated.
#[derive(Debug, Clone, Copy)]
enum Asked {
    Info([u8; 8]),
    Join(u32),
}

/// The address of a server.
pub fn address(number: u32) -> IpAddr {
    Ipv4Addr::from_bits(0x7F01_0000 + number).into()
}

/// The number of the server at an address.
pub fn number(ip: IpAddr) -> Option<u32> {
    match ip {
        IpAddr::V4(ip) => ip.to_bits().checked_sub(0x7F01_0000),
        IpAddr::V6(_) => None,
    }
}

impl Fleet {
    /// Opens the fleet's port, on all loopback addresses.
    pub fn open() -> Result<Self, NetError> {
        let clock = MonotonicClock::start();
        let config = PortConfig {
            icmp_errors: nearside_net::IcmpErrors::Ignore,
            buffer_bytes: 32 << 20,
            loopback_only: true,
            ..PortConfig::ephemeral_v4()
        };
        Ok(Self {
            port: UdpPort::bind(config, &clock)?,
            clock,
            buffers: RecvBuffers::new(),
            outbox: Outbox::default(),
            asked: Vec::new(),
            round: 0,
        })
    }

    /// The port that all its servers have.
    pub fn port(&self) -> u16 {
        self.port.local_addr().port()
    }

    /// The time by which it waits.
    pub const fn clock(&self) -> &MonotonicClock {
        &self.clock
    }

    /// From now on, a tenth of its servers says other things than in the round before.
    pub const fn next_round(&mut self) {
        self.round += 1;
    }

    /// A server's sign of life; it leaves with the next [`Self::flush`].
    pub fn heartbeat(&mut self, number: u32, master: SocketAddr) {
        let payload: &[u8] = match Game::of(number) {
            Game::Strike => b"q",
            Game::Arena | Game::Other(_) => b"\xFF\xFF\xFF\xFFheartbeat QuakeArena-1\n",
        };
        self.outbox.push(master, payload, Some(address(number)));
    }

    /// Sends what waits.
    pub fn flush(&mut self) {
        self.port.send_all(&mut self.outbox);
    }

    /// Waits for challenges until a moment, and answers those that came. `answered` is told the
    /// number of each server that did, and which master had asked.
    pub fn answer(
        &mut self,
        until: Moment,
        stop: &Stop,
        mut answered: impl FnMut(u32, SocketAddr),
    ) -> Result<usize, NetError> {
        wait([&self.port], stop, Some(until), &self.clock)?;
        let asked = &mut self.asked;
        let take = |datagram: Datagram<'_>| {
            let server = datagram.to_ip.and_then(number);
            if let (Some(server), Some(how)) = (server, read(datagram.payload)) {
                asked.push((server, datagram.from, how));
            }
        };
        self.port.recv_batch(&mut self.buffers, &self.clock, take)?;
        let mut asked = std::mem::take(&mut self.asked);
        for (server, master, how) in &asked {
            let payload = answer(*server, *how, self.round);
            self.outbox.push(*master, &payload, Some(address(*server)));
            answered(*server, *master);
        }
        self.flush();
        let count = asked.len();
        asked.clear();
        self.asked = asked;
        Ok(count)
    }
}

fn read(payload: &[u8]) -> Option<Asked> {
    if let Some(challenge) = payload.strip_prefix(b"\xFF\xFF\xFF\xFFgetinfo ") {
        return <[u8; 8]>::try_from(challenge).ok().map(Asked::Info);
    }
    let challenge = payload.strip_prefix(b"\xFF\xFF\xFF\xFFs\n")?;
    let bytes = <[u8; 4]>::try_from(challenge).ok()?;
    Some(Asked::Join(u32::from_le_bytes(bytes)))
}

/// As `openarena-server` and `hlds` write it, key by key; with the app id, since a master asks by A2S for
/// one that is missing, and this fleet speaks no A2S.
fn answer(number: u32, asked: Asked, round: u32) -> Vec<u8> {
    let players = 3 + u32::from((round + number) % 20 < 10);
    let (game, protocol) = match Game::of(number) {
        Game::Arena => ("Quake3Arena".to_owned(), 71),
        Game::Strike => ("cstrike".to_owned(), 48),
        Game::Other(game) => (format!("game{game}"), 68),
    };
    let map = match number < 2 * RARE {
        true => "rare".to_owned(),
        false => (number % 10).to_string(),
    };
    let password = u32::from(number < 2 * RARE && (number / 2).is_multiple_of(2));
    match asked {
        Asked::Info(challenge) => {
            let mut out = b"\xFF\xFF\xFF\xFFinfoResponse\n".to_vec();
            let info = format!(
                "\\voip\\opus\\g_needpass\\{password}\\pure\\1\\gametype\\0\\sv_maxclients\\8\
                 \\g_humanplayers\\1\\clients\\{players}\\mapname\\oa_dm{map}\\hostname\\Fleet {number}\
                 \\protocol\\{protocol}\\gamename\\{game}\\challenge\\"
            );
            out.extend(info.as_bytes());
            out.extend(challenge);
            out
        }
        Asked::Join(challenge) => format!(
            "0\n\\protocol\\{protocol}\\challenge\\{challenge}\\players\\{players}\\max\\16\\bots\\0\
             \\gamedir\\{game}\\appid\\10\\map\\de_dust{map}\\type\\d\\os\\l\\password\\{password}\\name\\Fleet {number}"
        )
        .into_bytes(),
    }
}
