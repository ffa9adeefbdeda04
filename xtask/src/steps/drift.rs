//! Generated text is checked: the pages in `docs/cli` are the help of the binary and of each of its
//! subcommands, found by reading the `Commands:` section of each page in turn; and documents that
//! commands print.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::readme;
use crate::failure::Failure;
use crate::process;
use crate::report::Outcome;
use crate::workspace::{Workspace, stem, with_extension};

pub(crate) const FOLDER: &str = "docs/cli";
const BINARY: &str = "nearside";
/// Documents beside the help, and what prints them.
const DOCUMENTS: [(&str, &[&str]); 3] = [
    ("docs/place-openapi.json", &["place", "serve", "--openapi"]),
    ("docs/master-openapi.json", &["master", "openapi"]),
    (
        "docs/detour-openapi.json",
        &["detour", "serve", "--openapi"],
    ),
];
const ADVICE: &str = "run `cargo xtask drift --write` and commit what it wrote";

/// Page name (`nearside-browse`) to text.
type Pages = BTreeMap<String, String>;

pub(crate) fn run(workspace: &Workspace) -> Result<Outcome, Failure> {
    let written = written_pages(workspace)?;
    if written.is_empty() {
        return Ok(Outcome::Skipped {
            reason: format!("{FOLDER} has no help texts; `cargo xtask drift --write` makes them"),
        });
    }
    let binary = binary(workspace)?;
    let live = live_pages(&binary)?;
    let mut differences = differences(&written, &live);
    for (path, arguments) in DOCUMENTS {
        let printed = printed(&binary, arguments)?;
        let kept = workspace.read(path).unwrap_or_default();
        differences.extend(first_difference(&kept, &printed).map(|line| {
            format!(
                "{path}:{line} is not what `nearside {}` says",
                arguments.join(" ")
            )
        }));
    }
    if differences.is_empty() {
        let texts = format!("{} help texts, {} documents", live.len(), DOCUMENTS.len());
        return Ok(Outcome::passed(texts));
    }
    Err(Failure::new(differences.join("\n"), ADVICE))
}

/// Makes the folder hold exactly the live pages; returns how many there are.
pub(crate) fn write(workspace: &Workspace) -> Result<usize, Failure> {
    let binary = binary(workspace)?;
    let live = live_pages(&binary)?;
    let folder = workspace.path(FOLDER);
    for name in written_pages(workspace)?
        .keys()
        .filter(|name| !live.contains_key(*name))
    {
        refused("remove", &file(&folder, name), fs::remove_file)?;
    }
    refused("make", &folder, fs::create_dir_all)?;
    for (name, text) in &live {
        refused("write", &file(&folder, name), |path| fs::write(path, text))?;
    }
    for (path, arguments) in DOCUMENTS {
        let text = printed(&binary, arguments)?;
        refused("write", &workspace.path(path), |path| fs::write(path, text))?;
    }
    Ok(live.len() + DOCUMENTS.len())
}

fn file(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.txt"))
}

fn refused<'a>(
    doing: &str,
    path: &'a Path,
    act: impl FnOnce(&'a Path) -> std::io::Result<()>,
) -> Result<(), Failure> {
    act(path).map_err(|error| Failure::from_io(format_args!("{doing} {}", path.display()), &error))
}

fn written_pages(workspace: &Workspace) -> Result<Pages, Failure> {
    if !workspace.path(FOLDER).is_dir() {
        return Ok(Pages::new());
    }
    let files = with_extension(workspace.files(FOLDER)?, "txt");
    let read = |file: &PathBuf| Ok((stem(file), workspace.read(file)?));
    files.iter().map(read).collect()
}

fn binary(workspace: &Workspace) -> Result<PathBuf, Failure> {
    Ok(readme::build(workspace)?.join(BINARY))
}

fn live_pages(binary: &Path) -> Result<Pages, Failure> {
    let mut pages = Pages::new();
    collect(&mut pages, &[], &|path| help(binary, path))?;
    Ok(pages)
}

/// The page of one command, then those of its subcommands.
fn collect(
    pages: &mut Pages,
    path: &[String],
    help: &dyn Fn(&[String]) -> Result<String, Failure>,
) -> Result<(), Failure> {
    let text = help(path)?;
    let below = subcommands(&text);
    pages.insert(page_name(path), text);
    for name in below {
        collect(pages, &[path, &[name]].concat(), help)?;
    }
    Ok(())
}

