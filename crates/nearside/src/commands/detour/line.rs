//! What `join`, `proxy` and `expose` have in common: they start a player, answer `status`, and say what
//! happens until Ctrl-C.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use nearside_player::{Happening, Player, Role, Settings};
use nearside_tunnel::messages::Capacity;
use nearside_tunnel::node::{DirectoryAddress, NodeConfig};

use crate::cli::DetourPlayerArgs;
use crate::exit::{Exit, WorldFailure};

use super::{identity, status, telling};

/// What a program adds to the flags that all have.
pub(super) struct Program {
    pub(super) role: Role,
    pub(super) relaying: Option<Capacity>,
    pub(super) exposes: Option<u16>,
    pub(super) exits: Vec<SocketAddr>,
    pub(super) detours: bool,
    pub(super) candidates: u8,
    /// What to say at the start, once the sockets are open.
    pub(super) greeting: fn(&Player) -> String,
}

impl Program {
    pub(super) fn new(
        role: Role,
        args: &DetourPlayerArgs,
        greeting: fn(&Player) -> String,
    ) -> Self {
        let node = NodeConfig::default();
        Self {
            role,
            relaying: args.relay.then(|| capacity(args, HOME)),
            exposes: None,
            exits: Vec::new(),
            detours: node.detours,
            candidates: node.candidates,
            greeting,
        }
    }
}

/// What a player's line carries beside the game.
const HOME: Capacity = Capacity {
    sessions: 8,
    packets: 2_000,
    kilobits: 2_000,
};

/// How much a relay carries: what the flags say, and else what is usual for its line.
pub(super) fn capacity(args: &DetourPlayerArgs, usual: Capacity) -> Capacity {
    Capacity {
        sessions: args.relay_sessions.unwrap_or(usual.sessions),
        packets: args.relay_packets.unwrap_or(usual.packets),
        kilobits: args.relay_kbit.unwrap_or(usual.kilobits),
    }
}

/// Runs a program until Ctrl-C or the end of the world.
pub(super) fn run(args: &DetourPlayerArgs, program: Program) -> Result<Exit> {
    let greeting = program.greeting;
    refuse_idle_limits(args, &program)?;
    nearside_net::raise_file_limit();
    let player = Player::start(settings(args, program)?)
        .map_err(|error| anyhow!(WorldFailure(error.to_string())))?;
    let stop = player.stopper();
    ctrlc::set_handler(move || stop.stop()).context("cannot listen for Ctrl-C")?;
    let desk = status::Desk::open(args.status.as_deref(), player.remote())?;
    let teller = telling::Teller::new(args.json);
    teller.say(&greeting(&player))?;
    if let Some(path) = desk.path() {
        teller.say(&format!(
            "`nearside detour status` asks at {}",
            path.display()
        ))?;
    }
    let mut joined = Joined::NotYet(Instant::now());
    loop {
        if joined.is_late() {
            teller.say("no directory answers yet under that key and address; trying on")?;
        }
        match player.wait(Duration::from_secs(1)) {
            Some(Happening::Ended(None)) => {
                teller.say("ended")?;
                return Ok(Exit::Interrupted);
            }
            Some(Happening::Ended(Some(why))) => return Err(anyhow!(WorldFailure(why))),
            // Later it may refuse us as it likes: what runs goes on.
            Some(Happening::Refused(refusal)) if joined == Joined::Yes => {
                teller.say(&format!("the directory refuses us now: {refusal}"))?;
            }
            Some(Happening::Refused(refusal)) => {
                return Err(anyhow!(WorldFailure(format!(
                    "the directory refuses us: {refusal}"
                ))));
            }
            Some(happening) => {
                if matches!(happening, Happening::Joined(_)) {
                    joined = Joined::Yes;
                }
                teller.tell(&happening)?;
            }
            None => {}
        }
    }
}

/// Limits of a relay that is none would be taken for the opposite.
fn refuse_idle_limits(args: &DetourPlayerArgs, program: &Program) -> Result<()> {
    let limits = [
        ("--relay-sessions", args.relay_sessions.is_some()),
        ("--relay-packets", args.relay_packets.is_some()),
        ("--relay-kbit", args.relay_kbit.is_some()),
    ];
    let given = limits.iter().find(|(_, given)| *given);
    match given.filter(|_| program.relaying.is_none()) {
        Some((flag, _)) => bail!("{flag} limits what is carried for others, which needs --relay"),
        None => Ok(()),
    }
}

/// Directories that no socket of ours can reach would be called in vain, again and again.
fn refuse_other_families(directories: &[DirectoryAddress], ours: &[SocketAddr]) -> Result<()> {
    let reaches = |at: &SocketAddr| ours.iter().any(|own| own.is_ipv4() == at.is_ipv4());
    let reached = |one: &DirectoryAddress| {
        let mut all = [Some(one.address), one.other].into_iter().flatten();
        all.any(|at| reaches(&at))
    };
    match directories.iter().find(|one| !reached(one)) {
        Some(one) if one.address.is_ipv6() => bail!(
            "the directory at {} has IPv6 alone, and we have none (leave out --no-ipv6, or --bind to \
             any address)",
            one.address
        ),
        Some(one) => bail!(
            "the directory at {} has IPv4 alone, and we have none (--bind to an address of IPv4)",
            one.address
        ),
        None => Ok(()),
    }
}

