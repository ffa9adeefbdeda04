//! Where things are: the repository, its crates, the build output.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::Failure;

/// The checkout that `cargo xtask` was called in.
#[derive(Debug, Clone)]
pub(crate) struct Workspace {
    root: PathBuf,
}

impl Workspace {
    /// Cargo tells a running package where its manifest is; ours lies one folder below the root.
    pub(crate) fn find() -> Self {
        let manifest = std::env::var_os("CARGO_MANIFEST_DIR")
            .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
        let root = manifest.parent().unwrap_or(&manifest).to_path_buf();
        Self { root }
    }

    pub(crate) fn path(&self, relative: impl AsRef<Path>) -> PathBuf {
        self.root.join(relative)
    }

    /// Cargo's output folder, wherever the environment moved it.
    pub(crate) fn target(&self) -> PathBuf {
        let moved = std::env::var_os("CARGO_TARGET_DIR");
        self.path(moved.unwrap_or_else(|| "target".into()))
    }

    /// Foreign programs live at one fixed place, so that a test run by hand finds them as well.
    pub(crate) fn foreign(&self) -> PathBuf {
        self.path("target/foreign")
    }

    /// A command that runs in the repository root.
    pub(crate) fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        command.current_dir(&self.root);
        command
    }

    pub(crate) fn cargo<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> Command {
        let mut command = self.command("cargo");
        command.args(arguments);
        // A machine that builds once writes several gigabytes for a second build that never comes.
        if std::env::var_os("CI").is_some() {
            command.env("CARGO_INCREMENTAL", "0");
        }
        command
    }

    /// The names of the folders in `crates/`, which are the names of the crates.
    pub(crate) fn crates(&self) -> Result<Vec<String>, Failure> {
        let names = self
            .files("crates")?
            .into_iter()
            .filter(|folder| folder.join("Cargo.toml").is_file())
            .filter_map(|folder| Some(folder.file_name()?.to_str()?.to_owned()));
        Ok(names.collect())
    }

    /// What a folder contains, in the order of names.
    pub(crate) fn files(&self, folder: impl AsRef<Path>) -> Result<Vec<PathBuf>, Failure> {
        let folder = self.path(folder);
        let refused = |error: &std::io::Error| {
            Failure::from_io(format_args!("list {}", folder.display()), error)
        };
        let mut found = Vec::new();
        for entry in fs::read_dir(&folder).map_err(|error| refused(&error))? {
            found.push(entry.map_err(|error| refused(&error))?.path());
        }
        found.sort();
        Ok(found)
    }

    pub(crate) fn read(&self, file: impl AsRef<Path>) -> Result<String, Failure> {
        let file = self.path(file);
        fs::read_to_string(&file)
            .map_err(|error| Failure::from_io(format_args!("read {}", file.display()), &error))
    }
}

/// The paths that end in `.extension`.
pub(crate) fn with_extension(paths: Vec<PathBuf>, extension: &str) -> Vec<PathBuf> {
    let mut paths = paths;
    paths.retain(|path| path.extension().is_some_and(|found| found == extension));
    paths
}

/// `name` of `some/folder/name.ext`.
pub(crate) fn stem(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or(path.as_os_str());
    stem.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_crates_of_this_checkout() {
        let crates = Workspace::find().crates().unwrap();
        assert!(crates.contains(&"nearside-types".to_owned()), "{crates:?}");
        assert!(!crates.contains(&"xtask".to_owned()), "{crates:?}");
    }

    #[test]
    fn names_what_cannot_be_read() {
        let failure = Workspace::find().read("no/such/file").unwrap_err();
        assert!(failure.to_string().contains("no/such/file"), "{failure}");
    }
}
