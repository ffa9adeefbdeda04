//! What places say about each other before their servers have answered: a Gaussian process over
//! the globe. Where the client is, and which way its packets go, it is never told.
//!
//! A wide country has several places; which of them an answer came from is guessed from its RTT.
//! So a client in Japan expects some Russian servers nearby although all it has seen of Russia is
//! Moscow.

use std::ops::Range;

use nearside_types::Country;

use super::config::PlacesModel;
use super::glimpse::{Fit, Glimpse};
use super::scale::normal_below;
use super::size::HeapBytes;

/// A place, how far from it servers stand, and the share of its country's servers.
#[derive(Debug, Clone, Copy)]
struct Place {
    direction: [f64; 3],
    spread_km: f64,
    share: f64,
}

/// The places of a country; none for one the table does not know.
fn places_of(country: Country) -> impl Iterator<Item = Place> {
    const TABLE: &str = include_str!("../../../data/places.csv");
    TABLE.lines().filter_map(move |line| {
        let rest = line.strip_prefix(country.as_str())?.strip_prefix(',')?;
        Place::parse(rest)
    })
}

impl Place {
    /// Latitude, longitude, spread in kilometres, share in percent.
    fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.split(',').map(|text| text.parse::<f64>().ok());
        let latitude = numbers.next()??.to_radians();
        let longitude = numbers.next()??.to_radians();
        Some(Self {
            direction: [
                latitude.cos() * longitude.cos(),
                latitude.cos() * longitude.sin(),
                latitude.sin(),
            ],
            spread_km: numbers.next()??,
            share: numbers.next()?? / 100.0,
        })
    }

    fn distance_km(&self, other: &Self) -> f64 {
        const EARTH_RADIUS_KM: f64 = 6371.0;
        let pairs = self.direction.iter().zip(&other.direction);
        let cosine: f64 = pairs.map(|(a, b)| a * b).sum();
        EARTH_RADIUS_KM * cosine.clamp(-1.0, 1.0).acos()
    }
}

/// How far a region without a country may reach.
const UNKNOWN_SPREAD_KM: f64 = 1000.0;

/// An update costs the square of the number of places on the globe; news waits until it is this share
/// of what is known already.
const WORTH_AN_UPDATE: f64 = 0.1;
/// And answers that hardly concern a place wait in any case.
const LEAST_UPDATE: f64 = 0.02;

/// After so many answers half of a country's other routes should have shown.
const ROUTES_KNOWN: f64 = 3.0;
/// A difference of variances below this says nothing.
const ROUNDING: f64 = 1e-9;

/// Beliefs about the typical z of each place, renewed as answers come in.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// The places of each country.
    of_country: Vec<Range<u32>>,
    /// Those on the globe, then the regions nobody knows the place of.
    beliefs: Vec<Belief>,
    /// What the places on the globe share, row by row. A region has no row: it shares nothing, and a
    /// list may have as many regions as servers.
    covariance: Vec<f64>,
    /// How many places are on the globe.
    on_globe: usize,
    /// The share of servers that stray from their place, and how far.
    strays: (f32, f32),
    /// See [`PlacesModel::other_routes`].
    other_routes: f64,
}

/// What is believed of one place.
#[derive(Debug, Clone, Copy)]
struct Belief {
    /// Of its country's servers.
    share: f64,
    mean: f64,
    /// How sure the mean is; on the globe, the diagonal of the covariance.
    variance: f64,
    /// The variance of one AS around the typical z of its place.
    within: f64,
    /// Answers not taken in yet: their weight, and its product with z.
    waiting: (f64, f64),
    /// The weight of answers taken in, and its product with z.
    known: f64,
    heard: f64,
}

impl Belief {
    /// The variance of a server of the place nobody has probed.
    fn of_server(&self) -> f64 {
        self.variance.max(0.0) + self.within
    }

    fn density(&self, z: f64) -> f64 {
        let variance = self.of_server();
        let distance = z - self.mean;
        (-0.5 * distance * distance / variance).exp() / variance.sqrt()
    }

    /// Whether what waits is worth an update.
    fn has_news(&self) -> bool {
        self.waiting.0 >= (WORTH_AN_UPDATE * self.known).max(LEAST_UPDATE)
    }

