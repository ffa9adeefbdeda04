//! Discovery in virtual time over the built-in world: the live engines, a jumping clock.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use nearside_discover::planner::{PlannerConfig, PlannerKind, StopReason};
use nearside_discover::prober::Prober;
use nearside_types::Rtt;
use nearside_world::farm::FarmConfig;
use nearside_world::virtual_time::{Run, UnknownClient};
use nearside_world::{Game, Population, ProbeNoise, WorldParams, generate};

fn run(
    population: &Population,
    place: &str,
    kind: PlannerKind,
    seed: u64,
    config: FarmConfig,
) -> Prober {
    let planner = PlannerConfig::published(kind);
    let run = Run {
        farm: config,
        ..Run::new(population, place, Game::Css, planner, seed)
    };
    run.discover(|_, _, _| {}).unwrap()
}

#[test]
fn a_discovery_from_australia_stops_early_and_finds_most_of_what_is_near() {
    let population = generate(&WorldParams::builtin(), Game::Css, None, 3);
    let prober = run(&population, "AU", PlannerKind::As, 3, FarmConfig::default());
    let summary = prober.summary();
    let full = run(
        &population,
        "AU",
        PlannerKind::Conventional,
        3,
        FarmConfig::default(),
    )
    .summary();
    assert_eq!(summary.stopped, Some(StopReason::AutoStop));
    assert_eq!(full.stopped, Some(StopReason::Exhausted));
    assert_eq!(full.answered, 27_640);
    let share = summary.probes_sent as f64 / full.probes_sent as f64;
    assert!(
        (0.10..0.25).contains(&share),
        "auto-stop after {share:.3} of a full scan"
    );
    let recall = summary.playable as f64 / full.playable as f64;
    assert!(recall > 0.85, "recall {recall:.3}");
    let plan = prober.plan();
    assert!(
        (1100..1300).contains(&plan.clusters),
        "{} clusters",
        plan.clusters
    );
    assert!(summary.probed <= summary.listed);
}

#[test]
fn every_ping_is_the_truth_without_noise() {
    let population = generate(&WorldParams::builtin(), Game::Css, Some(2000), 5);
    let config = FarmConfig {
        noise: ProbeNoise::NONE,
        ..FarmConfig::default()
    };
    let prober = run(&population, "JP", PlannerKind::Conventional, 5, config);
    let client = population.client("JP").unwrap();
    for row in prober.snapshot().servers {
        let truth = population
            .servers
            .iter()
            .find(|server| server.addr == row.addr)
            .unwrap();
        assert_eq!(
            row.rtt_ms,
            truth.rtt[client].map(Rtt::as_millis_f64),
            "{}",
            row.addr
        );
        assert!(row.clean);
    }
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let population = generate(&WorldParams::builtin(), Game::Css, Some(3000), 5);
    let run = |seed| {
        run(
            &population,
            "TW",
            PlannerKind::Country,
            seed,
            FarmConfig::default(),
        )
    };
    assert_eq!(run(7).snapshot(), run(7).snapshot());
    assert_ne!(
        run(7).plan().calibration_draw,
        run(8).plan().calibration_draw
    );
}

#[test]
fn loss_costs_retries_but_few_servers() {
    let population = generate(&WorldParams::builtin(), Game::Css, Some(3000), 5);
    let config = FarmConfig {
        loss: 0.05.try_into().unwrap(),
        ..FarmConfig::default()
    };
    let summary = run(&population, "DE", PlannerKind::Conventional, 5, config).summary();
    // 0.05³ of 3,000 servers is 0.4; more than 5 would be a one-in-a-million accident.
    assert!(summary.answered >= 2995, "{} answered", summary.answered);
}

#[test]
fn an_unknown_client_is_refused_with_the_known_ones() {
    let population = generate(&WorldParams::builtin(), Game::Css, Some(10), 5);
    let planner = PlannerConfig::published(PlannerKind::As);
    let run = Run::new(&population, "MARS", Game::Css, planner, 1);
    let error = run.discover(|_, _, _| {}).unwrap_err();
    let UnknownClient { client, known } = &error;
    assert_eq!((client.as_str(), known), ("MARS", &population.clients));
    assert!(error.to_string().contains("AU, CH, DE"), "{error}");
}

#[test]
fn enemy_territory_is_probed_in_its_own_protocol_at_its_own_pace() {
    let population = generate(&WorldParams::builtin(), Game::EnemyTerritory, Some(400), 5);
    let planner = PlannerConfig::published(PlannerKind::Conventional);
    let run = Run::new(&population, "CH", Game::EnemyTerritory, planner, 1);
    let summary = run.discover(|_, _, _| {}).unwrap().summary();
    assert_eq!(summary.answered, 400);
    // The silent ones are waited for three times a second at the end.
    let sending = summary.probes_sent as f64 / 40.0;
    assert!(
        (sending - 1.0..sending + 4.0).contains(&summary.seconds),
        "{sending} s of sending in {} s",
        summary.seconds
    );
}
