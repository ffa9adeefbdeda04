use std::collections::BTreeMap;

use crate::slots::SlotId;

/// When to look at which slot again. A slot that was planned anew meanwhile leaves a stale entry
/// behind, which its owner recognises; so a heartbeat costs nothing here.
#[derive(Debug, Default)]
pub(crate) struct Wheel {
    seconds: BTreeMap<u32, Vec<SlotId>>,
}

impl Wheel {
    pub(crate) fn plan(&mut self, second: u32, id: SlotId) {
        self.seconds.entry(second).or_default().push(id);
    }

    /// A slot that was planned for `now` or before, and for when.
    pub(crate) fn next(&mut self, now: u32) -> Option<(u32, SlotId)> {
        loop {
            let mut first = self.seconds.first_entry()?;
            let second = *first.key();
            if second > now {
                return None;
            }
            match first.get_mut().pop() {
                Some(id) => return Some((second, id)),
                None => {
                    first.remove();
                }
            }
        }
    }
}
