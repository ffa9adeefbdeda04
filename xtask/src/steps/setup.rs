//! Brings the foreign programs that tests talk to: Debian packages when we may, and pinned Python
//! and Node packages inside `target/foreign`. What cannot be had is named, and its tests skip.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::foreign::{self, Foreign};
use crate::failure::Failure;
use crate::process;
use crate::report::{Outcome, Skip};
use crate::workspace::Workspace;

pub(crate) fn run(workspace: &Workspace) -> Result<Outcome, Failure> {
    // A machine without network or rights still runs all other tests: failures become reasons.
    let packages = install_packages(workspace);
    let mut skips = Vec::new();
    for foreign in Foreign::ALL {
        let result = provide(foreign, &packages, workspace);
        if foreign.is_present(workspace) {
            println!("ready    {}", foreign.name());
        } else {
            println!("missing  {}", foreign.name());
            skips.push(skip(foreign, result.err().as_ref()));
        }
    }
    let (all, missing) = (Foreign::ALL.len(), skips.len());
    let remark = format!("{} of {all} foreign programs", all - missing);
    Ok(Outcome::Passed { remark, skips })
}

/// A failed package stops only what needs that package: gamedig does not wait for qstat.
fn provide(
    foreign: Foreign,
    packages: &Result<(), Failure>,
    workspace: &Workspace,
) -> Result<(), Failure> {
    if foreign.is_present(workspace) {
        Ok(())
    } else if foreign.missing_packages().is_empty() {
        install(foreign, workspace)
    } else {
        packages.clone()
    }
}

fn skip(foreign: Foreign, failure: Option<&Failure>) -> Skip {
    let name = format!("tests that need {}", foreign.name());
    let reason = failure.map_or_else(|| "not installed".to_owned(), Failure::in_one_line);
    Skip { name, reason }
}

/// One `apt-get update`, then everything that is missing in one go.
fn install_packages(workspace: &Workspace) -> Result<(), Failure> {
    let packages: Vec<&str> = Foreign::ALL
        .iter()
        .flat_map(|foreign| foreign.missing_packages().iter().copied())
        .collect();
    if packages.is_empty() {
        return Ok(());
    }
    if foreign::find("apt-get").is_none() || !is_root() {
        return Err(Failure::new(
            format!("Debian packages are missing: {}", packages.join(" ")),
            "install them, or run as root on Debian",
        ));
    }
    let _no_daemons = ServicePolicy::deny()?;
    process::run(apt(workspace).arg("update"))?;
    let mut install = apt(workspace);
    install.args(["install", "--yes", "--no-install-recommends"]);
    process::run(install.args(&packages))
}

fn apt(workspace: &Workspace) -> Command {
    let mut command = workspace.command("apt-get");
    command
        .env("DEBIAN_FRONTEND", "noninteractive")
        .arg("--quiet");
    command
}

fn is_root() -> bool {
    process::output(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0")
}

fn install(foreign: Foreign, workspace: &Workspace) -> Result<(), Failure> {
    match foreign {
        Foreign::PythonA2s => install_python(workspace, "python-a2s", foreign::PYTHON_A2S),
        Foreign::OrTools => install_python(workspace, "ortools", foreign::OR_TOOLS),
        Foreign::Gamedig => install_node(workspace, "gamedig", foreign::GAMEDIG),
        Foreign::SteamServerQuery => {
            install_node(workspace, "steam-server-query", foreign::STEAM_SERVER_QUERY)
        }
        // Debian brings these or nobody does.
        Foreign::Quakestat
        | Foreign::OpenArena
        | Foreign::Ip
        | Foreign::Nftables
        | Foreign::Tmux
        | Foreign::Bird
        | Foreign::ExaBgp
        | Foreign::Chromium
        | Foreign::Redis
        | Foreign::Nexuiz
        | Foreign::Socat
        | Foreign::Nginx => Ok(()),
    }
}

/// Into one environment for all; making it again changes nothing.
fn install_python(workspace: &Workspace, package: &str, version: &str) -> Result<(), Failure> {
    let folder = workspace.foreign().join("python");
    process::run(
        workspace
            .command("python3")
            .args(["-m", "venv"])
            .arg(&folder),
    )?;
    let pinned = format!("{package}=={version}");
    let mut pip = workspace.command(foreign::python(workspace));
    process::run(pip.args(["-m", "pip", "install", "--quiet", &pinned]))
}

fn install_node(workspace: &Workspace, package: &str, version: &str) -> Result<(), Failure> {
    let folder = workspace.foreign().join("node");
    fs::create_dir_all(&folder)
        .map_err(|error| Failure::from_io(format_args!("make {}", folder.display()), &error))?;
    let pinned = format!("{package}@{version}");
    let quietly = ["--no-audit", "--no-fund", "--ignore-scripts"];
    let mut npm = workspace.command("npm");
    npm.args(["install", "--prefix"]).arg(&folder).args(quietly);
    process::run(npm.arg(pinned))
}

/// Denies package scripts to start services while it lives: openarena-server comes with one.
/// The file and its exit code 101 are Debian's convention, see `invoke-rc.d(8)`.
struct ServicePolicy {
    written: Option<PathBuf>,
}

impl ServicePolicy {
    const FILE: &str = "/usr/sbin/policy-rc.d";

    /// Leaves a policy alone that somebody else has set.
    fn deny() -> Result<Self, Failure> {
        let file = Path::new(Self::FILE);
        if file.exists() {
            return Ok(Self { written: None });
        }
        write_script(file, "#!/bin/sh\nexit 101\n")
            .map_err(|error| Failure::from_io(format_args!("write {}", Self::FILE), &error))?;
        let written = Some(file.to_path_buf());
        Ok(Self { written })
    }
}

impl Drop for ServicePolicy {
    fn drop(&mut self) {
        let Some(file) = &self.written else { return };
        if let Err(error) = fs::remove_file(file) {
            eprintln!("{} is left behind: {error}", file.display());
        }
    }
}

fn write_script(file: &Path, text: &str) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::write(file, text)?;
    fs::set_permissions(file, fs::Permissions::from_mode(0o755))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named_and_explained_in_one_line() {
        let failure = Failure::new("npm ended badly\nlong story", "plug it in");
        let skipped = skip(Foreign::Gamedig, Some(&failure));
        assert_eq!(skipped.name, "tests that need gamedig");
        assert_eq!(skipped.reason, "npm ended badly (plug it in)");
        assert_eq!(skip(Foreign::Ip, None).reason, "not installed");
    }

    #[test]
    fn scripts_can_be_run() {
        let file = std::env::temp_dir().join(format!("nearside-xtask-{}", std::process::id()));
        write_script(&file, "#!/bin/sh\nexit 101\n").unwrap();
        let status = Command::new("sh").arg(&file).status().unwrap();
        let policy = ServicePolicy {
            written: Some(file.clone()),
        };
        assert_eq!(status.code(), Some(101));
        drop(policy);
        assert!(!file.exists());
    }
}
