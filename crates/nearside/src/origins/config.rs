//! Which sources to use, from flags and from a TOML file; and how to listen for BGP neighbours.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::num::NonZeroU8;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use nearside_net::{BgpConfig, Md5Key, Protection};
use nearside_origin::bgp::{CollectorConfig, Neighbour, RibConfig, SessionConfig};
use nearside_origin::{AsnRule, SourceKind};
use nearside_types::{Asn, PrefixLengths};
use serde::Deserialize;

use super::{NamedBy, Part, folders, installed};
use crate::cli::OriginSourceArgs;

/// The files that speak for origins.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Sources {
    /// The operator's own word for some networks.
    pub overrides: Vec<PathBuf>,
    /// Dumps of routing tables.
    pub mrt: Vec<PathBuf>,
    /// Tables of AS numbers and countries.
    pub tables: Vec<PathBuf>,
    /// Whether this user's installed table and the machine's GeoIP folders are asked as well.
    pub folders: bool,
    /// Whether the table in the program is asked as well.
    pub embedded: bool,
}

impl Default for Sources {
    fn default() -> Self {
        Self {
            overrides: Vec::new(),
            mrt: Vec::new(),
            tables: Vec::new(),
            folders: true,
            embedded: true,
        }
    }
}

impl Sources {
    /// What the flags name, before what the configuration names.
    pub fn resolve(args: &OriginSourceArgs) -> Result<Self> {
        let configured = match (&args.origin_config, usual_config()) {
            (Some(path), _) => ListenConfig::read(path)?.sources,
            (None, Some(path)) if !args.only_given => ListenConfig::read(&path)?.sources,
            _ => Self::default(),
        };
        let before = |given: &[PathBuf], more: Vec<PathBuf>| [given, &more].concat();
        Ok(Self {
            overrides: before(&args.origins, configured.overrides),
            mrt: before(&args.mrt, configured.mrt),
            tables: before(&args.asn_db, configured.tables),
            folders: configured.folders && !args.only_given,
            embedded: configured.embedded && !args.only_given,
        })
    }

    /// What the user named.
    pub fn named(&self) -> Vec<Part> {
        let single = |kind, paths: &[PathBuf]| -> Vec<Part> {
            let part = |path: &PathBuf| Part {
                kind,
                paths: vec![path.clone()],
                named_by: NamedBy::User,
            };
            paths.iter().map(part).collect()
        };
        let dumps = Part {
            kind: SourceKind::Mrt,
            paths: self.mrt.clone(),
            named_by: NamedBy::User,
        };
        [
            single(SourceKind::Override, &self.overrides),
            Vec::from_iter((!self.mrt.is_empty()).then_some(dumps)),
            single(SourceKind::File, &self.tables),
        ]
        .concat()
    }

    /// Every source as alternatives, of which the first that can be read counts; those of one kind
    /// in the order they are asked.
    pub fn parts(&self) -> Vec<Vec<Part>> {
        let named = self.named().into_iter().map(|part| vec![part]);
        let found = if self.folders {
            let installed = installed::files().into_iter().map(|path| vec![path]);
            let machine = folders::tables_in(&folders::folders());
            installed.chain(machine).collect()
        } else {
            Vec::new()
        };
        let by_chance = |path: PathBuf| Part {
            kind: SourceKind::File,
            paths: vec![path],
            named_by: NamedBy::Chance,
        };
        let found = found
            .into_iter()
            .map(|paths| paths.into_iter().map(by_chance).collect());
        named.chain(found).collect()
    }

    /// Paths in a configuration are meant from where it stands.
    pub(crate) fn seen_from(mut self, folder: &Path) -> Self {
        for paths in [&mut self.overrides, &mut self.mrt, &mut self.tables] {
            for path in paths {
                *path = folder.join(&*path);
            }
        }
        self
    }
}

/// The user's own configuration, where it exists.
fn usual_config() -> Option<PathBuf> {
    let config = super::folder_of("XDG_CONFIG_HOME", ".config");
    let path = config?.join("nearside").join("origin.toml");
    path.is_file().then_some(path)
}

/// The whole file: sources, and the feed that `nearside origin listen` keeps.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ListenConfig {
    /// What fills the gaps of the feed.
    pub sources: Sources,
    /// The feed.
    pub bgp: BgpSection,
}

/// The `[bgp]` section.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BgpSection {
    listen: SocketAddr,
    local_asn: u32,
    router_id: Ipv4Addr,
    hold_time_s: u16,
    prefix_limit: usize,
    stale_s: u64,
    longest_v4: u8,
    longest_v6: u8,
    private_asns: bool,
    http: Http,
    neighbour: Vec<NeighbourConfig>,
}

/// One `[[bgp.neighbour]]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NeighbourConfig {
    addr: IpAddr,
    asn: u32,
    password_file: Option<PathBuf>,
    #[serde(default)]
    ttl_security: bool,
}

/// Where look-ups and metrics are served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
enum Http {
    At(SocketAddr),
    Off,
}

