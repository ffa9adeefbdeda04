//! The probe engine against a small network in virtual time whose every delay is known.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::net::SocketAddr;
use std::time::Duration;

use nearside_discover::journal::{Entry, Recorded, replay};
use nearside_discover::planner::{Listed, PlannerConfig, PlannerKind, ServerId, StopReason};
use nearside_discover::prober::{
    Event, Input, Limit, MAX_TRIES, Output, Pace, PortId, Prober, ProberConfig, Protocol,
};
use nearside_types::{Moment, Origin, Rtt, ServerAddr};
use nearside_wire::a2s::{self, Challenge};
use nearside_wire::quake3;
use proptest::prelude::*;

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// How a server of the test network behaves.
#[derive(Debug, Clone)]
struct Host {
    rtt: Duration,
    /// Requests to swallow before the first answer.
    deaf_for: usize,
    /// Challenges to ask for, each with a new value, before INFO is answered.
    challenges: u8,
    /// Whether every reply comes twice, the second time this much later.
    duplicate: Option<Duration>,
    unreachable: bool,
}

impl Host {
    fn at(millis: u64) -> Self {
        Self {
            rtt: ms(millis),
            deaf_for: 0,
            challenges: 0,
            duplicate: None,
            unreachable: false,
        }
    }
}

/// A datagram on its way to the prober.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct InFlight {
    at: Moment,
    order: usize,
    port: usize,
    from: SocketAddr,
    payload: Option<Vec<u8>>,
}

struct Network {
    hosts: HashMap<SocketAddr, Host>,
    seen: HashMap<SocketAddr, Vec<(Moment, u8)>>,
    in_flight: BinaryHeap<Reverse<InFlight>>,
    order: usize,
    protocol: Protocol,
}

impl Network {
    fn new(protocol: Protocol, hosts: &[(SocketAddr, Host)]) -> Self {
        Self {
            hosts: hosts.iter().cloned().collect(),
            seen: HashMap::new(),
            in_flight: BinaryHeap::new(),
            order: 0,
            protocol,
        }
    }

    fn send(&mut self, now: Moment, port: PortId, to: SocketAddr, payload: &[u8]) {
        self.seen.entry(to).or_default().push((now, port.attempt));
        let Some(host) = self.hosts.get_mut(&to) else {
            return;
        };
        if host.deaf_for > 0 {
            host.deaf_for -= 1;
            return;
        }
        let host = host.clone();
        let reply = if host.unreachable {
            None
        } else {
            Some(self.answer(to, payload))
        };
        self.deliver(now + host.rtt, port, to, reply.clone());
        if let Some(later) = host.duplicate {
            self.deliver(now + host.rtt + later, port, to, reply);
        }
    }

    fn deliver(&mut self, at: Moment, port: PortId, from: SocketAddr, payload: Option<Vec<u8>>) {
        self.order += 1;
        let (order, port) = (self.order, port.index());
        self.in_flight.push(Reverse(InFlight {
            at,
            order,
            port,
            from,
            payload,
        }));
    }

    fn answer(&mut self, to: SocketAddr, payload: &[u8]) -> Vec<u8> {
        match self.protocol {
            Protocol::A2s => self.answer_a2s(to, payload),
            Protocol::Quake3 => answer_quake3(payload),
        }
    }

    fn answer_a2s(&mut self, to: SocketAddr, payload: &[u8]) -> Vec<u8> {
        let host = self.hosts.get_mut(&to).expect("checked by the caller");
        let a2s::Request::Info { challenge } = a2s::Request::parse(payload).unwrap() else {
            panic!("discovery asks for INFO only");
        };
        if host.challenges > 0 {
            host.challenges -= 1;
            return a2s::Response::Challenge(Challenge([host.challenges + 1; 4])).emit();
        }
        let _ = challenge;
        info_reply("A server")
    }
}

