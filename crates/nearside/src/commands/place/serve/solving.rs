//! Questions about instances. Whoever goes away before the answer stops the solver.

use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use nearside_placement::{Budget, Delay, PlacementFile, Status, Task};
use serde::Serialize;

use super::super::min_delay;
use super::super::solve::{Answer, Impossible};
use super::super::solvers::SolverName;
use super::super::sweep::Sweep;
use super::deadline::Deadline;
use super::failure::Failure;
use super::requests::{self, Parameters, Written};
use super::service::{Service, Shared, elsewhere};

/// Unless asked otherwise.
const USUAL_TIME: Duration = Duration::from_secs(10);
/// What some parameters are.
const WHOLE: &str = "a whole number from 0 on";

/// `POST /v1/solve`
pub(super) async fn solve(
    State(service): State<Shared>,
    mut asked: Parameters,
    body: Body,
) -> Result<Written, Failure> {
    let bound_ms = asked.take("bound_ms", "milliseconds")?;
    let solver: SolverName = match asked.text("solver") {
        Some(name) => name.parse().map_err(Failure::bad_request)?,
        None => SolverName::Auto,
    };
    let means = Means::of(&service, asked)?;
    answer(service, body, means, move |effort, file| {
        let bound = bound(bound_ms, file)?;
        let task = Task {
            instance: &file.instance,
            bound,
        };
        let outcome = effort.spend(|budget| solver.solver().solve(task, budget));
        effort.count(outcome.status);
        let why = (outcome.status == Status::Infeasible)
            .then(|| effort.spend(|budget| Impossible::find(task, budget)));
        let seconds = effort.seconds();
        let answer = Answer::new(task, &outcome, solver, seconds, effort.means.seed, why);
        Written::new(&answer)
    })
    .await
}

/// `POST /v1/curve`
pub(super) async fn curve(
    State(service): State<Shared>,
    asked: Parameters,
    body: Body,
) -> Result<Written, Failure> {
    let means = Means::of(&service, asked)?;
    answer(service, body, means, |effort, file| {
        let curve = effort.spend(|budget| nearside_placement::curve(&file.instance, budget));
        effort.count("curve");
        Written::new(&Sweep::of_curve(
            &file.instance,
            &curve,
            effort.seconds(),
            effort.means.seed,
        ))
    })
    .await
}

/// `POST /v1/min-delay`
pub(super) async fn min_delay(
    State(service): State<Shared>,
    mut asked: Parameters,
    body: Body,
) -> Result<Written, Failure> {
    let servers: Option<usize> = asked.take("servers", WHOLE)?;
    let means = Means::of(&service, asked)?;
    let servers = servers
        .filter(|&servers| servers > 0)
        .ok_or_else(|| Failure::bad_request("servers: at least one, as in ?servers=2"))?;
    answer(service, body, means, move |effort, file| {
        let instance = &file.instance;
        let found = effort.spend(|budget| nearside_placement::min_delay(instance, servers, budget));
        effort.count("min_delay");
        let (seconds, seed) = (effort.seconds(), effort.means.seed);
        let answer = min_delay::Answer::new(instance, servers, &found, seconds, seed);
        Written::new(&answer)
    })
    .await
}

fn bound(asked: Option<f64>, file: &PlacementFile) -> Result<Delay, Failure> {
    let asked = asked
        .map(|millis| {
            Delay::from_millis(millis)
                .ok_or_else(|| Failure::bad_request(format!("bound_ms: {millis} is not a bound")))
        })
        .transpose()?;
    asked.or(file.bound).ok_or_else(|| {
        Failure::bad_request("no bound: give delay_bound_ms in the instance, or ?bound_ms=")
    })
}

/// What a request may spend.
#[derive(Debug, Clone, Copy)]
struct Means {
    time: Duration,
    steps: Option<u64>,
    seed: u64,
}

impl Means {
    /// What is left of the parameters.
    fn of(service: &Service, mut asked: Parameters) -> Result<Self, Failure> {
        let time_s = asked.take("time_s", "seconds")?;
        let steps = asked.take("steps", WHOLE)?;
        let seed = asked.take("seed", WHOLE)?;
        asked.nothing_else()?;
        Ok(Self {
            time: time_limit(time_s, steps, service.max_time)?,
            steps,
            seed: seed.unwrap_or(1),
        })
    }
}

/// Who counts steps and not seconds wants all of them; the service's own limit still holds.
fn time_limit(
    time_s: Option<f64>,
    steps: Option<u64>,
    most: Duration,
) -> Result<Duration, Failure> {
    match time_s {
        Some(seconds) if (0.0..=1e7).contains(&seconds) => {
            Ok(Duration::from_secs_f64(seconds).min(most))
        }
        Some(seconds) => Err(Failure::bad_request(format!(
            "time_s: {seconds} is not a time"
        ))),
        None if steps.is_some() => Ok(most),
        None => Ok(USUAL_TIME.min(most)),
    }
}

/// One request at work.
struct Effort<'s> {
    service: &'s Service,
    means: Means,
    deadline: Deadline,
}

impl Effort<'_> {
    fn spend<R>(&self, solve: impl FnOnce(&Budget<'_>) -> R) -> R {
        let gone = || self.deadline.share_gone();
        let budget = Budget::unlimited(self.means.seed)
            .with_clock(&gone)
            .with_workers(&self.service.pool);
        match self.means.steps {
            Some(steps) => solve(&budget.with_steps(steps)),
            None => solve(&budget),
        }
    }

    fn seconds(&self) -> f64 {
        self.deadline.elapsed().as_secs_f64()
    }

    /// Counts what came out, under its JSON name.
    fn count(&self, result: impl Serialize) {
        let name = serde_json::to_value(result).unwrap_or_default();
        let name = name.as_str().unwrap_or("other").to_owned();
        self.service.metrics.solved(name, self.deadline.elapsed());
        if self.deadline.is_abandoned() {
            self.service.metrics.cancelled();
        }
    }
}

/// Reads an instance and answers a question about it, in turn and off the network's thread.
async fn answer(
    service: Shared,
    body: Body,
    means: Means,
    question: impl FnOnce(&Effort<'_>, &PlacementFile) -> Result<Written, Failure> + Send + 'static,
) -> Result<Written, Failure> {
    let admitted = service.solving.admit()?;
    let bytes = requests::body(body, service.max_body).await?;
    let turn = admitted.turn().await?;
    let (deadline, _waiting) = Deadline::start(means.time, service.stop.clone());
    elsewhere(move || {
        // Kept until the work ends, also when nobody waits for it any more.
        let _turn = turn;
        let file = PlacementFile::from_json(&bytes).map_err(Failure::bad_request)?;
        drop(bytes);
        let _running = service.metrics.running();
        let effort = Effort {
            service: &service,
            means,
            deadline,
        };
        question(&effort, &file)
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_cut_short_by_the_services_limit_only() {
        let most = Duration::from_secs(30);
        let limit = |time_s, steps| time_limit(time_s, steps, most).ok();
        assert_eq!(limit(None, None), Some(USUAL_TIME));
        assert_eq!(limit(None, Some(1_000)), Some(most));
        assert_eq!(limit(Some(2.0), Some(1_000)), Some(Duration::from_secs(2)));
        assert_eq!(limit(Some(99.0), None), Some(most));
        assert_eq!(limit(Some(-1.0), None), None);
    }
}
