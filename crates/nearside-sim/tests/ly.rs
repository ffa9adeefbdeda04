//! Rankings and coordinates on an invented matrix: better ones are better, lies cost, and threads do
//! not matter.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use nearside_coords::Node;
use nearside_coords::worlds::SmallWorld;
use nearside_sim::ly::{
    CoordinateStudy, LagStudy, Liars, Lie, MatrixMode, NoPairs, RankingRow, RankingStudy,
};
use nearside_sim::{Unwatched, with_threads};
use nearside_types::{LatencyMatrix, Rtt};
use nearside_world::recorded::read_series;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// 80 clients with access links, and a third of the pairs on a path that is too long.
fn matrix(seed: u64) -> LatencyMatrix {
    let world = SmallWorld::random(80, 200.0, 0.3, seed);
    let mut matrix = LatencyMatrix::unknown(80);
    for a in 0..80 {
        for b in a + 1..80 {
            matrix.set_both(a, b, Some(world.rtt(Node::at(a), Node::at(b))));
        }
    }
    matrix
}

fn study() -> RankingStudy {
    RankingStudy {
        labels: ["before", "after"].map(str::to_owned),
        mode: MatrixMode {
            neighbours: 16,
            pings: 200,
            ..MatrixMode::default()
        },
        ks: vec![1, 4],
        pairs: 300,
        overhead: Rtt::from_micros(200),
        liars: None,
        seeds: "0-1".parse().unwrap(),
    }
}

fn share(rows: &[RankingRow], ranking: &str, k: usize) -> f64 {
    let row = rows.iter().find(|row| row.ranking == ranking && row.k == k);
    row.unwrap().share_of_oracle_gain.unwrap()
}

#[test]
fn the_oracle_gets_all_chance_least_and_more_candidates_more() {
    let matrix = matrix(0);
    let rows = study().run(&matrix, &matrix, &Unwatched).unwrap();
    assert_eq!(rows.len(), 6 * 2);
    assert_eq!(share(&rows, "oracle", 1), 1.0);
    let of = |ranking| share(&rows, ranking, 4);
    assert!(of("random") < of("equation-1"));
    assert!(of("equation-1") < of("leg-sums-factorisation"));
    assert!(of("mixed") > 0.8, "{}", of("mixed"));
    assert!(share(&rows, "mixed", 1) < of("mixed"));
    assert!(rows.iter().all(|row| row.pairs == 600));
}

#[test]
fn rows_and_table_say_what_they_were_made_of() {
    let liars = Some(Liars {
        share: 0.3,
        lie: Lie::Deflate,
    });
    let (matrix, study) = (matrix(0), RankingStudy { liars, ..study() });
    let rows = study.run(&matrix, &matrix, &Unwatched).unwrap();
    assert_eq!(
        (&*rows[0].chosen_on, &*rows[0].judged_on),
        ("before", "after")
    );
    let words = "chosen on before, judged on after, seeds 0-1, N = 16, P = 200, relay overhead 0.2 ms, \
                 liars 0.3 deflate";
    let table = RankingStudy::table(&rows);
    assert!(table.caption().contains(words), "{}", table.caption());
}

#[test]
fn the_number_of_threads_does_not_show_in_the_rows() {
    let matrix = matrix(1);
    let run = |threads| {
        let study = study();
        with_threads(threads, || study.run(&matrix, &matrix, &Unwatched).unwrap()).unwrap()
    };
    assert_eq!(run(1), run(3));
}

#[test]
fn liars_cost_honest_pairs_some_gain() {
    let matrix = matrix(2);
    let honest = study().run(&matrix, &matrix, &Unwatched).unwrap();
    let lied = RankingStudy {
        liars: Some(Liars {
            share: 0.3,
            lie: Lie::Deflate,
        }),
        ..study()
    };
    let lied = lied.run(&matrix, &matrix, &Unwatched).unwrap();
    assert!(share(&lied, "mixed", 4) < share(&honest, "mixed", 4));
}

#[test]
fn a_matrix_without_pairs_or_of_another_size_is_refused() {
    let empty = LatencyMatrix::unknown(80);
    let nothing = study().run(&matrix(0), &empty, &Unwatched);
    assert_eq!(nothing, Err(NoPairs::Empty));
    let small = LatencyMatrix::unknown(7);
    let error = study().run(&matrix(0), &small, &Unwatched).unwrap_err();
    assert!(error.to_string().contains("80 nodes choose and 7 judge"));
}

