use std::time::Duration;

use nearside_coords::CoordinateParts;
use nearside_types::{Asn, Origin};

use super::*;

const NOW: Moment = Moment::EPOCH;

const fn ms(millis: u32) -> Rtt {
    Rtt::from_micros(millis * 1000)
}

fn newcomer(id: u64, address: &str) -> Newcomer {
    Newcomer {
        id: ClientId(id),
        address: address.parse().unwrap(),
        origin: Origin {
            asn: Some(Asn(64_500 + u32::try_from(id).unwrap())),
            country: None,
        },
        relaying: Relaying::Yes,
    }
}

/// Clients 0 to n − 1, each in a prefix of its own.
fn directory(clients: u64, ranking: Ranking) -> Directory {
    let config = DirectoryConfig {
        ranking,
        ..DirectoryConfig::default()
    };
    let mut directory = Directory::new(config, 1);
    for id in 0..clients {
        directory.join(NOW, newcomer(id, &format!("198.18.{id}.1:9000")));
    }
    directory
}

fn report(directory: &mut Directory, from: u64, legs: &[(u64, u32)]) -> Vec<Doubt> {
    let legs = legs.iter().map(|(to, millis)| (ClientId(*to), ms(*millis)));
    let report = Report {
        coordinate: None,
        legs: legs.collect(),
    };
    directory.report(NOW, ClientId(from), report).unwrap()
}

fn relays(directory: &mut Directory, k: usize) -> Vec<u64> {
    let found = directory.lookup(ClientId(0), ClientId(1), k).unwrap();
    found.iter().map(|candidate| candidate.relay.id.0).collect()
}

fn at(x: f64) -> Coordinate {
    let parts = CoordinateParts {
        position_ms: vec![x, 0.0, 0.0, 0.0],
        height_ms: 1.0,
        adjustment_ms: 0.0,
        error: 0.1,
    };
    Coordinate::try_from(parts).unwrap()
}

fn place(directory: &mut Directory, id: u64, x: f64) -> Vec<Doubt> {
    let coordinate = Some(at(x));
    let legs = Vec::new();
    let report = Report { coordinate, legs };
    directory.report(NOW, ClientId(id), report).unwrap()
}

#[test]
fn newcomers_get_neighbours_and_never_themselves() {
    let mut directory = directory(50, Ranking::Mixed);
    let welcome = directory.join(NOW, newcomer(99, "198.18.99.1:9000"));
    assert_eq!(welcome.neighbours.len(), 32);
    let mut ids: Vec<u64> = welcome.neighbours.iter().map(|peer| peer.id.0).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 32);
    assert!(!ids.contains(&99));
}

#[test]
fn many_names_of_one_prefix_are_few_neighbours() {
    let mut directory = directory(60, Ranking::Mixed);
    for id in 100..160 {
        let address = format!("203.0.113.{}:9000", id - 50);
        directory.join(NOW, newcomer(id, &address));
    }
    let welcome = directory.join(NOW, newcomer(99, "198.18.99.1:9000"));
    let sybils = welcome.neighbours.iter().filter(|peer| peer.id.0 >= 100);
    assert_eq!(welcome.neighbours.len(), 32);
    assert!(sybils.count() <= 2);
}

#[test]
fn the_shortest_sum_of_measured_legs_comes_first() {
    for ranking in [Ranking::CoordinateSums, Ranking::FactorSums, Ranking::Mixed] {
        let mut directory = directory(5, ranking);
        for id in 0..5 {
            place(&mut directory, id, 10.0 * id as f64);
        }
        report(&mut directory, 0, &[(2, 40), (3, 20), (4, 90)]);
        report(&mut directory, 1, &[(2, 40), (3, 20), (4, 90)]);
        assert_eq!(relays(&mut directory, 3), [3, 2, 4], "{ranking:?}");
        let best = &directory.lookup(ClientId(0), ClientId(1), 1).unwrap()[0];
        assert_eq!(best.legs, [Some(Leg::Measured(ms(20))); 2]);
        assert_eq!(best.expected(), Some(ms(40)));
    }
}

