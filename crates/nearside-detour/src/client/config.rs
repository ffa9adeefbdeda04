use std::time::Duration;

use nearside_coords::VivaldiConfig;
use nearside_types::Rtt;

/// How often a client measures and reports.
#[derive(Debug, Clone, PartialEq)]
pub struct ClientConfig {
    /// How its coordinate moves.
    pub vivaldi: VivaldiConfig,
    /// The interval between probes of a neighbour that is new or has just changed. Default 10 s.
    pub shortest_interval: Duration,
    /// The interval a stable neighbour's grows to. Default 1024 s: with 32 neighbours, one probe in
    /// 32 s, half of what the paper's clients send.
    pub longest_interval: Duration,
    /// What the interval is multiplied with while a leg stays the same. Default 2.
    pub growth: u32,
    /// Neighbours beyond which no more are taken on the directory's request. Default 48: the paper's 32,
    /// and half as many again.
    pub most_neighbours: usize,
    /// T of the paper. Default 60 s.
    pub report_interval: Duration,
    /// Δx: a coordinate that moved less is not reported. Default 16 ms, where the paper has 64.
    pub delta_x: Rtt,
    /// Δd: a leg that changed less is not reported. Default 16 ms, where the paper has 64: a
    /// report is about 200 bytes. On PlanetLab 8 to 512 ms gain the same with our ranking, and 16 ms
    /// costs 5 % more messages than 64 (docs/evaluation.md); equation 1 gains from smaller ones.
    pub delta_d: Rtt,
    /// A leg is reported again after this long even if it did not change, since the directory forgets
    /// what nobody says. Default 15 minutes.
    pub refresh: Duration,
    /// The directory hears something at least this often. Default 120 s: two may get lost before it
    /// takes the client for gone.
    pub sign_of_life: Duration,
}

impl Default for ClientConfig {
    fn default() -> Self {
        Self {
            vivaldi: VivaldiConfig::default(),
            shortest_interval: Duration::from_secs(10),
            longest_interval: Duration::from_secs(1024),
            growth: 2,
            most_neighbours: 48,
            report_interval: Duration::from_secs(60),
            delta_x: Rtt::from_micros(16_000),
            delta_d: Rtt::from_micros(16_000),
            refresh: Duration::from_secs(15 * 60),
            sign_of_life: Duration::from_secs(120),
        }
    }
}

impl ClientConfig {
    /// The thresholds of the paper's deployment: Δx = Δd = 64 ms (section 5.2).
    pub fn published() -> Self {
        Self {
            delta_x: Rtt::from_micros(64_000),
            delta_d: Rtt::from_micros(64_000),
            ..Self::default()
        }
    }
}
