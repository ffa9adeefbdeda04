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
