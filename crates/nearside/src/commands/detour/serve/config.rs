//! Settings from a TOML file and flags; `nearside detour serve --print-config` writes them out.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use nearside_detour::DirectoryConfig;
use nearside_directory::http::{HttpConfig, Token};
use nearside_tunnel::service::{Admission, Rights, ServiceConfig};
use serde::Deserialize;

use crate::cli::DetourServeArgs;
use crate::commands::detour::identity::usual;
use crate::origins::Sources;

/// The usual port; beside those of games and their masters.
const PORT: u16 = 27_980;

/// Where clients are kept.
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
#[derive(Debug, Clone)]
pub(super) struct ServeConfig {
    pub(super) listen: Vec<SocketAddr>,
    pub(super) identity: PathBuf,
    pub(super) store: StorePlace,
    pub(super) origins: Sources,
    pub(super) http: Option<HttpConfig>,
    second_port: Option<u16>,
    admission: Admission,
    limits: LimitsSection,
    tickets: TicketsSection,
    relays: RelaysSection,
}

/// The file.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct File {
    listen: Option<Vec<SocketAddr>>,
    second_port: Option<u16>,
    identity: Option<PathBuf>,
    store: Option<String>,
    redis: Vec<String>,
    open: OpenSection,
    token: Vec<TokenSection>,
    limits: LimitsSection,
    tickets: TicketsSection,
    relays: RelaysSection,
    origins: Sources,
    admin: AdminSection,
}

/// What somebody without a token may: the `[open]` section.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct OpenSection {
    join: bool,
    relay: bool,
    exit: bool,
}

impl Default for OpenSection {
    fn default() -> Self {
        let open = Admission::default().open;
        let rights = open.unwrap_or_default();
        Self {
            join: open.is_some(),
            relay: rights.relay,
            exit: rights.exit,
        }
    }
}

/// One `[[token]]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct TokenSection {
    token: Option<String>,
    token_file: Option<PathBuf>,
    #[serde(default)]
    relay: bool,
    #[serde(default)]
    exit: bool,
}

/// The `[limits]` section.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct LimitsSection {
    clients: usize,
    clients_per_network: usize,
    strangers: usize,
    strangers_per_network: usize,
    handshakes_per_second: u32,
    handshakes_per_second_per_network: u32,
    requests_per_second: u32,
    sessions_per_client: usize,
}

impl Default for LimitsSection {
    fn default() -> Self {
        let config = ServiceConfig::default();
        Self {
            clients: config.most_clients,
            clients_per_network: config.most_per_prefix,
            strangers: config.most_unjoined,
            strangers_per_network: config.most_unjoined_per_prefix,
            handshakes_per_second: config.handshakes,
            handshakes_per_second_per_network: config.handshakes_per_prefix,
            requests_per_second: config.requests,
            sessions_per_client: config.most_sessions,
        }
    }
}

impl LimitsSection {
    fn checked(self) -> Result<Self> {
        let all = [
            ("clients", self.clients == 0),
            ("clients_per_network", self.clients_per_network == 0),
            ("strangers", self.strangers == 0),
            ("strangers_per_network", self.strangers_per_network == 0),
            ("handshakes_per_second", self.handshakes_per_second == 0),
            (
                "handshakes_per_second_per_network",
                self.handshakes_per_second_per_network == 0,
            ),
            ("requests_per_second", self.requests_per_second == 0),
            ("sessions_per_client", self.sessions_per_client == 0),
        ];
        refuse_nothing("limits", &all)?;
        Ok(self)
    }
}

/// A limit of nothing would be a directory that is of no use.
fn refuse_nothing(section: &str, keys: &[(&str, bool)]) -> Result<()> {
    match keys.iter().find(|(_, is_nothing)| *is_nothing) {
        Some((key, _)) => bail!("[{section}] {key} is 0: write 1 or more"),
        None => Ok(()),
    }
}

/// The `[tickets]` section.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct TicketsSection {
    life_s: u64,
    packets_per_second: u16,
    kilobits_per_second: u16,
}

