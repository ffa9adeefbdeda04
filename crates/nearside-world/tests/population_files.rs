//! Population files: what is written reads back, and what is wrong is named with its place.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use nearside_types::{Asn, Country, Origin, Rtt, ServerAddr};
use nearside_world::{Game, Population, PopulationReader, WorldParams, WorldServer, generate};
use proptest::prelude::*;

const HEADER: &str = "addr,port,asn,country,rtt_ms:AU,rtt_ms:DE";

fn read(text: &str) -> Result<Population, String> {
    Population::read("list.csv", text.as_bytes()).map_err(|error| error.to_string())
}

#[test]
fn a_file_reads_as_it_is_written_in_the_documentation() {
    let text = format!("{HEADER}\r\n192.0.2.7,27015,64496,de, 312.5 ,\n2001:db8::1,27016,,,,8\n");
    let population = read(&text).unwrap();
    assert_eq!(population.clients, ["AU", "DE"]);
    let [first, second] = &population.servers[..] else {
        panic!("two servers");
    };
    assert_eq!(first.addr.to_string(), "192.0.2.7:27015");
    assert_eq!(first.origin.asn, Some(Asn(64_496)));
    assert_eq!(first.rtt, [Some(Rtt::from_micros(312_500)), None]);
    assert_eq!(second.origin, Origin::default());
    assert_eq!(second.rtt, [None, Some(Rtt::from_micros(8000))]);
}

#[test]
fn unknown_origins_may_be_spelled_as_on_the_wire() {
    let population = read(&format!("{HEADER}\n8.8.8.8,1,0,ZZ,1,1\n")).unwrap();
    assert_eq!(population.servers[0].origin, Origin::default());
}

#[test]
fn errors_name_file_line_column_and_reason() {
    for (lines, place, reason) in [
        (
            "example.org,1,1,DE,1,1",
            "line 2: column `addr`",
            "`example.org` is not an IP address",
        ),
        (
            "8.8.8.8,0,1,DE,1,1",
            "line 2: column `port`",
            "`0` is not a port",
        ),
        ("8.8.8.8,65536,1,DE,1,1", "line 2: column `port`", "`65536`"),
        (
            "8.8.8.8,1,AS-1,DE,1,1",
            "line 2: column `asn`",
            "not an AS number",
        ),
        (
            "8.8.8.8,1,1,Germany,1,1",
            "line 2: column `country`",
            "two-letter",
        ),
        ("8.8.8.8,1,1,DE,-1,1", "line 2: column `rtt_ms:AU`", "`-1`"),
        ("8.8.8.8,1,1,DE,0,1", "line 2: column `rtt_ms:AU`", "`0`"),
        (
            "8.8.8.8,1,1,DE,1,NaN",
            "line 2: column `rtt_ms:DE`",
            "`NaN`",
        ),
        (
            "8.8.8.8,1,1,DE,1,60001",
            "line 2: column `rtt_ms:DE`",
            "60000 ms",
        ),
        (
            "8.8.8.8,1,1,DE,1",
            "line 2",
            "5 fields where the header has 6",
        ),
        (
            "8.8.8.8,1,1,DE,1,1,1",
            "line 2",
            "7 fields where the header has 6",
        ),
        (
            "8.8.8.8,1,1,DE,1,1\n\n8.8.8.8,1,2,FR,,",
            "line 4",
            "listed on line 2 already",
        ),
    ] {
        let message = read(&format!("{HEADER}\n{lines}\n")).unwrap_err();
        assert!(message.starts_with("list.csv, "), "{message}");
        assert!(message.contains(place), "`{lines}` gave: {message}");
        assert!(message.contains(reason), "`{lines}` gave: {message}");
    }
}

#[test]
fn headers_that_are_none_are_refused() {
    for (header, reason) in [
        ("", "column 1 is ``"),
        ("8.8.8.8,1,1,DE,1,1", "expected `addr`"),
        (
            "addr,port,country,asn,rtt_ms:AU",
            "column 3 is `country`, expected `asn`",
        ),
        ("addr,port,asn,country", "at least one client"),
        ("addr,port,asn,country,AU", "column 5 is `AU`"),
        ("addr,port,asn,country,rtt_ms:", "column 5"),
        (
            "addr,port,asn,country,rtt_ms:AU,rtt_ms:AU",
            "`AU` has two columns",
        ),
    ] {
        let message = read(header).unwrap_err();
        assert!(message.starts_with("list.csv, line 1: "), "{message}");
        assert!(message.contains(reason), "`{header}` gave: {message}");
    }
}

