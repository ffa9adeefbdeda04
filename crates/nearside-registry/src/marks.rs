//! Servers by their map, by their mode and by their address: flat ordered sets of a few bytes for each
//! server, however many maps there are.

use std::collections::{BTreeSet, HashMap};

use crate::groups::steps;
use crate::hashes::Hash32;
use crate::slots::SlotId;
use crate::traits::Traits;

/// The indices beside the order of lists.
#[derive(Debug, Default)]
pub(crate) struct Marks {
    /// By map and by mode, within each by traits: a question for both meets only its own.
    texts: BTreeSet<(Hash32, Traits, SlotId)>,
    /// How many servers have a text, so that the price of a question is known before it is answered.
    counts: HashMap<Hash32, u32>,
    addresses: BTreeSet<(Hash32, SlotId)>,
}

impl Marks {
    pub(crate) fn insert(&mut self, text: Hash32, traits: Traits, id: SlotId) {
        if self.texts.insert((text, traits, id)) {
            *self.counts.entry(text).or_default() += 1;
        }
    }

    pub(crate) fn remove(&mut self, text: Hash32, traits: Traits, id: SlotId) {
        if !self.texts.remove(&(text, traits, id)) {
            return;
        }
        if let Some(count) = self.counts.get_mut(&text) {
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&text);
            }
        }
    }

    /// How many servers have a text.
    pub(crate) fn count(&self, text: Hash32) -> usize {
        self.counts.get(&text).map_or(0, |count| *count as usize)
    }

    /// Those with a text, and with traits that are wanted.
    pub(crate) fn with(
        &self,
        text: Hash32,
        is_wanted: impl Fn(Traits) -> bool,
    ) -> impl Iterator<Item = SlotId> {
        let signatures = steps(move |traits| {
            let next = self.texts.range((text, traits, SlotId::MIN)..).next()?;
            (next.0 == text).then_some(next.1)
        });
        signatures
            .filter(move |traits| is_wanted(*traits))
            .flat_map(move |traits| {
                let all = (text, traits, SlotId::MIN)..=(text, traits, SlotId::MAX);
                self.texts.range(all).map(|(_, _, id)| *id)
            })
    }

    pub(crate) fn insert_at(&mut self, address: Hash32, id: SlotId) {
        self.addresses.insert((address, id));
    }

    pub(crate) fn remove_at(&mut self, address: Hash32, id: SlotId) {
        self.addresses.remove(&(address, id));
    }

    /// Those at an address.
    pub(crate) fn at(&self, address: Hash32) -> impl Iterator<Item = SlotId> {
        let all = (address, SlotId::MIN)..=(address, SlotId::MAX);
        self.addresses.range(all).map(|(_, id)| *id)
    }
}

#[cfg(test)]
impl Marks {
    pub(crate) fn is_empty(&self) -> bool {
        self.texts.is_empty() && self.counts.is_empty() && self.addresses.is_empty()
    }
}
