//! Algorithm 1 of both papers: cluster, calibrate, split what is too wide, rank, probe near first;
//! with Algorithm 2 (auto-stop) on top.
//!
//! ```text
//! Listing ─ list_complete ─▶ Calibrating ─▶ Splitting ─▶ Ranked ─▶ Stopped
//! ```
//!
//! Each arrow is taken when everything asked for has been observed. A server is asked for at most
//! once, so the planner never sends more probes than conventional discovery.

use std::collections::VecDeque;

use nearside_types::{PrefixLengths, Rtt};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use super::autostop::{AutoStop, StopRule};
use super::calibration::{DrawRule, SampleSize, centre_and_spread, distinct_prefixes, draw_order};
use super::clusters::{ClusterBy, group, group_members};
use super::{Activity, Listed, Next, Outcome, PlanReport, Planner, Sample, ServerId, StopReason};

/// Every parameter of Algorithms 1 and 2.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ClusterConfig {
    /// What makes a cluster.
    pub cluster_by: ClusterBy,
    /// How many members are sampled.
    pub sample_size: SampleSize,
    /// What to do when a cluster has fewer /16s than samples.
    pub draw: DrawRule,
    /// The prefix a wide cluster is split by: /16 in the papers.
    pub split_prefix: PrefixLengths,
    /// A cluster is split when P80 − P20 of its samples is above this: 40 ms in the papers.
    pub split_above: Rtt,
    /// Auto-stop, or `None` to probe everything in ranked order.
    pub stop: Option<StopRule>,
    /// The RTT auto-stop waits for: 200 ms in the papers.
    pub rtt_stop: Rtt,
    /// Probes of the ranked list that are retried together.
    pub stretch: u32,
}

impl ClusterConfig {
    /// The published parameters.
    pub const fn published(cluster_by: ClusterBy) -> Self {
        Self {
            cluster_by,
            sample_size: SampleSize::SquareRoot,
            draw: DrawRule::GoRound,
            split_prefix: PrefixLengths { v4: 16, v6: 32 },
            split_above: Rtt::from_micros(40_000),
            stop: Some(StopRule::PUBLISHED),
            rtt_stop: Rtt::from_micros(200_000),
            stretch: 100,
        }
    }
}

/// Discovery by clusters. See the module for the stages.
#[derive(Debug)]
pub struct ClusterPlanner {
    name: &'static str,
    config: ClusterConfig,
    seed: u64,
    servers: Vec<Listed>,
    states: Vec<ServerState>,
    /// The cluster each server is in now.
    cluster_of: Vec<u32>,
    clusters: Vec<Cluster>,
    formed: usize,
    stage: Stage,
    queue: VecDeque<ServerId>,
    outstanding: usize,
    autostop: Option<AutoStop>,
    first_draw: Vec<ServerId>,
    calibration_probes: usize,
    ranked_asked: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ServerState {
    Unprobed,
    Asked,
    Answered(Rtt),
    Unanswered,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Listing,
    Calibrating,
    Splitting,
    Ranked,
    Stopped(StopReason),
}

#[derive(Debug)]
struct Cluster {
    /// In the master's order.
    members: Vec<ServerId>,
    /// What is left of the draw: replacements for silent samples.
    reserve: VecDeque<ServerId>,
    /// Answered samples in milliseconds.
    samples: Vec<f64>,
    /// The RTT the cluster is ranked by; `None` ranks last.
    rtt: Option<f64>,
    /// A cluster that was split is no longer ranked.
    replaced: bool,
}

impl ClusterPlanner {
    /// A planner that users know by `name`.
    pub fn new(name: &'static str, config: ClusterConfig, seed: u64) -> Self {
        Self {
            name,
            config,
            seed,
            servers: Vec::new(),
            states: Vec::new(),
            cluster_of: Vec::new(),
            clusters: Vec::new(),
            formed: 0,
            stage: Stage::Listing,
            queue: VecDeque::new(),
            outstanding: 0,
            autostop: config.stop.map(|rule| AutoStop::new(rule, config.rtt_stop)),
            first_draw: Vec::new(),
            calibration_probes: 0,
            ranked_asked: 0,
        }
    }

    /// A generator of its own for every cluster, so that no draw depends on the order of answers.
    fn generator(&self, cluster: usize) -> ChaCha8Rng {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        rng.set_stream(cluster as u64);
        rng
    }

    // Step 2 and 3(a, b): form clusters and draw the calibration sample.
    fn calibrate(&mut self) {
        let groups = group(
            self.config.cluster_by,
            self.config.split_prefix,
            &self.servers,
        );
        self.formed = groups.len();
        for members in groups.into_values() {
            let index = self.adopt(members);
            self.draw_sample(index);
        }
        self.first_draw = self.queue.iter().copied().collect();
        self.stage = Stage::Calibrating;
    }

