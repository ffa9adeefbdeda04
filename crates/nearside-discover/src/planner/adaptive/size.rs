//! How much memory the planner takes. Counted from the capacities of what it keeps: a process that has
//! freed memory before does not grow by what it reuses, so its size tells too little.

use std::collections::{BTreeMap, VecDeque};

use super::AdaptivePlanner;

/// Bytes on the heap.
pub(super) trait HeapBytes {
    fn heap_bytes(&self) -> usize;
}

impl<T> HeapBytes for Vec<T> {
    /// What it holds itself; what its items hold is theirs to say.
    fn heap_bytes(&self) -> usize {
        self.capacity() * size_of::<T>()
    }
}

impl<T> HeapBytes for VecDeque<T> {
    fn heap_bytes(&self) -> usize {
        self.capacity() * size_of::<T>()
    }
}

impl<K, V> HeapBytes for BTreeMap<K, V> {
    /// Nodes have room for eleven and are at least half full.
    fn heap_bytes(&self) -> usize {
        2 * self.len() * (size_of::<K>() + size_of::<V>())
    }
}

impl AdaptivePlanner {
    /// The bytes it keeps on the heap, spare room included. What a remembered run holds until the
    /// list is whole is not in it.
    pub fn heap_bytes(&self) -> usize {
        self.listing.heap_bytes()
            + self.early.heap_bytes()
            + self.states.heap_bytes()
            + self.tree.heap_bytes()
            + self.beliefs.heap_bytes()
            + self.groups.heap_bytes()
            + self.record.heap_bytes()
            + self.best.heap_bytes()
            + self.waiting.heap_bytes()
            + self.queue.heap_bytes()
    }
}
