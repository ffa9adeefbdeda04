//! Which servers a question is tested on: those that the best of its indices leaves.

use nearside_wire::steam::Combine;

use crate::conditions::Test;
use crate::groups::{Named, Places};
use crate::hashes::Hash32;
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

impl<'a> Candidates<'a> {
    /// The fewest that an index leaves.
    pub(crate) fn of(question: &'a Question, shelf: &'a Shelf) -> Self {
        let tests = question.tests.iter();
        let indexed = tests.filter_map(|test| Self::of_test(question.family, test, shelf));
        let fewest = indexed.reduce(Self::fewer);
        let most = fewest.as_ref().map_or(usize::MAX, |fewest| fewest.count);
        let groups = Self::of_groups(question, shelf, most);
        groups.or(fewest).unwrap_or_default()
    }

    /// Those of the groups that it names; `None` as soon as they are not fewer than `most`, so that
    /// somebody with many games does not make others count them.
    fn of_groups(question: &'a Question, shelf: &'a Shelf, most: usize) -> Option<Self> {
        let game = question.game.as_ref();
        let named = Named {
            family: question.family,
            number: question.number,
            game: game.map(|game| shelf.hashes.text(question.family, Text::Game, game)),
        };
        let mut found = Self::default();
        let is_wanted = |traits| question.could_select(traits);
        for places in shelf.groups.select(named, is_wanted) {
            found.count += places.len();
            if found.count >= most {
                return None;
            }
            found.parts.push(Part::Group(places));
        }
        Some(found)
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
