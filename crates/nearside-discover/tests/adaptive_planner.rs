//! The adaptive planner against small worlds where every answer is known: what it finds, what it
//! leaves alone, and that it ends whatever happens.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::{BTreeSet, HashSet, VecDeque};

use nearside_discover::planner::{
    AdaptiveConfig, AdaptivePlanner, Enough, GroupView, Listed, Memory, MemoryFate, Next,
    Objective, Outcome, PlaceName, PlanReport, Planner, RememberedGroup, RememberedServer, Sample,
    ServerId, StopReason,
};
use nearside_types::{Asn, Origin, Rtt};
use proptest::prelude::*;

/// A server with its truth: `None` never answers.
#[derive(Debug, Clone)]
struct Truth {
    listed: Listed,
    rtt_ms: Option<u32>,
    matches: bool,
}

fn server(addr: &str, asn: u32, country: &str, rtt_ms: Option<u32>) -> Truth {
    Truth {
        listed: Listed {
            addr: addr.parse().unwrap(),
            origin: Origin {
                asn: (asn > 0).then_some(Asn(asn)),
                country: country.parse().ok(),
            },
        },
        rtt_ms,
        matches: true,
    }
}

/// `networks` /16s of 60 servers each on machines of their own, 1 to 10 ms apart.
fn network(first: u8, networks: u8, asn: u32, country: &str, rtt_ms: u32) -> Vec<Truth> {
    let one = |(second, host): (u8, u32)| {
        let addr = format!("{first}.{second}.{}.{}:27015", host / 20, host % 20 + 1);
        server(&addr, asn, country, Some(rtt_ms + host % 10))
    };
    let all = (0..networks).flat_map(|second| (0..60).map(move |host| (second, host)));
    all.map(one).collect()
}

/// A client in Australia: two near ASes, four far ones.
fn seen_from_australia() -> Vec<Truth> {
    [
        network(11, 1, 1, "AU", 20),
        network(12, 1, 2, "NZ", 55),
        network(21, 4, 3, "DE", 310),
        network(22, 4, 4, "US", 210),
        network(23, 4, 5, "GB", 300),
        network(24, 4, 6, "FR", 305),
    ]
    .concat()
}

#[derive(Debug)]
struct Run {
    probed: Vec<ServerId>,
    reason: StopReason,
    report: PlanReport,
}

impl Run {
    fn found(&self, world: &[Truth], below_ms: u32) -> usize {
        let near = |id: &&ServerId| world[id.index()].rtt_ms.is_some_and(|rtt| rtt < below_ms);
        self.probed.iter().filter(near).count()
    }
}

fn sample(world: &[Truth], server: ServerId) -> Sample {
    let truth = &world[server.index()];
    let outcome = match truth.rtt_ms {
        Some(ms) => Outcome::Answered(Rtt::from_micros(ms * 1000)),
        None => Outcome::Silent,
    };
    Sample {
        server,
        outcome,
        matches: truth.matches,
    }
}

/// Answers come after `lag` more probes; the silent are told overdue first.
fn run_with(config: AdaptiveConfig, world: &[Truth], lag: usize) -> Run {
    drive(&mut AdaptivePlanner::new(config, 5), world, lag)
}

fn drive(planner: &mut AdaptivePlanner, world: &[Truth], lag: usize) -> Run {
    let listed: Vec<Listed> = world.iter().map(|truth| truth.listed).collect();
    planner.servers_listed(&listed);
    planner.list_complete();
    finish(planner, world, lag)
}

/// Drives a planner that has the list to its end.
fn finish(planner: &mut AdaptivePlanner, world: &[Truth], lag: usize) -> Run {
    let mut probed = Vec::new();
    let mut in_flight = VecDeque::new();
    loop {
        let next = planner.next();
        if let Next::Probe { server, .. } = next {
            probed.push(server);
            in_flight.push_back(server);
            if in_flight.len() <= lag {
                continue;
            }
        }
        match (next, in_flight.pop_front()) {
            (_, Some(server)) => {
                if world[server.index()].rtt_ms.is_none() {
                    planner.overdue(server);
                }
                planner.observe(sample(world, server));
            }
            (Next::Done(reason), None) => {
                let report = planner.report();
                return Run {
                    probed,
                    reason,
                    report,
                };
            }
            (_, None) => panic!("waits although everything asked for was observed"),
        }
    }
}

fn run(world: &[Truth]) -> Run {
    run_with(AdaptiveConfig::new(), world, 3)
}

#[test]
fn near_servers_are_all_found_and_far_ones_hardly_asked() {
    let world = seen_from_australia();
    let run = run(&world);
    assert_eq!(run.found(&world, 200), 120, "of 120 near ones");
    assert!(run.probed.len() < 200, "{} probes", run.probed.len());
    assert_eq!(run.reason, StopReason::Expected);
    assert!(run.report.expected_missed.unwrap() < 5.0);
}

