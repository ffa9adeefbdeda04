//! `nearside detour join`: a client of the directory, and a relay if the user wants.

use anyhow::{Result, anyhow};
use nearside_player::Role;
use nearside_tunnel::messages::Capacity;

use crate::cli::{DetourJoinArgs, GameWord};
use crate::exit::{Exit, WorldFailure};

use super::line::{self, Program};

pub(super) fn run(args: &DetourJoinArgs) -> Result<Exit> {
    let exits: Result<Vec<_>, String> = args.exit.iter().map(GameWord::resolve).collect();
    let exits = exits.map_err(|error| anyhow!(WorldFailure(error)))?;
    let role = match exits.is_empty() {
        true => Role::Join,
        false => Role::Expose {
            game: None,
            exits: exits.clone(),
        },
    };
    let mut program = Program::new(role, &args.player, |player| {
        format!("joining from {}", player.address())
    });
    if args.relay_only {
        program.relaying = Some(line::capacity(&args.player, SERVER));
    }
    program.exits = exits;
    line::run(&args.player, program)
}

/// What a server's line carries.
const SERVER: Capacity = Capacity {
    sessions: 500,
    packets: 50_000,
    kilobits: 100_000,
};
