//! The targets in `fuzz/fuzz_targets`, found by looking. Each is one line that hands its bytes to a
//! body `some_crate::fuzzing::some_function`, where the crate's own tests can call it too.

use std::path::PathBuf;

use crate::failure::Failure;
use crate::workspace::{Workspace, stem, with_extension};

const FOLDER: &str = "fuzz/fuzz_targets";

/// A fuzz target and the function that is its body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) name: String,
    /// As in `crates/`: with hyphens.
    pub(super) krate: String,
    pub(super) function: String,
}

/// All targets; none at all is a failure, because then nothing would be checked.
pub(super) fn discover(workspace: &Workspace) -> Result<Vec<Target>, Failure> {
    let files = with_extension(workspace.files(FOLDER)?, "rs");
    if files.is_empty() {
        return Err(Failure::new(
            format!("{FOLDER} has no targets"),
            "each codec and engine brings one",
        ));
    }
    let read = |file: &PathBuf| Target::parse(&stem(file), &workspace.read(file)?);
    files.iter().map(read).collect()
}

impl Target {
    pub(super) fn parse(name: &str, text: &str) -> Result<Self, Failure> {
        let (before, after) = text.split_once("::fuzzing::").ok_or_else(|| {
            Failure::new(
                format!("{FOLDER}/{name}.rs calls no body"),
                "hand its bytes to `some_crate::fuzzing::some_function`",
            )
        })?;
        let krate = before.rsplit(|c| !is_word(c)).next().unwrap_or_default();
        let function = after.split(|c| !is_word(c)).next().unwrap_or_default();
        Ok(Self {
            name: name.to_owned(),
            krate: krate.replace('_', "-"),
            function: function.to_owned(),
        })
    }
}

pub(super) fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_names_its_crate_and_its_body() {
        let text = "#![no_main]\nfuzz_target!(|b: &[u8]| nearside_wire::fuzzing::a2s_response(b));";
        let target = Target::parse("a2s", text).unwrap();
        assert_eq!(target.name, "a2s");
        assert_eq!(target.krate, "nearside-wire");
        assert_eq!(target.function, "a2s_response");
    }

    #[test]
    fn a_target_with_a_body_of_its_own_is_refused() {
        let failure = Target::parse("lonely", "fuzz_target!(|b: &[u8]| { b.len(); });");
        assert!(failure.unwrap_err().to_string().contains("lonely.rs"));
    }
}