#[test]
fn estimators_are_judged_on_pairs_that_nobody_measured() {
    let study = CoordinateStudy {
        label: "invented".to_owned(),
        mode: study().mode,
        dimensions: vec![2, 4],
        ranks: vec![8],
        seeds: "0-1".parse().unwrap(),
    };
    let rows = study.run(&matrix(3), &Unwatched);
    let named: Vec<_> = rows
        .iter()
        .map(|row| (row.estimator, row.dimensions))
        .collect();
    assert_eq!(
        named,
        [("vivaldi", 2), ("vivaldi", 4), ("factorisation", 8)]
    );
    for row in rows {
        assert!((0.01..0.5).contains(&row.median_relative_error), "{row:?}");
        assert!(row.p90_relative_error > row.median_relative_error);
        // 80 · 79 / 2 pairs less those with a neighbour at one end.
        assert!((1_800..2_400).contains(&row.pairs), "{row:?}");
    }
}

/// Two days in steps of 15 minutes: 40 ms with spikes, from noon of the second on 80 ms, labelled; and
/// an unlabelled rise that a detector may only take for a false alarm.
fn series() -> Vec<nearside_world::recorded::Series> {
    let mut text = "probe;epoch_utc;rtt_ms;change_point\n".to_owned();
    for step in 0..192 {
        let (day, minutes) = (1 + step / 96, step % 96 * 15);
        let rtt = match step {
            _ if step % 10 == 7 => 300,
            0..=49 => 40 + step % 3,
            50..=89 => 70 + step % 3,
            90..=143 => 40 + step % 3,
            _ => 80 + step % 3,
        };
        let label = u8::from(step == 144);
        let (hours, minutes) = (minutes / 60, minutes % 60);
        text += &format!("7;{day:02}/11/2016 {hours:02}:{minutes:02};{rtt};{label}\n");
    }
    read_series("s", text.as_bytes()).unwrap()
}

#[test]
fn a_labelled_rise_is_detected_soon_an_unlabelled_one_is_a_false_alarm_and_spikes_are_nothing() {
    let study = LagStudy {
        margins: vec![Rtt::from_micros(10_000)],
        window: 15,
    };
    let rows = study.run(&series(), &Unwatched);
    let [baseline, ours] = &rows[..] else {
        panic!("two detectors");
    };
    assert_eq!((ours.changes, ours.rises, ours.detected), (1, 1, 1));
    assert_eq!(ours.median_delay_samples, Some(2.0));
    assert_eq!(ours.median_delay_s, Some(1800.0));
    assert!((ours.days - 1.99).abs() < 0.01);
    assert!((ours.false_alarms_per_day * ours.days - 1.0).abs() < 1e-9);
    assert!(baseline.false_alarms_per_day > 5.0, "every spike alarms");
}

#[test]
fn who_measured_everybody_and_takes_every_relay_gets_all_there_is() {
    // Legs without any geometry: coordinates fit nothing, and nobody may be lost for that.
    let mut random = ChaCha8Rng::seed_from_u64(0);
    let mut matrix = LatencyMatrix::unknown(20);
    for a in 0..20 {
        for b in a + 1..20 {
            let rtt = Rtt::from_micros(random.random_range(5_000..300_000));
            matrix.set_both(a, b, Some(rtt));
        }
    }
    let study = RankingStudy {
        mode: MatrixMode {
            neighbours: 19,
            pings: 400,
            ..MatrixMode::default()
        },
        ks: vec![18],
        ..study()
    };
    for row in study.run(&matrix, &matrix, &Unwatched).unwrap() {
        assert_eq!(row.share_of_oracle_gain, Some(1.0), "{row:?}");
    }
}

#[test]
fn where_nothing_can_be_gained_there_is_no_share_of_it() {
    let mut matrix = LatencyMatrix::unknown(20);
    for a in 0..20 {
        for b in a + 1..20 {
            matrix.set_both(a, b, Some(Rtt::from_micros(50_000)));
        }
    }
    let rows = study().run(&matrix, &matrix, &Unwatched).unwrap();
    assert!(rows.iter().all(|row| row.share_of_oracle_gain.is_none()));
    assert!(rows.iter().all(|row| row.mean_gain_ms == 0.0));
}
