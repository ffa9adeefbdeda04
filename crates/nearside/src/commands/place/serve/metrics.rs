//! Figures for Prometheus, in its text format, version 0.0.4.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Counts since the start.
#[derive(Default)]
pub(super) struct Metrics {
    /// By method and route, and status.
    requests: Mutex<BTreeMap<(String, u16), u64>>,
    /// By status of the solver.
    solves: Mutex<BTreeMap<String, u64>>,
    /// By what became of the event.
    events: Mutex<BTreeMap<&'static str, u64>>,
    solve_micros: AtomicU64,
    running: AtomicU64,
    deciding: AtomicU64,
    cancelled: AtomicU64,
    streams: AtomicU64,
}

impl Metrics {
    pub(super) fn request(&self, route: String, status: u16) {
        count(&self.requests, (route, status));
    }

    pub(super) fn solved(&self, status: String, took: Duration) {
        count(&self.solves, status);
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.solve_micros.fetch_add(micros, Ordering::Relaxed);
    }

    pub(super) fn cancelled(&self) {
        self.cancelled.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn event(&self, result: &'static str) {
        count(&self.events, result);
    }

    /// Counts somebody at work until dropped.
    pub(super) fn running(&self) -> Counted<'_> {
        Counted::new(&self.running)
    }

    /// The same for events of sessions.
    pub(super) fn deciding(&self) -> Counted<'_> {
        Counted::new(&self.deciding)
    }

    pub(super) fn stream_opened(&self) {
        self.streams.fetch_add(1, Ordering::Relaxed);
    }

    /// The whole text; sessions and questions admitted are counted by whoever has them.
    pub(super) fn text(&self, sessions: usize, admitted: usize) -> String {
        let mut text = String::new();
        family(&mut text, "requests_total", "counter", "Requests answered.");
        for ((route, status), value) in &*read(&self.requests) {
            sample(
                &mut text,
                "requests_total",
                &format!("route=\"{route}\",status=\"{status}\""),
                *value,
            );
        }
        family(
            &mut text,
            "solves_total",
            "counter",
            "Questions about instances answered.",
        );
        for (status, value) in &*read(&self.solves) {
            sample(
                &mut text,
                "solves_total",
                &format!("status=\"{status}\""),
                *value,
            );
        }
        family(&mut text, "events_total", "counter", "Events of sessions.");
        for (result, value) in &*read(&self.events) {
            sample(
                &mut text,
                "events_total",
                &format!("result=\"{result}\""),
                *value,
            );
        }
        let seconds = self.solve_micros.load(Ordering::Relaxed) as f64 / 1e6;
        family(
            &mut text,
            "solve_seconds_total",
            "counter",
            "Time spent solving.",
        );
        let _ = writeln!(text, "{PREFIX}solve_seconds_total {seconds}");
        for (name, kind, help, value) in [
            (
                "solves_cancelled_total",
                "counter",
                "Solves nobody waited for any more.",
                &self.cancelled,
            ),
            (
                "solves_running",
                "gauge",
                "Solves at work now.",
                &self.running,
            ),
            (
                "events_running",
                "gauge",
                "Events of sessions at work now.",
                &self.deciding,
            ),
            (
                "streams_total",
                "counter",
                "Streams of events opened.",
                &self.streams,
            ),
        ] {
            family(&mut text, name, kind, help);
            sample(&mut text, name, "", value.load(Ordering::Relaxed));
        }
        family(&mut text, "sessions", "gauge", "Sessions.");
        sample(&mut text, "sessions", "", sessions as u64);
        family(
            &mut text,
            "solves_admitted",
            "gauge",
            "Solves at work or waiting.",
        );
        sample(&mut text, "solves_admitted", "", admitted as u64);
        text
    }
}

/// One more, until dropped.
pub(super) struct Counted<'m>(&'m AtomicU64);

impl<'m> Counted<'m> {
    fn new(count: &'m AtomicU64) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

const PREFIX: &str = "nearside_place_";

fn family(text: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(
        text,
        "# HELP {PREFIX}{name} {help}\n# TYPE {PREFIX}{name} {kind}"
    );
}

fn sample(text: &mut String, name: &str, labels: &str, value: u64) {
    let _ = match labels {
        "" => writeln!(text, "{PREFIX}{name} {value}"),
        labels => writeln!(text, "{PREFIX}{name}{{{labels}}} {value}"),
    };
}

fn count<K: Ord>(counts: &Mutex<BTreeMap<K, u64>>, key: K) {
    *read(counts).entry(key).or_default() += 1;
}

fn read<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sample_stands_under_its_family() {
        let metrics = Metrics::default();
        metrics.request("GET /health".to_owned(), 200);
        metrics.solved("optimal".to_owned(), Duration::from_millis(1500));
        metrics.event("kept");
        let running = metrics.running();
        let text = metrics.text(3, 1);
        for line in [
            "nearside_place_requests_total{route=\"GET /health\",status=\"200\"} 1",
            "nearside_place_solves_total{status=\"optimal\"} 1",
            "nearside_place_solve_seconds_total 1.5",
            "nearside_place_solves_running 1",
            "nearside_place_sessions 3",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} in {text}");
        }
        drop(running);
        assert!(metrics.text(3, 1).contains("solves_running 0"));
    }
}
