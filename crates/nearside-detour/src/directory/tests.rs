use std::time::Duration;

use nearside_coords::{CoordinateParts, Estimator};
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
fn an_end_of_a_session_is_no_relay_of_it() {
    let mut directory = directory(3, Ranking::FactorSums);
    let session = SessionKey {
        source: ClientId(0),
        target: ClientId(1),
    };
    for end in [session.source, session.target] {
        let refused = Err(EngageError::OwnEnd(end));
        assert_eq!(directory.engage(session, end), refused);
        assert_eq!(directory.state().relay_of(session), None);
    }
    directory.engage(session, ClientId(2)).unwrap();
}

#[test]
fn a_relay_carries_what_it_says_up_to_what_the_directory_thinks_possible() {
    let config = DirectoryConfig {
        most_sessions_per_relay: 20,
        ..DirectoryConfig::default()
    };
    let mut directory = Directory::new(config, 1);
    for id in 0..100 {
        directory.join(NOW, newcomer(id, &format!("198.18.{id}.1:9000")));
    }
    let relaying = [
        (Relaying::Yes, 8),
        (Relaying::AtMost(3), 3),
        (Relaying::AtMost(15), 15),
        (Relaying::AtMost(500), 20),
        (Relaying::No, 0),
    ];
    for (relay, (relaying, room)) in (100..).zip(relaying) {
        let mut client = newcomer(relay, &format!("198.19.{relay}.1:9000"));
        client.relaying = relaying;
        directory.join(NOW, client);
        let sessions = (1..100).map(|target| SessionKey {
            source: ClientId(0),
            target: ClientId(target),
        });
        let engaged = sessions.filter(|session| {
            let relay = ClientId(relay);
            directory.engage(*session, relay).is_ok()
        });
        assert_eq!(engaged.count(), room, "{relaying:?}");
    }
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
fn a_hundred_names_of_one_prefix_do_not_take_all_places() {
    let mut directory = directory(12, Ranking::FactorSums);
    for id in 100..200 {
        directory.join(NOW, newcomer(id, &format!("203.0.113.{}:9000", id - 50)));
        report(&mut directory, id, &[(0, 5), (1, 5)]);
    }
    for id in 2..12 {
        report(&mut directory, id, &[(0, 50), (1, 50)]);
    }
    let chosen = relays(&mut directory, 8);
    assert_eq!(chosen.len(), 8);
    assert_eq!(chosen.iter().filter(|id| **id >= 100).count(), 2);
}

#[test]
fn one_client_that_speaks_often_does_not_say_where_its_network_is() {
    let mut directory = directory(0, Ranking::FactorSums);
    let of_one_network = |id: u64| {
        let mut client = newcomer(id, &format!("198.18.{id}.1:9000"));
        client.origin.asn = Some(Asn(64_500));
        client
    };
    directory.join(NOW, of_one_network(0));
    for _ in 0..10 {
        place(&mut directory, 0, 200.0);
    }
    let start = directory.join(NOW, of_one_network(1)).start;
    assert_eq!(start, None);
    for id in 1..4 {
        directory.join(NOW, of_one_network(id));
        place(&mut directory, id, 20.0);
    }
    assert!(directory.join(NOW, of_one_network(5)).start.is_some());
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

#[test]
fn a_stranger_in_a_crowd_is_no_relay_until_others_have_measured_it() {
    let mut directory = directory(70, Ranking::FactorSums);
    for id in 0..70 {
        let legs: Vec<(u64, u32)> = (1..9).map(|step| ((id + step) % 70, 40)).collect();
        report(&mut directory, id, &legs);
    }
    directory.join(NOW, newcomer(99, "198.19.99.1:9000"));
    report(&mut directory, 99, &[(0, 1), (1, 1)]);
    assert!(!relays(&mut directory, 8).contains(&99));
    let own = directory.lookup(ClientId(99), ClientId(1), 8).unwrap();
    assert_eq!(own.len(), 8, "it may ask, though");
    let asked = (0..200).filter_map(|_| directory.whom_to_witness(ClientId(3)));
    assert!(asked.map(|peer| peer.id).any(|id| id == ClientId(99)));
    for witness in [2, 3, 4, 5] {
        report(&mut directory, witness, &[(99, 3)]);
    }
    assert!(relays(&mut directory, 8).contains(&99));
}

#[test]
fn nobody_reports_more_legs_than_a_directory_keeps() {
    let mut directory = directory(80, Ranking::FactorSums);
    let legs = |from: u64| (from..from + 40).map(|to| (to, 30)).collect::<Vec<_>>();
    assert_eq!(report(&mut directory, 0, &legs(1)), []);
    let doubts = report(&mut directory, 0, &legs(30));
    assert_eq!(doubts, [Doubt::TooMany { dropped: 5 }]);
}

#[test]
fn a_coordinate_that_fits_none_of_the_legs_is_not_used() {
    let mut directory = directory(8, Ranking::Likelihood);
    for id in 1..8 {
        place(&mut directory, id, 10.0);
        report(&mut directory, id, &[(0, 30)]);
    }
    assert_eq!(place(&mut directory, 0, 220.0), [Doubt::Misplaced]);
    assert_eq!(directory.map.estimate(Node(0), Node(1)), None);
    assert_eq!(place(&mut directory, 0, 30.0), []);
    assert!(directory.map.estimate(Node(0), Node(1)).is_some());
}

#[test]
fn two_directories_that_hear_of_each_other_know_the_same() {
    let mut one = directory(0, Ranking::FactorSums);
    let mut other = directory(0, Ranking::FactorSums);
    let share = |one: &mut Directory, other: &mut Directory| {
        let changes: Vec<Change> = one.take_changes().collect();
        changes.iter().for_each(|change| other.hear(change));
        assert_eq!(other.take_changes().count(), 0, "nothing echoes");
    };
    for id in 0..3 {
        one.join(NOW, newcomer(id, &format!("198.18.{id}.1:9000")));
    }
    share(&mut one, &mut other);
    other.join(NOW, newcomer(3, "198.18.3.1:9000"));
    report(&mut other, 3, &[(0, 10), (1, 10)]);
    place(&mut other, 3, 5.0);
    share(&mut other, &mut one);
    assert_eq!(relays(&mut one, 1), [3]);
    assert_eq!(one.state(), other.state());
    // A jump is believed when it is said again; who only hears of it has heard it once.
    place(&mut other, 3, 900.0);
    place(&mut other, 3, 900.0);
    share(&mut other, &mut one);
    assert_eq!(one.state(), other.state());
    other.leave(ClientId(3));
    share(&mut other, &mut one);
    assert_eq!(one.state(), other.state());
}

#[test]
fn who_comes_back_or_moves_keeps_its_legs_and_who_is_paused_is_not_offered() {
    let mut directory = directory(4, Ranking::FactorSums);
    report(&mut directory, 2, &[(0, 10), (1, 10)]);
    report(&mut directory, 3, &[(0, 30), (1, 30)]);
    assert_eq!(relays(&mut directory, 1), [2]);
    let elsewhere = newcomer(2, "198.18.200.1:9000");
    directory.join_again(NOW, elsewhere.clone());
    assert!(directory.leg(ClientId(2), ClientId(0)).is_some());
    let found = directory.lookup(ClientId(0), ClientId(1), 1).unwrap();
    assert_eq!(found[0].relay.address, elsewhere.address);
    directory.set_paused(ClientId(2), true);
    assert_eq!(relays(&mut directory, 1), [3]);
    directory.set_paused(ClientId(2), false);
    assert_eq!(relays(&mut directory, 1), [2]);
    assert!(!directory.alter(NOW, newcomer(9, "198.18.9.1:9000")));
    assert_eq!(
        directory
            .join_again(NOW, newcomer(9, "198.18.9.1:9000"))
            .start,
        None
    );
    assert_eq!(directory.state().len(), 5);
}
