//! Conventional discovery: every server in the order of the master's list.

use super::{Activity, Listed, Next, PlanReport, Planner, Sample, ServerId, StopReason};

/// Probes after the whole list is known (as qstat does) or while it still arrives (as the Steam
/// client does). Never stops by itself.
#[derive(Debug)]
pub struct ListOrder {
    start: Start,
    stretch: u32,
    complete: bool,
    next: usize,
    asked: u32,
    known: Vec<bool>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Start {
    WithWholeList,
    AtOnce,
}

impl ListOrder {
    /// Waits for the whole list, then probes it; retries run in rounds every `stretch` probes.
    pub fn conventional(stretch: u32) -> Self {
        Self::new(Start::WithWholeList, stretch)
    }

    /// Probes while the list still arrives.
    pub fn steam(stretch: u32) -> Self {
        Self::new(Start::AtOnce, stretch)
    }

    fn new(start: Start, stretch: u32) -> Self {
        Self {
            start,
            stretch: stretch.max(1),
            complete: false,
            next: 0,
            asked: 0,
            known: Vec::new(),
        }
    }

    fn may_start(&self) -> bool {
        self.complete || self.start == Start::AtOnce
    }
}

impl Planner for ListOrder {
    fn name(&self) -> &'static str {
        match self.start {
            Start::WithWholeList => "conventional",
            Start::AtOnce => "steam",
        }
    }

    fn servers_listed(&mut self, servers: &[Listed]) {
        self.known.resize(self.known.len() + servers.len(), false);
    }

    fn list_complete(&mut self) {
        self.complete = true;
    }

    fn next(&mut self) -> Next {
        if !self.may_start() {
            return Next::Wait;
        }
        while self.known.get(self.next) == Some(&true) {
            self.next += 1;
        }
        if self.next < self.known.len() {
            let server = ServerId::from_index(self.next);
            let phase = self.asked / self.stretch;
            self.next += 1;
            self.asked += 1;
            return Next::Probe { server, phase };
        }
        if self.complete {
            Next::Done(StopReason::Exhausted)
        } else {
            Next::Wait
        }
    }

    fn observe(&mut self, sample: Sample) {
        if let Some(known) = self.known.get_mut(sample.server.index()) {
            *known = true;
        }
    }

    fn report(&self) -> PlanReport {
        let activity = if !self.may_start() {
            Activity::Listing
        } else if self.complete && self.next >= self.known.len() {
            Activity::Finished
        } else {
            Activity::Probing
        };
        PlanReport::of(activity)
    }
}
