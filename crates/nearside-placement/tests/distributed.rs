//! Nodes that exchange messages come to the same allocation as the library, whatever the network does
//! to them and whoever crashes.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::time::Duration;

use common::{Shape, instances};
use nearside_placement::distributed::{
    ClusterConfig, Crash, NetworkConfig, NodeId, SimulatedRun, simulate,
};
use nearside_placement::network::NetworkParams;
use nearside_placement::solver::Zizo;
use nearside_placement::{
    Allocation, Budget, ClientId, Delay, Instance, Outcome, Solver, Task, verify,
};
use proptest::prelude::*;

fn config(instance: &Instance, bound: Delay) -> ClusterConfig {
    ClusterConfig::new(
        instance.clients().len() as u16,
        instance.servers().len() as u16,
        instance.network_budget(bound),
    )
}

fn bad_network(seed: u64) -> NetworkConfig {
    NetworkConfig {
        loss: 0.2,
        duplicates: 0.1,
        jitter: Duration::from_millis(40),
        seed,
        ..NetworkConfig::perfect()
    }
}

fn library(instance: &Instance, bound: Delay) -> Outcome {
    Zizo::default().solve(Task { instance, bound }, &Budget::unlimited(0))
}

/// The library's answer, and the nodes' answer, are the same.
fn agree(instance: &Instance, bound: Delay, run: &SimulatedRun) {
    let expected = library(instance, bound);
    assert!(run.settled, "no rest after {:?}", run.elapsed);
    assert_eq!(run.bound_unmet, !expected.is_within_bound());
    if expected.is_within_bound() {
        let committed = run.committed.as_ref().unwrap();
        assert_eq!(committed.allocation(), expected.allocation);
        assert_eq!(run.counts.migrations, expected.counts.migrations);
        assert_eq!(run.counts.probes, expected.counts.probes);
        assert_eq!(run.counts.rounds, expected.counts.rounds);
    }
}

fn paper_instance(seed: u64) -> Instance {
    let params = NetworkParams {
        systems: 12,
        routers: 40,
        servers: 20,
        clients: 50,
        ..NetworkParams::default()
    };
    params.generate(seed)
}

fn millis(number: f64) -> Delay {
    Delay::from_millis(number).unwrap()
}

#[test]
fn twenty_servers_and_fifty_clients_agree_with_the_library() {
    for seed in 0..4 {
        let instance = paper_instance(seed);
        for bound in [millis(20.0), millis(26.0)] {
            let config = config(&instance, bound);
            agree(
                &instance,
                bound,
                &simulate(&instance, config, &NetworkConfig::perfect()),
            );
        }
    }
}

#[test]
fn a_bad_network_changes_nothing_but_the_time() {
    let instance = paper_instance(1);
    let bound = millis(24.0);
    let config = config(&instance, bound);
    let calm = simulate(&instance, config, &NetworkConfig::perfect());
    for seed in 0..3 {
        let run = simulate(&instance, config, &bad_network(seed));
        agree(&instance, bound, &run);
        assert!(run.messages > calm.messages && run.elapsed > calm.elapsed);
    }
}

#[test]
fn commits_are_for_everybody_at_once() {
    let instance = paper_instance(2);
    let run = simulate(&instance, config(&instance, millis(26.0)), &bad_network(5));
    let last = run.committed.unwrap();
    let nodes = instance.clients().len() + instance.servers().len();
    assert_eq!(run.commits.len(), nodes);
    assert!(run.commits.iter().all(|(_, committed)| *committed == last));
}

#[test]
fn turns_side_by_side_are_faster_and_keep_the_bound() {
    for seed in 0..4 {
        let instance = paper_instance(seed);
        let bound = millis(24.0);
        let one = config(&instance, bound);
        let many = ClusterConfig { window: 16, ..one };
        let slow = simulate(&instance, one, &NetworkConfig::perfect());
        let fast = simulate(&instance, many, &bad_network(seed));
        let Some(committed) = fast.committed else {
            assert!(slow.bound_unmet);
            continue;
        };
        let verdict = verify(&instance, &committed.allocation().unwrap(), bound).unwrap();
        assert!(verdict.is_good(), "{:?}", verdict.breaches);
        let calm = simulate(&instance, many, &NetworkConfig::perfect());
        assert!(
            calm.elapsed < slow.elapsed / 2,
            "{:?} {:?}",
            calm.elapsed,
            slow.elapsed
        );
    }
}

/// The instance of those who have not crashed: servers that have are there, but take nobody.
fn survivors(instance: &Instance, crashes: &[Crash]) -> Instance {
    let dead = |node: NodeId| {
        crashes
            .iter()
            .any(|crash| crash.node == node && crash.back.is_none())
    };
    let clients: Vec<ClientId> = instance
        .client_ids()
        .filter(|client| !dead(NodeId::Client(client.index() as u16)))
        .collect();
    let gone: Vec<_> = instance
        .server_ids()
        .filter(|server| dead(NodeId::Server(server.index() as u16)))
        .collect();
    instance.restricted_to(&clients).without_servers(&gone)
}

