//! The cluster planner against small worlds where every answer is known, and the papers' promise
//! that it never sends more probes than conventional discovery.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::HashMap;

use nearside_discover::planner::{
    Activity, ClusterConfig, DrawRule, Listed, Next, Outcome, PlanReport, Planner, PlannerConfig,
    PlannerKind, Sample, ServerId, StopReason, StopRule,
};
use nearside_types::{Asn, Country, Origin, Rtt, ServerAddr};
use proptest::prelude::*;

/// A server with its truth: `None` never answers.
#[derive(Debug, Clone)]
struct Truth {
    listed: Listed,
    rtt_ms: Option<u32>,
}

fn server(addr: &str, asn: u32, country: &str, rtt_ms: Option<u32>) -> Truth {
    Truth {
        listed: Listed {
            addr: addr.parse::<ServerAddr>().unwrap(),
            origin: Origin {
                asn: (asn > 0).then_some(Asn(asn)),
                country: country.parse::<Country>().ok(),
            },
        },
        rtt_ms,
    }
}

#[derive(Debug)]
struct Run {
    probed: Vec<ServerId>,
    reason: StopReason,
    report: PlanReport,
}

/// Answers every probe at once, the simplest possible prober.
fn run(config: PlannerConfig, seed: u64, world: &[Truth]) -> Run {
    let mut planner = config.build(seed);
    drive(planner.as_mut(), world)
}

fn drive(planner: &mut dyn Planner, world: &[Truth]) -> Run {
    let listed: Vec<Listed> = world.iter().map(|truth| truth.listed).collect();
    planner.servers_listed(&listed);
    finish(planner, world)
}

/// Drives a planner that knows its servers to the end.
fn finish(planner: &mut dyn Planner, world: &[Truth]) -> Run {
    planner.list_complete();
    let mut probed = Vec::new();
    loop {
        match planner.next() {
            Next::Probe { server, .. } => {
                probed.push(server);
                planner.observe(sample(world, server));
            }
            Next::Wait => panic!("waits although everything asked for was observed"),
            Next::Done(reason) => {
                let report = planner.report();
                return Run {
                    probed,
                    reason,
                    report,
                };
            }
        }
    }
}

fn sample(world: &[Truth], server: ServerId) -> Sample {
    let outcome = match world[server.index()].rtt_ms {
        Some(ms) => Outcome::Answered(Rtt::from_micros(ms * 1000)),
        None => Outcome::Silent,
    };
    Sample {
        server,
        outcome,
        matches: true,
    }
}

fn as_planner(change: impl FnOnce(&mut ClusterConfig)) -> PlannerConfig {
    let mut config = PlannerConfig::published(PlannerKind::As);
    change(&mut config.clusters);
    config
}

#[test]
fn near_clusters_are_probed_before_far_ones_and_the_rest_is_left() {
    let mut world = Vec::new();
    for i in 0..200 {
        world.push(server(
            &format!("20.1.{}.{}:1", i / 50, i % 50),
            2,
            "US",
            Some(300),
        ));
    }
    for i in 0..50 {
        world.push(server(&format!("30.1.0.{i}:1"), 3, "DE", Some(20)));
    }
    for i in 0..500 {
        world.push(server(
            &format!("40.1.{}.{}:1", i / 100, i % 100),
            4,
            "BR",
            Some(400),
        ));
    }
    let run = run(as_planner(|_| {}), 1, &world);
    assert_eq!(run.reason, StopReason::AutoStop);
    assert_eq!(run.report.clusters, 3);
    // ⌊√200⌋ + ⌊√50⌋ + ⌊√500⌋
    assert_eq!(run.report.calibration_probes, 14 + 7 + 22);
    let ranked = &run.probed[43..];
    assert!(
        ranked[..43].iter().all(|id| (200..250).contains(&id.0)),
        "the German AS first"
    );
    assert!(
        ranked[43..].iter().all(|id| id.0 < 200),
        "then the nearer of the far ones"
    );
    // 43 near answers in the window hold the stop up until only one of them is left in it.
    assert_eq!(ranked.len(), 43 + 99);
    assert_eq!(run.report.activity, Activity::Finished);
}

#[test]
fn a_wide_cluster_is_split_by_sixteen_and_its_near_part_found() {
    let mut world = Vec::new();
    for i in 0..100 {
        world.push(server(&format!("20.1.0.{i}:1"), 2, "US", Some(250)));
        world.push(server(&format!("20.2.0.{i}:1"), 2, "US", Some(30)));
    }
    let run = run(as_planner(|_| {}), 1, &world);
    assert_eq!(run.report.clusters, 1);
    assert_eq!(run.report.ranked_clusters, 2);
    assert_eq!(
        run.report.calibration_probes,
        14 + 2,
        "one more for each /16"
    );
    let ranked = &run.probed[16..];
    let near = |id: &ServerId| world[id.index()].rtt_ms == Some(30);
    assert!(ranked.iter().take(92).all(near), "the near /16 comes first");
}

