//! The HTTP side: look-ups in the live table, its state, and metrics for Prometheus.

use std::fmt::Write;
use std::net::{IpAddr, SocketAddr};
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

use super::super::row::OriginRow;
use super::super::stats::Stats;
use super::live::Live;
use crate::exit::WorldFailure;
use crate::origins;

/// Answers on `addr` from a thread of its own until `stop`.
pub(super) fn serve(addr: SocketAddr, live: Arc<Live>, stop: Stop) -> Result<()> {
    let taken =
        |error: std::io::Error| WorldFailure(format!("cannot serve HTTP on {addr}: {error}"));
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
    let Ok(addr) = addr.parse::<IpAddr>() else {
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
    let (v4, v6) = state
        .live()
        .map_or((0, 0), |live| live.table().known_ranges());
    let memory = state.live().map_or(0, |live| live.table().heap_bytes());
    let age = state.live().and_then(|live| live.age(origins::now()));
    let age = age.filter(|_| !state.is_up()).unwrap_or_default();
    let mut text = String::new();
    metric(&mut text, "ranges", "gauge", "Ranges of the live table.");
    sample(&mut text, "ranges{family=\"ipv4\"}", v4 as u64);
    sample(&mut text, "ranges{family=\"ipv6\"}", v6 as u64);
    for (name, kind, help, value) in [
        (
            "table_bytes",
            "gauge",
            "Memory of the live table.",
            memory as u64,
        ),
        (
            "feed_age_seconds",
            "gauge",
            "Time since a neighbour was connected.",
            age.as_secs(),
        ),
        (
            "publications_total",
            "counter",
            "Live tables published.",
            state.publications,
        ),
        (
            "refused_total",
            "counter",
            "Connections turned away.",
            state.refused,
        ),
        (
            "lookups_total",
            "counter",
            "Look-ups answered over HTTP.",
            state.lookups,
        ),
    ] {
        metric(&mut text, name, kind, help);
        sample(&mut text, name, value);
    }
    metric(
        &mut text,
        "neighbour_up",
        "gauge",
        "Whether a session is up.",
    );
    for entry in &state.neighbours {
        let name = format!("neighbour_up{{neighbour=\"{}\"}}", entry.addr);
        sample(&mut text, &name, entry.up.into());
    }
    metric(
        &mut text,
        "neighbour_prefixes",
        "gauge",
        "Prefixes at the last end of load.",
    );
    for entry in &state.neighbours {
        let name = format!("neighbour_prefixes{{neighbour=\"{}\"}}", entry.addr);
        sample(&mut text, &name, entry.prefixes as u64);
    }
    metric(
        &mut text,
        "neighbour_sessions_total",
        "counter",
        "Sessions established.",
    );
    for entry in &state.neighbours {
        let name = format!("neighbour_sessions_total{{neighbour=\"{}\"}}", entry.addr);
        sample(&mut text, &name, entry.sessions);
    }
    metric(
        &mut text,
        "neighbour_malformed_total",
        "counter",
        "Broken announcements.",
    );
    for entry in &state.neighbours {
        let name = format!("neighbour_malformed_total{{neighbour=\"{}\"}}", entry.addr);
        sample(&mut text, &name, entry.malformed);
    }
    text
}

fn metric(text: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(text, "# HELP nearside_origin_{name} {help}");
    let _ = writeln!(text, "# TYPE nearside_origin_{name} {kind}");
}

fn sample(text: &mut String, name: &str, value: u64) {
    let _ = writeln!(text, "nearside_origin_{name} {value}");
}
