//! Clients that ask for lists: the whole list of one game, a filtered one, page after page, and what
//! nobody asked before.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use nearside_net::{
    Datagram, IcmpErrors, MonotonicClock, PortConfig, RecvBuffers, Stop, UdpPort, wait,
};
use nearside_types::quantile;
use nearside_wire::quake3::master as quake3;
use nearside_wire::steam;

use super::echo::Echo;
use super::process::Measured;
use super::{Counted, Traffic};
use crate::fleet::RARE;

/// What clients ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ListKind {
    /// All servers of one game: 30,000, in some 150 packets.
    Whole,
    /// The same game without empty and full servers.
    Filtered,
    /// Pages of 231 servers, one after the other.
    Paged,
    /// Pages of one map's servers, a tenth of the game.
    PagedFiltered,
    /// A map of 100 servers, in words that nobody used before; so are all that follow.
    NewMap,
    /// The servers with a password, of any game: 50.
    NewFlags,
    /// Those on the map.
    NewMapAndFlags,
    /// One address.
    NewAddress,
    /// A mode that nobody has, of any game of a protocol.
    NewMode,
    /// A name, which has no index: the master looks at all servers of the game.
    NewName,
}

impl ListKind {
    /// What clients ask again and again.
    pub(super) const USUAL: [Self; 4] = [
        Self::Whole,
        Self::Filtered,
        Self::Paged,
        Self::PagedFiltered,
    ];
    /// What nobody asked before.
    pub(super) const UNUSUAL: [Self; 6] = [
        Self::NewMap,
        Self::NewFlags,
        Self::NewMapAndFlags,
        Self::NewAddress,
        Self::NewMode,
        Self::NewName,
    ];
    /// Of those, what an index finds: the same servers however many others there are.
    pub(super) const INDEXED: [Self; 5] = [
        Self::NewMap,
        Self::NewFlags,
        Self::NewMapAndFlags,
        Self::NewAddress,
        Self::NewMode,
    ];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Whole => "whole lists",
            Self::Filtered => "filtered lists",
            Self::Paged => "pages",
            Self::PagedFiltered => "filtered pages",
            Self::NewMap => "new: a map",
            Self::NewFlags => "new: a flag",
            Self::NewMapAndFlags => "new: map and flag",
            Self::NewAddress => "new: an address",
            Self::NewMode => "new: a mode",
            Self::NewName => "new: a name",
        }
    }

    /// How many are asked for at a time. Of new questions a master answers only what its allowance for
    /// them has saved up.
    const fn count(self) -> u32 {
        match self {
            Self::Whole | Self::Filtered => 1_000,
            Self::Paged | Self::PagedFiltered => 100_000,
            Self::NewMap
            | Self::NewFlags
            | Self::NewMapAndFlags
            | Self::NewAddress
            | Self::NewMode => 1_500,
            Self::NewName => 6,
        }
    }

    /// How many servers the one page has that answers a new question of Steam.
    const fn found(self) -> Option<usize> {
        match self {
            Self::NewMap => Some(RARE as usize),
            Self::NewFlags | Self::NewMapAndFlags => Some(RARE as usize / 2),
            Self::NewAddress => Some(1),
            Self::NewName => Some(0),
            _ => None,
        }
    }

    /// How many ask at a time: as many as the master may meet in one batch, or one where an answer
    /// takes so long that others would only wait for it.
    const fn clients(self) -> usize {
        match self {
            Self::NewName => 1,
            _ => CLIENTS,
        }
    }
}

const CLIENTS: usize = 16;

/// How often new questions are asked.
const ROUNDS_OF_NEW: usize = 5;

/// After so long a master's allowance for new questions is full again.
const SAVED_UP: Duration = Duration::from_secs(5);

/// One client: a socket, and what it asks next.
struct Client {
    port: UdpPort,
    next: Question,
    kind: ListKind,
    asked_at: Instant,
}

#[derive(Clone)]
enum Question {
    Quake3(quake3::ListRequest),
    Steam(steam::ListRequest),
}