fn info_reply(name: &str) -> Vec<u8> {
    let mut message = b"\xff\xff\xff\xff\x49\x11".to_vec();
    for text in [name, "de_dust2", "cstrike", "Counter-Strike: Source"] {
        message.extend_from_slice(text.as_bytes());
        message.push(0);
    }
    message.extend_from_slice(&[240, 0, 12, 32, 2, b'd', b'l', 0, 1]);
    message.extend_from_slice(b"1.0.0.34\0");
    message
}

fn answer_quake3(payload: &[u8]) -> Vec<u8> {
    let quake3::Request::GetInfo { challenge } = quake3::Request::parse(payload).unwrap() else {
        panic!("discovery asks for getinfo only");
    };
    let challenge = challenge.expect("every request carries a challenge");
    let info = quake3::InfoString::new()
        .with("hostname", "^1Red^7Fort")
        .with("clients", "3")
        .with("challenge", challenge.as_bytes());
    quake3::Response::Info(info).emit()
}

fn addr(index: usize) -> SocketAddr {
    format!("198.{}.{}.7:27015", 100 + index / 200, index % 200)
        .parse()
        .unwrap()
}

fn listed(addresses: &[SocketAddr]) -> Vec<Listed> {
    addresses
        .iter()
        .map(|&addr| Listed {
            addr: ServerAddr::from_socket(addr).unwrap(),
            origin: Origin::default(),
        })
        .collect()
}

/// What a run left behind.
struct Run {
    prober: Prober,
    network: Network,
    events: Vec<(Moment, Event)>,
    entries: Vec<Entry>,
}

impl Run {
    fn sends(&self, index: usize) -> Vec<(u64, u8)> {
        let seen = self
            .network
            .seen
            .get(&addr(index))
            .cloned()
            .unwrap_or_default();
        seen.iter()
            .map(|(at, attempt)| (at.since_epoch().as_millis() as u64, *attempt))
            .collect()
    }

    fn rtt(&self, index: u32) -> Option<f64> {
        self.prober.row(ServerId(index)).rtt_ms
    }
}

fn config(protocol: Protocol) -> ProberConfig {
    ProberConfig {
        pace: Pace::PerSecond(1000.0),
        ..ProberConfig::new(protocol, 9)
    }
}

fn run(config: ProberConfig, hosts: &[Host]) -> Run {
    let hosts: Vec<(SocketAddr, Host)> = hosts
        .iter()
        .enumerate()
        .map(|(index, host)| (addr(index), host.clone()))
        .collect();
    run_hosts(config, &hosts, &[])
}

fn run_hosts(config: ProberConfig, hosts: &[(SocketAddr, Host)], favourites: &[ServerId]) -> Run {
    run_planned(config, PlannerKind::Conventional, hosts, favourites)
}

fn run_planned(
    config: ProberConfig,
    kind: PlannerKind,
    hosts: &[(SocketAddr, Host)],
    favourites: &[ServerId],
) -> Run {
    let addresses: Vec<SocketAddr> = hosts.iter().map(|(addr, _)| *addr).collect();
    let mut network = Network::new(config.protocol, hosts);
    let (sender, entries) = std::sync::mpsc::channel();
    let sink = Box::new(move |entry| sender.send(entry).unwrap());
    let planner = PlannerConfig::published(kind);
    let mut now = Moment::EPOCH;
    let mut recorded = Recorded::new(config, &planner, now, Some(sink));
    recorded.handle_input(now, Input::Listed(&listed(&addresses)));
    recorded.handle_input(now, Input::Favourites(favourites));
    recorded.handle_input(now, Input::ListComplete);
    let mut events = Vec::new();
    loop {
        match recorded.poll_output(now) {
            Output::Transmit { port, to, payload } => network.send(now, port, to, &payload),
            Output::Event(event) => events.push((now, event)),
            Output::Finished => break,
            Output::Wait(until) => now = step(&mut recorded, &mut network, now, until),
        }
    }
    recorded.close();
    let entries: Vec<Entry> = entries.try_iter().collect();
    let again = replay(entries.iter().cloned()).unwrap();
    assert_eq!(
        again.identical,
        Some(true),
        "a replay does exactly the same"
    );
    assert_eq!(again.prober.snapshot(), recorded.prober().snapshot());
    Run {
        prober: again.prober,
        network,
        events,
        entries,
    }
}

