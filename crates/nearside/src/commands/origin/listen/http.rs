//! The HTTP side: look-ups in the live table, its state, and metrics for Prometheus.

use std::fmt::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::Result;
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use nearside_net::Stop;
use serde_json::json;

use super::super::lookup::parse_address;
use super::super::row::OriginRow;
use super::super::stats::Stats;
use super::live::{Live, NeighbourState};
use crate::exit::WorldFailure;
use crate::origins;

/// Answers on `addr` from a thread of its own until `stop`.
pub(super) fn serve(addr: SocketAddr, live: Arc<Live>, stop: Stop) -> Result<()> {
    let taken = |error: std::io::Error| {
        WorldFailure(format!(
            "cannot serve HTTP on {addr}: {error} (http = \"IP:PORT\" in [bgp] chooses another, \"off\" none)"
        ))
    };
    let listener = std::net::TcpListener::bind(addr).map_err(taken)?;
    listener.set_nonblocking(true).map_err(taken)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(taken)?;
    thread::spawn(move || {
        runtime.block_on(async move {
            // Registered with the reactor here, so it cannot be done before the runtime runs.
            let Ok(listener) = tokio::net::TcpListener::from_std(listener) else {
                return;
            };
            let served = axum::serve(listener, router(live)).with_graceful_shutdown(wait(stop));
            let _ = served.await;
        });
    });
    Ok(())
}

async fn wait(stop: Stop) {
    while !stop.is_stopped() {
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
}

fn router(live: Arc<Live>) -> Router {
    Router::new()
        .route("/origin/{addr}", get(origin))
        .route("/stats", get(stats))
        .route("/health", get(health))
        .route("/metrics", get(metrics))
        .with_state(live)
}

/// One address, as a line of `nearside origin --format ndjson`.
async fn origin(State(live): State<Arc<Live>>, Path(addr): Path<String>) -> Response {
    let Some(addr) = parse_address(&addr) else {
        let error = json!({ "error": "not an address: write /origin/192.0.2.1" });
        return (StatusCode::BAD_REQUEST, Json(error)).into_response();
    };
    let stack = {
        let mut state = live.state();
        state.lookups += 1;
        state.stack()
    };
    Json(OriginRow::of(addr, &stack, origins::now())).into_response()
}

async fn stats(State(live): State<Arc<Live>>) -> Json<Stats> {
    let (stack, notes) = {
        let state = live.state();
        (state.stack(), state.notes())
    };
    Json(Stats::of(stack.layers(), notes, origins::now()))
}

/// Well as long as a neighbour is connected; a load balancer or a monitor asks this.
async fn health(State(live): State<Arc<Live>>) -> (StatusCode, &'static str) {
    if live.state().is_up() {
        (StatusCode::OK, "ok\n")
    } else {
        (
            StatusCode::SERVICE_UNAVAILABLE,
            "no neighbour is connected\n",
        )
    }
}

/// Prometheus' text format, version 0.0.4.
async fn metrics(State(live): State<Arc<Live>>) -> Response {
    let content_type = [(header::CONTENT_TYPE, "text/plain; version=0.0.4")];
    (content_type, exposition(&live)).into_response()
}

fn exposition(live: &Live) -> String {
    let state = live.state();
    let mut text = String::new();
    let (v4, v6) = state
        .live()
        .map_or((0, 0), |live| live.table().known_ranges());
    let ranges = [
        ("family=\"ipv4\"", v4 as u64),
        ("family=\"ipv6\"", v6 as u64),
    ];
    metric(
        &mut text,
        "ranges",
        "gauge",
        "Ranges of the live table.",
        ranges,
    );
    let memory = state.live().map_or(0, |live| live.table().heap_bytes());
    let age = state.feed_age().map(|age| age.as_secs());
    for (name, kind, help, value) in [
        (
            "table_bytes",
            "gauge",
            "Memory of the live table.",
            Some(memory as u64),
        ),
        (
            "multi_origin",
            "gauge",
            "Prefixes with several origins.",
            Some(state.multi_origin as u64),
        ),
        (
            "feed_age_seconds",
            "gauge",
            "Time without any neighbour.",
            age,
        ),
        (
            "publications_total",
            "counter",
            "Live tables published.",
            Some(state.publications),
        ),
        (
            "refused_total",
            "counter",
            "Connections turned away.",
            Some(state.refused),
        ),
        (
            "lookups_total",
            "counter",
            "Look-ups answered over HTTP.",
            Some(state.lookups),
        ),
        (
            "notes",
            "gauge",
            "Warnings about sources, see /stats.",
            Some(state.notes().len() as u64),
        ),
    ] {
        metric(&mut text, name, kind, help, value.map(|value| ("", value)));
    }
    for (name, kind, help, value) in NEIGHBOUR_METRICS {
        let label = |entry: &NeighbourState| format!("neighbour=\"{}\"", entry.addr);
        let samples = state
            .neighbours
            .iter()
            .map(|entry| (label(entry), value(entry)));
        metric(&mut text, name, kind, help, samples);
    }
    text
}

/// Name, kind, help and value of what is told of each neighbour.
type NeighbourMetric = (
    &'static str,
    &'static str,
    &'static str,
    fn(&NeighbourState) -> u64,
);

const NEIGHBOUR_METRICS: [NeighbourMetric; 4] = [
    (
        "neighbour_up",
        "gauge",
        "Whether a session is up.",
        |entry| entry.up.into(),
    ),
    (
        "neighbour_prefixes",
        "gauge",
        "Prefixes at the last end of load.",
        |entry| entry.prefixes as u64,
    ),
    (
        "neighbour_sessions_total",
        "counter",
        "Sessions established.",
        |entry| entry.sessions,
    ),
    (
        "neighbour_malformed_total",
        "counter",
        "Broken announcements.",
        |entry| entry.malformed,
    ),
];

/// One metric with its samples: labels, which may be empty, and values.
fn metric<L: AsRef<str>>(
    text: &mut String,
    name: &str,
    kind: &str,
    help: &str,
    samples: impl IntoIterator<Item = (L, u64)>,
) {
    let _ = writeln!(text, "# HELP nearside_origin_{name} {help}");
    let _ = writeln!(text, "# TYPE nearside_origin_{name} {kind}");
    for (labels, value) in samples {
        let _ = match labels.as_ref() {
            "" => writeln!(text, "nearside_origin_{name} {value}"),
            labels => writeln!(text, "nearside_origin_{name}{{{labels}}} {value}"),
        };
    }
}
