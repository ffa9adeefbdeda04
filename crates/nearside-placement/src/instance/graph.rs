use crate::{Delay, Instance, ServerId};

/// Nearest neighbours each server is linked to in the default graph.
pub const DEFAULT_NEIGHBOURS: usize = 5;

/// Which servers are neighbours in the server network. The paper moves clients along a tree of this
/// graph (ZIZO-Tr) and does not say how it is made.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ServerGraph {
    links: Vec<(ServerId, ServerId)>,
}

impl ServerGraph {
    /// A graph of these links, each good in both directions.
    pub fn new(links: impl IntoIterator<Item = (ServerId, ServerId)>) -> Self {
        Self {
            links: links.into_iter().collect(),
        }
    }

    /// The links, as they were given.
    pub fn links(&self) -> impl Iterator<Item = (ServerId, ServerId)> + '_ {
        self.links.iter().copied()
    }

    /// Each server with its `neighbours` nearest, and a minimum spanning tree so that the graph hangs
    /// together. A complete graph would make every tree a star.
    pub fn nearest_and_spanning(instance: &Instance, neighbours: usize) -> Self {
        let mut links = spanning_tree(instance);
        for server in instance.server_ids() {
            let nearest = nearest(instance, server, neighbours);
            links.extend(nearest.into_iter().map(|other| (server, other)));
        }
        Self { links }
    }

    /// For each server its neighbours and how far they are, without links that lead nowhere.
    pub(crate) fn adjacency(&self, instance: &Instance) -> Vec<Vec<(ServerId, Delay)>> {
        let mut adjacency = vec![Vec::new(); instance.servers().len()];
        for &(one, other) in &self.links {
            let apart = instance.separation(one, other);
            if apart.is_usable() {
                adjacency[one.index()].push((other, apart));
                adjacency[other.index()].push((one, apart));
            }
        }
        adjacency
    }
}

fn nearest(instance: &Instance, server: ServerId, number: usize) -> Vec<ServerId> {
    let mut others: Vec<ServerId> = instance.server_ids().filter(|&id| id != server).collect();
    others.sort_by_key(|&other| (instance.separation(server, other), other));
    others.truncate(number);
    others
}

/// Prim's algorithm; servers that cannot be reached are left alone.
fn spanning_tree(instance: &Instance) -> Vec<(ServerId, ServerId)> {
    let root = ServerId::new(0);
    let mut outside: Vec<ServerId> = instance.server_ids().skip(1).collect();
    let mut best: Vec<(Delay, ServerId)> = instance
        .server_ids()
        .map(|server| (instance.separation(root, server), root))
        .collect();
    let mut links = Vec::new();
    while let Some(place) =
        (0..outside.len()).min_by_key(|&place| (best[outside[place].index()], outside[place]))
    {
        let joined = outside.swap_remove(place);
        let (apart, neighbour) = best[joined.index()];
        if apart.is_usable() {
            links.push((neighbour, joined));
        }
        for &server in &outside {
            let offer = (instance.separation(joined, server), joined);
            best[server.index()] = best[server.index()].min(offer);
        }
    }
    links
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn the_spanning_tree_of_a_line_is_the_line() {
        let instance = samples::figure1();
        let graph = ServerGraph::nearest_and_spanning(&instance, 0);
        let links: Vec<_> = graph
            .links()
            .map(|(one, other)| (one.index(), other.index()))
            .collect();
        assert_eq!(links, [(0, 1), (1, 2)]);
    }

    #[test]
    fn neighbours_are_linked_both_ways() {
        let instance = samples::figure1();
        let graph = ServerGraph::nearest_and_spanning(&instance, 1);
        let adjacency = graph.adjacency(&instance);
        let middle: Vec<usize> = adjacency[1].iter().map(|(id, _)| id.index()).collect();
        assert!(middle.contains(&0) && middle.contains(&2), "{middle:?}");
    }
}
