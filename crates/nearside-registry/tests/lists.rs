//! What lists say, in which order, and at what price.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{Net, client, origin_of, public, quake3_info, steam_info};
use nearside_registry::{Ban, BanTarget, Bans, Settings};
use nearside_types::{Asn, Origin};
use nearside_wire::list::{Listed, OriginForm, as_order};
use nearside_wire::quake3::master::ListRequest;

fn steam_net(servers: u32) -> Net {
    let mut net = Net::new(Settings::default());
    for number in 0..servers {
        let map = ["de_dust2", "cs_office"][number as usize % 2];
        net.join(public(number), steam_info(map));
        net.pass(0);
    }
    net
}

#[test]
fn pages_cover_every_server_once_in_as_order() {
    let mut net = steam_net(1000);
    let plain = net.pages(client(), r"\gamedir\cstrike");
    assert_eq!(plain.len(), 1000);
    assert!(
        plain
            .iter()
            .all(|listed| listed.origin == Origin::default())
    );
    let tagged = net.pages(client(), r"\gamedir\cstrike\origin\as");
    assert!(tagged.is_sorted_by_key(as_order));
    for listed in &tagged {
        assert_eq!(listed.origin.asn, origin_of(listed.addr.ip()).asn);
    }
    let addresses = |list: &[Listed]| list.iter().map(|listed| listed.addr).collect::<Vec<_>>();
    assert_eq!(
        addresses(&plain),
        addresses(&tagged),
        "plain clients get the same order"
    );
    assert_eq!(net.pages(client(), r"\map\cs_office").len(), 500);
    let countries = net.pages(client(), r"\origin\country");
    assert!(
        countries
            .iter()
            .all(|listed| listed.origin.country.is_some())
    );
}

#[test]
fn a_page_asked_for_again_is_the_same_for_all_who_prove_themselves_and_follows_changes() {
    let mut net = steam_net(10);
    let other = "9.9.9.10:40000".parse().unwrap();
    let filter = r"\gamedir\cstrike";
    let first = net.pages(client(), filter);
    assert_eq!(net.pages(other, filter), first);
    // Somebody else's cookie, in the very bytes that were answered before.
    let filter = nearside_wire::steam::Filter::parse(filter.as_bytes()).unwrap();
    let request = nearside_wire::steam::ListRequest::new(filter.clone()).emit();
    let cookie = match nearside_wire::steam::ListReply::parse(&net.ask(other, &request)[0], None) {
        Ok(nearside_wire::steam::ListReply::Cookie(cookie)) => cookie,
        reply => panic!("a cookie, not {reply:?}"),
    };
    let proven = nearside_wire::steam::ListRequest::new(filter.with_challenge(cookie)).emit();
    let is_list = |answers: Vec<Vec<u8>>| answers[0].starts_with(b"\xFF\xFF\xFF\xFF\x66\x0A");
    assert!(is_list(net.ask(other, &proven)));
    let stolen = net.ask(client(), &proven);
    assert!(!is_list(stolen.clone()) && stolen[0].len() <= proven.len());
    let tally = net.master.tally();
    assert!(is_list(net.ask(other, &proven)));
    assert_eq!(net.master.tally().lists, tally.lists + 1);
    net.join(public(99), steam_info("de_dust2"));
    net.pass(1);
    assert_eq!(net.pages(other, r"\gamedir\cstrike").len(), 11);
}

#[test]
fn a_page_goes_on_behind_a_server_that_has_gone() {
    let mut net = steam_net(600);
    let all = net.pages(client(), "");
    let request = |seed: &Listed| {
        let mut request = nearside_wire::steam::ListRequest::new(
            nearside_wire::steam::Filter::parse(b"").unwrap(),
        );
        request.seed = match seed.addr.socket() {
            std::net::SocketAddr::V4(seed) => seed,
            std::net::SocketAddr::V6(_) => unreachable!("only IPv4 here"),
        };
        request
    };
    let page_after = |net: &mut Net, seed: &Listed| {
        let mut request = request(seed);
        let cookie = net.ask(client(), &request.emit()).remove(0);
        let cookie = <[u8; 4]>::try_from(&cookie[5..]).unwrap();
        request.filter = request.filter.with_challenge(cookie);
        let page = net.ask(client(), &request.emit()).remove(0);
        match nearside_wire::steam::ListReply::parse(&page, None).unwrap() {
            nearside_wire::steam::ListReply::List(packet) => packet.servers().next().unwrap().addr,
            other => panic!("a page, not {other:?}"),
        }
    };
    net.master.forget(all[300].addr);
    net.pass(2);
    assert_eq!(page_after(&mut net, &all[300]), all[301].addr);
}

