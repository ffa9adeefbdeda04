//! The paper's Figure 1, for tests: two clients, three servers in a line.

use crate::{Delay, DelayMatrix, Instance, InstanceParts, Latency, Server};

/// d_c(c1,·) = (1,3,5), d_c(c2,·) = (5,3,1), neighbouring servers 1 apart.
pub(crate) fn figure1_parts() -> InstanceParts {
    let access = [[1.0, 3.0, 5.0], [5.0, 3.0, 1.0]];
    let between = [[0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]];
    InstanceParts {
        clients: vec!["c1".to_owned(), "c2".to_owned()],
        servers: ["s1", "s2", "s3"].map(Server::named).to_vec(),
        client_server: DelayMatrix::from_millis(access.map(|row| row.map(Some)))
            .expect("the figure's numbers are delays"),
        server_server: DelayMatrix::from_millis(between.map(|row| row.map(Some)))
            .expect("the figure's numbers are delays"),
        latency: Latency::OneWay,
        processing: Delay::ZERO,
        graph: None,
    }
}

pub(crate) fn figure1() -> Instance {
    Instance::new(figure1_parts()).expect("the figure is an instance")
}
