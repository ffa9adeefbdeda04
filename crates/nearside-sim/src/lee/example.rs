//! Figure 1: two clients, three servers in a line, and three ways to connect them.

use nearside_placement::{
    Allocation, Budget, Delay, DelayMatrix, Instance, InstanceParts, Latency, Server, ServerId,
    curve, verify,
};
use nearside_report::{Axis, Cell, Column, Evidence, Figure, Layer, Part, Point, Table};

use crate::experiment::{Experiment, Name, Study};

/// Figure 1.
pub(super) struct Example(pub(super) Name);

/// Servers of both clients in the figure's three parts, and the delays the paper gives.
const PARTS: [(&str, [usize; 2], f64); 3] = [
    ("(a) both at s1", [0, 0], 10.0),
    ("(b) both at s2", [1, 1], 6.0),
    ("(c) c1 at s1, c2 at s3", [0, 2], 4.0),
];

impl Experiment for Example {
    fn name(&self) -> Name {
        self.0
    }

    fn title(&self) -> String {
        "Lee et al., Figure 1: the session delay of three allocations".to_owned()
    }

    fn parts(&self, _study: &Study) -> Vec<Part> {
        let instance = instance();
        vec![
            INTRODUCTION.into(),
            delays(&instance).into(),
            figure(self.0.item, &instance).into(),
        ]
    }
}

const INTRODUCTION: &str = "Client c1 is 1, 3 and 5 ms from servers s1, s2 and s3, client c2 is 5, 3 \
     and 1 ms from them, and neighbouring servers are 1 ms apart. More servers can mean less delay; \
     the fewest servers for a bound are what the paper's algorithm looks for.";

fn instance() -> Instance {
    let row = |row: [f64; 3]| row.map(Some).to_vec();
    let matrix =
        |rows: Vec<Vec<Option<f64>>>| DelayMatrix::from_millis(rows).expect("rows of three delays");
    Instance::new(InstanceParts {
        clients: vec!["c1".to_owned(), "c2".to_owned()],
        servers: ["s1", "s2", "s3"].map(Server::named).to_vec(),
        client_server: matrix(vec![row([1.0, 3.0, 5.0]), row([5.0, 3.0, 1.0])]),
        server_server: matrix(vec![
            row([0.0, 1.0, 2.0]),
            row([1.0, 0.0, 1.0]),
            row([2.0, 1.0, 0.0]),
        ]),
        latency: Latency::OneWay,
        processing: Delay::ZERO,
        graph: None,
    })
    .expect("the figure is an instance")
}

/// The literal formula on one part of the figure: servers in use and delay.
fn judged(instance: &Instance, contacts: [usize; 2]) -> (usize, f64) {
    let allocation = Allocation::new(contacts.map(ServerId::new).to_vec());
    let verdict = verify(instance, &allocation, Delay::LONGEST);
    let verdict = verdict.expect("the figure's allocations belong to it");
    (verdict.servers_used, verdict.delay.as_millis())
}

fn delays(instance: &Instance) -> Table {
    let caption = "The session delay of each allocation, by the formula of section 2.2";
    let table = Table::new("delays", caption)
        .column(Column::new("allocation"))
        .column(Column::new("servers"))
        .column(Column::new("paper").unit("ms").published())
        .column(Column::new("measured").unit("ms").not_fitted());
    PARTS
        .iter()
        .fold(table, |table, (part, contacts, published)| {
            let (servers, delay) = judged(instance, *contacts);
            let cells = [Cell::number(*published, 0), Cell::number(delay, 0)];
            table.row([Cell::from(*part), servers.into()].into_iter().chain(cells))
        })
}

fn figure(name: &str, instance: &Instance) -> Figure {
    let x = Axis::linear("session delay (ms)").range(3.0, 11.0);
    let y = Axis::linear("servers").range(0.0, 3.0);
    let point = |contacts| {
        let (servers, delay) = judged(instance, contacts);
        Point {
            x: delay,
            y: servers as f64,
        }
    };
    let parts = PARTS.iter().map(|(_, contacts, _)| point(*contacts));
    let caption = "The three allocations, and the fewest servers for each bound. (a) is worse than \
                   (b) in everything.";
    Figure::chart(name, caption, x, y)
        .layer(Layer::steps("fewest servers", fewest(instance)))
        .layer(Layer::points("the three parts", parts))
        .evidence(Evidence::NotFitted)
}

/// The curve from its fastest corner to the cheapest, and on to the edge.
fn fewest(instance: &Instance) -> Vec<Point> {
    let curve = curve(instance, &Budget::unlimited(0));
    let corners = curve.points.iter().rev().map(|corner| Point {
        x: corner.delay.as_millis(),
        y: corner.servers_used as f64,
    });
    let mut points: Vec<Point> = corners.collect();
    let last = points.last().copied();
    points.extend(last.map(|last| Point { x: 11.0, ..last }));
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_formula_gives_the_published_delays() {
        for (part, contacts, published) in PARTS {
            assert_eq!(judged(&instance(), contacts).1, published, "{part}");
        }
    }

    #[test]
    fn the_fewest_servers_are_two_from_4_ms_and_one_from_6_ms() {
        let corners: Vec<(f64, f64)> = fewest(&instance()).into_iter().map(Into::into).collect();
        assert_eq!(corners, [(4.0, 2.0), (6.0, 1.0), (11.0, 1.0)]);
    }
}