#[test]
fn the_best_come_first() {
    let world = seen_from_australia();
    let run = run(&world);
    let mut nearest = run.probed.iter().enumerate().filter(|(_, id)| id.0 < 60);
    let (at, _) = nearest.nth(29).unwrap();
    assert!(at < 80, "30 of the nearest AS within {at} probes");
}

#[test]
fn without_countries_or_ases_it_still_works() {
    for (with_country, with_as) in [(false, true), (true, false), (false, false)] {
        let mut world = seen_from_australia();
        for truth in &mut world {
            let origin = &mut truth.listed.origin;
            origin.country = origin.country.filter(|_| with_country);
            origin.asn = origin.asn.filter(|_| with_as);
        }
        let run = run(&world);
        assert_eq!(run.found(&world, 200), 120);
        assert!(run.probed.len() < 250, "{} probes", run.probed.len());
    }
}

#[test]
fn who_wants_the_best_only_gets_them_with_fewer_probes() {
    let world = seen_from_australia();
    let best = AdaptiveConfig::new().aiming_at(Objective::Best);
    let (best, all) = (run_with(best, &world, 3), run(&world));
    assert!(best.probed.len() < all.probed.len());
    // Six of the nearest network have 20 ms and six 21 ms.
    let nearest = best.found(&world, 22);
    assert!(nearest >= 10, "{nearest} of the 12 nearest");
}

#[test]
fn a_full_server_is_no_reason_to_stop_looking_for_the_best() {
    let mut world = seen_from_australia();
    for truth in &mut world[..55] {
        truth.matches = false;
    }
    let best = AdaptiveConfig::new().aiming_at(Objective::Best);
    let run = run_with(best, &world, 3);
    let wanted = |id: &&ServerId| world[id.index()].matches && id.0 < 120;
    let wanted = run.probed.iter().filter(wanted).count();
    assert!(wanted >= 10, "{wanted} near ones that match");
}

#[test]
fn a_machine_speaks_for_all_its_servers() {
    // 40 far machines and 2 near ones of 10 servers each in one network.
    let mut world = network(30, 2, 9, "DE", 20);
    for machine in 0..42u32 {
        let rtt = if machine % 21 == 0 { 150 } else { 260 };
        for port in 0..10 {
            let addr = format!("31.1.{}.{}:{}", machine / 6, machine + 1, 27015 + port);
            world.push(server(&addr, 7, "US", Some(rtt)));
        }
    }
    let run = run(&world);
    let far = run.probed.len() - run.found(&world, 200);
    assert!(far <= 80, "{far} probes to 40 far machines");
    assert!(run.found(&world, 200) >= 120 + 10);
}

#[test]
fn a_dead_machine_is_given_up_while_others_promise_more() {
    let mut world = network(30, 1, 9, "DE", 20);
    for port in 0..40 {
        world.push(server(&format!("30.0.9.9:{}", 27015 + port), 9, "DE", None));
    }
    let run = run(&world);
    let last_alive = run.probed.iter().rposition(|id| id.0 < 60).unwrap();
    let dead_before = run.probed[..last_alive].iter().filter(|id| id.0 >= 60);
    assert!(dead_before.count() <= 6);
    assert_eq!(run.found(&world, 200), 60);
}

#[test]
fn a_network_with_a_wrong_country_is_found_through_its_as() {
    let mut world = [
        network(11, 6, 1, "AU", 20),
        network(21, 12, 3, "DE", 310),
        network(22, 12, 4, "DE", 300),
    ]
    .concat();
    for truth in &mut world[300..360] {
        truth.listed.origin.country = "DE".parse().ok();
    }
    let run = run(&world);
    assert!(run.found(&world, 200) >= 357, "{}", run.found(&world, 200));
}

/// Thirty ASes in six countries, each with 20 networks of five servers; one server in ten is near,
/// wherever it is.
fn thinly_spread() -> Vec<Truth> {
    let countries = ["AU", "DE", "US", "GB", "FR", "BR"];
    let one = |number: u32| {
        let (origin_as, network) = (number / 100, number % 100 / 5);
        let addr = format!("{}.{network}.0.{}:27015", 11 + origin_as, number % 5 + 1);
        let country = countries[origin_as as usize % countries.len()];
        // A fixed draw: the high bits of a Weyl sequence.
        let near = number.wrapping_mul(2_654_435_769) >> 16 & 0xff < 26;
        server(
            &addr,
            1 + origin_as,
            country,
            Some(if near { 90 } else { 280 }),
        )
    };
    (0..3000).map(one).collect()
}

