use super::*;

fn at(x: f64, height_ms: f64, error: f64) -> Coordinate {
    Coordinate::try_from(CoordinateParts {
        position_ms: vec![x, 0.0, 0.0, 0.0],
        height_ms,
        adjustment_ms: 0.0,
        error,
    })
    .unwrap()
}

fn node() -> Vivaldi {
    Vivaldi::new(VivaldiConfig::for_matrices(), 7)
}

const fn ms(millis: u32) -> Rtt {
    Rtt::from_micros(millis * 1000)
}

#[test]
fn two_nodes_find_their_distance() {
    let mut node = node();
    let peer = at(30.0, 5.0, 0.1);
    for _ in 0..200 {
        node.observe(Neighbour(1), &peer, ms(80)).unwrap();
    }
    let estimate = node.estimate(&peer).unwrap();
    assert!((estimate.rtt.as_millis_f64() - 80.0).abs() < 1.0);
    assert!(node.confidence() > 0.9, "{}", node.confidence());
}

#[test]
fn nodes_in_one_place_part_in_a_random_direction() {
    let mut node = node();
    let peer = Coordinate::origin(4);
    node.observe(Neighbour(1), &peer, ms(80)).unwrap();
    assert!(
        node.coordinate()
            .position_ms()
            .iter()
            .any(|x| x.abs() > 0.1)
    );
}

#[test]
fn the_first_round_trip_to_a_neighbour_is_not_believed() {
    let mut node = Vivaldi::new(VivaldiConfig::default(), 0);
    let peer = at(30.0, 5.0, 0.1);
    let first = node.observe(Neighbour(1), &peer, ms(900));
    assert_eq!(first, Err(Refused::FirstOfNeighbour));
    assert_eq!(node.observe(Neighbour(1), &peer, ms(40)), Ok(()));
    node.forget(Neighbour(1));
    let again = node.observe(Neighbour(1), &peer, ms(40));
    assert_eq!(again, Err(Refused::FirstOfNeighbour));
}

#[test]
fn impossible_round_trips_move_nothing() {
    let mut node = node();
    let before = node.coordinate().clone();
    let peer = at(30.0, 5.0, 0.1);
    let none = node.observe(Neighbour(1), &peer, ms(0));
    assert_eq!(none, Err(Refused::Zero));
    let long = node.observe(Neighbour(1), &peer, ms(9_000));
    assert_eq!(long, Err(Refused::TooLong(ms(9_000))));
    let other = node.observe(Neighbour(1), &Coordinate::origin(2), ms(10));
    assert_eq!(other, Err(Refused::Dimensions { ours: 4, theirs: 2 }));
    assert_eq!(*node.coordinate(), before);
}

#[test]
fn gravity_brings_a_drifting_node_home() {
    let config = VivaldiConfig {
        gravity_radius: ms(200),
        ..VivaldiConfig::for_matrices()
    };
    let far = at(2_000.0, 1.0, 0.1);
    let mut node = Vivaldi::starting_at(config, far.clone(), 0);
    // The neighbour agrees with the node's place, so that only gravity moves it: 100 ms at once.
    node.observe(Neighbour(1), &at(1_900.0, 1.0, 0.1), ms(102))
        .unwrap();
    let moved = node.coordinate().moved_since(&far).as_millis_f64();
    assert!((moved - 100.0).abs() < 1.0, "{moved}");
}

#[test]
fn neither_one_place_for_two_nor_gravity_makes_a_step_longer() {
    // A node that knows nothing takes a quarter of 5 s, less 0.2 ms, from one that is perfect.
    for x in [0.0, 3_000.0] {
        let start = at(x, 0.1, 1.5);
        for peer in [at(x, 0.1, 0.0), at(x + 1.0, 0.1, 0.0)] {
            let config = VivaldiConfig::for_matrices();
            let mut node = Vivaldi::starting_at(config, start.clone(), 3);
            node.observe(Neighbour(1), &peer, ms(5_000)).unwrap();
            let moved = node.coordinate().moved_since(&start);
            assert!(moved <= ms(100), "{moved:?} from {x} ms");
        }
    }
}

#[test]
fn adjustment_takes_what_the_plane_cannot_show() {
    let config = VivaldiConfig {
        adjustment_window: 10,
        step_gain: 0.0,
        ..VivaldiConfig::for_matrices()
    };
    let mut node = Vivaldi::new(config, 0);
    let peer = at(30.0, 4.9, 0.1);
    node.observe(Neighbour(1), &peer, ms(45)).unwrap();
    // It misses 10 ms, of which one half is this node's.
    assert!((node.coordinate().adjustment_ms() - 5.0).abs() < 1e-9);
    assert_eq!(node.estimate(&peer).unwrap().rtt, ms(40));
}

#[test]
fn nonsense_sends_a_node_back_to_the_middle() {
    let mut node = node();
    node.coordinate.position[0] = f64::NAN;
    let peer = at(30.0, 5.0, 0.1);
    node.observe(Neighbour(1), &peer, ms(80)).unwrap();
    assert_eq!(node.resets(), 1);
    assert!(node.coordinate().is_sane());
}

#[test]
fn coordinates_that_make_no_sense_cannot_be_read() {
    let read = |text: &str| serde_json::from_str::<Coordinate>(text);
    let good = r#"{"position_ms": [1, -2.5], "height_ms": 3, "error": 0.25}"#;
    let coordinate = read(good).unwrap();
    assert_eq!(coordinate.position_ms(), [1.0, -2.5]);
    for bad in [
        r#"{"position_ms": [], "height_ms": 3, "error": 0.25}"#,
        r#"{"position_ms": [1e5], "height_ms": 3, "error": 0.25}"#,
        r#"{"position_ms": [1], "height_ms": -3, "error": 0.25}"#,
        r#"{"position_ms": [1], "height_ms": 3, "error": -1}"#,
        r#"{"position_ms": [1], "height_ms": 3, "error": 0.1, "more": 1}"#,
    ] {
        assert!(read(bad).is_err(), "{bad}");
    }
    let endless = CoordinateParts {
        position_ms: vec![f64::INFINITY],
        height_ms: 1.0,
        adjustment_ms: 0.0,
        error: 0.5,
    };
    let error = Coordinate::try_from(endless).unwrap_err();
    assert!(error.to_string().starts_with("a position is inf"));
}
