//! The bodies of the engines' fuzz targets in `fuzz/`, also called by the property tests in
//! `tests/never_panics.rs`. Each reads any bytes as a sequence of events and checks the engine's
//! books after every step.

use std::net::SocketAddr;
use std::time::Duration;

use nearside_types::{Asn, Listed, Moment, Origin, Rtt, ServerAddr};
use nearside_wire::list::OriginForm;
use nearside_wire::steam::{Filter, Region};

use crate::inspect::{InspectConfig, InspectOutput, Inspection};
use crate::planner::{
    AdaptiveConfig, AdaptivePlanner, Levels, Memory, Next, Objective, Outcome, PlaceName, Planner,
    PlannerConfig, PlannerKind, RememberedGroup, RememberedServer, Sample, ServerId,
};
use crate::prober::{Input, Limit, MAX_TRIES, Output, PortId, Prober, ProberConfig, Protocol};
use crate::sources::{Quake3Query, Quake3Source, Source, SourceOutput, SteamQuery, SteamSource};

/// Servers the fuzzed prober knows: few, so that events meet.
const SERVERS: usize = 6;

/// One event of a sequence: three bytes say what, who and when, then a length and that many bytes.
struct Step<'a> {
    what: u8,
    who: u8,
    wait: Duration,
    body: &'a [u8],
}

fn steps(mut bytes: &[u8]) -> impl Iterator<Item = Step<'_>> {
    std::iter::from_fn(move || {
        let [what, who, wait, length, rest @ ..] = bytes else {
            return None;
        };
        let (body, remaining) = rest.split_at(usize::from(*length).min(rest.len()));
        bytes = remaining;
        Some(Step {
            what: *what,
            who: *who,
            wait: Duration::from_millis(u64::from(*wait) * 8),
            body,
        })
    })
}

/// A datagram that gets past the first bytes more often than chance would let it.
fn datagram(step: &Step<'_>) -> Vec<u8> {
    let opening: &[u8] = match step.what % 8 {
        0 => b"\xFF\xFF\xFF\xFFI\x11a\0b\0c\0d\0\xF0\0\x01\x02\x03dl\0\x011\0",
        1 => b"\xFF\xFF\xFF\xFFA",
        2 => b"\xFE\xFF\xFF\xFF",
        3 => b"\xFF\xFF\xFF\xFFinfoResponse\n\\challenge\\",
        4 => b"\xFF\xFF\xFF\xFFgetserversResponse",
        5 => b"\xFF\xFF\xFF\xFFf\n",
        6 => b"\xFF\xFF\xFF\xFF",
        _ => b"",
    };
    [opening, step.body].concat()
}

fn address(who: u8) -> SocketAddr {
    let index = usize::from(who) % (SERVERS + 1);
    // The last one is nobody we asked; two share an address.
    SocketAddr::from(([198, 100, 0, (index / 2) as u8], 27015 + index as u16))
}

fn listed(index: usize) -> Listed {
    Listed {
        addr: ServerAddr::from_socket(address(index as u8)).expect("ports above 27015"),
        origin: Origin::default(),
    }
}

/// Any sequence of replies, errors, pauses and interrupts leaves the prober's books straight: no
/// server pending twice, no more requests than tries and challenges explain, an end in the end.
pub fn prober(bytes: &[u8]) {
    let [choice, rest @ ..] = bytes else { return };
    let protocol = match choice & 1 {
        0 => Protocol::A2s,
        _ => Protocol::Quake3,
    };
    let kind = PlannerKind::ALL[usize::from(choice >> 1) % PlannerKind::ALL.len()];
    let mut config = ProberConfig::new(protocol, u64::from(*choice));
    config.limit = Limit {
        probes: (choice & 0x80 != 0).then_some(9),
        time: None,
    };
    let mut now = Moment::EPOCH;
    let mut prober = Prober::new(config, &PlannerConfig::published(kind), now);
    let servers: Vec<Listed> = (0..SERVERS).map(listed).collect();
    prober.handle_input(now, Input::Listed(&servers));
    if choice & 0x40 != 0 {
        prober.handle_input(now, Input::Favourites(&[ServerId(1), ServerId(4)]));
    }
    prober.handle_input(now, Input::ListComplete);
    for step in steps(rest) {
        now += step.wait;
        let payload = datagram(&step);
        prober.handle_input(now, event(&step, now, &payload));
        drain(&mut prober, now);
        check(&prober);
    }
    // Silence from now on: it has to come to an end.
    for _ in 0..400 {
        if drain(&mut prober, now) {
            return;
        }
        now += Duration::from_millis(100);
    }
    panic!("no end after 40 s of silence");
}

