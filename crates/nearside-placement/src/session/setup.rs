//! What a session starts from: servers, the ways between them, the bound, and how it decides.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::instance::{Object, ServerForm, Written, delay, server_server, servers};
use crate::numbers::{millis, whole_number};
use crate::{
    Delay, DelayMatrix, Instance, InstanceError, InstanceParts, Latency, PlacementFileError,
    Server, ServerId,
};

/// How a session is set up.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionSetup {
    servers: Instance,
    /// The bound to begin with.
    pub bound: Delay,
    /// What the milliseconds of events are.
    pub latency: Latency,
    /// Seed of the solvers' luck.
    pub seed: u64,
    /// Steps that solving may take for one event. Steps and not time, so that a log replays.
    pub steps: u64,
}

/// About a quarter of a second for 100 servers and 50 players.
const DEFAULT_STEPS: u64 = 20_000;

/// Why text is not a set-up.
#[derive(Debug, Error)]
#[error("not the set-up of a session: {0}")]
pub struct SetupError(#[from] PlacementFileError);

impl From<serde_json::Error> for SetupError {
    fn from(error: serde_json::Error) -> Self {
        Self(error.into())
    }
}

impl From<InstanceError> for SetupError {
    fn from(error: InstanceError) -> Self {
        Self(error.into())
    }
}

/// The JSON form: an instance file without clients.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Form {
    #[serde(deserialize_with = "millis")]
    delay_bound_ms: f64,
    #[serde(default)]
    latency: Latency,
    #[serde(default, deserialize_with = "millis")]
    processing_ms: f64,
    #[serde(deserialize_with = "servers")]
    servers: Vec<ServerForm>,
    #[serde(deserialize_with = "server_server", serialize_with = "rows")]
    server_server_ms: DelayMatrix,
    #[serde(default, deserialize_with = "whole_number")]
    seed: u64,
    #[serde(default = "default_steps", deserialize_with = "whole_number")]
    steps: u64,
}

impl Written for Form {
    const EXPECTED: &'static str =
        "an object with `delay_bound_ms`, `servers` and `server_server_ms`";
}

fn default_steps() -> u64 {
    DEFAULT_STEPS
}

fn rows<S: serde::Serializer>(matrix: &DelayMatrix, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq((0..matrix.rows()).map(|row| matrix.row(row)))
}

impl SessionSetup {
    /// The servers of an instance, one-way latencies, seed 0.
    pub fn new(instance: &Instance, bound: Delay) -> Self {
        Self {
            servers: instance.without_clients(),
            bound,
            latency: Latency::OneWay,
            seed: 0,
            steps: DEFAULT_STEPS,
        }
    }

    /// Reads the JSON form: `delay_bound_ms`, `servers` and `server_server_ms` as in an instance file,
    /// with `latency`, `processing_ms`, `seed` and `steps` if wanted.
    ///
    /// # Errors
    /// The first thing that is wrong, with its place.
    pub fn from_json(text: &[u8]) -> Result<Self, SetupError> {
        let Object(form): Object<Form> = serde_json::from_slice(text)?;
        let servers = form.servers.into_iter().enumerate();
        let servers = servers.map(|(index, server)| server.check(index));
        let servers: Vec<Server> = servers.collect::<Result<_, _>>()?;
        let parts = InstanceParts {
            clients: Vec::new(),
            client_server: DelayMatrix::from_fn(0, servers.len(), |_, _| Delay::ZERO),
            servers,
            server_server: form.server_server_ms,
            latency: form.latency,
            processing: delay("processing_ms", form.processing_ms)?,
            graph: None,
        };
        Ok(Self {
            servers: Instance::of_servers(parts)?,
            bound: delay("delay_bound_ms", form.delay_bound_ms)?,
            latency: form.latency,
            seed: form.seed,
            steps: form.steps,
        })
    }

    /// Writes the JSON form, on one line.
    pub fn to_json(&self) -> String {
        let instance = &self.servers;
        let doubled = |delay: Delay| match self.latency {
            Latency::OneWay => delay,
            // Even numbers of grid steps, so halving gives exactly these delays again.
            Latency::RoundTrip => delay.scaled(2.0),
        };
        let servers = instance.servers().len();
        let form = Form {
            delay_bound_ms: self.bound.as_millis(),
            latency: self.latency,
            processing_ms: instance.processing().as_millis(),
            servers: instance.servers().iter().map(ServerForm::of).collect(),
            server_server_ms: DelayMatrix::from_fn(servers, servers, |from, to| {
                let ids = [from, to].map(ServerId::new);
                doubled(instance.between(ids[0], ids[1]))
            }),
            seed: self.seed,
            steps: self.steps,
        };
        serde_json::to_string(&form).expect("a set-up is plain data")
    }

    /// The servers, without clients.
    pub const fn servers(&self) -> &Instance {
        &self.servers
    }
}
