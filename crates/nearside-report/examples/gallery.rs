//! Every kind of part in one page, to be looked at:
//! `cargo run -p nearside-report --example gallery > gallery.html`.
#![allow(clippy::print_stdout, reason = "what it prints is the page")]

#[path = "../tests/gallery/mod.rs"]
mod gallery;

fn main() {
    print!("{}", nearside_report::html::render(&gallery::page()));
}
