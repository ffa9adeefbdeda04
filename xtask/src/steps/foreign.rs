//! The programs nobody here wrote: what tests call them, whether they are here, and the environment
//! by which tests learn about it (the convention is in docs/testing.md).

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process;
use crate::workspace::Workspace;

/// A judge of our work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Foreign {
    Quakestat,
    OpenArena,
    Ip,
    Nftables,
    Tmux,
    Bird,
    ExaBgp,
    Chromium,
    Redis,
    Nexuiz,
    Socat,
    Nginx,
    PythonA2s,
    OrTools,
    Gamedig,
    SteamServerQuery,
}

/// Pinned, so that a verdict changes only when we change something.
pub(crate) const PYTHON_A2S: &str = "1.4.2";
pub(crate) const OR_TOOLS: &str = "9.15.6755";
pub(crate) const GAMEDIG: &str = "5.3.3";
pub(crate) const STEAM_SERVER_QUERY: &str = "1.1.3";

/// Debian puts games and system tools where the PATH of a service does not look.
const MORE_FOLDERS: [&str; 3] = ["/usr/games", "/usr/sbin", "/sbin"];

impl Foreign {
    pub(crate) const ALL: [Self; 16] = [
        Self::Quakestat,
        Self::OpenArena,
        Self::Ip,
        Self::Nftables,
        Self::Tmux,
        Self::Bird,
        Self::ExaBgp,
        Self::Chromium,
        Self::Redis,
        Self::Nexuiz,
        Self::Socat,
        Self::Nginx,
        Self::PythonA2s,
        Self::OrTools,
        Self::Gamedig,
        Self::SteamServerQuery,
    ];

    /// The word that stands in `NEARSIDE_SKIP_FOREIGN`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Quakestat => "quakestat",
            Self::OpenArena => "openarena",
            Self::Ip => "ip",
            Self::Nftables => "nftables",
            Self::Tmux => "tmux",
            Self::Bird => "bird",
            Self::ExaBgp => "exabgp",
            Self::Chromium => "chromium",
            Self::Redis => "redis",
            Self::Nexuiz => "nexuiz",
            Self::Socat => "socat",
            Self::Nginx => "nginx",
            Self::PythonA2s => "python-a2s",
            Self::OrTools => "ortools",
            Self::Gamedig => "gamedig",
            Self::SteamServerQuery => "steam-server-query",
        }
    }

    pub(crate) fn is_present(self, workspace: &Workspace) -> bool {
        match self {
            Self::Quakestat => find("quakestat").is_some(),
            Self::OpenArena => find("openarena-server").is_some(),
            Self::Ip => find("ip").is_some(),
            Self::Nftables => find("nft").is_some(),
            Self::Tmux => find("tmux").is_some(),
            Self::Bird => find("bird").is_some(),
            Self::ExaBgp => find("exabgp").is_some(),
            Self::Chromium => has_chromium(),
            Self::Redis => has_redis(),
            Self::Nexuiz => find("nexuiz-server").is_some(),
            Self::Socat => find("socat").is_some(),
            Self::Nginx => has_nginx(),
            Self::PythonA2s => has_python(workspace, "python-a2s", PYTHON_A2S),
            Self::OrTools => has_python(workspace, "ortools", OR_TOOLS),
            Self::Gamedig => has_node(workspace, "gamedig", GAMEDIG),
            Self::SteamServerQuery => has_node(workspace, "steam-server-query", STEAM_SERVER_QUERY),
        }
    }

    /// What Debian has to bring before this one can be used or installed.
    pub(crate) fn missing_packages(self) -> &'static [&'static str] {
        let (here, packages): (bool, &[&str]) = match self {
            Self::Quakestat => (find("quakestat").is_some(), &["qstat"]),
            Self::OpenArena => (find("openarena-server").is_some(), &["openarena-server"]),
            Self::Ip => (find("ip").is_some(), &["iproute2"]),
            Self::Nftables => (find("nft").is_some(), &["nftables"]),
            Self::Tmux => (find("tmux").is_some(), &["tmux"]),
            Self::Bird => (find("bird").is_some(), &["bird2"]),
            Self::ExaBgp => (find("exabgp").is_some(), &["exabgp"]),
            Self::Chromium => (has_chromium(), &["chromium"]),
            Self::Redis => (has_redis(), &["redis-server"]),
            Self::Nexuiz => (find("nexuiz-server").is_some(), &["nexuiz-server"]),
            Self::Socat => (find("socat").is_some(), &["socat"]),
            Self::Nginx => (has_nginx(), &["nginx", "libnginx-mod-stream"]),
            Self::PythonA2s | Self::OrTools => (can_make_venv(), &["python3", "python3-venv"]),
            // Only when there is no node: a newer one from elsewhere brings an npm of its own.
            Self::Gamedig | Self::SteamServerQuery => (find("node").is_some(), &["nodejs", "npm"]),
        };
        if here { &[] } else { packages }
    }
}