#[test]
fn a_narrow_cluster_is_not_split() {
    let world: Vec<Truth> = (0..100)
        .map(|i| {
            server(
                &format!("20.{}.0.{i}:1", i % 2),
                2,
                "US",
                Some(100 + 40 * (i % 2)),
            )
        })
        .collect();
    let run = run(as_planner(|_| {}), 1, &world);
    assert_eq!(
        run.report.ranked_clusters, 1,
        "P80 − P20 of exactly 40 ms is not above 40 ms"
    );
}

#[test]
fn a_silent_sample_is_replaced_while_there_is_an_unprobed_member() {
    let mut world: Vec<Truth> = (0..9)
        .map(|i| server(&format!("20.1.0.{i}:1"), 2, "US", None))
        .collect();
    world[4].rtt_ms = Some(50);
    let run = run(as_planner(|_| {}), 5, &world);
    assert_eq!(run.probed.len(), 9);
    assert!(
        run.report.calibration_probes > 3,
        "three samples were not enough"
    );
}

#[test]
fn a_cluster_without_any_answer_is_used_up_by_replacements_and_holds_nothing_up() {
    let mut world: Vec<Truth> = (0..16)
        .map(|i| server(&format!("20.1.0.{i}:1"), 1, "US", None))
        .collect();
    world.extend((0..16).map(|i| server(&format!("30.1.0.{i}:1"), 2, "US", Some(190))));
    let run = run(as_planner(|_| {}), 1, &world);
    assert_eq!(run.reason, StopReason::Exhausted);
    assert_eq!(run.report.calibration_probes, 16 + 4);
    assert_eq!(run.probed.len(), 32);
}

#[test]
fn strict_draws_never_take_two_of_one_sixteen() {
    let world: Vec<Truth> = (0..100)
        .map(|i| server(&format!("20.{}.0.{i}:1", i % 3), 2, "US", Some(100)))
        .collect();
    let strict = run(
        as_planner(|config| config.draw = DrawRule::Strict),
        1,
        &world,
    );
    assert_eq!(strict.report.calibration_draw.len(), 3);
    let round = run(as_planner(|_| {}), 1, &world);
    assert_eq!(round.report.calibration_draw.len(), 10);
}

#[test]
fn a_strict_draw_replaces_a_silent_sample_only_from_a_sixteen_without_an_answer() {
    for seed in 0..20 {
        let mut world: Vec<Truth> = (0..20)
            .map(|i| server(&format!("20.{}.0.{i}:1", i % 2), 2, "US", Some(100)))
            .collect();
        // All of one /16 are silent: its place in the sample must stay empty.
        for truth in world.iter_mut().step_by(2) {
            truth.rtt_ms = None;
        }
        let run = run(
            as_planner(|config| config.draw = DrawRule::Strict),
            seed,
            &world,
        );
        let sampled = &run.probed[..run.report.calibration_probes];
        let answered = sampled
            .iter()
            .filter(|id| world[id.index()].rtt_ms.is_some())
            .count();
        assert_eq!(answered, 1, "seed {seed}");
    }
}

#[test]
fn without_auto_stop_everything_is_probed_in_ranked_order() {
    let world: Vec<Truth> = (0..400)
        .map(|i| {
            server(
                &format!("20.{}.0.{}:1", i / 100, i % 100),
                1 + i / 100,
                "US",
                Some(500 - i),
            )
        })
        .collect();
    let run = run(as_planner(|config| config.stop = None), 1, &world);
    assert_eq!(run.reason, StopReason::Exhausted);
    assert_eq!(run.probed.len(), 400);
}

#[test]
fn a_favourite_that_is_known_already_is_never_asked_for() {
    let world: Vec<Truth> = (0..10)
        .map(|i| server(&format!("20.1.0.{i}:1"), 2, "US", Some(100)))
        .collect();
    for kind in PlannerKind::ALL {
        let mut planner = PlannerConfig::published(kind).build(1);
        let listed: Vec<Listed> = world.iter().map(|truth| truth.listed).collect();
        planner.servers_listed(&listed);
        for favourite in [0, 3, 9] {
            planner.observe(sample(&world, ServerId(favourite)));
        }
        let run = finish(planner.as_mut(), &world);
        assert_eq!(run.probed.len(), 7, "{kind}");
    }
}