impl Question {
    fn of(kind: ListKind) -> Result<Self> {
        let mut request = quake3::ListRequest::new(Some("Quake3Arena"), 71);
        let filter = |text: &[u8]| steam::Filter::parse(text).map(steam::ListRequest::new);
        Ok(match kind {
            ListKind::Whole => Self::Quake3(request),
            ListKind::Filtered => {
                (request.empty, request.full) = (false, false);
                Self::Quake3(request)
            }
            ListKind::Paged => Self::Steam(filter(b"\\gamedir\\cstrike")?),
            ListKind::PagedFiltered => Self::Steam(filter(b"\\gamedir\\cstrike\\map\\de_dust3")?),
            ListKind::NewMap => Self::Steam(filter(b"\\map\\de_dustrare")?),
            ListKind::NewFlags => Self::Steam(filter(b"\\password\\1\\empty\\1")?),
            ListKind::NewMapAndFlags => Self::Steam(filter(b"\\map\\de_dustrare\\password\\1")?),
            ListKind::NewAddress => Self::Steam(filter(b"\\gameaddr\\127.1.0.1")?),
            ListKind::NewMode => Self::Quake3(quake3::ListRequest::new(None, 68)),
            ListKind::NewName => Self::Steam(filter(b"\\gamedir\\cstrike\\name_match\\*none*")?),
        })
    }

    fn emit(&self) -> Vec<u8> {
        match self {
            Self::Quake3(request) => request.emit(),
            Self::Steam(request) => request.emit(),
        }
    }

    /// Makes it one that nobody asked before.
    fn vary(&mut self) {
        static ASKED: AtomicU32 = AtomicU32::new(0);
        let number = ASKED.fetch_add(1, Ordering::Relaxed);
        match self {
            Self::Quake3(request) => request.other = vec![format!("gametype=none{number}")],
            Self::Steam(request) => {
                // A key that means nothing: the same question in other words.
                let filter = request.filter.clone().without("nobody");
                request.filter = filter.with("nobody", number.to_string());
            }
        }
    }

    /// Takes up the cookie of an answer.
    fn with_cookie(self, answer: &[u8]) -> Option<Self> {
        match self {
            Self::Quake3(mut request) => match quake3::ListReply::parse(answer, None) {
                Ok(quake3::ListReply::Cookie(cookie)) => {
                    request.challenge = Some(cookie);
                    Some(Self::Quake3(request))
                }
                _ => None,
            },
            Self::Steam(mut request) => match steam::ListReply::parse(answer, None) {
                Ok(steam::ListReply::Cookie(cookie)) => {
                    request.filter = request.filter.with_challenge(cookie);
                    Some(Self::Steam(request))
                }
                _ => None,
            },
        }
    }

    /// Whether a packet ends the answer; a page does, and names the next question. Clients do no more
    /// with pages than that: it is the master that has to be busy.
    fn is_ended_by(&mut self, packet: &[u8]) -> bool {
        match self {
            Self::Quake3(_) => packet.ends_with(b"\\EOT\0\0\0"),
            Self::Steam(request) => {
                // The last entry of a list is 0.0.0.0:0, which asks for the first page again.
                if let Some([a, b, c, d, port @ ..]) = packet.last_chunk::<6>() {
                    let ip = Ipv4Addr::new(*a, *b, *c, *d);
                    request.seed = SocketAddrV4::new(ip, u16::from_be_bytes(*port));
                }
                true
            }
        }
    }
}

/// Lists of a master.
pub(super) fn of_master(master: &Measured, stop: &Stop, kind: ListKind) -> Result<Counted> {
    let clock = MonotonicClock::start();
    let mut clients = open(master.addr, kind, &clock)?;
    of(master, &mut clients, stop, kind.count(), &clock)
}

/// What nobody asked before, in rounds; the cheapest counts, since other work on the machine can only add
/// to what a question takes. What was saved up is enough for all of them.
pub(super) fn of_new(master: &Measured, stop: &Stop, kind: ListKind) -> Result<Counted> {
    std::thread::sleep(SAVED_UP);
    let clock = MonotonicClock::start();
    let mut clients = open(master.addr, kind, &clock)?;
    let mut cheapest = of(master, &mut clients, stop, kind.count(), &clock)?;
    for _ in 1..ROUNDS_OF_NEW {
        // Apart, so that one disturbance does not meet all.
        std::thread::sleep(Duration::from_millis(500));
        let round = of(master, &mut clients, stop, kind.count(), &clock)?;
        if round.1.cpu_s < cheapest.1.cpu_s {
            cheapest = round;
        }
    }
    Ok(cheapest)
}

/// The same clients with an echo that answers each question with one full page.
pub(super) fn of_echo(stop: &Stop) -> Result<Counted> {
    let echo = Measured::echo(Echo::Pages)?;
    let clock = MonotonicClock::start();
    let question =
        Question::of(ListKind::Paged)?.with_cookie(&steam::ListReply::Cookie([7; 4]).emit());
    let question = question.context("cookies are read as they are written")?;
    let mut clients = (0..CLIENTS)
        .map(|_| client(ListKind::Paged, question.clone(), &clock))
        .collect::<Result<Vec<_>>>()?;
    of(&echo, &mut clients, stop, ListKind::Paged.count(), &clock)
}

