//! Table 1 of the AS paper: what conventional discovery costs from six places.

use nearside_discover::planner::PlannerKind;
use nearside_report::{Better, Cell, Column, Evidence, Part, Table};

use super::contest::{Client, Contest, Measure};
use super::published::{AS_FULL_SECONDS, AS_ROWS, REQUEST_BYTES, as_row};
use crate::experiment::{Experiment, Job, Name, Study};
use crate::method::Method;

/// Table 1.
pub(super) struct Traffic(pub(super) Name);

fn contest() -> Contest {
    let clients = AS_ROWS.iter().map(|row| row.client).collect();
    Contest::of_baseline(clients, Method::published(PlannerKind::As))
}

impl Experiment for Traffic {
    fn name(&self) -> Name {
        self.0
    }

    fn title(&self) -> String {
        "AS clusters, Table 1: traffic of conventional discovery from six locations".to_owned()
    }

    fn jobs(&self) -> Vec<Job> {
        contest().jobs()
    }

    fn parts(&self, study: &Study) -> Vec<Part> {
        let contest = contest();
        let mut parts: Vec<Part> = vec![INTRODUCTION.into(), requests(study).into()];
        parts.extend(
            measures()
                .iter()
                .map(|measure| contest.table(study, measure).into()),
        );
        parts
    }
}

const INTRODUCTION: &str = "How many servers answer, how many are silent and how long a reply is were \
     taken from this table; that requests of 53 bytes to all of them add up to what was measured \
     follows from the codec and the three tries alone.";

fn measures() -> [Measure<'static>; 5] {
    let measure = |name, caption, published, value| Measure {
        name,
        caption,
        unit: None,
        decimals: 0,
        better: Better::Low,
        evidence: Evidence::Fitted,
        published,
        value,
    };
    [
        Measure {
            better: Better::High,
            ..measure(
                "replies",
                "Servers that replied",
                &|client: &Client| Some(as_row(client.label).replies as f64),
                |run| Some(run.score.answered as f64),
            )
        },
        measure(
            "lost",
            "Requests without a reply, repeats included",
            &|client: &Client| Some(as_row(client.label).lost as f64),
            |run| Some(run.score.datagrams as f64 - run.score.answered as f64),
        ),
        measure(
            "total-bytes",
            "Bytes both ways, with IP and UDP headers",
            &|client: &Client| Some(as_row(client.label).total_bytes as f64),
            |run| Some((run.score.bytes_sent + run.score.bytes_received) as f64),
        ),
        Measure {
            unit: Some("bytes"),
            decimals: 1,
            ..measure(
                "reply-bytes",
                "Mean reply, with headers",
                &|client: &Client| Some(published_reply(client)),
                |run| {
                    let replies = run.score.answered;
                    (replies > 0).then(|| run.score.bytes_received as f64 / replies as f64)
                },
            )
        },
        Measure {
            unit: Some("s"),
            evidence: Evidence::NotFitted,
            ..measure(
                "seconds",
                "Duration at 140 probes a second (the paper says about 230 s)",
                &|_: &Client| Some(AS_FULL_SECONDS),
                |run| Some(run.score.seconds),
            )
        },
    ]
}

fn published_reply(client: &Client) -> f64 {
    let row = as_row(client.label);
    let replies = row.total_bytes - REQUEST_BYTES * row.requests();
    replies as f64 / row.replies as f64
}

/// The check that must come out exact: every request has 53 bytes, and every one is accounted for.
fn requests(study: &Study) -> Table {
    let caption = "Request bytes: 53 × (replies + lost), exactly; the paper's from its own columns";
    let mut table = Table::new("requests", caption)
        .column(Column::new("client"))
        .column(Column::new("paper").unit("bytes").published())
        .column(
            Column::new("paper_share")
                .heading("of all")
                .unit("%")
                .published(),
        )
        .column(Column::new("sent").unit("bytes").not_fitted())
        .column(
            Column::new("expected")
                .heading("53 × requests")
                .unit("bytes")
                .not_fitted(),
        )
        .column(
            Column::new("off")
                .heading("difference")
                .unit("bytes")
                .not_fitted(),
        )
        .column(Column::new("share").heading("of all").unit("%").fitted());
    for row in &AS_ROWS {
        let scores = study.scores(&row.client.job(Method::CONVENTIONAL));
        let published = REQUEST_BYTES * row.requests();
        let over = |value: &dyn Fn(&crate::Score) -> f64, decimals| {
            let values: Vec<f64> = scores.iter().map(value).collect();
            Cell::spread(&values, Better::Low, decimals)
        };
        let expected = |score: &crate::Score| (REQUEST_BYTES * score.datagrams) as f64;
        let sent = |score: &crate::Score| score.bytes_sent as f64;
        table.push([
            row.client.label.into(),
            published.into(),
            Cell::number(100.0 * published as f64 / row.total_bytes as f64, 1),
            over(&sent, 0),
            over(&expected, 0),
            over(&|score| sent(score) - expected(score), 0),
            over(
                &|score| {
                    let all = score.bytes_sent + score.bytes_received;
                    100.0 * score.bytes_sent as f64 / all as f64
                },
                1,
            ),
        ]);
    }
    table
}