#[test]
fn quake3_lists_choose_by_game_protocol_and_origin() {
    let mut net = Net::new(Settings::default());
    for number in 0..500 {
        net.register(public(number), quake3_info());
    }
    assert_eq!(
        net.list(client(), ListRequest::new(Some("Quake3Arena"), 71))
            .len(),
        500
    );
    assert_eq!(net.list(client(), ListRequest::new(None, 71)).len(), 500);
    assert_eq!(
        net.list(client(), ListRequest::new(Some("xonotic"), 71))
            .len(),
        0
    );
    assert_eq!(net.list(client(), ListRequest::new(None, 68)).len(), 0);
    let mut request = ListRequest::new(Some("Quake3Arena"), 71);
    request.extended = true;
    request.origin = Some(OriginForm::As);
    let tagged = net.list(client(), request);
    assert_eq!(tagged.len(), 500);
    assert!(
        tagged
            .iter()
            .all(|l| l.origin.asn == origin_of(l.addr.ip()).asn)
    );
}

#[test]
fn lists_follow_origins_that_move() {
    let mut net = Net::new(Settings::default());
    for number in 0..3 {
        net.register(public(number * 300), quake3_info());
    }
    net.master.refresh_origins();
    assert_eq!(net.master.refresh_some_origins(usize::MAX), 0);
    let moved = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let flag = std::sync::Arc::clone(&moved);
    let mut master = nearside_registry::Master::new(
        Settings::default(),
        nearside_registry::Secret([5; 16]),
        move |ip| match flag.load(std::sync::atomic::Ordering::Relaxed) {
            true => Origin {
                asn: Some(Asn(7)),
                country: None,
            },
            false => origin_of(ip),
        },
    );
    net.master
        .shelf()
        .iter()
        .for_each(|server| master.remember(net.now, server.clone()));
    moved.store(true, std::sync::atomic::Ordering::Relaxed);
    master.refresh_origins();
    assert_eq!(master.refresh_some_origins(2), 2);
    assert!(master.has_stale_origins());
    assert_eq!(master.refresh_some_origins(2), 1);
    assert!(
        master
            .shelf()
            .iter()
            .all(|server| server.origin.asn == Some(Asn(7)))
    );
    let into_a_ban = Ban {
        target: BanTarget::As(Asn(7)),
        reason: "spam".to_owned(),
    };
    moved.store(false, std::sync::atomic::Ordering::Relaxed);
    master.refresh_origins();
    master.refresh_some_origins(usize::MAX);
    master.set_bans(Bans::new([into_a_ban]));
    assert_eq!(master.shelf().len(), 3, "nobody is in AS7 now");
    moved.store(true, std::sync::atomic::Ordering::Relaxed);
    master.refresh_origins();
    assert_eq!(master.refresh_some_origins(usize::MAX), 3);
    assert_eq!(
        master.shelf().len(),
        0,
        "a prefix that moves into a ban is banned"
    );
}

#[test]
fn nobody_gets_a_list_without_cookie_unless_the_operator_has_a_budget_for_it() {
    let request = ListRequest::new(None, 71).emit();
    let mut strict = Net::new(Settings::default());
    let mut kind = Net::new(Settings {
        legacy_bytes_per_second: 100,
        ..Settings::default()
    });
    for net in [&mut strict, &mut kind] {
        for number in 0..10 {
            net.register(public(number), quake3_info());
        }
    }
    let answer = strict.ask(client(), &request).remove(0);
    assert!(answer.len() <= request.len());
    let lists = (0..50)
        .filter(|_| kind.ask(client(), &request)[0].len() > 50)
        .count();
    assert!(
        (5..15).contains(&lists),
        "1,000 bytes at once, not {lists} lists"
    );
    kind.pass(10);
    assert!(kind.ask(client(), &request)[0].len() > 50);
}

