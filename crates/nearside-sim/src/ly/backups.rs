//! Figure 9: how many detours a client has to its host. And who carries them: the relays' load.

use std::sync::Arc;

use nearside_report::{Axis, Better, Cell, Column, Evidence, Figure, Layer, Part, Point, Table};

use super::emulation::{Load, Log};
use super::laboratory::{Emulated, Laboratory, Who};
use super::tables::{self, Claim, column, over_seeds};
use crate::batch::{Progress, Unwatched};
use crate::experiment::{Experiment, Name, Study};

/// Figure 9.
pub(super) struct Backups {
    pub(super) name: Name,
    pub(super) lab: Arc<Laboratory>,
}

impl Experiment for Backups {
    fn name(&self) -> Name {
        self.name
    }

    fn title(&self) -> String {
        "Ly et al., Figure 9: detours per client".to_owned()
    }

    fn parts(&self, study: &Study) -> Vec<Part> {
        self.watched_parts(study, &Unwatched)
    }

    fn watched_parts(&self, study: &Study, progress: &dyn Progress) -> Vec<Part> {
        let emulated = self.lab.emulated(study.setup(), progress);
        let from = |who, least| over_seeds(&emulated, who, |log, who| share_with(log, who, least));
        let [paper, ours, oracle] = Who::WITH_DETOURS;
        let claim = |text, least| Claim {
            paper: text,
            measured: format!(
                "{:.1} % by the paper's way, {:.1} % by ours.",
                from(paper, least),
                from(ours, least)
            ),
            ceiling: format!("{:.1} %", from(oracle, least)),
        };
        vec![
            self.lab.words_in_time(study.setup()).into(),
            "Counted are candidates through which the path is quicker than the direct one, by however \
             little; the oracle counts all relays of the network."
                .into(),
            self.figure(&emulated).into(),
            table(&emulated).into(),
            tables::claims([
                claim("55 % of the clients have at least one detour.", 1),
                claim("24 % have two or more.", 2),
            ])
            .into(),
        ]
    }
}

/// Counts of detours that the figure tells apart; the last is this many or more.
const MOST: usize = 10;

impl Backups {
    fn figure(&self, emulated: &Emulated) -> Figure {
        let chart = Figure::chart(
            self.name.item,
            "Share of clients with so many detours to their host; the last is ten or more.",
            Axis::linear("detours"),
            Axis::linear("clients (%)"),
        )
        .evidence(Evidence::NotFitted);
        Who::WITH_DETOURS.iter().fold(chart, |chart, who| {
            let points = (0..=MOST).map(|count| Point {
                x: count as f64,
                y: over_seeds(emulated, *who, |log, who| share_of(log, who, count)),
            });
            chart.layer(Layer::line(who.label(), points))
        })
    }
}

fn table(emulated: &Emulated) -> Table {
    let caption = "Share of clients with so many detours to their host";
    let table = Table::new("detours", caption).column(Column::new("detours"));
    let mut table = Who::WITH_DETOURS.iter().fold(table, |table, who| {
        table.column(column(who.column(), who.label(), "%"))
    });
    for count in 0..=MOST {
        let name = match count == MOST {
            true => format!("{MOST} or more"),
            false => count.to_string(),
        };
        let cells = Who::WITH_DETOURS.iter().map(|who| {
            let logs = emulated.of(*who).iter();
            let shares: Vec<f64> = logs.map(|log| share_of(log, *who, count)).collect();
            Cell::spread(&shares, Better::High, 1)
        });
        table.push([Cell::from(name)].into_iter().chain(cells));
    }
    table
}

fn share_of(log: &Log, who: Who, count: usize) -> f64 {
    share_where(log, who, |detours| detours.min(MOST) == count)
}

fn share_with(log: &Log, who: Who, least: usize) -> f64 {
    share_where(log, who, |detours| detours >= least)
}