/// The socket for IPv6 beside one for IPv4, with the same port, so that a firewall can let it in. Who names
/// an address of this machine means that one alone.
fn beside(bind: SocketAddr) -> Option<SocketAddr> {
    let six = match bind.ip() {
        IpAddr::V4(four) if four.is_unspecified() => Ipv6Addr::UNSPECIFIED,
        IpAddr::V4(Ipv4Addr::LOCALHOST) => Ipv6Addr::LOCALHOST,
        _ => return None,
    };
    Some((six, bind.port()).into())
}

/// Whether a directory has taken us in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Joined {
    NotYet(Instant),
    /// It was said that none answers.
    Late,
    Yes,
}

impl Joined {
    /// Whether it is time to say, once, that nobody answers.
    fn is_late(&mut self) -> bool {
        let late = matches!(self, Self::NotYet(since) if since.elapsed() > PATIENCE);
        if late {
            *self = Self::Late;
        }
        late
    }
}

const PATIENCE: Duration = Duration::from_secs(3);

fn settings(args: &DetourPlayerArgs, program: Program) -> Result<Settings> {
    let directories: Result<Vec<_>, String> = args
        .directory
        .iter()
        .map(crate::cli::DirectoryWord::resolve)
        .collect();
    let directories = directories.map_err(|error| anyhow!(WorldFailure(error)))?;
    let listen_v6 = beside(args.bind).filter(|_| !args.no_ipv6);
    let ours: Vec<SocketAddr> = [args.bind].into_iter().chain(listen_v6).collect();
    refuse_other_families(&directories, &ours)?;
    let identity = match &args.key {
        Some(path) => identity::open(path)?.0,
        None => identity::fleeting()?,
    };
    Ok(Settings {
        node: NodeConfig {
            directories,
            token: args.token.clone(),
            relaying: program.relaying,
            exposes: program.exposes,
            exits: program.exits,
            detours: program.detours,
            candidates: program.candidates,
            ..NodeConfig::default()
        },
        identity,
        seed: identity::seed()?,
        listen: args.bind,
        listen_v6,
        role: program.role,
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Flags {
        #[command(flatten)]
        player: DetourPlayerArgs,
    }

    fn args(flags: &[&str]) -> DetourPlayerArgs {
        let directory = format!("--directory={}@127.0.0.1:4800", "ab".repeat(32));
        let words = ["nearside", &directory].into_iter();
        Flags::parse_from(words.chain(flags.iter().copied())).player
    }

    #[test]
    fn limits_that_are_given_count_even_where_they_are_what_a_player_has_anyway() {
        let server = Capacity {
            sessions: 500,
            packets: 50_000,
            kilobits: 100_000,
        };
        let given = args(&["--relay-sessions", "8", "--relay-kbit", "2000"]);
        let limits = capacity(&given, server);
        assert_eq!((limits.sessions, limits.kilobits), (8, 2_000));
        assert_eq!(limits.packets, server.packets, "was not given");
        assert_eq!(capacity(&args(&[]), HOME), HOME);
    }

    #[test]
    fn limits_of_a_relay_that_is_none_are_refused() {
        let limits = |flags: &[&str]| {
            let args = args(flags);
            let program = Program::new(Role::Join, &args, |_| String::new());
            refuse_idle_limits(&args, &program)
        };
        let why = limits(&["--relay-sessions", "5"]).unwrap_err().to_string();
        assert!(why.contains("--relay-sessions") && why.contains("needs --relay"));
        assert!(limits(&["--relay-kbit", "5"]).is_err());
        assert!(limits(&["--relay", "--relay-sessions", "5"]).is_ok());
        assert!(limits(&[]).is_ok());
    }

    #[test]
    fn a_directory_that_no_socket_of_ours_can_reach_is_refused() {
        let key = nearside_tunnel::crypto::PublicKey([7; 32]);
        let refused = |address: &str, other: Option<&str>, ours: &[&str]| {
            let directory = DirectoryAddress {
                address: address.parse().unwrap(),
                other: other.map(|other| other.parse().unwrap()),
                key,
            };
            let ours: Vec<SocketAddr> = ours.iter().map(|own| own.parse().unwrap()).collect();
            refuse_other_families(&[directory], &ours).is_err()
        };
        assert!(refused("[::1]:4800", None, &["0.0.0.0:0"]));
        assert!(!refused("[::1]:4800", None, &["0.0.0.0:0", "[::]:0"]));
        assert!(refused("192.0.2.1:4800", None, &["[::]:0"]));
        assert!(!refused("192.0.2.1:4800", Some("[::1]:4800"), &["[::]:0"]));
    }

    #[test]
    fn ipv6_is_bound_as_ipv4_is() {
        let beside = |bind: &str| beside(bind.parse().unwrap()).map(|six| six.to_string());
        assert_eq!(beside("0.0.0.0:28001").as_deref(), Some("[::]:28001"));
        assert_eq!(beside("0.0.0.0:0").as_deref(), Some("[::]:0"));
        assert_eq!(beside("127.0.0.1:28001").as_deref(), Some("[::1]:28001"));
        assert_eq!(beside("127.0.0.5:28001"), None);
        assert_eq!(beside("192.0.2.1:28001"), None);
        assert_eq!(beside("[::]:28001"), None);
    }
}
