//! Claims of the two papers, held against what the study shows. Verdicts are computed: another world
//! or other seeds may turn them.

use nearside_discover::planner::{SampleSize, StopRule};
use nearside_report::{Column, Part, Table};

use super::clusters::Clusters;
use super::grids::Grids;
use super::list_bytes::{Form, ListBytes, weight};
use super::ordering::{Grouping, Ordering, SPLITS, THRESHOLDS, ms, threshold_words};
use super::outcome::{
    Difference, EQUAL_RECALL, Outcome, as_published, at_recall, mean, probes_at_recall,
};
use super::stops::{PLAYABLE, rule_words, smooth_runs, stop};
use super::wishes::{Wishes, wish};
use super::{FAR, PLACES, job};
use crate::experiment::{Crowd, Experiment, Job, Name, Study};
use crate::method::Method;

/// The conclusions.
pub(super) struct Claims(pub(super) Name);

impl Experiment for Claims {
    fn name(&self) -> Name {
        self.0
    }

    fn title(&self) -> String {
        "Which claims of the papers hold".to_owned()
    }

    fn jobs(&self) -> Vec<Job> {
        let name = self.0;
        let parts: [Box<dyn Experiment>; 5] = [
            Box::new(Clusters(name)),
            Box::new(Grids::samples(name)),
            Box::new(Grids::thresholds(name)),
            Box::new(Wishes(name)),
            Box::new(ListBytes(name)),
        ];
        parts.iter().flat_map(|part| part.jobs()).collect()
    }

    fn parts(&self, study: &Study) -> Vec<Part> {
        let claims = claims(study);
        let mut table = Table::new("claims", "Claims and what the worlds say to them, CS:S")
            .column(Column::new("claim"))
            .column(Column::new("paper"))
            .column(Column::new("verdict").not_fitted())
            .column(Column::new("because"));
        for claim in &claims {
            table.push([
                claim.claim.into(),
                claim.paper.into(),
                claim.verdict.words().into(),
                claim.because.as_str().into(),
            ]);
        }
        vec![introduction().into(), table.into()]
    }
}

fn introduction() -> String {
    format!(
        "Verdicts are computed from the runs of this page. One method is called better than another \
         only where the signs of the differences on the same seeds would come by chance in less than \
         one case of twenty (sign test; it takes six seeds at least), and undecided otherwise. Costs \
         are compared at {EQUAL_RECALL} % recall. A claim about several places holds in part where \
         it is shown for some of them. Probes are in percent of the list."
    )
}

/// What somebody said, and whether it is so.
struct Claim {
    claim: &'static str,
    paper: &'static str,
    verdict: Verdict,
    because: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Holds,
    InPart,
    Fails,
    Open,
}

impl Verdict {
    fn words(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::InPart => "holds in part",
            Self::Fails => "does not hold",
            Self::Open => "undecided",
        }
    }

    /// Of several cases; undecided if none is clear.
    fn of(cases: impl IntoIterator<Item = Case>) -> Self {
        let cases: Vec<Case> = cases.into_iter().collect();
        let count = |case| cases.iter().filter(|other| **other == case).count();
        match (count(Case::Yes), count(Case::No)) {
            (0, 0) => Self::Open,
            (0, _) => Self::Fails,
            (yes, _) if yes == cases.len() => Self::Holds,
            _ => Self::InPart,
        }
    }
}

/// Whether a claim is true in one case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Case {
    Yes,
    No,
    /// It may be chance.
    Unclear,
}

impl Case {
    /// That the first of two is lower.
    fn lower(difference: Option<Difference>) -> Self {
        match difference {
            Some(difference) if difference.is_lower() => Self::Yes,
            Some(difference) if difference.is_higher() => Self::No,
            _ => Self::Unclear,
        }
    }

    /// That the first of two is higher.
    fn higher(difference: Option<Difference>) -> Self {
        match Self::lower(difference) {
            Self::Yes => Self::No,
            Self::No => Self::Yes,
            Self::Unclear => Self::Unclear,
        }
    }
}

impl From<bool> for Case {
    fn from(is_true: bool) -> Self {
        if is_true { Self::Yes } else { Self::No }
    }
}