fn of(
    measured: &Measured,
    clients: &mut [Client],
    stop: &Stop,
    count: u32,
    clock: &MonotonicClock,
) -> Result<Counted> {
    let before = measured.cpu_s()?;
    let (packets, run) = ask(clients, measured.addr, stop, count, clock)?;
    let count = f64::from(count);
    let traffic = Traffic {
        datagrams: packets as f64 + count,
        cpu_s: measured.cpu_s()? - before,
        ..run
    };
    Ok((count, traffic))
}

fn client(kind: ListKind, question: Question, clock: &MonotonicClock) -> Result<Client> {
    let config = PortConfig {
        icmp_errors: IcmpErrors::Ignore,
        ..PortConfig::at((Ipv4Addr::LOCALHOST, 0).into())
    };
    Ok(Client {
        port: UdpPort::bind(config, clock)?,
        next: question,
        kind,
        asked_at: Instant::now(),
    })
}

/// Clients that hold a cookie.
fn open(master: SocketAddr, kind: ListKind, clock: &MonotonicClock) -> Result<Vec<Client>> {
    let stop = Stop::new()?;
    let mut buffers = RecvBuffers::new();
    let mut clients = Vec::new();
    for _ in 0..kind.clients() {
        let mut client = client(kind, Question::of(kind)?, clock)?;
        client.port.send(master, &client.next.emit(), None)?;
        wait(
            [&client.port],
            &stop,
            Some(clock.now() + Duration::from_secs(5)),
            clock,
        )?;
        let mut cookie = None;
        let question = client.next.clone();
        client.port.recv_batch(&mut buffers, clock, |datagram| {
            cookie = question.clone().with_cookie(datagram.payload);
        })?;
        client.next = cookie.context("the master gave no cookie")?;
        clients.push(client);
    }
    Ok(clients)
}

/// Every client asks, and asks again when it was answered, until `count` were.
fn ask(
    clients: &mut [Client],
    master: SocketAddr,
    stop: &Stop,
    count: u32,
    clock: &MonotonicClock,
) -> Result<(u64, Traffic)> {
    let mut buffers = RecvBuffers::new();
    let (mut asked, mut done, mut packets) = (0, 0, 0_u64);
    let mut latencies = Vec::new();
    let began = Instant::now();
    for client in clients.iter_mut() {
        send(client, master)?;
        asked += 1;
    }
    while done < count && !stop.is_stopped() {
        let until = clock.now() + Duration::from_secs(2);
        let ready = wait(
            clients.iter().map(|client| &client.port),
            stop,
            Some(until),
            clock,
        )?;
        if ready.ports.is_empty() && !stop.is_stopped() {
            bail!("{done} of {count} lists came, then none for two seconds");
        }
        for index in ready.ports {
            let client = &mut clients[index];
            let (mut ended, mut wrong) = (false, None);
            let (next, kind) = (&mut client.next, client.kind);
            let read = |datagram: Datagram<'_>| {
                packets += 1;
                ended |= next.is_ended_by(datagram.payload);
                // Six bytes of header, six for each server and for the end.
                let length = kind.found().map(|servers| 6 + 6 * (servers + 1));
                let is_wrong = length.is_some_and(|length| length != datagram.payload.len());
                wrong = wrong.or(is_wrong.then_some(datagram.payload.len()));
            };
            client.port.recv_batch(&mut buffers, clock, read)?;
            if let Some(length) = wrong {
                bail!("{}: an answer of {length} bytes", kind.name());
            }
            if ended {
                done += 1;
                latencies.push(client.asked_at.elapsed().as_secs_f64() * 1e3);
                if asked < count {
                    send(client, master)?;
                    asked += 1;
                }
            }
        }
    }
    latencies.sort_unstable_by(f64::total_cmp);
    let traffic = Traffic {
        wall_s: began.elapsed().as_secs_f64(),
        p50_ms: quantile(&latencies, 0.5).unwrap_or_default(),
        p99_ms: quantile(&latencies, 0.99).unwrap_or_default(),
        ..Traffic::default()
    };
    Ok((packets, traffic))
}

fn send(client: &mut Client, master: SocketAddr) -> Result<()> {
    if ListKind::UNUSUAL.contains(&client.kind) {
        client.next.vary();
    }
    client.asked_at = Instant::now();
    client.port.send(master, &client.next.emit(), None)?;
    Ok(())
}
