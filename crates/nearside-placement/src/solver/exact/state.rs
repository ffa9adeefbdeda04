use crate::solver::matching::{Crowd, Matching};
use crate::solver::model::{Model, Near};
use crate::{Cost, Delay};

/// A partial decision: a range of radii for each server. Below its floor a radius is decided, above
/// its ceiling it is ruled out; a server without floor is not open yet.
#[derive(Debug, Clone)]
pub(crate) struct State {
    floors: Vec<Option<Delay>>,
    ceilings: Vec<Delay>,
    open: Vec<usize>,
    spent: Cost,
    /// Clients that have no seat within the floors.
    waiting: Vec<usize>,
    /// Who sits where, if servers may run out of places.
    matching: Option<Matching>,
}

/// Two open servers cannot have their radii.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Conflict;

impl State {
    /// Nothing is decided.
    pub(crate) fn new(model: &Model<'_>) -> Self {
        Self {
            floors: vec![None; model.servers()],
            ceilings: vec![model.half(); model.servers()],
            open: Vec::new(),
            spent: Cost::ZERO,
            waiting: (0..model.clients()).collect(),
            matching: model.is_capacitated().then(|| Matching::new(model)),
        }
    }

    /// Radii decided so far; `None` for a server that is not open.
    pub(crate) fn floors(&self) -> &[Option<Delay>] {
        &self.floors
    }

    pub(crate) fn floor(&self, server: usize) -> Option<Delay> {
        self.floors[server]
    }

    pub(crate) fn ceiling(&self, server: usize) -> Delay {
        self.ceilings[server]
    }

    pub(crate) fn is_open(&self, server: usize) -> bool {
        self.floors[server].is_some()
    }

    pub(crate) fn open(&self) -> &[usize] {
        &self.open
    }

    pub(crate) fn spent(&self) -> Cost {
        self.spent
    }

    pub(crate) fn waiting(&self) -> &[usize] {
        &self.waiting
    }

    /// Decides that the radius of a server is at least `radius`: every other ceiling comes down to
    /// what r_j + d(j,k) + r_k ≤ Δ leaves.
    pub(crate) fn raise(
        &mut self,
        model: &Model<'_>,
        server: usize,
        radius: Delay,
    ) -> Result<(), Conflict> {
        match self.floors[server] {
            Some(floor) if floor >= radius => return Ok(()),
            Some(_) => {}
            None => {
                self.open.push(server);
                self.spent += model.cost(server);
            }
        }
        self.floors[server] = Some(radius);
        if radius > self.ceilings[server] {
            return Err(Conflict);
        }
        let left = model.limit() - radius;
        for (other, &apart) in model.separations(server).iter().enumerate() {
            if other != server && left - apart < self.ceilings[other] {
                self.lower(other, left - apart)?;
            }
        }
        self.seat_waiting(model, server, radius);
        Ok(())
    }

    /// Rules out radii above `ceiling`.
    pub(crate) fn lower(&mut self, server: usize, ceiling: Delay) -> Result<(), Conflict> {
        self.ceilings[server] = ceiling;
        match self.floors[server] {
            Some(floor) if floor > ceiling => Err(Conflict),
            _ => Ok(()),
        }
    }

    fn seat_waiting(&mut self, model: &Model<'_>, server: usize, radius: Delay) {
        let Self {
            waiting,
            matching,
            floors,
            ..
        } = self;
        match matching {
            None => waiting.retain(|&client| model.distance(client, server) > radius),
            Some(matching) => {
                let allows =
                    |near: Near| floors[near.index()].is_some_and(|floor| near.distance <= floor);
                let mut ways_out = matching.with_a_way_out(model, floors);
                waiting.retain(|&client| {
                    let mut near = model.servers_near(client).iter();
                    if !near.any(|near| allows(*near) && ways_out[near.index()]) {
                        return true;
                    }
                    let seated = matching.seat(model, client, allows).is_ok();
                    if !seated {
                        ways_out = matching.with_a_way_out(model, floors);
                    }
                    !seated
                });
            }
        }
    }

    /// Clients of whom at least one needs a radius above its floor, so that `client` can be seated.
    pub(crate) fn crowd(&self, model: &Model<'_>, client: usize) -> Vec<usize> {
        let Some(matching) = &self.matching else {
            return vec![client];
        };
        let allows =
            |near: Near| self.floors[near.index()].is_some_and(|floor| near.distance <= floor);
        let crowd = matching.crowd(model, client, allows);
        let Crowd(crowd) = crowd.expect("a waiting client has no seat within the floors");
        crowd
    }
}
