use std::collections::VecDeque;

use super::MAX_DATAGRAM;
use super::fragments::{Fragment, Group};
use super::split::{SPLIT, SplitForm};
use crate::cursor::Cursor;
use crate::{CONNECTIONLESS, DecodeError};

/// Joins the datagrams of one server into whole messages.
///
/// Keep one for each server asked, and [`clear`](Self::clear) it before asking the same server
/// again: fragments carry nothing that ties them to a request. Memory is bounded by
/// [`Limits::messages`] × [`Limits::message_bytes`].
#[derive(Debug, Default)]
pub struct Reassembler {
    form: Option<SplitForm>,
    limits: Limits,
    /// Messages in progress, oldest first.
    pending: VecDeque<Group>,
    /// Checksums of the fragments last completed, so that late copies open no new message.
    completed: Vec<u32>,
}

/// What a reassembler may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The largest message, split or decompressed; 1 MiB by default. The longest rules seen in the
    /// wild are well below 100 KiB.
    pub message_bytes: usize,
    /// How many messages may be in progress; 4 by default. Beyond that the oldest is dropped.
    pub messages: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            message_bytes: 1 << 20,
            messages: 4,
        }
    }
}

/// What became of a datagram.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Assembled {
    /// A whole message, starting `FF FF FF FF`, for [`Response::parse`](super::Response::parse).
    Whole(Vec<u8>),
    /// A fragment; others are missing. Or a copy of one that was already here.
    Pending,
}

impl Reassembler {
    /// A reassembler that finds out which split form the server uses.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads splits in this form only, for callers that know their game.
    #[must_use]
    pub fn with_form(mut self, form: SplitForm) -> Self {
        self.form = Some(form);
        self
    }

    /// Replaces the limits; at least one message may always be in progress.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Takes one datagram from the server. An error is about this datagram or the message it
    /// completed; other messages in progress are not touched.
    pub fn push(&mut self, datagram: &[u8]) -> Result<Assembled, DecodeError> {
        at_most("datagram", datagram.len(), MAX_DATAGRAM)?;
        if datagram.starts_with(&CONNECTIONLESS) {
            return Ok(Assembled::Whole(datagram.to_vec()));
        }
        let mut cursor = Cursor::after(datagram, &SPLIT, "an A2S reply or fragment of one")?;
        let id = cursor.u32_le("split id")?;
        self.push_fragment(id, Fragment::new(cursor.rest())?)
    }

    /// Forgets all fragments.
    pub fn clear(&mut self) {
        self.pending.clear();
        self.completed.clear();
    }

    /// How many messages are in progress.
    pub fn in_progress(&self) -> usize {
        self.pending.len()
    }

    /// How many bytes of fragments are held.
    pub fn held_bytes(&self) -> usize {
        self.pending.iter().map(Group::bytes).sum()
    }

    fn push_fragment(&mut self, id: u32, fragment: Fragment) -> Result<Assembled, DecodeError> {
        if self.completed.contains(&fragment.checksum(id)) {
            return Ok(Assembled::Pending);
        }
        let mut group = self.take_group(id);
        let added = group.add(fragment, self.limits);
        if !group.is_complete() {
            self.keep(group);
            return added.map(|()| Assembled::Pending);
        }
        self.completed = group.checksums();
        group.join(self.form, self.limits).map(Assembled::Whole)
    }

    fn take_group(&mut self, id: u32) -> Group {
        let known = self.pending.iter().position(|group| group.id() == id);
        let group = known.and_then(|at| self.pending.remove(at));
        group.unwrap_or_else(|| Group::new(id, self.form))
    }

    fn keep(&mut self, group: Group) {
        if group.bytes() > 0 {
            self.pending.push_back(group);
        }
        while self.pending.len() > self.limits.messages.max(1) {
            self.pending.pop_front();
        }
    }
}

pub(super) fn at_most(field: &'static str, actual: usize, max: usize) -> Result<(), DecodeError> {
    match actual <= max {
        true => Ok(()),
        false => Err(DecodeError::TooLong { field, actual, max }),
    }
}
