//! What makes parameters a possible world.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};

use nearside_types::AddrClass;

use super::{ParamsError, WorldParams};
use crate::place::Position;
use crate::{cables, cities};

/// Servers in one world; more would take minutes and gigabytes before anybody notices.
const MOST_SERVERS: usize = 1_000_000;

impl WorldParams {
    /// Everything that types cannot say: ranges, known names, a connected map.
    pub(super) fn check(&self) -> Result<(), ParamsError> {
        self.check_numbers()?;
        self.check_places()?;
        self.check_registries()?;
        cables::check(self)
    }

    fn check_numbers(&self) -> Result<(), ParamsError> {
        for (key, value) in self.positive() {
            let holds = value > 0.0 && value < 1e9;
            ensure(key, holds, "must be a number above 0 and below 1000000000")?;
        }
        for (key, value) in self.not_negative() {
            ensure(
                key,
                (0.0..1e9).contains(&value),
                "must be a number from 0 up, below 1000000000",
            )?;
        }
        for (key, value) in self.counts() {
            ensure(key, value > 0, "must be at least 1")?;
        }
        let answering = [
            ("population.answering", self.population.answering),
            ("enemy_territory.answering", self.enemy_territory.answering),
        ];
        for (key, value) in answering {
            let holds = (1..=MOST_SERVERS).contains(&value);
            ensure(key, holds, "must lie between 1 and 1000000")?;
        }
        check_silent("population", self.population.silent_fraction)?;
        for (name, edition) in &self.editions {
            let section = format!("editions.{name}");
            check_silent(&section, edition.silent_fraction)?;
            ensure(
                &format!("{section}.ases"),
                edition.ases > 0,
                "must be at least 1",
            )?;
        }
        let machines = (1.0..1e3).contains(&self.prefixes.servers_per_hosting_address);
        ensure(
            "prefixes.servers_per_hosting_address",
            machines,
            "must lie between 1 and 1000",
        )
    }

