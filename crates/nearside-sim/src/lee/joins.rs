//! Figure 5: servers in use after all clients have joined one by one.

use nearside_placement::solver::Zizo;
use nearside_report::Part;

use super::claims::{self, Claim, number};
use super::method::Method;
use super::servers::SERVERS;
use super::setting::{FACTORS, PUBLISHED_FACTOR, Setting};
use super::sweep::Sweep;
use super::tables::{self, mean};
use crate::batch::{Progress, Unwatched};
use crate::experiment::{Experiment, Name, Study};

/// Figure 5.
pub(super) struct Joins(pub(super) Name);

impl Experiment for Joins {
    fn name(&self) -> Name {
        self.0
    }

    fn title(&self) -> String {
        "Lee et al., Figure 5: servers after clients have joined one by one".to_owned()
    }

    fn parts(&self, study: &Study) -> Vec<Part> {
        self.watched_parts(study, &Unwatched)
    }

    fn watched_parts(&self, study: &Study, progress: &dyn Progress) -> Vec<Part> {
        let sweep = |factor| {
            let setting = Setting::unbounded(factor);
            Sweep::run(study.setup(), setting, &methods(), progress)
        };
        let sweeps = FACTORS.map(sweep);
        let published = sweeps
            .iter()
            .find(|sweep| sweep.setting.factor == PUBLISHED_FACTOR);
        let published = published.expect("the published share is among them");
        let caption = "Servers in use once all clients have joined, means over the instances on \
                       which every method keeps the bound."
            .to_owned();
        vec![
            INTRODUCTION.into(),
            tables::curves(
                self.0.item,
                caption.clone(),
                published,
                &methods(),
                &SERVERS,
            )
            .into(),
            tables::by_bound(caption, published, &SERVERS).into(),
            tables::feasible(published).into(),
            tables::by_factor(&sweeps).into(),
            claims::table([like_offline(study, published, progress)]).into(),
        ]
    }
}

const INTRODUCTION: &str = "Each newcomer takes the first server by distance that keeps the bound, \
     else everybody starts again from step 1; then the zooms run on the present allocation. The \
     session is ours: a newcomer moves nobody as long as a seat can be found, and every 25 joins at \
     most ten clients are moved to save servers. The optimum knows all clients beforehand.";

fn methods() -> Vec<Method> {
    let joining = Zizo::VARIANTS.map(Method::Joining);
    joining
        .into_iter()
        .chain([Method::Session, Method::Optimum])
        .collect()
}

/// The paper compares with its Figure 3(a).
fn like_offline(study: &Study, online: &Sweep, progress: &dyn Progress) -> Claim {
    let zizo = Zizo::VARIANTS.map(Method::Zizo);
    let offline = Sweep::run(study.setup(), online.setting, &zizo, progress);
    let mean_of = |sweep: &Sweep, method| mean(&sweep.means(method, SERVERS.of));
    let pairs = Zizo::VARIANTS.map(|variant| {
        let (online, offline) = (
            mean_of(online, Method::Joining(variant)),
            mean_of(&offline, Method::Zizo(variant)),
        );
        let label = Method::Zizo(variant).label();
        format!("{label} {} and {}", number(online), number(offline))
    });
    Claim {
        paper: "The on-line performance is similar to the off-line case, particularly for Sr-C and \
                Sr-S.",
        measured: format!(
            "Servers on line and off line, means over all bounds: {}.",
            pairs.join(", ")
        ),
    }
}
