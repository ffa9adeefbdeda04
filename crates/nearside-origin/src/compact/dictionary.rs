//! The values of a column, each once; tiles name them by position.

use std::collections::BTreeSet;

use super::bytes::{Reader, put_count, put_number};
use super::column::MAX_TILES;
use super::rans::{put_stream, stream};
use super::{DecodeError, Fault};
use crate::cell::CountryCode;

/// A value of a column as a number; 0 is "unknown".
pub(super) trait Word: Copy + Eq + Default + 'static {
    fn number(self) -> u32;
    /// `None` for numbers that are no value of this column.
    fn from_number(number: u32) -> Option<Self>;
}

impl Word for u32 {
    fn number(self) -> u32 {
        self
    }

    fn from_number(number: u32) -> Option<Self> {
        Some(number)
    }
}

impl Word for CountryCode {
    fn number(self) -> u32 {
        self.0.into()
    }

    fn from_number(number: u32) -> Option<Self> {
        let code = Self(u16::try_from(number).ok()?);
        code.country().map(|country| Self::from(Some(country)))
    }
}

/// The values that occur, in rising order; tiles name them by position, and 0 is "unknown".
pub(super) struct Dictionary<V> {
    values: Vec<V>,
}

impl<V: Word> Dictionary<V> {
    pub(super) fn of(values: impl Iterator<Item = V>) -> Self {
        let numbers: BTreeSet<u32> = values.map(Word::number).collect();
        let known = numbers.into_iter().filter(|number| *number != 0);
        let values = known.map(|number| V::from_number(number).expect("it was a value before"));
        Self {
            values: std::iter::once(V::default()).chain(values).collect(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    pub(super) fn get(&self, position: u32) -> Option<V> {
        self.values.get(position as usize).copied()
    }

    pub(super) fn position(&self, value: V) -> u32 {
        let found = self
            .values
            .binary_search_by_key(&value.number(), |value| value.number());
        let position = found.expect("the dictionary was made from these values");
        u32::try_from(position).expect("values are 32-bit numbers")
    }

    /// A stream of steps from one value to the next.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let mut steps = Vec::new();
        for pair in self.values.windows(2) {
            put_number(&mut steps, (pair[1].number() - pair[0].number()).into());
        }
        put_count(out, self.values.len() - 1);
        put_stream(out, &steps);
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let count = reader.count(MAX_TILES)?;
        let steps = stream(reader, count * 5)?;
        let mut steps = Reader::new(&steps, 0);
        let mut values = vec![V::default()];
        let mut number = 0_u32;
        for _ in 0..count {
            let step = steps
                .number()
                .ok()
                .and_then(|step| u32::try_from(step).ok());
            let next = step.and_then(|step| number.checked_add(step));
            let next = next.filter(|next| *next > number);
            let value = next.and_then(V::from_number);
            values.push(value.ok_or_else(|| reader.fault(Fault::Dictionary))?);
            number = next.expect("its value was found");
        }
        Ok(Self { values })
    }
}
