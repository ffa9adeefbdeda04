//! The lab's master as clients of both families meet it.

use std::net::SocketAddr;
use std::time::Duration;

use nearside_types::{Asn, Country, Moment, Origin, ServerAddr};
use nearside_wire::list::{Entry, ListPacket, Listed, OriginForm, as_order};
use nearside_wire::quake3::master as quake3;
use nearside_wire::steam;
use nearside_world::{Game, ListMaster, ListMasterConfig, Population, WorldParams, generate};
use proptest::prelude::*;

fn population(size: usize) -> Population {
    generate(&WorldParams::builtin(), Game::Css, Some(size), 11)
}

fn client() -> SocketAddr {
    "127.0.0.1:5000".parse().expect("an address")
}

fn ask(master: &mut ListMaster, now: Moment, payload: &[u8]) -> Vec<Vec<u8>> {
    let mut out = Vec::new();
    master.handle(now, client(), payload, &mut out);
    out
}

fn first_page(form: Option<OriginForm>) -> steam::ListRequest {
    let filter: steam::Filter = r"\gamedir\cstrike".parse().expect("a filter");
    let filter = match form {
        Some(form) => filter.with_origin(form),
        None => filter,
    };
    steam::ListRequest::new(filter)
}

/// All packets of a Steam list, page by page.
fn steam_pages(master: &mut ListMaster, form: Option<OriginForm>) -> Vec<ListPacket> {
    let mut request = Some(first_page(form));
    let mut packets = Vec::new();
    while let Some(asked) = request {
        let reply = ask(master, Moment::EPOCH, &asked.emit()).remove(0);
        let packet = match steam::ListReply::parse(&reply, form).expect("a reply") {
            steam::ListReply::List(packet) | steam::ListReply::Countries(packet) => packet,
            steam::ListReply::Cookie(_) => panic!("nobody asked for cookies"),
        };
        request = asked.next_page(&packet);
        packets.push(packet);
    }
    packets
}

fn servers(packets: &[ListPacket]) -> Vec<Listed> {
    packets.iter().flat_map(ListPacket::servers).collect()
}

fn without_origin(listed: &[Listed]) -> Vec<Listed> {
    let strip = |listed: &Listed| Listed {
        origin: Origin::default(),
        ..*listed
    };
    listed.iter().map(strip).collect()
}

fn sorted(mut servers: Vec<Listed>) -> Vec<Listed> {
    servers.sort_by_key(as_order);
    servers
}

#[test]
fn plain_pages_give_the_whole_list_in_its_order_without_a_marker() {
    for size in [0, 1, 230, 1000] {
        let population = population(size);
        let mut master = ListMaster::of(ListMasterConfig::default(), &population, 1);
        let packets = steam_pages(&mut master, None);
        assert_eq!(servers(&packets), without_origin(&population.listed()));
        let markers = packets.iter().flat_map(|packet| &packet.entries);
        assert!(
            !markers
                .into_iter()
                .any(|entry| matches!(entry, Entry::Marker(_)))
        );
        assert!(packets.last().unwrap().end);
    }
}

#[test]
fn marked_pages_come_in_as_order_and_start_with_a_marker() {
    let population = population(1000);
    let mut master = ListMaster::of(ListMasterConfig::default(), &population, 1);
    let packets = steam_pages(&mut master, Some(OriginForm::As));
    for packet in packets.iter().filter(|packet| !packet.entries.is_empty()) {
        assert!(packet.starts_with_marker());
    }
    let expected = sorted(population.listed());
    let got = servers(&packets);
    assert_eq!(got.len(), expected.len());
    for (got, expected) in got.iter().zip(&expected) {
        assert_eq!(
            (got.addr, got.origin.asn),
            (expected.addr, expected.origin.asn)
        );
    }
}

#[test]
fn country_pages_carry_the_letters() {
    let population = population(600);
    let mut master = ListMaster::of(ListMasterConfig::default(), &population, 1);
    let got = servers(&steam_pages(&mut master, Some(OriginForm::Country)));
    let countries = |servers: &[Listed]| -> Vec<Option<Country>> {
        servers.iter().map(|listed| listed.origin.country).collect()
    };
    assert_eq!(countries(&got), countries(&population.listed()));
}

#[test]
fn markers_grow_the_list_by_about_four_percent() {
    let population = population(27_640);
    let mut master = ListMaster::of(ListMasterConfig::default(), &population, 1);
    let packets = steam_pages(&mut master, Some(OriginForm::As));
    let entries: usize = packets.iter().map(|packet| packet.entries.len()).sum();
    let growth = entries as f64 / population.servers.len() as f64 - 1.0;
    assert!((0.035..0.055).contains(&growth), "{growth:.3}");
}

#[test]
fn a_seed_nobody_listed_ends_the_list() {
    let mut master = ListMaster::of(ListMasterConfig::default(), &population(500), 1);
    let request = steam::ListRequest {
        seed: "203.0.113.9:1".parse().unwrap(),
        ..first_page(None)
    };
    let reply = ask(&mut master, Moment::EPOCH, &request.emit()).remove(0);
    let end = ListPacket {
        entries: Vec::new(),
        end: true,
    };
    let parsed = steam::ListReply::parse(&reply, None).unwrap();
    assert_eq!(parsed, steam::ListReply::List(end));
}

