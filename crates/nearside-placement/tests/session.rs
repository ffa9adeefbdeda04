//! Whatever happens to a session: its promises hold, its refusals are right, its log replays.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::collections::BTreeMap;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use common::{Shape, brute_force, instances};
use nearside_placement::network::NetworkParams;
use nearside_placement::session::{Event, OutOfTime, Reason, SessionLog, Settlement};
use nearside_placement::{Delay, Instance, Latency, Session, SessionSetup, verify};
use proptest::collection::vec;
use proptest::prelude::*;

/// Few names, so that events meet: players who are here, who are not, and a server that is not there.
fn events(servers: usize) -> impl Strategy<Value = Event> {
    let client = (0..7u8).prop_map(|number| format!("player{number}"));
    let server = (0..=servers).prop_map(|number| format!("s{number}"));
    let ms = prop_oneof![8 => (0..25u8).prop_map(|ms| Some(f64::from(ms))), 1 => Just(None), 1 => Just(Some(-1.0))];
    let row = vec(ms.clone(), servers).prop_map(|row| {
        let named = |(number, ms)| (format!("s{number}"), ms);
        row.into_iter()
            .enumerate()
            .map(named)
            .collect::<BTreeMap<_, _>>()
    });
    prop_oneof![
        8 => (client.clone(), row.clone()).prop_map(|(client, latencies_ms)| Event::Join { client, latencies_ms }),
        3 => client.clone().prop_map(|client| Event::Leave { client }),
        3 => (client.clone(), server.clone(), ms.clone()).prop_map(|(client, server, ms)| Event::Latency { client, server, ms }),
        2 => (client.clone(), row).prop_map(|(client, latencies_ms)| Event::Latencies { client, latencies_ms }),
        1 => (server.clone(), server.clone(), ms).prop_map(|(one, other, ms)| Event::ServerLatency { one, other, ms }),
        2 => server.clone().prop_map(|server| Event::ServerDown { server }),
        2 => server.prop_map(|server| Event::ServerUp { server }),
        1 => (0..60u8).prop_map(|ms| Event::Bound { ms: f64::from(ms) }),
        2 => (0..6usize).prop_map(|max_moves| Event::Consolidate { max_moves }),
    ]
}

fn stories() -> impl Strategy<Value = (Instance, Delay, Latency, Vec<Event>)> {
    let shape = Shape {
        servers: 4,
        clients: 1,
        ..Shape::FULL
    };
    instances(shape).prop_flat_map(|(instance, bound)| {
        let servers = instance.servers().len();
        let latency = prop_oneof![Just(Latency::OneWay), Just(Latency::RoundTrip)];
        (
            Just(instance),
            Just(bound),
            latency,
            vec(events(servers), 1..30),
        )
    })
}

fn session(instance: &Instance, bound: Delay, latency: Latency) -> Session {
    let mut setup = SessionSetup::new(instance, bound);
    setup.latency = latency;
    Session::new(setup)
}

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(cases)
    }
}

