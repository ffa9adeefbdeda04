//! Figures for Prometheus, in its text format, version 0.0.4.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::Web;

/// A family with its samples: labels, which may be empty, and values.
struct Family<'a> {
    name: &'a str,
    kind: &'a str,
    help: &'a str,
    samples: Vec<(String, u64)>,
}

const PREFIX: &str = "nearside_master_";

pub(super) fn text(web: &Web) -> String {
    let mut text = String::new();
    for family in families(web) {
        let Family {
            name, kind, help, ..
        } = family;
        let _ = writeln!(text, "# HELP {PREFIX}{name} {help}");
        let _ = writeln!(text, "# TYPE {PREFIX}{name} {kind}");
        for (labels, value) in family.samples {
            let _ = match labels.as_str() {
                "" => writeln!(text, "{PREFIX}{name} {value}"),
                labels => writeln!(text, "{PREFIX}{name}{{{labels}}} {value}"),
            };
        }
    }
    text
}

fn families(web: &Web) -> Vec<Family<'static>> {
    let snapshot = web.handle.snapshot();
    let keeper = web.handle.keeper();
    let tally = snapshot.tally;
    let log = web.operator.log();
    let mut all = Vec::new();
    let mut one = |name, kind, help, value: u64| {
        all.push(Family {
            name,
            kind,
            help,
            samples: vec![(String::new(), value)],
        });
    };
    one(
        "servers",
        "gauge",
        "Servers on lists.",
        snapshot.servers as u64,
    );
    let uptime = snapshot.at.since(snapshot.started).as_secs();
    one("uptime_seconds", "gauge", "Time since the start.", uptime);
    for (name, help, value) in [
        (
            "datagrams_received_total",
            "Datagrams received.",
            tally.received,
        ),
        (
            "datagrams_meaningless_total",
            "Datagrams that meant nothing.",
            tally.meaningless,
        ),
        (
            "datagrams_unsent_total",
            "Datagrams the kernel would not take.",
            snapshot.unsent,
        ),
        ("heartbeats_total", "Heartbeats.", tally.heartbeats),
        (
            "claims_total",
            "Registrations over HTTP, proven or not.",
            tally.claims,
        ),
        (
            "registrations_total",
            "Registrations taken, renewals included.",
            tally.registrations,
        ),
        (
            "refusals_total",
            "Registrations proven and refused.",
            tally.refusals,
        ),
        (
            "wrong_challenges_total",
            "Challenges missing, old or another's.",
            tally.wrong_challenges,
        ),
        ("list_requests_total", "List requests.", tally.list_requests),
        (
            "cookies_total",
            "List requests answered with a cookie.",
            tally.cookies,
        ),
        (
            "lists_total",
            "List requests answered with a list.",
            tally.lists,
        ),
        (
            "legacy_lists_total",
            "Lists to clients without cookies.",
            tally.legacy_lists,
        ),
        (
            "unanswered_total",
            "Requests without answer.",
            tally.unanswered,
        ),
        (
            "scans_refused_total",
            "List requests answered as last time or not at all, to spare others the wait.",
            tally.scans_refused,
        ),
        (
            "checks_total",
            "Servers asked whether they are there.",
            tally.checks,
        ),
        (
            "unproven_bytes_in_total",
            "Bytes from unproven addresses.",
            tally.unproven_bytes_in,
        ),
        (
            "unproven_bytes_out_total",
            "Bytes to unproven addresses.",
            tally.unproven_bytes_out,
        ),
        (
            "store_written_total",
            "Changes written to the store.",
            keeper.written(),
        ),
        (
            "store_groups_total",
            "Groups written to the store.",
            keeper.groups(),
        ),
        (
            "store_failures_total",
            "Groups the store would not take.",
            keeper.failures(),
        ),
        (
            "store_lost_total",
            "Changes not kept, since too many waited.",
            keeper.lost(),
        ),
        ("log_lines_total", "Lines of the log written.", log.written),
        (
            "log_lines_alike_total",
            "Lines only counted, since many like them came.",
            log.alike,
        ),
        (
            "log_lines_dropped_total",
            "Lines lost, since nobody read the log.",
            log.dropped,
        ),
        (
            "http_connections_total",
            "Connections let in.",
            web.door.accepted(),
        ),
        (
            "http_turned_away_total",
            "Connections closed at once.",
            web.door.turned_away(),
        ),
    ] {
        one(name, "counter", help, value);
    }
    one(
        "store_waiting",
        "gauge",
        "Changes that wait.",
        keeper.waiting(),
    );
    let trouble = u64::from(web.handle.store_trouble().is_some());
    one(
        "store_failing",
        "gauge",
        "1 while the store fails.",
        trouble,
    );
    one(
        "http_connections",
        "gauge",
        "Connections open.",
        web.door.inside() as u64,
    );
    one("bans", "gauge", "Bans.", web.operator.bans().len() as u64);
    all.extend(requests(web));
    all.extend(sources(web));
    all.extend(feed(web));
    all
}

fn requests(web: &Web) -> Option<Family<'static>> {
    let counts: BTreeMap<(String, u16), u64> = web.requests.lock().ok()?.clone();
    let samples = counts
        .into_iter()
        .map(|((route, status), count)| (format!("route=\"{route}\",status=\"{status}\""), count));
    Some(Family {
        name: "http_requests_total",
        kind: "counter",
        help: "HTTP requests answered.",
        samples: samples.collect(),
    })
}

fn sources(web: &Web) -> Vec<Family<'static>> {
    let sources = web.operator.sources();
    let label = |name: &str| format!("source=\"{}\"", name.replace(['"', '\\', '\n'], "_"));
    let servers = sources.iter();
    let servers = servers.map(|source| (label(&source.name), source.servers as u64));
    let ages = sources.iter();
    let ages = ages.filter_map(|source| Some((label(&source.name), source.age_s?)));
    vec![
        Family {
            name: "source_servers",
            kind: "gauge",
            help: "Servers on the last list of a followed master.",
            samples: servers.collect(),
        },
        Family {
            name: "source_age_seconds",
            kind: "gauge",
            help: "Time since the last good list of a followed master.",
            samples: ages.collect(),
        },
    ]
}

fn feed(web: &Web) -> Vec<Family<'static>> {
    let Some(feed) = web.operator.origins().feed else {
        return Vec::new();
    };
    let gauge = |name, help, value: u64| Family {
        name,
        kind: "gauge",
        help,
        samples: vec![(String::new(), value)],
    };
    let mut all = vec![
        gauge("feed_neighbours", "BGP neighbours.", feed.neighbours as u64),
        gauge("feed_up", "BGP neighbours connected.", feed.up as u64),
    ];
    let age = feed.age_s;
    all.extend(age.map(|age| gauge("feed_age_seconds", "Time without any neighbour.", age)));
    all
}
