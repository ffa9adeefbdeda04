//! The folders where people keep GeoIP files, and the names those files have.

use std::env;
use std::path::{Path, PathBuf};

/// Where GeoIP files are usually kept, after `$GEOIP_DIR`.
const USUAL: [&str; 3] = [
    "/var/lib/GeoIP",
    "/usr/share/GeoIP",
    "/usr/local/share/GeoIP",
];

/// Names of tables with AS numbers, the best first; `*` for versions and dates.
const ASN_NAMES: [&str; 6] = [
    "origin-asn*.mmdb",
    "GeoIP2-ISP.mmdb",
    "GeoLite2-ASN.mmdb",
    "ipinfo_lite.mmdb",
    "dbip-asn*.mmdb",
    "asn*.mmdb",
];

/// Names of tables with countries, the best first.
const COUNTRY_NAMES: [&str; 6] = [
    "server-country*.mmdb",
    "GeoIP2-Country.mmdb",
    "GeoLite2-Country.mmdb",
    "ipinfo_lite.mmdb",
    "dbip-country*.mmdb",
    "country*.mmdb",
];

/// The folders looked into, in this order.
pub(super) fn folders() -> Vec<PathBuf> {
    let given = env::var_os("GEOIP_DIR").filter(|folder| !folder.is_empty());
    given
        .map(PathBuf::from)
        .into_iter()
        .chain(USUAL.map(PathBuf::from))
        .collect()
}

/// Tables of AS numbers and tables of countries in `folders`, each the best first: the caller takes
/// the first of each that can be read. One file may be both.
pub(super) fn tables_in(folders: &[PathBuf]) -> [Vec<PathBuf>; 2] {
    [ASN_NAMES, COUNTRY_NAMES].map(|names| {
        let all = folders.iter().flat_map(|folder| all_of(folder, &names));
        all.collect()
    })
}

/// Of several versions under one name the last in the alphabet comes first: the newest of dated ones.
fn all_of(folder: &Path, names: &[&str]) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let mut entries: Vec<String> = entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .collect();
    entries.sort_unstable();
    let called = |name: &str| {
        let matching = entries
            .iter()
            .rev()
            .filter(move |entry| is_called(entry, name));
        matching.map(|entry| folder.join(entry)).collect::<Vec<_>>()
    };
    names.iter().flat_map(|name| called(name)).collect()
}

/// Whether a file has a name of the list, with anything in the place of `*`.
fn is_called(entry: &str, name: &str) -> bool {
    match name.split_once('*') {
        Some((start, end)) => {
            entry.len() >= start.len() + end.len()
                && entry.starts_with(start)
                && entry.ends_with(end)
        }
        None => entry == name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_dates_are_recognised() {
        assert!(is_called("dbip-asn-lite-2026-11.mmdb", "dbip-asn*.mmdb"));
        assert!(is_called("GeoLite2-ASN.mmdb", "GeoLite2-ASN.mmdb"));
        assert!(!is_called("GeoLite2-ASN.mmdb.gz", "GeoLite2-ASN.mmdb"));
        assert!(!is_called("asn.mm", "asn*.mmdb"));
    }

    #[test]
    fn the_newest_of_dated_files_and_the_first_folder_win() {
        let folder = std::env::temp_dir().join(format!("nearside-geoip-{}", std::process::id()));
        let (first, second) = (folder.join("first"), folder.join("second"));
        for path in [&first, &second] {
            std::fs::create_dir_all(path).unwrap();
        }
        let touch = |path: PathBuf| std::fs::write(path, "").unwrap();
        touch(first.join("dbip-country-lite-2026-01.mmdb"));
        touch(first.join("dbip-country-lite-2026-10.mmdb"));
        touch(second.join("GeoLite2-ASN.mmdb"));
        touch(second.join("GeoLite2-Country.mmdb"));
        let found = tables_in(&[folder.join("missing"), first.clone(), second.clone()]);
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(
            found,
            [
                vec![second.join("GeoLite2-ASN.mmdb")],
                vec![
                    first.join("dbip-country-lite-2026-10.mmdb"),
                    first.join("dbip-country-lite-2026-01.mmdb"),
                    second.join("GeoLite2-Country.mmdb"),
                ],
            ]
        );
    }
}
