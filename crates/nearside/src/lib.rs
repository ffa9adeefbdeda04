//! The binary's parts: commands and faces. Engines decide, `nearside-net` moves bytes; here are
//! flags, files, tables and exit codes.

pub mod cli;
pub mod commands;
pub mod exit;
pub mod faces;
pub mod fleet;
pub mod games;
pub mod lab;
pub mod memory;
pub mod origins;
pub mod worlds;