fn share_where(log: &Log, who: Who, which: impl Fn(usize) -> bool) -> f64 {
    let journeys = || log.sessions.iter().flatten();
    let detours = journeys().map(|journey| match who {
        Who::Direct => 0,
        Who::Finds(_) => journey.detours,
        Who::Oracle => journey.all_detours,
    });
    let many = detours.filter(|count| which(*count)).count();
    100.0 * many as f64 / journeys().count().max(1) as f64
}

/// Who carries the detours.
pub(super) struct Loads {
    pub(super) name: Name,
    pub(super) lab: Arc<Laboratory>,
}

impl Experiment for Loads {
    fn name(&self) -> Name {
        self.name
    }

    fn title(&self) -> String {
        "Detours: load of the relays".to_owned()
    }

    fn parts(&self, study: &Study) -> Vec<Part> {
        self.watched_parts(study, &Unwatched)
    }

    fn watched_parts(&self, study: &Study, progress: &dyn Progress) -> Vec<Part> {
        let emulated = self.lab.emulated(study.setup(), progress);
        vec![
            self.lab.words_in_time(study.setup()).into(),
            "The paper avoids overload only by measuring end to end; ours also gives a relay eight \
             sessions at most. At 40 kbit/s a session (section 3.1), eight are 320 kbit/s. The oracle \
             would use the best relay of every path, whoever else does."
                .into(),
            tables::distributions(
                self.name.item,
                "Sessions carried by each client, over all clients and seeds.",
                "sessions carried",
                &emulated,
                &Who::WITH_DETOURS,
                |log, who| loads(log, who).iter().map(|l| f64::from(l.sessions)).collect(),
            )
            .into(),
            load_table(&emulated).into(),
        ]
    }
}

/// What each client carries in one way of choosing.
fn loads(log: &Log, who: Who) -> &[Load] {
    match who {
        Who::Direct => &[],
        Who::Finds(_) => &log.relayed,
        Who::Oracle => &log.oracle_relayed,
    }
}

fn load_table(emulated: &Emulated) -> Table {
    let caption = "Sessions carried for others, over the clients of a network";
    let table = Table::new("load-table", caption)
        .column(Column::new("who"))
        .column(column("detoured", "players on a detour", "%"))
        .column(column("relays", "clients that ever relayed", "%"))
        .column(column("top_tenth", "carried by the busiest tenth", "%"))
        .column(column("most", "most at a time on one relay", ""));
    Who::WITH_DETOURS.iter().fold(table, |table, who| {
        let spread = |of: fn(&Log, Who) -> f64, better| {
            let logs = emulated.of(*who).iter();
            let values: Vec<f64> = logs.map(|log| of(log, *who)).collect();
            Cell::spread(&values, better, 1)
        };
        table.row([
            who.label().into(),
            spread(detoured, Better::High),
            spread(|log, who| ever_relayed(loads(log, who)), Better::High),
            spread(|log, who| top_tenth(loads(log, who)), Better::Low),
            spread(|log, who| most(loads(log, who)), Better::Low),
        ])
    })
}

fn detoured(log: &Log, who: Who) -> f64 {
    let journeys = || log.sessions.iter().flatten();
    let detoured = journeys().filter(|journey| match who {
        Who::Oracle => journey.oracle_relay.is_some(),
        _ => journey.relay.is_some(),
    });
    100.0 * detoured.count() as f64 / journeys().count().max(1) as f64
}

fn ever_relayed(loads: &[Load]) -> f64 {
    let relays = loads.iter().filter(|load| load.sessions > 0);
    100.0 * relays.count() as f64 / loads.len().max(1) as f64
}

fn most(loads: &[Load]) -> f64 {
    let at_a_time = loads.iter().map(|load| f64::from(load.most));
    at_a_time.fold(0.0, f64::max)
}

fn top_tenth(loads: &[Load]) -> f64 {
    let mut sessions: Vec<u32> = loads.iter().map(|load| load.sessions).collect();
    sessions.sort_unstable_by(|a, b| b.cmp(a));
    let all: u32 = sessions.iter().sum();
    let top: u32 = sessions[..sessions.len().div_ceil(10)].iter().sum();
    100.0 * f64::from(top) / f64::from(all.max(1))
}
