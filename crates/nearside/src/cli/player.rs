//! Options of the programs that stand beside players, game servers and relays.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum};
use nearside_tunnel::crypto::PublicKey;
use nearside_tunnel::node::DirectoryAddress;

/// A directory as its operator tells it: `KEY@HOST:PORT`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirectoryWord {
    key: PublicKey,
    host: String,
}

impl DirectoryWord {
    /// Looks the host's name up, in both address families.
    pub fn resolve(&self) -> Result<DirectoryAddress, String> {
        let found = resolve_all(&self.host)?;
        // The NAT to be learnt about is the one of IPv4.
        let four = found.iter().find(|address| address.is_ipv4());
        let six = found.iter().find(|address| address.is_ipv6());
        Ok(DirectoryAddress {
            address: *four.unwrap_or(&found[0]),
            other: four.and(six).copied(),
            key: self.key,
        })
    }
}

impl fmt::Display for DirectoryWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.key, self.host)
    }
}

impl FromStr for DirectoryWord {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let told =
            "write KEY@HOST:PORT, with the key that `nearside detour serve --print-key` prints";
        let (key, host) = text.split_once('@').ok_or(told)?;
        let key = key.parse().map_err(|error| format!("{error}; {told}"))?;
        if !has_port(host) {
            return Err(format!("`{host}` has no port; {told}"));
        }
        Ok(Self {
            key,
            host: host.to_owned(),
        })
    }
}

/// Whether a name is followed by a port somebody can be at.
fn has_port(host: &str) -> bool {
    let port = host.rsplit_once(':').map(|(_, port)| port.parse::<u16>());
    matches!(port, Some(Ok(1..)))
}

/// A game server as players name it: `HOST:PORT`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GameWord(String);

impl GameWord {
    /// Looks its name up; the first address counts.
    pub fn resolve(&self) -> Result<SocketAddr, String> {
        let found = resolve_all(&self.0)?[0];
        one_machine(found)
    }
}

impl FromStr for GameWord {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if !has_port(text) {
            let example = "write HOST:PORT, such as play.example:27960";
            return Err(format!("`{text}` has no port of a game server; {example}"));
        }
        if let Ok(address) = text.parse() {
            one_machine(address)?;
        }
        Ok(Self(text.to_owned()))
    }
}

/// The address of a game server, written out.
fn game_address(text: &str) -> Result<SocketAddr, String> {
    let address: SocketAddr = text.parse().map_err(|_| {
        format!("`{text}` is no ADDRESS:PORT, such as 127.0.0.1:27960 or [::1]:27960")
    })?;
    match address.port() {
        0 => Err(format!("`{text}` has no port: nobody is at 0")),
        _ => one_machine(address),
    }
}

/// A game server is one machine: nobody is at an address of all or of none.
fn one_machine(address: SocketAddr) -> Result<SocketAddr, String> {
    let ip = address.ip();
    let is_broadcast = matches!(ip, IpAddr::V4(Ipv4Addr::BROADCAST));
    match ip.is_unspecified() || ip.is_multicast() || is_broadcast {
        true => Err(format!(
            "{ip} is no address of one machine; name the game server's"
        )),
        false => Ok(address),
    }
}

/// All addresses of a name with a port: one at least.
fn resolve_all(host: &str) -> Result<Vec<SocketAddr>, String> {
    let found = host
        .to_socket_addrs()
        .map_err(|error| format!("cannot find `{host}`: {error}"))?;
    let found: Vec<SocketAddr> = found.collect();
    match found.is_empty() {
        true => Err(format!("`{host}` has no address")),
        false => Ok(found),
    }
}