#[test]
fn near_servers_thinly_spread_over_all_networks_are_found_by_spot_checks() {
    let world = thinly_spread();
    let near = world
        .iter()
        .filter(|truth| truth.rtt_ms == Some(90))
        .count();
    let share = |config| run_with(config, &world, 3).found(&world, 200) as f64 / near as f64;
    let mut unchecked = AdaptiveConfig::new();
    unchecked.enough.spot_checks = 0.0;
    let (with, without) = (share(AdaptiveConfig::new()), share(unchecked));
    assert!(with > 0.9, "{with:.3} of {near} found");
    assert!(
        with > without,
        "{with:.3}, without spot checks {without:.3}"
    );
}

#[test]
fn an_as_just_beyond_the_limit_is_given_up_after_its_first_servers() {
    let just_beyond = |ms: u32| {
        let mut beyond = network(22, 5, 4, "US", 0);
        for (number, truth) in (0..).zip(&mut beyond) {
            truth.rtt_ms = Some(ms + number % 4);
        }
        [network(11, 1, 1, "AU", 20), beyond].concat()
    };
    let world = just_beyond(201);
    let asked = |config| run_with(config, &world, 3).probed.len() - 60;
    let mut forgiving = AdaptiveConfig::new();
    forgiving.model.as_doubt = f32::INFINITY;
    let (strict, forgiving) = (asked(AdaptiveConfig::new()), asked(forgiving));
    assert!(strict < 150, "{strict} of 300 that keep nothing");
    assert!(
        2 * strict < forgiving,
        "{strict}, without books {forgiving}"
    );
    let world = just_beyond(190);
    let run = run(&world);
    assert_eq!(
        run.found(&world, 200),
        360,
        "those just within are all found"
    );
}

#[test]
fn where_nearly_everything_is_near_all_is_probed() {
    let world = [
        network(11, 3, 1, "DE", 20),
        network(12, 3, 2, "FR", 30),
        network(13, 3, 3, "PL", 40),
    ]
    .concat();
    let run = run(&world);
    assert!(run.probed.len() >= world.len() - 6);
    assert!(run.report.expected_missed.unwrap() <= 6.0);
}

#[test]
fn nothing_answers_and_it_ends_all_the_same() {
    let mut world = seen_from_australia();
    for truth in &mut world {
        truth.rtt_ms = None;
    }
    let run = run(&world);
    assert_eq!(run.found(&world, 1000), 0);
}

/// The same with time: 7 ms between probes, answers after their RTT, a first try overdue after a
/// second and given up after three. Seconds, and how the run ended.
fn drive_in_time(config: AdaptiveConfig, world: &[Truth]) -> (f64, Run) {
    let mut planner = AdaptivePlanner::new(config, 5);
    let listed: Vec<Listed> = world.iter().map(|truth| truth.listed).collect();
    planner.servers_listed(&listed);
    planner.list_complete();
    let mut probed = Vec::new();
    let mut due: BTreeSet<(u32, ServerId, bool)> = BTreeSet::new();
    let mut now_ms = 0;
    loop {
        while let Some(&(at, server, is_overdue)) = due.first().filter(|(at, ..)| *at <= now_ms) {
            due.pop_first();
            match is_overdue {
                true => {
                    planner.overdue(server);
                    due.insert((at + 2_000, server, false));
                }
                false => planner.observe(sample(world, server)),
            }
        }
        match (planner.next(), due.first()) {
            (Next::Probe { server, .. }, _) => {
                probed.push(server);
                let rtt_ms = world[server.index()].rtt_ms;
                let at = now_ms + rtt_ms.unwrap_or(1_000);
                due.insert((at, server, rtt_ms.is_none()));
                now_ms += 7;
            }
            (_, Some(&(at, ..))) => now_ms = at,
            (Next::Done(reason), None) => {
                let report = planner.report();
                let run = Run {
                    probed,
                    reason,
                    report,
                };
                return (f64::from(now_ms) / 1_000.0, run);
            }
            (Next::Wait, None) => panic!("waits although everything asked for was observed"),
        }
    }
}

#[test]
fn a_silent_network_costs_probes_but_not_a_second_each() {
    let mut dead = network(13, 20, 7, "AU", 20);
    for truth in &mut dead {
        truth.rtt_ms = None;
    }
    let world = [seen_from_australia(), dead].concat();
    let (seconds, run) = drive_in_time(AdaptiveConfig::new(), &world);
    assert!(run.found(&world, 200) >= 119);
    assert!(
        seconds < 30.0,
        "{seconds} s for {} probes",
        run.probed.len()
    );
    assert!(
        run.report.expected_missed.unwrap() < 20.0,
        "{:?}",
        run.report
    );
}

#[test]
fn where_few_answer_that_many_are_expected() {
    let mut world = network(11, 40, 1, "AU", 20);
    for (index, truth) in world.iter_mut().enumerate() {
        if index % 24 != 0 {
            truth.rtt_ms = None;
        }
    }
    let (_, run) = drive_in_time(AdaptiveConfig::new(), &world);
    let all = world.iter().filter(|truth| truth.rtt_ms.is_some()).count();
    let missing = (all - run.found(&world, 200)) as f64;
    let said = run.report.expected_missed.unwrap();
    assert!(
        missing <= 15.0 && said < 2.0 * missing + 10.0,
        "{missing} of {all}, {said} said"
    );
}

