//! Discovery without a calibration phase: every answer changes what is believed of its country, AS,
//! network, subnet and machine, and each next probe goes where it promises most.
//!
//! ```text
//!        ┌── ask ◀── choice ◀── groups with chances ◀── renew ──┐
//!        ▼                                                     │
//!     prober ──▶ observe ──▶ evidence of the server's groups ──┤
//!                        └─▶ places (Gaussian process) ────────┘
//! ```
//!
//! A server is asked for at most once, so the planner never sends more probes than conventional
//! discovery. `docs/planner.md` tells the whole story.

mod belief;
mod choice;
mod config;
mod evidence;
mod explain;
mod glimpse;
mod memory;
mod outlook;
mod places;
mod record;
mod scale;
mod size;
mod tree;
mod waiting;

use std::collections::VecDeque;

use nearside_types::Rtt;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

pub use config::{
    AdaptiveConfig, Enough, Levels, Model, Objective, PerLevel, PlacesModel, UnknownObjective,
};
pub use explain::{AsView, CountryView, Explanation, GroupView};
pub use memory::{Memory, RememberedGroup, RememberedServer};
pub use outlook::Verdict;

use self::belief::{Beliefs, Group};
use self::memory::Trial;
use self::outlook::Outlook;
use self::record::TrackRecord;
use self::scale::z_of;
pub use self::tree::PlaceName;
use self::tree::{ROOT, Tree};
use self::waiting::Waiting;
use super::{Activity, Listed, MemoryFate, Next, Outcome, PlanReport};
use super::{Planner, Sample, ServerId, StopReason};

/// The adaptive planner. See the module.
#[derive(Debug)]
pub struct AdaptivePlanner {
    config: AdaptiveConfig,
    rng: ChaCha8Rng,
    /// The list, until it is whole and has become the tree.
    listing: Vec<Listed>,
    /// What was probed before the list was whole.
    early: Vec<Sample>,
    states: Vec<State>,
    tree: Tree,
    beliefs: Beliefs,
    /// How many corners the list has, as [`Enough::look`] counts them.
    corners: f32,
    /// What the last decision chose from, in the order of the tree.
    groups: Vec<Group>,
    outlook: Outlook,
    /// What to recall when the list is whole.
    memory: Option<Memory>,
    trial: Option<Trial>,
    memory_fate: Option<MemoryFate>,
    tally: Tally,
    record: TrackRecord,
    /// The best matching RTTs so far, ascending, at most `config.best`.
    best: Vec<Rtt>,
    /// Whether servers beyond the RTT to stop at count among the best, for want of others.
    widened: bool,
    queue: VecDeque<ServerId>,
    waiting: Waiting,
    /// Decisions so far: the phase of the probes of each.
    decisions: u32,
    stage: Stage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Unprobed,
    Asked,
    /// Asked, and many who were asked later have answered.
    Overtaken,
    /// Asked, and its first try went unanswered.
    Overdue,
    Settled,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Listing,
    Probing,
    Stopped(StopReason, Option<Verdict>),
}

#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    pending: usize,
    answered: usize,
    matching: usize,
    silent: usize,
    playable: usize,
}

impl Tally {
    /// The share of servers that answer at all; before anything is known, one in seventeen does
    /// not, as in the papers (Table 1 of the AS paper).
    fn alive(&self) -> f64 {
        (self.answered as f64 + 16.0) / ((self.answered + self.silent) as f64 + 17.0)
    }

    /// The share of servers that pass the user's filters; before anything is known, all.
    fn matching(&self) -> f64 {
        (self.matching as f64 + 1.0) / (self.answered as f64 + 1.0)
    }
}

/// A third of a second at 140 probes a second.
const LEAST_LOOK: usize = 50;

impl AdaptivePlanner {
    /// A planner with these settings; `seed` decides which of equally promising servers is asked.
    pub fn new(config: AdaptiveConfig, seed: u64) -> Self {
        Self {
            config,
            rng: ChaCha8Rng::seed_from_u64(seed),
            listing: Vec::new(),
            early: Vec::new(),
            states: Vec::new(),
            tree: Tree::default(),
            beliefs: Beliefs::default(),
            corners: 0.0,
            groups: Vec::new(),
            outlook: Outlook::default(),
            memory: None,
            trial: None,
            memory_fate: None,
            tally: Tally::default(),
            record: TrackRecord::default(),
            best: Vec::new(),
            widened: false,
            queue: VecDeque::new(),
            waiting: Waiting::default(),
            decisions: 0,
            stage: Stage::Listing,
        }
    }

    /// Turns the list into groups. What was probed before (favourites) is taken in.
    fn plan(&mut self) {
        let listing = std::mem::take(&mut self.listing);
        let (levels, model) = (&self.config.levels, &self.config.model);
        self.tree = Tree::build(&listing, levels, &model.prior, &mut self.rng);
        self.beliefs = Beliefs::new(&self.tree, model);
        self.corners = self.tree.corners();
        self.stage = Stage::Probing;
        // The memory comes first, so that what was probed already counts in its trial.
        if let Some(memory) = self.memory.take() {
            self.memory_fate = Some(MemoryFate::Used);
            self.recall(&memory, &listing);
        }
        for sample in std::mem::take(&mut self.early) {
            self.tree.take(sample.server);
            self.take_in(sample);
        }
    }