/// What every program that joins a directory needs.
#[derive(Debug, Clone, Args)]
pub struct DetourPlayerArgs {
    /// The directory, as its operator gives it; several that share their state may follow
    #[arg(
        long,
        value_name = "KEY@HOST:PORT",
        env = "NEARSIDE_DETOUR_DIRECTORY",
        required = true,
        value_delimiter = ','
    )]
    pub directory: Vec<DirectoryWord>,

    /// The operator's word that we may join, where one is needed
    #[arg(
        long,
        value_name = "WORD",
        env = "NEARSIDE_DETOUR_TOKEN",
        hide_env_values = true
    )]
    pub token: Option<String>,

    /// Our secret key, made if there is none [default: a new one for every run]
    #[arg(long, value_name = "FILE", env = "NEARSIDE_DETOUR_KEY")]
    pub key: Option<PathBuf>,

    /// Our UDP socket; open this port in a firewall, if you have one. For any address, and for
    /// 127.0.0.1, IPv6 has the same port; for another address there is IPv4 alone
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "0.0.0.0:0")]
    pub bind: SocketAddr,

    /// Use IPv4 alone
    #[arg(long)]
    pub no_ipv6: bool,

    /// Carry the sessions of other players, within the limits below; they are sealed, and only
    /// those come that the directory sent
    #[arg(long)]
    pub relay: bool,

    /// Sessions of others at most [default: 8]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub relay_sessions: Option<u16>,

    /// Packets each second at most, over all sessions of others [default: 2000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub relay_packets: Option<u32>,

    /// Kilobits each second at most, over all sessions of others [default: 2000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub relay_kbit: Option<u32>,

    /// Where `nearside detour status` asks [default: nearside/detour-PID.sock below
    /// $XDG_RUNTIME_DIR, or in a folder of the user's below the one for temporary files]
    #[arg(long, value_name = "SOCKET")]
    pub status: Option<PathBuf>,

    /// Print what happens as JSON, one object a line, instead of sentences
    #[arg(long)]
    pub json: bool,
}

/// Options of `nearside detour join`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:
  nearside detour join --directory KEY@detour.example:27980
  nearside detour join --directory KEY@detour.example:27980 --relay --relay-kbit 500
  nearside detour join --directory KEY@detour.example:27980 --relay-only --bind 0.0.0.0:27990
  nearside detour join --directory KEY@detour.example:27980 --token WORD --exit play.example:27960

Exit codes: 2 bad usage; 3 the directory refuses us, a name or a port cannot be had; 130 interrupted.")]
pub struct DetourJoinArgs {
    /// What every program that joins a directory needs.
    #[command(flatten)]
    pub player: DetourPlayerArgs,

    /// A dedicated relay: carries sessions, with limits of a server's line (500 sessions, 50,000
    /// packets/s, 100,000 kbit/s) unless others are given
    #[arg(long)]
    pub relay_only: bool,

    /// Be a way out to this game server for players whose directory trusts us with that; may be
    /// given several times. Nothing else can be reached through us
    #[arg(long, value_name = "HOST:PORT")]
    pub exit: Vec<GameWord>,
}

/// Options of `nearside detour proxy`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:
  nearside detour proxy --directory KEY@detour.example:27980 --to play.example:27960
  nearside detour proxy --directory KEY@detour.example:27980 --to 192.0.2.1:27015 --listen 127.0.0.1:27100

Then let the game connect to the address that is printed. Where `nearside detour expose` runs beside
the game server, or a relay is a way out to it, packets take the quickest path and are sealed up to
there; else they go plainly, as without us.

Exit codes: 2 bad usage; 3 the directory refuses us, a name or a port cannot be had; 130 interrupted.")]
pub struct DetourProxyArgs {
    /// What every program that joins a directory needs.
    #[command(flatten)]
    pub player: DetourPlayerArgs,

    /// The game server, as the game would name it
    #[arg(long, value_name = "HOST:PORT")]
    pub to: GameWord,

    /// Where the game connects instead [default: 127.0.0.1 and the game server's port]
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub listen: Option<SocketAddr>,

    /// Never use a relay: the direct path alone, sealed
    #[arg(long)]
    pub no_detours: bool,

    /// Relays that are measured end to end
    #[arg(long, value_name = "K", default_value_t = 8, value_parser = clap::value_parser!(u8).range(1..=16))]
    pub candidates: u8,
}

/// Options of `nearside detour expose`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:
  nearside detour expose --directory KEY@detour.example:27980 --game 127.0.0.1:27960
  nearside detour expose --directory KEY@detour.example:27980 --game 127.0.0.1:27960 --key server.key

The game server sees every player at an address of its own on this machine, which stays the same
whatever path packets take.