fn crash(node: NodeId, millis: u64) -> Crash {
    Crash {
        node,
        at: Duration::from_millis(millis),
        back: None,
    }
}

/// Those who live have agreed on what the library says about them.
fn survivors_agree(instance: &Instance, bound: Delay, crashes: Vec<Crash>, seed: u64) {
    let network = NetworkConfig {
        crashes,
        ..bad_network(seed)
    };
    let run = simulate(instance, config(instance, bound), &network);
    assert!(run.settled, "no rest after {:?}", run.elapsed);
    let rest = survivors(instance, &network.crashes);
    let expected = library(&rest, bound);
    assert_eq!(run.bound_unmet, !expected.is_within_bound());
    if expected.is_within_bound() {
        let contacts = run.committed.unwrap().contacts;
        let seated: Vec<_> = contacts.into_iter().flatten().collect();
        let names = |instance: &Instance, allocation: &Allocation| -> Vec<String> {
            allocation
                .contacts()
                .iter()
                .map(|&id| instance.server_name(id).to_owned())
                .collect()
        };
        let expected = names(&rest, &expected.allocation.unwrap());
        assert_eq!(names(instance, &Allocation::new(seated)), expected);
    }
}

#[test]
fn survivors_of_crashes_agree_with_the_library_about_themselves() {
    let instance = paper_instance(3);
    let bound = millis(26.0);
    let leader = {
        let core = nearside_placement::solver::core_server(&instance, instance.client_ids());
        NodeId::Server(core.unwrap().index() as u16)
    };
    for at in [1, 900, 6_000] {
        survivors_agree(&instance, bound, vec![crash(NodeId::Client(7), at)], at);
        survivors_agree(&instance, bound, vec![crash(NodeId::Server(3), at)], at);
        survivors_agree(&instance, bound, vec![crash(NodeId::Server(0), at)], at);
        survivors_agree(&instance, bound, vec![crash(leader, at)], at);
    }
}

/// A census waits for the dead as long as servers wait for a leader: a first beat that is late must not
/// make the initiator begin another.
#[test]
fn one_death_costs_one_epoch_however_late_the_first_beat_is() {
    let instance = paper_instance(3);
    let bound = millis(26.0);
    for seed in 0..12 {
        let network = NetworkConfig {
            jitter: Duration::from_millis(90),
            crashes: vec![crash(NodeId::Client(7), 1)],
            seed,
            ..NetworkConfig::perfect()
        };
        let run = simulate(&instance, config(&instance, bound), &network);
        assert!(run.settled, "no rest after {:?}", run.elapsed);
        let epoch = run.committed.unwrap().epoch.number;
        assert_eq!(epoch, 1, "seed {seed}");
    }
}

#[test]
fn whoever_comes_back_is_taken_in_again() {
    let instance = paper_instance(3);
    let bound = millis(26.0);
    let back = Crash {
        node: NodeId::Client(7),
        at: Duration::from_secs(1),
        back: Some(Duration::from_secs(40)),
    };
    let network = NetworkConfig {
        crashes: vec![back],
        ..bad_network(1)
    };
    let run = simulate(&instance, config(&instance, bound), &network);
    agree(&instance, bound, &run);
    assert!(run.elapsed > Duration::from_secs(40));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(150) })]

    #[test]
    fn any_small_session_agrees_with_the_library(
        (instance, bound) in instances(Shape { clients: 6, servers: 5, ..Shape::FULL }),
        seed: u64,
    ) {
        agree(&instance, bound, &simulate(&instance, config(&instance, bound), &bad_network(seed)));
    }

    #[test]
    fn survivors_of_any_crashes_agree(
        (instance, bound) in instances(Shape { clients: 6, servers: 5, ..Shape::FULL }),
        seed: u64,
        client in 0..6u16,
        server in 0..5u16,
        at in (0..20_000u64, 0..20_000u64),
    ) {
        let clients = instance.clients().len() as u16;
        let servers = instance.servers().len() as u16;
        let mut crashes = Vec::new();
        if clients > 1 {
            crashes.push(crash(NodeId::Client(client % clients), at.0));
        }
        if servers > 1 {
            crashes.push(crash(NodeId::Server(server % servers), at.1));
        }
        survivors_agree(&instance, bound, crashes, seed);
    }

    #[test]
    fn moves_judged_side_by_side_never_break_the_bound(
        (instance, bound) in instances(Shape { clients: 9, servers: 6, ..Shape::FULL }),
        seed: u64,
        window in 2..10usize,
    ) {
        let config = ClusterConfig { window, ..config(&instance, bound) };
        let run = simulate(&instance, config, &bad_network(seed));
        prop_assert!(run.settled);
        for (_, committed) in &run.commits {
            let allocation = committed.allocation().unwrap();
            prop_assert!(verify(&instance, &allocation, bound).unwrap().is_good());
        }
    }
}
