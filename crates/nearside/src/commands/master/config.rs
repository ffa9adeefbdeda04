//! Settings from a TOML file and flags; `nearside master config` writes them out.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use nearside_master::ServiceError;
use nearside_master::http::{Limits, Token};
use nearside_master::upstream::{FetchError, Place, SteamKey, Upstream};
use nearside_registry::{Ban, Settings};
use nearside_types::Prefix;
use serde::Deserialize;

use super::usual_store;
use crate::cli::MasterArgs;
use crate::origins::{BgpSection, Sources};

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
    pub(super) bgp: BgpSection,
    pub(super) http: Vec<SocketAddr>,
    pub(super) limits: Limits,
    /// Proxies whose `X-Forwarded-For` is believed.
    pub(super) trusted_proxies: Vec<Prefix>,
    pub(super) admin: Option<(SocketAddr, Token)>,
    pub(super) follow: Vec<Upstream>,
    /// Where bans are kept that requests make.
    pub(super) ban_file: Option<PathBuf>,
    /// The file all this was read from.
    pub(super) file: Option<PathBuf>,
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
    bgp: BgpSection,
    http: HttpSection,
    admin: AdminSection,
    follow: Vec<FollowSection>,
    ban_file: Option<PathBuf>,
    ban: Vec<Ban>,
}

/// The `[http]` section.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct HttpSection {
    listen: Vec<SocketAddr>,
    connections: usize,
    connections_per_network: usize,
    arrival_s: u64,
    lifetime_s: u64,
    trusted_proxies: Vec<Prefix>,
}

impl Default for HttpSection {
    fn default() -> Self {
        let limits = Limits::default();
        Self {
            listen: Vec::new(),
            connections: limits.connections,
            connections_per_network: limits.per_network,
            arrival_s: limits.arrival.as_secs(),
            lifetime_s: limits.lifetime.as_secs(),
            trusted_proxies: Vec::new(),
        }
    }
}

impl HttpSection {
    /// Nobody could be served with a limit of 0.
    fn limits(&self, registry: &Settings) -> Result<Limits> {
        let given = [
            ("connections", self.connections == 0),
            ("connections_per_network", self.connections_per_network == 0),
            ("arrival_s", self.arrival_s == 0),
            ("lifetime_s", self.lifetime_s == 0),
        ];
        if let Some((name, _)) = given.iter().find(|(_, is_none)| *is_none) {
            bail!("[http] {name} is 0, so nobody could be served; write at least 1");
        }
        Ok(Limits {
            connections: self.connections,
            per_network: self.connections_per_network,
            arrival: Duration::from_secs(self.arrival_s),
            lifetime: Duration::from_secs(self.lifetime_s),
            list_bytes_per_second: registry.list_bytes_per_second,
            ..Limits::default()
        })
    }
}

/// The `[admin]` section.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct AdminSection {
    listen: Option<SocketAddr>,
    token_file: Option<PathBuf>,
}

/// One `[[follow]]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct FollowSection {
    from: Place,
    name: Option<String>,
    #[serde(default = "usual_interval")]
    interval_s: u64,
    key_file: Option<PathBuf>,
}

