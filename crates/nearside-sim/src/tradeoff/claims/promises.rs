//! What the papers promise: savings, no harm, little loss, small lists.

use super::{AS_PAPER, BOTH, Case, Claim, FAR, PAPERS, PLACES, Verdict, by_place, job, published};
use crate::experiment::{Crowd, Job, Study};
use crate::method::Method;
use crate::tradeoff::list_bytes::{Form, weight};
use crate::tradeoff::ordering::{self, Grouping, Ordering};
use crate::tradeoff::outcome::{as_published, mean};

pub(super) fn all(study: &Study) -> Vec<Claim> {
    vec![
        a_fifth(study),
        never_worse(study),
        neutral_when_near(study),
        cautious(study),
        markers_are_small(study),
    ]
}

fn a_fifth(study: &Study) -> Claim {
    let cost = |grouping, place| mean(&as_published(study, &published(grouping, place)).probes);
    let best = |grouping| {
        FAR.map(|place| cost(grouping, place))
            .into_iter()
            .fold(f64::MAX, f64::min)
    };
    Claim {
        claim: "Discovery can shrink to less than 20 % of conventional",
        paper: BOTH,
        verdict: Verdict::of(PAPERS.map(|grouping| Case::from(best(grouping) < 20.0))),
        because: by_place(PLACES, |place| {
            let [of_as, of_country] = PAPERS.map(|grouping| cost(grouping, place));
            format!("{of_as:.1} % by AS, {of_country:.1} % by country + /8")
        }),
    }
}

/// Counted in datagrams, so that retries count as well.
fn never_worse(study: &Study) -> Claim {
    let highest = |order: &Ordering, place| {
        let full = study.scores(&Job::new(Crowd::Css, place, Method::CONVENTIONAL));
        let scores = study.scores(&job(order, place)).iter().zip(full);
        let shares = scores.map(|(score, full)| score.datagrams as f64 / full.datagrams as f64);
        shares.fold(0.0, f64::max)
    };
    let orders = ordering::all();
    let all = orders
        .iter()
        .flat_map(|order| FAR.map(|place| highest(order, place)));
    let highest = all.fold(0.0, f64::max);
    Claim {
        claim: "Never more traffic than conventional discovery",
        paper: BOTH,
        verdict: Verdict::of([Case::from(highest <= 1.0)]),
        because: format!(
            "{} orders from {} places, all probed to the end: at most {:.1} % of its datagrams",
            orders.len(),
            FAR.len(),
            100.0 * highest
        ),
    }
}

fn neutral_when_near(study: &Study) -> Claim {
    let costs =
        PAPERS.map(|grouping| mean(&as_published(study, &published(grouping, "DE")).probes));
    let order = |job: &Job| {
        let scores = study.scores(job).iter();
        let shares: Vec<f64> = scores
            .filter_map(|score| Some(100.0 * score.probes_to_90? as f64 / score.listed as f64))
            .collect();
        mean(&shares)
    };
    let list_order = order(&Job::new(Crowd::Css, "DE", Method::CONVENTIONAL));
    let by_as = order(&published(Grouping::As, "DE"));
    Claim {
        claim: "Close to most servers the method neither saves nor costs much",
        paper: BOTH,
        verdict: Verdict::of(
            [
                costs.iter().all(|cost| *cost > 90.0),
                by_as <= list_order + 1.0,
            ]
            .map(Case::from),
        ),
        because: format!(
            "DE: {:.1} % by AS, {:.1} % by country + /8; 90 % found after {by_as:.1} %, in list \
             order after {list_order:.1} %",
            costs[0], costs[1]
        ),
    }
}

fn cautious(study: &Study) -> Claim {
    let recall = |grouping, place| as_published(study, &published(grouping, place)).recall;
    let worst = |values: &[f64]| values.iter().copied().fold(f64::MAX, f64::min);
    let cases = PAPERS.map(|grouping| FAR.map(|place| worst(&recall(grouping, place)) >= 95.0));
    Claim {
        claim: "Auto-stop is suitably cautious: few playable servers are missed (at most 5 %)",
        paper: BOTH,
        verdict: Verdict::of(cases.concat().into_iter().map(Case::from)),
        because: by_place(FAR, |place| {
            let [of_as, of_country] = PAPERS.map(|grouping| recall(grouping, place));
            format!(
                "{:.1} % found by AS (worst seed {:.1}), {:.1} % by country + /8 (worst {:.1})",
                mean(&of_as),
                worst(&of_as),
                mean(&of_country),
                worst(&of_country)
            )
        }),
    }
}

fn markers_are_small(study: &Study) -> Claim {
    let markers = weight(study, Form::AsMarkers);
    let (growth, pays) = (mean(&markers.growth), mean(&markers.pays));
    let tuples = mean(&weight(study, Form::CountryTuples).growth);
    Claim {
        claim: "AS markers add about 4 % to a list and pay from about 55 avoided replies",
        paper: AS_PAPER,
        verdict: Verdict::of(
            [(3.0..=5.0).contains(&growth), (45.0..=65.0).contains(&pays)].map(Case::from),
        ),
        because: format!(
            "{growth:.1} % and {pays:.0} replies; the country of each server would add {tuples:.0} %"
        ),
    }
}
