//! Generated populations against the tables they were fitted to: bands, on development seeds.

mod offline;
mod table2;

use std::sync::LazyLock;

use nearside_discover::planner::PlannerKind;
use nearside_types::Rtt;
use nearside_world::{Game, WorldParams, generate};
use offline::Clustering;
use table2::{Crowd, LINES, Line, Outcome};

/// For each line of the tables, the outcomes of a few seeds.
static RUNS: LazyLock<Vec<(Line, Vec<Outcome>)>> = LazyLock::new(|| {
    let params = WorldParams::builtin();
    let seeds: Vec<Vec<Outcome>> = (0..3).map(|seed| table2::one_seed(&params, seed)).collect();
    let lines = LINES.into_iter().enumerate();
    lines
        .map(|(index, line)| (line, seeds.iter().map(|seed| seed[index]).collect()))
        .collect()
});

fn of_css() -> impl Iterator<Item = &'static (Line, Vec<Outcome>)> {
    RUNS.iter()
        .filter(|(line, _)| line.crowd.game() == Game::Css)
}

#[test]
fn clusters_are_as_many_as_in_table_2() {
    for (line, outcomes) in of_css() {
        let slack = if line.kind == PlannerKind::As {
            12.0
        } else {
            20.0
        };
        let clusters = table2::mean(outcomes, |outcome| outcome.clusters);
        assert!(
            (clusters - line.clusters as f64).abs() <= slack,
            "{} {}: {clusters}, paper {}",
            line.client,
            line.kind,
            line.clusters
        );
    }
}

/// The means over twenty seeds are within 10 % everywhere (docs/evaluation.md); those of three are
/// less sure where one large country more or less is split.
#[test]
fn calibration_costs_about_what_table_2_says() {
    for (line, outcomes) in of_css() {
        let slack = if line.kind == PlannerKind::As {
            0.10
        } else {
            0.15
        };
        let probes = table2::mean(outcomes, |outcome| outcome.calibration);
        assert!(
            (probes / line.calibration - 1.0).abs() < slack,
            "{} {}: {probes:.0}, paper {}",
            line.client,
            line.kind,
            line.calibration
        );
    }
}

#[test]
fn auto_stop_comes_within_four_points_of_table_2() {
    for (line, outcomes) in of_css() {
        let stop = table2::mean(outcomes, |outcome| outcome.stop_percent);
        assert!(
            (stop - line.stop_percent).abs() < 4.0,
            "{} {}: {stop:.1} %, paper {}",
            line.client,
            line.kind,
            line.stop_percent
        );
        let worst = outcomes.iter().map(|outcome| outcome.recall_percent);
        assert!(worst.fold(f64::INFINITY, f64::min) > 60.0, "{outcomes:?}");
    }
}

/// Not fitted: the country paper has 20, 36 and 100 %.
#[test]
fn enemy_territory_stops_first_in_australia_then_in_japan_and_never_in_switzerland() {
    let stops: Vec<f64> = RUNS
        .iter()
        .filter(|(line, _)| line.crowd == Crowd::EnemyTerritory)
        .map(|(_, outcomes)| table2::mean(outcomes, |outcome| outcome.stop_percent))
        .collect();
    assert!(stops.is_sorted(), "{stops:?}");
    assert!(stops[0] < 35.0 && stops[2] > 95.0, "{stops:?}");
}

/// The engine against Algorithms 1 and 2 without packets and time, which share no code with it.
#[test]
fn the_engine_and_the_offline_algorithms_agree() {
    let params = WorldParams::builtin();
    let world = generate(&params, Game::Css, None, 0);
    for (line, outcomes) in of_css().filter(|(line, _)| line.crowd == Crowd::Css) {
        let clustering = match line.kind {
            PlannerKind::As => Clustering::As,
            _ => Clustering::Country,
        };
        let client = world.client(line.client).expect("a built-in place");
        let offline = offline::run(&world, client, clustering, params.probe_noise(), 0);
        let engine = outcomes[0];
        assert_eq!(offline.clusters as f64, engine.clusters);
        let probes = offline.calibration as f64 / engine.calibration;
        assert!((0.9..1.1).contains(&probes), "{offline:?} {engine:?}");
        let points = 100.0 * offline.cost_share - engine.stop_percent;
        assert!(points.abs() < 4.0, "{offline:?} {engine:?}");
    }
}

#[test]
fn playable_servers_are_rare_in_asia_and_the_rule_in_europe() {
    let limit = Rtt::from_millis_f64(200.0);
    let world = generate(&WorldParams::builtin(), Game::Css, None, 0);
    for (place, low, high) in [
        ("AU", 2.0, 6.0),
        ("TW", 11.0, 21.0),
        ("JP", 17.0, 26.0),
        ("USA", 83.0, 99.0),
        ("DE", 91.0, 98.0),
        ("UK", 92.0, 98.0),
    ] {
        let client = world.client(place).expect("a built-in place");
        let playable = world.rtts(client).filter(|&rtt| rtt < limit).count();
        let share = 100.0 * playable as f64 / world.answering(client) as f64;
        assert!((low..high).contains(&share), "{place}: {share:.1} %");
    }
}
