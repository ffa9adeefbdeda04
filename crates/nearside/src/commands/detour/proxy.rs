//! `nearside detour proxy`: beside a player. The game connects to a local port.

use std::net::Ipv4Addr;

use anyhow::{Result, anyhow};
use nearside_player::Role;

use crate::cli::DetourProxyArgs;
use crate::exit::{Exit, WorldFailure};

use super::line::{self, Program};

pub(super) fn run(args: &DetourProxyArgs) -> Result<Exit> {
    let game = args
        .to
        .resolve()
        .map_err(|error| anyhow!(WorldFailure(error)))?;
    let usual = (Ipv4Addr::LOCALHOST, game.port()).into();
    let listen = args.listen.unwrap_or(usual);
    let role = Role::Proxy { listen, game };
    let mut program = Program::new(role, &args.player, |player| match player.listens_at() {
        Some(at) => format!("connect the game to {at}"),
        None => String::new(),
    });
    program.detours = !args.no_detours;
    program.candidates = args.candidates;
    line::run(&args.player, program)
}
