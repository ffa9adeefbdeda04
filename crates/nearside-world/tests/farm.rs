//! Lab servers as a client meets them: answers, delays, challenges, limits and bad luck.

use std::net::SocketAddr;
use std::time::Duration;

use nearside_types::{Moment, Rtt, ServerAddr};
use nearside_wire::a2s::{self, Assembled, Challenge, Reassembler, Response};
use nearside_wire::quake3;
use nearside_world::farm::{
    ChallengePolicy, Farm, FarmConfig, FarmReply, FarmServer, Protocol, RateLimits, Weather,
};
use nearside_world::{Fraction, ProbeNoise};
use proptest::prelude::*;

const INFO: a2s::Request = a2s::Request::Info { challenge: None };

/// Nothing random, no limits: what a test is not about is switched off.
fn quiet() -> FarmConfig {
    FarmConfig {
        noise: ProbeNoise::NONE,
        rate_limits: RateLimits::Off,
        ..FarmConfig::default()
    }
}

fn addr(index: u16) -> ServerAddr {
    let text = format!("127.8.{}.{}:27015", index / 200, index % 200 + 1);
    text.parse().expect("an address")
}

/// `count` servers at 100 ms.
fn farm(config: FarmConfig, count: u16) -> Farm {
    let server = |index| FarmServer {
        addr: addr(index),
        rtt: Some(Rtt::from_micros(100_000)),
        busiest: Duration::ZERO,
    };
    Farm::new(config, (0..count).map(server).collect(), 7)
}

fn client() -> SocketAddr {
    "127.0.0.1:5000".parse().expect("an address")
}

fn ask(farm: &mut Farm, server: u16, payload: &[u8]) -> Vec<FarmReply> {
    let mut replies = Vec::new();
    let to = addr(server).socket();
    farm.handle(Moment::EPOCH, client(), to, payload, &mut replies);
    replies
}

fn response(replies: &[FarmReply]) -> Response {
    let mut whole = Reassembler::default();
    for reply in replies {
        if let Assembled::Whole(message) = whole.push(&reply.payload).expect("a fragment") {
            return Response::parse(&message).expect("a reply");
        }
    }
    panic!("no whole message in {} datagrams", replies.len());
}

fn fraction(share: f64) -> Fraction {
    share.try_into().expect("a share")
}

#[test]
fn info_comes_back_after_exactly_the_base_rtt_when_there_is_no_noise() {
    let mut farm = farm(quiet(), 2);
    let replies = ask(&mut farm, 0, &INFO.emit());
    assert_eq!(replies.len(), 1);
    assert_eq!(replies[0].delay, Duration::from_millis(100));
    let Response::Info(info) = response(&replies) else {
        panic!("not INFO");
    };
    assert_eq!(info.folder.to_string(), "cstrike");
    assert_eq!(info.true_app_id(), Some(240));
    assert_ne!(ask(&mut farm, 1, &INFO.emit()), replies);
}

/// Table 1 of the AS paper: (total bytes − 53·(replies + lost)) / replies is 132.9 for the German
/// client, and between 131 and 134 for the others.
#[test]
fn info_replies_are_as_long_as_those_of_table_1() {
    let mut farm = farm(quiet(), 3000);
    let bytes: usize = (0..3000)
        .map(|server| 28 + ask(&mut farm, server, &INFO.emit())[0].payload.len())
        .sum();
    let mean = bytes as f64 / 3000.0;
    assert!(
        (131.0..135.0).contains(&mean),
        "mean IP packet {mean:.1} bytes"
    );
}

#[test]
fn noise_scatters_around_the_base_rtt_and_spikes_reach_far() {
    let config = FarmConfig {
        rate_limits: RateLimits::Off,
        ..FarmConfig::default()
    };
    let mut farm = farm(config, 1);
    let mut millis: Vec<f64> = (0..4000)
        .map(|_| ask(&mut farm, 0, &INFO.emit())[0].delay.as_secs_f64() * 1000.0)
        .collect();
    millis.sort_by(f64::total_cmp);
    assert!(
        (millis[2000] - 100.0).abs() < 1.0,
        "median {}",
        millis[2000]
    );
    assert!(millis[40] > 90.0 && millis[3800] < 110.0);
    assert!(millis[3999] > 200.0, "longest {}", millis[3999]);
}

fn challenges_before_info(policy: ChallengePolicy) -> usize {
    let mut farm = farm(
        FarmConfig {
            challenge: policy,
            ..quiet()
        },
        1,
    );
    let mut request = INFO;
    for challenges in 0..10 {
        match response(&ask(&mut farm, 0, &request.emit())) {
            Response::Challenge(challenge) => request = request.with_challenge(challenge),
            _ => return challenges,
        }
    }
    panic!("still challenged after ten rounds");
}