#[test]
fn who_wants_the_best_of_far_servers_gets_the_best() {
    let world = [
        network(21, 4, 3, "DE", 310),
        network(23, 4, 5, "GB", 300),
        network(24, 4, 6, "FR", 330),
    ]
    .concat();
    let config = AdaptiveConfig::new().aiming_at(Objective::Best);
    let run = run_with(config, &world, 20);
    let nearest = world
        .iter()
        .filter(|truth| truth.rtt_ms == Some(300))
        .count();
    assert!(
        run.found(&world, 301) >= 10.min(nearest),
        "{:?}",
        run.report
    );
    assert!(
        run.probed.len() < world.len() * 3 / 4,
        "{}",
        run.probed.len()
    );
}

#[test]
fn who_wants_a_rare_server_gets_it_though_it_is_far() {
    let mut world = seen_from_australia();
    for truth in &mut world {
        truth.matches = false;
    }
    world.last_mut().unwrap().matches = true;
    let config = AdaptiveConfig {
        best: 1,
        ..AdaptiveConfig::new().aiming_at(Objective::Best)
    };
    let run = run_with(config, &world, 20);
    let share = run.probed.len() as f64 / world.len() as f64;
    let last = ServerId::from_index(world.len() - 1);
    assert!(run.probed.contains(&last) || share > 0.7, "{share}");
}

#[test]
fn who_names_a_limit_is_not_shown_the_world_for_want_of_near_servers() {
    let world = seen_from_australia();
    for limit_ms in [15, 21] {
        let limit = Rtt::from_micros(limit_ms * 1000);
        let config = AdaptiveConfig {
            rtt_stop: limit,
            farthest: Some(limit),
            ..AdaptiveConfig::new().aiming_at(Objective::Best)
        };
        let run = run_with(config, &world, 3);
        let there = world.iter().filter(|truth| truth.rtt_ms < Some(limit_ms));
        assert_eq!(run.found(&world, limit_ms), there.count());
        assert!(run.probed.len() < 160, "{} probes", run.probed.len());
    }
}

#[test]
fn without_an_end_of_its_own_everything_is_probed_near_first() {
    let world = seen_from_australia();
    let config = AdaptiveConfig {
        enough: Enough::NEVER,
        ..AdaptiveConfig::new()
    };
    let run = run_with(config, &world, 20);
    assert_eq!(run.reason, StopReason::Exhausted);
    assert_eq!(run.probed.len(), world.len());
    let near = |id: &&ServerId| world[id.index()].rtt_ms < Some(200);
    let early = run.probed.iter().take(200).filter(near).count();
    assert!(early >= 110, "{early} of 120");
}

#[test]
fn a_short_list_is_probed_however_high_the_demands() {
    let world = network(11, 1, 1, "AU", 20)[..40].to_vec();
    let config = AdaptiveConfig {
        rtt_stop: Rtt::from_micros(500),
        ..AdaptiveConfig::new()
    };
    for objective in [Objective::Thorough, Objective::Best] {
        let run = run_with(config.aiming_at(objective), &world, 3);
        assert_eq!(run.probed.len(), world.len());
    }
}

/// What a run would leave to the next one.
fn memory_of(world: &[Truth]) -> Memory {
    let mut planner = AdaptivePlanner::new(AdaptiveConfig::new(), 5);
    let run = drive(&mut planner, world, 20);
    let mut best: Vec<RememberedServer> = run
        .probed
        .iter()
        .filter_map(|id| {
            let truth = &world[id.index()];
            Some(RememberedServer {
                addr: truth.listed.addr,
                rtt: Rtt::from_micros(truth.rtt_ms? * 1000),
            })
        })
        .collect();
    best.sort_by_key(|server| server.rtt);
    best.truncate(Memory::BEST);
    let groups = planner.learned();
    Memory { best, groups }
}

fn remembering(memory: &Memory, world: &[Truth]) -> Run {
    let mut planner = AdaptivePlanner::new(AdaptiveConfig::new(), 6);
    planner.remember(memory);
    drive(&mut planner, world, 20)
}

#[test]
fn a_memory_brings_the_best_first_and_spares_probes() {
    let world = seen_from_australia();
    let memory = memory_of(&world);
    let warm = remembering(&memory, &world);
    let first: Vec<_> = warm.probed[..Memory::BEST]
        .iter()
        .map(|id| world[id.index()].listed.addr)
        .collect();
    let best: Vec<_> = memory.best.iter().map(|server| server.addr).collect();
    assert_eq!(first, best);
    assert_eq!(warm.report.memory, Some(MemoryFate::Used));
    let cold = run_with(AdaptiveConfig::new(), &world, 20);
    assert_eq!(cold.report.memory, None);
    assert!(warm.found(&world, 200) >= 119);
    assert!(
        warm.probed.len() < cold.probed.len(),
        "{} after {}",
        warm.probed.len(),
        cold.probed.len()
    );
}

