//! Where the data of a compact file is from, and to whom thanks are due.

use super::bytes::{Reader, put_count, put_number, put_text};
use super::{DecodeError, Fault};
use crate::timestamp::Timestamp;

/// The papers of a table: its sources.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct About {
    /// At most 64.
    pub credits: Vec<Credit>,
}

/// One source, with what its licence asks to be said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credit {
    /// The package or data set, with its version.
    pub name: String,
    /// The licence's short name (SPDX).
    pub licence: String,
    /// The words the licence asks for.
    pub attribution: String,
    /// The date of the data.
    pub date: Timestamp,
}

const MAX_CREDITS: usize = 64;

impl About {
    /// The date of the oldest source: no part of the table is older.
    pub fn date(&self) -> Option<Timestamp> {
        self.credits.iter().map(|credit| credit.date).min()
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let credits = &self.credits[..self.credits.len().min(MAX_CREDITS)];
        put_count(out, credits.len());
        for credit in credits {
            put_text(out, &credit.name);
            put_text(out, &credit.licence);
            put_text(out, &credit.attribution);
            put_number(out, credit.date.unix_seconds().into());
        }
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let count = reader.count(MAX_CREDITS)?;
        let credits: Result<_, _> = (0..count).map(|_| Credit::read(reader)).collect();
        Ok(Self { credits: credits? })
    }
}

impl Credit {
    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let (name, licence, attribution) = (reader.text()?, reader.text()?, reader.text()?);
        let seconds = u64::try_from(reader.number()?);
        let seconds = seconds.map_err(|_| reader.fault(Fault::TooLarge))?;
        Ok(Self {
            name,
            licence,
            attribution,
            date: Timestamp::from_unix_seconds(seconds),
        })
    }
}
