//! A long list in pieces of one size.
//!
//! Live tables are built anew while the old one is still in use. As one long piece of memory each,
//! they leave holes into which the next, a little larger, does not fit; pieces of one size fill the
//! holes of others. For a million routes that is 6 MB less, measured.

/// Items by number, as in a `Vec`; grows without moving what is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Chunks<T> {
    /// All full but the last.
    chunks: Vec<Vec<T>>,
}

/// A chunk of blocks is then some 32 KiB, well below the size from which allocators ask the system
/// for each piece anew.
const CHUNK: usize = 256;

impl<T> Chunks<T> {
    pub(crate) fn new() -> Self {
        Self { chunks: Vec::new() }
    }

    pub(crate) fn push(&mut self, item: T) {
        if self.chunks.last().is_none_or(|chunk| chunk.len() == CHUNK) {
            self.chunks.push(Vec::with_capacity(CHUNK));
        }
        let chunk = self.chunks.last_mut().expect("one was just put there");
        chunk.push(item);
    }

    #[inline]
    pub(crate) fn get(&self, at: usize) -> &T {
        &self.chunks[at / CHUNK][at % CHUNK]
    }

    pub(crate) fn shrink_to_fit(&mut self) {
        self.chunks.shrink_to_fit();
        if let Some(chunk) = self.chunks.last_mut() {
            chunk.shrink_to_fit();
        }
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        let items: usize = self.chunks.iter().map(Vec::capacity).sum();
        items * size_of::<T>() + self.chunks.capacity() * size_of::<Vec<T>>()
    }
}