impl Default for TicketsSection {
    fn default() -> Self {
        let config = ServiceConfig::default();
        Self {
            life_s: config.ticket_life.as_secs(),
            packets_per_second: config.ticket_packets,
            kilobits_per_second: config.ticket_kilobits,
        }
    }
}

/// A ticket is to be shown at once; an hour is more than any clock is wrong.
const LONGEST_TICKET_S: u64 = 3_600;
/// Longer times are mistakes in the unit.
const LONGEST_S: u64 = 7 * 86_400;

impl TicketsSection {
    fn checked(self) -> Result<Self> {
        between("[tickets] life_s", self.life_s, LONGEST_TICKET_S)?;
        let rates = [self.packets_per_second, self.kilobits_per_second];
        if rates.contains(&0) {
            bail!("[tickets]: packets_per_second and kilobits_per_second must be 1 or more");
        }
        Ok(self)
    }
}

fn between(name: &str, seconds: u64, most: u64) -> Result<()> {
    match (1..=most).contains(&seconds) {
        true => Ok(()),
        false => bail!("{name} is {seconds}: write 1 to {most} seconds"),
    }
}

/// The `[relays]` section.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct RelaysSection {
    sessions: u16,
    offered: u8,
    complaints: usize,
    complaint_s: u64,
    neighbours: usize,
    silence_s: u64,
}

impl Default for RelaysSection {
    fn default() -> Self {
        let (config, directory) = (ServiceConfig::default(), DirectoryConfig::default());
        Self {
            sessions: directory.most_sessions_per_relay,
            offered: config.most_relays,
            complaints: config.complaints,
            complaint_s: config.complaint_life.as_secs(),
            neighbours: directory.neighbours,
            silence_s: directory.silence.as_secs(),
        }
    }
}

impl RelaysSection {
    fn checked(self) -> Result<Self> {
        between("[relays] complaint_s", self.complaint_s, LONGEST_S)?;
        between("[relays] silence_s", self.silence_s, LONGEST_S)?;
        let all = [
            ("sessions", self.sessions == 0),
            ("complaints", self.complaints == 0),
            ("neighbours", self.neighbours == 0),
        ];
        refuse_nothing("relays", &all)?;
        Ok(self)
    }
}

/// The `[admin]` section.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct AdminSection {
    listen: Option<SocketAddr>,
    token_file: Option<PathBuf>,
    lobby_token_file: Option<PathBuf>,
}

fn usual_addresses() -> Vec<SocketAddr> {
    let v4 = SocketAddr::from((Ipv4Addr::UNSPECIFIED, PORT));
    let v6 = SocketAddr::from((Ipv6Addr::UNSPECIFIED, PORT));
    vec![v4, v6]
}

impl ServeConfig {
    /// Flags before the file, the file before the defaults.
    pub(super) fn resolve(args: &DetourServeArgs) -> Result<Self> {
        let file = args.config.as_deref().map(read).transpose()?;
        let file = file.unwrap_or_default();
        let listen = Some(args.listen.clone()).filter(|listen| !listen.is_empty());
        let listen = listen.or(file.listen).unwrap_or_else(usual_addresses);
        let families = [true, false].map(|v4| listen.iter().filter(|a| a.is_ipv4() == v4).count());
        if listen.is_empty() || families.iter().any(|count| *count > 1) {
            bail!("listen: one address in each family at most, and one in all at least");
        }
        let second_port = args.second_port.or(file.second_port);
        if second_port.is_none() && listen.iter().any(|addr| addr.port() == u16::MAX) {
            bail!("listen: there is no port behind 65535 for the second; give --second-port");
        }
        let identity = args.identity.clone().or(file.identity);
        let store = args.store.clone().or(file.store);
        let redis = match args.redis.is_empty() {
            true => file.redis,
            false => args.redis.clone(),
        };
        let mut open = file.open;
        open.join &= !args.closed;
        Ok(Self {
            second_port,
            identity: identity.or_else(|| usual("directory.key")).context(
                "there is no home directory to keep the identity in; use --identity FILE",
            )?,
            store: place(store.as_deref(), redis)?,
            admission: admission(open, &file.token)?,
            limits: file.limits.checked()?,
            tickets: file.tickets.checked()?,
            relays: file.relays.checked()?,
            origins: file.origins,
            http: http(args, &file.admin)?,
            listen,
        })
    }

