//! The two discovery papers of Grenville Armitage, both of 2008, table by table and figure by
//! figure: "Optimising online FPS game server discovery through clustering servers by origin
//! autonomous system" (NOSSDAV) and "Client-side adaptive search optimisation for online game
//! server discovery" (Networking).
//!
//! Figure 1 of each is a drawing of the protocol and is not made again.

mod conclusion;
mod contest;
mod conventional;
mod distribution;
mod markers;
mod optimised;
mod places;
mod published;
mod reordered;
mod traffic;

use crate::experiment::{Experiment, Name};

pub use conclusion::Conclusion;
pub(crate) use markers::Bulk;

/// The AS paper, as users name it.
pub const AS_CLUSTERS: &str = "armitage-as";
/// The country paper.
pub const COUNTRY_CLUSTERS: &str = "armitage-country";

/// Every table and figure of the AS paper, in its order.
pub fn as_clusters() -> Vec<Box<dyn Experiment>> {
    let name = |item| Name {
        paper: AS_CLUSTERS,
        item,
    };
    vec![
        Box::new(traffic::Traffic(name("table1"))),
        Box::new(conventional::Conventional::of_as(name("figure2"), "UK")),
        Box::new(conventional::Conventional::of_as(name("figure3"), "TW")),
        Box::new(distribution::Distribution(name("figure4"))),
        Box::new(optimised::Optimised::as_clusters(name("table2"))),
        Box::new(reordered::Reordered::of_as(name("figure5"), "AU")),
        Box::new(reordered::Reordered::of_as(name("figure6"), "JP")),
        Box::new(reordered::Reordered::of_as(name("figure7"), "UK")),
        Box::new(markers::Markers(name("section5"))),
    ]
}

/// Every table and figure of the country paper, in its order.
pub fn country_clusters() -> Vec<Box<dyn Experiment>> {
    let name = |item| Name {
        paper: COUNTRY_CLUSTERS,
        item,
    };
    let reordered = |item, label| -> Box<dyn Experiment> {
        Box::new(reordered::Reordered::of_country(name(item), label))
    };
    vec![
        Box::new(places::Places(name("table1"))),
        Box::new(conventional::Conventional::of_country(
            name("figure2"),
            "AU-ET",
        )),
        Box::new(conventional::Conventional::of_country(
            name("figure3"),
            "AU-CSS",
        )),
        reordered("figure4", "AU-ET"),
        reordered("figure5", "JP-ET"),
        reordered("figure6", "CH-ET"),
        reordered("figure7", "AU-CSS"),
        reordered("figure8", "JP-CSS"),
        reordered("figure9", "DE-CSS"),
        Box::new(optimised::Optimised::country_clusters(name("table2"))),
    ]
}
