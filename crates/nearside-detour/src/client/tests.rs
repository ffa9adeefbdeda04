use std::time::Duration;

use super::*;

const fn ms(millis: u32) -> Rtt {
    Rtt::from_micros(millis * 1000)
}

fn client(neighbours: u64) -> Client {
    let peer = |id| Peer {
        id: ClientId(id),
        address: format!("198.18.{id}.1:9000").parse().unwrap(),
    };
    let welcome = Welcome {
        neighbours: (0..neighbours).map(peer).collect(),
        start: None,
    };
    Client::new(ClientConfig::default(), welcome, 1, Moment::EPOCH)
}

/// What a client sent until a moment, with every neighbour answering after `rtt`.
#[derive(Default)]
struct Sent {
    probes: usize,
    reports: Vec<(Moment, Report)>,
}

fn run(client: &mut Client, from: Moment, until: Moment, rtt: impl Fn(Moment, u64) -> Rtt) -> Sent {
    let mut sent = Sent::default();
    let mut now = from;
    while now < until {
        match client.poll_output(now) {
            Output::Probe(peer) => {
                sent.probes += 1;
                let rtt = rtt(now, peer.id.0);
                let _ = client.handle_reply(now, peer.id, &Coordinate::origin(4), rtt);
            }
            Output::Report(report) => sent.reports.push((now, report)),
            Output::Wait(next) => {
                assert!(next > now, "a wait leads forward");
                now = next;
            }
        }
    }
    sent
}

fn hours(hours: u64) -> Moment {
    Moment::EPOCH + Duration::from_secs(3600 * hours)
}

#[test]
fn nine_quiet_hours_cost_less_than_a_message_in_16_seconds() {
    let mut client = client(32);
    let sent = run(&mut client, Moment::EPOCH, hours(9), |_, id| {
        ms(20 + 5 * u32::try_from(id).unwrap())
    });
    let messages = sent.probes + sent.reports.len();
    assert!(messages < 9 * 3600 / 16, "{messages}");
    assert!(
        sent.probes > 32 * 30,
        "all are still measured: {}",
        sent.probes
    );
}

#[test]
fn only_what_changed_is_reported_and_everything_now_and_then() {
    let mut client = client(4);
    let steady = |_: Moment, _: u64| ms(50);
    let first = run(&mut client, Moment::EPOCH, hours(1), steady);
    assert_eq!(first.reports[0].1.legs.len(), 4);
    // Every leg again after 15 minutes, not before.
    let refreshed = first
        .reports
        .iter()
        .filter(|(_, report)| report.legs.len() == 4);
    assert!((3..=4).contains(&refreshed.count()));
    // The directory never waits longer than its patience.
    let times: Vec<Moment> = first.reports.iter().map(|(at, _)| *at).collect();
    let gaps = times.windows(2).map(|pair| pair[1] - pair[0]);
    assert!(gaps.max().unwrap() <= Duration::from_secs(180));

    let one_moved = |_: Moment, id: u64| if id == 2 { ms(90) } else { ms(50) };
    let second = run(&mut client, hours(1), hours(2), one_moved);
    let told = second
        .reports
        .iter()
        .any(|(_, report)| report.legs.contains(&(ClientId(2), ms(90))));
    assert!(told);
}

#[test]
fn a_leg_that_changed_is_measured_often_again() {
    let mut client = client(1);
    run(&mut client, Moment::EPOCH, hours(3), |_, _| ms(50));
    let turn = std::cell::Cell::new(0);
    let unrest = run(&mut client, hours(3), hours(4), |_, _| {
        turn.set(turn.get() + 1);
        ms(50 + 100 * (turn.get() % 2))
    });
    let rest = run(&mut client, hours(4), hours(5), |_, _| ms(50));
    assert!(unrest.probes > 10 * rest.probes, "{}", unrest.probes);
}

#[test]
fn a_neighbour_that_never_answers_is_given_up() {
    let mut client = client(2);
    let mut now = Moment::EPOCH;
    while client.neighbours() == 2 {
        assert!(now < hours(1), "given up within the hour");
        match client.poll_output(now) {
            Output::Probe(peer) if peer.id == ClientId(0) => client.handle_silence(now, peer.id),
            Output::Probe(peer) => {
                let _ = client.handle_reply(now, peer.id, &Coordinate::origin(4), ms(30));
            }
            Output::Report(_) => {}
            Output::Wait(next) => now = next,
        }
    }
    assert_eq!(client.rtt(ClientId(0)), None);
    assert_eq!(client.rtt(ClientId(1)), Some(ms(30)));
}

#[test]
fn a_neighbour_the_directory_asks_for_is_measured_and_reported() {
    let mut client = client(2);
    let peer = |id: u64| Peer {
        id: ClientId(id),
        address: format!("198.19.{id}.1:9000").parse().unwrap(),
    };
    client.handle_neighbour(Moment::EPOCH, peer(7));
    let sent = run(&mut client, Moment::EPOCH, hours(1), |_, _| ms(50));
    let named = |(_, report): &(Moment, Report)| report.legs.contains(&(ClientId(7), ms(50)));
    assert!(sent.reports.iter().any(named));
    for id in 10..100 {
        client.handle_neighbour(hours(1), peer(id));
    }
    assert_eq!(client.neighbours(), 48);
}

#[test]
fn who_joins_again_keeps_its_place_and_what_it_measured_and_reports_it_all() {
    let mut client = client(3);
    let half = Moment::EPOCH + Duration::from_secs(1800);
    run(&mut client, Moment::EPOCH, half, |_, _| ms(80));
    let place = client.coordinate().clone();
    assert_ne!(place, Coordinate::origin(place.dimensions()));
    let peer = |id| Peer {
        id: ClientId(id),
        address: format!("198.18.{id}.1:9000").parse().unwrap(),
    };
    let welcome = Welcome {
        neighbours: [1, 2, 7].map(peer).to_vec(),
        start: Some(Coordinate::origin(place.dimensions())),
    };
    client.join_again(welcome, half);
    assert_eq!(client.coordinate(), &place);
    assert_eq!((client.neighbours(), client.rtt(ClientId(0))), (3, None));
    assert_eq!(client.rtt(ClientId(1)), Some(ms(80)));
    let later = half + Duration::from_secs(300);
    let sent = run(&mut client, half, later, |_, _| ms(80));
    let (_, report) = &sent.reports[0];
    assert_eq!(report.legs.len(), 3, "all legs, and the new one's");
    assert!(report.coordinate.is_some());
}

#[test]
fn a_neighbour_by_way_of_which_things_were_late_is_measured_and_told_at_once() {
    let mut client = client(4);
    run(&mut client, Moment::EPOCH, hours(3), |_, _| ms(50));
    let begun = hours(3);
    client.handle_suspicion(begun, ClientId(9));
    client.handle_suspicion(begun, ClientId(2));
    let soon = begun + Duration::from_secs(3);
    let late = |_: Moment, id: u64| if id == 2 { ms(90) } else { ms(50) };
    let sent = run(&mut client, begun, soon, late);
    let legs: Vec<_> = sent.reports.iter().flat_map(|(_, r)| &r.legs).collect();
    assert!(legs.contains(&&(ClientId(2), ms(90))), "{legs:?}");
}
