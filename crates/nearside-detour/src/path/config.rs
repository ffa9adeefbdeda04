use std::time::Duration;

use nearside_types::Rtt;

use super::lag::LagConfig;

/// When a session takes which path.
#[derive(Debug, Clone, PartialEq)]
pub struct PathConfig {
    /// Another path must be quicker by this. Default 10 ms, as production systems do: below it, jitter
    /// makes sessions wander.
    pub margin: Rtt,
    /// A detour that saves less than this over the direct path is given up. Default 5 ms: half the
    /// margin, so that a path on the border does not flap.
    pub least_gain: Rtt,
    /// How many recent samples a path is judged by. Default 16.
    pub window: usize,
    /// Which of them counts, 0 to 1. Default 0.9: a game feels the late packets, not the mean.
    pub quantile: f64,
    /// Samples a path needs before it is used. Default 3, the first not counted.
    pub least_samples: usize,
    /// What a lost packet counts as. Default 2 s, as long as answers are waited for: below that, a path
    /// that is silent would be preferred to one that is slow.
    pub loss_counts_as: Rtt,
    /// Up to this share of the samples may be lost without counting. Default 0.15, two of sixteen: on a
    /// path that loses one packet in 500 that happens every few hours.
    pub tolerated_loss: f64,
    /// How often the active, the direct and the warm paths are measured. Default 1 s.
    pub warm_interval: Duration,
    /// How often all other candidates are. Default 30 s.
    pub cold_interval: Duration,
    /// Backups kept warm. Default 2.
    pub warm_backups: usize,
    /// Candidates measured at most. Default 32: K of the paper.
    pub most_candidates: usize,
    /// How long an answer may take. Default 2 s.
    pub patience: Duration,
    /// How long a relay that failed or lagged is not used. Default 5 minutes.
    pub veto: Duration,
    /// When a path lags.
    pub lag: LagConfig,
}

impl Default for PathConfig {
    fn default() -> Self {
        Self {
            margin: Rtt::from_micros(10_000),
            least_gain: Rtt::from_micros(5_000),
            window: 16,
            quantile: 0.9,
            least_samples: 3,
            loss_counts_as: Rtt::from_micros(2_000_000),
            tolerated_loss: 0.15,
            warm_interval: Duration::from_secs(1),
            cold_interval: Duration::from_secs(30),
            warm_backups: 2,
            most_candidates: 32,
            patience: Duration::from_secs(2),
            veto: Duration::from_secs(300),
            lag: LagConfig::default(),
        }
    }
}