fn page_name(path: &[String]) -> String {
    [&[BINARY.to_owned()], path].concat().join("-")
}

fn printed(binary: &Path, arguments: &[&str]) -> Result<String, Failure> {
    process::output(Command::new(binary).args(arguments).env_clear())
}

/// Help wraps to the terminal and shows values of variables, so it gets neither.
fn help(binary: &Path, path: &[String]) -> Result<String, Failure> {
    let mut command = Command::new(binary);
    command
        .args(path)
        .arg("--help")
        .env_clear()
        .env("COLUMNS", "100");
    process::output(&mut command)
}

/// The names in the `Commands:` section: words behind exactly two spaces. `help` is everywhere and
/// documents nothing.
fn subcommands(help: &str) -> Vec<String> {
    let section = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let section = section.take_while(|line| line.is_empty() || line.starts_with(' '));
    let names = section.filter_map(|line| {
        let name = line.strip_prefix("  ")?;
        let name = name
            .split([' ', ','])
            .next()
            .filter(|name| !name.is_empty())?;
        (name != "help").then(|| name.to_owned())
    });
    names.collect()
}

fn differences(written: &Pages, live: &Pages) -> Vec<String> {
    let stale = written.keys().filter(|name| !live.contains_key(*name));
    let stale = stale.map(|name| format!("{FOLDER}/{name}.txt: there is no such command"));
    let changed = live
        .iter()
        .filter_map(|(name, text)| match written.get(name) {
            None => Some(format!("{FOLDER}/{name}.txt is missing")),
            Some(page) => first_difference(page, text)
                .map(|line| format!("{FOLDER}/{name}.txt:{line} is not what `--help` says")),
        });
    stale.chain(changed).collect()
}

/// The line, counted from 1, where two texts part.
fn first_difference(written: &str, live: &str) -> Option<usize> {
    if written == live {
        return None;
    }
    let same = written
        .lines()
        .zip(live.lines())
        .take_while(|(a, b)| a == b);
    Some(same.count() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HELP: &str = "\
Finds servers

Usage: nearside <COMMAND>

Commands:
  browse  Find servers,
          near first
  lab     An Internet on loopback
  help    Print this message

Options:
  -h, --help  Print help
";

    fn pages(entries: &[(&str, &str)]) -> Pages {
        let owned = |(name, text): &(&str, &str)| ((*name).to_owned(), (*text).to_owned());
        entries.iter().map(owned).collect()
    }

    #[test]
    fn subcommands_are_the_names_of_the_section() {
        assert_eq!(subcommands(HELP), ["browse", "lab"]);
        assert!(subcommands("Usage: x\n\nOptions:\n  -h\n").is_empty());
    }

    #[test]
    fn pages_are_named_by_their_path() {
        let mut found = Pages::new();
        let help = |path: &[String]| {
            Ok(match path {
                [] => "Commands:\n  bench  Compare\n".to_owned(),
                [_] => "Commands:\n  browse  Both\n".to_owned(),
                _ => "Usage\n".to_owned(),
            })
        };
        collect(&mut found, &[], &help).unwrap();
        let names: Vec<&String> = found.keys().collect();
        assert_eq!(
            names,
            ["nearside", "nearside-bench", "nearside-bench-browse"]
        );
    }

    #[test]
    fn a_changed_a_missing_and_a_stale_page_are_told_apart() {
        let written = pages(&[("nearside", "a\nb\n"), ("nearside-old", "")]);
        let live = pages(&[("nearside", "a\nc\n"), ("nearside-new", "")]);
        assert_eq!(
            differences(&written, &live),
            [
                "docs/cli/nearside-old.txt: there is no such command",
                "docs/cli/nearside.txt:2 is not what `--help` says",
                "docs/cli/nearside-new.txt is missing",
            ]
        );
        assert!(differences(&live, &live).is_empty());
    }

    #[test]
    fn a_lost_last_line_is_a_difference() {
        assert_eq!(first_difference("a\n", "a\nb\n"), Some(2));
        assert_eq!(first_difference("a", "a\n"), Some(2));
    }
}
