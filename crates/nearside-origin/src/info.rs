//! The answer to "where does this address come from?", with who said so.

use std::fmt;
use std::time::Duration;

use nearside_types::{Asn, Country, Origin, Prefix};
use serde::Serialize;

/// What is known of an address, and who spoke.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OriginInfo {
    /// The AS that announces the address.
    pub asn: Option<Asn>,
    /// The country the address is used in.
    pub country: Option<Country>,
    /// The largest network around the address on which `source` gives one answer. Tables merge
    /// neighbouring networks of one AS, so it may be shorter than any announced prefix.
    pub prefix: Option<Prefix>,
    /// Who spoke for the AS, or for the country where nobody knows the AS.
    pub source: Option<SourceKind>,
    /// How old that source's data is, where it has a date.
    pub age: Option<Duration>,
}

impl OriginInfo {
    /// The AS and the country alone, as planners take them.
    pub fn origin(self) -> Origin {
        Origin {
            asn: self.asn,
            country: self.country,
        }
    }
}

/// A kind of source, the most trusted first: the order in which a [`Stack`](crate::Stack) asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SourceKind {
    /// The operator's own word for some networks.
    Override,
    /// Routes of a live BGP session.
    Bgp,
    /// A dump of a routing table.
    Mrt,
    /// A table the operator or the user installed.
    File,
    /// The table built into the program.
    Embedded,
}

impl SourceKind {
    /// The name in output and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Override => "override",
            Self::Bgp => "bgp",
            Self::Mrt => "mrt",
            Self::File => "file",
            Self::Embedded => "embedded",
        }
    }
}

impl fmt::Display for SourceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
