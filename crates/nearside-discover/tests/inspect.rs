//! A close look at one server, in virtual time.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::time::Duration;

use nearside_discover::inspect::{Findings, InspectConfig, InspectOutput, Inspection};
use nearside_discover::prober::Protocol;
use nearside_types::{Moment, Rtt};
use nearside_wire::a2s::{
    self, Challenge, Player, PlayerList, Rule, RuleList, Split, SplitForm, split,
};
use nearside_wire::{GameText, quake3};
use proptest::prelude::*;

const RTT: Duration = Duration::from_millis(40);

/// Drives an inspection; `answer` gets the request's number and bytes.
fn drive(
    config: InspectConfig,
    mut answer: impl FnMut(usize, &[u8]) -> Vec<Vec<u8>>,
) -> (Findings, Vec<Moment>) {
    let mut inspection = Inspection::new(config);
    let mut now = Moment::EPOCH;
    let mut mail: Vec<(Moment, usize, Vec<u8>)> = Vec::new();
    let mut sends = Vec::new();
    loop {
        match inspection.poll_output(now) {
            InspectOutput::Transmit { port, payload } => {
                let replies = answer(sends.len(), &payload);
                sends.push(now);
                mail.extend(replies.into_iter().map(|reply| (now + RTT, port, reply)));
            }
            InspectOutput::Done => return (inspection.findings().clone(), sends),
            InspectOutput::Wait(until) => {
                if mail.first().is_some_and(|(at, _, _)| *at <= until) {
                    let (at, port, reply) = mail.remove(0);
                    now = at.max(now);
                    inspection.handle_datagram(port, Some(now), &reply);
                } else {
                    now = until;
                }
            }
        }
    }
}

fn players() -> PlayerList {
    let player = |index: u8| Player {
        index: 0,
        name: GameText::new(vec![b'p', b'0' + index, 0xff]),
        score: i32::from(index),
        connected: a2s::Connected::from_secs(60.0),
        ship: None,
    };
    PlayerList::complete((0..4).map(player).collect())
}

fn rules() -> RuleList {
    let rule = |index: usize| Rule {
        name: GameText::new(format!("rule_{index}").into_bytes()),
        value: GameText::new(vec![b'x'; 40]),
    };
    RuleList::complete((0..60).map(rule).collect())
}

fn info() -> Vec<u8> {
    let mut message = b"\xff\xff\xff\xff\x49\x11".to_vec();
    message.extend_from_slice(b"Name\0de_dust2\0cstrike\0CS\0");
    message.extend_from_slice(&[240, 0, 4, 32, 0, b'd', b'l', 1, 1]);
    message.extend_from_slice(b"1.0\0");
    message
}

/// An A2S server that challenges everything and splits its rules, last fragment first.
fn challenging_server(_: usize, request: &[u8]) -> Vec<Vec<u8>> {
    let wanted = Challenge([7; 4]);
    let ask = || vec![a2s::Response::Challenge(wanted).emit()];
    match a2s::Request::parse(request).unwrap() {
        a2s::Request::Info { challenge } if challenge == Some(wanted) => vec![info()],
        a2s::Request::Players { challenge } if challenge == wanted => {
            vec![a2s::Response::Players(players()).emit()]
        }
        a2s::Request::Rules { challenge } if challenge == wanted => {
            let message = a2s::Response::Rules(rules()).emit();
            let how = Split::new(SplitForm::Source, 99);
            let mut fragments = split(&message, how).unwrap();
            fragments.reverse();
            fragments
        }
        _ => ask(),
    }
}

#[test]
fn info_players_and_rules_are_collected_through_challenges_and_splits() {
    let (findings, sends) = drive(InspectConfig::new(Protocol::A2s, 1), challenging_server);
    assert!(findings.a2s.unwrap().password);
    assert_eq!(findings.players, Some(players()));
    assert_eq!(findings.rules, Some(rules()));
    assert_eq!(
        sends.len(),
        4,
        "the challenge is asked for once and remembered"
    );
    assert!(
        findings
            .rtts
            .iter()
            .all(|rtt| *rtt == Rtt::from_duration(RTT))
    );
}

#[test]
fn a_server_that_never_answers_rules_still_shows_the_rest() {
    let (findings, _) =
        drive(
            InspectConfig::new(Protocol::A2s, 1),
            |index, request| match a2s::Request::parse(request).unwrap() {
                a2s::Request::Rules { .. } => Vec::new(),
                _ => challenging_server(index, request),
            },
        );
    assert!(findings.a2s.is_some() && findings.players.is_some() && findings.rules.is_none());
}

