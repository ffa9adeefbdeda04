use nearside_discover::prober::Pace;
use nearside_types::Rtt;

use super::crowd::Crowd;
use crate::hindsight::Stop;
use crate::method::Method;
use crate::scene::Conditions;

/// A run that an experiment asks for, on whatever seeds there are.
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    /// Whose servers.
    pub crowd: Crowd,
    /// From where.
    pub client: &'static str,
    /// How.
    pub method: Method,
    /// Over which network.
    pub conditions: Conditions,
    /// Stops to be judged in hindsight, for a method that does not stop.
    pub hindsight: Vec<Stop>,
}

impl Job {
    /// A run under the papers' conditions.
    pub fn new(crowd: Crowd, client: &'static str, method: Method) -> Self {
        Self {
            crowd,
            client,
            method,
            conditions: Conditions::published(crowd.game()),
            hindsight: Vec::new(),
        }
    }

    /// The same at so many probes a second.
    #[must_use]
    pub fn at_rate(mut self, per_second: f64) -> Self {
        self.conditions.pace = Pace::PerSecond(per_second);
        self
    }

    /// The same with another idea of what is playable.
    #[must_use]
    pub fn stopping_at(mut self, stop: Rtt) -> Self {
        self.conditions.stop = stop;
        self
    }

    /// The same by another method.
    #[must_use]
    pub fn by(mut self, method: Method) -> Self {
        self.method = method;
        self
    }

    /// The same, and what these stops would have made of it.
    #[must_use]
    pub fn judging(mut self, stops: Vec<Stop>) -> Self {
        self.hindsight = stops;
        self
    }
}