    /// The second ports: the next number, unless said otherwise; a free one beside a free one.
    pub(super) fn second(&self) -> Vec<SocketAddr> {
        let second = |addr: &SocketAddr| {
            let next = addr.port().checked_add(u16::from(addr.port() != 0));
            let port = self.second_port.or(next).unwrap_or(0);
            SocketAddr::new(addr.ip(), port)
        };
        self.listen.iter().map(second).collect()
    }

    pub(super) fn service(&self) -> ServiceConfig {
        ServiceConfig {
            admission: self.admission.clone(),
            most_clients: self.limits.clients,
            most_per_prefix: self.limits.clients_per_network,
            most_unjoined: self.limits.strangers,
            most_unjoined_per_prefix: self.limits.strangers_per_network,
            handshakes: self.limits.handshakes_per_second,
            handshakes_per_prefix: self.limits.handshakes_per_second_per_network,
            requests: self.limits.requests_per_second,
            most_sessions: self.limits.sessions_per_client,
            most_relays: self.relays.offered,
            ticket_life: Duration::from_secs(self.tickets.life_s),
            ticket_packets: self.tickets.packets_per_second,
            ticket_kilobits: self.tickets.kilobits_per_second,
            complaints: self.relays.complaints,
            complaint_life: Duration::from_secs(self.relays.complaint_s),
            ..ServiceConfig::default()
        }
    }

    pub(super) fn directory(&self) -> DirectoryConfig {
        DirectoryConfig {
            most_sessions_per_relay: self.relays.sessions,
            neighbours: self.relays.neighbours,
            silence: Duration::from_secs(self.relays.silence_s),
            ..DirectoryConfig::default()
        }
    }

    /// A file with every setting, its default and what it means.
    pub(super) fn explained() -> String {
        let listen = usual_addresses();
        let listen: Vec<String> = listen.iter().map(|addr| format!("\"{addr}\"")).collect();
        let (open, limits) = (OpenSection::default(), LimitsSection::default());
        let (tickets, relays) = (TicketsSection::default(), RelaysSection::default());
        format!(
            "# Settings of `nearside detour serve`, with their defaults. Paths are meant from where this file
# stands. SIGHUP makes it read [open], [[token]], [limits], [tickets] and complaints again.

# UDP addresses, one in each family at most.
listen = [{listen}]
# The second port on the same addresses, by which players find out what their NAT does. Without this
# line it is the next number.
# second_port = {second}

# The file with the secret key; made if it is not there. Without this line it is
# nearside/directory.key in the user's data directory.
# identity = \"directory.key\"
# Where clients are kept: a file, \"none\" for memory only, or \"redis\" for a Redis Cluster that several
# directories of the same identity share. Without this line it is nearside/directory.redb in the user's
# data directory.
# store = \"directory.redb\"
# Nodes of the cluster, for \"redis\"; HOST:PORT or redis://USER:PASSWORD@HOST:PORT.
redis = []

# What somebody without a token may.
[open]
join = {join}
relay = {relay}
# To be the way out to game servers that run nothing of ours. An exit sees what players send there.
exit = {exit}

# What the holders of a token may, beside joining. Give token or token_file.
# [[token]]
# token = \"some-long-word\"
# relay = true
# exit = false

[limits]
# Clients in all, and from one IPv4 /24 or IPv6 /48.
clients = {clients}
clients_per_network = {clients_per_network}
# Connections of those who have not joined.
strangers = {strangers}
strangers_per_network = {strangers_per_network}
# Handshakes answered each second.
handshakes_per_second = {handshakes}
handshakes_per_second_per_network = {handshakes_per_network}
# Requests of one client each second, and twice that at once.
requests_per_second = {requests}
# Sessions that one client may begin; the oldest are forgotten.
sessions_per_client = {sessions_per_client}

# What a ticket allows at a relay: to be shown for so long, an hour at most, then so much each second.
[tickets]
life_s = {life_s}
packets_per_second = {packets}
kilobits_per_second = {kilobits}

[relays]
# Sessions that one relay carries at most, however many it says.
sessions = {sessions}
# Relays offered to one request at most.
offered = {offered}
# Complaints from so many networks within so many seconds, and a relay is not offered for as long.
complaints = {complaints}
complaint_s = {complaint_s}
# Neighbours that each client measures.
neighbours = {neighbours}
# Seconds without a word after which a client is forgotten.
silence_s = {silence_s}

# Where addresses come from, so that relays are not all of one network; see docs/origin.md.
[origins]
overrides = []
mrt = []
tables = []
folders = true
embedded = true

# The operator's and lobbies' side, on loopback, for requests with `Authorization: Bearer` and the token
# that is in the file or in the variables NEARSIDE_DETOUR_ADMIN_TOKEN and NEARSIDE_DETOUR_LOBBY_TOKEN.
[admin]
# listen = \"127.0.0.1:8082\"
# token_file = \"token\"
# lobby_token_file = \"lobby-token\"
",
            listen = listen.join(", "),
            second = PORT + 1,
            join = open.join,
            relay = open.relay,
            exit = open.exit,
            clients = limits.clients,
            clients_per_network = limits.clients_per_network,
            strangers = limits.strangers,
            strangers_per_network = limits.strangers_per_network,
            handshakes = limits.handshakes_per_second,
            handshakes_per_network = limits.handshakes_per_second_per_network,
            requests = limits.requests_per_second,
            sessions_per_client = limits.sessions_per_client,
            life_s = tickets.life_s,
            packets = tickets.packets_per_second,
            kilobits = tickets.kilobits_per_second,
            sessions = relays.sessions,
            offered = relays.offered,
            complaints = relays.complaints,
            complaint_s = relays.complaint_s,
            neighbours = relays.neighbours,
            silence_s = relays.silence_s,
        )
    }
}