fn event<'a>(step: &Step<'_>, now: Moment, payload: &'a [u8]) -> Input<'a> {
    match step.what {
        255 => Input::Interrupt,
        240..=254 => Input::Unreachable {
            to: address(step.who),
        },
        _ => Input::Datagram {
            port: PortId {
                ipv6: false,
                attempt: step.who / 64,
            },
            from: address(step.who),
            received: (step.what & 0x40 == 0).then_some(now),
            payload,
        },
    }
}

/// Polls until the prober waits; says whether it is finished.
fn drain(prober: &mut Prober, now: Moment) -> bool {
    for _ in 0..1000 {
        match prober.poll_output(now) {
            Output::Finished => return true,
            Output::Wait(until) => {
                assert!(
                    until.is_none_or(|until| until > now),
                    "a wake-up in the past"
                );
                return false;
            }
            Output::Transmit { .. } | Output::Event(_) => {}
        }
    }
    panic!("more than 1,000 outputs at one moment");
}

fn check(prober: &Prober) {
    let summary = prober.summary();
    assert!(prober.pending() <= SERVERS);
    assert!(summary.answered <= summary.probed && summary.probed <= summary.listed);
    assert!(summary.probes_sent <= (SERVERS * MAX_TRIES * 4) as u64);
    let answered = prober.snapshot().servers.len();
    assert_eq!(answered, summary.answered);
}

/// Any list, and any sequence of answers, silence and late or invented outcomes, leaves the adaptive
/// planner's books straight: nobody asked twice, nobody asked who is settled, an end in the end.
pub fn adaptive_planner(bytes: &[u8]) {
    let [choice, count, stop, rest @ ..] = bytes else {
        return;
    };
    let objective = match choice & 3 {
        0 => Objective::Best,
        1 => Objective::Fast,
        _ => Objective::Thorough,
    };
    let config = AdaptiveConfig {
        best: usize::from(choice >> 2 & 7),
        farthest: (count & 1 == 1).then_some(Rtt::from_micros(30_000)),
        rtt_stop: rtt(*stop),
        ..AdaptiveConfig::new().aiming_at(objective)
    };
    let mut planner = AdaptivePlanner::new(config, u64::from(*choice));
    let (hosts, events) = rest.split_at(usize::from(*count).min(rest.len()));
    let protocols = match choice & 0x20 {
        0 => Protocols::V4,
        _ => Protocols::Both,
    };
    let hosts = hosts.iter().enumerate();
    let servers: Vec<Listed> = hosts
        .map(|(index, &byte)| scattered(index, byte, protocols))
        .collect();
    planner.servers_listed(&servers);
    let mut asked = vec![false; servers.len()];
    let mut events = events.chunks(3);
    if choice & 0x40 != 0
        && let Some(event) = events.next()
    {
        planner.remember(&recalled(&servers, event));
    }
    if choice & 0x80 != 0
        && let Some(event) = events.next()
    {
        settle(&mut planner, &mut asked, event); // a favourite
        check_beliefs(&planner, 0);
    }
    planner.list_complete();
    for event in events {
        if let Next::Probe { server, .. } = planner.next() {
            assert!(!asked[server.index()], "asked twice");
            asked[server.index()] = true;
        }
        settle(&mut planner, &mut asked, event);
        check_beliefs(&planner, servers.len());
    }
    // Silence from now on: it has to come to an end.
    for _ in 0..=2 * servers.len() {
        match planner.next() {
            Next::Done(_) => return check_beliefs(&planner, servers.len()),
            Next::Probe { server, .. } => {
                assert!(!asked[server.index()], "asked twice");
                asked[server.index()] = true;
            }
            Next::Wait => (0..servers.len()).for_each(|index| {
                planner.overdue(ServerId::from_index(index));
            }),
        }
    }
    panic!("no end for {} servers", servers.len());
}

