//! Servers of other masters beside those that registered here.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::time::Duration;

use common::{Net, answer, client, public, quake3_info, steam_info};
use nearside_registry::{
    Ban, Bans, Event, Facts, Family, FollowCounts, Followed, Removal, Settings, SocketId, SourceId,
    Standing, Text, Wholeness,
};
use nearside_types::ServerAddr;
use nearside_wire::a2s::{self, Dialect, Environment, Info, ServerType, SourceInfo};
use nearside_wire::quake3::master::ListRequest;

const SOURCE: SourceId = SourceId(3);

fn addr(number: u32) -> ServerAddr {
    ServerAddr::from_socket(public(number)).unwrap()
}

fn followed(number: u32, family: Family) -> Followed {
    let mut facts = Facts::of_texts(&[(Text::Game, b"Quake3Arena")]);
    facts.protocol = 71;
    Followed {
        addr: addr(number),
        family,
        facts,
    }
}

fn follow(net: &mut Net, numbers: &[u32], family: Family) -> FollowCounts {
    follow_from(net, SOURCE, numbers, family)
}

fn follow_from(net: &mut Net, source: SourceId, numbers: &[u32], family: Family) -> FollowCounts {
    let until = net.now + Duration::from_secs(600);
    let servers = numbers.iter().map(|number| followed(*number, family));
    net.master
        .follow(net.now, source, servers, Wholeness::Whole, until)
}

/// Who listed a server first speaks for it as long as it is heard of, and no longer.
#[test]
fn a_source_whose_time_is_up_no_longer_speaks_for_a_server() {
    let mut net = Net::new(Settings::default());
    let says = |map: &'static [u8]| {
        let mut facts = Facts::of_texts(&[(Text::Game, b"tanks"), (Text::Map, map)]);
        facts.places = 8;
        Followed {
            addr: addr(1),
            family: Family::Other,
            facts,
        }
    };
    let tell = |net: &mut Net, source, map| {
        let until = net.now + Duration::from_secs(40);
        let servers = [says(map)];
        net.master
            .follow(net.now, SourceId(source), servers, Wholeness::Whole, until);
    };
    let map = |net: &Net| {
        let server = net.master.shelf().get(addr(1)).unwrap();
        server.facts.text(Text::Map).to_vec()
    };
    tell(&mut net, 1, b"old");
    tell(&mut net, 2, b"new");
    assert_eq!(map(&net), b"old", "the first speaks");
    for _ in 0..5 {
        net.pass(10);
        tell(&mut net, 2, b"new");
    }
    assert_eq!(
        map(&net),
        b"new",
        "the first was not heard of for 50 seconds"
    );
}

fn request(words: &[&str]) -> ListRequest {
    ListRequest {
        other: words.iter().map(|word| (*word).to_owned()).collect(),
        ..ListRequest::new(None, 71)
    }
}

#[test]
fn followed_servers_are_listed_for_players_and_not_for_masters_that_follow() {
    let mut net = Net::new(Settings::default());
    net.register(public(1), quake3_info());
    let counts = follow(&mut net, &[1, 2, 3], Family::Quake3);
    assert_eq!((counts.taken, counts.known, counts.gone), (2, 1, 0));
    assert_eq!(net.list(client(), request(&[])).len(), 3);
    let own = net.list(client(), request(&["own"]));
    assert_eq!(own.len(), 1, "{own:?}");
    assert_eq!(own[0].addr, addr(1));
    let mine = net.master.shelf().get(addr(1)).unwrap();
    assert_eq!(
        mine.standing,
        Standing::Verified,
        "its own word counts more"
    );
    assert_eq!(net.master.followed_from(addr(2)), Some(SOURCE));
}

