//! The paper's parameters, and the two ways of using them that are compared.

use std::time::Duration;

use nearside_coords::VivaldiConfig;
use nearside_detour::directory::{Ranking, Trust};
use nearside_detour::{ClientConfig, DirectoryConfig};
use nearside_types::Rtt;

use super::sweeps::Parameter;

/// What the paper varies (sections 5.2 and 6.2).
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// N: neighbours of each client. Default 32.
    pub neighbours: usize,
    /// K: relays that a client is offered and measures. Default 32.
    pub candidates: usize,
    /// P: pings of each client in matrix mode. Default 640.
    pub pings: usize,
    /// T: how often clients report. Default 60 s.
    pub report_interval: Duration,
    /// Δx and Δd of the paper's way. Default 64 ms.
    pub delta: Rtt,
    /// Δx and Δd of our way. Default: what the client's own defaults are.
    pub own_delta: Rtt,
    /// O: what a relay adds to a round trip. Default 10 ms, as section 6.2 reckons.
    pub overhead: Rtt,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            neighbours: 32,
            candidates: 32,
            pings: 640,
            report_interval: Duration::from_secs(60),
            delta: Rtt::from_micros(64_000),
            own_delta: ClientConfig::default().delta_d,
            overhead: Rtt::from_micros(10_000),
        }
    }
}

impl Settings {
    /// In words, for the first lines of a report.
    pub(super) fn words(&self) -> String {
        self.words_but(None)
    }

    /// The same where one parameter is varied.
    pub(super) fn words_of_sweep(&self, swept: Parameter) -> String {
        self.words_but(Some(swept))
    }

    fn words_but(&self, swept: Option<Parameter>) -> String {
        let value = |of: Parameter, name: &str, value: String| match swept == Some(of) {
            true => format!("{name} as below"),
            false => format!("{name} = {value}"),
        };
        let interval = format!("{} s", self.report_interval.as_secs_f64());
        let delta = format!(
            "{} ms (paper's way) and {} ms (ours)",
            self.delta.as_millis_f64(),
            self.own_delta.as_millis_f64()
        );
        format!(
            "{}, {}, {}, {}, {}, relay overhead {} ms.",
            value(Parameter::Neighbours, "N", self.neighbours.to_string()),
            value(Parameter::Candidates, "K", self.candidates.to_string()),
            value(Parameter::Pings, "P", self.pings.to_string()),
            value(Parameter::ReportInterval, "T", interval),
            value(Parameter::Delta, "Δx = Δd", delta),
            self.overhead.as_millis_f64()
        )
    }
}

/// Who looks for detours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// Equation 1, reports above 64 ms, the best of the candidates whatever it gains.
    Paper,
    /// The directory and the path session of this project as they come: mixed ranking, caps on
    /// relays, a detour only for 10 ms.
    Ours,
}

impl Way {
    pub(super) const ALL: [Self; 2] = [Self::Paper, Self::Ours];

    /// For legends and headings.
    pub(super) const fn label(self) -> &'static str {
        match self {
            Self::Paper => "IRS (paper)",
            Self::Ours => "nearside",
        }
    }

    /// For names of columns.
    pub(super) const fn column(self) -> &'static str {
        match self {
            Self::Paper => "irs",
            Self::Ours => "nearside",
        }
    }

    pub(super) const fn ranking(self) -> Ranking {
        match self {
            Self::Paper => Ranking::Likelihood,
            Self::Ours => Ranking::Mixed,
        }
    }

    pub(super) fn client(self, settings: &Settings) -> ClientConfig {
        let delta = match self {
            Self::Paper => settings.delta,
            Self::Ours => settings.own_delta,
        };
        let usual = ClientConfig::default();
        let interval = settings.report_interval;
        ClientConfig {
            delta_x: delta,
            delta_d: delta,
            report_interval: interval,
            // A sign of life carries what changed; with a long T it must not come before T.
            sign_of_life: usual.sign_of_life.max(interval * 2),
            refresh: usual.refresh.max(interval),
            ..usual
        }
    }

    /// A client to whom a recorded trace is replayed: others have chosen whom it measures and when, and
    /// had their reasons, so it takes every measurement for one.
    pub(super) fn replaying_client(self, settings: &Settings) -> ClientConfig {
        let usual = self.client(settings);
        ClientConfig {
            vivaldi: VivaldiConfig {
                // Most pairs of the paper's trace were measured once (section 6.1).
                skip_first: false,
                ..usual.vivaldi
            },
            most_neighbours: usize::MAX,
            ..usual
        }
    }

    pub(super) fn directory(self, settings: &Settings) -> DirectoryConfig {
        let usual = DirectoryConfig::default();
        let interval = settings.report_interval;
        let patient = DirectoryConfig {
            ranking: self.ranking(),
            neighbours: settings.neighbours,
            silence: usual.silence.max(interval * 7),
            edge_life: usual.edge_life.max(interval * 3),
            ..usual
        };
        match self {
            Self::Ours => patient,
            // The paper knows neither caps nor load, and believes everybody.
            Self::Paper => DirectoryConfig {
                trust: Trust::Everybody,
                sessions_per_relay: u16::MAX,
                ..patient
            },
        }
    }
}
