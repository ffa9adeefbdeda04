use std::collections::BTreeMap;

use nearside_types::{Listed, Origin, Rtt, ServerAddr};

/// The servers of a master's list, in list order, with the RTT each client would see.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Population {
    /// The places RTTs are known from; every server has one RTT for each, in this order.
    pub clients: Vec<String>,
    /// The servers, in the order a master lists them.
    pub servers: Vec<WorldServer>,
}

/// One server of a population.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorldServer {
    /// Where it answers. Data, never a target: the lab folds it onto loopback.
    pub addr: ServerAddr,
    /// Where the address comes from.
    pub origin: Origin,
    /// The base RTT from each client of the population; `None` where it never answers.
    pub rtt: Vec<Option<Rtt>>,
}

impl Population {
    /// The column of a client place, if the population has it.
    pub fn client(&self, name: &str) -> Option<usize> {
        self.clients.iter().position(|client| client == name)
    }

    /// The servers as a master lists them.
    pub fn listed(&self) -> Vec<Listed> {
        let listed = |server: &WorldServer| Listed {
            addr: server.addr,
            origin: server.origin,
        };
        self.servers.iter().map(listed).collect()
    }

    /// How many servers answer the client of a column.
    pub fn answering(&self, client: usize) -> usize {
        self.rtts(client).count()
    }

    /// The base RTTs of a client's column, of the servers that answer it.
    pub fn rtts(&self, client: usize) -> impl Iterator<Item = Rtt> {
        self.servers
            .iter()
            .filter_map(move |server| *server.rtt.get(client)?)
    }

    /// The origins of all servers by address, as a lookup table would give them.
    pub fn origins(&self) -> BTreeMap<ServerAddr, Origin> {
        self.servers
            .iter()
            .map(|server| (server.addr, server.origin))
            .collect()
    }
}