proptest! {
    #![proptest_config(config(150))]

    #[test]
    fn what_is_kept_is_verified_and_what_is_impossible_is_so((instance, bound, latency, events) in stories()) {
        let mut session = session(&instance, bound, latency);
        for event in events {
            let before = session.clone();
            let report = session.handle(&event);
            match &report.settlement {
                Settlement::Kept => {
                    prop_assert!(report.waiting.is_empty());
                    if let Some(allocation) = session.allocation() {
                        let verdict = verify(session.instance(), &allocation, session.bound()).unwrap();
                        prop_assert!(verdict.is_good(), "{:?} after {event:?}", verdict.breaches);
                        prop_assert_eq!(report.delay_ms, Some(verdict.delay));
                    }
                }
                Settlement::Refused { reason } => {
                    prop_assert_eq!(session.instance(), before.instance());
                    prop_assert_eq!(session.allocation(), before.allocation());
                    prop_assert!(!matches!(reason, Reason::GaveUp));
                }
                Settlement::Unmet { reason } => {
                    prop_assert!(brute_force(session.instance(), session.bound()).is_none());
                    let clients = match reason {
                        Reason::Impossible { clients, .. } => clients,
                        Reason::Full { clients, places } => {
                            prop_assert!(*clients == session.clients() && clients > places);
                            continue;
                        }
                        other => panic!("{other}"),
                    };
                    let ids = session.instance().clients_by_name();
                    let group: Vec<_> = clients.iter().map(|name| ids[name.as_str()]).collect();
                    let part = session.instance().restricted_to(&group);
                    prop_assert!(brute_force(&part, session.bound()).is_none());
                }
            }
        }
    }

    #[test]
    fn a_log_replays_to_the_same_session((instance, bound, latency, events) in stories()) {
        let mut session = session(&instance, bound, latency);
        let mut log = SessionLog::new(session.setup().clone());
        for event in events {
            let report = session.handle(&event);
            if !report.is_refused() {
                log.push(event);
            }
            prop_assert_eq!(session.events(), log.len());
        }
        let text: Vec<String> = log.lines().collect();
        let log = SessionLog::from_lines(text.iter().map(String::as_str)).unwrap();
        prop_assert_eq!(log.replay(), session);
    }

    #[test]
    fn a_snapshot_goes_on_like_the_original((instance, bound, latency, events) in stories(), taken in 0..30usize) {
        let mut session = session(&instance, bound, latency);
        let (before, after) = events.split_at(taken.min(events.len()));
        for event in before {
            session.handle(event);
        }
        let mut restored = Session::from_snapshot(&session.to_snapshot()).unwrap();
        prop_assert_eq!(&restored, &session);
        for event in after {
            prop_assert_eq!(restored.handle(event), session.handle(event));
        }
    }

    #[test]
    fn an_event_without_time_changes_nothing((instance, bound, latency, events) in stories(), asked in 0..6usize) {
        let mut session = session(&instance, bound, latency);
        for event in events {
            let before = session.clone();
            // Time is up when it is asked for the nth time.
            let left = AtomicUsize::new(asked);
            let over = || left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_err();
            match session.handle_within(&event, &over) {
                Err(OutOfTime) => prop_assert_eq!(&session, &before),
                Ok(report) => prop_assert_eq!(report, before.clone().handle(&event)),
            }
        }
    }

    #[test]
    fn consolidation_keeps_its_word((instance, bound, latency, events) in stories(), max_moves in 0..8usize) {
        let mut session = session(&instance, bound, latency);
        for event in events {
            session.handle(&event);
        }
        let plan = session.plan_consolidation(max_moves);
        prop_assert!(plan.moves.len() <= max_moves);
        // Where servers have prices, two cheap ones may take the place of a dear one.
        let mut prices = session.instance().servers().iter().map(|server| server.cost);
        let first = prices.next();
        let all_alike = prices.all(|price| Some(price) == first);
        prop_assert!(!all_alike || plan.servers_after <= plan.servers_before);
        let kept = session.view().kept;
        let before = session.allocation().map(|allocation| verify(session.instance(), &allocation, session.bound()).unwrap());
        let report = session.handle(&Event::Consolidate { max_moves });
        if kept {
            prop_assert_eq!(&report.moves, &plan.moves);
            prop_assert_eq!(report.servers_used, plan.servers_after);
            if let Some(before) = before {
                let after = verify(session.instance(), &session.allocation().unwrap(), session.bound()).unwrap();
                prop_assert!(after.is_good());
                prop_assert!(after.cost <= before.cost);
                prop_assert_eq!(before.cost - after.cost, plan.saved);
            }
        }
    }
}

fn join(client: &str, latencies: &[(&str, f64)]) -> Event {
    let named = latencies
        .iter()
        .map(|&(server, ms)| (server.to_owned(), Some(ms)));
    Event::Join {
        client: client.to_owned(),
        latencies_ms: named.collect(),
    }
}

fn line_of_three() -> Session {
    let setup = r#"{"delay_bound_ms": 8, "servers": [{"name": "a"}, {"name": "b"}, {"name": "c"}],
        "server_server_ms": [[0, 1, 2], [1, 0, 1], [2, 1, 0]]}"#;
    Session::new(SessionSetup::from_json(setup.as_bytes()).unwrap())
}

#[test]
fn players_come_together_when_they_may_be_moved() {
    let mut session = line_of_three();
    assert!(
        session
            .handle(&join("anna", &[("a", 1.0), ("b", 3.0), ("c", 5.0)]))
            .is_kept()
    );
    assert!(
        session
            .handle(&join("bert", &[("a", 5.0), ("b", 3.0), ("c", 1.0)]))
            .is_kept()
    );
    assert_eq!(
        session
            .view()
            .servers
            .iter()
            .filter(|server| server.load > 0)
            .count(),
        2
    );
    let plan = session.plan_consolidation(1);
    assert!(
        plan.moves.is_empty(),
        "one move cannot save a server: {plan:?}"
    );
    let report = session.handle(&Event::Consolidate { max_moves: 2 });
    assert_eq!(report.servers_used, 1);
    assert_eq!(session.server_of("anna"), Some("b"));
}

