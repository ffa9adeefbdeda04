//! One discovery in virtual time, by the engine of the live browser.

use std::collections::HashSet;

use nearside_discover::planner::{Activity, Listed, ServerId};
use nearside_discover::prober::{Event, Prober};
use nearside_types::{Moment, Rtt};
use nearside_world::farm::{Farm, FarmServer};
use nearside_world::virtual_time::discover;

use crate::method::Method;
use crate::record::{Phase, Probe, RunRecord, Timing};
use crate::scene::Scene;

/// Discovers the servers of a scene and puts it on record. The seed drives draws and luck.
pub fn run(scene: &Scene<'_>, method: &Method, seed: u64) -> RunRecord {
    let known = Known::to(method, scene);
    let conditions = scene.conditions;
    let servers = FarmServer::seen_from(scene.population, scene.client);
    let mut farm = Farm::new(conditions.farm(), servers, seed);
    let mut recorder = Recorder::default();
    let prober = discover(
        conditions.prober(seed),
        &method.planner(conditions),
        &known.list,
        &mut farm,
        |now, prober, event| recorder.event(now, prober, event),
    );
    RunRecord {
        seed,
        probes: known.in_the_population(recorder.probes),
        summary: prober.summary(),
        plan: prober.plan(),
    }
}

/// What a method knows of the servers when it begins: the list, and for the oracle, which of them
/// are worth a probe.
struct Known {
    list: Vec<Listed>,
    /// The place in the population of each; `None` where the list is the whole population.
    places: Option<Vec<usize>>,
}

impl Known {
    fn to(method: &Method, scene: &Scene<'_>) -> Self {
        match method {
            Method::Planner(_) => Self {
                list: scene.listed.to_vec(),
                places: None,
            },
            Method::Oracle => {
                let places = scene.playable();
                Self {
                    list: places.iter().map(|&place| scene.listed[place]).collect(),
                    places: Some(places),
                }
            }
        }
    }

    fn in_the_population(&self, mut probes: Vec<Probe>) -> Vec<Probe> {
        if let Some(places) = &self.places {
            for probe in &mut probes {
                probe.server = ServerId::from_index(places[probe.server.index()]);
            }
        }
        probes
    }
}

/// Writes down what the prober tells.
#[derive(Default)]
struct Recorder {
    probes: Vec<Probe>,
    /// Ordered probes have begun: they never give way to calibration again.
    ordered: bool,
    silent: HashSet<ServerId>,
}

impl Recorder {
    fn event(&mut self, now: Moment, prober: &Prober, event: Event) {
        match event {
            Event::Answered(server) => {
                let timing = self.timing(server);
                let rtt = prober.row(server).rtt_ms.map(Rtt::from_millis_f64);
                self.write(now, prober, server, rtt, timing);
            }
            Event::Unanswered(server) => {
                self.silent.insert(server);
                self.write(now, prober, server, None, Timing::InTime);
            }
        }
    }

    /// A server may answer after it was given up; its silence is then struck out.
    fn timing(&mut self, server: ServerId) -> Timing {
        if !self.silent.remove(&server) {
            return Timing::InTime;
        }
        self.probes.retain(|probe| probe.server != server);
        Timing::Late
    }

    fn write(
        &mut self,
        now: Moment,
        prober: &Prober,
        server: ServerId,
        rtt: Option<Rtt>,
        timing: Timing,
    ) {
        let phase = self.phase(prober);
        self.probes.push(Probe {
            server,
            chosen: prober.chosen(server).unwrap_or(now),
            settled: now,
            rtt,
            timing,
            phase,
            // Answers are told one by one, so what is not pending has been told.
            probed: self.probes.len() + 1 + prober.pending(),
        });
    }

    fn phase(&mut self, prober: &Prober) -> Phase {
        if !self.ordered {
            let activity = prober.plan().activity;
            self.ordered = !matches!(activity, Activity::Calibrating | Activity::Splitting);
        }
        match self.ordered {
            true => Phase::Ordered,
            false => Phase::Calibration,
        }
    }
}