#[test]
fn steam_probes_while_the_list_still_arrives_and_conventional_does_not() {
    let world = [server("20.1.0.1:1", 2, "US", Some(100))];
    let mut steam = PlannerConfig::published(PlannerKind::Steam).build(1);
    let mut conventional = PlannerConfig::published(PlannerKind::Conventional).build(1);
    for planner in [&mut steam, &mut conventional] {
        planner.servers_listed(&[world[0].listed]);
    }
    assert!(matches!(steam.next(), Next::Probe { .. }));
    assert_eq!(steam.next(), Next::Wait);
    assert_eq!(conventional.next(), Next::Wait);
    conventional.list_complete();
    assert!(matches!(conventional.next(), Next::Probe { .. }));
}

#[test]
fn the_calibration_draw_depends_on_the_seed_and_not_on_list_order() {
    let world: Vec<Truth> = (0..300)
        .map(|i| {
            server(
                &format!("20.{}.{}.1:1", i % 7, i / 7),
                i % 5,
                "US",
                Some(100),
            )
        })
        .collect();
    let reversed: Vec<Truth> = world.iter().rev().cloned().collect();
    let draw = |world: &[Truth], seed| -> Vec<ServerAddr> {
        let run = run(as_planner(|_| {}), seed, world);
        let ids = run.report.calibration_draw;
        ids.iter().map(|id| world[id.index()].listed.addr).collect()
    };
    assert_eq!(draw(&world, 1), draw(&reversed, 1));
    assert_ne!(draw(&world, 1), draw(&world, 2));
}

#[test]
fn smooth_run_stops_later_than_the_bottom_rule_when_near_servers_are_sprinkled_in() {
    let world: Vec<Truth> = (0..2000)
        .map(|i| {
            let rtt = if i % 60 == 0 { 100 } else { 250 };
            server(&format!("20.{}.{}.1:1", i % 10, i / 10), 1, "US", Some(rtt))
        })
        .collect();
    let bottom = run(as_planner(|_| {}), 1, &world);
    let smooth = run(
        as_planner(|config| {
            config.stop = Some(StopRule::SmoothRun {
                run: 100,
                spread_ms: 100.0,
            });
        }),
        1,
        &world,
    );
    assert!(smooth.probed.len() >= bottom.probed.len());
}

prop_compose! {
    fn worlds()(servers in proptest::collection::hash_map(
        (0u8..6, 0u8..4, 0u8..30, 1u16..4),
        (0u32..5, 0usize..4, proptest::option::weighted(0.9, 1u32..600)),
        1..250,
    )) -> Vec<Truth> {
        let countries = ["DE", "US", "JP", "-"];
        servers
            .into_iter()
            .map(|((a, b, c, port), (asn, country, rtt_ms))| {
                server(&format!("{}.{b}.0.{c}:{port}", 20 + a), asn, countries[country], rtt_ms)
            })
            .collect()
    }
}

proptest! {
    #[test]
    fn no_server_is_probed_twice_so_never_more_than_conventional(
        world in worlds(),
        seed: u64,
        kind in proptest::sample::select(PlannerKind::ALL.to_vec()),
        rtt_stop in 1u32..400,
    ) {
        let config = PlannerConfig::published(kind).stopping_at(Rtt::from_micros(rtt_stop * 1000));
        let run = run(config, seed, &world);
        let mut times: HashMap<ServerId, usize> = HashMap::new();
        for id in &run.probed {
            *times.entry(*id).or_default() += 1;
        }
        prop_assert!(times.values().all(|&n| n == 1));
        prop_assert!(run.probed.len() <= world.len());
        if run.reason == StopReason::Exhausted {
            prop_assert_eq!(run.probed.len(), world.len());
        }
    }

    /// Answers that come in any order and any delay still end the run.
    #[test]
    fn every_order_of_answers_reaches_an_end(
        world in worlds(),
        seed: u64,
        kind in proptest::sample::select(PlannerKind::ALL.to_vec()),
        picks in proptest::collection::vec(0usize..64, 600),
    ) {
        let mut planner = PlannerConfig::published(kind).build(seed);
        let listed: Vec<Listed> = world.iter().map(|truth| truth.listed).collect();
        planner.servers_listed(&listed);
        planner.list_complete();
        let mut in_flight = Vec::new();
        let mut picks = picks.into_iter().cycle();
        let mut asked = 0;
        for _ in 0..world.len() * 40 {
            let pick = picks.next().unwrap();
            let next = if pick % 2 == 0 || in_flight.is_empty() { planner.next() } else { Next::Wait };
            match next {
                Next::Probe { server, .. } => {
                    asked += 1;
                    in_flight.push(server);
                }
                Next::Done(_) => return Ok(()),
                Next::Wait if in_flight.is_empty() => prop_assert!(false, "nothing in flight, yet it waits"),
                Next::Wait => {
                    let server = in_flight.swap_remove(pick % in_flight.len());
                    planner.observe(sample(&world, server));
                }
            }
            prop_assert!(asked <= world.len());
        }
        prop_assert!(false, "no end after 40 steps for each server");
    }
}