/// Those that are not here.
pub(crate) fn missing(workspace: &Workspace) -> Vec<Foreign> {
    let absent = |foreign: &Foreign| !foreign.is_present(workspace);
    Foreign::ALL.into_iter().filter(absent).collect()
}

/// Tells tests where foreign programs are and which ones they may do without.
pub(crate) fn tell<'a>(command: &'a mut Command, workspace: &Workspace) -> &'a mut Command {
    let names: Vec<&str> = missing(workspace).into_iter().map(Foreign::name).collect();
    command
        .env("NEARSIDE_SKIP_FOREIGN", names.join(","))
        .env("NEARSIDE_PYTHON", python(workspace))
        .env("NEARSIDE_NODE_MODULES", node_modules(workspace))
        .env("PATH", search_path(&[]))
}

/// The interpreter that has `a2s` and `ortools`.
pub(crate) fn python(workspace: &Workspace) -> PathBuf {
    workspace.foreign().join("python/bin/python")
}

/// The folder that has `gamedig` and `steam-server-query`.
pub(crate) fn node_modules(workspace: &Workspace) -> PathBuf {
    workspace.foreign().join("node/node_modules")
}

/// PATH with `first` before it and the folders of games and system tools after it.
pub(crate) fn search_path(first: &[PathBuf]) -> OsString {
    let usual = std::env::var_os("PATH").unwrap_or_default();
    let folders = first
        .iter()
        .cloned()
        .chain(std::env::split_paths(&usual))
        .chain(MORE_FOLDERS.map(PathBuf::from));
    std::env::join_paths(folders).unwrap_or(usual)
}

/// Where a program is, if it is anywhere.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    let folders = search_path(&[]);
    let candidates = std::env::split_paths(&folders).map(|folder| folder.join(program));
    candidates.into_iter().find(|path| is_executable(path))
}

fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    let metadata = std::fs::metadata(path);
    metadata.is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// Debian's name first; the same browser has others elsewhere.
fn has_chromium() -> bool {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    names.into_iter().any(|name| find(name).is_some())
}

/// The server, and the client that joins nodes to a cluster (Debian brings it along).
fn has_redis() -> bool {
    find("redis-server").is_some() && find("redis-cli").is_some()
}

/// The server, and the module that forwards UDP, which Debian packs by itself.
fn has_nginx() -> bool {
    let module = Path::new("/usr/lib/nginx/modules/ngx_stream_module.so");
    find("nginx").is_some() && module.exists()
}

fn can_make_venv() -> bool {
    process::succeeds(Command::new("python3").args(["-c", "import venv, ensurepip"]))
}

fn has_python(workspace: &Workspace, package: &str, pinned: &str) -> bool {
    let script = "import sys, importlib.metadata as m; print(m.version(sys.argv[1]))";
    let mut python = Command::new(python(workspace));
    let version = process::output(python.args(["-c", script, package]));
    version.is_ok_and(|version| version.trim() == pinned)
}

fn has_node(workspace: &Workspace, package: &str, pinned: &str) -> bool {
    let manifest = node_modules(workspace).join(package).join("package.json");
    let version = format!("\"version\": \"{pinned}\"");
    let text = std::fs::read_to_string(manifest);
    find("node").is_some() && text.is_ok_and(|text| text.contains(&version))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_by_name_only_when_they_exist() {
        assert!(find("sh").is_some());
        assert_eq!(find("no-such-program"), None);
    }

    #[test]
    fn a_file_that_cannot_run_is_no_program() {
        assert!(!is_executable(Path::new(env!("CARGO_MANIFEST_DIR"))));
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
        assert!(manifest.is_file() && !is_executable(&manifest));
    }

    #[test]
    fn tests_are_told_where_to_look() {
        let workspace = Workspace::find();
        let mut command = Command::new("true");
        tell(&mut command, &workspace);
        let variables: Vec<_> = command
            .get_envs()
            .map(|(name, _)| name.to_owned())
            .collect();
        for name in [
            "NEARSIDE_SKIP_FOREIGN",
            "NEARSIDE_PYTHON",
            "NEARSIDE_NODE_MODULES",
            "PATH",
        ] {
            assert!(variables.contains(&name.into()), "{name} of {variables:?}");
        }
    }

    #[test]
    fn our_folder_comes_first_on_the_path() {
        let path = search_path(&[PathBuf::from("/ours")]);
        let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
        assert_eq!(folders.first(), Some(&PathBuf::from("/ours")));
        assert!(folders.contains(&PathBuf::from("/usr/games")));
    }
}