    /// Makes `members` a cluster and returns its index.
    fn adopt(&mut self, members: Vec<ServerId>) -> usize {
        let index = self.clusters.len();
        let id = u32::try_from(index).expect("no more clusters than servers and prefixes");
        for member in &members {
            self.cluster_of[member.index()] = id;
        }
        self.clusters.push(Cluster {
            members,
            reserve: VecDeque::new(),
            samples: Vec::new(),
            rtt: None,
            replaced: false,
        });
        index
    }

    fn draw_sample(&mut self, index: usize) {
        let split = self.config.split_prefix;
        let members = &self.clusters[index].members;
        let mut size = self.config.sample_size.for_cluster(members.len());
        if self.config.draw == DrawRule::Strict {
            size = size.min(distinct_prefixes(members, &self.servers, split));
        }
        let order = draw_order(members, &self.servers, split, &mut self.generator(index));
        self.clusters[index].reserve = order.into();
        for _ in 0..size {
            self.queue_reserve(index);
        }
    }

    /// Queues the next unprobed server of a cluster's draw, if there is one.
    fn queue_reserve(&mut self, index: usize) -> bool {
        let reserve = &self.clusters[index].reserve;
        let Some(place) = reserve
            .iter()
            .position(|&server| self.may_sample(index, server))
        else {
            return false;
        };
        let server = match self.config.draw {
            // What was passed over was probed already, and is of no more use.
            DrawRule::GoRound => self.clusters[index].reserve.drain(..=place).next_back(),
            DrawRule::Strict => self.clusters[index].reserve.remove(place),
        }
        .expect("found there just now");
        self.states[server.index()] = ServerState::Asked;
        self.queue.push_back(server);
        self.calibration_probes += 1;
        true
    }

    /// Whether a member may join its cluster's sample: it is unprobed and, in a strict draw, no
    /// other of its /16 is part of the sample.
    fn may_sample(&self, index: usize, server: ServerId) -> bool {
        if self.states[server.index()] != ServerState::Unprobed {
            return false;
        }
        let prefix = |id: &ServerId| {
            self.servers[id.index()]
                .addr
                .prefix(self.config.split_prefix)
        };
        let is_sampled = |id: &ServerId| {
            matches!(
                self.states[id.index()],
                ServerState::Asked | ServerState::Answered(_)
            )
        };
        self.config.draw == DrawRule::GoRound
            || self.stage == Stage::Splitting
            || !self.clusters[index]
                .members
                .iter()
                .any(|id| is_sampled(id) && prefix(id) == prefix(&server))
    }

    // Step 3(c, d): estimate each cluster, and split those that are too wide.
    fn estimate(&mut self) {
        let limit = self.config.split_above.as_millis_f64();
        self.stage = Stage::Splitting;
        for index in 0..self.clusters.len() {
            let estimate = centre_and_spread(&mut self.clusters[index].samples);
            self.clusters[index].rtt = estimate.map(|(centre, _)| centre);
            if estimate.is_some_and(|(_, spread)| spread > limit) {
                self.split(index);
            }
        }
    }

    /// One new cluster for each /16 of a wide one. Each probes one unprobed member; one without
    /// keeps what is already measured for it.
    fn split(&mut self, index: usize) {
        self.clusters[index].replaced = true;
        let members = std::mem::take(&mut self.clusters[index].members);
        let by_prefix = group_members(&members, &self.servers, self.config.split_prefix);
        for part in by_prefix {
            let new = self.adopt(part);
            self.clusters[new].samples = self.measured(new);
            let order = draw_order(
                &self.clusters[new].members,
                &self.servers,
                self.config.split_prefix,
                &mut self.generator(new),
            );
            self.clusters[new].reserve = order.into();
            if !self.queue_reserve(new) {
                self.keep_measured(new);
            }
        }
    }

    fn measured(&self, index: usize) -> Vec<f64> {
        let answered = |server: &ServerId| match self.states[server.index()] {
            ServerState::Answered(rtt) => Some(rtt.as_millis_f64()),
            _ => None,
        };
        self.clusters[index]
            .members
            .iter()
            .filter_map(answered)
            .collect()
    }

    fn keep_measured(&mut self, index: usize) {
        let estimate = centre_and_spread(&mut self.clusters[index].samples);
        self.clusters[index].rtt = estimate.map(|(centre, _)| centre);
    }

    // Steps 4 and 5: rank, and queue what is left in that order.
    fn rank(&mut self) {
        let mut order: Vec<usize> = (0..self.clusters.len())
            .filter(|&index| !self.clusters[index].replaced)
            .collect();
        let key = |index: usize| self.clusters[index].rtt.unwrap_or(f64::INFINITY);
        order.sort_by(|&a, &b| key(a).total_cmp(&key(b)).then(a.cmp(&b)));
        for index in order {
            let unprobed = self.clusters[index]
                .members
                .iter()
                .filter(|server| self.states[server.index()] == ServerState::Unprobed);
            self.queue.extend(unprobed);
        }
        self.stage = Stage::Ranked;
    }

