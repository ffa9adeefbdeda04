//! Programs nobody here wrote, found or excused by the convention of docs/testing.md.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::process::Program;

/// Where Debian puts games, beside the usual folders.
const GAMES: &str = "/usr/games";

/// A program of this name; `None` if the test may do without, which is said on standard error.
pub fn program(test: &str, foreign: &str, name: &str) -> Option<Program> {
    let usual = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&usual)
        .chain([PathBuf::from(GAMES)])
        .map(|folder| folder.join(name))
        .find(|path| path.is_file());
    or_skip(test, foreign, found).map(|path| Program(Command::new(path)))
}

/// A Python that has `a2s`.
pub fn python(test: &str) -> Option<Program> {
    let python = from_environment("NEARSIDE_PYTHON", "python/bin/python");
    let found = python.is_file().then_some(python);
    or_skip(test, "python-a2s", found).map(|path| Program(Command::new(path)))
}

/// A Python that has `ortools`.
pub fn python_with_ortools(test: &str) -> Option<Program> {
    let python = from_environment("NEARSIDE_PYTHON", "python/bin/python");
    let imports = Command::new(&python)
        .args(["-c", "import ortools"])
        .output();
    let found = imports.is_ok_and(|output| output.status.success());
    or_skip(test, "ortools", found.then_some(python)).map(|path| Program(Command::new(path)))
}

/// The folder of node modules that has `gamedig`.
pub fn node_modules(test: &str) -> Option<PathBuf> {
    node_module(test, "gamedig")
}

/// The folder of node modules that has a module of this name.
pub fn node_module(test: &str, name: &str) -> Option<PathBuf> {
    let folder = from_environment("NEARSIDE_NODE_MODULES", "node/node_modules");
    let found = folder.join(name).is_dir().then_some(folder);
    or_skip(test, name, found)
}

fn from_environment(variable: &str, otherwise: &str) -> PathBuf {
    std::env::var_os(variable).map_or_else(
        || {
            Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("../../target/foreign")
                .join(otherwise)
        },
        PathBuf::from,
    )
}

fn or_skip<T>(test: &str, foreign: &str, found: Option<T>) -> Option<T> {
    if found.is_none() {
        let excused = std::env::var("NEARSIDE_SKIP_FOREIGN").unwrap_or_default();
        assert!(
            excused.split(',').any(|name| name == foreign),
            "{foreign} is missing: run `cargo xtask setup`"
        );
        // Not eprintln!: the harness swallows that when the test passes.
        let _ = writeln!(std::io::stderr(), "SKIPPED {test}: {foreign} is missing");
    }
    found
}
