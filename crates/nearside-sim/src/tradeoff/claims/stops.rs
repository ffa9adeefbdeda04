//! What the papers say about stopping: windows, thresholds, smooth runs.

use nearside_discover::planner::StopRule;

use super::{
    AS_PAPER, BOTH, COUNTRY_PAPER, Case, Claim, FAR, PLACES, Verdict, by_place, published,
};
use crate::experiment::Study;
use crate::tradeoff::ordering::{Grouping, ms};
use crate::tradeoff::outcome::{Difference, EQUAL_RECALL, Outcome, at_recall, mean};
use crate::tradeoff::stops::{PLAYABLE, WISHES, rule_words, smooth_runs, stop};
use crate::tradeoff::wishes::wish;

pub(super) fn all(study: &Study) -> Vec<Claim> {
    vec![
        small_windows(study),
        low_thresholds(study),
        slightly_higher(study),
        smooth_run(study),
    ]
}

fn small_windows(study: &Study) -> Claim {
    let small = StopRule::Bottom {
        window: 20,
        bottom: 0.02,
    };
    let recall = |rule, place| {
        let job = published(Grouping::As, place);
        Outcome::of(study, &job, &stop(rule, PLAYABLE)).recall
    };
    let both = |place| [small, StopRule::PUBLISHED].map(|rule| recall(rule, place));
    let losses = FAR.map(|place| {
        let [one, other] = both(place);
        Difference::of(&one, &other)
    });
    Claim {
        claim: "A window that is too small stops too early (W = 20 against 100)",
        paper: AS_PAPER,
        verdict: Verdict::of(losses.map(Case::lower)),
        because: by_place(FAR, |place| {
            let [one, other] = both(place).map(|recall| mean(&recall));
            format!("{one:.1} % found instead of {other:.1} %")
        }),
    }
}

/// In each place, the threshold that loses most among those below 200 ms.
fn low_thresholds(study: &Study) -> Claim {
    let recall = |place, bound| wish(study, Grouping::As, place, bound).recall;
    let lowest = |place| {
        let low = WISHES.into_iter().filter(|bound| ms(*bound) < PLAYABLE);
        let found = low.map(|bound| (bound, mean(&recall(place, bound))));
        let worse =
            |worst: (u32, f64), next: (u32, f64)| if next.1 < worst.1 { next } else { worst };
        found
            .reduce(worse)
            .expect("players wish for less than 200 ms, too")
    };
    let losses = PLACES.map(|place| {
        let (bound, _) = lowest(place);
        Difference::of(&recall(place, bound), &recall(place, 200))
    });
    Claim {
        claim: "A threshold that is too low stops too early (the worst below 200 ms)",
        paper: BOTH,
        verdict: Verdict::of(losses.map(Case::lower)),
        because: by_place(PLACES, |place| {
            let ((bound, least), usual) = (lowest(place), mean(&recall(place, 200)));
            format!("{least:.1} % found at {bound} ms, {usual:.1} % at 200 ms")
        }),
    }
}

fn slightly_higher(study: &Study) -> Claim {
    let at = |place, threshold| {
        let job = published(Grouping::As, place);
        Outcome::of(study, &job, &stop(StopRule::PUBLISHED, ms(threshold)))
    };
    let gain = |place| Difference::of(&at(place, 220).recall, &at(place, 200).recall);
    Claim {
        claim: "RTT_stop should be slightly above the player's wish (220 ms for 200 ms)",
        paper: AS_PAPER,
        verdict: Verdict::of(FAR.map(gain).map(Case::higher)),
        because: by_place(FAR, |place| {
            let (usual, higher) = (at(place, 200), at(place, 220));
            format!(
                "{:.1} instead of {:.1} % found for {:.1} instead of {:.1} % of the list",
                mean(&higher.recall),
                mean(&usual.recall),
                mean(&higher.probes),
                mean(&usual.probes)
            )
        }),
    }
}

fn smooth_run(study: &Study) -> Claim {
    let probes = |rule, place| {
        let found = at_recall(study, &published(Grouping::As, place), rule, EQUAL_RECALL);
        found.map_or_else(Vec::new, |found| found.probes)
    };
    // One rule for all places: the best on the mean.
    let cost = |rule| mean(&FAR.map(|place| mean(&probes(rule, place))));
    let rules: Vec<StopRule> = smooth_runs().into_iter().flatten().collect();
    let count = rules.len();
    let best = rules.into_iter().filter(|rule| !cost(*rule).is_nan());
    let best = best.min_by(|a, b| cost(*a).total_cmp(&cost(*b)));
    let duels = best.map(|rule| {
        FAR.map(|place| Difference::of(&probes(rule, place), &probes(StopRule::PUBLISHED, place)))
    });
    let because = best.map_or("out of reach".to_owned(), |rule| {
        let numbers = by_place(FAR, |place| {
            let [smooth, own] = [rule, StopRule::PUBLISHED].map(|rule| mean(&probes(rule, place)));
            format!("{smooth:.1} % against {own:.1} %")
        });
        format!(
            "the best of {count} in hindsight, {}: {numbers}",
            rule_words(rule)
        )
    });
    Claim {
        claim: "Waiting for a smooth run of high RTTs stops better than the 2nd percentile",
        paper: COUNTRY_PAPER,
        verdict: Verdict::of(duels.into_iter().flatten().map(Case::lower)),
        because,
    }
}
