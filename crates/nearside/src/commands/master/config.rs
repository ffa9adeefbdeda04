//! Settings from a TOML file and flags; `nearside master config` writes them out.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use nearside_registry::{Ban, Bans, Settings};
use serde::Deserialize;

use super::usual_store;
use crate::cli::MasterArgs;
use crate::origins::Sources;

/// Where servers are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum StorePlace {
    /// In memory only.
    Nowhere,
    /// In this file.
    File(PathBuf),
    /// In a Redis Cluster with these nodes.
    Redis(Vec<String>),
}

/// Everything an operator decides.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct MasterConfig {
    pub(super) listen: Vec<SocketAddr>,
    pub(super) store: StorePlace,
    pub(super) registry: Settings,
    pub(super) origins: Sources,
    bans: Vec<Ban>,
}

/// The file.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct File {
    listen: Option<Vec<SocketAddr>>,
    store: Option<String>,
    redis: Vec<String>,
    registry: Settings,
    origins: Sources,
    ban: Vec<Ban>,
}

/// The ports games expect: 27950 for the Quake 3 family, 27011 for Source.
fn usual_addresses() -> Vec<SocketAddr> {
    let ports = [27950, 27011];
    let v4 = ports.map(|port| SocketAddr::from((Ipv4Addr::UNSPECIFIED, port)));
    let v6 = ports.map(|port| SocketAddr::from((Ipv6Addr::UNSPECIFIED, port)));
    [v4, v6].concat()
}

impl MasterConfig {
    /// Flags before the file, the file before the defaults.
    pub(super) fn resolve(args: &MasterArgs) -> Result<Self> {
        let file = args.config.as_deref().map(read).transpose()?;
        let file = file.unwrap_or_default();
        let listen = Some(args.listen.clone()).filter(|listen| !listen.is_empty());
        let store = args.store.clone().or(file.store);
        let redis = match args.redis.is_empty() {
            true => file.redis,
            false => args.redis.clone(),
        };
        let mut registry = file.registry;
        registry.lan |= args.lan;
        if let Some(legacy) = args.legacy {
            registry.legacy_bytes_per_second = legacy;
        }
        Ok(Self {
            listen: listen.or(file.listen).unwrap_or_else(usual_addresses),
            store: place(store.as_deref(), redis)?,
            registry,
            origins: file.origins,
            bans: file.ban,
        })
    }

    pub(super) fn bans(&self) -> Bans {
        Bans::new(self.bans.iter().cloned())
    }

    /// A file with every setting, its default and what it means.
    pub(super) fn explained() -> String {
        let listen: Vec<String> = usual_addresses()
            .iter()
            .map(|addr| format!("\"{addr}\""))
            .collect();
        let settings = Settings::default();
        format!(
            "# Settings of `nearside master`, with their defaults.

# UDP addresses; each speaks the protocols of all games.
listen = [{}]

# Where servers are kept: a file, \"none\" for memory only, or \"redis\" for a Redis Cluster that
# several masters share. Without this line it is nearside/master.redb in the user's data directory.
# store = \"master.redb\"
# Nodes of the cluster, for \"redis\"; HOST:PORT or redis://USER:PASSWORD@HOST:PORT.
redis = []

[registry]
# Seconds after which a server that is not heard of is taken off the lists.
timeout_s = {}
# Servers in all; further ones are refused, and no registered one makes way.
servers = {}
# Servers on one address, and in one IPv4 /24 or IPv6 /48.
servers_per_address = {}
servers_per_network = {}
# Servers in one AS; without this line there is no cap.
# servers_per_as = 5000
# Addresses, networks and ASes without caps.
uncapped = []
# Bytes a second for old clients that cannot repeat a cookie, for each /24 or /48. Above 0 anybody
# can have so many bytes sent to a victim: keep it at 0 on the open Internet.
legacy_bytes_per_second = {}
# Bytes a second of challenges to GoldSource servers, for each /24 or /48.
join_challenge_bytes_per_second = {}
# Bytes a second of challenges to addresses that HTTP requests name, for each /24 or /48.
claim_challenge_bytes_per_second = {}
# Servers of other masters in all; further ones are left out.
followed_servers = {}
# Whether servers on loopback and in private networks are listed.
lan = {}

# Where addresses come from; see docs/origin.md. Paths are meant from where this file stands.
[origins]
overrides = []
mrt = []
tables = []
folders = true
embedded = true

# Bans, each with a reason that the server's operator is told. They hold from the next start.
# [[ban]]
# target = \"192.0.2.0/24\"
# reason = \"fake players\"
",
            listen.join(", "),
            settings.timeout_s,
            settings.servers,
            settings.servers_per_address,
            settings.servers_per_network,
            settings.legacy_bytes_per_second,
            settings.join_challenge_bytes_per_second,
            settings.claim_challenge_bytes_per_second,
            settings.followed_servers,
            settings.lan,
        )
    }
}

fn place(store: Option<&str>, redis: Vec<String>) -> Result<StorePlace> {
    match store {
        Some("redis") if redis.is_empty() => bail!(
            "--store redis needs to know where the cluster is; use --redis HOST:PORT,HOST:PORT"
        ),
        Some("redis") => Ok(StorePlace::Redis(redis)),
        _ if !redis.is_empty() => bail!("--redis names a cluster, but --store is not redis"),
        Some("none") => Ok(StorePlace::Nowhere),
        Some(path) => Ok(StorePlace::File(path.into())),
        None => usual_store().map(StorePlace::File).context(
            "there is no home directory to keep servers in; use --store FILE or --store none",
        ),
    }
}

fn read(path: &Path) -> Result<File> {
    let name = path.display();
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {name}"))?;
    let file: File = toml::from_str(&text).with_context(|| name.to_string())?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let seen_from = |place: String| match place.as_str() {
        "none" | "redis" => place,
        path => folder.join(path).display().to_string(),
    };
    Ok(File {
        store: file.store.map(seen_from),
        origins: file.origins.seen_from(folder),
        ..file
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_explained_file_says_the_defaults() {
        let file: File = toml::from_str(&MasterConfig::explained()).unwrap();
        assert_eq!(file.listen, Some(usual_addresses()));
        assert_eq!(file.registry, Settings::default());
        assert_eq!(file.origins, Sources::default());
        assert!(file.ban.is_empty() && file.store.is_none());
    }
}