fn quake3_servers(master: &mut ListMaster, request: &quake3::ListRequest) -> Vec<Listed> {
    let replies = ask(master, Moment::EPOCH, &request.emit());
    let mut packets = Vec::new();
    for reply in &replies {
        assert!(reply.len() <= 1400);
        match quake3::ListReply::parse(reply, request.origin).expect("a reply") {
            quake3::ListReply::List(packet) => packets.push(packet),
            quake3::ListReply::Cookie(_) => panic!("nobody asked for cookies"),
        }
    }
    let ends: Vec<bool> = packets.iter().map(|packet| packet.end).collect();
    assert_eq!(ends.iter().filter(|&&end| end).count(), 1);
    assert!(ends[ends.len() - 1]);
    servers(&packets)
}

#[test]
fn quake3_lists_come_whole_in_all_forms() {
    let population = population(900);
    let mut master = ListMaster::of(ListMasterConfig::default(), &population, 1);
    let plain = quake3::ListRequest::new(None, 84);
    assert_eq!(
        quake3_servers(&mut master, &plain),
        without_origin(&population.listed())
    );

    let marked = quake3::ListRequest {
        origin: Some(OriginForm::As),
        ..plain.clone()
    };
    let asns = |servers: &[Listed]| -> Vec<(ServerAddr, Option<Asn>)> {
        servers
            .iter()
            .map(|listed| (listed.addr, listed.origin.asn))
            .collect()
    };
    let got = quake3_servers(&mut master, &marked);
    assert_eq!(asns(&got), asns(&sorted(population.listed())));

    let by_country = quake3::ListRequest {
        extended: true,
        game: Some("et".to_owned()),
        origin: Some(OriginForm::Country),
        ..plain
    };
    let got = quake3_servers(&mut master, &by_country);
    assert!(got.iter().all(|listed| listed.origin.country.is_some()));
}

#[test]
fn extended_requests_choose_their_address_family() {
    let both = ["8.8.8.8:1", "[2a00::1]:2"].map(|text| Listed {
        addr: text.parse().unwrap(),
        origin: Origin::default(),
    });
    let mut master = ListMaster::new(ListMasterConfig::default(), both, 1);
    let mut count = |ipv4, ipv6| {
        let request = quake3::ListRequest {
            extended: true,
            ipv4,
            ipv6,
            ..quake3::ListRequest::new(Some("et"), 84)
        };
        quake3_servers(&mut master, &request).len()
    };
    assert_eq!((count(true, false), count(false, true)), (1, 1));
    assert_eq!((count(true, true), count(false, false)), (2, 2));
}

#[test]
fn a_cookie_comes_first_where_the_master_wants_one_and_expires() {
    let config = ListMasterConfig { cookies: true };
    let mut master = ListMaster::of(config, &population(50), 3);
    let at = |seconds| Moment::EPOCH + Duration::from_secs(seconds);

    let bare = first_page(None);
    let reply = ask(&mut master, at(0), &bare.emit()).remove(0);
    assert!(reply.len() <= bare.emit().len());
    let Ok(steam::ListReply::Cookie(cookie)) = steam::ListReply::parse(&reply, None) else {
        panic!("no cookie");
    };
    let proven = steam::ListRequest {
        filter: bare.filter.with_challenge(cookie),
        ..bare
    };
    let is_list = |reply: &[u8]| {
        matches!(
            steam::ListReply::parse(reply, None),
            Ok(steam::ListReply::List(_))
        )
    };
    assert!(is_list(&ask(&mut master, at(90), &proven.emit())[0]));
    assert!(!is_list(&ask(&mut master, at(150), &proven.emit())[0]));
    let mut out = Vec::new();
    let other = "127.0.0.9:5000".parse().unwrap();
    master.handle(at(1), other, &proven.emit(), &mut out);
    assert!(!is_list(&out[0]), "the cookie of another address");
}

#[test]
fn quake3_cookies_work_alike() {
    let config = ListMasterConfig { cookies: true };
    let mut master = ListMaster::of(config, &population(50), 3);
    let bare = quake3::ListRequest::new(None, 84);
    let reply = ask(&mut master, Moment::EPOCH, &bare.emit()).remove(0);
    let Ok(quake3::ListReply::Cookie(cookie)) = quake3::ListReply::parse(&reply, None) else {
        panic!("no cookie");
    };
    let proven = quake3::ListRequest {
        challenge: Some(cookie),
        ..bare
    };
    let reply = ask(&mut master, Moment::EPOCH, &proven.emit()).remove(0);
    let parsed = quake3::ListReply::parse(&reply, None).unwrap();
    assert!(matches!(parsed, quake3::ListReply::List(_)));
}

proptest! {
    #[test]
    fn no_datagram_makes_the_master_panic_or_amplify_without_a_request(bytes: Vec<u8>, cookies: bool) {
        let one = Listed { addr: "8.8.8.8:1".parse().unwrap(), origin: Origin::default() };
        let mut master = ListMaster::new(ListMasterConfig { cookies }, [one], 3);
        let out = ask(&mut master, Moment::EPOCH, &bytes);
        let request = steam::ListRequest::parse(&bytes).is_ok() || quake3::ListRequest::parse(&bytes).is_ok();
        prop_assert!(request || out.is_empty());
    }
}
