//! The frequencies an rANS stream is coded by: for each context, how often each symbol follows.

use super::bytes::{Reader, put_count};
use super::groups::{Counts, group};
use super::{DecodeError, Fault};

/// Frequencies of a context add up to 4096: fine enough to lose less than a percent, small enough
/// that a context's table of answers fits in the processor's first cache.
pub(super) const SCALE_BITS: u32 = 12;
const SCALE: u32 = 1 << SCALE_BITS;

/// A symbol's share of 0..4096.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Slot {
    pub(super) start: u16,
    pub(super) frequency: u16,
}

/// All tables of a stream; there is at least one.
pub(super) struct Model {
    tables: Vec<Table>,
    /// Which table a context has. Nothing is coded in contexts that do not occur: they have the
    /// first.
    table_of: [u8; 256],
}

/// The frequencies of a group of contexts.
pub(super) struct Table {
    contexts: Vec<u8>,
    slots: [Slot; 256],
    /// For each number below 4096, the symbol it belongs to.
    symbols: [u8; SCALE as usize],
}

impl Model {
    /// Counts symbols by context.
    pub(super) fn measure(pairs: impl Iterator<Item = (u8, u8)>) -> Self {
        let mut counts = vec![[0; 256]; 256];
        for (context, symbol) in pairs {
            counts[usize::from(context)][usize::from(symbol)] += 1;
        }
        let groups = group(&counts).into_iter();
        let tables = groups.map(|group| Table::new(group.contexts, &normalise(&group.counts)));
        Self::of(tables.collect())
    }

    fn of(tables: Vec<Table>) -> Self {
        let mut table_of = [0; 256];
        for (position, table) in (0..=u8::MAX).zip(&tables) {
            for context in &table.contexts {
                table_of[usize::from(*context)] = position;
            }
        }
        Self { tables, table_of }
    }

    #[inline(always)]
    pub(super) fn table(&self, context: u8) -> &Table {
        &self.tables[usize::from(self.table_of[usize::from(context)])]
    }

    /// A symbol's share in a context where it occurs.
    pub(super) fn slot(&self, context: u8, symbol: u8) -> Slot {
        self.table(context).slots[usize::from(symbol)]
    }

    /// The number of tables, then each.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        put_count(out, self.tables.len());
        for table in &self.tables {
            table.write(out);
        }
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let count = reader.count(256)?;
        if count == 0 {
            return Err(reader.fault(Fault::Stream));
        }
        let tables: Result<Vec<_>, _> = (0..count).map(|_| Table::read(reader)).collect();
        Ok(Self::of(tables?))
    }
}

impl Table {
    /// `frequencies` must add up to [`SCALE`].
    fn new(contexts: Vec<u8>, frequencies: &[u16; 256]) -> Self {
        let mut slots = [Slot::default(); 256];
        let mut symbols = [0; SCALE as usize];
        let mut start = 0;
        for (symbol, &frequency) in (0..=u8::MAX).zip(frequencies) {
            slots[usize::from(symbol)] = Slot { start, frequency };
            let end = start + frequency;
            symbols[usize::from(start)..usize::from(end)].fill(symbol);
            start = end;
        }
        Self {
            contexts,
            slots,
            symbols,
        }
    }

    /// The symbol whose share the low bits of `state` lie in, its share, and how far within.
    #[inline(always)]
    pub(super) fn find(&self, state: u32) -> (u8, Slot, u32) {
        let low = state % SCALE;
        let symbol = self.symbols[low as usize];
        let slot = self.slots[usize::from(symbol)];
        (symbol, slot, low.wrapping_sub(slot.start.into()))
    }

    /// The number of contexts less 1 and the contexts; the number of symbols less 1, then for each
    /// symbol the steps from the one before and its frequency less 1.
    fn write(&self, out: &mut Vec<u8>) {
        let slots = (0..=u8::MAX).zip(&self.slots);
        let occurring: Vec<_> = slots.filter(|(_, slot)| slot.frequency > 0).collect();
        put_count(out, self.contexts.len() - 1);
        out.extend_from_slice(&self.contexts);
        put_count(out, occurring.len() - 1);
        let mut next = 0;
        for (symbol, slot) in occurring {
            out.push(symbol - next);
            put_count(out, usize::from(slot.frequency) - 1);
            next = symbol.wrapping_add(1);
        }
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let contexts = reader.count(255)? + 1;
        let contexts = reader.take(contexts)?.to_vec();
        let count = reader.count(255)? + 1;
        let mut frequencies = [0; 256];
        let (mut next, mut total) = (0, 0);
        for _ in 0..count {
            let symbol = next + usize::from(reader.byte()?);
            let frequency = reader.count(SCALE as usize - 1)? + 1;
            total += frequency;
            next = symbol + 1;
            match frequencies.get_mut(symbol) {
                Some(place) if total <= SCALE as usize => {
                    *place = u16::try_from(frequency).expect("at most 4096");
                }
                _ => return Err(reader.fault(Fault::Stream)),
            }
        }
        if total != SCALE as usize {
            return Err(reader.fault(Fault::Stream));
        }
        Ok(Self::new(contexts, &frequencies))
    }
}

/// Shares in proportion to `counts`, at least 1 for whatever occurs, that add up to [`SCALE`].
fn normalise(counts: &Counts) -> [u16; 256] {
    let total: u64 = counts.iter().sum();
    let share = |count: u64| match count {
        0 => 0,
        count => (count * u64::from(SCALE) / total).max(1),
    };
    let mut shares = counts.map(share);
    // What rounding took away or added is settled with the most frequent, which feel it least.
    while shares.iter().sum::<u64>() != u64::from(SCALE) {
        let sum: u64 = shares.iter().sum();
        let largest = shares.iter_mut().max().expect("there are 256");
        if sum > u64::from(SCALE) {
            *largest -= (sum - u64::from(SCALE)).min(*largest / 2);
        } else {
            *largest += u64::from(SCALE) - sum;
        }
    }
    shares.map(|share| u16::try_from(share).expect("at most 4096"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn shares_fill_the_scale_and_leave_nobody_out(
            counts in prop::collection::vec(prop_oneof![Just(0u64), 1u64..3, 1u64..1_000_000], 256),
            some in 1u64..1000,
        ) {
            let mut counts: [u64; 256] = counts.try_into().unwrap();
            counts[17] = some;
            let shares = normalise(&counts);
            prop_assert_eq!(shares.iter().map(|share| u32::from(*share)).sum::<u32>(), SCALE);
            for (count, share) in counts.iter().zip(shares) {
                prop_assert_eq!(*count > 0, share > 0);
            }
        }
    }
}
