//! Claims of the two papers, held against what the study shows. Verdicts are computed: another world
//! or other seeds may turn them.

mod orders;
mod promises;
mod stops;
mod verdict;

use nearside_report::{Column, Part, Table};

use super::clusters::Clusters;
use super::grids::Grids;
use super::list_bytes::ListBytes;
use super::ordering::{Grouping, Ordering};
use super::outcome::EQUAL_RECALL;
use super::wishes::Wishes;
use super::{FAR, PLACES, job};
use crate::experiment::{Experiment, Job, Name, Study};
use verdict::{Case, Verdict};

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
        let can_tell = study.setup().is_evidence();
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
                match can_tell {
                    true => claim.verdict.words().into(),
                    false => Verdict::Open.words().into(),
                },
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
         one case of twenty (sign test; it takes six seeds at least), and undecided otherwise; small worlds and fewer seeds decide \
         nothing at all. Costs \
         are compared at {EQUAL_RECALL} % recall. A claim about several places holds in part where \
         it is shown for some of them. Probes are in percent of the list."
    )
}

fn claims(study: &Study) -> Vec<Claim> {
    let promises = promises::all(study).into_iter();
    let orders = orders::all(study).into_iter();
    promises.chain(orders).chain(stops::all(study)).collect()
}

/// What somebody said, and whether it is so.
struct Claim {
    /// In our words.
    claim: &'static str,
    /// Where it is made.
    paper: &'static str,
    verdict: Verdict,
    /// The numbers.
    because: String,
}

const AS_PAPER: &str = "AS";
const COUNTRY_PAPER: &str = "country";
const BOTH: &str = "both";

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