    /// What waits: how far it is from the mean, and the variance that surprise had to be expected
    /// to have.
    fn news(&mut self) -> (f64, f64) {
        let (weight, sum) = std::mem::take(&mut self.waiting);
        self.known += weight;
        self.heard += sum;
        let surprise = sum / weight - self.mean;
        (surprise, self.variance + self.within / weight)
    }
}

impl Places {
    /// The places of these countries; `None` is a region nobody knows the place of.
    pub(super) fn new(
        countries: impl Iterator<Item = Option<Country>>,
        model: &PlacesModel,
    ) -> Self {
        let mut globe: Vec<Place> = Vec::new();
        let mut regions = 0;
        let mut of_country = Vec::new();
        for country in countries {
            let first = globe.len() as u32;
            globe.extend(country.into_iter().flat_map(places_of));
            of_country.push(first..globe.len() as u32);
        }
        for places in of_country
            .iter_mut()
            .filter(|places| places.start == places.end)
        {
            let region = globe.len() as u32 + regions;
            *places = region..region + 1;
            regions += 1;
        }
        let field = Field::new(model);
        let mut beliefs = Vec::with_capacity(globe.len() + regions as usize);
        beliefs.extend(globe.iter().map(|place| field.belief(Some(place))));
        beliefs.resize(beliefs.len() + regions as usize, field.belief(None));
        Self {
            of_country,
            beliefs,
            covariance: field.covariance(&globe),
            on_globe: globe.len(),
            strays: (model.strays, model.stray_deviation),
            other_routes: f64::from(model.other_routes),
        }
    }

    fn numbers(&self, country: usize) -> Range<usize> {
        let Range { start, end } = self.of_country[country];
        start as usize..end as usize
    }

    fn places(&self, country: usize) -> &[Belief] {
        &self.beliefs[self.numbers(country)]
    }

    /// Takes in an answer from a country, with the weight it has there.
    pub(super) fn learn(&mut self, country: usize, z: f32, weight: f32) {
        let (z, weight) = (f64::from(z), f64::from(weight));
        let likelihoods: Vec<f64> = self
            .places(country)
            .iter()
            .map(|place| place.share * place.density(z) + f64::MIN_POSITIVE)
            .collect();
        let total: f64 = likelihoods.iter().sum();
        for (number, likelihood) in self.numbers(country).zip(likelihoods) {
            let weight = weight * likelihood / total;
            let place = &mut self.beliefs[number];
            place.waiting.0 += weight;
            place.waiting.1 += weight * z;
            if place.has_news() {
                self.update(number);
            }
        }
    }

    /// Kalman's update by what waits for one place.
    fn update(&mut self, number: usize) {
        if number < self.on_globe {
            return self.update_globe(number);
        }
        let region = &mut self.beliefs[number];
        let (surprise, total) = region.news();
        let gain = region.variance / total;
        region.mean += gain * surprise;
        region.variance -= gain * region.variance;
    }

    fn update_globe(&mut self, number: usize) {
        let count = self.on_globe;
        let (surprise, total) = self.beliefs[number].news();
        let gains = condition(&mut self.covariance, count, number, total);
        for (place, (belief, gain)) in self.beliefs.iter_mut().zip(gains).enumerate() {
            belief.mean += gain * surprise;
            belief.variance = self.covariance[place * (count + 1)];
        }
    }

    /// The chance that a server of the country, of which nothing else is known, is below `z`.
    pub(super) fn below(&self, country: usize, z: f32) -> f32 {
        below(self.places(country), z, 0.0)
    }

    /// The same where some servers may be reached by another route than those that answered: half of
    /// a country may go by a cable that the other half does not use, and its first answers come from
    /// one of them. What its neighbours let expect stands for the others; the more answers agree, the
    /// fewer there can be.
    pub(super) fn below_by_any_route(&self, country: usize, z: f32) -> f32 {
        let own = self.below(country, z);
        let places = self.places(country).iter();
        let known: f64 = places.map(|place| place.known + place.waiting.0).sum();
        let share = self.other_routes * ROUTES_KNOWN / (ROUTES_KNOWN + known);
        if share <= 0.0 {
            return own;
        }
        own + share as f32 * (self.below_by_neighbours(country, z) - own).max(0.0)
    }

