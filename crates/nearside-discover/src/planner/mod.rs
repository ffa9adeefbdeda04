//! Planners decide which server to probe next and when to stop. They know servers only by id,
//! address and origin; how a probe is sent, retried and timed is the prober's business.
//!
//! A new planner is one file here that implements [`Planner`], plus a name in [`PlannerConfig`].

mod adaptive;
mod autostop;
mod calibration;
mod cluster_planner;
mod clusters;
mod config;
mod list_order;

use std::fmt;

use nearside_types::Rtt;
use serde::{Deserialize, Serialize};

pub use adaptive::{
    AdaptiveConfig, AdaptivePlanner, AsView, CountryView, Enough, Explanation, GroupView, Levels,
    Memory, Model, Objective, PerLevel, PlaceName, PlacesModel, RememberedGroup, RememberedServer,
    UnknownObjective, Verdict,
};
pub use autostop::{AutoStop, StopRule};
pub use calibration::{DrawRule, SampleSize};
pub use cluster_planner::{ClusterConfig, ClusterPlanner};
pub use clusters::{ClusterBy, ClusterKey};
pub use config::{PlannerConfig, PlannerKind, UnknownPlanner};
pub use list_order::ListOrder;
pub use nearside_types::Listed;

/// A server by its place in the merged list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ServerId(pub u32);

impl ServerId {
    /// The place in the list as an index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The id of the server at `index`; lists are capped far below 2³² servers.
    pub fn from_index(index: usize) -> Self {
        Self(u32::try_from(index).expect("lists are capped below 2^32 servers"))
    }
}

/// What became of a probe, after all its tries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// The server probed.
    pub server: ServerId,
    /// What it did.
    pub outcome: Outcome,
    /// Whether it passes the user's filters: not full, the right map, and so on. Distance is no
    /// part of it, since the planner judges that itself. Meaningful only for a server that answered.
    pub matches: bool,
}

/// What a probed server did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It answered; the lowest RTT over the legs of the exchange.
    Answered(Rtt),
    /// No try was answered.
    Silent,
    /// The network says that nothing listens there.
    Down,
}

/// What a planner wants next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Probe this server now. Probes of one phase are retried in rounds: all first tries, then all
    /// seconds, then all thirds; a new phase number starts rounds of its own.
    Probe {
        /// The server to probe, never one that was probed before.
        server: ServerId,
        /// The phase this probe belongs to.
        phase: u32,
    },
    /// Nothing until another sample or more of the list arrives.
    Wait,
    /// Probe no new server; replies in flight and outstanding retries are still completed.
    Done(StopReason),
}

/// Why discovery ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StopReason {
    /// The auto-stop rule of the papers fired: what is left is too far away.
    AutoStop,
    /// Every listed server was probed.
    Exhausted,
    /// A limit the user set was reached.
    Limit,
    /// The user asked to stop.
    Interrupted,
    /// The planner expects to miss too little to go on (the adaptive planner).
    Expected,
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AutoStop => "auto-stop",
            Self::Exhausted => "exhausted",
            Self::Limit => "limit",
            Self::Interrupted => "interrupted",
            Self::Expected => "expected",
        })
    }
}

/// What a planner is busy with, for the progress line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Activity {
    /// Waiting for the list to be whole.
    Listing,
    /// Probing a sample of each cluster.
    Calibrating,
    /// Probing one server of each part of a cluster that was too wide.
    Splitting,
    /// Probing in the planned order.
    Probing,
    /// Done; no new server will be probed.
    Finished,
}

impl fmt::Display for Activity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Listing => "listing",
            Self::Calibrating => "calibrating",
            Self::Splitting => "splitting",
            Self::Probing => "probing",
            Self::Finished => "finished",
        })
    }
}

/// What a planner can say about its work so far.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlanReport {
    /// What it is doing.
    pub activity: Activity,
    /// Clusters formed from the list, before any was split.
    pub clusters: usize,
    /// Clusters ranked in the end, after splits.
    pub ranked_clusters: usize,
    /// The first draw of the calibration, in the order it was asked for.
    pub calibration_draw: Vec<ServerId>,
    /// Servers probed to calibrate: the first draw, replacements of silent ones, and splits.
    pub calibration_probes: usize,
    /// RTT_bottom of the auto-stop rule, once its window is full.
    pub rtt_bottom: Option<Rtt>,
    /// Why it thought that it had enough, if that is why it stopped.
    pub verdict: Option<Verdict>,
    /// Playable servers it expects to miss if it stopped now; `None` if it cannot tell.
    pub expected_missed: Option<f64>,
    /// Servers it expects to be better than the k-th best found; `None` if it cannot tell.
    pub expected_better: Option<f64>,
    /// What became of the memory of an earlier run; `None` where there was none.
    pub memory: Option<MemoryFate>,
}

/// What became of a memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MemoryFate {
    /// It was planned with.
    Used,
    /// The first answers showed that the client is somewhere else now.
    Dropped,
}

impl PlanReport {
    /// The report of a planner that forms no clusters and predicts nothing.
    pub const fn of(activity: Activity) -> Self {
        Self {
            activity,
            clusters: 0,
            ranked_clusters: 0,
            calibration_draw: Vec::new(),
            calibration_probes: 0,
            rtt_bottom: None,
            verdict: None,
            expected_missed: None,
            expected_better: None,
            memory: None,
        }
    }
}

/// Decides what to probe next. Pure: the same calls in the same order give the same answers.
///
/// The prober calls [`servers_listed`](Self::servers_listed) as the list arrives,
/// [`list_complete`](Self::list_complete) once, [`next`](Self::next) whenever a probe may be sent,
/// and [`observe`](Self::observe) once for every probe, and also for servers it probed on its own
/// account before the list was complete (favourites), which the planner then never asks for.
pub trait Planner: fmt::Debug + Send {
    /// The name users choose it by.
    fn name(&self) -> &'static str;

    /// More of the list; ids go on where the last call ended. Not after the list was whole.
    fn servers_listed(&mut self, servers: &[Listed]);

    /// The list is whole.
    fn list_complete(&mut self);

    /// The next thing to do.
    fn next(&mut self) -> Next;

    /// What became of a probe.
    fn observe(&mut self, sample: Sample);

    /// The first try of a probe went unanswered for its whole timeout; more tries follow, and
    /// [`observe`](Self::observe) still tells the outcome.
    fn overdue(&mut self, _server: ServerId) {}

    /// Recalls an earlier run, before the list is whole.
    fn remember(&mut self, _memory: &Memory) {}

    /// What the next run may want to remember of this one.
    fn learned(&self) -> Vec<RememberedGroup> {
        Vec::new()
    }

    /// No more probes follow, whatever it thinks of that.
    fn cut_short(&mut self) {}

    /// What it believes and why it stopped, for planners that believe anything.
    fn explain(&self) -> Option<Explanation> {
        None
    }

    /// How far the work is.
    fn report(&self) -> PlanReport;
}
