//! One column of a table as streams of bytes: how long tiles are, and what they say.

use std::collections::BTreeSet;

use super::bytes::{Reader, put_count, put_number};
use super::rans::{put_stream, stream};
use super::{DecodeError, Fault};
use crate::key::Key;
use crate::table::CountryCode;
use crate::tiles::Tiles;

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

/// Most tiles in a column: eight times today's largest, and a bound on what a hostile file can make
/// us allocate.
const MAX_TILES: usize = 1 << 22;

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

    fn position(&self, value: V) -> u32 {
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

/// Streams of a column: lengths of all tiles but the last, which ends with the address space; then
/// values.
pub(super) fn write<K: Key, V: Word>(
    out: &mut Vec<u8>,
    tiles: &Tiles<K, V>,
    dictionary: &Dictionary<V>,
) {
    put_count(out, tiles.len());
    Lengths::of(tiles.starts()).write(out);
    let positions = tiles.values().iter().map(|v| dictionary.position(*v));
    Recency::encode(positions).write(out);
}

/// A column whose streams were read. Its tiles come one by one, so that a table can be made in one
/// pass: at program start, memory touched is time spent.
pub(super) struct Column {
    count: usize,
    lengths: Lengths,
    recency: Recency,
    /// What to say should the streams not make as many tiles as they promise.
    broken: DecodeError,
}

impl Column {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let count = reader.count(MAX_TILES)?;
        Ok(Self {
            count,
            lengths: Lengths::read(reader, count)?,
            recency: Recency::read(reader, count)?,
            broken: reader.fault(Fault::Tiles),
        })
    }

    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// (start, value) in rising order, from address 0. Ends early where the streams make no sense;
    /// whoever takes the tiles has to give their number to [`Column::check`].
    pub(super) fn tiles<'a, K: Key, V: Word>(
        &'a self,
        dictionary: &'a Dictionary<V>,
    ) -> impl Iterator<Item = (K, V)> + 'a {
        let mut starts = Starts::of(&self.lengths);
        let mut positions = Positions::of(&self.recency);
        std::iter::from_fn(move || {
            let position = positions.next()?;
            let value = dictionary.values.get(position as usize)?;
            Some((starts.next()?, *value))
        })
    }

    pub(super) fn check(&self, taken: usize) -> Result<(), DecodeError> {
        match taken == self.count {
            true => Ok(()),
            false => Err(self.broken.clone()),
        }
    }
}

/// Lengths written as `odd * 2 ^ shift`: most are powers of two, and for those the shift says all.
#[derive(Default)]
struct Lengths {
    /// One byte for each length: the shift, and [`HAS_ODD`] where the odd factor is not 1.
    shifts: Vec<u8>,
    /// `(odd - 1) / 2` of those.
    odds: Vec<u8>,
}

/// Shifts are below 128, so the top bit is free.
const HAS_ODD: u8 = 0x80;

impl Lengths {
    fn of<K: Key>(starts: &[K]) -> Self {
        let mut lengths = Self::default();
        for pair in starts.windows(2) {
            lengths.push(pair[1].distance_from(pair[0]).to_wide());
        }
        lengths
    }

    fn push(&mut self, length: u128) {
        let shift = length.trailing_zeros();
        let odd = length >> shift;
        let mark = if odd == 1 { 0 } else { HAS_ODD };
        let shift = u8::try_from(shift).expect("a length between two starts has at most 128 bits");
        self.shifts.push(shift | mark);
        if odd != 1 {
            put_number(&mut self.odds, odd >> 1);
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        put_stream(out, &self.shifts);
        put_stream(out, &self.odds);
    }

    fn read(reader: &mut Reader<'_>, tiles: usize) -> Result<Self, DecodeError> {
        let shifts = stream(reader, MAX_TILES)?;
        if shifts.len() + 1 != tiles {
            return Err(reader.fault(Fault::Count));
        }
        let odds = stream(reader, tiles * 19)?;
        Ok(Self { shifts, odds })
    }
}

/// Adds up lengths. Written as a loop that keeps its state in few places: it runs a million times at
/// each program start.
struct Starts<'a, K> {
    shifts: std::slice::Iter<'a, u8>,
    odds: Reader<'a>,
    next: Option<K>,
}

impl<'a, K: Key> Starts<'a, K> {
    fn of(lengths: &'a Lengths) -> Self {
        Self {
            shifts: lengths.shifts.iter(),
            odds: Reader::new(&lengths.odds, 0),
            next: Some(K::default()),
        }
    }

    /// `None` from where a length makes no sense.
    #[inline(always)]
    fn next(&mut self) -> Option<K> {
        let start = self.next?;
        if let Some(byte) = self.shifts.next() {
            let length = self.length(*byte);
            self.next = length.and_then(|length| start.checked_add(length));
        }
        Some(start)
    }