    /// The z below which a server is among the best: that of the k-th best matching one, while there
    /// are fewer that of the RTT to stop at. Only who wants the best and nothing else may get some
    /// that are farther away, unless there is a limit to that.
    fn z_best(&self) -> f32 {
        let stop = self.config.rtt_stop;
        let kth = self.best.get(self.config.best.saturating_sub(1)).copied();
        let aim = match (self.config.objective, kth) {
            (Objective::Best, Some(kth)) => kth,
            (Objective::Best, None) if self.widened => Rtt::from_micros(u32::MAX),
            (_, kth) => kth.unwrap_or(stop).min(stop),
        };
        z_of(aim.min(self.config.farthest.unwrap_or(aim)))
    }

    /// One decision: renews the beliefs, looks whether it is enough, and queues the next probes.
    fn decide(&mut self) {
        if self.tree.node(ROOT).unprobed == 0 {
            self.groups.clear();
            self.outlook = Outlook::default();
            self.stage = Stage::Stopped(StopReason::Exhausted, None);
            return;
        }
        self.overtake();
        self.look_out();
        if self.wants_more_than_playable() {
            self.widened = true;
            self.look_out();
        }
        let config = &self.config;
        let verdict = self
            .outlook
            .verdict(config.objective, &config.enough, self.tally.playable)
            .filter(|_| self.has_looked() && !self.looks_on());
        match verdict {
            Some(verdict) => self.stop_if_idle(verdict),
            None => {
                self.choose();
                self.decisions += 1;
                if self.queue.is_empty() {
                    self.stop_if_idle(Verdict::not_worth_it(self.config.objective));
                }
            }
        }
    }

    /// Renews the beliefs, and what is still to be expected.
    fn look_out(&mut self) {
        self.groups.clear();
        let model = &self.config.model;
        let alive = self.tally.alive() as f32;
        self.beliefs.aim(z_of(self.config.rtt_stop), self.z_best());
        self.beliefs
            .renew(&self.tree, model, alive, &self.record, |group| {
                self.groups.push(group);
            });
        let matching = self.tally.matching();
        self.outlook = Outlook::over(&self.groups, model, &self.record, matching);
    }

    /// Better servers that are to be told of. The best are looked for more widely than the playable
    /// ones are counted (see `places`); but a better server is a playable one, unless farther ones
    /// count too.
    fn expected_better(&self) -> f64 {
        match self.widened {
            true => self.outlook.better,
            false => self.outlook.better.min(self.outlook.missed),
        }
    }

    /// Whether fewer than the k best were found although hardly a playable one is left: then farther
    /// ones count too.
    fn wants_more_than_playable(&self) -> bool {
        self.may_widen() && self.outlook.better < f64::from(self.config.enough.better)
    }

    /// Whether fewer than the k best were found, and farther ones are wanted for want of others. Who
    /// named a limit wants none of them.
    fn may_widen(&self) -> bool {
        !self.widened
            && self.config.farthest.is_none()
            && self.config.objective == Objective::Best
            && self.best.len() < self.config.best
            && self.has_looked()
    }

    /// Whether enough was probed to judge: a prior alone is no reason to tell a user with a short
    /// list, or with high demands, that nothing is there.
    fn has_looked(&self) -> bool {
        self.tally.answered + self.tally.silent >= LEAST_LOOK
    }

    /// Whether there are corners of the list left that are worth a look, and it has looked at few.
    fn looks_on(&self) -> bool {
        let enough = &self.config.enough;
        let tried = self.tally.answered + self.tally.silent;
        self.config.objective != Objective::Best
            && (tried as f32) < enough.look * self.corners
            && self.outlook.worth >= enough.look_worth
    }

    /// The fewest playable servers for which a probe is sent.
    fn least_worth(&self) -> f32 {
        match self.looks_on() {
            true => self.config.enough.look_worth,
            false => {
                let enough = &self.config.enough;
                self.outlook.least_worth(enough, self.tally.playable)
            }
        }
    }

    /// An answer on its way may still change the mind, and so may spot checks.
    fn stop_if_idle(&mut self, verdict: Verdict) {
        if self.tally.pending > 0 {
            return;
        }
        // Some may be left below the RTT to stop at, but nowhere in particular.
        if self.may_widen() {
            self.widened = true;
            return self.decide();
        }
        self.spot_check();
        if self.queue.is_empty() {
            self.stage = Stage::Stopped(StopReason::Expected, Some(verdict));
        }
    }

    fn ask(&mut self, server: ServerId) {
        self.states[server.index()] = State::Asked;
        self.tree.take(server);
        self.tree.count(server, |node| node.pending += 1);
        let Tally {
            answered, pending, ..
        } = self.tally;
        self.waiting.ask(server, answered, pending);
        self.tally.pending += 1;
        self.queue.push_back(server);
    }

