//! Lists longer than a packet: how masters cut them, and what a client gets back.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use nearside_types::{Asn, Country, Origin, ServerAddr};
use nearside_wire::list::{Entry, ListPacket, Listed, OriginForm, as_order};
use nearside_wire::quake3::master::{self, ReplyForm};
use nearside_wire::steam::{self, ListReply};

const FORMS: [Option<OriginForm>; 3] = [None, Some(OriginForm::As), Some(OriginForm::Country)];

/// A thousand servers of 20 ASes and three countries; every fifth AS is unknown. With `v6`, every
/// third server is an IPv6 one.
fn population(v6: bool) -> Vec<Listed> {
    let listed = |at: u32| {
        let asn = Some(Asn(64_500 + at % 20)).filter(|_| !at.is_multiple_of(5));
        let country = [
            Country::from_bytes(*b"DE"),
            Country::from_bytes(*b"NZ"),
            None,
        ];
        let ip = match v6 && at.is_multiple_of(3) {
            true => IpAddr::V6(Ipv6Addr::from_bits(0x2001_0db8 << 96 | u128::from(at))),
            false => IpAddr::V4(Ipv4Addr::from_bits(0xC633_0000 + at)),
        };
        Listed {
            addr: ServerAddr::new(ip, 27_015).expect("a port"),
            origin: Origin {
                asn,
                country: country[at as usize % 3],
            },
        }
    };
    let mut servers: Vec<_> = (0..1000).map(listed).collect();
    servers.sort_by_key(as_order);
    servers
}

/// What a client can know of a server in a form.
fn as_told(listed: &Listed, form: Option<OriginForm>) -> Listed {
    let Origin { asn, country } = listed.origin;
    let origin = Origin {
        asn: asn.filter(|_| form == Some(OriginForm::As)),
        country: country.filter(|_| form == Some(OriginForm::Country)),
    };
    Listed { origin, ..*listed }
}

/// Asks for page after page, as a client of a Steam master does.
fn all_steam_pages(servers: &[Listed], form: Option<OriginForm>) -> Vec<ListPacket> {
    let mut pages: Vec<ListPacket> = Vec::new();
    loop {
        let seed = pages.last().and_then(ListPacket::last_server);
        let behind = servers.iter().position(|listed| Some(listed.addr) == seed);
        let rest = &servers[behind.map_or(0, |at| at + 1)..];
        let datagram = steam::page(rest, form).emit();
        assert!(datagram.len() <= 1392, "{} bytes", datagram.len());
        let page = match ListReply::parse(&datagram, form) {
            Ok(ListReply::List(page) | ListReply::Countries(page)) => page,
            other => panic!("{other:?}"),
        };
        let end = page.end;
        pages.push(page);
        if end {
            return pages;
        }
    }
}

#[test]
fn paging_a_steam_list_gives_every_server_once_with_its_origin() {
    let servers = population(false);
    for form in FORMS {
        let pages = all_steam_pages(&servers, form);
        let got: Vec<_> = pages.iter().flat_map(ListPacket::servers).collect();
        let expected: Vec<_> = servers.iter().map(|listed| as_told(listed, form)).collect();
        assert_eq!(got, expected, "{form:?}");
    }
}

#[test]
fn every_marked_page_starts_with_a_marker_and_ends_with_a_server() {
    let servers = population(false);
    for page in all_steam_pages(&servers, Some(OriginForm::As)) {
        assert!(page.starts_with_marker());
        assert!(matches!(page.entries.last(), Some(Entry::Server { .. })));
        assert!(page.entries.len() <= steam::MAX_ENTRIES);
    }
}

#[test]
fn a_page_that_is_exactly_full_leaves_the_end_to_the_next() {
    let servers = population(false);
    let ListReply::List(full) = steam::page(&servers[..steam::MAX_ENTRIES], None) else {
        panic!("not a plain list");
    };
    assert_eq!((full.entries.len(), full.end), (steam::MAX_ENTRIES, false));
    let ListReply::List(rest) = steam::page(&[], None) else {
        panic!("not a plain list");
    };
    assert_eq!(
        rest,
        ListPacket {
            entries: vec![],
            end: true
        }
    );
}

fn quake3_packets(servers: &[Listed], form: ReplyForm) -> Vec<ListPacket> {
    let read = |packet: ListPacket| {
        let datagram = master::ListReply::List(packet).emit(form);
        assert!(
            datagram.len() <= master::MAX_REPLY_BYTES,
            "{} bytes",
            datagram.len()
        );
        match master::ListReply::parse(&datagram, form.origin) {
            Ok(master::ListReply::List(packet)) => packet,
            other => panic!("{other:?}"),
        }
    };
    master::paginate(servers, form)
        .into_iter()
        .map(read)
        .collect()
}

#[test]
fn quake3_lists_give_every_server_once_and_end_only_in_the_last_packet() {
    let servers = population(true);
    for (origin, extended) in FORMS
        .into_iter()
        .flat_map(|form| [(form, false), (form, true)])
    {
        let packets = quake3_packets(&servers, ReplyForm { extended, origin });
        let got: Vec<_> = packets.iter().flat_map(ListPacket::servers).collect();
        let carried = servers
            .iter()
            .filter(|listed| extended || listed.addr.ip().is_ipv4());
        let expected: Vec<_> = carried.map(|listed| as_told(listed, origin)).collect();
        assert_eq!(got, expected, "{origin:?} {extended}");
        let ends: Vec<_> = packets.iter().map(|packet| packet.end).collect();
        assert_eq!(ends.iter().filter(|end| **end).count(), 1);
        assert_eq!(ends.last(), Some(&true));
        let marked = packets.iter().all(ListPacket::starts_with_marker);
        assert_eq!(marked, origin == Some(OriginForm::As));
    }
}

#[test]
fn an_empty_list_is_one_packet_with_the_end_mark() {
    let form = ReplyForm {
        extended: false,
        origin: Some(OriginForm::As),
    };
    assert_eq!(
        quake3_packets(&[], form),
        [ListPacket {
            entries: vec![],
            end: true
        }]
    );
}

#[test]
fn the_end_mark_always_finds_room_in_a_quake3_packet() {
    let servers = population(false);
    let form = ReplyForm {
        extended: false,
        origin: None,
    };
    for (count, packets) in [(195, 1), (196, 2), (390, 2), (391, 3)] {
        assert_eq!(
            quake3_packets(&servers[..count], form).len(),
            packets,
            "{count} servers"
        );
    }
}
