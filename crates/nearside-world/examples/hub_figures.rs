//! Table 2 of both discovery papers beside generated worlds, by the engine of the live browser in
//! virtual time: `cargo run --release -p nearside-world --example hub_figures [FIRST-LAST [WORLD.toml]]`.
//! Worlds are developed on seeds 0 to 19 and parameters chosen on 20 to 39. `!` marks calibration
//! probes more than 10 % and auto-stops more than 4 points away from the paper's.

#![allow(clippy::print_stdout, clippy::unwrap_used)]

#[path = "../tests/table2/mod.rs"]
mod table2;

use std::sync::Mutex;

use nearside_world::WorldParams;
use table2::{LINES, Outcome, one_seed};

fn main() {
    let mut args = std::env::args().skip(1);
    let seeds = args.next().unwrap_or("0-4".to_owned());
    let (first, last) = seeds.split_once('-').unwrap_or((&seeds, &seeds));
    let text = args
        .next()
        .map_or(String::new(), |file| std::fs::read_to_string(file).unwrap());
    let params = WorldParams::from_toml(&text).unwrap();
    let results = runs(&params, first.parse().unwrap(), last.parse().unwrap());
    println!("clusters (paper), calibration probes (paper), auto-stop % (paper), recall % (worst)");
    for (index, line) in LINES.iter().enumerate() {
        let outcomes: Vec<Outcome> = results.iter().map(|seed| seed[index]).collect();
        let mean = |value: fn(&Outcome) -> f64| table2::mean(&outcomes, value);
        let calibration = mean(|o| o.calibration);
        let stop = mean(|o| o.stop_percent);
        let far_off = (calibration / line.calibration - 1.0).abs() > 0.10;
        let late = (stop - line.stop_percent).abs() > 4.0;
        let worst = outcomes
            .iter()
            .map(|o| o.recall_percent)
            .fold(f64::INFINITY, f64::min);
        println!(
            "{:24} {:5.0} ({:4}) {calibration:6.0} ({:4}){} {stop:6.1} ({:5.1}){} {:6.1} ({worst:.1})",
            format!("{:?} {} {}", line.crowd, line.client, line.kind),
            mean(|o| o.clusters),
            line.clusters,
            line.calibration,
            if far_off { '!' } else { ' ' },
            line.stop_percent,
            if late { '!' } else { ' ' },
            mean(|o| o.recall_percent),
        );
    }
}

/// The outcomes of all seeds, each with one for every line, on two threads.
fn runs(params: &WorldParams, first: u64, last: u64) -> Vec<Vec<Outcome>> {
    let todo = Mutex::new(first..=last);
    let done = Mutex::new(Vec::new());
    let work = || {
        while let Some(seed) = todo.lock().unwrap().next() {
            let outcomes = one_seed(params, seed);
            done.lock().unwrap().push((seed, outcomes));
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(work);
        work();
    });
    let mut done = done.into_inner().unwrap();
    done.sort_by_key(|&(seed, _)| seed);
    done.into_iter().map(|(_, outcomes)| outcomes).collect()
}
