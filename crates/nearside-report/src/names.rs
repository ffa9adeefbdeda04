//! Names for files and anchors: harmless, and each given once.

use std::collections::BTreeSet;

/// A name as a file or an anchor may have it: small letters, digits, hyphens.
pub(crate) fn slug(name: &str) -> String {
    let mut slug = String::with_capacity(name.len());
    for c in name.chars() {
        if c.is_ascii_alphanumeric() {
            slug.push(c.to_ascii_lowercase());
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    let trimmed = slug.trim_end_matches('-');
    if trimmed.is_empty() {
        "unnamed"
    } else {
        trimmed
    }
    .to_owned()
}

/// Names that are taken.
#[derive(Debug, Default)]
pub(crate) struct Names(BTreeSet<String>);

impl Names {
    /// The slug of `name`, with a number behind it if it is taken.
    pub(crate) fn take(&mut self, name: &str) -> String {
        let slug = slug(name);
        let numbered = (2..).map(|number| format!("{slug}-{number}"));
        let mut candidates = std::iter::once(slug.clone()).chain(numbered);
        let free = candidates.find(|candidate| !self.0.contains(candidate));
        let name = free.expect("there are more numbers than names");
        self.0.insert(name.clone());
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_file_names() {
        assert_eq!(slug("armitage-as-table2"), "armitage-as-table2");
        assert_eq!(slug("../Étude: W & K_2"), "tude-w-k-2");
        assert_eq!(slug("…"), "unnamed");
    }

    #[test]
    fn a_name_is_given_once() {
        let mut names = Names::default();
        assert_eq!(names.take("Table 2"), "table-2");
        assert_eq!(names.take("table 2"), "table-2-2");
        assert_eq!(names.take("table-2-2"), "table-2-2-2");
    }
}