const fn usual_interval() -> u64 {
    60
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
        let store = place(store.as_deref(), redis)?;
        let listen = listen.or(file.listen).unwrap_or_else(usual_addresses);
        if listen.is_empty() {
            return Err(ServiceError::Nowhere.into());
        }
        let ban_file = args.ban_file.clone().or(file.ban_file);
        let http = Some(args.http.clone()).filter(|http| !http.is_empty());
        Ok(Self {
            listen,
            ban_file: ban_file.or_else(|| store.ban_file()),
            store,
            limits: file.http.limits(&registry)?,
            registry,
            origins: file.origins,
            bgp: file.bgp,
            trusted_proxies: trusted_proxies(args, file.http.trusted_proxies)?,
            http: http.unwrap_or(file.http.listen),
            admin: admin(args, &file.admin)?,
            follow: follow(args, file.follow)?,
            file: args.config.clone(),
            bans: file.ban,
        })
    }

    /// The bans of the configuration itself.
    pub(super) fn bans(&self) -> impl Iterator<Item = &Ban> {
        self.bans.iter()
    }

    /// What differs from a configuration that runs and cannot change while it does.
    pub(super) fn needs_restart(&self, running: &Self) -> impl Iterator<Item = &'static str> {
        let parts = [
            ("listen", self.listen == running.listen),
            ("store", self.store == running.store),
            ("origins", self.origins == running.origins),
            ("bgp", self.bgp == running.bgp),
            (
                "http",
                self.http == running.http
                    && self.limits == running.limits
                    && self.trusted_proxies == running.trusted_proxies,
            ),
            ("admin", self.admin == running.admin),
            ("follow", self.follow == running.follow),
        ];
        let changed = parts.into_iter().filter(|(_, is_same)| !is_same);
        changed.map(|(name, _)| name)
    }

    /// What runs, with what another configuration says of that which can change.
    pub(super) fn with_changes_of(&self, other: Self) -> Self {
        Self {
            registry: other.registry,
            bans: other.bans,
            ban_file: other.ban_file,
            ..self.clone()
        }
    }

    /// A file with every setting, its default and what it means.
    pub(super) fn explained() -> String {
        let listen: Vec<String> = usual_addresses()
            .iter()
            .map(|addr| format!("\"{addr}\""))
            .collect();
        let settings = Settings::default();
        let limits = Limits::default();
        format!(
            "# Settings of `nearside master`, with their defaults.

# UDP addresses, at least one; each speaks the protocols of all games.
listen = [{}]

# Where servers are kept: a file, \"none\" for memory only, or \"redis\" for a Redis Cluster that
# several masters share. Without this line it is nearside/master.redb in the user's data directory.
# store = \"master.redb\"
# Nodes of the cluster, for \"redis\"; HOST:PORT or redis://USER:PASSWORD@HOST:PORT.
redis = []
# ban_file = \"bans.toml\"

[registry]
# Seconds after which a server that is not heard of is taken off the lists.
timeout_s = {}
# Servers in all; further ones are refused, and no registered one makes way.
servers = {}
# Servers on one address (as many again that other masters list), and in one IPv4 /24 or IPv6 /48.
servers_per_address = {}
servers_per_network = {}
# Servers in one AS; without this line there is no cap.
# servers_per_as = 5000
# Addresses, networks and ASes without caps.
uncapped = []
# Bytes a second for old clients that cannot repeat a cookie, for each /24 or /48. Above 0 anybody
# can have so many bytes sent to a victim: keep it at 0 on the open Internet. Ten seconds' worth can
# be saved up, and a list that is longer than that is never sent.
legacy_bytes_per_second = {}
# Bytes a second of lists to clients that repeat their cookie, for each /24 or /48 that is not
# uncapped; ten seconds' worth can be saved up. When neighbours have spent it, each address (or IPv6
# /56) has a tenth of it for itself, and one list may be longer than what is left. The same again for lists
# with a filter over HTTP, uncapped or not.
list_bytes_per_second = {}
# Bytes a second of challenges to GoldSource servers, for each /24 or /48.
join_challenge_bytes_per_second = {}
# Bytes a second of challenges to addresses that HTTP requests name, for each /24 or /48 that asks.
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

# A live table from BGP neighbours, as `nearside origin listen` keeps it: see docs/origin.md.
# [bgp]
# listen = \"127.0.0.1:1790\"
# [[bgp.neighbour]]
# addr = \"192.0.2.1\"
# asn = 64501

# Lists, registration and a status page for everybody.
[http]
# TCP addresses; none turns it off. [::] is IPv6 alone: name 0.0.0.0 too.
listen = []
# Connections at the same time, and of those from one IPv4 /24 or IPv6 /48.
connections = {}
connections_per_network = {}
# Seconds that the head or body of a request may take to arrive, and that a connection may last.
arrival_s = {}
lifetime_s = {}
# Networks of proxies in front, as [\"127.0.0.1/32\"]. Only behind those the last address of
# X-Forwarded-For that is none of theirs counts as the visitor's.
trusted_proxies = []

# The operator's side, on loopback, for requests with `Authorization: Bearer` and the token that is
# in this file or in the variable NEARSIDE_MASTER_ADMIN_TOKEN: 16 characters or more, as `openssl
# rand -hex 16` makes them.
[admin]
# listen = \"127.0.0.1:8081\"
# token_file = \"token\"

# Masters whose lists are merged into this one's. `from` is http://HOST:PORT for a nearside master,
# steam://HOST:PORT/FILTER, quake3://HOST:PORT/GAME/PROTOCOL, steam-web:FILTER, the URL of a JSON
# document, or a file. The key of steam-web is in key_file or in NEARSIDE_STEAM_KEY. `name` is what
# everybody reads on lists and pages; without it, `from` without user, password, query and folders.
# [[follow]]
# from = \"http://other.example:8080\"
# name = \"other\"
# interval_s = 60

# Bans, each with a reason that the server's operator is told. They are read again when this file
# changes. Those made over HTTP are in ban_file, by default bans.toml beside the
# embedded store, or where that would be.
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
            settings.list_bytes_per_second,
            settings.join_challenge_bytes_per_second,
            settings.claim_challenge_bytes_per_second,
            settings.followed_servers,
            settings.lan,
            limits.connections,
            limits.per_network,
            limits.arrival.as_secs(),
            limits.lifetime.as_secs(),
        )
    }
}

