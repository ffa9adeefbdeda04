//! Who somebody is, in a file that nobody else can read.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use nearside_tunnel::crypto::{Chance, Identity};

/// The identity in a file; made anew, for its owner's eyes only, if there is none. Says whether it was.
pub(super) fn open(path: &Path) -> Result<(Identity, bool)> {
    match std::fs::read_to_string(path) {
        Ok(text) => {
            refuse_if_others_can_read(path)?;
            let identity = Identity::from_text(&text);
            let identity = identity.with_context(|| path.display().to_string())?;
            Ok((identity, false))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok((create(path)?, true)),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}

/// An identity for one run.
pub(super) fn fleeting() -> Result<Identity> {
    Ok(Identity::generate(&mut Chance::from_seed(seed()?)))
}

/// Bytes that nobody can guess.
pub(super) fn seed() -> Result<[u8; 32]> {
    let mut seed = [0; 32];
    getrandom::fill(&mut seed).context("the system gives no random numbers")?;
    Ok(seed)
}

/// A file of this name in the user's data directory.
pub(super) fn usual(name: &str) -> Option<PathBuf> {
    let data = crate::origins::folder_of("XDG_DATA_HOME", ".local/share")?;
    Some(data.join("nearside").join(name))
}

fn create(path: &Path) -> Result<Identity> {
    let identity = Identity::generate(&mut Chance::from_seed(seed()?));
    if let Some(folder) = path.parent() {
        let made = std::fs::create_dir_all(folder);
        made.with_context(|| format!("cannot make {}", folder.display()))?;
    }
    let cannot = || format!("cannot write {}", path.display());
    let mut file = for_owner(path).with_context(cannot)?;
    let text = identity.to_text();
    file.write_all(format!("{}\n", *text).as_bytes())
        .and_then(|()| file.sync_all())
        .with_context(cannot)?;
    Ok(identity)
}

/// A new file; one that is there already is somebody's identity and stays.
fn for_owner(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

#[cfg(unix)]
fn refuse_if_others_can_read(path: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::metadata(path)?.permissions().mode();
    if mode & 0o077 != 0 {
        let path = path.display();
        bail!("{path} is a secret that others on this machine can read: `chmod 600 {path}`");
    }
    Ok(())
}

#[cfg(not(unix))]
fn refuse_if_others_can_read(_path: &Path) -> Result<()> {
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn an_identity_is_made_once_for_its_owner_alone() {
        let folder = std::env::temp_dir().join(format!("nearside-identity-{}", std::process::id()));
        let path = folder.join("deep").join("some.key");
        let (first, is_new) = open(&path).unwrap();
        assert!(is_new);
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode(&path) & 0o777, 0o600);
        let (again, is_new) = open(&path).unwrap();
        assert_eq!((again.public(), is_new), (first.public(), false));
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).unwrap();
        assert!(open(&path).unwrap_err().to_string().contains("chmod 600"));
        std::fs::remove_dir_all(folder).unwrap();
    }
}
