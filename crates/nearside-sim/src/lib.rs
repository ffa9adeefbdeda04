//! Experiments in virtual Internets: discoveries by many methods on the same instances, scored
//! against what is true there, and set beside what the papers report.
//!
//! Drives the engines of the live browser in virtual time. Reads no clock and opens no socket or
//! file; the same seeds give the same results at any number of threads.
//!
//! - [`run`]: one discovery, on record.
//! - [`Score`]: what a run was worth.
//! - [`compare`]: many methods, clients and seeds.
//! - [`experiment`]: what tables and figures of papers are made of; [`armitage`] has those of the
//!   two discovery papers, [`tradeoff`] the study they leave to future work, [`lee`] those of the
//!   paper on server selection.
//! - [`ly`]: rankings and coordinates of the detour system on recorded matrices.

pub mod armitage;
mod batch;
mod catalogue;
pub mod compare;
pub mod experiment;
mod hindsight;
mod labels;
pub mod lee;
pub mod ly;
mod method;
mod record;
mod run;
mod scene;
mod score;
mod seeds;
pub mod tradeoff;

pub use batch::{NoThreads, Progress, Unwatched, with_threads};
pub use catalogue::{Volume, catalogue, everything};
pub use hindsight::{Cut, Stop};
pub use labels::{Label, UnknownLabel, mislabel, unlabel};
pub use method::{Method, UnknownMethod};
pub use record::{Phase, Probe, RunRecord, Timing};
pub use run::run;
pub use scene::{Conditions, Scene, UnknownClient, World};
pub use score::{BestScore, Score};
pub use seeds::{ParseSeedsError, Seeds};
