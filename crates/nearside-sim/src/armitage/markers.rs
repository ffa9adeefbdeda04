//! Section 5 of the AS paper: what AS markers add to a master's list, and when that pays.

use nearside_discover::planner::PlannerKind;
use nearside_report::{Better, Cell, Column, Evidence, Part, Table};
use nearside_types::Listed;
use nearside_wire::list::{OriginForm, as_order};
use nearside_wire::steam::{ListReply, page};
use nearside_world::Population;

use super::contest::{Contest, Measure};
use super::published::AS_ROWS;
use crate::experiment::{Crowd, Experiment, Job, Name, Study};
use crate::method::Method;

/// Section 5.
pub(super) struct Markers(pub(super) Name);

fn contest() -> Contest {
    let clients = AS_ROWS.iter().map(|row| row.client).collect();
    Contest::of_proposal(clients, Method::published(PlannerKind::As))
}

impl Experiment for Markers {
    fn name(&self) -> Name {
        self.0
    }

    fn title(&self) -> String {
        "AS clusters, Section 5: what AS markers cost, and when they pay".to_owned()
    }

    fn jobs(&self) -> Vec<Job> {
        contest().jobs()
    }

    fn parts(&self, study: &Study) -> Vec<Part> {
        let avoided = Measure {
            name: "avoided",
            caption: "Replies that a client avoids by stopping; above the break-even the markers \
                      have paid",
            unit: None,
            decimals: 0,
            better: Better::High,
            evidence: Evidence::NotFitted,
            published: &|_| None,
            value: |run| Some(run.full.answered as f64 - run.score.answered as f64),
        };
        vec![
            INTRODUCTION.into(),
            growth(study).into(),
            contest().table(study, &avoided).into(),
        ]
    }
}

const INTRODUCTION: &str = "Both lists are written by the codecs of the master and client, packet by \
     packet with IP and UDP headers; a marker stands at the start of every packet and of every AS. \
     The paper counts 6 bytes for each of about 1200 ASes and replies of 135 bytes. It leaves other \
     sample sizes, prefixes, thresholds and windows to future work.";

/// A list on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bulk {
    packets: usize,
    pub(crate) bytes: usize,
    markers: usize,
}

/// IPv4 and UDP.
const HEADERS: usize = 28;

impl Bulk {
    /// Every page of a list in this form.
    pub(crate) fn of(servers: &[Listed], form: Option<OriginForm>) -> Self {
        let mut bulk = Self {
            packets: 0,
            bytes: 0,
            markers: 0,
        };
        let mut rest = servers;
        loop {
            let reply = page(rest, form);
            bulk.packets += 1;
            bulk.bytes += HEADERS + reply.emit().len();
            let (ListReply::List(packet) | ListReply::Countries(packet)) = reply else {
                return bulk; // a page is never a cookie
            };
            let covered = packet.servers().count();
            bulk.markers += packet.entries.len() - covered;
            rest = &rest[covered..];
            if packet.end {
                return bulk;
            }
        }
    }
}

fn bulks(population: &Population) -> (Bulk, Bulk) {
    let mut servers = population.listed();
    let plain = Bulk::of(&servers, None);
    servers.sort_by_key(as_order);
    (plain, Bulk::of(&servers, Some(OriginForm::As)))
}

/// What the paper estimates, and what the codecs say.
fn growth(study: &Study) -> Table {
    let lists = study.over_populations(Crowd::Css, bulks);
    let replies = study.scores(&AS_ROWS[1].client.job(Method::CONVENTIONAL));
    let reply_bytes: Vec<f64> = replies
        .iter()
        .map(|score| score.bytes_received as f64 / score.answered as f64)
        .collect();
    let extra = |(plain, marked): &(Bulk, Bulk)| (marked.bytes - plain.bytes) as f64;
    let over = |decimals, value: &dyn Fn(&(Bulk, Bulk)) -> f64| {
        let values: Vec<f64> = lists.iter().map(value).collect();
        Cell::spread(&values, Better::Low, decimals)
    };
    let pays: Vec<f64> = lists
        .iter()
        .zip(&reply_bytes)
        .map(|(list, reply)| (extra(list) / reply).ceil())
        .collect();
    Table::new(
        "growth",
        "A list of all CS:S servers, plain and with AS markers",
    )
    .column(Column::new("what").heading(""))
    .column(Column::new("paper").published())
    .column(Column::new("measured").fitted())
    .row([
        "markers".into(),
        Cell::number(1200.0, 0),
        over(0, &|(_, marked)| marked.markers as f64),
    ])
    .row([
        "plain list, bytes".into(),
        Cell::Missing,
        over(0, &|(plain, _)| plain.bytes as f64),
    ])
    .row([
        "plain list, packets".into(),
        Cell::Missing,
        over(0, &|(plain, _)| plain.packets as f64),
    ])
    .row([
        "added bytes".into(),
        Cell::number(7200.0, 0),
        over(0, &extra),
    ])
    .row([
        "growth, %".into(),
        Cell::number(4.0, 1),
        over(1, &|list| 100.0 * extra(list) / list.0.bytes as f64),
    ])
    .row([
        "mean reply, bytes".into(),
        Cell::number(135.0, 1),
        Cell::spread(&reply_bytes, Better::Low, 1),
    ])
    .row([
        "break-even, replies avoided".into(),
        Cell::number(55.0, 0),
        Cell::spread(&pays, Better::Low, 0),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use nearside_types::{Asn, Origin};

    fn servers(count: u32, ases: u32) -> Vec<Listed> {
        let server = |index: u32| Listed {
            addr: format!("9.1.{}.{}:27015", index / 256, index % 256)
                .parse()
                .unwrap(),
            origin: Origin {
                asn: Some(Asn(1 + index % ases)),
                country: None,
            },
        };
        let mut servers: Vec<Listed> = (0..count).map(server).collect();
        servers.sort_by_key(as_order);
        servers
    }

    #[test]
    fn a_plain_list_is_six_bytes_a_server_and_its_packets() {
        let bulk = Bulk::of(&servers(500, 3), None);
        assert_eq!((bulk.packets, bulk.markers), (3, 0));
        // Each packet: 28 bytes of headers and the six of `FF FF FF FF 66 0A`; one end mark.
        assert_eq!(bulk.bytes, 3 * (28 + 6) + 501 * 6);
    }

    #[test]
    fn a_marker_stands_before_every_as_and_in_every_packet() {
        let bulk = Bulk::of(&servers(500, 3), Some(OriginForm::As));
        // Three ASes and two further packets that begin inside one of them.
        assert_eq!((bulk.packets, bulk.markers), (3, 5));
    }
}
