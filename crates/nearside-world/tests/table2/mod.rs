//! Table 2 of both Armitage papers, and what runs in virtual time give for each of its lines.

use nearside_discover::planner::{PlannerConfig, PlannerKind};
use nearside_discover::prober::{Event, Prober};
use nearside_types::Rtt;
use nearside_world::virtual_time::Run;
use nearside_world::{Game, Population, WorldParams, generate};

/// Whose servers, and when.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Crowd {
    Css,
    CssFebruary,
    EnemyTerritory,
}

impl Crowd {
    const ALL: [Self; 3] = [Self::Css, Self::CssFebruary, Self::EnemyTerritory];

    pub(crate) fn game(self) -> Game {
        match self {
            Self::Css | Self::CssFebruary => Game::Css,
            Self::EnemyTerritory => Game::EnemyTerritory,
        }
    }

    pub(crate) fn population(self, params: &WorldParams, seed: u64) -> Population {
        let edition = match self {
            Self::Css | Self::EnemyTerritory => None,
            Self::CssFebruary => params.edition("february-2008"),
        };
        generate(edition.as_ref().unwrap_or(params), self.game(), None, seed)
    }
}

/// A line of the papers: `calibration` is all probes before the ranked list begins.
#[derive(Clone, Copy)]
pub(crate) struct Line {
    pub(crate) crowd: Crowd,
    pub(crate) client: &'static str,
    pub(crate) kind: PlannerKind,
    pub(crate) clusters: usize,
    pub(crate) calibration: f64,
    pub(crate) stop_percent: f64,
}

/// The same of one run, with the share it found of the servers whose base RTT is playable.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outcome {
    pub(crate) clusters: f64,
    pub(crate) calibration: f64,
    pub(crate) stop_percent: f64,
    pub(crate) recall_percent: f64,
}

const fn line(
    crowd: Crowd,
    client: &'static str,
    kind: PlannerKind,
    clusters: usize,
    calibration: f64,
    stop_percent: f64,
) -> Line {
    Line {
        crowd,
        client,
        kind,
        clusters,
        calibration,
        stop_percent,
    }
}

/// The AS paper, then the country paper: CS:S first.
pub(crate) const LINES: [Line; 12] = {
    use Crowd::{Css, CssFebruary, EnemyTerritory as Et};
    use PlannerKind::{As, Country};
    [
        line(CssFebruary, "AU", As, 1240, 3374.0, 14.8),
        line(Css, "DE", As, 1182, 3166.0, 97.3),
        line(Css, "JP", As, 1176, 3206.0, 31.3),
        line(Css, "TW", As, 1173, 3201.0, 29.0),
        line(Css, "UK", As, 1176, 3150.0, 97.8),
        line(Css, "USA", As, 1173, 3190.0, 99.1),
        line(Css, "AU", Country, 140, 2136.0, 12.0),
        line(Css, "JP", Country, 143, 1694.0, 28.0),
        line(Css, "DE", Country, 143, 2159.0, 98.0),
        line(Et, "AU", Country, 77, 396.0, 20.0),
        line(Et, "JP", Country, 77, 446.0, 36.0),
        line(Et, "CH", Country, 79, 492.0, 100.0),
    ]
};

/// What every line gives for a seed.
pub(crate) fn one_seed(params: &WorldParams, seed: u64) -> Vec<Outcome> {
    let worlds = Crowd::ALL.map(|crowd| crowd.population(params, seed));
    let outcome = |line: &Line| {
        let world = Crowd::ALL.iter().position(|&crowd| crowd == line.crowd);
        let world = &worlds[world.expect("all crowds are there")];
        run(params, world, line, seed)
    };
    LINES.iter().map(outcome).collect()
}

fn run(params: &WorldParams, world: &Population, line: &Line, seed: u64) -> Outcome {
    let game = line.crowd.game();
    let planner = PlannerConfig::published(line.kind);
    let run = Run {
        farm: params.farm(game),
        ..Run::new(world, line.client, game, planner, seed)
    };
    let client = world.client(line.client).expect("a built-in place");
    let is_near = |rtt: Rtt| rtt.as_millis_f64() < 200.0;
    let mut found = 0;
    let count = |_, _: &Prober, event| {
        if let Event::Answered(server) = event {
            let base = world.servers[server.index()].rtt[client];
            found += usize::from(base.is_some_and(is_near));
        }
    };
    let prober = run.discover(count).expect("a built-in place");
    let (plan, summary) = (prober.plan(), prober.summary());
    let near = world.rtts(client).filter(|&rtt| is_near(rtt)).count();
    Outcome {
        clusters: plan.clusters as f64,
        calibration: plan.calibration_probes as f64,
        stop_percent: 100.0 * summary.probes_sent as f64 / full_scan(world, client) as f64,
        recall_percent: 100.0 * found as f64 / near as f64,
    }
}

/// What conventional discovery sends: one request to each that answers, three to each silent one.
fn full_scan(world: &Population, client: usize) -> usize {
    let answering = world.answering(client);
    answering + 3 * (world.servers.len() - answering)
}

pub(crate) fn mean(outcomes: &[Outcome], value: impl Fn(&Outcome) -> f64) -> f64 {
    outcomes.iter().map(value).sum::<f64>() / outcomes.len() as f64
}