/// The same world to whom no table tells countries or ASes.
fn without_origins(mut world: Vec<Truth>) -> Vec<Truth> {
    for truth in &mut world {
        truth.listed.origin = Origin::default();
    }
    world
}

#[test]
fn without_origins_a_memory_tells_regions_apart() {
    let world = without_origins(seen_from_australia());
    let memory = memory_of(&world);
    let places: HashSet<String> = memory.groups.iter().map(|g| g.place.to_string()).collect();
    assert!(places.contains("11.0.0.0/8"), "{places:?}");
    let warm = remembering(&memory, &world);
    let cold = run_with(AdaptiveConfig::new(), &world, 20);
    assert!(warm.found(&world, 200) >= 118);
    assert!(
        warm.probed.len() < cold.probed.len(),
        "{} after {}",
        warm.probed.len(),
        cold.probed.len()
    );
}

/// The best servers of a wide AS are far nearer than its mean; who asks them again is no traveller.
#[test]
fn the_best_of_a_wide_as_are_no_sign_of_another_place() {
    let mut world = network(11, 2, 1, "US", 20);
    for (host, truth) in world.iter_mut().enumerate() {
        truth.rtt_ms = Some(10 + 8 * host as u32 % 300);
    }
    world.extend(network(12, 2, 2, "GB", 150));
    let memory = memory_of(&world);
    let mut planner = AdaptivePlanner::new(AdaptiveConfig::new(), 6);
    planner.remember(&memory);
    let listed: Vec<Listed> = world.iter().map(|truth| truth.listed).collect();
    planner.servers_listed(&listed);
    planner.list_complete();
    for _ in 0..Memory::BEST {
        let Next::Probe { server, .. } = planner.next() else {
            panic!("it asks the best of last time at once");
        };
        planner.observe(sample(&world, server));
    }
    assert_eq!(planner.report().memory, Some(MemoryFate::Used));
    let told = planner.explain().unwrap();
    let mut countries = told.countries.iter();
    let britain = countries.find(|view| view.place.to_string() == "GB");
    let britain = britain.unwrap().all;
    assert_eq!(britain.typical_rtt, None, "nobody was asked there …");
    let believed = britain.believed_rtt.unwrap().as_millis_f64();
    assert!(
        (believed - 150.0).abs() < 5.0,
        "… it is remembered: {believed}"
    );
}

/// The favourites were probed before the list was whole; they are heard when the memory of another
/// place is put aside.
#[test]
fn favourites_outlive_the_memory_of_another_place() {
    let home = seen_from_australia();
    let mut abroad = home.clone();
    for truth in &mut abroad {
        truth.rtt_ms = truth.rtt_ms.map(|rtt| 340 - rtt);
    }
    let mut planner = AdaptivePlanner::new(AdaptiveConfig::new(), 6);
    planner.remember(&memory_of(&home));
    let listed: Vec<Listed> = abroad.iter().map(|truth| truth.listed).collect();
    planner.servers_listed(&listed);
    let favourites = 30;
    for (id, truth) in abroad.iter().enumerate().take(favourites) {
        let rtt = Rtt::from_micros(truth.rtt_ms.unwrap() * 1000);
        planner.observe(Sample {
            server: ServerId::from_index(id),
            outcome: Outcome::Answered(rtt),
            matches: true,
        });
    }
    planner.list_complete();
    let told = planner.explain().unwrap();
    let australia = told
        .countries
        .iter()
        .find(|view| view.place.to_string() == "AU");
    let typical = australia.unwrap().all.typical_rtt.unwrap();
    assert!(typical > Rtt::from_micros(300_000), "{typical:?}");
}

/// Poland has not been asked, but stands beside Germany; a German AS nobody has asked is German.
#[test]
fn of_who_was_not_asked_it_tells_what_it_believes() {
    let world = [
        network(11, 2, 1, "DE", 20),
        network(12, 1, 2, "DE", 20),
        network(13, 1, 3, "PL", 40),
        network(14, 1, 4, "NZ", 300),
    ]
    .concat();
    let mut planner = AdaptivePlanner::new(AdaptiveConfig::new(), 5);
    let listed: Vec<Listed> = world.iter().map(|truth| truth.listed).collect();
    planner.servers_listed(&listed);
    planner.list_complete();
    for id in (0..60).map(ServerId) {
        planner.observe(sample(&world, id));
    }
    let told = planner.explain().unwrap();
    let of = |place: &str| {
        let mut countries = told.countries.iter();
        countries
            .find(|view| view.place.to_string() == place)
            .unwrap()
    };
    let within = |view: GroupView, low_ms: u32, high_ms: u32| {
        let believed = view.believed_rtt.unwrap();
        assert_eq!(view.typical_rtt, None);
        let (low, high) = (
            Rtt::from_micros(low_ms * 1000),
            Rtt::from_micros(high_ms * 1000),
        );
        assert!(low < believed && believed < high, "{view:?}");
    };
    within(of("PL").all, 10, 100);
    within(of("NZ").all, 100, 300);
    let unasked = of("DE").ases.iter().find(|view| view.asn == Some(Asn(2)));
    within(unasked.unwrap().all, 15, 35);
}

