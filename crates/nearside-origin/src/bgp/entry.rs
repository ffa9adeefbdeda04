//! What one neighbour said about one prefix, in four octets: a full table has a million of them.

use std::collections::BTreeMap;

use nearside_types::Asn;

use super::merge::Candidate;

/// 21 bits of a [`Numbers`] code, one for several origins, ten of a [`Generation`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry(u32);

const CODE_BITS: u32 = 21;
const SEVERAL: u32 = 1 << CODE_BITS;
const GENERATION_SHIFT: u32 = CODE_BITS + 1;

impl Entry {
    fn new(code: u32, several: bool, generation: Generation) -> Self {
        let several = if several { SEVERAL } else { 0 };
        Self(u32::from(generation.0) << GENERATION_SHIFT | several | code)
    }

    pub(super) fn generation(self) -> Generation {
        Generation((self.0 >> GENERATION_SHIFT) as u16)
    }
}

/// Counts the sessions of a neighbour, round and round: routes of an earlier session are stale.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Generation(u16);

impl Generation {
    /// Different generations; how many may be in use at a time is the table's business.
    pub(super) const COUNT: u16 = 1 << (u32::BITS - GENERATION_SHIFT);

    pub(super) fn next(self) -> Self {
        Self((self.0 + 1) % Self::COUNT)
    }

    /// How many sessions ago it was at `now`.
    pub(super) fn age(self, now: Self) -> u16 {
        (now.0 + Self::COUNT - self.0) % Self::COUNT
    }
}

/// AS numbers as codes of 21 bits. Those below a million stand for themselves, and no other is
/// allocated; larger ones, private by RFC 6996, are numbered as they come.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    large: Vec<Asn>,
    codes: BTreeMap<Asn, u32>,
}

const LARGE: u32 = 1 << (CODE_BITS - 1);

impl Numbers {
    /// `None` when a million different large numbers have codes already.
    pub(super) fn pack(&mut self, origin: Candidate, generation: Generation) -> Option<Entry> {
        let code = self.code(origin.asn)?;
        Some(Entry::new(code, origin.several, generation))
    }

    pub(super) fn unpack(&self, entry: Entry, now: Generation) -> Candidate {
        let code = entry.0 & (SEVERAL - 1);
        let large = code
            .checked_sub(LARGE)
            .map(|place| self.large[place as usize]);
        Candidate {
            asn: large.unwrap_or(Asn(code)),
            several: entry.0 & SEVERAL != 0,
            stale: entry.generation() != now,
        }
    }

    fn code(&mut self, asn: Asn) -> Option<u32> {
        if asn.0 < LARGE {
            return Some(asn.0);
        }
        if let Some(code) = self.codes.get(&asn) {
            return Some(*code);
        }
        let place = u32::try_from(self.large.len()).ok();
        let place = place.filter(|place| *place < LARGE)?;
        self.large.push(asn);
        self.codes.insert(asn, LARGE | place);
        Some(LARGE | place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ages_count_over_the_turn_of_generations() {
        let old = Generation(Generation::COUNT - 1);
        assert_eq!(old.age(old.next().next()), 2);
        assert_eq!(old.next(), Generation(0));
        assert_eq!(old.age(old), 0);
    }

    proptest! {
        #[test]
        fn entries_say_what_was_put_in(
            routes in prop::collection::vec((prop_oneof![any::<u32>(), 1_048_570_u32..1_048_580], any::<bool>(), 0..Generation::COUNT), 1..50),
            now in 0..Generation::COUNT,
        ) {
            let mut numbers = Numbers::default();
            let mut packed = Vec::new();
            for (asn, several, generation) in routes {
                let said = Candidate { asn: Asn(asn), several, stale: generation != now };
                packed.push((said, numbers.pack(said, Generation(generation)).unwrap()));
            }
            for (said, entry) in packed {
                prop_assert_eq!(numbers.unpack(entry, Generation(now)), said);
            }
        }
    }
}
