//! The adaptive planner over real packets: the best at once, only the best, what it remembers, and
//! what it says of itself.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::cmp::Reverse;
use std::collections::BTreeSet;

use common::{Folder, nearside, one_lab_at_a_time, snapshot};
use nearside::lab::{LabPlan, MasterPorts, population};
use nearside_discover::planner::{StopReason, Verdict};
use nearside_discover::snapshot::{Row, Snapshot};
use nearside_types::{Rtt, ServerAddr};
use nearside_world::farm::FarmConfig;
use nearside_world::{Game, WorldParams, fold};

/// Three seconds at 140 probes a second.
const THREE_SECONDS: &str = "420";

fn browse(flags: &[&str]) -> common::process::Finished {
    let mut arguments = vec!["browse", "--lab", "AU", "--format", "json"];
    arguments.extend(flags);
    nearside(&arguments).expect_code(0)
}

fn browse_small(flags: &[&str]) -> common::process::Finished {
    let _alone = one_lab_at_a_time();
    let small = ["--lab-servers", "1000", "--pace", "500", "--seed", "3"];
    browse(&[&small, flags].concat())
}

/// The servers as near as the tenth nearest of the lab that `browse --lab AU` opens, by the delays it
/// gives them; ports of one machine are equally near.
fn best(seed: u64, first_port: u16) -> BTreeSet<ServerAddr> {
    let plan = LabPlan {
        place: "AU".to_owned(),
        game: Game::Css,
        servers: None,
        population: None,
        world: WorldParams::builtin(),
        farm: FarmConfig::default(),
        cookies: false,
        master_ports: MasterPorts::USUAL,
        base_port: None,
        seed,
    };
    let folded = fold(&population(&plan).unwrap(), first_port).unwrap();
    let client = folded.population.client("AU").unwrap();
    let servers = folded.population.servers.iter();
    let mut near: Vec<(Rtt, ServerAddr)> = servers
        .filter_map(|server| Some((server.rtt[client]?, server.addr)))
        .collect();
    near.sort_unstable();
    let tenth = near[9].0;
    let best = near.iter().take_while(|(rtt, _)| *rtt <= tenth);
    best.map(|&(_, addr)| addr).collect()
}

/// How many of the ten best three seconds' worth of probes find.
fn found_of_ten(seed: u64) -> usize {
    let seed_text = seed.to_string();
    let flags = ["--max-probes", THREE_SECONDS, "--seed", &seed_text];
    let found = snapshot(&browse(&flags));
    assert!(found.summary.probes_sent <= 420, "{:?}", found.summary);
    // A lab whose usual ports are taken moves on; its lowest port is where it began.
    let first = found.servers.iter().map(|row| row.addr.port()).min();
    let best = best(seed, first.unwrap());
    let found = found.servers.iter().filter(|row| best.contains(&row.addr));
    found.count().min(10)
}

/// Asserted in probes, since seconds are the machine's. Seeds differ: it takes 305 servers in the mean,
/// and some seeds need more than three seconds' worth (in virtual time seed 6 needs 479). So in the
/// lesser half of the runs one of the ten may be missing.
#[test]
fn the_ten_best_of_28000_servers_come_within_three_seconds() {
    let _alone = one_lab_at_a_time();
    let mut found: Vec<usize> = (1..=5).map(found_of_ten).collect();
    found.sort_unstable();
    assert!(found[2] == 10 && found[0] >= 9, "{found:?}");
}

#[test]
fn who_wants_the_five_best_with_a_free_place_gets_them_for_few_probes() {
    let all = snapshot(&browse_small(&[]));
    assert_eq!(all.summary.stopped, Some(StopReason::Expected));
    let best = snapshot(&browse_small(&["--best", "5", "--not-full"]));
    assert!(best.summary.verdict.is_some_and(Verdict::is_about_the_best));
    assert!(best.summary.expected_better.unwrap() < 1.0);
    assert!(best.summary.probed < all.summary.probed);
    assert_eq!(best.servers.len(), 5);
    for row in &best.servers {
        assert!(row.players < row.max_players, "{row:?}");
    }
}

/// The order is for reading: it does not decide who is among the nearest.
#[test]
fn the_five_best_by_players_are_the_five_nearest() {
    let near = snapshot(&browse_small(&["--no-auto-stop"]));
    let flags = ["--best", "5", "--sort", "players", "--top", "9"];
    let best = snapshot(&browse_small(&flags));
    assert_eq!(best.servers.len(), 5);
    let people = |row: &Row| row.players.unwrap() - row.bots.unwrap_or(0);
    assert!(best.servers.is_sorted_by_key(|row| Reverse(people(row))));
    // Probes are noisy: one of another run's next nearest may be among them.
    let fifteenth = near.servers[14].rtt_ms.unwrap();
    for row in &best.servers {
        assert!(row.rtt_ms.unwrap() < fifteenth + 20.0, "{row:?}");
    }
}

fn rtt_of_best(found: &Snapshot) -> f64 {
    found.servers[0].rtt_ms.unwrap()
}

#[test]
fn a_run_is_remembered_until_it_is_forgotten() {
    let folder = Folder::new();
    let cache = folder.join("cache");
    let remembered = |expected| nearside(&["cache", "--cache-dir", &cache]).expect_code(expected);
    assert_eq!(remembered(1).stdout, "Nothing is remembered.\n");
    let first = snapshot(&browse_small(&["--cache-dir", &cache]));
    let told = remembered(0).stdout;
    assert!(told.starts_with("css: just now · 30 servers"), "{told}");
    let second = snapshot(&browse_small(&["--cache-dir", &cache]));
    assert!((rtt_of_best(&first) - rtt_of_best(&second)).abs() < 20.0);
    let at_once = ["--cache-dir", &cache, "--max-probes", "30", "--tries", "1"];
    let at_once = snapshot(&browse_small(&at_once));
    assert!(
        at_once.summary.playable >= 25,
        "the best of last time first: {:?}",
        at_once.summary
    );
    nearside(&["cache", "--clear", "--cache-dir", &cache]).expect_code(0);
    remembered(1);
    let no_folder = folder.write("file", "");
    let told = browse_small(&["--cache-dir", &no_folder]).stderr;
    let words = format!("will not be remembered in {no_folder}: ");
    assert!(told.contains(&words), "{told}");
}

#[test]
fn the_planner_explains_itself_in_words_and_in_a_picture() {
    let folder = Folder::new();
    let picture = folder.join("run.svg");
    let finished = browse_small(&["--explain", "--picture", &picture]);
    for words in ["What the planner believed", "why no more", "AU"] {
        assert!(finished.stderr.contains(words), "no `{words}`: {finished}");
    }
    let svg = std::fs::read_to_string(&picture).unwrap();
    assert!(svg.starts_with("<svg") && svg.contains("believed still to find"));
}