#[test]
fn the_memory_of_another_place_is_dropped() {
    let home = seen_from_australia();
    let mut abroad = home.clone();
    for truth in &mut abroad {
        truth.rtt_ms = truth.rtt_ms.map(|rtt| 340 - rtt);
    }
    let run = remembering(&memory_of(&home), &abroad);
    let near = abroad
        .iter()
        .filter(|truth| truth.rtt_ms < Some(200))
        .count();
    let found = run.found(&abroad, 200);
    assert!(found * 100 >= near * 98, "{found} of {near}");
    assert_eq!(run.report.memory, Some(MemoryFate::Dropped));
}

#[test]
fn a_memory_of_nonsense_does_no_harm() {
    let world = seen_from_australia();
    let rtts = [0, 1, u32::MAX].map(Rtt::from_micros);
    let weights = [f32::NAN, f32::INFINITY, -1.0, 0.0, f32::MAX, 1e-30];
    let answers = rtts
        .into_iter()
        .flat_map(|rtt| weights.map(|weight| (rtt, weight)));
    let group = |asn| RememberedGroup {
        place: PlaceName::Country("AU".parse().unwrap()),
        asn,
        answers: answers.clone().collect(),
    };
    let memory = Memory {
        best: vec![
            RememberedServer {
                addr: "203.0.113.1:1".parse().unwrap(),
                rtt: rtts[2],
            };
            100
        ],
        groups: vec![group(Some(Asn(1))), group(None), group(Some(Asn(1)))],
    };
    let run = remembering(&memory, &world);
    assert!(run.found(&world, 200) >= 118);
}

#[test]
fn the_explanation_adds_up_to_what_was_done() {
    let world = seen_from_australia();
    let mut planner = AdaptivePlanner::new(AdaptiveConfig::new(), 5);
    let run = drive(&mut planner, &world, 20);
    let explained = planner.explain().unwrap();
    assert_eq!(explained.stopped, Some(run.reason));
    assert_eq!(explained.verdict, run.report.verdict);
    let sum = |of: fn(&GroupView) -> u32| -> u32 {
        explained.countries.iter().map(|view| of(&view.all)).sum()
    };
    assert_eq!(sum(|view| view.servers) as usize, world.len());
    assert_eq!(sum(|view| view.probed) as usize, run.probed.len());
    assert_eq!(sum(|view| view.playable) as usize, run.found(&world, 200));
    let left: f64 = explained
        .countries
        .iter()
        .map(|c| c.all.expected_left.unwrap())
        .sum();
    assert!((left - explained.expected_missed.unwrap()).abs() < 1e-3);
    let first = &explained.countries[0];
    assert!(first.all.typical_rtt.unwrap() < Rtt::from_micros(80_000));
    assert_eq!(first.ases.len(), 1);
}

/// The best of last time are asked before anything is decided: half of them out, it cannot tell yet.
#[test]
fn who_is_cut_short_before_the_first_decision_expects_nothing_and_counts_what_was_sent() {
    let world = seen_from_australia();
    let mut planner = AdaptivePlanner::new(AdaptiveConfig::new(), 6);
    planner.remember(&memory_of(&world));
    let listed: Vec<Listed> = world.iter().map(|truth| truth.listed).collect();
    planner.servers_listed(&listed);
    planner.list_complete();
    for _ in 0..15 {
        assert!(matches!(planner.next(), Next::Probe { .. }));
    }
    let told = planner.explain().unwrap();
    assert_eq!((told.expected_missed, told.expected_better), (None, None));
    assert_eq!(told.best_promise, None);
    assert!(told.countries.iter().all(|c| c.all.expected_left.is_none()));
    let probed: u32 = told.countries.iter().map(|c| c.all.probed).sum();
    assert_eq!(probed, 15, "of {} that are queued", Memory::BEST);
    assert!(told.countries.iter().all(|c| c.all.typical_rtt.is_none()));
}