Exit codes: 2 bad usage; 3 the directory refuses us, a name or a port cannot be had; 130 interrupted.")]
pub struct DetourExposeArgs {
    /// What every program that joins a directory needs.
    #[command(flatten)]
    pub player: DetourPlayerArgs,

    /// The game server, as it is reached from here
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = game_address)]
    pub game: SocketAddr,

    /// The port players know the game server by [default: the one of --game]
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub public_port: Option<u16>,
}

/// Options of `nearside detour status`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:
  nearside detour status
  nearside detour status --watch
  nearside detour status --json | jq '.links[].gain_us'
  nearside detour status --compare on     wait half a minute, then look again

Exit codes: 0 shown; 1 no program runs, or --compare on where there is no choice of paths; 2 bad usage; 3 the
program at --socket does not answer.")]
pub struct DetourStatusArgs {
    /// Which program to ask [default: all of the user's that run]
    #[arg(long, value_name = "SOCKET")]
    pub socket: Option<PathBuf>,

    /// Print everything as JSON, one object a line
    #[arg(long)]
    pub json: bool,

    /// Look again every second until Ctrl-C
    #[arg(long)]
    pub watch: bool,

    /// Compare the direct path and the detour on live traffic: packets take both in turns, until it
    /// is decided or for four minutes of play
    #[arg(long, value_enum)]
    pub compare: Option<Switch>,
}

/// On or off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Switch {
    /// On.
    On,
    /// Off.
    Off,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_written_as_key_and_place() {
        let key = "ab".repeat(32);
        let word: DirectoryWord = format!("{key}@127.0.0.1:4800").parse().unwrap();
        assert_eq!(word.to_string(), format!("{key}@127.0.0.1:4800"));
        assert_eq!(
            word.resolve().unwrap().address,
            "127.0.0.1:4800".parse().unwrap()
        );
        for bad in [
            "127.0.0.1:4800",
            &format!("{key}@host"),
            &format!("{key}@host:0"),
            "abc@h:1",
        ] {
            let error = bad.parse::<DirectoryWord>().unwrap_err();
            assert!(error.contains("KEY@HOST:PORT"), "{error}");
        }
    }

    #[test]
    fn a_game_server_is_one_machine_with_a_port() {
        for good in ["127.0.0.1:27960", "[::1]:27960", "play.example:1"] {
            assert!(good.parse::<GameWord>().is_ok(), "{good}");
        }
        for bad in ["127.0.0.1", "127.0.0.1:0", "host:99999", "[::1]", "host:"] {
            let why = bad.parse::<GameWord>().unwrap_err();
            assert!(why.contains("HOST:PORT"), "{why}");
        }
        for nobody in [
            "0.0.0.0:5",
            "224.0.0.1:5",
            "255.255.255.255:5",
            "[ff02::1]:5",
        ] {
            let why = nobody.parse::<GameWord>().unwrap_err();
            assert!(why.contains("one machine"), "{why}");
            assert_eq!(game_address(nobody).unwrap_err(), why);
        }
        assert!(game_address("127.0.0.1:0").unwrap_err().contains("no port"));
        assert!(
            game_address("localhost:5")
                .unwrap_err()
                .contains("ADDRESS:PORT")
        );
        assert!(game_address("127.0.0.1:5").is_ok());
    }

    #[test]
    fn a_relay_that_may_carry_nothing_is_refused_by_name() {
        use clap::Parser;
        #[derive(Debug, Parser)]
        struct Program {
            #[command(flatten)]
            player: DetourPlayerArgs,
        }
        let key = "ab".repeat(32);
        let directory = format!("--directory={key}@127.0.0.1:4800");
        for flag in ["--relay-sessions", "--relay-packets", "--relay-kbit"] {
            let refused = Program::try_parse_from(["nearside", &directory, "--relay", flag, "0"]);
            let why = refused.unwrap_err().to_string();
            assert!(why.contains(flag) && why.contains("1.."), "{why}");
            let one = Program::try_parse_from(["nearside", &directory, "--relay", flag, "1"]);
            assert!(one.is_ok(), "{one:?}");
        }
    }
}