impl StorePlace {
    /// Where bans are kept unless said otherwise.
    fn ban_file(&self) -> Option<PathBuf> {
        match self {
            Self::File(path) => Some(path.with_file_name("bans.toml")),
            Self::Redis(_) => usual_store().map(|store| store.with_file_name("bans.toml")),
            Self::Nowhere => None,
        }
    }
}

/// Who believes everybody believes whatever visitors write about themselves.
fn trusted_proxies(args: &MasterArgs, filed: Vec<Prefix>) -> Result<Vec<Prefix>> {
    let proxies = match args.trusted_proxies.is_empty() {
        true => filed,
        false => args.trusted_proxies.clone(),
    };
    match proxies.iter().find(|network| network.length() == 0) {
        Some(all) => bail!(
            "trusted_proxies: {all} is everybody, so any visitor could pretend to be another; name \
             the networks of your proxies, as 127.0.0.1/32"
        ),
        None => Ok(proxies),
    }
}

/// The operator's side, if there is to be one; it must have a token.
fn admin(args: &MasterArgs, section: &AdminSection) -> Result<Option<(SocketAddr, Token)>> {
    let Some(listen) = args.admin.or(section.listen) else {
        return Ok(None);
    };
    let file = args
        .admin_token_file
        .as_ref()
        .or(section.token_file.as_ref());
    let text = match (std::env::var("NEARSIDE_MASTER_ADMIN_TOKEN"), file) {
        (Ok(token), _) => token,
        (Err(_), Some(path)) => secret(path)?,
        (Err(_), None) => bail!(
            "the operator's side needs a token: name a file with --admin-token-file, or set NEARSIDE_MASTER_ADMIN_TOKEN"
        ),
    };
    let token = Token::new(&text).context(
        "the operator's token is shorter than 16 characters: `openssl rand -hex 16` makes a good one",
    )?;
    Ok(Some((listen, token)))
}

fn follow(args: &MasterArgs, sections: Vec<FollowSection>) -> Result<Vec<Upstream>> {
    let usual_key = steam_key(args.steam_key_file.as_deref())?;
    let named = args.follow.iter().map(|place| FollowSection {
        from: place.clone(),
        name: None,
        interval_s: usual_interval(),
        key_file: None,
    });
    let upstream = |section: FollowSection| {
        let key = section.key_file.as_deref().map(secret).transpose()?;
        let key = key.as_deref().and_then(SteamKey::new).or(usual_key.clone());
        if matches!(section.from, Place::SteamWeb { .. }) && key.is_none() {
            return Err(FetchError::NoKey.into());
        }
        if section.interval_s == 0 {
            bail!(
                "follow: interval_s of {} is 0; write 1 or more",
                section.from.public_name()
            );
        }
        Ok(Upstream {
            name: section.name.unwrap_or_else(|| section.from.public_name()),
            place: section.from,
            interval: Duration::from_secs(section.interval_s),
            key,
        })
    };
    named.chain(sections).map(upstream).collect()
}

/// The user's key of Steam's Web API: from a file, or from the environment.
pub(in crate::commands) fn steam_key(file: Option<&Path>) -> Result<Option<SteamKey>> {
    let text = match file {
        Some(path) => Some(secret(path)?),
        None => std::env::var("NEARSIDE_STEAM_KEY").ok(),
    };
    Ok(text.as_deref().and_then(SteamKey::new))
}

fn secret(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
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
    let here = |path: PathBuf| folder.join(path);
    let follow = file.follow.into_iter().map(|section| FollowSection {
        from: match section.from {
            Place::File { path } => Place::File { path: here(path) },
            other => other,
        },
        key_file: section.key_file.map(here),
        ..section
    });
    Ok(File {
        store: file.store.map(seen_from),
        origins: file.origins.seen_from(folder),
        bgp: file
            .bgp
            .seen_from(folder)
            .with_context(|| name.to_string())?,
        admin: AdminSection {
            token_file: file.admin.token_file.map(here),
            ..file.admin
        },
        ban_file: file.ban_file.map(here),
        follow: follow.collect(),
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
        assert_eq!(file.http, HttpSection::default());
        assert_eq!(file.admin, AdminSection::default());
        assert_eq!(file.bgp, BgpSection::default());
        assert!(file.ban.is_empty() && file.store.is_none() && file.follow.is_empty());
    }
}
