//! What the papers say about orders of probes: clusters, splits, samples.

use nearside_discover::planner::SampleSize;

use super::{AS_PAPER, BOTH, COUNTRY_PAPER, Case, Claim, FAR, PAPERS, Verdict, by_place, job};
use crate::experiment::Study;
use crate::tradeoff::ordering::{Grouping, Ordering, SPLITS, THRESHOLDS, threshold_words};
use crate::tradeoff::outcome::{Difference, EQUAL_RECALL, as_published, mean, probes_at_recall};

pub(super) fn all(study: &Study) -> Vec<Claim> {
    vec![
        as_beats_country(study),
        country_alone(study),
        origins_help(study),
        forty_milliseconds(study),
        sixteen_bits(study),
        more_samples(study),
    ]
}

/// Probes at equal recall of two orders from one place.
struct Duel {
    place: &'static str,
    difference: Option<Difference>,
    means: [f64; 2],
}

fn duels(study: &Study, rivals: [Ordering; 2]) -> [Duel; FAR.len()] {
    FAR.map(|place| {
        let [one, other] =
            rivals.map(|order| probes_at_recall(study, &job(&order, place), EQUAL_RECALL));
        Duel {
            place,
            difference: Difference::of(&one, &other),
            means: [mean(&one), mean(&other)],
        }
    })
}

/// Whether the first of two groupings is the cheaper one, and the numbers in words.
fn cheaper(study: &Study, rivals: [Grouping; 2]) -> (Verdict, String) {
    let duels = duels(study, rivals.map(Ordering::published));
    let names = rivals.map(Grouping::words);
    let words = duels.each_ref().map(|duel| {
        let [one, other] = duel.means;
        let (first, second) = (&names[0], &names[1]);
        let signs = duel
            .difference
            .map_or_else(String::new, |difference| signs(&difference));
        format!(
            "{}: {one:.1} % by {first}, {other:.1} % by {second}{signs}",
            duel.place
        )
    });
    let verdict = Verdict::of(duels.iter().map(|duel| Case::lower(duel.difference)));
    (verdict, words.join("; "))
}

/// On how many seeds the first is lower.
fn signs(difference: &Difference) -> String {
    let Difference { lower, higher, .. } = difference;
    format!(" (lower on {lower}, higher on {higher} seeds)")
}

fn as_beats_country(study: &Study) -> Claim {
    let (verdict, because) = cheaper(study, PAPERS);
    Claim {
        claim: "Clusters by AS order servers better than clusters by country and /8",
        paper: COUNTRY_PAPER,
        verdict,
        because,
    }
}

fn country_alone(study: &Study) -> Claim {
    let rivals = [Grouping::CountryAnd(8), Grouping::Country];
    let (verdict, because) = cheaper(study, rivals);
    Claim {
        claim: "Country alone is too coarse: /8 inside countries does better",
        paper: BOTH,
        verdict,
        because,
    }
}

fn origins_help(study: &Study) -> Claim {
    let (verdict, because) = cheaper(study, [Grouping::As, Grouping::Prefix(16)]);
    Claim {
        claim: "Knowing origins is worth it: clusters by AS beat clusters by address alone",
        paper: AS_PAPER,
        verdict,
        because,
    }
}

/// Less than this is not worth a change of a parameter, in points.
const WORTH_IT: f64 = 0.5;

/// Whether a published parameter is as good as the best of its sweep, and what the best is.
fn best_of<const N: usize>(
    study: &Study,
    orders: [Ordering; N],
    name: impl Fn(&Ordering) -> String,
) -> (Verdict, String) {
    let own = Ordering::published(Grouping::As);
    let cost = |order: &Ordering, place| {
        let cost = mean(&probes_at_recall(study, &job(order, place), EQUAL_RECALL));
        if cost.is_nan() { f64::INFINITY } else { cost }
    };
    let best = |place| {
        let costs = orders.map(|order| (order, cost(&order, place)));
        let first = costs[0];
        costs.into_iter().fold(
            first,
            |best, next| if next.1 < best.1 { next } else { best },
        )
    };
    let cases = FAR.map(|place| Case::from(cost(&own, place) - best(place).1 <= WORTH_IT));
    let because = by_place(FAR, |place| {
        let (best, least) = best(place);
        let published = cost(&own, place);
        format!(
            "{published:.1} % as published, {least:.1} % with {}",
            name(&best)
        )
    });
    (Verdict::of(cases), because)
}

fn forty_milliseconds(study: &Study) -> Claim {
    let own = Ordering::published(Grouping::As);
    let orders = THRESHOLDS.map(|above| Ordering { above, ..own });
    let name = |order: &Ordering| threshold_words(order.above);
    let (verdict, because) = best_of(study, orders, name);
    Claim {
        claim: "40 ms is a good spread to split at (half a point from the best)",
        paper: AS_PAPER,
        verdict,
        because,
    }
}

fn sixteen_bits(study: &Study) -> Claim {
    let own = Ordering::published(Grouping::As);
    let orders = SPLITS.map(|split| Ordering { split, ..own });
    let (verdict, because) = best_of(study, orders, |order| format!("/{}", order.split));
    Claim {
        claim: "/16 is a good prefix to split by (half a point from the best)",
        paper: BOTH,
        verdict,
        because,
    }
}

fn more_samples(study: &Study) -> Claim {
    let own = Ordering::published(Grouping::As);
    let more = Ordering {
        sample: SampleSize::ScaledSquareRoot { factor: 2.0 },
        ..own
    };
    let recall = |order: &Ordering, place| as_published(study, &job(order, place)).recall;
    let gains = FAR.map(|place| Difference::of(&recall(&more, place), &recall(&own, place)));
    let costs = duels(study, [more, own]);
    let words = costs.iter().zip(&gains).map(|(cost, gain)| {
        let gain = gain.map_or(f64::NAN, |gain| gain.mean);
        let ([with_more, with_own], place) = (cost.means, cost.place);
        format!("{place}: {gain:+.2} points found, at equal recall {with_more:.1} % instead of {with_own:.1} %")
    });
    let words: Vec<String> = words.collect();
    Claim {
        claim: "More samples make the ranking more reliable (2·√n finds more than √n)",
        paper: BOTH,
        verdict: Verdict::of(gains.map(Case::higher)),
        because: words.join("; "),
    }
}