#[test]
fn what_a_whole_list_has_no_more_goes_and_what_a_broken_one_lacks_stays() {
    let mut net = Net::new(Settings::default());
    follow(&mut net, &[1, 2, 3], Family::Quake3);
    let until = net.now + Duration::from_secs(600);
    let one = [followed(1, Family::Quake3)];
    let partial = net
        .master
        .follow(net.now, SOURCE, one, Wholeness::Partial, until);
    assert_eq!(partial.gone, 0);
    let counts = follow(&mut net, &[1], Family::Quake3);
    assert_eq!(counts.gone, 2);
    assert_eq!(net.master.shelf().len(), 1);
    net.pass(601);
    assert!(
        net.master.shelf().is_empty(),
        "a master that fell silent is believed no longer"
    );
}

#[test]
fn a_server_on_two_lists_stays_until_neither_has_it() {
    let mut net = Net::new(Settings::default());
    let other = SourceId(4);
    let family = Family::Quake3;
    follow(&mut net, &[1, 2], family);
    let counts = follow_from(&mut net, other, &[1, 3], family);
    assert_eq!((counts.taken, counts.known), (1, 1));
    assert_eq!(net.master.followed_from(addr(1)), Some(SOURCE));
    assert_eq!(follow(&mut net, &[2], family).gone, 0, "the other has it");
    assert_eq!(net.master.followed_from(addr(1)), Some(other));
    assert_eq!(net.master.shelf().len(), 3);
    net.pass(300);
    follow_from(&mut net, other, &[1], family);
    net.pass(400);
    assert!(
        net.master.shelf().get(addr(1)).is_some() && net.master.shelf().len() == 1,
        "each list keeps its own for its time"
    );
    net.events.clear();
    assert_eq!(net.master.unfollow(other), 1);
    net.drain();
    let gone = Event::Removed {
        addr: addr(1),
        cause: Removal::Unlisted,
    };
    assert_eq!(net.events, [gone]);
}

#[test]
fn the_time_of_a_server_on_two_lists_is_up_when_that_of_the_last_is() {
    let mut net = Net::new(Settings::default());
    let family = Family::Quake3;
    follow(&mut net, &[1], family);
    net.pass(300);
    follow_from(&mut net, SourceId(4), &[1], family);
    net.pass(400);
    assert_eq!(net.master.shelf().len(), 1);
    net.pass(201);
    assert!(net.master.shelf().is_empty());
}

#[test]
fn a_list_that_comes_again_is_no_reason_to_ask_its_servers_again() {
    let mut net = Net::new(Settings::default());
    for _ in 0..6 {
        follow(&mut net, &[1], Family::Quake3);
        net.pass(60);
    }
    assert_eq!(net.sent.len(), 1, "once in half a timeout");
}

#[test]
fn followed_servers_are_asked_for_their_facts_and_leave_with_the_list() {
    let mut net = Net::new(Settings::default());
    follow(&mut net, &[1], Family::Quake3);
    net.pass(70);
    let (_, getinfo) = net.sent.pop().expect("asked within a minute");
    let expires = net.master.shelf().get(addr(1)).unwrap().expires;
    net.ask(public(1), &answer(&getinfo, quake3_info()));
    let server = net.master.shelf().get(addr(1)).unwrap();
    assert_eq!(server.facts.text(Text::Map), b"oa_dm1");
    assert_eq!(
        (server.standing, server.expires),
        (Standing::Followed, expires)
    );
    follow(&mut net, &[1], Family::Quake3);
    let server = net.master.shelf().get(addr(1)).unwrap();
    assert_eq!(
        server.facts.text(Text::Map),
        b"oa_dm1",
        "a list without facts leaves them"
    );
    let is_put = |event: &Event| matches!(event, Event::Put { .. });
    assert!(!net.events.iter().any(is_put), "nothing to keep");
}

#[test]
fn one_that_registers_itself_is_followed_no_longer() {
    let mut net = Net::new(Settings::default());
    follow(&mut net, &[1, 2], Family::Quake3);
    net.register(public(1), quake3_info());
    assert_eq!(net.master.followed_from(addr(1)), None);
    assert_eq!(net.master.unfollow(SOURCE), 1);
    assert_eq!(net.master.shelf().len(), 1);
}