#[test]
fn challenges_follow_the_policy() {
    assert_eq!(challenges_before_info(ChallengePolicy::Never), 0);
    assert_eq!(challenges_before_info(ChallengePolicy::Classic), 0);
    assert_eq!(challenges_before_info(ChallengePolicy::Always), 1);
    assert_eq!(challenges_before_info(ChallengePolicy::Repeated(3)), 3);
}

#[test]
fn a_challenge_holds_for_other_ports_of_the_same_address_but_no_other_address() {
    let config = FarmConfig {
        challenge: ChallengePolicy::Always,
        ..quiet()
    };
    let mut farm = farm(config, 1);
    let Response::Challenge(challenge) = response(&ask(&mut farm, 0, &INFO.emit())) else {
        panic!("no challenge");
    };
    let request = INFO.with_challenge(challenge).emit();
    let mut from = |source: &str| {
        let mut replies = Vec::new();
        let source = source.parse().unwrap();
        farm.handle(
            Moment::EPOCH,
            source,
            addr(0).socket(),
            &request,
            &mut replies,
        );
        matches!(response(&replies), Response::Info(_))
    };
    assert!(from("127.0.0.1:6000"));
    assert!(!from("127.0.0.2:6000"));
}

#[test]
fn players_and_rules_want_a_challenge_even_from_classic_servers() {
    let mut farm = farm(quiet(), 40);
    let none = Challenge::NONE;
    for server in 0..40 {
        let mut players = a2s::Request::Players { challenge: none };
        let Response::Challenge(challenge) = response(&ask(&mut farm, server, &players.emit()))
        else {
            panic!("not challenged");
        };
        players = players.with_challenge(challenge);
        let Response::Players(list) = response(&ask(&mut farm, server, &players.emit())) else {
            panic!("no players");
        };
        let Response::Info(info) = response(&ask(&mut farm, server, &INFO.emit())) else {
            panic!("no info");
        };
        assert_eq!(list.players.len(), usize::from(info.players));
        assert!(!list.partial);
    }
}

fn rules(compress_splits: bool) -> Vec<FarmReply> {
    let config = FarmConfig {
        challenge: ChallengePolicy::Never,
        compress_splits,
        ..quiet()
    };
    let request = a2s::Request::Rules {
        challenge: Challenge::NONE,
    };
    ask(&mut farm(config, 1), 0, &request.emit())
}

#[test]
fn rules_come_in_several_datagrams_plain_or_compressed() {
    for compress_splits in [false, true] {
        let replies = rules(compress_splits);
        assert_eq!(replies.len() > 1, !compress_splits, "{}", replies.len());
        assert!(replies.iter().all(|reply| reply.payload.len() <= 1400));
        let Response::Rules(list) = response(&replies) else {
            panic!("no rules");
        };
        assert!(list.rules.len() > 60 && !list.partial);
    }
}

#[test]
fn fragments_can_be_reordered_and_still_make_a_whole() {
    let config = FarmConfig {
        reordered: fraction(1.0),
        challenge: ChallengePolicy::Never,
        ..quiet()
    };
    let mut farm = farm(config, 40);
    let request = a2s::Request::Rules {
        challenge: Challenge::NONE,
    };
    let in_order: Vec<bool> = (0..40)
        .map(|server| {
            let replies = ask(&mut farm, server, &request.emit());
            assert!(matches!(response(&replies), Response::Rules(_)));
            replies.is_sorted_by_key(|reply| reply.payload[9])
        })
        .collect();
    assert!(in_order.contains(&true) && in_order.contains(&false));
}

#[test]
fn exchanges_fail_as_often_as_configured_and_in_both_directions() {
    let config = FarmConfig {
        loss: fraction(0.2),
        ..quiet()
    };
    let mut farm = farm(config, 5000);
    let answered = (0..5000)
        .filter(|&server| !ask(&mut farm, server, &INFO.emit()).is_empty())
        .count();
    // Three standard deviations of a binomial around 4,000.
    assert!((3915..=4085).contains(&answered), "{answered} of 5000");
    let stats = farm.stats();
    assert!(
        stats.request_lost > 400 && stats.reply_lost > 350,
        "{stats:?}"
    );
    assert_eq!(
        stats.request_lost + stats.reply_lost + stats.answered,
        stats.requests
    );
}

#[test]
fn duplicates_trail_their_originals() {
    let config = FarmConfig {
        duplicates: fraction(1.0),
        ..quiet()
    };
    let mut replies = ask(&mut farm(config, 1), 0, &INFO.emit());
    replies.sort_by_key(|reply| reply.delay);
    assert_eq!(replies.len(), 2);
    assert_eq!(replies[0].payload, replies[1].payload);
    assert_eq!(replies[0].delay, Duration::from_millis(100));
    assert!(replies[1].delay > replies[0].delay);
}

