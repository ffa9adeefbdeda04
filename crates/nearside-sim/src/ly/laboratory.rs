//! What the experiments of this paper share: a network, settings, and emulations that are run once.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use nearside_world::recorded::Series;

use super::emulation::{Emulation, Log};
use super::network::{Network, Source};
use super::sessions::{Company, sessions};
use super::settings::{Settings, Way};
use super::sweeps::Parameter;
use crate::batch::{Progress, parallel};
use crate::experiment::{Setup, Size};

/// Where and how experiments are made.
#[derive(Debug)]
pub struct Laboratory {
    /// The network.
    pub source: Source,
    /// The paper's parameters.
    pub settings: Settings,
    /// Labelled series for the lag detector, if there are any.
    pub series: Vec<Series>,
    /// Figures 6 to 9 look at the same runs.
    emulated: Mutex<Vec<(Setup, Arc<Emulated>)>>,
}

/// The emulations of a setup: for each way of looking for detours, a log for each seed.
#[derive(Debug)]
pub(super) struct Emulated {
    paper: Vec<Log>,
    ours: Vec<Log>,
}

/// Whose round trips are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Who {
    /// Without detours: the baseline.
    Direct,
    /// With those that somebody found.
    Finds(Way),
    /// With the best there are.
    Oracle,
}

impl Who {
    pub(super) const ALL: [Self; 4] = [
        Self::Direct,
        Self::Finds(Way::Paper),
        Self::Finds(Way::Ours),
        Self::Oracle,
    ];

    /// Those that differ from the baseline.
    pub(super) const WITH_DETOURS: [Self; 3] = [
        Self::Finds(Way::Paper),
        Self::Finds(Way::Ours),
        Self::Oracle,
    ];

    pub(super) const fn label(self) -> &'static str {
        match self {
            Self::Direct => "direct (current)",
            Self::Finds(way) => way.label(),
            Self::Oracle => "oracle",
        }
    }

    pub(super) const fn column(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Finds(way) => way.column(),
            Self::Oracle => "oracle",
        }
    }
}

/// Clients measure for so long before the first session.
pub(super) const WARM_UP: Duration = Duration::from_secs(600);

/// How long an emulation lasts: as long as the paper's or the trace, or long enough to show that it
/// works.
pub(super) fn length(network: &Network, size: Size) -> Duration {
    let usual = match size {
        Size::Full => Duration::from_secs(9 * 3600),
        Size::Quick => Duration::from_secs(40 * 60),
    };
    network.run_length(size, usual)
}

impl Laboratory {
    /// A laboratory in which nothing was run yet.
    pub fn new(source: Source, settings: Settings) -> Self {
        Self {
            source,
            settings,
            series: Vec::new(),
            emulated: Mutex::default(),
        }
    }

    /// What a reader must know of any experiment here.
    pub(super) fn words(&self) -> String {
        self.words_with(&self.settings)
    }

    /// The same of an experiment that takes the first seed's network for all seeds.
    pub(super) fn words_of_first(&self, setup: &Setup) -> String {
        let source = &self.source;
        let network = source.words_of_first(setup.seeds.first());
        self.words_about(&network, &self.settings.words())
    }

    /// The same of a sweep, which says nothing of the parameter that it varies.
    pub(super) fn words_of_sweep(&self, settings: &Settings, swept: Parameter) -> String {
        self.words_about(&self.source.words(), &settings.words_of_sweep(swept))
    }

    /// The same of an experiment that has some settings of its own.
    pub(super) fn words_with(&self, settings: &Settings) -> String {
        self.words_about(&self.source.words(), &settings.words())
    }

    fn words_about(&self, network: &str, settings: &str) -> String {
        format!("{network} {settings} {}", self.source.evidence_words())
    }

    /// The same of an emulation in time, which may end before a trace does.
    pub(super) fn words_in_time(&self, setup: &Setup) -> String {
        let network = self.source.network(setup.size, setup.seeds.first());
        let length = length(&network, setup.size);
        self.words() + &network.left_out_words(length)
    }

    /// The emulations of a setup, run now or before.
    pub(super) fn emulated(&self, setup: &Setup, progress: &dyn Progress) -> Arc<Emulated> {
        // A run that panicked has left nothing half done in here.
        let mut known = self.emulated.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, found)) = known.iter().find(|(of, _)| of == setup) {
            return Arc::clone(found);
        }
        let new = Arc::new(self.emulate(setup, progress));
        known.push((setup.clone(), Arc::clone(&new)));
        new
    }

    fn emulate(&self, setup: &Setup, progress: &dyn Progress) -> Emulated {
        let seeds = setup.seeds.as_slice();
        let jobs: Vec<(Way, u64)> = Way::ALL
            .iter()
            .flat_map(|way| seeds.iter().map(|seed| (*way, *seed)))
            .collect();
        progress.expect(jobs.len());
        let mut logs = parallel(&jobs, |(way, seed)| {
            let network = self.source.network(setup.size, *seed);
            let length = length(&network, setup.size);
            let sessions = sessions(network.nodes(), Company::Usual, WARM_UP, length, *seed);
            let log = Emulation {
                network: &network,
                settings: &self.settings,
                way: *way,
                sessions: &sessions,
                length,
                seed: *seed,
            }
            .run();
            progress.done();
            log
        });
        let ours = logs.split_off(seeds.len());
        Emulated { paper: logs, ours }
    }
}

impl Emulated {
    /// The logs of one way, seed by seed.
    pub(super) fn logs(&self, way: Way) -> &[Log] {
        match way {
            Way::Paper => &self.paper,
            Way::Ours => &self.ours,
        }
    }

    /// The logs in which somebody's round trips stand: the baseline and the oracle are in all.
    pub(super) fn of(&self, who: Who) -> &[Log] {
        match who {
            Who::Finds(way) => self.logs(way),
            Who::Direct | Who::Oracle => &self.ours,
        }
    }
}

impl Log {
    /// Session RTTs in milliseconds: the highest from any player to the host (section 5.2).
    pub(super) fn session_rtts(&self, who: Who) -> Vec<f64> {
        let rtt = |journey: &super::journey::Journey| match who {
            Who::Direct => journey.direct,
            Who::Finds(_) => journey.taken,
            Who::Oracle => journey.oracle,
        };
        let sessions = self.sessions.iter();
        sessions
            .map(|journeys| journeys.iter().map(rtt).fold(0.0, f64::max))
            .collect()
    }

    /// By how much each session's RTT fell, in milliseconds.
    pub(super) fn reductions(&self, who: Who) -> Vec<f64> {
        let direct = self.session_rtts(Who::Direct);
        let with = self.session_rtts(who);
        direct.iter().zip(with).map(|(d, w)| d - w).collect()
    }
}