/// Jumps to the next reply or wake-up, whichever is first.
fn step(
    recorded: &mut Recorded,
    network: &mut Network,
    now: Moment,
    until: Option<Moment>,
) -> Moment {
    let reply = network.in_flight.peek().map(|Reverse(next)| next.at);
    let next = [reply, until]
        .into_iter()
        .flatten()
        .min()
        .expect("waits for nothing at all");
    assert!(next >= now, "time goes forward");
    if reply == Some(next) {
        let Reverse(datagram) = network.in_flight.pop().unwrap();
        let port = PortId::all()
            .find(|port| port.index() == datagram.port)
            .unwrap();
        let input = match &datagram.payload {
            Some(payload) => Input::Datagram {
                port,
                from: datagram.from,
                received: Some(next),
                payload,
            },
            None => Input::Unreachable { to: datagram.from },
        };
        recorded.handle_input(next, input);
    } else {
        assert!(next > now, "a wake-up that is already past would spin");
    }
    next
}

#[test]
fn pings_are_true_and_rows_are_filled() {
    let run = run(config(Protocol::A2s), &[Host::at(38), Host::at(250)]);
    assert_eq!(run.rtt(0), Some(38.0));
    assert_eq!(run.rtt(1), Some(250.0));
    let row = run.prober.row(ServerId(0));
    assert_eq!(row.name.as_deref(), Some("A server"));
    assert_eq!(
        (row.players, row.bots, row.max_players),
        (Some(12), Some(2), Some(32))
    );
    assert_eq!(row.password, Some(false));
    assert!(row.clean);
    let summary = run.prober.summary();
    assert_eq!(
        (
            summary.listed,
            summary.probed,
            summary.answered,
            summary.playable
        ),
        (2, 2, 2, 1)
    );
    assert_eq!(summary.stopped, Some(StopReason::Exhausted));
    assert_eq!(
        (summary.probes_sent, summary.bytes_sent, summary.flows),
        (2, 2 * 53, 2)
    );
}

#[test]
fn a_retry_never_inflates_the_ping() {
    let mut slow = Host::at(120);
    slow.deaf_for = 2;
    let run = run(config(Protocol::A2s), &[slow]);
    assert_eq!(run.rtt(0), Some(120.0));
    assert!(run.prober.row(ServerId(0)).clean);
    assert_eq!(
        run.sends(0),
        [(0, 0), (1000, 1), (2000, 2)],
        "each try on its own socket"
    );
}

#[test]
fn a_reply_that_comes_after_the_next_try_is_measured_from_its_own_try() {
    let run = run(config(Protocol::A2s), &[Host::at(1300)]);
    assert_eq!(run.rtt(0), Some(1300.0));
    assert!(run.prober.row(ServerId(0)).clean);
    assert_eq!(run.prober.oddities().duplicates, 0);
}

#[test]
fn a_reply_after_the_last_timeout_still_makes_a_row() {
    // The first stretch of 100 closes after a second and gives up at once; server 0 answers later,
    // while the second stretch is still under way.
    let mut one_try = config(Protocol::A2s);
    one_try.timeouts = vec![ms(100)];
    one_try.pace = Pace::PerSecond(100.0);
    let mut hosts = vec![Host::at(20); 120];
    hosts[0] = Host::at(1100);
    let run = run(one_try, &hosts);
    assert_eq!(run.rtt(0), Some(1100.0));
    assert_eq!(run.prober.oddities().late, 1);
    assert_eq!(run.prober.summary().answered, 120);
}

#[test]
fn challenge_and_info_legs_are_two_samples_and_the_lower_one_counts() {
    let run = run(
        config(Protocol::A2s),
        &[Host {
            challenges: 1,
            ..Host::at(80)
        }],
    );
    let row = run.prober.row(ServerId(0));
    assert_eq!((row.rtt_ms, row.samples, row.clean), (Some(80.0), 2, true));
    assert_eq!(
        run.sends(0),
        [(0, 0), (80, 0)],
        "the second leg goes at once, on the same socket"
    );
    assert_eq!(run.prober.summary().flows, 1);
    assert_eq!(run.prober.summary().bytes_sent, 53 + 57);
}

