use std::collections::BTreeSet;

use crate::escape::slug;

/// Anchors, each given once.
#[derive(Debug, Default)]
pub(super) struct Ids(BTreeSet<String>);

impl Ids {
    /// The slug of `name`, with a number behind it if it is taken.
    pub(super) fn take(&mut self, name: &str) -> String {
        let slug = slug(name);
        let numbered = (2..).map(|number| format!("{slug}-{number}"));
        let mut candidates = std::iter::once(slug.clone()).chain(numbered);
        let free = candidates.find(|id| !self.0.contains(id));
        let id = free.expect("there are more numbers than names");
        self.0.insert(id.clone());
        id
    }

    /// An anchor that begins with `anchor`, which is unique itself. Two points cannot come from a
    /// slug, so anchors of different reports do not meet.
    pub(super) fn take_below(&mut self, anchor: &str, name: &str) -> String {
        format!("{anchor}..{}", self.take(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_given_once() {
        let mut ids = Ids::default();
        assert_eq!(ids.take("Table 2"), "table-2");
        assert_eq!(ids.take("table 2"), "table-2-2");
        assert_eq!(ids.take_below("paper", "table-2"), "paper..table-2-3");
    }
}