/// A far answer came after the last decision, and the user's limit before the next.
#[test]
fn who_is_cut_short_tells_what_is_believed_by_then() {
    let world = network(11, 1, 1, "AU", 400);
    let mut planner = AdaptivePlanner::new(AdaptiveConfig::new(), 6);
    let listed: Vec<Listed> = world.iter().map(|truth| truth.listed).collect();
    planner.servers_listed(&listed);
    planner.list_complete();
    let Next::Probe { server, .. } = planner.next() else {
        panic!("it asks somebody at once");
    };
    let before = planner.report().expected_missed.unwrap();
    planner.observe(sample(&world, server));
    assert_eq!(planner.report().expected_missed, Some(before));
    planner.cut_short();
    let after = planner.report().expected_missed.unwrap();
    assert!(after < 0.5 * before, "{before} {after}");
}

#[test]
fn what_a_probe_promises_of_playable_servers_is_no_news_to_who_wants_the_best() {
    let promise = |objective| {
        let config = AdaptiveConfig::new().aiming_at(objective);
        let mut planner = AdaptivePlanner::new(config, 5);
        drive(&mut planner, &seen_from_australia(), 3);
        planner.explain().unwrap().best_promise
    };
    assert_eq!(promise(Objective::Best), None);
    assert!(promise(Objective::Thorough).is_some());
}

#[test]
fn before_any_answer_a_country_s_expectation_is_that_of_its_ases() {
    let world = [
        network(11, 1, 1, "AU", 20),
        network(12, 1, 2, "AU", 30),
        network(21, 1, 3, "DE", 310),
    ]
    .concat();
    let mut planner = AdaptivePlanner::new(AdaptiveConfig::new(), 5);
    let listed: Vec<Listed> = world.iter().map(|truth| truth.listed).collect();
    planner.servers_listed(&listed);
    planner.list_complete();
    assert!(matches!(planner.next(), Next::Probe { .. }));
    let told = planner.explain().unwrap();
    let australia = told
        .countries
        .iter()
        .find(|view| view.ases.len() == 2)
        .unwrap();
    let of_ases: f64 = australia
        .ases
        .iter()
        .map(|view| view.all.expected_left.unwrap())
        .sum();
    assert!(of_ases > 1.0, "{australia:?}");
    assert!(
        (of_ases - australia.all.expected_left.unwrap()).abs() < 1.0,
        "{australia:?}"
    );
}

#[test]
fn an_empty_list_is_exhausted_at_once() {
    assert_eq!(run(&[]).reason, StopReason::Exhausted);
}

#[test]
fn what_comes_after_the_end_of_the_list_changes_nothing() {
    let world = seen_from_australia();
    let mut planner = AdaptivePlanner::new(AdaptiveConfig::new(), 5);
    let listed: Vec<Listed> = world.iter().map(|truth| truth.listed).collect();
    planner.servers_listed(&listed);
    planner.list_complete();
    planner.servers_listed(&listed[..1]);
    let first = ServerId(0);
    planner.observe(sample(&world, first));
    let run = finish(&mut planner, &world, 3);
    assert!(!run.probed.contains(&first), "asked again");
    assert_eq!(run.found(&world, 200), 119, "of the 119 others");
}

#[test]
fn a_silent_first_server_holds_its_group_up_for_one_try_only() {
    let world = [network(11, 1, 1, "AU", 20), network(12, 1, 2, "NZ", 50)].concat();
    let mut planner = AdaptivePlanner::new(AdaptiveConfig::new(), 1);
    let listed: Vec<Listed> = world.iter().map(|truth| truth.listed).collect();
    planner.servers_listed(&listed);
    planner.list_complete();
    let Next::Probe { server: first, .. } = planner.next() else {
        panic!("it begins with a probe");
    };
    assert!(matches!(planner.next(), Next::Probe { .. }), "the other");
    assert_eq!(planner.next(), Next::Wait, "one bet on an unknown country");
    planner.overdue(first);
    let Next::Probe { server: second, .. } = planner.next() else {
        panic!("the next bet");
    };
    assert_ne!(first, second);
    planner.observe(sample(&world, first));
    planner.observe(sample(&world, second));
    assert!(matches!(planner.next(), Next::Probe { .. }));
}

/// Australia's first server is gone, and nobody says so: those that were asked later do.
#[test]
fn who_was_overtaken_holds_its_country_up_no_longer() {
    let world = seen_from_australia();
    let is_australian = |server: ServerId| server.index() < 60;
    let mut planner = AdaptivePlanner::new(AdaptiveConfig::new(), 1);
    let listed: Vec<Listed> = world.iter().map(|truth| truth.listed).collect();
    planner.servers_listed(&listed);
    planner.list_complete();
    let mut gone = None;
    let mut answers_since = 0;
    let second = loop {
        match planner.next() {
            Next::Probe { server, .. } if is_australian(server) && gone.is_none() => {
                gone = Some(server);
                answers_since = 0;
            }
            Next::Probe { server, .. } if is_australian(server) => break server,
            Next::Probe { server, .. } => {
                planner.observe(sample(&world, server));
                answers_since += 1;
            }
            other => panic!("{other:?} although New Zealand has servers left"),
        }
    };
    assert!((20..40).contains(&answers_since), "{answers_since}");
    for server in [second, gone.unwrap()] {
        planner.observe(sample(&world, server));
    }
    let run = finish(&mut planner, &world, 3);
    assert!(!run.probed.contains(&gone.unwrap()), "asked again");
    assert_ne!(run.reason, StopReason::Exhausted);
}