#[test]
fn three_challenges_are_answered_and_the_server_sees_three_datagrams_a_second() {
    let run = run(
        config(Protocol::A2s),
        &[Host {
            challenges: 3,
            ..Host::at(40)
        }],
    );
    assert_eq!(run.rtt(0), Some(40.0));
    assert_eq!(run.sends(0), [(0, 0), (40, 0), (80, 0), (1000, 0)]);
}

#[test]
fn a_server_that_only_ever_challenges_is_alive_and_measured_but_nameless() {
    let run = run(
        config(Protocol::A2s),
        &[Host {
            challenges: 200,
            ..Host::at(40)
        }],
    );
    let row = run.prober.row(ServerId(0));
    assert_eq!((row.rtt_ms, row.name), (Some(40.0), None));
    assert!(run.sends(0).len() <= 12);
}

#[test]
fn duplicated_replies_change_nothing() {
    for challenges in [0, 1] {
        let host = Host {
            duplicate: Some(ms(1)),
            challenges,
            ..Host::at(60)
        };
        let run = run(config(Protocol::A2s), &[host, Host::at(400)]);
        assert_eq!(run.rtt(0), Some(60.0), "{challenges} challenges");
        assert!(run.prober.row(ServerId(0)).clean);
    }
}

#[test]
fn quake3_replies_are_matched_by_their_challenge() {
    let run = run(
        config(Protocol::Quake3),
        &[Host {
            deaf_for: 1,
            ..Host::at(70)
        }],
    );
    let row = run.prober.row(ServerId(0));
    assert_eq!(
        (row.rtt_ms, row.name.as_deref()),
        (Some(70.0), Some("RedFort"))
    );
}

#[test]
fn unreachable_means_down_now() {
    let run = run(
        config(Protocol::A2s),
        &[Host {
            unreachable: true,
            ..Host::at(5)
        }],
    );
    assert_eq!(run.sends(0).len(), 1);
    assert_eq!(
        run.events,
        [(Moment::EPOCH + ms(5), Event::Unanswered(ServerId(0)))]
    );
}

#[test]
fn forged_stale_and_foreign_datagrams_are_counted_and_ignored() {
    let hosts = [(
        addr(0),
        Host {
            deaf_for: 9,
            ..Host::at(1)
        },
    )];
    let mut prober = Prober::new(
        config(Protocol::Quake3),
        &PlannerConfig::published(PlannerKind::Conventional),
        Moment::EPOCH,
    );
    prober.handle_input(Moment::EPOCH, Input::Listed(&listed(&[hosts[0].0])));
    prober.handle_input(Moment::EPOCH, Input::ListComplete);
    assert!(matches!(
        prober.poll_output(Moment::EPOCH),
        Output::Transmit { .. }
    ));
    let info = quake3::InfoString::new().with("challenge", "guessed1");
    let forged = quake3::Response::Info(info).emit();
    let later = Moment::EPOCH + ms(10);
    let mut feed = |from: SocketAddr, attempt: u8, payload: &[u8]| {
        let port = PortId {
            ipv6: false,
            attempt,
        };
        prober.handle_input(
            later,
            Input::Datagram {
                port,
                from,
                received: Some(later),
                payload,
            },
        );
    };
    feed(addr(0), 0, &forged);
    feed(addr(5), 0, &forged);
    feed(addr(0), 1, &forged);
    feed("198.100.0.7:1".parse().unwrap(), 0, &forged);
    feed(addr(0), 0, b"\xff\xff\xff\xffgarbage");
    let odd = prober.oddities();
    assert_eq!(
        (odd.wrong_challenge, odd.unsolicited, odd.malformed),
        (1, 3, 1)
    );
    assert_eq!(prober.pending(), 1);
}

