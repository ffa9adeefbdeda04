//! The project's own tools, run as `cargo xtask <task>`.

fn main() {}
