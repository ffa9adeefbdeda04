//! Tracked files must make sense on every machine: no path of somebody's home or build folder, no
//! host of a package registry (the package clients know those, and mirrors differ).

use std::fs;

use crate::failure::Failure;
use crate::process;
use crate::report::Outcome;
use crate::workspace::Workspace;

/// Folders under which people and services keep their files.
const HOMES: [&str; 2] = ["/root/", "/home/"];

/// Hosts of package registries, in parts: written out, this file would break its own rule.
const HOSTS: [&[&str]; 6] = [
    &["index", "crates", "io"],
    &["static", "crates", "io"],
    &["pypi", "org"],
    &["pythonhosted", "org"],
    &["registry", "npmjs", "org"],
    &["deb", "debian", "org"],
];

const MACHINE: &str = "a path of one machine";
const REGISTRY: &str = "a package registry's host";

/// A word that no file may contain, and why.
type Word = (String, &'static str);

/// The words, with the folder this checkout happens to stand in, unless its path is so short
/// (`/src`) that it stands in honest text as well.
fn words(checkout: &str) -> Vec<Word> {
    let homes = HOMES.map(|home| (home.to_owned(), MACHINE));
    let hosts = HOSTS.map(|parts| (parts.join("."), REGISTRY));
    let here = checkout.trim_end_matches('/');
    let telling = here.matches('/').count() >= 2;
    let here = telling.then(|| (format!("{here}/"), MACHINE));
    homes.into_iter().chain(hosts).chain(here).collect()
}

pub(crate) fn run(workspace: &Workspace) -> Result<Outcome, Failure> {
    let listed = process::output(workspace.command("git").args(["ls-files", "-z"]))?;
    let files: Vec<&str> = listed.split('\0').filter(|file| !file.is_empty()).collect();
    let checkout = workspace.path("");
    let words = words(&checkout.to_string_lossy());
    let mut findings = Vec::new();
    for file in &files {
        // A file that is tracked but deleted or a link to nowhere has no words.
        let Ok(bytes) = fs::read(workspace.path(file)) else {
            continue;
        };
        findings.extend(search(&words, file, &String::from_utf8_lossy(&bytes)));
    }
    if findings.is_empty() {
        return Ok(Outcome::passed(format!("{} files", files.len())));
    }
    Err(Failure::new(
        findings.join("\n"),
        "say it without the machine: relative paths, names of packages",
    ))
}

fn search(words: &[Word], file: &str, text: &str) -> Vec<String> {
    let mut findings = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        let found = words
            .iter()
            .filter(|(word, _)| line.contains(word) && !is_own_list(file, word));
        findings.extend(found.map(|(word, why)| format!("{file}:{number} has `{word}`, {why}")));
    }
    findings
}

/// This file has to spell the homes.
fn is_own_list(file: &str, word: &str) -> bool {
    file == "xtask/src/steps/words.rs" && HOMES.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(file: &str, text: &str) -> Vec<String> {
        search(&words("/srv/checkout"), file, text)
    }

    #[test]
    fn a_machine_path_is_found_with_its_line() {
        let found = found("docs/a.md", "fine\nsee /home/me/notes\n");
        assert_eq!(found, ["docs/a.md:2 has `/home/`, a path of one machine"]);
    }

    #[test]
    fn the_folder_of_this_checkout_is_found() {
        assert_eq!(found("a.rs", "open /srv/checkout/README.md").len(), 1);
        assert!(search(&words("/src"), "a.md", "see crates/a/src/b.rs").is_empty());
    }

    #[test]
    fn every_registry_host_is_found_also_in_a_lock_file() {
        for parts in HOSTS {
            let line = format!("source = \"https://{}/x\"", parts.join("."));
            assert_eq!(found("Cargo.lock", &line).len(), 1, "{line}");
        }
    }

    #[test]
    fn ordinary_words_pass() {
        assert!(found("a.rs", "/network/ /srv/ homework/ debian").is_empty());
    }

    #[test]
    fn only_the_list_itself_may_spell_the_homes() {
        assert!(found("xtask/src/steps/words.rs", "/root/").is_empty());
        assert_eq!(found("Cargo.lock", "/root/.cargo").len(), 1);
    }
}