#[test]
fn an_untrustworthy_stamp_measures_nothing_and_the_next_try_does() {
    let planner = PlannerConfig::published(PlannerKind::Conventional);
    let mut prober = Prober::new(config(Protocol::A2s), &planner, Moment::EPOCH);
    prober.handle_input(Moment::EPOCH, Input::Listed(&listed(&[addr(0)])));
    prober.handle_input(Moment::EPOCH, Input::ListComplete);
    assert!(matches!(
        prober.poll_output(Moment::EPOCH),
        Output::Transmit { .. }
    ));
    let reply = info_reply("stepped");
    let feed = |prober: &mut Prober, at: Moment, attempt: u8, received: Option<Moment>| {
        let port = PortId {
            ipv6: false,
            attempt,
        };
        let from = addr(0);
        prober.handle_input(
            at,
            Input::Datagram {
                port,
                from,
                received,
                payload: &reply,
            },
        );
    };
    feed(&mut prober, Moment::EPOCH + ms(10), 0, None);
    assert_eq!(prober.pending(), 1, "answered, but not measured");
    let later = Moment::EPOCH + ms(1000);
    while !matches!(prober.poll_output(later), Output::Transmit { .. }) {}
    feed(&mut prober, later + ms(33), 1, Some(later + ms(33)));
    assert_eq!(prober.row(ServerId(0)).rtt_ms, Some(33.0));
    assert_eq!(prober.oddities().unstamped, 1);
}

#[test]
fn servers_on_one_address_are_asked_a_few_times_a_second() {
    let hosts: Vec<(SocketAddr, Host)> = (0..8)
        .map(|index| {
            (
                format!("198.100.0.7:{}", 27015 + index).parse().unwrap(),
                Host::at(10),
            )
        })
        .collect();
    let run = run_hosts(config(Protocol::A2s), &hosts, &[]);
    let mut times: Vec<u128> = run
        .network
        .seen
        .values()
        .flatten()
        .map(|(at, _)| at.since_epoch().as_millis())
        .collect();
    times.sort_unstable();
    assert_eq!(times, [0, 250, 500, 750, 1000, 1250, 1500, 1750]);
    assert_eq!(run.prober.summary().answered, 8);
}

#[test]
fn favourites_come_first_and_are_probed_once() {
    let hosts: Vec<(SocketAddr, Host)> = (0..20).map(|i| (addr(i), Host::at(50))).collect();
    let run = run_hosts(config(Protocol::A2s), &hosts, &[ServerId(19), ServerId(7)]);
    assert_eq!(run.events[0].1, Event::Answered(ServerId(19)));
    assert_eq!(run.events[1].1, Event::Answered(ServerId(7)));
    assert_eq!(run.prober.summary().probes_sent, 20);
}

#[test]
fn no_planner_asks_again_for_a_favourite_that_is_still_in_flight() {
    let mut hosts: Vec<(SocketAddr, Host)> = (0..20).map(|i| (addr(i), Host::at(50))).collect();
    hosts[7].1.deaf_for = 9;
    for kind in PlannerKind::ALL {
        let favourites = [ServerId(19), ServerId(7), ServerId(0)];
        let run = run_planned(config(Protocol::A2s), kind, &hosts, &favourites);
        let summary = run.prober.summary();
        assert_eq!(
            (summary.probed, summary.answered, summary.probes_sent),
            (20, 19, 22),
            "{kind}"
        );
    }
}

#[test]
fn a_favourite_that_never_answers_does_not_hold_the_rest_up() {
    let mut hosts: Vec<(SocketAddr, Host)> = (0..5).map(|i| (addr(i), Host::at(50))).collect();
    hosts[3].1.deaf_for = 9;
    for kind in PlannerKind::ALL {
        let run = run_planned(config(Protocol::A2s), kind, &hosts, &[ServerId(3)]);
        assert_eq!(run.prober.summary().answered, 4, "{kind}");
    }
}

#[test]
fn challenge_legs_keep_to_the_pace() {
    let mut slow = config(Protocol::A2s);
    slow.pace = Pace::PerSecond(100.0);
    let hosts = vec![
        Host {
            challenges: 1,
            ..Host::at(300)
        };
        40
    ];
    let run = run(slow, &hosts);
    let mut sends: Vec<Moment> = run
        .network
        .seen
        .values()
        .flatten()
        .map(|(at, _)| *at)
        .collect();
    sends.sort_unstable();
    assert_eq!(sends.len(), 80);
    for pair in sends.windows(2) {
        assert!(pair[1] - pair[0] >= ms(4), "{:?}", pair);
    }
}

