//! What holds for every run, whatever the world, the method and the seed.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::HashSet;

use nearside_sim::compare::{Comparison, Row};
use nearside_sim::{Conditions, Method, Scene, Score, Timing, Unwatched, World, run, with_threads};
use nearside_types::Rtt;
use nearside_world::{Fraction, Game, Population, WorldParams, generate};
use proptest::prelude::*;

fn methods() -> Vec<Method> {
    Method::names().map(|name| name.parse().unwrap()).collect()
}

fn small_world(answering: usize, seed: u64) -> Population {
    let params = WorldParams::builtin();
    generate(&params, Game::Css, Some(answering), seed)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn no_method_probes_more_than_conventional_nor_any_server_twice(
        answering in 1usize..400,
        seed in 0u64..20,
        client in 0usize..7,
        stop in 20u32..400,
    ) {
        let population = small_world(answering, seed);
        let conditions = Conditions {
            stop: Rtt::from_micros(stop * 1000),
            ..Conditions::published(Game::Css)
        };
        let listed = population.listed();
        let scene = Scene { population: &population, listed: &listed, client, conditions: &conditions };
        let full = run(&scene, &Method::CONVENTIONAL, seed).summary;
        prop_assert_eq!(full.probed, listed.len());
        for method in methods() {
            let record = run(&scene, &method, seed);
            prop_assert!(record.summary.probed <= full.probed, "{method}");
            prop_assert!(record.summary.probes_sent <= full.probes_sent, "{method}");
            let servers: HashSet<_> = record.probes.iter().map(|probe| probe.server).collect();
            prop_assert_eq!(servers.len(), record.probes.len(), "{} probed one twice", method);
            prop_assert_eq!(servers.len(), record.summary.probed, "{}", method);
            let answered = record.probes.iter().filter(|probe| probe.rtt.is_some()).count();
            prop_assert_eq!(answered, record.summary.answered, "{}", method);
        }
    }

    #[test]
    fn where_all_answer_one_datagram_finds_a_server(seed in 0u64..20, client in 0usize..7) {
        let mut population = small_world(200, seed);
        population.servers.retain(|server| server.rtt[client].is_some());
        let conditions = Conditions::published(Game::Css);
        let listed = population.listed();
        let scene = Scene { population: &population, listed: &listed, client, conditions: &conditions };
        for method in methods() {
            let score = Score::of_run(&scene, &method, seed);
            prop_assert_eq!(score.datagrams, score.probes as u64, "{}", method);
            prop_assert_eq!(score.answered, score.probes, "{}", method);
        }
    }
}

#[test]
fn a_run_lasts_until_its_last_answer_however_slow_the_pace() {
    let mut population = small_world(1, 0);
    population.servers.retain(|server| server.rtt[0].is_some());
    let conditions = Conditions {
        pace: "0.1".parse().unwrap(),
        ..Conditions::published(Game::Css)
    };
    let listed = population.listed();
    let scene = Scene {
        population: &population,
        listed: &listed,
        client: 0,
        conditions: &conditions,
    };
    let score = Score::of_run(&scene, &Method::CONVENTIONAL, 0);
    assert!(
        score.seconds > 0.0 && score.seconds < 2.0,
        "{}",
        score.seconds
    );
}

#[test]
fn the_oracle_probes_what_is_playable_nearest_first_and_nothing_else() {
    let population = small_world(500, 3);
    let conditions = Conditions::published(Game::Css);
    let listed = population.listed();
    for client in 0..population.clients.len() {
        let scene = Scene {
            population: &population,
            listed: &listed,
            client,
            conditions: &conditions,
        };
        let score = Score::of_run(&scene, &Method::Oracle, 3);
        assert!(score.playable > 0);
        assert_eq!(
            (score.probes, score.found),
            (score.playable, score.playable)
        );
        assert_eq!(score.recall(), 1.0);
        assert_eq!(score.probes_to_50, Some(score.playable.div_ceil(2)));
        assert_eq!(score.probes_to_10_best, Some(10));
    }
}

#[test]
fn conventional_discovery_finds_everything_that_is_playable() {
    let population = small_world(500, 4);
    let conditions = Conditions::published(Game::Css);
    let listed = population.listed();
    let scene = Scene {
        population: &population,
        listed: &listed,
        client: population.client("JP").unwrap(),
        conditions: &conditions,
    };
    let score = Score::of_run(&scene, &Method::CONVENTIONAL, 4);
    assert_eq!(score.found, score.playable);
    assert_eq!(score.answered, 500);
    let order = [
        score.probes_to_50,
        score.probes_to_90,
        score.probes_to_99,
        Some(score.probes),
    ];
    assert!(order.is_sorted() && order[0].is_some(), "{order:?}");
}

/// Farther than three tries wait: given up, then heard of after all.
#[test]
fn a_server_that_answers_after_it_was_given_up_is_on_record_once() {
    let mut population = small_world(600, 5);
    let client = population.client("DE").unwrap();
    let far = 3;
    population.servers[far].rtt[client] = Some(Rtt::from_micros(3_500_000));
    let conditions = Conditions::published(Game::Css);
    let listed = population.listed();
    let scene = Scene {
        population: &population,
        listed: &listed,
        client,
        conditions: &conditions,
    };
    let record = run(&scene, &Method::CONVENTIONAL, 5);
    let of_far = record.probes.iter().filter(|p| p.server.index() == far);
    let timings: Vec<Timing> = of_far.map(|probe| probe.timing).collect();
    assert_eq!(timings, [Timing::Late]);
    assert_eq!(record.probes.len(), record.summary.probed);
}

fn comparison(seeds: &str, wrong_labels: f64) -> Comparison {
    let mut conditions = Conditions::published(Game::Css);
    conditions.farm.loss = 0.05.try_into().unwrap();
    Comparison {
        world: World::Generated {
            params: Box::new(WorldParams::builtin()),
            game: Game::Css,
            answering: Some(400),
        },
        clients: vec!["AU".to_owned(), "DE".to_owned()],
        methods: methods(),
        seeds: seeds.parse().unwrap(),
        conditions,
        wrong_labels: Fraction::try_from(wrong_labels).unwrap(),
        without: Vec::new(),
    }
}

#[test]
fn rows_are_the_same_at_any_number_of_threads() {
    let rows = |threads| -> Vec<Row> {
        let comparison = comparison("0-3", 0.1);
        with_threads(threads, || comparison.run(&Unwatched).unwrap()).unwrap()
    };
    let one = rows(1);
    assert_eq!(one, rows(2));
    assert_eq!(one.len(), 2 * methods().len() * 4);
    let places: Vec<_> = one.iter().map(|row| (&row.client, row.seed)).collect();
    assert_eq!(places[0], (&"AU".to_owned(), 0));
    assert_eq!(places[3], (&"AU".to_owned(), 3));
}

#[test]
fn wrong_labels_move_the_country_planner_and_leave_the_list_order_alone() {
    let row = |wrong, planner: &str| {
        let rows = comparison("2", wrong).run(&Unwatched).unwrap();
        rows.into_iter().find(|row| row.planner == planner).unwrap()
    };
    assert_eq!(row(0.0, "conventional"), row(0.4, "conventional"));
    assert_ne!(row(0.0, "country"), row(0.4, "country"));
}

#[test]
fn an_unknown_client_is_answered_with_the_choices() {
    let mut comparison = comparison("1", 0.0);
    comparison.clients.push("MARS".to_owned());
    let message = comparison.run(&Unwatched).unwrap_err().to_string();
    assert!(
        message.contains("`MARS`") && message.contains("AU, CH, DE"),
        "{message}"
    );
}