/// What it says of its beliefs adds up: every server in one country, no more answers than probes, and
/// numbers that are numbers.
fn check_beliefs(planner: &AdaptivePlanner, servers: usize) {
    let explanation = planner.explain().expect("the adaptive planner can tell");
    let is_sound = |expected: Option<f64>, most: usize| {
        expected.is_none_or(|expected| (0.0..=most as f64 + 0.01).contains(&expected))
    };
    assert!(is_sound(explanation.expected_missed, servers));
    let promise = explanation.best_promise.unwrap_or(0.0);
    assert!((0.0..=1.0).contains(&promise));
    let countries = &explanation.countries;
    let listed: u32 = countries.iter().map(|country| country.all.servers).sum();
    assert_eq!(listed as usize, servers);
    for country in countries {
        let ases = country.ases.iter().map(|view| &view.all);
        for view in ases.chain([&country.all]) {
            assert!(view.playable <= view.answered && view.answered <= view.probed);
            assert!(view.probed <= view.servers && view.believed_rtt.is_some());
            assert!(is_sound(view.expected_left, view.servers as usize));
        }
    }
    for group in planner.learned() {
        let is_sound = |&(_, weight): &(Rtt, f32)| weight >= 0.0 && weight.is_finite();
        assert!(group.answers.iter().all(is_sound), "{group:?}");
    }
}

/// An RTT from none at all to 2.6 s, the short ones more often.
fn rtt(byte: u8) -> Rtt {
    Rtt::from_micros(u32::from(byte).pow(2) * 40)
}

/// What addresses a list has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Protocols {
    V4,
    Both,
}

/// A server whose byte says where it stands: some share machines, some have no origin.
fn scattered(index: usize, byte: u8, protocols: Protocols) -> Listed {
    let [a, b, c] = [byte >> 6, byte >> 4 & 3, byte >> 2 & 3];
    let port = 27015 + index as u16;
    let addr = if protocols == Protocols::Both && byte & 1 == 1 {
        // `b` ends the region (/20), `c` the network (/32), one bit the subnet (/48).
        let [a, b, c, subnet] = [a, b, c, byte >> 1 & 1].map(u16::from);
        SocketAddr::from(([0x2400 + a, b << 12 | c, subnet, 0, 0, 0, 0, 1], port))
    } else {
        SocketAddr::from(([20 + a, b, c, byte & 3], port))
    };
    let country = ["DE", "NZ", "RU", "?"][usize::from(a)].parse().ok();
    Listed {
        addr: ServerAddr::from_socket(addr).expect("ports above 27015"),
        origin: Origin {
            asn: (b > 0).then_some(Asn(u32::from(b))),
            country,
        },
    }
}

/// A memory, sensible or not: of a server on the list, of one that is not, and of odd weights.
fn recalled(servers: &[Listed], event: &[u8]) -> Memory {
    let &[who, weight, time] = event else {
        return Memory::default();
    };
    let rtt = rtt(time);
    let stranger = scattered(5000, who, Protocols::Both).addr;
    let known = servers.get(usize::from(who)).map(|server| server.addr);
    let best = known.into_iter().chain([stranger]);
    let odd = [f32::NAN, f32::INFINITY, -1.0, 0.0, 1e30];
    let odd = odd.get(usize::from(weight)).copied();
    Memory {
        best: best.map(|addr| RememberedServer { addr, rtt }).collect(),
        groups: vec![RememberedGroup {
            place: PlaceName::Region(stranger.prefix(Levels::INTERNET.region)),
            asn: Some(Asn(u32::from(who & 3))),
            answers: vec![(rtt, odd.unwrap_or(f32::from(weight) / 16.0))],
        }],
    }
}