#[test]
fn bytes_that_are_not_text_are_refused_with_their_line() {
    let mut bytes = format!("{HEADER}\n8.8.8.8,1,1,DE,1,1\n").into_bytes();
    bytes.extend_from_slice(b"8.8.4.4,1,1,\xff\xfe,1,1\n");
    let error = Population::read("bad", &bytes[..]).unwrap_err();
    assert_eq!(error.to_string(), "bad, line 3: not UTF-8 text");
}

#[test]
fn a_line_without_end_is_refused_before_it_fills_the_memory() {
    let long = format!("{HEADER}\n{}", "8".repeat(100_000));
    let message = read(&long).unwrap_err();
    assert!(
        message.contains("line 2: longer than 65536 bytes"),
        "{message}"
    );
}

#[test]
fn a_truncated_gzip_is_an_error_and_not_a_short_list() {
    let population = generate(&WorldParams::builtin(), Game::Css, Some(50), 1);
    let mut packed = Vec::new();
    population.write_gzip(&mut packed).unwrap();
    packed.truncate(packed.len() / 2);
    assert!(Population::read("half.gz", &packed[..]).is_err());
}

#[test]
fn reading_goes_on_after_a_bad_line() {
    let text = format!("{HEADER}\nx,1,1,DE,1,1\n8.8.8.8,1,1,DE,1,1\n");
    let reader = PopulationReader::new("list.csv", text.as_bytes()).unwrap();
    let outcomes: Vec<bool> = reader.map(|server| server.is_ok()).collect();
    assert_eq!(outcomes, [false, true]);
}

#[test]
fn a_generated_population_survives_both_forms_of_file() {
    let population = generate(&WorldParams::builtin(), Game::EnemyTerritory, None, 3);
    let (mut plain, mut packed) = (Vec::new(), Vec::new());
    population.write(&mut plain).unwrap();
    population.write_gzip(&mut packed).unwrap();
    assert!(packed.len() * 2 < plain.len());
    assert_eq!(Population::read("a", &plain[..]).unwrap(), population);
    assert_eq!(Population::read("b", &packed[..]).unwrap(), population);
}

prop_compose! {
    fn server(clients: usize)(
        bits: u128,
        v4: bool,
        port in 1u16..,
        asn in proptest::option::of(1u32..),
        country in proptest::option::of("[A-Y][A-Z]"),
        rtt in proptest::collection::vec(proptest::option::of(0u32..60_000_000), clients),
    ) -> WorldServer {
        let ip = match v4 {
            true => IpAddr::V4(Ipv4Addr::from_bits(bits as u32)),
            false => IpAddr::V6(Ipv6Addr::from_bits(bits)),
        };
        WorldServer {
            addr: ServerAddr::new(ip, port).expect("the port is not 0"),
            origin: Origin {
                asn: asn.map(Asn),
                country: country.map(|code| code.parse::<Country>().expect("two letters")),
            },
            rtt: rtt.into_iter().map(|rtt| rtt.map(Rtt::from_micros)).collect(),
        }
    }
}

prop_compose! {
    fn population()(names in proptest::collection::btree_set("[!-~]([ -~]{0,8}[!-~])?", 1..5))(
        mut servers in proptest::collection::vec(server(names.len()), 0..20),
        names in Just(names),
    ) -> Population {
        servers.sort_by_key(|server| server.addr);
        servers.dedup_by_key(|server| server.addr);
        Population { clients: names.into_iter().collect(), servers }
    }
}

proptest! {
    #[test]
    fn what_is_written_reads_back(population in population(), gzip: bool) {
        let mut bytes = Vec::new();
        match gzip {
            true => population.write_gzip(&mut bytes).unwrap(),
            false => population.write(&mut bytes).unwrap(),
        }
        prop_assert_eq!(Population::read("file", &bytes[..]).unwrap(), population);
    }

    #[test]
    fn no_bytes_make_the_reader_panic(bytes: Vec<u8>, header: bool) {
        let mut text = if header { format!("{HEADER}\n").into_bytes() } else { Vec::new() };
        text.extend(bytes);
        if let Ok(reader) = PopulationReader::new("noise", &text[..]) {
            prop_assert!(reader.take(1000).count() <= text.len());
        }
    }
}
