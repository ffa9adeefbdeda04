//! Clients that ask for lists: the whole list of one game, a filtered one, and page after page.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use nearside_net::{
    Datagram, IcmpErrors, MonotonicClock, PortConfig, RecvBuffers, Stop, UdpPort, wait,
};
use nearside_types::quantile;
use nearside_wire::quake3::master as quake3;
use nearside_wire::steam;

use super::echo::Echo;
use super::process::MasterProcess;
use super::{Counted, Traffic};

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
}

impl ListKind {
    pub(super) const ALL: [Self; 4] = [
        Self::Whole,
        Self::Filtered,
        Self::Paged,
        Self::PagedFiltered,
    ];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Whole => "whole lists",
            Self::Filtered => "filtered lists",
            Self::Paged => "pages",
            Self::PagedFiltered => "filtered pages",
        }
    }

    /// How many are asked for.
    const fn count(self) -> u32 {
        match self {
            Self::Whole | Self::Filtered => 1_000,
            Self::Paged | Self::PagedFiltered => 100_000,
        }
    }
}

/// As many clients at a time as the master may meet in one batch.
const CLIENTS: usize = 16;

/// One client: a socket, and what it asks next.
struct Client {
    port: UdpPort,
    next: Question,
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
        })
    }

    fn emit(&self) -> Vec<u8> {
        match self {
            Self::Quake3(request) => request.emit(),
            Self::Steam(request) => request.emit(),
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

    /// Whether a packet ends the answer; a page does, and names the next question.
    fn is_ended_by(&mut self, packet: &[u8], first: &steam::ListRequest) -> bool {
        match self {
            Self::Quake3(_) => packet.ends_with(b"\\EOT\0\0\0"),
            Self::Steam(request) => {
                let page = steam::ListReply::parse(packet, None);
                if let Ok(steam::ListReply::List(page)) = page {
                    let next = request.next_page(&page);
                    *request = next.unwrap_or_else(|| steam::ListRequest {
                        filter: request.filter.clone(),
                        ..first.clone()
                    });
                }
                true
            }
        }
    }
}

/// Lists of a master.
pub(super) fn of_master(master: &MasterProcess, stop: &Stop, kind: ListKind) -> Result<Counted> {
    let clock = MonotonicClock::start();
    let mut clients = open(master.addr, kind, &clock)?;
    let before = master.cpu_s()?;
    let (packets, run) = ask(&mut clients, master.addr, stop, kind.count(), &clock)?;
    let count = f64::from(kind.count());
    let traffic = Traffic {
        datagrams: packets as f64 + count,
        cpu_s: master.cpu_s()? - before,
        ..run
    };
    Ok((count, traffic))
}

/// The same with an echo that answers each question with one packet of the usual size.
pub(super) fn of_echo(stop: &Stop) -> Result<Counted> {
    const PACKET: [u8; 1392] = [0x66; 1392];
    let echo = Echo::start(|_| Some(&PACKET))?;
    let clock = MonotonicClock::start();
    let question = Question::of(ListKind::Paged)?;
    let mut clients = (0..CLIENTS)
        .map(|_| client(question.clone(), &clock))
        .collect::<Result<Vec<_>>>()?;
    let count = ListKind::Paged.count();
    let (_, run) = ask(&mut clients, echo.addr, stop, count, &clock)?;
    let echoed = echo.finish()?;
    let traffic = Traffic {
        datagrams: echoed.datagrams as f64,
        cpu_s: echoed.cpu.as_secs_f64(),
        ..run
    };
    Ok((f64::from(count), traffic))
}

fn client(question: Question, clock: &MonotonicClock) -> Result<Client> {
    let config = PortConfig {
        icmp_errors: IcmpErrors::Ignore,
        ..PortConfig::at((Ipv4Addr::LOCALHOST, 0).into())
    };
    Ok(Client {
        port: UdpPort::bind(config, clock)?,
        next: question,
        asked_at: Instant::now(),
    })
}

/// Clients that hold a cookie.
fn open(master: SocketAddr, kind: ListKind, clock: &MonotonicClock) -> Result<Vec<Client>> {
    let stop = Stop::new()?;
    let mut buffers = RecvBuffers::new();
    let mut clients = Vec::new();
    for _ in 0..CLIENTS {
        let mut client = client(Question::of(kind)?, clock)?;
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
    let first = match &clients[0].next {
        Question::Steam(request) => request.clone(),
        Question::Quake3(_) => steam::ListRequest::new(steam::Filter::default()),
    };
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
            let mut ended = false;
            let next = &mut client.next;
            let read = |datagram: Datagram<'_>| {
                packets += 1;
                ended |= next.is_ended_by(datagram.payload, &first);
            };
            client.port.recv_batch(&mut buffers, clock, read)?;
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
    client.asked_at = Instant::now();
    client.port.send(master, &client.next.emit(), None)?;
    Ok(())
}