    /// The chance by all answers but those of the country itself: the updates by these are taken
    /// back, as updates with the opposite precision (the cavity of expectation propagation: Rasmussen
    /// and Williams, section 3.6). A region has no neighbours and promises nothing.
    fn below_by_neighbours(&self, country: usize, z: f32) -> f32 {
        let numbers = self.numbers(country);
        if numbers.start >= self.on_globe {
            return 0.0;
        }
        let mut places = self.places(country).to_vec();
        let count = places.len();
        let rows = self.covariance.chunks_exact(self.on_globe);
        let rows = rows.skip(numbers.start).take(count);
        let mut covariance: Vec<f64> = rows
            .flat_map(|row| &row[numbers.clone()])
            .copied()
            .collect();
        for number in (0..count).filter(|&number| self.places(country)[number].known > 0.0) {
            let Belief {
                known,
                heard,
                within,
                mean,
                ..
            } = places[number];
            let total = covariance[number * (count + 1)] - within / known;
            if total >= -ROUNDING {
                return 0.0; // so much is known by its own answers that the rest is lost in rounding
            }
            let gains = condition(&mut covariance, count, number, total);
            for (place, gain) in places.iter_mut().zip(gains) {
                place.mean += gain * (heard / known - mean);
            }
        }
        for (number, place) in places.iter_mut().enumerate() {
            place.variance = covariance[number * (count + 1)];
        }
        below(&places, z, 0.0)
    }

    /// The same for the few that are much nearer than the rest. A share of the servers strays: one
    /// answer, or ten, say little about the nearest of six thousand.
    pub(super) fn far_below(&self, country: usize, z: f32) -> f32 {
        let (share, deviation) = self.strays;
        let strays = below(self.places(country), z, deviation * deviation);
        (1.0 - share) * self.below(country, z) + share * strays
    }

    /// How well an answer fits servers of the country, of which nothing else is known.
    pub(super) fn fit(&self, country: usize, glimpse: &Glimpse) -> Fit {
        let mut fit = Fit::default();
        for place in self.places(country) {
            let of_place = glimpse.at(place.mean as f32, place.of_server() as f32);
            fit += of_place * place.share as f32;
        }
        fit
    }

    /// The typical z of a server of the country, of which nothing else is known.
    pub(super) fn typical(&self, country: usize) -> f32 {
        let places = self.places(country).iter();
        places.map(|place| place.share * place.mean).sum::<f64>() as f32
    }
}

/// The chance that a server of a country with these places is below `z`, if it may stand off them by
/// so much variance more.
fn below(places: &[Belief], z: f32, variance: f32) -> f32 {
    let chance = |place: &Belief| {
        let deviation = (place.of_server() as f32 + variance).sqrt();
        let distance = z - place.mean as f32;
        place.share as f32 * normal_below(distance / deviation)
    };
    places.iter().map(chance).sum()
}

/// Kalman's update of a square covariance by news of one place, with the variance its surprise had to be
/// expected to have; gives what share of the surprise each place takes over.
fn condition(covariance: &mut [f64], count: usize, number: usize, total: f64) -> Vec<f64> {
    let column = covariance.iter().skip(number).step_by(count);
    let column: Vec<f64> = column.copied().collect();
    let gains: Vec<f64> = column.iter().map(|shared| shared / total).collect();
    for (row, gain) in covariance.chunks_exact_mut(count).zip(&gains) {
        for (cell, other) in row.iter_mut().zip(&column) {
            *cell -= gain * other;
        }
    }
    gains
}

impl HeapBytes for Places {
    fn heap_bytes(&self) -> usize {
        self.of_country.heap_bytes() + self.beliefs.heap_bytes() + self.covariance.heap_bytes()
    }
}

/// The prior over the globe.
struct Field {
    mean: f64,
    variance: f64,
    length_km: f64,
    nugget: f64,
    as_variance: f64,
}

impl Field {
    fn new(model: &PlacesModel) -> Self {
        let square = |deviation: f32| f64::from(deviation).powi(2);
        Self {
            mean: f64::from(model.mean),
            variance: square(model.deviation),
            length_km: f64::from(model.length_km).max(1.0),
            nugget: square(model.nugget),
            as_variance: square(model.as_deviation).max(1e-4),
        }
    }

    /// Matérn's correlation with ν = 3/2: paths to neighbours differ, but not wildly (Rasmussen
    /// and Williams, "Gaussian Processes for Machine Learning", equation 4.17).
    fn correlation(&self, distance_km: f64) -> f64 {
        let scaled = 3f64.sqrt() * distance_km / self.length_km;
        (1.0 + scaled) * (-scaled).exp()
    }