#[test]
fn equation_1_prefers_legs_that_are_shorter_than_coordinates_say() {
    let mut directory = directory(5, Ranking::Likelihood);
    for id in 0..5 {
        place(&mut directory, id, 10.0 * id as f64);
    }
    // D' is 10·|difference| + 2: client 2 is 12 short on one leg, 3 is 6 on average, 4 nowhere known.
    report(&mut directory, 0, &[(2, 10), (3, 30)]);
    report(&mut directory, 1, &[(3, 12)]);
    assert_eq!(relays(&mut directory, 8), [2, 3]);
}

#[test]
fn a_leg_its_ends_disagree_on_counts_as_the_longer() {
    let mut directory = directory(3, Ranking::Mixed);
    assert_eq!(report(&mut directory, 0, &[(1, 80)]), []);
    let doubts = report(&mut directory, 1, &[(0, 5)]);
    let expected = Doubt::Disagreement {
        to: ClientId(0),
        rtt: ms(5),
        other: ms(80),
    };
    assert_eq!(doubts, [expected]);
    let believed = directory.leg(ClientId(0), ClientId(1));
    assert_eq!(believed, Some(Leg::Measured(ms(80))));
}

#[test]
fn what_cannot_be_is_not_believed() {
    let mut directory = directory(3, Ranking::Mixed);
    let doubts = report(&mut directory, 0, &[(1, 0), (1, 9_000), (77, 10), (0, 10)]);
    assert!(matches!(doubts[0], Doubt::Impossible { .. }));
    assert!(matches!(doubts[1], Doubt::Impossible { .. }));
    assert_eq!(doubts[2], Doubt::Nobody { to: ClientId(77) });
    assert_eq!(doubts[3], Doubt::Nobody { to: ClientId(0) });
    assert!(directory.edges.is_empty());
}

#[test]
fn a_client_that_most_neighbours_contradict_is_no_relay() {
    let mut directory = directory(8, Ranking::FactorSums);
    for honest in 0..7 {
        report(&mut directory, honest, &[(7, 100)]);
    }
    assert!(relays(&mut directory, 8).contains(&7));
    let lies: Vec<(u64, u32)> = (0..7).map(|to| (to, 2)).collect();
    report(&mut directory, 7, &lies);
    assert!(!relays(&mut directory, 8).contains(&7));
    // The truth restores it.
    let truth: Vec<(u64, u32)> = (0..7).map(|to| (to, 101)).collect();
    report(&mut directory, 7, &truth);
    assert!(relays(&mut directory, 8).contains(&7));
}

#[test]
fn a_coordinate_that_jumps_must_be_said_twice() {
    let mut directory = directory(2, Ranking::Mixed);
    assert_eq!(place(&mut directory, 0, 10.0), []);
    assert!(matches!(
        place(&mut directory, 0, 900.0)[..],
        [Doubt::Jump { .. }]
    ));
    let member = directory.state().member(Node(0)).unwrap();
    assert_eq!(member.coordinate, Some(at(10.0)));
    assert_eq!(place(&mut directory, 0, 905.0), []);
    let member = directory.state().member(Node(0)).unwrap();
    assert_eq!(member.coordinate, Some(at(905.0)));
}

#[test]
fn full_relays_and_those_that_do_not_relay_are_not_offered() {
    let mut directory = directory(4, Ranking::FactorSums);
    let mut shy = newcomer(2, "198.18.2.1:9000");
    shy.relaying = Relaying::No;
    directory.join(NOW, shy);
    let mut small = newcomer(3, "198.18.3.1:9000");
    small.relaying = Relaying::AtMost(1);
    directory.join(NOW, small);
    report(&mut directory, 0, &[(2, 10), (3, 10)]);
    report(&mut directory, 1, &[(2, 10), (3, 10)]);
    assert_eq!(relays(&mut directory, 8), [3]);
    let session = SessionKey {
        source: ClientId(0),
        target: ClientId(1),
    };
    directory.engage(session, ClientId(3)).unwrap();
    directory.engage(session, ClientId(3)).unwrap();
    assert_eq!(relays(&mut directory, 8), [] as [u64; 0]);
    let other = SessionKey {
        source: ClientId(1),
        target: ClientId(0),
    };
    let full = EngageError::Full {
        relay: ClientId(3),
        carries: 1,
    };
    assert_eq!(directory.engage(other, ClientId(3)), Err(full));
    directory.release(session);
    assert_eq!(relays(&mut directory, 8), [3]);
}