#[test]
fn caps_and_bans_hold_for_followed_servers_and_do_not_mix_with_registered_ones() {
    let settings = Settings {
        followed_servers: 2,
        servers_per_address: 1,
        servers: 1,
        ..Settings::default()
    };
    let mut net = Net::new(settings);
    net.master.set_bans(Bans::new([Ban {
        target: addr(1).ip().to_string().parse().unwrap(),
        reason: "spam".to_owned(),
    }]));
    let counts = follow(&mut net, &[1, 2, 3, 4], Family::Quake3);
    assert_eq!((counts.taken, counts.left_out), (2, 2));
    net.register(public(5), quake3_info());
    assert_eq!(
        net.master.shelf().len(),
        3,
        "followed ones take nobody's place"
    );
}

fn info(map: &str) -> Vec<u8> {
    let info = Info {
        protocol: 17,
        name: "Dust".into(),
        map: map.into(),
        folder: "cstrike".into(),
        game: "Counter-Strike: Source".into(),
        players: 5,
        max_players: 16,
        bots: 0,
        server_type: ServerType::Dedicated,
        environment: Environment::Linux,
        password: false,
        vac: true,
        dialect: Dialect::Source(SourceInfo {
            app_id: 240,
            version: "1.0".into(),
            ..SourceInfo::default()
        }),
    };
    a2s::Response::Info(Box::new(info)).emit()
}

#[test]
fn a_silent_steam_server_is_asked_by_a2s_and_stays_if_it_answers() {
    let mut net = Net::new(Settings::default());
    net.socket = SocketId(2);
    net.join(public(1), steam_info("de_dust2"));
    net.pass(440);
    net.asked.clear();
    net.pass(11);
    let (to, question) = net.asked.pop().expect("asked after half its time");
    assert_eq!((to, net.left_by), (public(1), Some(SocketId(2))));
    assert!(matches!(
        a2s::Request::parse(&question),
        Ok(a2s::Request::Info { challenge: None })
    ));
    let challenge = a2s::Challenge([1, 2, 3, 4]);
    let wants_challenge = a2s::Response::Challenge(challenge).emit();
    net.master
        .handle_answer(net.now, public(1), &wants_challenge);
    net.drain();
    let (_, again) = net.asked.pop().unwrap();
    let expected = a2s::Request::Info {
        challenge: Some(challenge),
    };
    assert_eq!(a2s::Request::parse(&again), Ok(expected));
    net.master
        .handle_answer(net.now, public(1), &info("de_nuke"));
    net.pass(460);
    let server = net.master.shelf().get(addr(1)).unwrap();
    assert_eq!(server.facts.text(Text::Map), b"de_nuke");
    net.pass(900);
    assert!(net.master.shelf().is_empty(), "silent from then on");
}

/// Servers of GoldSource say neither their app id nor their name when they join.
#[test]
fn a_server_that_joins_without_its_app_id_is_asked_for_it_once() {
    let mut net = Net::new(Settings::default());
    let join = || {
        nearside_wire::quake3::InfoString::new()
            .with("protocol", "48")
            .with("players", "3")
            .with("max", "8")
            .with("gamedir", "cstrike")
            .with("map", "de_dust2")
    };
    net.join(public(1), join());
    let whole = join()
        .with("appid", "240")
        .with("type", "d")
        .with("name", "x");
    net.join(public(2), whole);
    net.pass(1);
    let asked: Vec<_> = net.asked.drain(..).map(|(to, _)| to).collect();
    assert_eq!(asked, [public(1)]);
    let by_number = r"\appid\240\dedicated\1";
    assert_eq!(net.pages(client(), by_number).len(), 1);
    net.master
        .handle_answer(net.now, public(1), &info("de_dust2"));
    net.pass(2);
    assert_eq!(net.pages(client(), by_number).len(), 2);
    // The next heartbeat does not say it either, and is no reason to forget it or to ask again.
    net.join(public(1), join().with("bots", "1"));
    net.pass(2);
    assert_eq!(net.pages(client(), by_number).len(), 2);
    assert!(net.asked.is_empty());
}

