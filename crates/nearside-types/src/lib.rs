//! The words every other crate speaks: addresses and prefixes, origin AS and country, round-trip
//! times and matrices of them, moments on a clock somebody else reads, and quantiles.
//!
//! No I/O, no clock, no randomness; units live in the types.

mod addr;
mod latency_matrix;
mod listed;
mod moment;
mod origin;
mod quantile;
mod rtt;

pub use addr::{AddrClass, ParseAddrError, ParsePrefixError, Prefix, PrefixLengths, ServerAddr};
pub use latency_matrix::LatencyMatrix;
pub use listed::Listed;
pub use moment::Moment;
pub use origin::{Asn, Country, Origin, ParseAsnError, ParseCountryError};
pub use quantile::{median, quantile};
pub use rtt::Rtt;