#[test]
fn candidates_of_one_prefix_wait_while_there_are_others() {
    let mut directory = directory(4, Ranking::FactorSums);
    for id in 10..14 {
        let address = format!("203.0.113.{id}:9000");
        directory.join(NOW, newcomer(id, &address));
    }
    for end in [0, 1] {
        let near = [(10, 10), (11, 11), (12, 12), (13, 13), (2, 50), (3, 60)];
        report(&mut directory, end, &near);
    }
    assert_eq!(relays(&mut directory, 4), [10, 11, 2, 3]);
    assert_eq!(relays(&mut directory, 6), [10, 11, 2, 3, 12, 13]);
}

#[test]
fn busy_relays_let_equals_go_first() {
    let mut directory = directory(4, Ranking::FactorSums);
    for end in [0, 1] {
        report(&mut directory, end, &[(2, 20), (3, 21)]);
    }
    assert_eq!(relays(&mut directory, 2), [2, 3]);
    for source in 10..17 {
        directory.join(NOW, newcomer(source, &format!("198.19.{source}.1:9000")));
        let session = SessionKey {
            source: ClientId(source),
            target: ClientId(0),
        };
        directory.engage(session, ClientId(2)).unwrap();
    }
    assert_eq!(relays(&mut directory, 2), [3, 2]);
}

#[test]
fn silent_clients_and_old_legs_are_forgotten() {
    let mut directory = directory(3, Ranking::Mixed);
    report(&mut directory, 0, &[(1, 30), (2, 30)]);
    let mut now = NOW;
    for _ in 0..40 {
        now += Duration::from_secs(100);
        for id in [0, 1] {
            directory
                .report(now, ClientId(id), Report::default())
                .unwrap();
        }
        let gone = directory.expire(now);
        assert!(gone.is_empty() || gone == [ClientId(2)]);
    }
    assert_eq!(directory.state().len(), 2);
    assert!(directory.edges.is_empty());
    assert!(matches!(
        directory.leg(ClientId(0), ClientId(1)),
        Some(Leg::Estimated(_))
    ));
    let lost = directory.lookup(ClientId(0), ClientId(2), 8);
    assert_eq!(lost, Err(LookupError::NotJoined(ClientId(2))));
}

#[test]
fn the_change_log_rebuilds_the_state_and_a_restart_believes_the_same() {
    let mut directory = directory(6, Ranking::Mixed);
    report(&mut directory, 0, &[(1, 30), (2, 40), (3, 50)]);
    report(&mut directory, 1, &[(0, 200), (2, 45)]);
    place(&mut directory, 4, 12.0);
    let session = SessionKey {
        source: ClientId(0),
        target: ClientId(1),
    };
    directory.engage(session, ClientId(2)).unwrap();
    directory.leave(ClientId(3));
    directory.join(NOW, newcomer(9, "198.18.9.1:9000"));

    let mut replayed = State::default();
    for change in directory.take_changes() {
        let text = serde_json::to_string(&change).unwrap();
        replayed.apply(&serde_json::from_str(&text).unwrap());
    }
    assert_eq!(replayed, *directory.state());
    let restarted = Directory::restored(DirectoryConfig::default(), replayed, 5);
    assert!(restarted.edges.iter().eq(directory.edges.iter()));
    assert_eq!(restarted.standing, directory.standing);
}
