//! Figure 3: servers in use against the delay bound, with servers that take anybody and with servers
//! that take ten.

use nearside_placement::solver::Zizo;
use nearside_report::Part;

use super::claims::{self, Claim, number};
use super::method::{Method, Run};
use super::setting::{FACTORS, PLACES, PUBLISHED_FACTOR, Setting};
use super::sweep::Sweep;
use super::tables::{self, Measure, mean};
use crate::batch::{Progress, Unwatched};
use crate::experiment::{Experiment, Name, Study};

/// Figure 3(a) or 3(b).
pub(super) struct Servers {
    name: Name,
    setting: Setting,
}

pub(super) const SERVERS: Measure = Measure {
    name: "servers",
    axis: "servers",
    of: Run::servers,
};

impl Servers {
    pub(super) const fn unbounded(name: Name) -> Self {
        Self {
            name,
            setting: Setting::unbounded(PUBLISHED_FACTOR),
        }
    }

    pub(super) const fn bounded(name: Name) -> Self {
        Self {
            name,
            setting: Setting {
                factor: PUBLISHED_FACTOR,
                capacity: Some(PLACES),
            },
        }
    }
}

impl Experiment for Servers {
    fn name(&self) -> Name {
        self.name
    }

    fn title(&self) -> String {
        match self.setting.capacity {
            None => "Lee et al., Figure 3(a): servers against the delay bound".to_owned(),
            Some(places) => {
                format!("Lee et al., Figure 3(b): the same with {places} clients a server")
            }
        }
    }

    fn parts(&self, study: &Study) -> Vec<Part> {
        self.watched_parts(study, &Unwatched)
    }

    fn watched_parts(&self, study: &Study, progress: &dyn Progress) -> Vec<Part> {
        let sweep =
            |factor| Sweep::run(study.setup(), self.setting.at(factor), &methods(), progress);
        let sweeps = FACTORS.map(sweep);
        let published = sweeps.iter().find(|sweep| sweep.setting == self.setting);
        let published = published.expect("the published share is among them");
        let caption = "Servers in use, means over the instances on which every method keeps the \
                       bound; delays between servers are a quarter of the network's."
            .to_owned();
        let drawn = drawn();
        vec![
            INTRODUCTION.into(),
            tables::curves(self.name.item, caption.clone(), published, &drawn, &SERVERS).into(),
            tables::by_bound(caption, published, &SERVERS).into(),
            tables::feasible(published).into(),
            tables::by_factor(&sweeps).into(),
            claims::table(self.claims(published)).into(),
        ]
    }
}

const INTRODUCTION: &str = "100 servers and 50 clients on random routers of a network of 50 × 100 \
     routers, grown by Waxman's rule in the manner of the BRITE generator that the paper used; its \
     parameters are not in the paper, so heights of curves can only be compared with each other. \
     `nearest` is every client at its nearest server, which is step 1 of ZIZO; the optimum is proven.";

fn methods() -> Vec<Method> {
    let zizo = Zizo::VARIANTS.map(Method::Zizo);
    let rest = [Method::Greedy, Method::TightSpan, Method::Optimum];
    [Method::Nearest]
        .into_iter()
        .chain(zizo)
        .chain(rest)
        .collect()
}

/// The paper's curves and the optimum. Without `nearest`, which would press the others flat, and
/// without the tight span, which the optimum hides.
fn drawn() -> Vec<Method> {
    let hidden = [Method::Nearest, Method::TightSpan];
    methods()
        .into_iter()
        .filter(|method| !hidden.contains(method))
        .collect()
}

impl Servers {
    fn claims(&self, sweep: &Sweep) -> Vec<Claim> {
        let [sr_c, sr_s, tr_c, tr_s] = Zizo::VARIANTS.map(Method::Zizo);
        let ratio = |one, other| number(mean(&sweep.ratios(one, other)));
        let loosest = sweep.bounds.len() - 1;
        let last = |method| number(mean(&sweep.compared(loosest, method, SERVERS.of)));
        let mut claims = vec![
            Claim {
                paper: "With a large bound both Sr variants find the fewest servers there are; the \
                        tree-based ones are slow to come there (3a) or do not come there (3b).",
                measured: format!(
                    "At 42 ms: Sr-C {}, Sr-S {}, Tr-C {}, Tr-S {}, optimum {}.",
                    last(sr_c),
                    last(sr_s),
                    last(tr_c),
                    last(tr_s),
                    last(Method::Optimum)
                ),
            },
            Claim {
                paper: "Full search does much better than the tree.",
                measured: format!("Tr-C uses {} times the servers of Sr-C.", ratio(tr_c, sr_c)),
            },
            Claim {
                paper: "Coordinated migration offers little benefit.",
                measured: format!("Sr-S uses {} times the servers of Sr-C.", ratio(sr_s, sr_c)),
            },
        ];
        if self.setting.capacity.is_none() {
            claims.push(Claim {
                paper: "ZIZO is comparable to greedy, which performs closely to the optimum.",
                measured: format!(
                    "Sr-C uses {} times the servers of greedy, greedy {} times those of the optimum.",
                    ratio(sr_c, Method::Greedy),
                    ratio(Method::Greedy, Method::Optimum)
                ),
            });
        }
        claims
    }
}