    #[inline(always)]
    fn length(&mut self, byte: u8) -> Option<K> {
        let shift = u32::from(byte & !HAS_ODD);
        if byte & HAS_ODD == 0 {
            return K::power_of_two(shift);
        }
        K::from_odd(self.odds.number().ok()?.checked_mul(2)? | 1, shift)
    }
}

/// Values written by how recently they occurred: neighbouring networks often belong to the same few.
/// A value that is not among the last 255 is written out.
#[derive(Default)]
struct Recency {
    /// 0: written out; else the place in the list of recent values, from 1.
    places: Vec<u8>,
    /// The low, middle and high bytes of positions written out.
    literals: [Vec<u8>; 3],
}

const RECENT: usize = 255;

impl Recency {
    fn encode(positions: impl Iterator<Item = u32>) -> Self {
        let mut coded = Self::default();
        let mut recent: Vec<u32> = Vec::with_capacity(RECENT + 1);
        for position in positions {
            let place = recent.iter().position(|other| *other == position);
            match place {
                Some(place) => {
                    let place_byte = u8::try_from(place + 1).expect("at most 255 are kept");
                    coded.places.push(place_byte);
                    recent[..=place].rotate_right(1);
                }
                None => {
                    coded.places.push(0);
                    coded.push_literal(position);
                    recent.insert(0, position);
                    recent.truncate(RECENT);
                }
            }
        }
        coded
    }

    /// Positions have 24 bits, since there are at most [`MAX_TILES`] of them.
    fn push_literal(&mut self, position: u32) {
        for (column, byte) in self.literals.iter_mut().zip(position.to_le_bytes()) {
            column.push(byte);
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        put_stream(out, &self.places);
        for column in &self.literals {
            put_stream(out, column);
        }
    }

    fn read(reader: &mut Reader<'_>, tiles: usize) -> Result<Self, DecodeError> {
        let places = stream(reader, MAX_TILES)?;
        let mut literals = [Vec::new(), Vec::new(), Vec::new()];
        for column in &mut literals {
            *column = stream(reader, MAX_TILES)?;
        }
        let needed = places.iter().filter(|place| **place == 0).count();
        let fits = places.len() == tiles && literals.iter().all(|column| column.len() == needed);
        if !fits {
            return Err(reader.fault(Fault::Count));
        }
        Ok(Self { places, literals })
    }
}

/// Undoes [`Recency::encode`].
struct Positions<'a> {
    places: std::slice::Iter<'a, u8>,
    literals: &'a [Vec<u8>; 3],
    used: usize,
    recent: Recent,
}

impl<'a> Positions<'a> {
    fn of(recency: &'a Recency) -> Self {
        Self {
            places: recency.places.iter(),
            literals: &recency.literals,
            used: 0,
            recent: Recent::default(),
        }
    }

    #[inline(always)]
    fn next(&mut self) -> Option<u32> {
        match *self.places.next()? {
            0 => {
                let [low, middle, high] = self.literals.each_ref().map(|c| c.get(self.used));
                self.used += 1;
                Some(
                    self.recent
                        .insert(u32::from_le_bytes([*low?, *middle?, *high?, 0])),
                )
            }
            place => Some(self.recent.promote(place)),
        }
    }
}

/// The list of recent positions, most recent first, at the end of a buffer: a new one is put before
/// the others without moving them, until the room is used up.
struct Recent {
    buffer: [u32; ROOM + RECENT],
    head: usize,
}

const ROOM: usize = 2048;

impl Default for Recent {
    /// Places that were never filled hold a position no dictionary has.
    fn default() -> Self {
        Self {
            buffer: [u32::MAX; ROOM + RECENT],
            head: ROOM,
        }
    }
}

impl Recent {
    #[inline(always)]
    fn insert(&mut self, position: u32) -> u32 {
        if self.head == 0 {
            self.buffer.copy_within(..RECENT, ROOM);
            self.head = ROOM;
        }
        self.head -= 1;
        self.buffer[self.head] = position;
        position
    }

    /// Moves the one at `place`, from 1, to the front.
    #[inline(always)]
    fn promote(&mut self, place: u8) -> u32 {
        let place = usize::from(place) - 1;
        let position = self.buffer[self.head + place];
        if place < NEAR {
            self.shift_near(place);
        } else {
            let end = self.head + place;
            self.buffer.copy_within(self.head..end, self.head + 1);
        }
        self.buffer[self.head] = position;
        position
    }

    /// Moves the first `count` back by one. For these few it is faster to write all of them, moved
    /// or not, than to have the processor guess how many there are.
    #[inline(always)]
    fn shift_near(&mut self, count: usize) {
        let near = self.buffer[self.head..].first_chunk_mut::<NEAR>();
        let near = near.expect("255 places follow the head");
        let before = *near;
        for index in 1..NEAR {
            near[index] = if index <= count {
                before[index - 1]
            } else {
                before[index]
            };
        }
    }
}

/// As many as fill one cache line; most of what is found again is found here.
const NEAR: usize = 16;
