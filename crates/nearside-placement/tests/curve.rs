//! The smallest bound for k servers and the curve of cost against bound, compared with trying every
//! allocation.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{Shape, every_allocation, instances};
use std::sync::atomic::{AtomicU64, Ordering};

use nearside_placement::network::NetworkParams;
use nearside_placement::{
    Budget, ClientId, Cost, Curve, CurvePoint, Delay, Instance, MinDelayError, Verdict, curve,
    min_delay, verify,
};
use proptest::prelude::*;

/// Cost, servers and delay of every allocation that overloads nobody and reaches everybody.
fn all_possible(instance: &Instance) -> Vec<(Cost, usize, Delay)> {
    every_allocation(instance)
        .map(|allocation| verify(instance, &allocation, Delay::LONGEST).unwrap())
        .filter(Verdict::is_good)
        .map(|verdict| (verdict.cost, verdict.servers_used, verdict.delay))
        .collect()
}

fn config() -> ProptestConfig {
    ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(120)
    }
}

const SMALL: Shape = Shape {
    clients: 5,
    servers: 4,
    ..Shape::FULL
};

proptest! {
    #![proptest_config(config())]

    #[test]
    fn min_delay_is_the_smallest_of_all((instance, _) in instances(SMALL), servers in 1..4usize) {
        let possible = all_possible(&instance);
        let few = possible.iter().filter(|(_, used, _)| *used <= servers);
        let smallest = few.map(|(_, _, delay)| *delay).min();
        let found = min_delay(&instance, servers, &Budget::unlimited(1));
        let delay = found.as_ref().map(|found| found.delay).map_err(|error| *error);
        prop_assert_eq!(delay, smallest.ok_or(MinDelayError::Impossible));
        if let Ok(found) = found {
            prop_assert!(found.is_proven() && found.servers_used <= servers);
            let verdict = verify(&instance, &found.allocation, found.delay).unwrap();
            prop_assert!(verdict.is_good() && verdict.delay == found.delay);
        }
    }

    #[test]
    fn the_curve_has_every_corner_and_no_other((instance, _) in instances(SMALL)) {
        let mut possible = all_possible(&instance);
        possible.sort_by_key(|&(cost, _, delay)| (cost, delay));
        let mut corners: Vec<(Cost, Delay)> = Vec::new();
        for (cost, _, delay) in possible {
            if corners.last().is_none_or(|&(_, smallest)| delay < smallest) {
                corners.retain(|&(other, _)| other < cost);
                corners.push((cost, delay));
            }
        }
        let curve = curve(&instance, &Budget::unlimited(1));
        let found: Vec<(Cost, Delay)> = curve.points.iter().map(|point| (point.cost, point.delay)).collect();
        prop_assert_eq!(found, corners);
        prop_assert!(curve.is_complete && curve.points.iter().all(CurvePoint::is_proven));
    }
}

#[test]
fn what_is_not_found_in_time_is_not_called_impossible() {
    let crowd = NetworkParams::default().generate(1).with_capacity(2);
    let no_time = Budget::unlimited(1).with_deadline(&|| true);
    let asked = |servers: usize| min_delay(&crowd, servers, &no_time).unwrap_err();
    // 50 players, two at each server.
    assert_eq!(asked(24), MinDelayError::Impossible);
    assert_eq!(asked(25), MinDelayError::OutOfBudget);
}

#[test]
fn any_number_of_servers_may_be_allowed() {
    let instance = NetworkParams::default()
        .generate(1)
        .restricted_to(&[ClientId::new(0)]);
    for servers in [18_446_744_073_710, usize::MAX] {
        let found = min_delay(&instance, servers, &Budget::unlimited(1)).unwrap();
        assert!(found.is_proven());
        assert_eq!(found.servers_used, 1);
    }
}

/// Large enough that the first corners cannot be proven in the budgets below.
fn hard() -> Instance {
    let params = NetworkParams {
        systems: 20,
        routers: 20,
        servers: 60,
        clients: 40,
        ..NetworkParams::default()
    };
    params.generate(3)
}

fn is_sound(instance: &Instance, curve: &Curve) -> bool {
    let ordered = curve.points.windows(2);
    let mut ordered = ordered.map(|pair| (&pair[0], &pair[1]));
    let holds = |point: &CurvePoint| {
        let verdict = verify(instance, &point.allocation, point.delay).unwrap();
        let bounded = point.cost_at_least <= point.cost && point.delay_at_least <= point.delay;
        bounded && verdict.is_good() && verdict.cost == point.cost && verdict.delay == point.delay
    };
    ordered.all(|(one, next)| one.cost < next.cost && one.delay > next.delay)
        && curve.points.iter().all(holds)
}

#[test]
fn every_corner_gets_a_share_of_the_steps() {
    let instance = hard();
    let curve = curve(&instance, &Budget::unlimited(1).with_steps(20_000));
    assert!(is_sound(&instance, &curve));
    let mut points = curve.points.iter();
    assert!(
        points.any(|point| !point.is_proven()),
        "too easy to say anything"
    );
    assert!(curve.points.len() >= 4, "{}", curve.points.len());
}

#[test]
fn every_corner_gets_a_share_of_the_time() {
    let instance = hard();
    // A clock that only goes on when it is looked at: the same on every machine.
    let looks = AtomicU64::new(0);
    let gone = || looks.fetch_add(1, Ordering::Relaxed) as f64 / 3_000.0;
    let curve = curve(&instance, &Budget::unlimited(1).with_clock(&gone));
    assert!(is_sound(&instance, &curve));
    let mut points = curve.points.iter();
    assert!(
        points.any(|point| !point.is_proven()),
        "too easy to say anything"
    );
    assert!(curve.points.len() >= 4, "{}", curve.points.len());
}

#[test]
fn the_smallest_delay_is_looked_for_until_it_is_proven_or_the_time_is_over() {
    let instance = hard();
    for (servers, last_look) in
        (2..9).flat_map(|servers| [300.0, 1_000.0].map(|looks| (servers, looks)))
    {
        let looks = AtomicU64::new(0);
        let gone = || looks.fetch_add(1, Ordering::Relaxed) as f64 / last_look;
        let budget = Budget::unlimited(1).with_clock(&gone);
        let found = min_delay(&instance, servers, &budget).unwrap();
        assert!(
            found.is_proven() || budget.time_is_up(),
            "{servers} servers, {last_look} looks"
        );
    }
}
