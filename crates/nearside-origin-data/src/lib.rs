//! The origin table that comes with the program: bytes, and nothing else.
//!
//! The data is licensed under CC BY 4.0 and asks for the attribution in [`ATTRIBUTION`] wherever its
//! answers are shown; NOTICE has the details. `cargo xtask origin-data` builds it anew, and
//! docs/origin.md describes the format, which `nearside_origin::compact::decode` reads.

/// The table in the compact format.
pub static ORIGIN: &[u8] = include_bytes!("../data/origin.bin");

/// What the licences ask to be said, in one line for `--version` and the like. A web page that shows
/// countries must also link to <https://db-ip.com>.
pub const ATTRIBUTION: &str = "Origin data (CC BY 4.0): RouteViews (routeviews.org), \
     Number Resource Organization (nro.net), IP Geolocation by DB-IP (https://db-ip.com)";
