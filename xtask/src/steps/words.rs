//! Tracked files must make sense on every machine: no path of somebody's home or build folder, no
//! host of a package registry (the package clients know those, and mirrors differ).

use std::fs;

use crate::failure::Failure;
use crate::process;
use crate::report::Outcome;
use crate::workspace::Workspace;

/// What no file may contain, and why.
const WORDS: [(&str, &str); 12] = [
    ("/work/", MACHINE),
    ("/root/", MACHINE),
    ("/home/", MACHINE),
    ("/tmp/target", MACHINE),
    ("../shared", MACHINE),
    ("crates.io-index", REGISTRY),
    ("index.crates.io", REGISTRY),
    ("static.crates.io", REGISTRY),
    ("pypi.org", REGISTRY),
    ("pythonhosted.org", REGISTRY),
    ("registry.npmjs.org", REGISTRY),
    ("deb.debian.org", REGISTRY),
];

const MACHINE: &str = "a path of one machine";
const REGISTRY: &str = "a package registry's host";

/// Files that cannot do without: cargo writes the index into its lock files, and this is the list.
const ALLOWED: [(&str, &str); 2] = [
    ("Cargo.lock", "crates.io-index"),
    ("xtask/src/steps/words.rs", ""),
];

pub(crate) fn run(workspace: &Workspace) -> Result<Outcome, Failure> {
    let listed = process::output(workspace.command("git").args(["ls-files", "-z"]))?;
    let files: Vec<&str> = listed.split('\0').filter(|file| !file.is_empty()).collect();
    let mut findings = Vec::new();
    for file in &files {
        // A file that is tracked but deleted or a link to nowhere has no words.
        let Ok(bytes) = fs::read(workspace.path(file)) else {
            continue;
        };
        findings.extend(search(file, &String::from_utf8_lossy(&bytes)));
    }
    if findings.is_empty() {
        return Ok(Outcome::passed(format!("{} files", files.len())));
    }
    Err(Failure::new(
        findings.join("\n"),
        "say it without the machine: relative paths, names of packages",
    ))
}

fn search(file: &str, text: &str) -> Vec<String> {
    let mut findings = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        let found = WORDS
            .iter()
            .filter(|(word, _)| line.contains(word) && !is_allowed(file, word));
        findings.extend(found.map(|(word, why)| format!("{file}:{number} has `{word}`, {why}")));
    }
    findings
}

fn is_allowed(file: &str, word: &str) -> bool {
    let allows = |(name, part): &(&str, &str)| is_file(file, name) && word.contains(part);
    ALLOWED.iter().any(allows)
}

/// Whether the path is `name` or ends in `/name`.
fn is_file(path: &str, name: &str) -> bool {
    path.strip_suffix(name)
        .is_some_and(|folder| folder.is_empty() || folder.ends_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_path_is_found_with_its_line() {
        let found = search("docs/a.md", "fine\nsee /home/me/notes\n");
        assert_eq!(found, ["docs/a.md:2 has `/home/`, a path of one machine"]);
    }

    #[test]
    fn ordinary_words_pass() {
        assert!(search("a.rs", "/network/ /workshop/ crates.io homework/ debian").is_empty());
    }

    #[test]
    fn lock_files_may_name_the_index_and_nothing_else() {
        let line = "source = \"registry+https://github.com/rust-lang/crates.io-index\"";
        assert!(search("Cargo.lock", line).is_empty());
        assert!(search("fuzz/Cargo.lock", line).is_empty());
        assert_eq!(search("NotCargo.lock", line).len(), 1);
        assert_eq!(search("Cargo.lock", "/root/.cargo").len(), 1);
    }
}
