//! What tiles say, as streams of bytes: positions in the dictionary.

use std::hint::select_unpredictable;

use super::bytes::Reader;
use super::column::MAX_TILES;
use super::rans::{put_stream, stream};
use super::{DecodeError, Fault};

/// Positions of a column, one for each tile.
pub(super) enum Values {
    /// For dictionaries of at most [`FEW`] values: the positions themselves.
    Few(Vec<u8>),
    /// For larger ones.
    Many(Recency),
}

/// A byte can tell them apart. There are about 250 countries.
const FEW: usize = 256;

impl Values {
    /// `known` is the size of the dictionary.
    pub(super) fn encode(known: usize, positions: impl Iterator<Item = u32>) -> Self {
        if known > FEW {
            return Self::Many(Recency::encode(positions));
        }
        let bytes = positions.map(|position| u8::try_from(position).expect("at most 256 values"));
        Self::Few(bytes.collect())
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Few(positions) => put_stream(out, positions),
            Self::Many(recency) => recency.write(out),
        }
    }

    pub(super) fn read(
        reader: &mut Reader<'_>,
        tiles: usize,
        known: usize,
    ) -> Result<Self, DecodeError> {
        if known > FEW {
            return Ok(Self::Many(Recency::read(reader, tiles)?));
        }
        let positions = stream(reader, MAX_TILES)?;
        if positions.len() != tiles {
            return Err(reader.fault(Fault::Count));
        }
        Ok(Self::Few(positions))
    }

    pub(super) fn positions(&self) -> Positions<'_> {
        match self {
            Self::Few(positions) => Positions::Few(positions.iter()),
            Self::Many(recency) => Positions::Many(Box::new(Replay::of(recency))),
        }
    }
}

/// Positions one by one.
pub(super) enum Positions<'a> {
    Few(std::slice::Iter<'a, u8>),
    Many(Box<Replay<'a>>),
}

impl Positions<'_> {
    #[inline(always)]
    pub(super) fn next(&mut self) -> Option<u32> {
        match self {
            Self::Few(positions) => positions.next().map(|position| u32::from(*position)),
            Self::Many(replay) => replay.next(),
        }
    }
}

/// Values written by how recently they occurred: neighbouring networks often belong to the same few.
/// A value that is not among the last 255 is written out.
#[derive(Default)]
pub(super) struct Recency {
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
pub(super) struct Replay<'a> {
    places: std::slice::Iter<'a, u8>,
    /// With one more at the end, so that there is always a next one to look at.
    literals: Vec<u32>,
    used: usize,
    recent: Recent,
}

impl<'a> Replay<'a> {
    fn of(recency: &'a Recency) -> Self {
        let [low, middle, high] = &recency.literals;
        let bytes = low.iter().zip(middle).zip(high);
        let literals = bytes.map(|((low, middle), high)| [*low, *middle, *high, 0]);
        Self {
            places: recency.places.iter(),
            literals: literals
                .map(u32::from_le_bytes)
                .chain([NO_POSITION])
                .collect(),
            used: 0,
            recent: Recent::default(),
        }
    }

    #[inline(always)]
    fn next(&mut self) -> Option<u32> {
        let place = *self.places.next()?;
        let is_literal = place == 0;
        // Where the value was before the first of those it overtakes; a new one overtakes nobody.
        let overtaken = usize::from(place.saturating_sub(1));
        let literal = *self.literals.get(self.used)?;
        let known = self.recent.get(overtaken);
        let position = select_unpredictable(is_literal, literal, known);
        self.used += usize::from(is_literal);
        self.recent.make_room(is_literal);
        self.recent.put_first(position, overtaken);
        Some(position)
    }
}

/// The list of recent positions, most recent first, at the end of a buffer: a new one is put before
/// the others without moving them, until the room is used up.
struct Recent {
    buffer: [u32; ROOM + RECENT],
    head: usize,
}

const ROOM: usize = 2048;

/// As many as fill one cache line; most of what is found again is found here.
const NEAR: usize = 16;

/// Holds the places that were never filled; no dictionary has so many values.
const NO_POSITION: u32 = u32::MAX;

impl Default for Recent {
    fn default() -> Self {
        Self {
            buffer: [NO_POSITION; ROOM + RECENT],
            head: ROOM,
        }
    }
}

impl Recent {
    #[inline(always)]
    fn get(&self, place: usize) -> u32 {
        self.buffer[self.head + place]
    }

    /// Makes the list one longer at the front, if `is_needed`.
    #[inline(always)]
    fn make_room(&mut self, is_needed: bool) {
        if self.head == 0 {
            self.buffer.copy_within(..RECENT, ROOM);
            self.head = ROOM;
        }
        self.head -= usize::from(is_needed);
    }

    /// Puts a position first and moves the `overtaken` ones before its old place back by one.
    #[inline(always)]
    fn put_first(&mut self, position: u32, overtaken: usize) {
        if overtaken < NEAR {
            self.shift_near(overtaken);
        } else {
            let end = self.head + overtaken;
            self.buffer.copy_within(self.head..end, self.head + 1);
        }
        self.buffer[self.head] = position;
    }

    /// Moves the first `count` back by one. For these few it is faster to write all of them, moved
    /// or not, than to have the processor guess how many there are.
    #[inline(always)]
    fn shift_near(&mut self, count: usize) {
        let near = self.buffer[self.head..].first_chunk_mut::<NEAR>();
        let near = near.expect("255 places follow the head");
        let before = *near;
        for index in 1..NEAR {
            let is_moved = index <= count;
            near[index] = if is_moved {
                before[index - 1]
            } else {
                before[index]
            };
        }
    }
}
