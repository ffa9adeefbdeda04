//! Figure 4: virtual moves of a client until ZIZO comes to rest.

use nearside_placement::solver::Zizo;
use nearside_report::{Better, Cell, Column, Part, Table};

use super::claims::{self, Claim, number};
use super::method::{Method, Run};
use super::setting::{FACTORS, PUBLISHED_FACTOR, Setting};
use super::sweep::Sweep;
use super::tables::{self, Measure, mean};
use crate::batch::{Progress, Unwatched};
use crate::experiment::{Experiment, Name, Study};

/// Figure 4.
pub(super) struct Migrations(pub(super) Name);

impl Experiment for Migrations {
    fn name(&self) -> Name {
        self.0
    }

    fn title(&self) -> String {
        "Lee et al., Figure 4: migrations of a client against the delay bound".to_owned()
    }

    fn parts(&self, study: &Study) -> Vec<Part> {
        self.watched_parts(study, &Unwatched)
    }

    fn watched_parts(&self, study: &Study, progress: &dyn Progress) -> Vec<Part> {
        let methods = Zizo::VARIANTS.map(Method::Zizo);
        let sweep = |factor| {
            Sweep::run(
                study.setup(),
                Setting::unbounded(factor),
                &methods,
                progress,
            )
        };
        let sweeps = FACTORS.map(sweep);
        let published = sweeps
            .iter()
            .find(|sweep| sweep.setting.factor == PUBLISHED_FACTOR);
        let published = published.expect("the published share is among them");
        let caption = |what: &str| {
            format!(
                "{what} of a client until nobody moves any more, means over the instances on which \
                 step 1 keeps the bound."
            )
        };
        vec![
            INTRODUCTION.into(),
            tables::curves(
                self.0.item,
                caption("Virtual moves"),
                published,
                &methods,
                &MOVES,
            )
            .into(),
            tables::by_bound(caption("Virtual moves"), published, &MOVES).into(),
            tables::by_bound(caption("Probes"), published, &PROBES).into(),
            by_factor(&sweeps).into(),
            claims::table(claims(published)).into(),
        ]
    }
}

const INTRODUCTION: &str = "Moves are virtual: clients move once, when all have come to rest. What a \
     move costs is a probe of the next server, so probes are shown too, which the paper does not. An \
     optimum has no moves of this kind.";

const MOVES: Measure = Measure {
    name: "migrations",
    axis: "migrations per client",
    of: Run::migrations_per_client,
};

const PROBES: Measure = Measure {
    name: "probes",
    axis: "probes per client",
    of: Run::probes_per_client,
};

fn by_factor(sweeps: &[Sweep]) -> Table {
    let caption = "Migrations per client, means over all bounds of an instance; by the share of the \
                   network's delay that is left between servers";
    let table = Table::new("factors", caption).column(Column::new("factor"));
    let methods = &sweeps[0].methods;
    let mut table = tables::with_methods(table, methods);
    for sweep in sweeps {
        let means = |&method: &Method| {
            let means = sweep.means(method, MOVES.of);
            Cell::spread(&means, Better::Low, 2)
        };
        let start = [Cell::number(sweep.setting.factor, 2)];
        table.push(start.into_iter().chain(methods.iter().map(means)));
    }
    table
}

fn claims(sweep: &Sweep) -> Vec<Claim> {
    let moves = |method| number(mean(&sweep.means(method, MOVES.of)));
    let [sr_c, sr_s, tr_c, tr_s] = Zizo::VARIANTS.map(|zizo| moves(Method::Zizo(zizo)));
    vec![
        Claim {
            paper: "The tree-based search migrates less, the full search more by only a small \
                    constant factor.",
            measured: format!(
                "Mean over all bounds: Sr-C {sr_c}, Sr-S {sr_s}, Tr-C {tr_c}, Tr-S {tr_s}."
            ),
        },
        Claim {
            paper: "Sr-C seems to strike a good balance between performance and complexity.",
            measured: format!(
                "It asks {} servers a client, Sr-S {}.",
                number(mean(
                    &sweep.means(Method::Zizo(Zizo::VARIANTS[0]), PROBES.of)
                )),
                number(mean(
                    &sweep.means(Method::Zizo(Zizo::VARIANTS[1]), PROBES.of)
                ))
            ),
        },
    ]
}