#[test]
fn a_limit_on_probes_and_on_time_ends_the_run() {
    let hosts = vec![Host::at(50); 100];
    let mut limited = config(Protocol::A2s);
    limited.limit = Limit {
        probes: Some(10),
        time: None,
    };
    let run_probes = run(limited.clone(), &hosts);
    assert_eq!(run_probes.prober.summary().probes_sent, 10);
    assert_eq!(
        run_probes.prober.summary().answered,
        10,
        "what was sent may still be answered"
    );
    assert_eq!(run_probes.prober.summary().stopped, Some(StopReason::Limit));
    limited.limit = Limit {
        probes: None,
        time: Some(ms(60)),
    };
    let run_time = run(limited, &hosts);
    assert_eq!(run_time.prober.summary().stopped, Some(StopReason::Limit));
    assert!((run_time.prober.summary().seconds - 0.06).abs() < 1e-9);
}

#[test]
fn interrupt_keeps_what_was_found() {
    let planner = PlannerConfig::published(PlannerKind::Conventional);
    let mut prober = Prober::new(config(Protocol::A2s), &planner, Moment::EPOCH);
    prober.handle_input(Moment::EPOCH, Input::Listed(&listed(&[addr(0), addr(1)])));
    prober.handle_input(Moment::EPOCH, Input::ListComplete);
    assert!(matches!(
        prober.poll_output(Moment::EPOCH),
        Output::Transmit { .. }
    ));
    let later = Moment::EPOCH + ms(20);
    let port = PortId {
        ipv6: false,
        attempt: 0,
    };
    let payload = &info_reply("found");
    prober.handle_input(
        later,
        Input::Datagram {
            port,
            from: addr(0),
            received: Some(later),
            payload,
        },
    );
    prober.handle_input(later, Input::Interrupt);
    assert_eq!(
        prober.poll_output(later),
        Output::Event(Event::Answered(ServerId(0)))
    );
    assert_eq!(prober.poll_output(later), Output::Finished);
    assert_eq!(prober.summary().stopped, Some(StopReason::Interrupted));
    assert_eq!(prober.snapshot().servers.len(), 1);
}

#[test]
fn a_bound_on_pending_servers_holds_even_when_all_are_silent() {
    let mut bounded = config(Protocol::A2s);
    bounded.max_pending = 5;
    let run = run(
        bounded,
        &vec![
            Host {
                deaf_for: 99,
                ..Host::at(1)
            };
            40
        ],
    );
    let summary = run.prober.summary();
    assert_eq!(
        (summary.probed, summary.answered, summary.probes_sent),
        (40, 0, 120)
    );
    assert_eq!(summary.stopped, Some(StopReason::Exhausted));
}

#[test]
fn second_tries_of_a_stretch_come_after_all_its_first_tries() {
    let mut slow = config(Protocol::A2s);
    slow.pace = Pace::PerSecond(20.0);
    let run = run(
        slow,
        &vec![
            Host {
                deaf_for: 1,
                ..Host::at(10)
            };
            60
        ],
    );
    let first: Vec<u64> = (0..60).map(|i| run.sends(i)[0].0).collect();
    let second: Vec<u64> = (0..60).map(|i| run.sends(i)[1].0).collect();
    assert!(
        second.iter().min() > first.iter().max(),
        "although the first timed out long before"
    );
}

#[test]
fn the_pace_is_kept_over_the_whole_run() {
    let run = run(config(Protocol::A2s), &vec![Host::at(30); 500]);
    let summary = run.prober.summary();
    assert!(
        (summary.seconds - 0.529).abs() < 0.002,
        "{}",
        summary.seconds
    );
}

