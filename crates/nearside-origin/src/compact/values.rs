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
/// Up to 255 are kept in a list; one that is not in it is written out and put before the others. One
/// that is changes places with the first: moving all between them would compress 5 % better, and
/// decode at half the speed.
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
                    recent.swap(0, place);
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
        let literal = *self.literals.get(self.used)?;
        self.used += usize::from(is_literal);
        Some(self.recent.next(place, literal))
    }
}

/// The list of recent positions at the end of a buffer: a new one is put before the others without
/// moving them, until the room is used up.
struct Recent {
    buffer: [u32; ROOM + RECENT],
    head: usize,
}

const ROOM: usize = 2048;

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
    /// The position at that place, from 1, or `literal` for place 0. It is first in the list
    /// afterwards: a new one before all others, one of the list in exchange with the first.
    #[inline(always)]
    fn next(&mut self, place: u8, literal: u32) -> u32 {
        if self.head == 0 {
            self.buffer.copy_within(..RECENT, ROOM);
            self.head = ROOM;
        }
        let is_literal = place == 0;
        self.head -= usize::from(is_literal);
        let at = self.head + usize::from(place.saturating_sub(1));
        let position = select_unpredictable(is_literal, literal, self.buffer[at]);
        self.buffer[at] = self.buffer[self.head];
        self.buffer[self.head] = position;
        position
    }
}
