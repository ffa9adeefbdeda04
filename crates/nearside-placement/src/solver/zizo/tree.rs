use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::instance::DEFAULT_NEIGHBOURS;
use crate::{Delay, Instance, ServerGraph, ServerId};

/// The paper's tree (section 3.3): shortest paths from the core over the server graph, spanning the
/// servers in use; every leaf is one of them.
#[derive(Debug, Clone)]
pub(super) struct Tree {
    parent: Vec<Option<ServerId>>,
    children: Vec<Vec<ServerId>>,
}

impl Tree {
    pub(super) fn grow(instance: &Instance, core: ServerId, in_use: &[ServerId]) -> Self {
        let default;
        let graph = match instance.graph() {
            Some(graph) => graph,
            None => {
                default = ServerGraph::nearest_and_spanning(instance, DEFAULT_NEIGHBOURS);
                &default
            }
        };
        let towards_core = shortest_paths(&graph.adjacency(instance), core);
        Self::spanning(&towards_core, in_use)
    }

    /// Keeps the paths of the servers in use only.
    fn spanning(towards_core: &[Option<ServerId>], in_use: &[ServerId]) -> Self {
        let mut parent = vec![None; towards_core.len()];
        let mut children = vec![Vec::new(); towards_core.len()];
        for &server in in_use {
            let mut below = server;
            while let Some(above) = towards_core[below.index()] {
                if parent[below.index()].replace(above).is_some() {
                    break;
                }
                children[above.index()].push(below);
                below = above;
            }
        }
        children.iter_mut().for_each(|below| below.sort_unstable());
        Self { parent, children }
    }

    pub(super) fn parent(&self, server: ServerId) -> Option<ServerId> {
        self.parent[server.index()]
    }

    pub(super) fn children(&self, server: ServerId) -> &[ServerId] {
        &self.children[server.index()]
    }
}

/// Dijkstra's algorithm: each server's next one on its way to `core`.
fn shortest_paths(adjacency: &[Vec<(ServerId, Delay)>], core: ServerId) -> Vec<Option<ServerId>> {
    let mut towards = vec![None; adjacency.len()];
    let mut settled = vec![false; adjacency.len()];
    let mut waiting = BinaryHeap::from([Reverse((Delay::ZERO, core, None))]);
    while let Some(Reverse((length, server, next))) = waiting.pop() {
        if std::mem::replace(&mut settled[server.index()], true) {
            continue;
        }
        towards[server.index()] = next;
        for &(neighbour, apart) in &adjacency[server.index()] {
            if !settled[neighbour.index()] {
                waiting.push(Reverse((length + apart, neighbour, Some(server))));
            }
        }
    }
    towards
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn every_leaf_is_in_use_and_paths_lead_to_the_core() {
        let mut parts = samples::figure1_parts();
        let ids: Vec<ServerId> = (0..3).map(ServerId::new).collect();
        parts.graph = Some(ServerGraph::new([(ids[0], ids[1]), (ids[1], ids[2])]));
        let line = Instance::new(parts).unwrap();
        let tree = Tree::grow(&line, ids[0], &[ids[1]]);
        assert_eq!(tree.parent(ids[1]), Some(ids[0]));
        assert!(tree.children(ids[1]).is_empty(), "s3 is not in use");
        let tree = Tree::grow(&line, ids[0], &[ids[2]]);
        assert_eq!(tree.children(ids[1]), [ids[2]]);
        assert_eq!(tree.parent(ids[0]), None);
    }
}
