//! Discovery in virtual time: the same prober and planners as the live browser, driven by a clock
//! that jumps from one event to the next.
//!
//! A run over 28,000 servers takes about 0.15 s (example `virtual_speed`) and, for the same seeds,
//! draws the same calibration sample as the lab over real UDP.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::{Ipv4Addr, SocketAddr};

use nearside_discover::planner::{Listed, PlannerConfig};
use nearside_discover::prober::{Event, Input, Output, Pace, PortId, Prober, ProberConfig};
use nearside_types::Moment;
use thiserror::Error;

use crate::farm::{Farm, FarmConfig, FarmReply, FarmServer};
use crate::params::{Game, builtin};
use crate::population::Population;

/// One discovery: who looks for servers, how, and in which weather.
///
/// ```
/// use nearside_discover::planner::{PlannerConfig, PlannerKind};
/// use nearside_world::virtual_time::Run;
/// use nearside_world::{Game, WorldParams, generate};
///
/// let world = generate(&WorldParams::builtin(), Game::Css, Some(500), 1);
/// let planner = PlannerConfig::published(PlannerKind::As);
/// let prober = Run::new(&world, "JP", Game::Css, planner, 1).discover(|_, _, _| {})?;
/// assert!(prober.summary().answered <= 500);
/// # Ok::<(), nearside_world::virtual_time::UnknownClient>(())
/// ```
#[derive(Debug, Clone)]
pub struct Run<'a> {
    /// The servers, in list order.
    pub population: &'a Population,
    /// The place they are looked for from: a client of the population.
    pub client: &'a str,
    /// The probe engine's settings; `prober.pace` is the rate.
    pub prober: ProberConfig,
    /// The planner's.
    pub planner: PlannerConfig,
    /// How servers and paths behave.
    pub farm: FarmConfig,
    /// What noise, loss and the servers' texts are drawn from. The planner's draws come from
    /// `prober.seed`.
    pub seed: u64,
}

/// A population has no such client.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the population has no client `{client}` (it has {})", .known.join(", "))]
pub struct UnknownClient {
    /// The client asked for.
    pub client: String,
    /// Those there are.
    pub known: Vec<String>,
}

impl<'a> Run<'a> {
    /// A run with the engine's defaults at the pace the papers' clients had, in the built-in
    /// world's weather, everything drawn from one seed.
    pub fn new(
        population: &'a Population,
        client: &'a str,
        game: Game,
        planner: PlannerConfig,
        seed: u64,
    ) -> Self {
        Self {
            population,
            client,
            prober: ProberConfig {
                pace: Pace::PerSecond(builtin().probe_rate(game)),
                ..ProberConfig::new(game.protocol(), seed)
            },
            planner,
            farm: builtin().farm(game),
            seed,
        }
    }

    /// Runs to the end, as [`discover`] does.
    ///
    /// # Errors
    /// When the population has no such client.
    pub fn discover(
        &self,
        observe: impl FnMut(Moment, &Prober, Event),
    ) -> Result<Prober, UnknownClient> {
        let mut farm = self.farm()?;
        let list = self.population.listed();
        let prober = self.prober.clone();
        Ok(discover(prober, &self.planner, &list, &mut farm, observe))
    }

    /// The servers as the client of this run meets them.
    ///
    /// # Errors
    /// When the population has no such client.
    pub fn farm(&self) -> Result<Farm, UnknownClient> {
        let client = self.population.client(self.client);
        let client = client.ok_or_else(|| UnknownClient {
            client: self.client.to_owned(),
            known: self.population.clients.clone(),
        })?;
        let servers = FarmServer::seen_from(self.population, client);
        Ok(Farm::new(self.farm.clone(), servers, self.seed))
    }
}

/// A reply on its way back.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct InFlight {
    at: Moment,
    /// Keeps replies that arrive together in the order they were sent.
    order: u64,
    port: usize,
    from: SocketAddr,
    payload: Vec<u8>,
}

/// Runs a discovery of `list` against `farm` to its end and returns the prober, to read rows and
/// summary from. `observe` is told of every event when it happens.
pub fn discover(
    config: ProberConfig,
    planner: &PlannerConfig,
    list: &[Listed],
    farm: &mut Farm,
    mut observe: impl FnMut(Moment, &Prober, Event),
) -> Prober {
    let mut now = Moment::EPOCH;
    let mut prober = Prober::new(config, planner, now);
    prober.handle_input(now, Input::Listed(list));
    prober.handle_input(now, Input::ListComplete);
    let mut wire = Wire::default();
    loop {
        match prober.poll_output(now) {
            Output::Transmit { port, to, payload } => wire.carry(now, port, to, &payload, farm),
            Output::Event(event) => observe(now, &prober, event),
            Output::Finished => return prober,
            Output::Wait(until) => now = wire.jump(&mut prober, until),
        }
    }
}

/// What is under way between client and farm.
#[derive(Debug, Default)]
struct Wire {
    in_flight: BinaryHeap<Reverse<InFlight>>,
    order: u64,
    replies: Vec<FarmReply>,
}

impl Wire {
    /// The farm gets a request at once: the whole round trip is in the delay of its replies.
    fn carry(
        &mut self,
        now: Moment,
        port: PortId,
        to: SocketAddr,
        payload: &[u8],
        farm: &mut Farm,
    ) {
        farm.handle(now, client_at(port), to, payload, &mut self.replies);
        for reply in self.replies.drain(..) {
            self.order += 1;
            self.in_flight.push(Reverse(InFlight {
                at: now + reply.delay,
                order: self.order,
                port: port.index(),
                from: to,
                payload: reply.payload,
            }));
        }
    }

    /// Moves the clock to the next reply or wake-up, whichever is first, and delivers the reply.
    fn jump(&mut self, prober: &mut Prober, until: Option<Moment>) -> Moment {
        let arrival = self.in_flight.peek().map(|Reverse(next)| next.at);
        let next = [arrival, until]
            .into_iter()
            .flatten()
            .min()
            .expect("a prober that is not finished waits for something");
        if arrival == Some(next)
            && let Some(Reverse(datagram)) = self.in_flight.pop()
        {
            let port = PortId::all()
                .find(|port| port.index() == datagram.port)
                .expect("replies come back to the port that asked");
            prober.handle_input(
                next,
                Input::Datagram {
                    port,
                    from: datagram.from,
                    received: Some(next),
                    payload: &datagram.payload,
                },
            );
        }
        next
    }
}

/// The client's address on each of its ports; servers limit by address and challenge by both.
fn client_at(port: PortId) -> SocketAddr {
    let number = 50_000 + u16::try_from(port.index()).expect("there are six ports");
    (Ipv4Addr::LOCALHOST, number).into()
}
