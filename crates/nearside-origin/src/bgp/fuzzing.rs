//! Bodies of the fuzz targets for BGP and MRT, also called by the property tests.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use nearside_types::{Asn, Moment};

use super::collector::{Collector, CollectorConfig, CollectorOutput, Neighbour};
use super::frame::{self, MAX_MESSAGE, MessageType};
use super::nlri::Family;
use super::open::{HoldTime, Open};
use super::rib::{PeerId, Rib, RibConfig};
use super::session::{Event, Output, Session, SessionConfig};
use crate::AsnClass;

const PEER: Asn = Asn(64_501);
const PEER_ADDR: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// Any bytes after a proper greeting, whole and in pieces: the events are the same, the end comes
/// once, and never more than a message is kept. The first byte chooses the greeting and the size of
/// the pieces.
pub fn bgp_session(bytes: &[u8]) {
    let Some((choice, rest)) = bytes.split_first() else {
        return;
    };
    let stream = [greeting(*choice), rest.to_vec()].concat();
    let whole = events(&stream, stream.len().max(1));
    let pieces = events(&stream, usize::from(*choice >> 2) + 1);
    assert_eq!(whole, pieces, "events depend on how the stream is cut");
    let ends = |event: &Event| matches!(event, Event::Closed { .. });
    assert_eq!(whole.iter().filter(|event| ends(event)).count(), 1);
    assert!(whole.last().is_some_and(ends), "something after the end");
}

/// All events of a session whose neighbour sends `stream` in pieces and hangs up.
fn events(stream: &[u8], size: usize) -> Vec<Event> {
    let config = SessionConfig {
        local_asn: Asn(64_502),
        router_id: Ipv4Addr::new(10, 0, 0, 2),
        peer_asn: PEER,
        hold_time: SessionConfig::HOLD_TIME,
    };
    let mut session = Session::new(config, Moment::EPOCH);
    let mut events = Vec::new();
    for piece in stream.chunks(size) {
        session.handle_bytes(Moment::EPOCH, piece);
        assert!(session.buffered() < MAX_MESSAGE);
        drain(&mut session, &mut events);
    }
    session.handle_disconnect();
    drain(&mut session, &mut events);
    events
}

fn drain(session: &mut Session, events: &mut Vec<Event>) {
    loop {
        match session.poll_output() {
            Output::Send(bytes) => assert!(bytes.len() <= MAX_MESSAGE),
            Output::Event(event) => events.push(event),
            Output::Wait(_) => break,
        }
    }
}

/// What a neighbour says first: nothing, an OPEN, or all it takes to be established with two-octet
/// or four-octet AS numbers.
fn greeting(choice: u8) -> Vec<u8> {
    let open = Open {
        asn: PEER,
        hold_time: HoldTime(90),
        router_id: Ipv4Addr::new(10, 0, 0, 1),
        families: Family::ALL.to_vec(),
        four_octet_as: choice & 3 != 2,
        route_refresh: true,
        graceful_restart: false,
    };
    let keep_alive = frame::emit(MessageType::KeepAlive, &[]);
    match choice & 3 {
        0 => Vec::new(),
        1 => open.emit(),
        _ => [open.emit(), keep_alive].concat(),
    }
}

/// Any bytes as a dump: read to some end, and what was read is in order.
pub fn mrt(bytes: &[u8]) {
    let mut rib = Rib::new(RibConfig::default());
    if let Ok(report) = crate::mrt::load(bytes, &mut rib) {
        let routes: Vec<_> = rib.routes().collect();
        assert!(routes.is_sorted_by(|left, right| left.prefix < right.prefix));
        let told = report.routes + report.updates * frame::MAX_MESSAGE as u64;
        assert!(routes.len() as u64 <= told, "more routes than were told");
    }
}

/// A sequence of connections, updates, silences and losses: the collector's books stay straight. Each
/// event is three bytes, what, how long after the last one, and a length, then that many bytes.
pub fn bgp_collector(mut bytes: &[u8]) {
    let neighbours = vec![Neighbour {
        addr: PEER_ADDR,
        asn: PEER,
    }];
    let mut config = CollectorConfig::new(neighbours);
    config.rib.prefix_limit = 8;
    let mut collector = Collector::new(config).expect("one neighbour and the defaults");
    let mut now = Moment::EPOCH;
    while let [what, wait, length, rest @ ..] = bytes {
        let (body, remaining) = rest.split_at(usize::from(*length).min(rest.len()));
        bytes = remaining;
        now += Duration::from_secs(u64::from(*wait) * 2);
        step(&mut collector, now, *what, body);
        check(&mut collector, now);
    }
    collector.handle_disconnect(now, PeerId(0));
    now += Duration::from_secs(2 * 60 * 60);
    collector.handle_timeout(now);
    check(&mut collector, now);
    assert_eq!(collector.rib().routes().count(), 0, "stale for ever");
}

fn step(collector: &mut Collector, now: Moment, what: u8, body: &[u8]) {
    let peer = PeerId(0);
    match what % 8 {
        0 => collector.handle_disconnect(now, peer),
        1 => drop(collector.handle_connection(now, PEER_ADDR)),
        2 => {
            let admitted = collector.handle_connection(now, PEER_ADDR);
            assert_eq!(admitted, Ok(peer));
            collector.handle_bytes(now, peer, &greeting(what >> 3));
        }
        3 => collector.handle_timeout(now),
        4 => collector.handle_bytes(now, peer, body),
        _ => {
            let update = frame::emit(MessageType::Update, &[&[0; 4], body].concat());
            collector.handle_bytes(now, peer, &update);
        }
    }
}

fn check(collector: &mut Collector, now: Moment) {
    loop {
        match collector.poll_output() {
            CollectorOutput::Wait(None) => break,
            CollectorOutput::Wait(Some(until)) if until > now => break,
            CollectorOutput::Wait(Some(_)) => {
                // What was due must be done by the first timeout, or a shell would spin.
                collector.handle_timeout(now);
                assert!(
                    !matches!(collector.poll_output(), CollectorOutput::Wait(Some(at)) if at <= now)
                );
            }
            CollectorOutput::Event { .. } | CollectorOutput::Send { .. } => {}
            CollectorOutput::Close { .. } | CollectorOutput::Publish => {}
        }
    }
    let routes: Vec<_> = collector.rib().routes().collect();
    assert!(routes.is_sorted_by(|left, right| left.prefix < right.prefix));
    assert!(routes.len() <= 8 && collector.rib().peer_len(PeerId(0)) == routes.len());
    for route in routes {
        assert_eq!(AsnClass::of(route.origin), AsnClass::Public);
        assert!((1..=48).contains(&route.prefix.length()));
        let found = collector.rib().lookup(route.prefix.network());
        assert!(found.is_some_and(|found| found.prefix.length() >= route.prefix.length()));
    }
}
