//! Addresses whose network everybody knows, against the embedded table. The countries are those of
//! anycast services where they are registered, and of machines where they stand.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::net::IpAddr;

use nearside_origin::compact;
use nearside_types::Asn;

/// Address, AS, who it is.
const NETWORKS: [(&str, u32, &str); 31] = [
    ("1.1.1.1", 13335, "Cloudflare's resolver"),
    ("8.8.8.8", 15169, "Google's resolver"),
    ("8.8.4.4", 15169, "Google's resolver"),
    ("9.9.9.9", 19281, "Quad9's resolver"),
    ("208.67.222.222", 36692, "OpenDNS"),
    ("94.140.14.14", 212772, "AdGuard's resolver"),
    ("193.0.14.129", 25152, "K root server, RIPE NCC"),
    ("192.5.5.241", 3557, "F root server, ISC"),
    ("199.7.83.42", 20144, "L root server, ICANN"),
    ("5.9.0.1", 24940, "Hetzner"),
    ("88.198.0.1", 24940, "Hetzner"),
    ("51.68.0.1", 16276, "OVH"),
    ("54.36.0.1", 16276, "OVH"),
    ("104.16.0.1", 13335, "Cloudflare"),
    ("151.101.1.69", 54113, "Fastly"),
    ("13.32.0.1", 16509, "Amazon"),
    ("45.33.0.1", 63949, "Linode"),
    ("45.76.0.1", 20473, "Vultr"),
    ("159.65.0.1", 14061, "DigitalOcean"),
    ("155.133.226.1", 32590, "Valve"),
    ("185.25.182.1", 32590, "Valve"),
    ("208.64.200.1", 32590, "Valve"),
    ("2606:4700:4700::1111", 13335, "Cloudflare's resolver"),
    ("2001:4860:4860::8888", 15169, "Google's resolver"),
    ("2620:fe::fe", 19281, "Quad9's resolver"),
    ("2620:119:35::35", 36692, "OpenDNS"),
    ("2a01:4f8::1", 24940, "Hetzner"),
    ("2a01:4f9::1", 24940, "Hetzner in Finland"),
    ("2001:41d0::1", 16276, "OVH"),
    ("2604:a880::1", 14061, "DigitalOcean"),
    ("2001:7fd::1", 25152, "K root server, RIPE NCC"),
];

/// Machines whose place their hosters publish.
const COUNTRIES: [(&str, &str, &str); 8] = [
    ("5.9.0.1", "DE", "Hetzner, Germany"),
    ("95.216.0.1", "FI", "Hetzner, Helsinki"),
    ("5.161.0.1", "US", "Hetzner, Ashburn"),
    ("51.68.0.1", "FR", "OVH, France"),
    ("139.99.128.1", "AU", "OVH, Sydney"),
    ("141.1.1.1", "DE", "a resolver of Vodafone, Germany"),
    ("130.89.1.1", "NL", "University of Twente"),
    ("133.11.0.1", "JP", "University of Tokyo"),
];

#[test]
fn well_known_addresses_have_the_as_everybody_knows() {
    let table = compact::decode(nearside_origin_data::ORIGIN).unwrap().table;
    let wrong: Vec<String> = NETWORKS
        .iter()
        .filter_map(|(address, asn, who)| {
            let ip: IpAddr = address.parse().unwrap();
            let found = table.lookup(ip).and_then(|found| found.origin.asn);
            (found != Some(Asn(*asn))).then(|| format!("{address}, {who}: {found:?}, not {asn}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn machines_stand_in_the_country_their_hoster_says() {
    let table = compact::decode(nearside_origin_data::ORIGIN).unwrap().table;
    let wrong: Vec<String> = COUNTRIES
        .iter()
        .filter_map(|(address, country, who)| {
            let ip: IpAddr = address.parse().unwrap();
            let found = table.lookup(ip).and_then(|found| found.origin.country);
            (found != country.parse().ok()).then(|| format!("{address}, {who}: {found:?}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn addresses_that_nobody_may_announce_have_no_as() {
    let table = compact::decode(nearside_origin_data::ORIGIN).unwrap().table;
    for address in [
        "10.1.2.3",
        "127.0.0.1",
        "192.168.1.1",
        "224.0.0.1",
        "fe80::1",
        "::1",
    ] {
        let found = table.lookup(address.parse().unwrap());
        assert_eq!(found.and_then(|found| found.origin.asn), None, "{address}");
    }
}

#[test]
fn the_table_carries_its_dates_licences_and_attributions() {
    let about = compact::decode(nearside_origin_data::ORIGIN).unwrap().about;
    assert_eq!(about.date().unwrap().to_string(), "2026-06-01");
    for credit in &about.credits {
        assert_eq!(credit.licence, "CC-BY-4.0");
        assert!(
            credit.attribution.contains("https://db-ip.com"),
            "{credit:?}"
        );
    }
    assert!(nearside_origin_data::ATTRIBUTION.contains("https://db-ip.com"));
}

#[test]
fn the_table_keeps_its_limits() {
    let table = compact::decode(nearside_origin_data::ORIGIN).unwrap().table;
    assert!(nearside_origin_data::ORIGIN.len() <= 2_000_000);
    assert!(table.heap_bytes() < 20 << 20, "{}", table.heap_bytes());
    let (v4, v6) = table.known_ranges();
    assert!(v4 > 500_000 && v6 > 300_000, "{v4} {v6}");
}