/// Everybody of a small network whom the bound allows, one after the other.
fn gathered(seed: u64, bound: f64) -> Session {
    let params = NetworkParams {
        systems: 10,
        routers: 20,
        servers: 40,
        clients: 40,
        ..NetworkParams::default()
    };
    let world = params.generate(seed);
    let mut session = Session::new(SessionSetup::new(
        &world,
        Delay::from_millis(bound).unwrap(),
    ));
    for client in world.client_ids() {
        let row = world
            .access_row(client)
            .iter()
            .map(|delay| delay.as_millis());
        let names = world.servers().iter().map(|server| server.name.as_str());
        let ways: Vec<(&str, f64)> = names.zip(row).collect();
        session.handle(&join(world.client_name(client), &ways));
    }
    session
}

#[test]
fn a_few_moves_save_servers_where_the_optimum_would_move_too_many() {
    let mut saved = Vec::new();
    for (seed, bound) in (0..3).flat_map(|seed| [10.0, 13.0, 16.0, 19.0].map(|ms| (seed, ms))) {
        let session = gathered(seed, bound);
        let all = session.plan_consolidation(usize::MAX);
        let few = session.plan_consolidation(all.moves.len() / 2);
        assert!(few.moves.len() <= all.moves.len() / 2);
        assert!(few.servers_after >= all.servers_after);
        saved.push(few.servers_before - few.servers_after);
    }
    assert!(saved.iter().sum::<usize>() > 0, "{saved:?}");
}

#[test]
fn a_failing_server_sends_its_players_on_and_strands_those_it_must() {
    let mut session = line_of_three();
    session.handle(&join("anna", &[("a", 1.0), ("b", 3.0)]));
    session.handle(&join("bert", &[("c", 1.0)]));
    let down = Event::ServerDown {
        server: "a".to_owned(),
    };
    let report = session.handle(&down);
    assert!(report.is_kept());
    assert_eq!(session.server_of("anna"), Some("b"));
    let report = session.handle(&Event::ServerDown {
        server: "c".to_owned(),
    });
    assert_eq!(report.waiting, ["bert"]);
    assert!(matches!(report.settlement, Settlement::Unmet { .. }));
    let report = session.handle(&Event::ServerUp {
        server: "c".to_owned(),
    });
    assert!(report.is_kept() && report.waiting.is_empty());
}

#[test]
fn a_player_who_is_too_far_away_is_refused_by_name() {
    let mut session = line_of_three();
    session.handle(&join("anna", &[("a", 1.0), ("b", 3.0)]));
    let report = session.handle(&join("far", &[("a", 90.0)]));
    let Settlement::Refused {
        reason: Reason::Impossible { clients, delay },
    } = report.settlement
    else {
        panic!("{report:?}");
    };
    assert_eq!(clients, ["far"]);
    assert_eq!(delay, Delay::from_millis(180.0));
    assert_eq!(session.clients(), 1);
}

#[test]
fn a_full_house_blames_nobody() {
    let setup = r#"{"delay_bound_ms": 100, "servers": [{"name": "a", "capacity": 1}, {"name": "b", "capacity": 1}],
        "server_server_ms": [[0, 1], [1, 0]]}"#;
    let mut session = Session::new(SessionSetup::from_json(setup.as_bytes()).unwrap());
    session.handle(&join("anna", &[("a", 1.0), ("b", 1.0)]));
    session.handle(&join("bert", &[("a", 1.0), ("b", 1.0)]));
    let report = session.handle(&join("carl", &[("a", 1.0), ("b", 1.0)]));
    let reason = Reason::Full {
        clients: 3,
        places: 2,
    };
    assert_eq!(report.settlement, Settlement::Refused { reason });
}

#[test]
fn a_server_named_twice_is_a_mistake() {
    let twice = r#"{"event": "join", "client": "anna", "latencies_ms": {"fra": 1, "fra": 2}}"#;
    let error = serde_json::from_str::<Event>(twice)
        .unwrap_err()
        .to_string();
    assert!(error.contains("`fra` is there twice"), "{error}");
    let word = r#"{"event": "join", "client": "anna", "latencies_ms": {"fra": "far"}}"#;
    let error = serde_json::from_str::<Event>(word).unwrap_err().to_string();
    assert!(error.contains("`fra`") && error.contains("far"), "{error}");
}

