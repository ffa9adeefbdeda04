//! Rows and figures that the tests of all faces share.

use nearside_discover::planner::{Activity, StopReason};
use nearside_discover::snapshot::{FullScan, Progress, Row, Snapshot, Summary};
use nearside_types::Rtt;
use proptest::prelude::*;

use super::goal::Goal;

/// What a run without flags looks for.
pub(crate) const GOAL: Goal = Goal {
    stop_rtt: Rtt::from_micros(200_000),
    best: 10,
    only_best: false,
};

/// A server about which everything is known.
pub(crate) fn full_row() -> Row {
    Row {
        addr: "192.0.2.7:27015".parse().unwrap(),
        rtt_ms: Some(12.3),
        asn: Some(24_940),
        country: "DE".parse().ok(),
        name: Some("Night Owls".into()),
        map: Some("de_dust2".into()),
        game: Some("cstrike".into()),
        players: Some(12),
        bots: Some(0),
        max_players: Some(32),
        password: Some(false),
        samples: 2,
        clean: true,
    }
}

/// A server that did not answer.
pub(crate) fn unknown_row() -> Row {
    Row {
        addr: "192.0.2.99:27015".parse().unwrap(),
        rtt_ms: None,
        asn: None,
        country: None,
        name: None,
        map: None,
        game: None,
        players: None,
        bots: None,
        max_players: None,
        password: None,
        samples: 0,
        clean: false,
    }
}

/// Near, locked with bots and an unclean ping, far with a wide name, and silent.
pub(crate) fn four_rows() -> Vec<Row> {
    let locked = Row {
        addr: "198.51.100.20:27016".parse().unwrap(),
        rtt_ms: Some(45.1),
        name: Some("Friends, \"only\"".into()),
        map: Some("cs_office".into()),
        players: Some(8),
        bots: Some(5),
        max_players: Some(16),
        password: Some(true),
        clean: false,
        ..full_row()
    };
    let far = Row {
        addr: "203.0.113.5:27015".parse().unwrap(),
        rtt_ms: Some(187.0),
        asn: None,
        country: "JP".parse().ok(),
        name: Some("東京サーバー".into()),
        map: Some("de_nuke".into()),
        players: Some(0),
        bots: None,
        max_players: Some(24),
        ..full_row()
    };
    vec![full_row(), locked, far, unknown_row()]
}

pub(crate) fn summary() -> Summary {
    Summary {
        planner: "as".into(),
        listed: 28_400,
        probed: 4_690,
        answered: 4_310,
        playable: 1_402,
        stopped: Some(StopReason::AutoStop),
        verdict: None,
        expected_missed: None,
        expected_better: None,
        probes_sent: 4_731,
        bytes_sent: 250_000,
        bytes_received: 950_000,
        flows: 4_698,
        seconds: 35.2,
        full_scan: FullScan {
            probes: 28_648,
            bytes: 6_900_000,
            seconds: 204.2,
        },
    }
}

pub(crate) fn snapshot() -> Snapshot {
    Snapshot {
        servers: four_rows(),
        summary: summary(),
    }
}

pub(crate) fn progress() -> Progress {
    Progress {
        activity: Activity::Calibrating,
        listed: 27_640,
        probed: 1_204,
        pending: 40,
        answered: 312,
        playable: 41,
        probes_sent: 1_250,
        expected_missed: None,
        expected_better: None,
        seconds: 8.62,
    }
}

/// Any characters at all, controls included (a plain `String` strategy leaves those out).
pub(crate) fn any_text() -> impl Strategy<Value = String> {
    let hostile = proptest::sample::select(vec!['\u{1B}', '[', '\u{9B}', '\n', '\u{202E}', '日']);
    let character =
        prop_oneof![3 => any::<char>(), 1 => hostile, 2 => proptest::char::range(' ', '~')];
    proptest::collection::vec(character, 0..40)
        .prop_map(|characters| characters.into_iter().collect())
}

/// Any row, some values missing.
pub(crate) fn any_row() -> impl Strategy<Value = Row> {
    let texts = proptest::option::of((any_text(), any_text()));
    let counts = proptest::option::of((0u32..200, 0u32..200, any::<u32>()));
    let address = (any::<u32>(), any::<u128>(), any::<bool>(), 1u16..);
    (
        address,
        proptest::option::of(0.0f64..5_000.0),
        texts,
        counts,
        any::<[bool; 3]>(),
    )
        .prop_map(
            |((v4, v6, is_v4, port), rtt_ms, texts, counts, [locked, clean, located])| {
                let ip = if is_v4 {
                    v4.to_be_bytes().into()
                } else {
                    std::net::IpAddr::from(v6.to_be_bytes())
                };
                let (name, map) = texts.unzip();
                Row {
                    addr: nearside_types::ServerAddr::new(ip, port).unwrap(),
                    rtt_ms,
                    asn: located.then_some(v4),
                    country: "DE".parse().ok().filter(|_| located),
                    name,
                    map,
                    game: None,
                    players: counts.map(|(players, ..)| players),
                    bots: counts.map(|(_, bots, _)| bots),
                    max_players: counts.map(|(.., places)| places),
                    password: Some(locked),
                    samples: 1,
                    clean,
                }
            },
        )
}