    fn covariance(&self, places: &[Place]) -> Vec<f64> {
        let shared = |a: usize, b: usize| match a == b {
            true => self.own_variance(),
            false => self.variance * self.correlation(places[a].distance_km(&places[b])),
        };
        let count = places.len();
        (0..count * count)
            .map(|cell| shared(cell / count, cell % count))
            .collect()
    }

    fn own_variance(&self) -> f64 {
        self.variance + self.nugget
    }

    /// The belief about a place before any answer, or about a region nobody knows the place of.
    fn belief(&self, place: Option<&Place>) -> Belief {
        Belief {
            share: place.map_or(1.0, |place| place.share),
            mean: self.mean,
            variance: self.own_variance(),
            within: self.within(place.map_or(UNKNOWN_SPREAD_KM, |place| place.spread_km)),
            waiting: (0.0, 0.0),
            known: 0.0,
            heard: 0.0,
        }
    }

    /// ASes differ, and stand up to the spread away from the middle of their place.
    fn within(&self, spread_km: f64) -> f64 {
        self.as_variance + self.variance * (1.0 - self.correlation(spread_km))
    }
}

#[cfg(test)]
mod tests {
    use super::super::config::Model;
    use super::super::scale::z_of;
    use super::*;
    use nearside_types::Rtt;

    fn places(countries: &[&str]) -> Places {
        let countries = countries.iter().map(|text| text.parse().ok());
        Places::new(countries, &Model::DEFAULT.places)
    }

    fn z(millis: u32) -> f32 {
        z_of(Rtt::from_micros(millis * 1000))
    }

    #[test]
    fn the_table_has_every_country_once_and_shares_that_add_up() {
        let table = include_str!("../../../data/places.csv");
        let mut shares = std::collections::BTreeMap::new();
        for line in table.lines().filter(|line| !line.starts_with('#')).skip(1) {
            let (country, rest) = line.split_once(',').unwrap();
            let country: Country = country.parse().unwrap();
            *shares.entry(country).or_insert(0.0) += Place::parse(rest).unwrap().share;
        }
        assert!(shares.len() > 230);
        for (country, share) in shares {
            assert!((share - 1.0f64).abs() < 1e-9, "{country}: {share}");
        }
    }

    #[test]
    fn a_near_answer_speaks_for_neighbours_and_not_for_the_antipodes() {
        let mut places = places(&["DE", "PL", "NZ", "??"]);
        let before: Vec<f32> = (0..4).map(|c| places.below(c, z(60))).collect();
        assert!(
            before
                .iter()
                .all(|chance| (chance - before[0]).abs() < 0.05)
        );
        places.learn(0, z(30), 1.0);
        let after: Vec<f32> = (0..4).map(|c| places.below(c, z(60))).collect();
        assert!(after[0] > 0.8 && after[1] > 0.6, "{after:?}");
        assert!(after[2] < before[2] + 0.1, "{after:?}");
        assert_eq!(after[3], before[3], "nobody knows where that is");
    }

    #[test]
    fn moscow_far_away_leaves_vladivostok_near_japan() {
        let mut places = places(&["JP", "KR", "CN", "RU"]);
        for country in 0..3 {
            places.learn(country, z(40), 1.0);
        }
        for _ in 0..3 {
            places.learn(3, z(280), 1.0);
        }
        let near = places.below(3, z(100));
        assert!((0.03..0.3).contains(&near), "{near}");
    }

    /// India from Taiwan: the first answers go round by Europe, its neighbours are near.
    #[test]
    fn far_answers_of_a_country_leave_other_routes_open_until_there_are_many() {
        let mut places = places(&["TW", "SG", "TH", "IN", "DE", "FR"]);
        for country in 0..3 {
            places.learn(country, z(40), 3.0);
        }
        for country in 4..6 {
            places.learn(country, z(300), 3.0);
        }
        let mut chances = Vec::new();
        for _ in 0..12 {
            places.learn(3, z(220), 1.0);
            chances.push(places.below_by_any_route(3, z(100)));
        }
        assert!(places.below(3, z(100)) < 0.01);
        assert!((0.03..0.3).contains(&chances[0]), "{chances:?}");
        assert!(chances[11] < 0.4 * chances[0], "{chances:?}");
        let germany = places.below_by_any_route(4, z(100));
        assert!(germany < 0.005, "France is as far: {germany}");
    }

