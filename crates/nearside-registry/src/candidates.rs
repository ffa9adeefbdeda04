//! Which servers a question is tested on: those that the best of its indices leaves.

use nearside_wire::steam::Combine;

use crate::conditions::Test;
use crate::groups::{Named, Places, Step};
use crate::hashes::Hash32;
use crate::scans::{QUESTION, STEP};
use crate::selection::Question;
use crate::server::{Family, Server, Text};
use crate::shelf::Shelf;
use crate::slots::SlotId;

/// Servers that may be what a question asks for; no others are.
#[derive(Debug, Default)]
pub(crate) struct Candidates<'a> {
    /// How many there are at most.
    pub(crate) count: usize,
    parts: Vec<Part<'a>>,
}

#[derive(Debug)]
enum Part<'a> {
    Group(&'a Places),
    /// All with a text.
    With(Hash32),
    These(Vec<SlotId>),
}

/// How a walk to the groups of a question ended.
enum Walk<'a> {
    Found(Candidates<'a>),
    /// Another index is cheaper.
    Dearer,
    /// Whoever asks cannot pay for more steps.
    Unpaid,
}

impl<'a> Candidates<'a> {
    /// The fewest that an index leaves. Somebody with many games must not make others look for them for
    /// nothing: a walk to more groups than any question has paid for is paid as it goes, and ends where
    /// `pay` says no. `None` if it says so and there is no other index.
    pub(crate) fn of(
        question: &'a Question,
        shelf: &'a Shelf,
        pay: &mut impl FnMut(usize) -> bool,
    ) -> Option<Self> {
        let tests = question.tests.iter();
        let indexed = tests.filter_map(|test| Self::of_test(question.family, test, shelf));
        let fewest = indexed.reduce(Self::fewer);
        match Self::of_groups(question, shelf, fewest.as_ref(), pay) {
            Walk::Found(groups) => Some(groups),
            Walk::Dearer | Walk::Unpaid => fewest,
        }
    }

    /// Those of the groups that it names, unless it is dearer to find them than to look at `others`.
    fn of_groups(
        question: &'a Question,
        shelf: &'a Shelf,
        others: Option<&Self>,
        pay: &mut impl FnMut(usize) -> bool,
    ) -> Walk<'a> {
        let game = question.game.as_ref();
        let named = Named {
            family: question.family,
            number: question.number,
            game: game.map(|game| shelf.hashes.text(question.family, Text::Game, game)),
        };
        let most = others.map_or(usize::MAX, |others| others.count);
        let price = most.saturating_mul(question.cost).saturating_add(QUESTION);
        let mut found = Self::default();
        let is_wanted = |traits| question.could_select(traits);
        for (steps, step) in (1..).zip(shelf.groups.select(named, is_wanted)) {
            if let Step::Group(places) = step {
                found.count += places.len();
                found.parts.push(Part::Group(places));
            }
            if found.count >= most || steps * STEP > price {
                return Walk::Dearer;
            }
            if steps % STEPS_AT_ONCE == 0 && !pay(STEPS_AT_ONCE * STEP) {
                return Walk::Unpaid;
            }
        }
        Walk::Found(found)
    }

    /// Those for whom a test may hold, if it has an index.
    fn of_test(family: Family, test: &Test, shelf: &'a Shelf) -> Option<Self> {
        let of_all = |tests: &[Test]| -> Vec<Option<Self>> {
            let each = tests.iter().map(|test| Self::of_test(family, test, shelf));
            each.collect()
        };
        match test {
            Test::Text(which, text) if is_indexed(family, *which, text) => {
                let hash = shelf.hashes.text(family, *which, text);
                Some(Self {
                    count: shelf.marks.count(hash),
                    parts: vec![Part::With(hash)],
                })
            }
            Test::Address(ip, addr) => {
                let at_ip = ip.map(|ip| shelf.hashes.address(ip));
                let ids = at_ip.into_iter().flat_map(|hash| shelf.marks.at(hash));
                let exactly = addr.and_then(|addr| shelf.find(addr));
                let ids: Vec<SlotId> = ids.chain(exactly).collect();
                Some(Self {
                    count: ids.len(),
                    parts: vec![Part::These(ids)],
                })
            }
            Test::Group(Combine::And, tests) => {
                of_all(tests).into_iter().flatten().reduce(Self::fewer)
            }
            // Who is in two of them is met twice, and listed once.
            Test::Group(Combine::Or, tests) => {
                let all = of_all(tests).into_iter().collect::<Option<Vec<_>>>()?;
                Some(all.into_iter().fold(Self::default(), Self::and))
            }
            _ => None,
        }
    }

    fn fewer(self, other: Self) -> Self {
        if other.count < self.count {
            other
        } else {
            self
        }
    }

    fn and(mut self, other: Self) -> Self {
        self.count += other.count;
        self.parts.extend(other.parts);
        self
    }

    /// The servers, those of each group in the order of lists.
    pub(crate) fn servers<'b>(
        &'b self,
        question: &'b Question,
        shelf: &'b Shelf,
    ) -> impl Iterator<Item = &'b Server> {
        let parts = self.parts.iter();
        let ids = parts.flat_map(move |part| part.ids(question, shelf));
        ids.filter_map(|id| shelf.at(id))
    }
}

impl Part<'_> {
    fn ids<'b>(
        &'b self,
        question: &'b Question,
        shelf: &'b Shelf,
    ) -> Box<dyn Iterator<Item = SlotId> + 'b> {
        match self {
            Self::Group(places) => Box::new(places.ids()),
            Self::With(text) => {
                let is_wanted = |traits| question.could_select(traits);
                Box::new(shelf.marks.with(*text, is_wanted))
            }
            Self::These(ids) => Box::new(ids.iter().copied()),
        }
    }
}

/// Steps that are paid for together; every question has paid for the first of them.
const STEPS_AT_ONCE: usize = QUESTION / STEP;

/// Whether servers are found by a text. Modes are whole words in the Quake 3 family, where clients ask
/// for one; Steam's are lists of tags.
pub(crate) fn is_indexed(family: Family, which: Text, text: &[u8]) -> bool {
    let has_index = match which {
        Text::Map => true,
        Text::Mode => family == Family::Quake3,
        Text::Game | Text::Name | Text::Version | Text::Data => false,
    };
    has_index && !text.is_empty()
}

#[cfg(test)]
mod tests;
