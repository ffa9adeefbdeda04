use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::Delay;

/// Routers and their links.
#[derive(Debug)]
pub(super) struct Roads {
    links: Vec<Vec<(usize, Delay)>>,
}

impl Roads {
    pub(super) fn new(routers: usize) -> Self {
        Self {
            links: vec![Vec::new(); routers],
        }
    }

    pub(super) fn link(&mut self, one: usize, other: usize, delay: Delay) {
        self.links[one].push((other, delay));
        self.links[other].push((one, delay));
    }

    /// Delays of the shortest paths from a router to all (Dijkstra).
    pub(super) fn delays_from(&self, start: usize) -> Vec<Delay> {
        let mut delays = vec![Delay::UNREACHABLE; self.links.len()];
        delays[start] = Delay::ZERO;
        let mut waiting = BinaryHeap::from([Reverse((Delay::ZERO, start))]);
        while let Some(Reverse((delay, router))) = waiting.pop() {
            if delay > delays[router] {
                continue;
            }
            for &(next, link) in &self.links[router] {
                let path = delay + link;
                if path < delays[next] {
                    delays[next] = path;
                    waiting.push(Reverse((path, next)));
                }
            }
        }
        delays
    }
}
