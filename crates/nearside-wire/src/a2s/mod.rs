//! A2S, the query protocol of Valve's engines and of many games beside them: INFO, PLAYER, RULES,
//! the challenge, and the three ways in which long answers are split.
//!
//! Little-endian throughout, texts end with NUL (Valve developer wiki, "Server queries").
//! Layouts with byte tables: `docs/wire/a2s.md`.

mod fragments;
mod inflate;
mod info;
mod players;
mod reassembler;
mod request;
mod response;
mod rules;
mod split;

pub use info::{
    Counts, Dialect, Environment, GoldSourceInfo, Info, Modification, ServerType, ShipMode,
    SourceInfo, Spectator,
};
pub use players::{Connected, Player, PlayerList, ShipScore};
pub use reassembler::{Assembled, Limits, Reassembler};
pub use request::{Challenge, Request};
pub use response::Response;
pub use rules::{Rule, RuleList};
pub use split::{Split, SplitForm, split};

/// The largest single datagram taken: Rust and DayZ servers send player lists and rules of many
/// kilobytes in one piece, up to what UDP can carry.
pub const MAX_DATAGRAM: usize = 65_535;

/// Message types, the byte after `FF FF FF FF`.
mod kind {
    pub(super) const INFO_REQUEST: u8 = 0x54;
    pub(super) const PLAYERS_REQUEST: u8 = 0x55;
    pub(super) const RULES_REQUEST: u8 = 0x56;
    pub(super) const CHALLENGE: u8 = 0x41;
    pub(super) const PLAYERS: u8 = 0x44;
    pub(super) const RULES: u8 = 0x45;
    pub(super) const SOURCE_INFO: u8 = 0x49;
    pub(super) const GOLDSOURCE_INFO: u8 = 0x6D;
}
