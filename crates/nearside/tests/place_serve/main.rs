//! `nearside place serve` as a process, over real sockets.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(unreachable_pub, reason = "modules of one program")]

#[path = "../common/mod.rs"]
mod common;
mod http;
mod schema;
mod server;
mod sessions;
mod solving;