/// One who repeats a cookie could else take all that the master can send.
#[test]
fn a_network_that_asks_without_end_gets_its_share_and_others_are_served() {
    let mut net = Net::new(Settings {
        list_bytes_per_second: 1_000,
        ..Settings::default()
    });
    for number in 0..100 {
        net.register(public(number), quake3_info());
    }
    let request = || ListRequest::new(None, 71);
    let one = net.list(client(), request()).len();
    assert_eq!(one, 100);
    let flood = |net: &mut Net| {
        let lists = (0..200).filter(|_| !net.list(client(), request()).is_empty());
        lists.count()
    };
    let served = flood(&mut net);
    assert!(
        (5..20).contains(&served),
        "10,000 bytes and a reserve of 1,000, not {served} lists"
    );
    let other: std::net::SocketAddr = "9.9.10.9:40000".parse().unwrap();
    assert_eq!(net.list(other, request()).len(), 100);
    net.pass(10);
    assert_eq!(net.list(client(), request()).len(), 100);
    // A neighbour asks now and then, while this one goes on.
    let neighbour: std::net::SocketAddr = "9.9.9.10:40000".parse().unwrap();
    for _ in 0..5 {
        flood(&mut net);
        assert_eq!(net.list(neighbour, request()).len(), 100);
        net.pass(10);
    }
}

/// Games of the family that are older than `gamename`.
#[test]
fn servers_that_name_no_game_are_found_by_the_name_of_their_protocol() {
    let mut net = Net::new(Settings::default());
    let anonymous = |protocol: &str| {
        nearside_wire::quake3::InfoString::new()
            .with("protocol", protocol)
            .with("clients", "3")
            .with("sv_maxclients", "8")
    };
    net.register(public(1), anonymous("84"));
    net.register(public(2), anonymous("68"));
    let found = |net: &mut Net, game: Option<&str>, protocol| {
        let mut request = ListRequest::new(game, protocol);
        request.extended = game.is_some();
        net.list(client(), request).len()
    };
    assert_eq!(found(&mut net, Some("et"), 84), 1);
    assert_eq!(found(&mut net, Some("Quake3Arena"), 68), 1);
    assert_eq!(found(&mut net, Some("et"), 68), 0);
    assert_eq!(found(&mut net, None, 84), 1);
}

#[test]
fn servers_that_share_an_address_are_listed_once_for_who_asks_that() {
    let mut net = Net::new(Settings::default());
    for (host, port) in [(1, 27015), (1, 27016), (1, 27017), (2, 27015)] {
        let addr = std::net::SocketAddr::from(([11, 0, 0, host], port));
        net.join(addr, steam_info("de_dust2"));
    }
    let mut count = |filter: &str| net.pages(client(), filter).len();
    assert_eq!(count(r"\gamedir\cstrike"), 4);
    assert_eq!(count(r"\gamedir\cstrike\collapse_addr_hash\1"), 2);
    assert_eq!(count(r"\gamedir\cstrike\collapse_addr_hash\0"), 4);
}

#[test]
fn what_nobody_asks_for_any_more_is_forgotten() {
    let mut net = Net::new(Settings::default());
    net.join(public(1), steam_info("de_dust2"));
    for number in 0..100 {
        net.pages(client(), &format!(r"\map\m{number}"));
    }
    assert_eq!(net.master.remembered_views(), 100);
    net.pass(11);
    assert_eq!(net.master.remembered_views(), 0);
}

/// News every second must not keep the last of many servers waiting for ever.
#[test]
fn a_round_of_lookups_is_finished_before_the_next_begins() {
    let mut net = Net::new(Settings::default());
    for number in 0..10 {
        net.register(public(number), quake3_info());
    }
    net.master.refresh_origins();
    let mut rounds = 0;
    while net.master.has_stale_origins() && rounds < 100 {
        net.master.refresh_some_origins(4);
        if rounds < 3 {
            net.master.refresh_origins();
        }
        rounds += 1;
    }
    assert!((4..10).contains(&rounds), "{rounds}");
}

#[test]
fn different_questions_are_bounded_in_number_and_in_cost() {
    let mut net = Net::new(Settings::default());
    for number in 0..100 {
        net.join(public(number), steam_info("de_dust2"));
        net.pass(0);
    }
    for number in 0..1000 {
        net.pages(client(), &format!(r"\map\m{number}"));
    }
    assert!(net.master.remembered_views() <= 256);
}