const AS_PAPER: &str = "AS";
const COUNTRY_PAPER: &str = "country";
const BOTH: &str = "both";

fn claims(study: &Study) -> Vec<Claim> {
    vec![
        a_fifth(study),
        never_worse(study),
        neutral_when_near(study),
        cautious(study),
        as_beats_country(study),
        country_alone(study),
        origins_help(study),
        forty_milliseconds(study),
        sixteen_bits(study),
        more_samples(study),
        small_windows(study),
        low_thresholds(study),
        slightly_higher(study),
        smooth_run(study),
        markers_are_small(study),
    ]
}

fn published(grouping: Grouping, place: &'static str) -> Job {
    job(&Ordering::published(grouping), place)
}

/// The groupings of the two papers.
const PAPERS: [Grouping; 2] = [Grouping::As, Grouping::CountryAnd(8)];

/// A sentence for each place, joined.
fn by_place<const N: usize>(
    places: [&'static str; N],
    words: impl Fn(&'static str) -> String,
) -> String {
    places
        .map(|place| format!("{place}: {}", words(place)))
        .join("; ")
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

fn never_worse(study: &Study) -> Claim {
    let most = |job: &Job| {
        let scores = study.scores(job).iter();
        scores
            .map(|score| score.probes as f64 / score.listed as f64)
            .fold(0.0, f64::max)
    };
    let jobs = super::ordering::all()
        .into_iter()
        .flat_map(|order| FAR.map(|place| job(&order, place)));
    let all: Vec<f64> = jobs.map(|job| most(&job)).collect();
    let highest = all.iter().copied().fold(0.0, f64::max);
    Claim {
        claim: "Never more probes than conventional discovery",
        paper: BOTH,
        verdict: Verdict::of([Case::from(highest <= 1.0)]),
        because: format!(
            "{} orders on every seed, even without a stop: at most {:.1} %",
            all.len(),
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

fn low_thresholds(study: &Study) -> Claim {
    let recall = |place, bound| wish(study, Grouping::As, place, bound).recall;
    let cases = PLACES.map(|place| Difference::of(&recall(place, 100), &recall(place, 200)));
    Claim {
        claim: "A threshold that is too low stops too early (100 ms against 200 ms)",
        paper: BOTH,
        verdict: Verdict::of(cases.map(Case::lower)),
        because: by_place(PLACES, |place| {
            let [near, usual] = [100, 200].map(|bound| mean(&recall(place, bound)));
            format!("{near:.1} % found at 100 ms, {usual:.1} % at 200 ms")
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
    let rules = smooth_runs().into_iter().flatten();
    let best = rules.filter(|rule| !cost(*rule).is_nan());
    let best = best.min_by(|a, b| cost(*a).total_cmp(&cost(*b)));
    let duels = best.map(|rule| {
        FAR.map(|place| Difference::of(&probes(rule, place), &probes(StopRule::PUBLISHED, place)))
    });
    let because = best.map_or("out of reach".to_owned(), |rule| {
        let numbers = by_place(FAR, |place| {
            let [smooth, own] = [rule, StopRule::PUBLISHED].map(|rule| mean(&probes(rule, place)));
            format!("{smooth:.1} % against {own:.1} %")
        });
        format!("the best, {}: {numbers}", rule_words(rule))
    });
    Claim {
        claim: "Waiting for a smooth run of high RTTs stops better than the 2nd percentile",
        paper: COUNTRY_PAPER,
        verdict: Verdict::of(duels.into_iter().flatten().map(Case::lower)),
        because,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_needs_every_case_or_says_in_part() {
        use Case::{No, Unclear, Yes};
        assert_eq!(Verdict::of([Yes, Yes]), Verdict::Holds);
        assert_eq!(Verdict::of([Yes, Unclear]), Verdict::InPart);
        assert_eq!(Verdict::of([Yes, No]), Verdict::InPart);
        assert_eq!(Verdict::of([No, Unclear]), Verdict::Fails);
        assert_eq!(Verdict::of([Unclear, Unclear]), Verdict::Open);
        assert_eq!(Verdict::of([]), Verdict::Open);
    }
}