#[test]
fn quake3_status_brings_players() {
    let (findings, _) = drive(InspectConfig::new(Protocol::Quake3, 1), |_, request| {
        let keys = |challenge: &quake3::Challenge| {
            quake3::InfoString::new()
                .with("hostname", "x")
                .with("challenge", challenge.as_bytes())
        };
        let response = match quake3::Request::parse(request).unwrap() {
            quake3::Request::GetInfo { challenge } => {
                quake3::Response::Info(keys(&challenge.unwrap()))
            }
            quake3::Request::GetStatus { challenge } => quake3::Response::Status {
                info: keys(&challenge.unwrap()),
                players: vec![quake3::StatusPlayer {
                    score: 3,
                    ping_ms: 48,
                    name: GameText::new(b"^1Ann".to_vec()),
                    extra: Vec::new(),
                }],
            },
        };
        vec![response.emit()]
    });
    assert_eq!(findings.status_players.unwrap().len(), 1);
    assert!(findings.quake3.is_some());
}

#[test]
fn quality_counts_every_lost_probe_and_never_sends_more_than_three_a_second() {
    let mut config = InspectConfig::new(Protocol::A2s, 1);
    config.details = false;
    config.quality_probes = 20;
    let (findings, sends) = drive(config, |index, _| {
        if index % 4 == 2 {
            Vec::new()
        } else {
            vec![info()]
        }
    });
    let quality = findings.quality();
    assert_eq!((quality.sent, quality.lost), (20, 5));
    assert_eq!(quality.rtt_ms, Some([40.0; 5]));
    assert_eq!(quality.jitter_ms, Some(0.0));
    for window in sends.windows(4) {
        assert!(window[3] - window[0] >= Duration::from_secs(1));
    }
}

#[test]
fn a_challenging_server_sees_three_datagrams_a_second_at_most() {
    let (_, sends) = drive(InspectConfig::new(Protocol::A2s, 1), challenging_server);
    for window in sends.windows(4) {
        assert!(window[3] - window[0] >= Duration::from_secs(1), "{sends:?}");
    }
}

#[test]
fn an_interrupted_quality_test_counts_only_what_was_sent_and_could_answer() {
    let mut config = InspectConfig::new(Protocol::A2s, 1);
    config.details = false;
    config.quality_probes = 20;
    let mut inspection = Inspection::new(config);
    let now = Moment::EPOCH;
    let InspectOutput::Transmit { port, .. } = inspection.poll_output(now) else {
        panic!("asks first");
    };
    inspection.handle_datagram(port, Some(now + RTT), &info());
    let later = now + Duration::from_secs(1);
    assert!(matches!(
        inspection.poll_output(later),
        InspectOutput::Transmit { .. }
    ));
    inspection.interrupt();
    let quality = inspection.findings().quality();
    assert_eq!(
        (quality.sent, quality.lost),
        (0, 0),
        "the one under way is not lost"
    );
}

#[test]
fn a_dead_server_is_given_up_and_reported_as_such() {
    let (findings, sends) = drive(InspectConfig::new(Protocol::A2s, 1), |_, _| Vec::new());
    assert!(!findings.is_alive());
    assert_eq!(
        sends.len(),
        3,
        "nobody there: players and rules are not asked for"
    );
}

#[test]
fn jitter_is_the_mean_step_between_neighbours() {
    let findings = Findings {
        quality: [10, 20, 10, 40]
            .map(|ms| Some(Rtt::from_micros(ms * 1000)))
            .to_vec(),
        ..Findings::default()
    };
    let jitter = findings.quality().jitter_ms.unwrap();
    assert!((jitter - (10.0 + 10.0 + 30.0) / 3.0).abs() < 1e-9);
}

proptest! {
    #[test]
    fn any_replies_are_survived(
        replies in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..50), 0..30),
        kinds in proptest::collection::vec(0u8..4, 30),
        quake3: bool,
    ) {
        let protocol = if quake3 { Protocol::Quake3 } else { Protocol::A2s };
        let mut replies = replies.into_iter().zip(kinds).map(|(mut bytes, kind)| {
            let head: &[u8] = match kind {
                0 => b"\xff\xff\xff\xff\x41",
                1 => b"\xff\xff\xff\xff\x49",
                2 => b"\xfe\xff\xff\xff",
                _ => b"\xff\xff\xff\xff",
            };
            bytes.splice(0..0, head.iter().copied());
            bytes
        });
        let (_, sends) = drive(InspectConfig::new(protocol, 1), |_, _| replies.by_ref().take(2).collect());
        prop_assert!(sends.len() <= 3 * 3 * 4);
    }
}