impl TryFrom<String> for Http {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        match text.as_str() {
            "off" => Ok(Self::Off),
            _ => text
                .parse()
                .map(Self::At)
                .map_err(|_| format!("`{text}` is not IP:PORT (or \"off\")")),
        }
    }
}

impl Default for BgpSection {
    fn default() -> Self {
        let bgp = BgpConfig::new(CollectorConfig::new(Vec::new()));
        let rib = RibConfig::default();
        Self {
            listen: bgp.listen,
            local_asn: bgp.collector.local_asn.0,
            router_id: bgp.collector.router_id,
            hold_time_s: SessionConfig::HOLD_TIME,
            prefix_limit: rib.prefix_limit,
            stale_s: rib.stale_time.as_secs(),
            longest_v4: rib.longest.v4,
            longest_v6: rib.longest.v6,
            private_asns: false,
            http: Http::At((Ipv4Addr::LOCALHOST, 9179).into()),
            neighbour: Vec::new(),
        }
    }
}

impl ListenConfig {
    /// Reads a file; errors name the file, the line and what is wrong there.
    pub fn read(path: &Path) -> Result<Self> {
        let name = path.display();
        let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {name}"))?;
        let config: Self = toml::from_str(&text).with_context(|| name.to_string())?;
        let folder = path.parent().unwrap_or(Path::new(""));
        Ok(Self {
            sources: config.sources.seen_from(folder),
            bgp: config
                .bgp
                .seen_from(folder)
                .with_context(|| name.to_string())?,
        })
    }

    /// Where look-ups and metrics are to be served.
    pub fn http(&self) -> Option<SocketAddr> {
        match self.bgp.http {
            Http::At(addr) => Some(addr),
            Http::Off => None,
        }
    }

    /// What the listener needs.
    pub fn bgp(&self) -> Result<BgpConfig> {
        self.bgp.config()
    }
}

impl BgpSection {
    /// Paths in a configuration are meant from where it stands; what cannot work is refused.
    pub(crate) fn seen_from(mut self, folder: &Path) -> Result<Self> {
        for neighbour in &mut self.neighbour {
            let secret = neighbour.password_file.take();
            neighbour.password_file = secret.map(|secret| folder.join(secret));
        }
        self.check()?;
        Ok(self)
    }

    /// Whether anybody may connect.
    pub(crate) fn has_neighbours(&self) -> bool {
        !self.neighbour.is_empty()
    }

    /// What the listener needs.
    pub(crate) fn config(&self) -> Result<BgpConfig> {
        let neighbour = |neighbour: &NeighbourConfig| Neighbour {
            addr: neighbour.addr,
            asn: Asn(neighbour.asn),
        };
        let mut collector = CollectorConfig::new(self.neighbour.iter().map(neighbour).collect());
        collector.local_asn = Asn(self.local_asn);
        collector.router_id = self.router_id;
        collector.hold_time = self.hold_time_s;
        collector.rib = self.rib();
        let mut bgp = BgpConfig::new(collector);
        bgp.listen = self.listen;
        bgp.protection = self.protection()?;
        Ok(bgp)
    }

    fn check(&self) -> Result<()> {
        if self.longest_v4 > 32 || self.longest_v6 > 128 {
            bail!("bgp.longest_v4 goes up to 32, bgp.longest_v6 up to 128");
        }
        if (1..240).contains(&self.hold_time_s) {
            bail!(
                "bgp.hold_time_s = {}: some routers are silent for minutes while they load a table (give 240 or more, 0 for no limit)",
                self.hold_time_s
            );
        }
        if self.prefix_limit == 0 || self.stale_s == 0 {
            bail!("bgp.prefix_limit and bgp.stale_s must be above 0, or the table would be empty");
        }
        if self.local_asn == 0 || self.neighbour.iter().any(|neighbour| neighbour.asn == 0) {
            bail!("AS 0 is nobody's (RFC 7607): give the neighbour's AS, and 64512 for us");
        }
        Ok(())
    }

    fn rib(&self) -> RibConfig {
        RibConfig {
            longest: PrefixLengths {
                v4: self.longest_v4,
                v6: self.longest_v6,
            },
            asns: if self.private_asns {
                AsnRule::Any
            } else {
                AsnRule::PublicOnly
            },
            prefix_limit: self.prefix_limit,
            stale_time: Duration::from_secs(self.stale_s),
        }
    }

    /// What is asked of each neighbour.
    fn protection(&self) -> Result<Vec<Protection>> {
        self.neighbour
            .iter()
            .map(NeighbourConfig::protection)
            .collect()
    }
}

impl NeighbourConfig {
    fn protection(&self) -> Result<Protection> {
        let key = self.password_file.as_deref().map(read_key).transpose()?;
        Ok(Protection {
            neighbour: self.addr,
            key,
            hops: NonZeroU8::new(u8::from(self.ttl_security)),
        })
    }
}

/// A password in a file of its own; the line end behind it is not part of it.
fn read_key(path: &Path) -> Result<Md5Key> {
    let name = path.display();
    let text = std::fs::read(path).with_context(|| format!("cannot read {name}"))?;
    Md5Key::new(text.trim_ascii_end()).with_context(|| name.to_string())
}