/// An outcome for any server, asked or not, known or not.
fn settle(planner: &mut AdaptivePlanner, asked: &mut [bool], event: &[u8]) {
    let &[who, what, time] = event else { return };
    let server = ServerId(u32::from(who));
    let outcome = match what % 8 {
        0 => return planner.overdue(server),
        1 => Outcome::Silent,
        2 => Outcome::Down,
        _ => Outcome::Answered(rtt(time)),
    };
    if let Some(asked) = asked.get_mut(server.index()) {
        *asked = true; // whoever settled it, nobody is to ask for it any more
    }
    planner.observe(Sample {
        server,
        outcome,
        matches: what & 0x10 == 0,
    });
    // Before the first decision nothing is expected yet.
    let missed = planner.report().expected_missed;
    assert!(missed.is_none_or(|missed| missed >= 0.0 && missed.is_finite()));
}

/// Any sequence of datagrams brings a list source to its end, and every server it reported came out.
pub fn list_source(bytes: &[u8]) {
    let [choice, rest @ ..] = bytes else { return };
    let origin = match choice >> 1 & 3 {
        0 => None,
        1 => Some(OriginForm::As),
        _ => Some(OriginForm::Country),
    };
    let mut source: Box<dyn Source> = match choice & 1 {
        0 => Box::new(SteamSource::new(SteamQuery {
            region: Region::All,
            filter: Filter::new(),
            origin,
            per_minute: Some(30),
        })),
        _ => {
            let mut query = Quake3Query::new(None, 84);
            query.origin = origin;
            Box::new(Quake3Source::new(query))
        }
    };
    let mut now = Moment::EPOCH;
    let mut servers = 0;
    let mut steps = steps(rest);
    for _ in 0..5000 {
        match source.poll_output(now) {
            SourceOutput::Transmit(request) => assert!(request.len() < 1400),
            SourceOutput::Servers(more) => servers += more.len(),
            SourceOutput::Done(report) => {
                assert_eq!(report.servers, servers);
                return;
            }
            SourceOutput::Wait(until) => {
                assert!(until > now, "a wake-up in the past");
                match steps.next() {
                    Some(step) => {
                        now += step.wait;
                        source.handle_datagram(now, &datagram(&step));
                    }
                    None => now = until,
                }
            }
        }
    }
    panic!("no end after 5,000 turns");
}

/// Any sequence of datagrams brings an inspection to its end within its tries.
pub fn inspection(bytes: &[u8]) {
    let [choice, rest @ ..] = bytes else { return };
    let protocol = match choice & 1 {
        0 => Protocol::A2s,
        _ => Protocol::Quake3,
    };
    let mut config = InspectConfig::new(protocol, 1);
    config.quality_probes = usize::from(choice >> 1 & 3);
    let mut inspection = Inspection::new(config);
    let mut now = Moment::EPOCH;
    let mut sent = 0;
    let mut steps = steps(rest);
    for _ in 0..5000 {
        match inspection.poll_output(now) {
            InspectOutput::Transmit { .. } => {
                sent += 1;
                assert!(sent <= (3 * 3 + 3) * 4);
            }
            InspectOutput::Done => return,
            InspectOutput::Wait(until) => {
                assert!(until > now, "a wake-up in the past");
                match steps.next() {
                    Some(step) => {
                        now += step.wait;
                        let port = usize::from(step.who) % (MAX_TRIES + 1);
                        inspection.handle_datagram(port, Some(now), &datagram(&step));
                    }
                    None => now = until,
                }
            }
        }
    }
    panic!("no end after 5,000 turns");
}