    fn positive(&self) -> [(&'static str, f64); 10] {
        let (population, prefixes, rtt) = (&self.population, &self.prefixes, &self.rtt);
        let (hosting, isp) = (population.hosting_access_ms, population.isp_access_ms);
        [
            (
                "population.hosting_access_ms.gamma_shape",
                hosting.gamma_shape,
            ),
            (
                "population.hosting_access_ms.gamma_scale",
                hosting.gamma_scale,
            ),
            ("population.isp_access_ms.gamma_shape", isp.gamma_shape),
            ("population.isp_access_ms.gamma_scale", isp.gamma_scale),
            ("prefixes.spread_scale", prefixes.spread_scale),
            ("rtt.inflation", rtt.inflation),
            ("rtt.local_inflation", rtt.local_inflation),
            ("rtt.direct_inflation", rtt.direct_inflation),
            ("rtt.cable_factor", rtt.cable_factor),
            (
                "enemy_territory.probe_rate",
                self.enemy_territory.probe_rate,
            ),
        ]
    }

    fn not_negative(&self) -> [(&'static str, f64); 16] {
        let (population, prefixes, rtt) = (&self.population, &self.prefixes, &self.rtt);
        let weather = &self.weather;
        [
            (
                "population.ases_per_country_exponent",
                population.ases_per_country_exponent,
            ),
            ("population.as_size_zipf", population.as_size_zipf),
            (
                "enemy_territory.as_size_zipf",
                self.enemy_territory.as_size_zipf,
            ),
            ("prefixes.spread_exponent", prefixes.spread_exponent),
            ("rtt.as_factor_sigma", rtt.as_factor_sigma),
            ("rtt.as_offset_ms_mean", rtt.as_offset_ms_mean),
            ("rtt.noise_sigma", rtt.noise_sigma),
            ("rtt.spike_ms_mean", rtt.spike_ms_mean),
            ("rtt.local_ms", rtt.local_ms),
            ("rtt.direct_below_km", rtt.direct_below_km),
            ("rtt.direct_ms", rtt.direct_ms),
            ("rtt.hop_ms", rtt.hop_ms),
            ("weather.drift_sigma", weather.drift_sigma),
            ("weather.drift_hours", weather.drift_hours),
            ("weather.diurnal_ms", weather.diurnal_ms),
            ("weather.start_hour_utc", weather.start_hour_utc),
        ]
    }

    fn counts(&self) -> [(&'static str, usize); 9] {
        let (population, prefixes, rtt) = (&self.population, &self.prefixes, &self.rtt);
        [
            ("population.ases", population.ases),
            ("population.as_size_cap", population.as_size_cap),
            ("enemy_territory.ases", self.enemy_territory.ases),
            ("enemy_territory.countries", self.enemy_territory.countries),
            (
                "prefixes.max_servers_per_address",
                prefixes.max_servers_per_address,
            ),
            (
                "prefixes.first_octets_per_country",
                prefixes.first_octets_per_country,
            ),
            (
                "prefixes.servers_per_first_octet",
                prefixes.servers_per_first_octet,
            ),
            ("rtt.client_hubs", rtt.client_hubs),
            ("rtt.server_hubs", rtt.server_hubs),
        ]
    }

    fn check_places(&self) -> Result<(), ParamsError> {
        let on_earth = |latitude, longitude| Position::new(latitude, longitude).is_valid();
        ensure(
            "clients",
            !self.clients.is_empty(),
            "must name at least one place",
        )?;
        ensure(
            "us_hosting_cities",
            !self.us_hosting_cities.is_empty(),
            "must name at least one city",
        )?;
        ensure(
            "country_shares",
            !self.country_shares.is_empty(),
            "must name at least one country",
        )?;
        for (name, &[latitude, longitude, access]) in &self.clients {
            let valid = on_earth(latitude, longitude) && (0.0..1e6).contains(&access);
            ensure(
                &format!("clients.{name}"),
                valid,
                "must be [latitude, longitude, access delay in ms]",
            )?;
        }
        for (name, routes) in &self.client_routes {
            let key = format!("client_routes.{name}");
            ensure(&key, self.clients.contains_key(name), "names no client")?;
            let values = [routes.as_factor_sigma, routes.as_offset_ms_mean];
            let valid = values
                .iter()
                .flatten()
                .all(|value| (0.0..1e9).contains(value));
            ensure(&key, valid, "must have numbers from 0 up")?;
        }
        for (name, &[latitude, longitude]) in &self.hubs {
            ensure(
                &format!("hubs.{name}"),
                on_earth(latitude, longitude),
                "must be [latitude, longitude]",
            )?;
        }
        for (name, &[latitude, longitude, share]) in &self.us_hosting_cities {
            let valid = on_earth(latitude, longitude) && share.is_finite() && share > 0.0;
            ensure(
                &format!("us_hosting_cities.{name}"),
                valid,
                "must be [latitude, longitude, share above 0]",
            )?;
        }
        for (country, &share) in &self.country_shares {
            let key = format!("country_shares.{country}");
            ensure(
                &key,
                share.is_finite() && share > 0.0,
                "must be a number above 0",
            )?;
            ensure(
                &key,
                cities::country_position(*country).is_some(),
                "names a country without a city in the built-in table",
            )?;
        }
        Ok(())
    }

    fn check_registries(&self) -> Result<(), ParamsError> {
        ensure(
            "registries",
            !self.registries.is_empty(),
            "must name at least one registry",
        )?;
        let mut seen = BTreeSet::new();
        for registry in &self.registries {
            let key = format!("registries.{}.first_octets", registry.name);
            ensure(&key, !registry.first_octets.is_empty(), "must not be empty")?;
            for &octet in &registry.first_octets {
                let public =
                    AddrClass::of(IpAddr::V4(Ipv4Addr::new(octet, 0, 1, 1))) == AddrClass::Public;
                ensure(&key, public, "names a /8 without public addresses")?;
                ensure(&key, seen.insert(octet), "names a /8 twice")?;
            }
        }
        Ok(())
    }
}

fn check_silent(section: &str, silent: f64) -> Result<(), ParamsError> {
    let key = format!("{section}.silent_fraction");
    ensure(
        &key,
        (0.0..0.95).contains(&silent),
        "must lie between 0 and 0.95",
    )
}

pub(crate) fn ensure(key: &str, holds: bool, reason: &'static str) -> Result<(), ParamsError> {
    if holds {
        return Ok(());
    }
    Err(ParamsError::Value {
        key: key.to_owned(),
        reason,
    })
}
