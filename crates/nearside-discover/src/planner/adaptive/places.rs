//! What places say about each other before their servers have answered: a Gaussian process over
//! the globe. Where the client is, and which way its packets go, it is never told.
//!
//! A wide country has several places; which of them an answer came from is guessed from its RTT.
//! So a client in Japan expects some Russian servers nearby although all it has seen of Russia is
//! Moscow.

use nearside_types::Country;

use super::config::PlacesModel;
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

/// An update costs the square of the number of places; news waits until it is this share of what
/// is known already.
const WORTH_AN_UPDATE: f64 = 0.1;
/// And answers that hardly concern a place wait in any case.
const LEAST_UPDATE: f64 = 0.02;

/// Beliefs about the typical z of each place, renewed as answers come in.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// Where the places of each country begin; one more entry for the end.
    starts: Vec<usize>,
    share: Vec<f64>,
    mean: Vec<f64>,
    /// Row by row.
    covariance: Vec<f64>,
    /// The variance of one AS around the typical z of its place.
    within: Vec<f64>,
    /// Answers not taken in yet: their weight, and its product with z.
    waiting: Vec<(f64, f64)>,
    known: Vec<f64>,
    /// The share of servers that stray from their place, and how far.
    strays: (f32, f32),
}

impl Places {
    /// The places of these countries; `None` is a region nobody knows the place of.
    pub(super) fn new(
        countries: impl Iterator<Item = Option<Country>>,
        model: &PlacesModel,
    ) -> Self {
        let mut places: Vec<Option<Place>> = Vec::new();
        let mut starts = vec![0];
        for country in countries {
            places.extend(country.into_iter().flat_map(places_of).map(Some));
            if starts.last() == Some(&places.len()) {
                places.push(None);
            }
            starts.push(places.len());
        }
        let field = Field::new(model);
        let share = places.iter().map(|p| p.map_or(1.0, |place| place.share));
        Self {
            starts,
            share: share.collect(),
            mean: vec![f64::from(model.mean); places.len()],
            covariance: field.covariance(&places),
            within: places.iter().map(|place| field.within(place)).collect(),
            waiting: vec![(0.0, 0.0); places.len()],
            known: vec![0.0; places.len()],
            strays: (model.strays, model.stray_deviation),
        }
    }

    fn places(&self, country: usize) -> std::ops::Range<usize> {
        self.starts[country]..self.starts[country + 1]
    }

    /// The variance of a server of the place nobody has probed.
    fn variance(&self, place: usize) -> f64 {
        let own = self.covariance[place * self.mean.len() + place];
        own.max(0.0) + self.within[place]
    }

    /// Takes in an answer from a country, with the weight it has there.
    pub(super) fn learn(&mut self, country: usize, z: f32, weight: f32) {
        let (z, weight) = (f64::from(z), f64::from(weight));
        let likelihoods: Vec<f64> = self
            .places(country)
            .map(|place| self.share[place] * self.density(place, z) + f64::MIN_POSITIVE)
            .collect();
        let total: f64 = likelihoods.iter().sum();
        for (place, likelihood) in self.places(country).zip(likelihoods) {
            let weight = weight * likelihood / total;
            self.waiting[place].0 += weight;
            self.waiting[place].1 += weight * z;
            if self.waiting[place].0 >= (WORTH_AN_UPDATE * self.known[place]).max(LEAST_UPDATE) {
                self.update(place);
            }
        }
    }

    fn density(&self, place: usize, z: f64) -> f64 {
        let variance = self.variance(place);
        let distance = z - self.mean[place];
        (-0.5 * distance * distance / variance).exp() / variance.sqrt()
    }

    /// Kalman's update by what waits for one place.
    fn update(&mut self, place: usize) {
        let count = self.mean.len();
        let (weight, sum) = std::mem::take(&mut self.waiting[place]);
        self.known[place] += weight;
        let noise = self.within[place] / weight;
        let column: Vec<f64> = (0..count)
            .map(|other| self.covariance[other * count + place])
            .collect();
        let total = column[place] + noise;
        let surprise = sum / weight - self.mean[place];
        let rows = self.covariance.chunks_exact_mut(count);
        for ((row, mean), &shared) in rows.zip(&mut self.mean).zip(&column) {
            let gain = shared / total;
            *mean += gain * surprise;
            for (cell, &other) in row.iter_mut().zip(&column) {
                *cell -= gain * other;
            }
        }
    }

    /// The chance that a server of the country, of which nothing else is known, is below `z`.
    pub(super) fn below(&self, country: usize, z: f32) -> f32 {
        self.below_by(country, z, 0.0)
    }

    /// The same for the few that are much nearer than the rest. A share of the servers strays: one
    /// answer, or ten, say little about the nearest of six thousand.
    pub(super) fn far_below(&self, country: usize, z: f32) -> f32 {
        let (share, deviation) = self.strays;
        let strays = self.below_by(country, z, deviation * deviation);
        (1.0 - share) * self.below(country, z) + share * strays
    }

    /// The typical z of a server of the country, of which nothing else is known.
    pub(super) fn typical(&self, country: usize) -> f32 {
        let places = self.places(country);
        let weighted = places.map(|place| self.share[place] * self.mean[place]);
        weighted.sum::<f64>() as f32
    }

    fn below_by(&self, country: usize, z: f32, variance: f32) -> f32 {
        let chance = |place: usize| {
            let deviation = (self.variance(place) as f32 + variance).sqrt();
            let distance = z - self.mean[place] as f32;
            self.share[place] as f32 * normal_below(distance / deviation)
        };
        self.places(country).map(chance).sum()
    }
}

impl HeapBytes for Places {
    fn heap_bytes(&self) -> usize {
        let numbers = [
            &self.share,
            &self.mean,
            &self.covariance,
            &self.within,
            &self.known,
        ];
        self.starts.heap_bytes()
            + self.waiting.heap_bytes()
            + numbers.map(Vec::heap_bytes).iter().sum::<usize>()
    }
}

/// The prior over the globe.
struct Field {
    variance: f64,
    length_km: f64,
    nugget: f64,
    as_variance: f64,
}

impl Field {
    fn new(model: &PlacesModel) -> Self {
        let square = |deviation: f32| f64::from(deviation).powi(2);
        Self {
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

    fn covariance(&self, places: &[Option<Place>]) -> Vec<f64> {
        let shared = |a: usize, b: usize| match (&places[a], &places[b]) {
            _ if a == b => self.variance + self.nugget,
            (Some(a), Some(b)) => self.variance * self.correlation(a.distance_km(b)),
            _ => 0.0,
        };
        let count = places.len();
        (0..count * count)
            .map(|cell| shared(cell / count, cell % count))
            .collect()
    }

    /// ASes differ, and stand up to the spread away from the middle of their place.
    fn within(&self, place: &Option<Place>) -> f64 {
        let spread_km = place.map_or(UNKNOWN_SPREAD_KM, |place| place.spread_km);
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

    #[test]
    fn many_answers_leave_numbers_sane() {
        let mut places = places(&["US", "CA", "MX", "??"]);
        for step in 0..5000u32 {
            places.learn((step % 4) as usize, z(20 + step % 300), 1.0);
        }
        for country in 0..4 {
            let chance = places.below(country, z(150));
            assert!((0.0..=1.0).contains(&chance), "{chance}");
        }
    }
}
