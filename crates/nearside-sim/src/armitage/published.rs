//! The numbers that the papers print.

use crate::experiment::Crowd;

use super::contest::Client;

/// A client of the AS paper with its rows of Tables 1 and 2.
pub(super) struct AsRow {
    pub(super) client: Client,
    pub(super) replies: u64,
    pub(super) total_bytes: u64,
    pub(super) lost: u64,
    pub(super) clusters: u64,
    pub(super) calibration_probes: u64,
    pub(super) stop_seconds: f64,
    pub(super) stop_percent: f64,
}

impl AsRow {
    const fn new(
        client: Client,
        (replies, total_bytes, lost): (u64, u64, u64),
        (clusters, calibration_probes, stop_seconds, stop_percent): (u64, u64, f64, f64),
    ) -> Self {
        Self {
            client,
            replies,
            total_bytes,
            lost,
            clusters,
            calibration_probes,
            stop_seconds,
            stop_percent,
        }
    }

    /// Requests that left the client: one for each reply, and those that were lost.
    pub(super) const fn requests(&self) -> u64 {
        self.replies + self.lost
    }
}

/// Probes a second of every client of the AS paper (section 2.3).
const AS_RATE: f64 = 140.0;

const fn november(place: &'static str) -> Client {
    Client::new(place, Crowd::Css, place, AS_RATE)
}

/// Tables 1 and 2 of the AS paper, in the order of Table 2.
pub(super) const AS_ROWS: [AsRow; 6] = [
    AsRow::new(
        Client::new("AU", Crowd::CssFebruary, "AU", AS_RATE),
        (30_110, 5_787_817, 3414),
        (1240, 3374, 35.5, 14.8),
    ),
    AsRow::new(
        november("DE"),
        (27_678, 5_423_561, 5233),
        (1182, 3166, 228.6, 97.3),
    ),
    AsRow::new(
        november("JP"),
        (27_628, 5_397_924, 4866),
        (1176, 3206, 72.6, 31.3),
    ),
    AsRow::new(
        november("TW"),
        (27_673, 5_417_405, 5081),
        (1173, 3201, 67.8, 29.0),
    ),
    AsRow::new(
        november("UK"),
        (27_638, 5_403_846, 4968),
        (1176, 3150, 227.7, 97.8),
    ),
    AsRow::new(
        november("USA"),
        (27_639, 5_397_293, 4836),
        (1173, 3190, 229.9, 99.1),
    ),
];

/// The size of an A2S_INFO request with its headers (AS paper, section 2.3).
pub(super) const REQUEST_BYTES: u64 = 53;

/// How long conventional discovery took the clients of the AS paper (section 2.3).
pub(super) const AS_FULL_SECONDS: f64 = 230.0;

/// How long their calibration took (section 4).
pub(super) const AS_CALIBRATION_SECONDS: f64 = 23.0;

/// A client of the country paper with its rows of Tables 1 and 2.
pub(super) struct CountryRow {
    pub(super) client: Client,
    pub(super) host: &'static str,
    pub(super) countries: u64,
    pub(super) clusters: u64,
    pub(super) initial_probes: u64,
    pub(super) stop_seconds: f64,
    pub(super) stop_percent: f64,
    /// How long conventional discovery took, and until re-ordered probes began, where the text of
    /// sections 2.2 and 4 says so.
    pub(super) full_seconds: Option<f64>,
    pub(super) initial_seconds: Option<f64>,
}

impl CountryRow {
    const fn new(
        client: Client,
        host: &'static str,
        (countries, clusters, initial_probes): (u64, u64, u64),
        (stop_seconds, stop_percent): (f64, f64),
    ) -> Self {
        Self {
            client,
            host,
            countries,
            clusters,
            initial_probes,
            stop_seconds,
            stop_percent,
            full_seconds: None,
            initial_seconds: None,
        }
    }

    const fn timed(mut self, full_seconds: f64, initial_seconds: f64) -> Self {
        self.full_seconds = Some(full_seconds);
        self.initial_seconds = Some(initial_seconds);
        self
    }
}

/// Enemy Territory's client: some 2,800 requests in 70 s.
const ET_RATE: f64 = 40.0;
/// The real CS:S client in Australia.
const AU_CSS_RATE: f64 = 110.0;
/// qstat on PlanetLab; assumed to be that of the AS paper, whose nodes these are.
const PLANETLAB_RATE: f64 = 140.0;

/// Tables 1 and 2 of the country paper, in their order.
pub(super) const COUNTRY_ROWS: [CountryRow; 6] = [
    CountryRow::new(
        Client::new("AU-ET", Crowd::EnemyTerritory, "AU", ET_RATE),
        "gjagw.space4me.com, Australia (actual client)",
        (51, 77, 396),
        (14.0, 20.0),
    )
    .timed(70.0, 10.0),
    CountryRow::new(
        Client::new("JP-ET", Crowd::EnemyTerritory, "JP", ET_RATE),
        "planetlab1.otemachi.wide.ad.jp, Japan (PlanetLab)",
        (52, 77, 446),
        (24.0, 36.0),
    ),
    CountryRow::new(
        Client::new("CH-ET", Crowd::EnemyTerritory, "CH", ET_RATE),
        "planetlab2.csg.uzh.ch, Switzerland (PlanetLab)",
        (50, 79, 492),
        (68.0, 100.0),
    ),
    CountryRow::new(
        Client::new("AU-CSS", Crowd::Css, "AU", AU_CSS_RATE),
        "gjagw.space4me.com, Australia (actual client)",
        (71, 140, 2136),
        (24.0, 12.0),
    )
    .timed(200.0, 20.0),
    CountryRow::new(
        Client::new("JP-CSS", Crowd::Css, "JP", PLANETLAB_RATE),
        "planetlab1.otemachi.wide.ad.jp, Japan (PlanetLab)",
        (69, 143, 1694),
        (60.0, 28.0),
    ),
    CountryRow::new(
        Client::new("DE-CSS", Crowd::Css, "DE", PLANETLAB_RATE),
        "edi.tkn.tu-berlin.de, Germany (PlanetLab)",
        (69, 143, 2159),
        (208.0, 98.0),
    ),
];

/// The row of an AS paper's client.
pub(super) fn as_row(label: &str) -> &'static AsRow {
    let row = AS_ROWS.iter().find(|row| row.client.label == label);
    row.expect("the AS paper has this client")
}

/// The row of a country paper's client.
pub(super) fn country_row(label: &str) -> &'static CountryRow {
    let row = COUNTRY_ROWS.iter().find(|row| row.client.label == label);
    row.expect("the country paper has this client")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The reading of "auto-stop %" that everything here rests on: datagrams until the stop at the
    /// nominal rate, over all requests of a full scan.
    #[test]
    fn auto_stop_percent_is_requests_with_retries_over_a_full_scan_with_retries() {
        for row in &AS_ROWS {
            let at_stop = row.stop_seconds * AS_RATE;
            let percent = 100.0 * at_stop / row.requests() as f64;
            let off = (percent - row.stop_percent).abs();
            assert!(off < 0.7, "{}: {percent:.1}", row.client.label);
        }
    }

    /// Table 1 as printed: what is not requests is replies of 133 bytes.
    #[test]
    fn a_reply_has_133_bytes_in_the_mean() {
        for row in &AS_ROWS {
            let replies = row.total_bytes - REQUEST_BYTES * row.requests();
            let mean = replies as f64 / row.replies as f64;
            assert!(
                (132.5..133.5).contains(&mean),
                "{}: {mean}",
                row.client.label
            );
        }
    }
}