fn admission(open: OpenSection, sections: &[TokenSection]) -> Result<Admission> {
    let mut tokens = BTreeMap::new();
    for section in sections {
        let text = match (&section.token, &section.token_file) {
            (Some(token), None) => token.clone(),
            (None, Some(file)) => secret(file)?,
            _ => bail!("[[token]]: give token or token_file, one of both"),
        };
        let rights = Rights {
            relay: section.relay,
            exit: section.exit,
        };
        let text = text.trim();
        if text.is_empty() || tokens.insert(text.to_owned(), rights).is_some() {
            bail!("[[token]]: a token is empty or there twice");
        }
    }
    let rights = Rights {
        relay: open.relay,
        exit: open.exit,
    };
    if tokens.is_empty() && !open.join {
        bail!("nobody could join: give a [[token]], or set join in [open]");
    }
    Ok(Admission {
        open: open.join.then_some(rights),
        tokens,
    })
}

/// The operator's side, if there is to be one; it must have a token.
fn http(args: &DetourServeArgs, section: &AdminSection) -> Result<Option<HttpConfig>> {
    let Some(listen) = args.admin.or(section.listen) else {
        return Ok(None);
    };
    let file = args
        .admin_token_file
        .as_ref()
        .or(section.token_file.as_ref());
    let admin = token("NEARSIDE_DETOUR_ADMIN_TOKEN", file)?.context(
        "the operator's side needs a token: name a file with --admin-token-file, or set NEARSIDE_DETOUR_ADMIN_TOKEN",
    )?;
    let file = args.lobby_token_file.as_ref();
    let file = file.or(section.lobby_token_file.as_ref());
    let lobby = token("NEARSIDE_DETOUR_LOBBY_TOKEN", file)?;
    Ok(Some(HttpConfig {
        listen,
        admin,
        lobby,
    }))
}

fn token(variable: &str, file: Option<&PathBuf>) -> Result<Option<Token>> {
    let text = match (std::env::var(variable), file) {
        (Ok(token), _) => token,
        (Err(_), Some(path)) => secret(path)?,
        (Err(_), None) => return Ok(None),
    };
    let token = Token::new(&text).context(
        "a token is shorter than 16 characters: `openssl rand -hex 16` makes a good one",
    )?;
    Ok(Some(token))
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
        None => usual("directory.redb").map(StorePlace::File).context(
            "there is no home directory to keep clients in; use --store FILE or --store none",
        ),
    }
}

