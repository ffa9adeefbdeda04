//! The bodies of the fuzz targets in `fuzz/`, also called by the property tests in
//! `tests/never_panics.rs`.

use std::time::Duration;

use nearside_coords::{Coordinate, CoordinateParts};
use nearside_types::{Asn, Moment, Origin, Rtt, ServerAddr};

use crate::ClientId;
use crate::client::{self, Client, ClientConfig};
use crate::directory::{
    Directory, DirectoryConfig, Newcomer, Peer, Relaying, Report, SessionKey, State, Welcome,
};
use crate::path::{self, PathConfig, PathSession, Route};

/// Any sequence of joins, reports, look-ups and departures leaves a directory that offers no relay
/// beyond its room, never an end of the path itself, and whose change log rebuilds its state.
pub fn directory(bytes: &[u8]) {
    let config = DirectoryConfig {
        neighbours: 4,
        sessions_per_relay: 1,
        most_sessions_per_relay: 2,
        // Small enough that the shortlist and its buckets are at work.
        shortlist: 3,
        bucket: 2,
        ..DirectoryConfig::default()
    };
    let mut directory = Directory::new(config, 0);
    let mut replayed = State::default();
    let mut now = Moment::EPOCH;
    for step in bytes.chunks_exact(8) {
        now += Duration::from_secs(u64::from(step[7]));
        act(&mut directory, now, step);
        for change in directory.take_changes() {
            replayed.apply(&change);
        }
        assert_eq!(replayed, *directory.state());
    }
}

fn act(directory: &mut Directory, now: Moment, step: &[u8]) {
    let id = |byte: u8| ClientId(u64::from(byte % 12));
    let (one, other) = (id(step[1]), id(step[2]));
    let session = SessionKey {
        source: one,
        target: other,
    };
    match step[0] % 8 {
        0 | 1 => {
            let client = newcomer(one, step);
            let welcome = match step[3] % 3 {
                0 => directory.join_again(now, client),
                _ => directory.join(now, client),
            };
            assert!(welcome.neighbours.iter().all(|peer| peer.id != one));
        }
        2 | 3 => {
            // Whether it is joined or not.
            let _ = directory.report(now, one, report(other, step));
            directory.study(usize::from(step[3]));
            directory.set_paused(other, step[3].is_multiple_of(5));
            assert!(
                directory
                    .whom_to_witness(one)
                    .is_none_or(|peer| peer.id != one)
            );
        }
        4 => look_up(directory, session, usize::from(step[3] % 6)),
        5 => {
            let _ = directory.engage(session, id(step[3]));
        }
        6 => directory.release(session),
        _ => match step[3] % 2 {
            0 => directory.leave(one),
            _ => drop(directory.expire(now)),
        },
    }
}

fn look_up(directory: &mut Directory, session: SessionKey, k: usize) {
    let Ok(found) = directory.lookup(session.source, session.target, k) else {
        return;
    };
    assert!(found.len() <= k);
    for candidate in found {
        let relay = candidate.relay.id;
        assert!(relay != session.source && relay != session.target);
        let node = directory.state().node(relay).expect("it was offered");
        let member = directory.state().member(node).expect("it has a place");
        assert!(member.carries < directory.config().most_sessions_per_relay);
        assert_ne!(member.client.relaying, Relaying::No);
    }
}

fn newcomer(id: ClientId, step: &[u8]) -> Newcomer {
    let ip = [198, 18, step[4] % 4, step[5]].into();
    Newcomer {
        id,
        address: ServerAddr::new(ip, 9000).expect("the port is not 0"),
        origin: Origin {
            asn: Some(Asn(u32::from(step[4] % 3))),
            country: None,
        },
        relaying: match step[6] % 4 {
            0 => Relaying::No,
            1 => Relaying::AtMost(u16::from(step[6] >> 4)),
            _ => Relaying::Yes,
        },
    }
}

fn report(to: ClientId, step: &[u8]) -> Report {
    let axis = f64::from(i16::from_le_bytes([step[5], step[6]])) / 16.0;
    let parts = CoordinateParts {
        position_ms: vec![axis; 3 + usize::from(step[0] >= 128)],
        height_ms: 1.0,
        adjustment_ms: 0.0,
        error: 0.3,
    };
    let rtt = u32::from_le_bytes([step[3], step[4], step[5], 0]);
    Report {
        coordinate: Coordinate::try_from(parts).ok(),
        legs: vec![(to, Rtt::from_micros(rtt))],
    }
}

/// Whatever is measured or fails, in any order, a session uses a path it knows, waits for the future,
/// and never offers a path as its own backup.
pub fn path_session(bytes: &[u8]) {
    let mut now = Moment::EPOCH;
    let mut session = PathSession::new(PathConfig::default(), now);
    for step in bytes.chunks_exact(4) {
        now += Duration::from_millis(u64::from(step[1]) * 20);
        let relay = ClientId(u64::from(step[2] % 5));
        let route = match step[2] % 6 {
            5 => Route::Direct,
            _ => Route::Via(relay),
        };
        match step[0] % 8 {
            0 => session.handle_candidates(now, [relay]),
            1 => session.report_lag(now),
            2 => session.handle_relay_failed(now, relay),
            3 => session.handle_rtt(now, route, None),
            _ => {
                let rtt = Rtt::from_micros(u32::from(step[3]) * 1_500);
                session.handle_rtt(now, route, Some(rtt));
            }
        }
        rest(now, || match session.poll_output(now) {
            path::Output::Wait(until) => Some(until),
            _ => None,
        });
        assert!(!session.backups().contains(&session.active()));
    }
}

/// Whatever neighbours answer, a client asks a bounded number of things and waits for the future.
pub fn client(bytes: &[u8]) {
    let peer = |id: u8| Peer {
        id: ClientId(u64::from(id)),
        address: ServerAddr::new([198, 18, id, 1].into(), 9000).expect("the port is not 0"),
    };
    let welcome = Welcome {
        neighbours: (0..5).map(peer).collect(),
        start: None,
    };
    let mut now = Moment::EPOCH;
    let mut client = Client::new(ClientConfig::default(), welcome, 0, now);
    for step in bytes.chunks_exact(8) {
        now += Duration::from_secs(u64::from(step[1]));
        let from = ClientId(u64::from(step[2] % 7));
        let place = report(from, step).coordinate;
        match (step[0] % 4, place) {
            (0, _) | (_, None) => client.handle_silence(now, from),
            (_, Some(place)) => {
                let rtt = Rtt::from_micros(u32::from_le_bytes([step[3], step[4], step[5], 0]));
                // Believed or not.
                let _ = client.handle_reply(now, from, &place, rtt);
            }
        }
        rest(now, || match client.poll_output(now) {
            client::Output::Wait(until) => Some(until),
            _ => None,
        });
    }
}

/// Polls until the engine waits, and for something that lies ahead.
fn rest(now: Moment, mut poll: impl FnMut() -> Option<Moment>) {
    for _ in 0..100 {
        if let Some(until) = poll() {
            assert!(until > now, "a wait leads forward");
            return;
        }
    }
    panic!("more than 100 outputs at one moment");
}