    #[test]
    fn what_neighbours_say_is_what_would_be_believed_without_the_countrys_own_answers() {
        let mut places = places(&["JP", "US", "RU", "??"]);
        for step in 0..40u32 {
            places.learn((step % 2) as usize, z(30 + 3 * step), 1.0);
        }
        let before = places.below(2, z(150));
        assert!((places.below_by_neighbours(2, z(150)) - before).abs() < 1e-6);
        for step in 0..60u32 {
            places.learn(2, z(80 + 4 * step), 1.0);
        }
        assert!((places.below(2, z(150)) - before).abs() > 0.05);
        let taken_back = places.below_by_neighbours(2, z(150));
        assert!((taken_back - before).abs() < 0.01, "{taken_back} {before}");
        assert_eq!(places.below_by_neighbours(3, z(150)), 0.0, "it has none");
    }

    #[test]
    fn many_answers_leave_numbers_sane() {
        let mut places = places(&["US", "CA", "MX", "??"]);
        for step in 0..5000u32 {
            places.learn((step % 4) as usize, z(20 + step % 300), 1.0);
        }
        for country in 0..4 {
            for chance in [Places::below, Places::below_by_any_route] {
                let chance = chance(&places, country, z(150));
                assert!((0.0..=1.0).contains(&chance), "{chance}");
            }
        }
    }

    /// The same process without a shortcut: every place has a row, and a region shares 0 with all.
    struct Dense {
        mean: Vec<f64>,
        covariance: Vec<Vec<f64>>,
    }

    impl Dense {
        /// The places of these countries, one each.
        fn new(countries: &[&str], model: &PlacesModel) -> Self {
            let field = Field::new(model);
            let places: Vec<Option<Place>> = countries
                .iter()
                .map(|text| places_of(text.parse().ok()?).next())
                .collect();
            let shared = |a: usize, b: usize| match (&places[a], &places[b]) {
                _ if a == b => field.own_variance(),
                (Some(a), Some(b)) => field.variance * field.correlation(a.distance_km(b)),
                _ => 0.0,
            };
            let all = 0..places.len();
            Self {
                mean: vec![field.mean; places.len()],
                covariance: all
                    .clone()
                    .map(|a| all.clone().map(|b| shared(a, b)).collect())
                    .collect(),
            }
        }

        fn learn(&mut self, place: usize, z: f64, noise: f64) {
            let column: Vec<f64> = self.covariance.iter().map(|row| row[place]).collect();
            let total = column[place] + noise;
            let surprise = z - self.mean[place];
            for (number, row) in self.covariance.iter_mut().enumerate() {
                self.mean[number] += column[number] / total * surprise;
                for (cell, other) in row.iter_mut().zip(&column) {
                    *cell -= column[number] / total * other;
                }
            }
        }
    }

    #[test]
    fn regions_without_a_row_are_believed_the_same_as_with_one() {
        // Countries of one place each, so that nothing has to be guessed.
        let countries = ["??", "DE", "PL", "??", "NZ", "??", "CH"];
        let model = &Model::DEFAULT.places;
        let mut dense = Dense::new(&countries, model);
        let mut places = places(&countries);
        assert_eq!((places.on_globe, places.beliefs.len()), (4, 7));
        for step in 0..200u32 {
            let country = (step * 5 % 7) as usize;
            let z = z(20 + step * 37 % 300);
            let number = places.numbers(country).start;
            // So heavy that it never waits.
            let weight = 1.0 + 0.2 * places.beliefs[number].known;
            places.learn(country, z, weight as f32);
            let noise = places.beliefs[number].within / f64::from(weight as f32);
            dense.learn(country, f64::from(z), noise);
        }
        for country in 0..countries.len() {
            let belief = places.places(country)[0];
            let near = |a: f64, b: f64| (a - b).abs() < 1e-9;
            assert!(near(belief.mean, dense.mean[country]), "{belief:?}");
            let variance = dense.covariance[country][country];
            assert!(near(belief.variance, variance), "{belief:?}, {variance}");
        }
    }

    #[test]
    fn memory_is_linear_in_regions() {
        let places = |count: usize| Places::new((0..count).map(|_| None), &Model::DEFAULT.places);
        assert!(places(100_000).heap_bytes() < 100_000 * 100);
    }
}