    /// Moves on when everything asked for in this stage was observed.
    fn advance(&mut self) {
        match self.stage {
            Stage::Calibrating => self.estimate(),
            Stage::Splitting => self.rank(),
            Stage::Ranked => self.stage = Stage::Stopped(StopReason::Exhausted),
            Stage::Listing | Stage::Stopped(_) => {}
        }
    }

    fn sample_answered(&mut self, server: ServerId, rtt: Rtt) {
        let index = self.cluster_of[server.index()] as usize;
        match self.stage {
            Stage::Calibrating => self.clusters[index].samples.push(rtt.as_millis_f64()),
            Stage::Splitting => self.clusters[index].rtt = Some(rtt.as_millis_f64()),
            Stage::Ranked => self.watch(rtt),
            Stage::Listing | Stage::Stopped(_) => {}
        }
    }

    fn watch(&mut self, rtt: Rtt) {
        let Some(autostop) = &mut self.autostop else {
            return;
        };
        autostop.push(rtt);
        if autostop.should_stop() {
            self.stage = Stage::Stopped(StopReason::AutoStop);
            self.queue.clear();
        }
    }

    /// A silent sample is replaced while there is an unprobed member.
    fn sample_unanswered(&mut self, server: ServerId) {
        let index = self.cluster_of[server.index()] as usize;
        match self.stage {
            Stage::Calibrating => {
                self.queue_reserve(index);
            }
            Stage::Splitting => {
                if !self.queue_reserve(index) {
                    self.keep_measured(index);
                }
            }
            Stage::Listing | Stage::Ranked | Stage::Stopped(_) => {}
        }
    }

    fn phase(&self) -> u32 {
        match self.stage {
            Stage::Listing | Stage::Calibrating => 0,
            Stage::Splitting => 1,
            Stage::Ranked | Stage::Stopped(_) => 2 + self.ranked_asked / self.config.stretch.max(1),
        }
    }

    fn take_queued(&mut self) -> Option<Next> {
        loop {
            let server = self.queue.pop_front()?;
            let phase = self.phase();
            if self.stage == Stage::Ranked {
                if self.states[server.index()] != ServerState::Unprobed {
                    continue;
                }
                self.states[server.index()] = ServerState::Asked;
                self.ranked_asked += 1;
            }
            self.outstanding += 1;
            return Some(Next::Probe { server, phase });
        }
    }
}

impl Planner for ClusterPlanner {
    fn name(&self) -> &'static str {
        self.name
    }

    fn servers_listed(&mut self, servers: &[Listed]) {
        debug_assert_eq!(self.stage, Stage::Listing, "the list was complete");
        self.servers.extend_from_slice(servers);
        self.states
            .resize(self.servers.len(), ServerState::Unprobed);
        self.cluster_of.resize(self.servers.len(), 0);
    }

    fn list_complete(&mut self) {
        if self.stage == Stage::Listing {
            self.calibrate();
        }
    }

    fn next(&mut self) -> Next {
        loop {
            if let Some(next) = self.take_queued() {
                return next;
            }
            match self.stage {
                Stage::Stopped(reason) => return Next::Done(reason),
                Stage::Listing => return Next::Wait,
                // The ranked list is at its end: nothing that is still in flight can add to it.
                Stage::Ranked => self.advance(),
                _ if self.outstanding > 0 => return Next::Wait,
                _ => self.advance(),
            }
        }
    }

    fn observe(&mut self, sample: Sample) {
        let Some(state) = self.states.get_mut(sample.server.index()) else {
            return;
        };
        let asked = *state == ServerState::Asked;
        *state = match sample.outcome {
            Outcome::Answered(rtt) => ServerState::Answered(rtt),
            Outcome::Silent | Outcome::Down => ServerState::Unanswered,
        };
        if !asked {
            return; // a favourite: known now, but no part of any sample
        }
        self.outstanding = self.outstanding.saturating_sub(1);
        match sample.outcome {
            Outcome::Answered(rtt) => self.sample_answered(sample.server, rtt),
            Outcome::Silent | Outcome::Down => self.sample_unanswered(sample.server),
        }
    }

    fn report(&self) -> PlanReport {
        let activity = match self.stage {
            Stage::Listing => Activity::Listing,
            Stage::Calibrating => Activity::Calibrating,
            Stage::Splitting => Activity::Splitting,
            Stage::Ranked => Activity::Probing,
            Stage::Stopped(_) => Activity::Finished,
        };
        PlanReport {
            clusters: self.formed,
            ranked_clusters: self.clusters.iter().filter(|c| !c.replaced).count(),
            calibration_draw: self.first_draw.clone(),
            calibration_probes: self.calibration_probes,
            rtt_bottom: self.autostop.as_ref().and_then(AutoStop::rtt_bottom),
            ..PlanReport::of(activity)
        }
    }
}