#[test]
fn the_same_seed_asks_the_same_servers() {
    let world = seen_from_australia();
    let probed = |seed| {
        let mut planner = AdaptivePlanner::new(AdaptiveConfig::new(), seed);
        let listed: Vec<Listed> = world.iter().map(|truth| truth.listed).collect();
        planner.servers_listed(&listed);
        planner.list_complete();
        let mut probed = Vec::new();
        while let Next::Probe { server, .. } = planner.next() {
            probed.push(server);
            planner.observe(sample(&world, server));
        }
        probed
    };
    assert_eq!(probed(1), probed(1));
    assert_ne!(probed(1), probed(2));
}

/// A list of one country, or without countries in one /8: there is nobody else to ask meanwhile.
#[test]
fn a_list_of_one_region_is_not_begun_with_one_probe_for_each_round_trip() {
    let asked = |world: &[Truth]| {
        let mut planner = AdaptivePlanner::new(AdaptiveConfig::new(), 5);
        let listed: Vec<Listed> = world.iter().map(|truth| truth.listed).collect();
        planner.servers_listed(&listed);
        planner.list_complete();
        std::iter::from_fn(|| match planner.next() {
            Next::Probe { server, .. } => Some(server),
            Next::Wait | Next::Done(_) => None,
        })
        .take(100)
        .count()
    };
    let parts = "one for each of its networks";
    assert_eq!(asked(&network(127, 9, 0, "-", 300)), 9, "{parts}");
    assert_eq!(asked(&network(11, 9, 1, "AU", 30)), 9, "{parts}");
    assert_eq!(asked(&seen_from_australia()), 6, "one for each country");
}

/// Countries, ASes, addresses and RTTs without any sense.
fn chaos() -> impl Strategy<Value = Vec<Truth>> {
    let host = (0u8..5, 0u8..3, 0u8..4, 1u16..4);
    let truth = (
        0u32..5,
        0usize..5,
        proptest::option::weighted(0.8, 0u32..2000),
        any::<bool>(),
    );
    proptest::collection::hash_map(host, truth, 0..150).prop_map(|servers| {
        let countries = ["DE", "US", "JP", "RU", "-"];
        servers
            .into_iter()
            .map(|((a, b, c, port), (asn, country, rtt_ms, matches))| {
                let addr = match a {
                    // Regions, networks, subnets and machines of IPv6 too.
                    3.. => format!("[24{a:02x}:{}000::{}]:{port}", 4 * (c % 3), 10 * b),
                    _ => format!("{}.{b}.0.{c}:{port}", 20 + a),
                };
                Truth {
                    matches,
                    ..server(&addr, asn, countries[country], rtt_ms)
                }
            })
            .collect()
    })
}

proptest! {
    #[test]
    fn in_any_world_no_server_is_asked_twice_and_an_end_is_reached(
        world in chaos(),
        lag in 0usize..40,
        best in 0usize..20,
        batch in 0usize..40,
        stop_ms in 0u32..700,
        objective in proptest::sample::select(vec![Objective::Thorough, Objective::Fast, Objective::Best]),
    ) {
        let config = AdaptiveConfig {
            best,
            batch,
            rtt_stop: Rtt::from_micros(stop_ms * 1000),
            ..AdaptiveConfig::new().aiming_at(objective)
        };
        let mut planner = AdaptivePlanner::new(config, 5);
        let run = drive(&mut planner, &world, lag);
        let different: HashSet<ServerId> = run.probed.iter().copied().collect();
        prop_assert_eq!(different.len(), run.probed.len());
        let expected = run.report.expected_missed.unwrap();
        prop_assert!((0.0..=world.len() as f64).contains(&expected));
        let better = run.report.expected_better.unwrap();
        prop_assert!(better <= expected || objective == Objective::Best, "{} {}", better, expected);
        if run.reason == StopReason::Exhausted {
            prop_assert_eq!(run.probed.len(), world.len());
            prop_assert_eq!(expected, 0.0);
        }
        let countries = planner.explain().unwrap().countries;
        let probed: u32 = countries.iter().map(|country| country.all.probed).sum();
        prop_assert_eq!(probed as usize, run.probed.len());
        let left: f64 = countries.iter().filter_map(|country| country.all.expected_left).sum();
        prop_assert!((left - expected).abs() < 0.01 + 0.001 * expected, "{} of {}", left, expected);
        for (_, weight) in planner.learned().into_iter().flat_map(|group| group.answers) {
            prop_assert!(weight > 0.0 && weight.is_finite());
        }
    }
}