#[test]
fn the_record_reads_back_from_json() {
    let run = run(
        config(Protocol::A2s),
        &[
            Host::at(20),
            Host {
                challenges: 1,
                ..Host::at(9)
            },
        ],
    );
    for entry in &run.entries {
        let line = serde_json::to_string(entry).unwrap();
        assert_eq!(&serde_json::from_str::<Entry>(&line).unwrap(), entry);
    }
    let mut tampered = run.entries.clone();
    let polls = tampered
        .iter()
        .position(|entry| matches!(entry, Entry::Datagram { .. }))
        .unwrap();
    tampered.remove(polls);
    assert_eq!(replay(tampered).unwrap().identical, Some(false));
    assert!(replay(run.entries[1..].to_vec()).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever the network does, the run ends, no server is asked more often than its tries and
    /// challenges explain, three-a-second holds, and every ping is the truth.
    #[test]
    fn any_network_is_survived(
        hosts in proptest::collection::vec(
            (1u64..2500, 0usize..4, 0u8..5, proptest::option::of(0u64..300), any::<bool>()), 1..30),
        challenge_only in any::<bool>(),
    ) {
        let hosts: Vec<Host> = hosts
            .into_iter()
            .map(|(rtt, deaf_for, challenges, duplicate, down)| Host {
                rtt: ms(rtt),
                deaf_for,
                challenges: if challenge_only { challenges } else { 0 },
                duplicate: duplicate.map(ms),
                unreachable: down && deaf_for == 0,
            })
            .collect();
        let run = run(config(Protocol::A2s), &hosts);
        for (index, host) in hosts.iter().enumerate() {
            let row = run.prober.row(ServerId(index as u32));
            if let Some(rtt) = row.rtt_ms {
                let truth = Rtt::from_duration(host.rtt).as_millis_f64();
                prop_assert!(rtt >= truth - 1e-9, "{index}: {rtt} below {truth}");
                prop_assert!(!row.clean || rtt <= truth + 1e-9, "{index}: clean {rtt} above {truth}");
            }
            let sends = run.sends(index);
            prop_assert!(sends.len() <= MAX_TRIES * 4);
            for window in sends.windows(4) {
                prop_assert!(window[3].0 - window[0].0 >= 1000, "{index}: {sends:?}");
            }
        }
    }

    /// Any bytes from anyone at any time: no panic, and the books stay straight.
    #[test]
    fn any_sequence_of_datagrams_is_survived(
        steps in proptest::collection::vec(
            (0u64..1500, 0usize..4, 0u8..4, proptest::collection::vec(any::<u8>(), 0..40), 0u8..6), 1..80),
        quake3: bool,
    ) {
        let protocol = if quake3 { Protocol::Quake3 } else { Protocol::A2s };
        let planner = PlannerConfig::published(PlannerKind::As);
        let mut now = Moment::EPOCH;
        let mut prober = Prober::new(config(protocol), &planner, now);
        let addresses: Vec<SocketAddr> = (0..3).map(addr).collect();
        prober.handle_input(now, Input::Listed(&listed(&addresses)));
        prober.handle_input(now, Input::ListComplete);
        for (wait, from, attempt, bytes, kind) in steps {
            now += ms(wait);
            let payload = match kind {
                0 => info_reply("x"),
                1 => a2s::Response::Challenge(Challenge([bytes.len() as u8; 4])).emit(),
                2 => [b"\xfe\xff\xff\xff".as_slice(), &bytes].concat(),
                3 => [b"\xff\xff\xff\xffinfoResponse\n".as_slice(), &bytes].concat(),
                _ => bytes,
            };
            let port = PortId { ipv6: false, attempt };
            let input = match kind {
                5 => Input::Unreachable { to: addr(from) },
                _ => Input::Datagram { port, from: addr(from), received: Some(now), payload: &payload },
            };
            prober.handle_input(now, input);
            for _ in 0..100 {
                if matches!(prober.poll_output(now), Output::Wait(_) | Output::Finished) {
                    break;
                }
            }
            let summary = prober.summary();
            prop_assert!(summary.answered <= summary.probed && summary.probed <= 3);
            prop_assert!(prober.pending() <= 3);
        }
    }
}