fn read(path: &Path) -> Result<File> {
    let name = path.display();
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {name}"))?;
    let file: File = toml::from_str(&text).with_context(|| name.to_string())?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let here = |path: PathBuf| folder.join(path);
    let store = file.store.map(|place| match place.as_str() {
        "none" | "redis" => place,
        path => folder.join(path).display().to_string(),
    });
    let token = file.token.into_iter().map(|section| TokenSection {
        token_file: section.token_file.map(here),
        ..section
    });
    Ok(File {
        store,
        identity: file.identity.map(here),
        token: token.collect(),
        origins: file.origins.seen_from(folder),
        admin: AdminSection {
            token_file: file.admin.token_file.map(here),
            lobby_token_file: file.admin.lobby_token_file.map(here),
            ..file.admin
        },
        ..file
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_explained_file_says_the_defaults() {
        let file: File = toml::from_str(&ServeConfig::explained()).unwrap();
        assert_eq!(file.listen, Some(usual_addresses()));
        assert_eq!(file.open, OpenSection::default());
        assert_eq!(file.limits, LimitsSection::default());
        assert_eq!(file.tickets, TicketsSection::default());
        assert_eq!(file.relays, RelaysSection::default());
        assert_eq!(file.admin, AdminSection::default());
        assert_eq!(file.origins, Sources::default());
        assert!(file.token.is_empty() && file.store.is_none() && file.identity.is_none());
    }

    #[test]
    fn times_and_rates_that_cannot_be_meant_are_refused_by_name() {
        let usual = TicketsSection::default();
        assert!(usual.checked().is_ok());
        for life_s in [0, LONGEST_TICKET_S + 1, u64::MAX] {
            let refused = TicketsSection { life_s, ..usual }.checked();
            let why = refused.unwrap_err().to_string();
            assert!(why.contains("life_s") && why.contains("1 to 3600"), "{why}");
        }
        let silent = TicketsSection {
            packets_per_second: 0,
            ..usual
        };
        assert!(silent.checked().is_err());
        let usual = RelaysSection::default();
        let silence_s = u64::MAX;
        assert!(RelaysSection { silence_s, ..usual }.checked().is_err());
        let complaint_s = u64::MAX;
        let forever = RelaysSection {
            complaint_s,
            ..usual
        };
        assert!(forever.checked().is_err());
    }

    #[test]
    fn limits_of_nothing_are_refused_by_name() {
        let limits = |text: &str| {
            let file: File = toml::from_str(text).unwrap();
            let checked = file.limits.checked().map(drop);
            checked.and_then(|()| file.relays.checked().map(drop))
        };
        assert!(limits("").is_ok());
        for (section, key) in [
            ("limits", "clients"),
            ("limits", "clients_per_network"),
            ("limits", "strangers"),
            ("limits", "handshakes_per_second"),
            ("limits", "requests_per_second"),
            ("limits", "sessions_per_client"),
            ("relays", "sessions"),
            ("relays", "complaints"),
            ("relays", "neighbours"),
        ] {
            let why = limits(&format!("[{section}]\n{key} = 0\n")).unwrap_err();
            let named = format!("[{section}] {key} is 0");
            assert!(why.to_string().contains(&named), "{why}");
        }
    }

    #[test]
    fn a_closed_directory_without_tokens_and_tokens_of_no_use_are_refused() {
        let token = |token: Option<&str>| TokenSection {
            token: token.map(str::to_owned),
            token_file: None,
            relay: true,
            exit: false,
        };
        let closed = OpenSection {
            join: false,
            ..OpenSection::default()
        };
        assert!(admission(closed, &[]).is_err());
        assert!(admission(closed, &[token(None)]).is_err());
        assert!(admission(closed, &[token(Some("a")), token(Some("a"))]).is_err());
        let one = admission(closed, &[token(Some("a"))]).unwrap();
        assert_eq!(one.rights(None), None);
        assert!(one.rights(Some("a")).unwrap().relay);
    }
}
