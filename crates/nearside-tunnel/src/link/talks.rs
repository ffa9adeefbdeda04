//! Messages beside the game, over a path that may lose them: repeated until confirmed, taken once.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use nearside_types::Moment;

use crate::messages::{Talk, decode, encode};

#[derive(Debug, Default)]
pub(super) struct Talks {
    next: u32,
    waiting: BTreeMap<u32, Waiting>,
    /// The last ids that came, so that a repetition is not taken twice.
    came: VecDeque<u32>,
}

#[derive(Debug)]
struct Waiting {
    message: Vec<u8>,
    next: Moment,
    tries: u32,
}

const INTERVAL: Duration = Duration::from_millis(250);
const MOST_TRIES: u32 = 20;
const REMEMBERED: usize = 128;
const MOST_WAITING: usize = 64;

impl Talks {
    /// Says something, unless too much waits to be heard already.
    pub(super) fn say(&mut self, now: Moment, talk: &Talk) {
        if self.waiting.len() >= MOST_WAITING {
            return;
        }
        let waiting = Waiting {
            message: encode(talk),
            next: now,
            tries: 0,
        };
        self.waiting.insert(self.next, waiting);
        self.next = self.next.wrapping_add(1);
    }

    /// A message that is to be sent now.
    pub(super) fn poll(&mut self, now: Moment) -> Option<(u32, Vec<u8>)> {
        self.waiting
            .retain(|_, waiting| waiting.tries < MOST_TRIES || waiting.next > now);
        let due = self
            .waiting
            .iter_mut()
            .find(|(_, waiting)| waiting.next <= now);
        let (id, waiting) = due?;
        waiting.tries += 1;
        waiting.next = now + INTERVAL;
        Some((*id, waiting.message.clone()))
    }

    pub(super) fn next_time(&self) -> Option<Moment> {
        self.waiting.values().map(|waiting| waiting.next).min()
    }

    pub(super) fn heard(&mut self, id: u32) {
        self.waiting.remove(&id);
    }

    /// The message, if it did not come before and can be read.
    pub(super) fn came(&mut self, id: u32, message: &[u8]) -> Option<Talk> {
        if self.came.contains(&id) {
            return None;
        }
        if self.came.len() == REMEMBERED {
            self.came.pop_front();
        }
        self.came.push_back(id);
        decode(message).ok()
    }
}