#[test]
fn answers_that_nobody_asked_for_or_that_come_late_change_nothing() {
    let mut net = Net::new(Settings::default());
    net.join(public(1), steam_info("de_dust2"));
    net.master
        .handle_answer(net.now, public(1), &info("forged"));
    net.pass(451);
    assert!(!net.asked.is_empty());
    net.pass(4);
    net.master.handle_answer(net.now, public(1), &info("late"));
    net.master
        .handle_answer(net.now, public(2), &info("unknown"));
    assert_eq!(net.master.shelf().len(), 1);
    let server = net.master.shelf().get(addr(1)).unwrap();
    assert_eq!(server.facts.text(Text::Map), b"de_dust2");
}

fn bare(addr: ServerAddr) -> Followed {
    Followed {
        addr,
        family: Family::default(),
        facts: Facts::default(),
    }
}

fn tell(net: &mut Net, source: SourceId, servers: Vec<Followed>) -> FollowCounts {
    let until = net.now + Duration::from_secs(600);
    net.master
        .follow(net.now, source, servers, Wholeness::Whole, until)
}

#[test]
fn a_list_that_knows_more_speaks_for_a_server_whoever_came_first() {
    let mut net = Net::new(Settings::default());
    let (poor, rich) = (SourceId(1), SourceId(2));
    tell(&mut net, poor, vec![bare(addr(1))]);
    assert!(net.list(client(), request(&[])).is_empty(), "no game known");
    let mut told = followed(1, Family::Quake3);
    told.facts.places = 8;
    let counts = tell(&mut net, rich, vec![told.clone()]);
    assert_eq!((counts.taken, counts.known), (1, 0));
    let counts = tell(&mut net, poor, vec![bare(addr(1))]);
    assert_eq!((counts.taken, counts.known), (0, 1));
    let listed = |net: &Net| net.master.shelf().get(addr(1)).unwrap().clone();
    assert_eq!(listed(&net).facts, told.facts);
    assert_eq!(net.master.followed_from(addr(1)), Some(rich));
    // What a question selects is kept for a second.
    net.pass(2);
    assert_eq!(net.list(client(), request(&[])).len(), 1);
    // What it was is not forgotten when only the poorer list still has it.
    assert_eq!(tell(&mut net, rich, Vec::new()).gone, 0);
    tell(&mut net, poor, vec![bare(addr(1))]);
    assert_eq!(net.master.followed_from(addr(1)), Some(poor));
    let kept = listed(&net);
    assert_eq!((kept.family, kept.facts), (Family::Quake3, told.facts));
}

#[test]
fn a_list_cannot_fill_the_master_with_ports_of_one_address() {
    let ip = addr(1).ip();
    let ports = |range: std::ops::Range<u16>| -> Vec<Followed> {
        let at = |port| bare(ServerAddr::new(ip, port).unwrap());
        range.map(at).collect()
    };
    let settings = Settings {
        servers_per_address: 4,
        ..Settings::default()
    };
    let mut net = Net::new(settings.clone());
    let counts = tell(&mut net, SOURCE, ports(1000..4000));
    assert_eq!((counts.taken, counts.left_out), (4, 2996));
    // Who leaves makes room, and lists do not wear the room out.
    for _ in 0..3 {
        assert_eq!(tell(&mut net, SOURCE, ports(1000..1004)).taken, 4);
    }
    assert_eq!(tell(&mut net, SOURCE, Vec::new()).gone, 4);
    assert_eq!(tell(&mut net, SOURCE, ports(2000..2010)).taken, 4);

    let mut net = Net::new(Settings {
        uncapped: vec![ip.to_string().parse().unwrap()],
        ..settings
    });
    assert_eq!(tell(&mut net, SOURCE, ports(1000..4000)).taken, 3000);
}