    /// The next queued server that nobody has settled meanwhile.
    fn take_queued(&mut self) -> Option<ServerId> {
        while let Some(server) = self.queue.pop_front() {
            if self.states[server.index()] != State::Settled {
                return Some(server);
            }
        }
        None
    }

    /// Lets nobody wait any longer for those who were overtaken. Their answers still count, and the
    /// planner does not stop before they are in.
    fn overtake(&mut self) {
        while let Some(server) = self.next_overtaken() {
            self.states[server.index()] = State::Overtaken;
            self.hold_up_no_longer(server);
        }
    }

    fn next_overtaken(&mut self) -> Option<ServerId> {
        let states = &self.states;
        let waits = |server: ServerId| states[server.index()] == State::Asked;
        self.waiting.overtaken(self.tally.answered, waits)
    }

    fn hold_up_no_longer(&mut self, server: ServerId) {
        self.tree.count(server, |node| {
            node.pending -= 1;
            node.returned += 1;
        });
    }

    /// Learns from the outcome of a server that is no longer pending.
    fn take_in(&mut self, sample: Sample) {
        let Outcome::Answered(rtt) = sample.outcome else {
            self.tally.silent += 1;
            self.record.settle(sample.server, None);
            self.tree.count(sample.server, |node| node.silent += 1);
            return;
        };
        let playable = rtt < self.config.rtt_stop;
        self.settle_bet(sample.server, z_of(rtt));
        self.tally.answered += 1;
        self.tally.playable += usize::from(playable);
        self.tree.count(sample.server, |node| {
            node.answered += 1;
            node.playable += u32::from(playable);
        });
        if sample.matches {
            self.tally.matching += 1;
            self.keep_if_best(rtt);
        }
        self.learn(sample, rtt);
    }

    /// Enters into the books what came of the bet on a server that answered.
    fn settle_bet(&mut self, server: ServerId, z: f32) {
        let model = &self.config.model;
        let playable = self.beliefs.truly_playable(&self.tree, model, server, z);
        self.record.settle(server, Some((z, playable)));
    }

    fn keep_if_best(&mut self, rtt: Rtt) {
        let at = self.best.partition_point(|&other| other <= rtt);
        if at < self.config.best {
            self.best.truncate(self.config.best - 1);
            self.best.insert(at, rtt);
        }
    }
}

impl Planner for AdaptivePlanner {
    fn name(&self) -> &'static str {
        "adaptive"
    }

    fn servers_listed(&mut self, servers: &[Listed]) {
        if self.stage != Stage::Listing {
            return;
        }
        self.listing.extend_from_slice(servers);
        self.states.resize(self.listing.len(), State::Unprobed);
    }

    fn list_complete(&mut self) {
        if self.stage == Stage::Listing {
            self.plan();
        }
    }

    fn next(&mut self) -> Next {
        let mut queued = self.take_queued();
        if queued.is_none() && self.stage == Stage::Probing {
            self.decide();
            queued = self.queue.pop_front();
        }
        match (queued, self.stage) {
            (Some(server), _) => Next::Probe {
                server,
                phase: self.decisions,
            },
            (None, Stage::Stopped(reason, _)) => Next::Done(reason),
            (None, Stage::Listing | Stage::Probing) => Next::Wait,
        }
    }

    fn overdue(&mut self, server: ServerId) {
        let Some(state) = self.states.get_mut(server.index()) else {
            return;
        };
        let before = *state;
        if matches!(before, State::Asked | State::Overtaken) {
            *state = State::Overdue;
            self.tally.pending -= 1;
        }
        if before == State::Asked {
            self.hold_up_no_longer(server);
        }
    }

    fn observe(&mut self, sample: Sample) {
        self.overdue(sample.server);
        let Some(state) = self.states.get_mut(sample.server.index()) else {
            return;
        };
        let before = std::mem::replace(state, State::Settled);
        match before {
            State::Settled => {}
            State::Unprobed if self.stage == Stage::Listing => self.early.push(sample),
            State::Unprobed => {
                self.tree.take(sample.server);
                self.take_in(sample);
            }
            State::Asked | State::Overtaken | State::Overdue => self.take_in(sample),
        }
    }

    fn remember(&mut self, memory: &Memory) {
        self.memory = Some(memory.clone());
    }

    fn learned(&self) -> Vec<RememberedGroup> {
        self.learned()
    }

    fn explain(&self) -> Option<Explanation> {
        Some(self.explanation())
    }

    fn cut_short(&mut self) {
        // Answers may have come since the last decision, and none follows.
        if self.stage == Stage::Probing && self.decisions > 0 {
            self.look_out();
        }
    }

    fn report(&self) -> PlanReport {
        let (activity, verdict) = match self.stage {
            Stage::Listing => (Activity::Listing, None),
            Stage::Probing => (Activity::Probing, None),
            Stage::Stopped(_, verdict) => (Activity::Finished, verdict),
        };
        PlanReport {
            verdict,
            memory: self.memory_fate,
            expected_missed: self.can_tell().then_some(self.outlook.missed),
            expected_better: self.can_tell().then(|| self.expected_better()),
            ..PlanReport::of(activity)
        }
    }
}