#[test]
fn a_way_from_a_server_to_itself_is_refused() {
    let mut session = line_of_three();
    let event = r#"{"event": "server_latency", "one": "a", "other": "a", "ms": 500}"#;
    let event: Event = serde_json::from_str(event).unwrap();
    let report = session.handle(&event);
    let Settlement::Refused { reason } = &report.settlement else {
        panic!("{report:?}");
    };
    assert_eq!(report.number, 0);
    assert!(reason.to_string().starts_with("`a` is one server"));
    // Where it was taken before, what came after it keeps its number.
    assert_eq!(session.replay(&event).number, 1);
    assert_eq!(session.replay(&join("anna", &[("a", 1.0)])).number, 2);
}

#[test]
fn a_bad_delay_is_refused_with_its_way() {
    let mut session = line_of_three();
    let report = session.handle(&join("anna", &[("a", 1.0), ("b", -3.0)]));
    let Settlement::Refused { reason } = report.settlement else {
        panic!("{report:?}");
    };
    let told = reason.to_string();
    assert!(told.starts_with("anna to b: -3 is not a delay"), "{told}");
}

#[test]
fn bad_log_lines_are_named() {
    let log = |lines: &[&str]| {
        SessionLog::from_lines(lines.iter().copied())
            .unwrap_err()
            .to_string()
    };
    assert!(log(&[]).contains("empty"));
    assert!(log(&["{}"]).contains("line 1"));
    let setup = line_of_three().setup().to_json();
    let error = log(&[&setup, "", r#"{"event": "dance"}"#]);
    assert!(
        error.contains("line 3") && error.contains("dance"),
        "{error}"
    );
}

#[test]
fn bad_snapshots_are_refused_with_a_place() {
    let mut session = line_of_three();
    session.handle(&join("anna", &[("a", 1.0), ("b", 3.0)]));
    let good = session.to_snapshot();
    assert_eq!(Session::from_snapshot(&good).unwrap(), session);
    for (part, instead, place) in [
        ("\"anna\"", "\"\"", "empty"),
        ("\"contact\":0", "\"contact\":3", "anna"),
        ("\"down\":[]", "\"down\":[9]", "down"),
        ("\"access\":[1000000000,", "\"access\":[-1,", "anna"),
        ("\"between\":[[", "\"between\":[[7,", "row 0"),
    ] {
        let bad = good.replacen(part, instead, 1);
        assert_ne!(bad, good, "{part} is not in {good}");
        let error = Session::from_snapshot(&bad).unwrap_err().to_string();
        assert!(error.contains(place), "{error}");
    }
}

/// Full servers make every question slow: each needs a matching.
fn crowded(servers: usize, clients: usize) -> Session {
    let params = NetworkParams {
        servers,
        clients,
        ..NetworkParams::default()
    };
    let places = (clients / servers + 2) as u32;
    let instance = params.generate(4).with_capacity(places);
    let bound = Delay::from_millis(60.0).unwrap();
    let mut session = Session::new(SessionSetup::new(&instance, bound));
    for client in instance.client_ids() {
        let row = instance.access_row(client).iter();
        let ways: Vec<(&str, f64)> = instance
            .server_ids()
            .zip(row)
            .map(|(server, delay)| (instance.server_name(server), delay.as_millis()))
            .collect();
        session.handle(&join(instance.client_name(client), &ways));
    }
    session
}

#[test]
#[allow(
    clippy::disallowed_methods,
    reason = "how late it is can only be measured"
)]
fn consolidating_a_crowd_stops_soon_after_it_is_told_to() {
    let session = crowded(100, 600);
    for millis in [0, 20, 100, 400] {
        let started = Instant::now();
        let time_is_up = || started.elapsed() >= Duration::from_millis(millis);
        let plan = session.plan_consolidation_within(1_000, &time_is_up);
        let late = started
            .elapsed()
            .saturating_sub(Duration::from_millis(millis));
        assert_eq!(plan, Err(OutOfTime));
        // Ten milliseconds on an idle machine; it was minutes when every place was looked for anew.
        assert!(late < Duration::from_secs(1), "{late:?} after {millis} ms");
    }
}