#[test]
fn silent_unknown_and_garbled_get_no_answer_and_are_counted() {
    let silent = FarmServer {
        addr: addr(0),
        rtt: None,
        busiest: Duration::ZERO,
    };
    let present = FarmServer {
        addr: addr(1),
        rtt: Some(Rtt::from_micros(1)),
        busiest: Duration::ZERO,
    };
    let mut farm = Farm::new(quiet(), vec![silent, present], 1);
    assert!(ask(&mut farm, 0, &INFO.emit()).is_empty());
    assert!(ask(&mut farm, 9, &INFO.emit()).is_empty());
    assert!(ask(&mut farm, 1, b"hello").is_empty());
    let stats = farm.stats();
    assert_eq!(
        (stats.silent, stats.no_such_server, stats.malformed),
        (1, 1, 1)
    );
}

#[test]
fn real_limits_bite_and_are_counted() {
    let config = FarmConfig {
        protocol: Protocol::EnemyTerritory,
        rate_limits: RateLimits::Real,
        ..quiet()
    };
    let mut farm = farm(config, 1);
    let request = quake3::Request::GetInfo { challenge: None }.emit();
    let answered = (0..40)
        .filter(|_| !ask(&mut farm, 0, &request).is_empty())
        .count();
    assert_eq!(answered, 10);
    assert_eq!(farm.stats().limited, 30);
}

#[test]
fn luck_does_not_depend_on_how_requests_interleave() {
    let config = FarmConfig {
        loss: fraction(0.3),
        rate_limits: RateLimits::Off,
        ..FarmConfig::default()
    };
    let run = |order: &[u16]| {
        let mut farm = farm(config.clone(), 3);
        let mut seen = vec![Vec::new(); 3];
        for &server in order {
            seen[usize::from(server)].push(ask(&mut farm, server, &INFO.emit()));
        }
        seen
    };
    assert_eq!(run(&[0, 0, 0, 1, 1, 2]), run(&[2, 1, 0, 1, 0, 0]));
}

#[test]
fn enemy_territory_repeats_the_challenge_and_counts_its_players() {
    let config = FarmConfig {
        protocol: Protocol::EnemyTerritory,
        ..quiet()
    };
    let mut farm = farm(config, 30);
    for server in 0..30 {
        let challenge = Some(quake3::Challenge::new(b"a1b2").unwrap());
        let info = quake3::Request::GetInfo {
            challenge: challenge.clone(),
        };
        let reply = ask(&mut farm, server, &info.emit()).remove(0);
        let quake3::Response::Info(info) = quake3::Response::parse(&reply.payload).unwrap() else {
            panic!("not an infoResponse");
        };
        assert_eq!(info.challenge(), Some(&b"a1b2"[..]));
        assert_eq!(info.protocol(), Some(84));
        assert_eq!(info.get("game").unwrap().as_bytes(), b"etmain");

        let status = quake3::Request::GetStatus { challenge };
        let reply = ask(&mut farm, server, &status.emit()).remove(0);
        assert!(reply.payload.len() < 1400 * 3);
        let parsed = quake3::Response::parse(&reply.payload).unwrap();
        let quake3::Response::Status { players, .. } = parsed else {
            panic!("not a statusResponse");
        };
        assert_eq!(players.len() as u32, info.clients().unwrap());
    }
}

proptest! {
    #[test]
    fn no_datagram_makes_a_server_panic(bytes: Vec<u8>, et: bool, valid_start: bool) {
        let protocol = if et { Protocol::EnemyTerritory } else { Protocol::A2s };
        let mut farm = farm(FarmConfig { protocol, ..quiet() }, 1);
        let mut payload = if valid_start { vec![0xff; 4] } else { Vec::new() };
        payload.extend(bytes);
        let replies = ask(&mut farm, 0, &payload);
        prop_assert_eq!(replies.is_empty(), farm.stats().malformed == 1);
    }
}

/// An hour of drift moves a reply; the same hour from another farm of the same seed, by as much.
#[test]
fn paths_drift_the_same_way_for_the_same_seed() {
    let drifting = || {
        let weather = Weather {
            drift_sigma: 0.2,
            drift_every: Duration::from_secs(3600),
            ..Weather::default()
        };
        farm(FarmConfig { weather, ..quiet() }, 2)
    };
    let delay = |farm: &mut Farm, seconds| {
        let mut replies = Vec::new();
        let now = Moment::EPOCH + Duration::from_secs(seconds);
        farm.handle(now, client(), addr(0).socket(), &INFO.emit(), &mut replies);
        replies[0].delay
    };
    let (mut one, mut other) = (drifting(), drifting());
    assert_eq!(delay(&mut one, 0), Duration::from_millis(100));
    let later = delay(&mut one, 3600);
    assert_ne!(later, Duration::from_millis(100));
    assert_eq!(delay(&mut other, 3600), later);
}
