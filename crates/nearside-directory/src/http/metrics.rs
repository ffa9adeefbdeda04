//! Figures for Prometheus, in its text format, version 0.0.4.

use std::fmt::Write;

use crate::server::Handle;

const PREFIX: &str = "nearside_directory_";

pub(super) fn text(handle: &Handle) -> String {
    let mut text = String::new();
    for (name, kind, help, value) in families(handle) {
        let _ = writeln!(text, "# HELP {PREFIX}{name} {help}");
        let _ = writeln!(text, "# TYPE {PREFIX}{name} {kind}");
        let _ = writeln!(text, "{PREFIX}{name} {value}");
    }
    text
}

type Family = (&'static str, &'static str, &'static str, u64);

fn families(handle: &Handle) -> Vec<Family> {
    let (snapshot, keeper) = (handle.snapshot(), handle.keeper());
    let c = snapshot.counts;
    let uptime = snapshot.at.since(snapshot.started).as_secs();
    let gauge = |name, help, value| (name, "gauge", help, value);
    let total = |name, help, value| (name, "counter", help, value);
    vec![
        gauge("uptime_seconds", "Time since the start.", uptime),
        gauge(
            "clients",
            "Clients that are joined.",
            snapshot.clients as u64,
        ),
        gauge("relays", "Clients that relay.", snapshot.relays as u64),
        gauge(
            "connections",
            "Connections, with strangers'.",
            snapshot.connections as u64,
        ),
        gauge("sessions", "Sessions.", snapshot.sessions as u64),
        gauge(
            "relayed_sessions",
            "Sessions on a relay.",
            snapshot.relayed as u64,
        ),
        total(
            "datagrams_received_total",
            "Datagrams received.",
            c.datagrams,
        ),
        total("bytes_received_total", "Bytes received.", c.bytes_in),
        total("datagrams_sent_total", "Datagrams sent.", c.sent),
        total("bytes_sent_total", "Bytes sent.", c.bytes_out),
        total(
            "datagrams_unsent_total",
            "Datagrams the kernel would not take.",
            snapshot.unsent,
        ),
        total(
            "datagrams_strange_total",
            "Datagrams that are no frames for a directory.",
            c.strange,
        ),
        total("retries_total", "Hellos answered by a cookie.", c.retries),
        total("handshakes_total", "Handshakes answered.", c.handshakes),
        total(
            "bad_hellos_total",
            "Hellos with a cookie and no handshake.",
            c.bad_hellos,
        ),
        total(
            "turned_away_total",
            "Hellos without time or room for them.",
            c.turned_away,
        ),
        total(
            "unknown_total",
            "Sealed frames of unknown connections.",
            c.unknown,
        ),
        total("forged_total", "Sealed frames that were forged.", c.forged),
        total(
            "replayed_total",
            "Sealed frames that came before.",
            c.replayed,
        ),
        total(
            "unreadable_total",
            "Requests that could not be read.",
            c.unreadable,
        ),
        total("requests_total", "Requests.", c.requests),
        total(
            "requests_repeated_total",
            "Requests that came again.",
            c.repeated,
        ),
        total(
            "requests_too_many_total",
            "Requests beyond a client's budget.",
            c.too_many,
        ),
        total(
            "requests_refused_total",
            "Requests refused for another reason.",
            c.refused,
        ),
        total(
            "held_back_total",
            "Answers to unproven addresses held back.",
            c.held_back,
        ),
        total("joined_total", "Clients that joined.", c.joined),
        total("left_total", "Clients that left or fell silent.", c.left),
        total("moved_total", "Clients whose address changed.", c.moved),
        total("reports_total", "Reports taken in.", c.reports),
        total("doubts_total", "Parts of reports not believed.", c.doubts),
        total("introduced_total", "Pairs introduced.", c.introduced),
        total("offered_total", "Relays offered.", c.offered),
        total("complaints_total", "Complaints about relays.", c.complaints),
        total("unheard_total", "Notices that nobody confirmed.", c.unheard),
        total(
            "posted_total",
            "Notices for clients of other directories.",
            c.posted,
        ),
        total(
            "delivered_total",
            "Notices of other directories.",
            c.delivered,
        ),
        total(
            "store_written_total",
            "Changes written to the store.",
            keeper.written(),
        ),
        total(
            "store_groups_total",
            "Groups of changes written.",
            keeper.groups(),
        ),
        total(
            "store_failures_total",
            "Groups that failed.",
            keeper.failures(),
        ),
        total(
            "store_lost_total",
            "Changes lost while the store failed.",
            keeper.lost(),
        ),
        gauge(
            "store_waiting",
            "Changes that wait for the store.",
            keeper.waiting(),
        ),
    ]
}
