//! `nearside detour expose`: beside a game server.

use anyhow::Result;
use nearside_player::Role;

use crate::cli::DetourExposeArgs;
use crate::exit::Exit;

use super::line::{self, Program};

pub(super) fn run(args: &DetourExposeArgs) -> Result<Exit> {
    let role = Role::Expose {
        game: Some(args.game),
        exits: Vec::new(),
    };
    let mut program = Program::new(role, &args.player, |player| {
        format!("players reach the game server through {}", player.address())
    });
    program.exposes = Some(args.public_port.unwrap_or(args.game.port()));
    line::run(&args.player, program)
}
