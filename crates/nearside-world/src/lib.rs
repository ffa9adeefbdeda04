//! Virtual Internets: populations of game servers with their round-trip times, read from files or
//! generated from a map of cities and cables, and how such servers and their masters answer.
//!
//! Opens no socket and reads no clock: the lab and the virtual-time driver move the bytes, bring the
//! moments and the seeds. The same seed gives the same world on every machine.

mod address_book;
mod addresses;
mod apportion;
mod cables;
mod chance;
mod cities;
pub mod farm;
mod fold;
mod fraction;
pub mod fuzzing;
mod generate;
mod lines;
mod params;
mod place;
mod population;
mod population_csv;
pub mod recorded;
pub mod virtual_time;

pub use address_book::AddressBook;
pub use chance::ProbeNoise;
pub use cities::country_position;
pub use fold::{FoldError, Folded, fold};
pub use fraction::{Fraction, NotAFraction};
pub use generate::{NoNetworks, generate, generate_from, generate_on};
pub use lines::LineFault;
pub use params::{Game, ParamsError, WorldParams};
pub use place::Position;
pub use population::{Population, WorldServer};
pub use population_csv::{HeaderFault, PopulationError, PopulationReader, RowFault};
