//! Where servers of a country stand: the built-in table of cities (from GeoNames, see the file), and
//! the hosting cities of the parameters.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use nearside_types::Country;

use crate::chance::Weighted;
use crate::params::WorldParams;
use crate::place::Position;

/// One line of the table.
#[derive(Debug, Clone, Copy)]
struct City {
    country: Country,
    position: Position,
    weight: f64,
}

static TABLE: LazyLock<Vec<City>> = LazyLock::new(|| parse(include_str!("../data/cities.csv")));

/// The position of a country's largest city, for countries of the built-in table: all that have a
/// city of 15,000 people.
pub fn country_position(country: Country) -> Option<Position> {
    let mut cities = TABLE.iter().filter(|city| city.country == country);
    cities.next().map(|largest| largest.position)
}

/// The table is ours and tested, so a bad line is a mistake of this crate.
fn parse(text: &str) -> Vec<City> {
    let mut reader = csv::ReaderBuilder::new()
        .comment(Some(b'#'))
        .from_reader(text.as_bytes());
    reader
        .deserialize()
        .map(|row| {
            let row: (Country, String, f64, f64, f64) =
                row.expect("data/cities.csv has five columns of the right kind");
            let (country, _name, latitude, longitude, weight) = row;
            City {
                country,
                position: Position::new(latitude, longitude),
                weight,
            }
        })
        .collect()
}

/// The number of a city in a [`Cities`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CityId(pub(crate) usize);

/// The cities of one world, to draw from.
#[derive(Debug)]
pub(crate) struct Cities {
    positions: Vec<Position>,
    everywhere: BTreeMap<Country, Weighted<CityId>>,
    /// Countries whose rented machines concentrate in other cities than their people do.
    hosting: BTreeMap<Country, Weighted<CityId>>,
}

impl Cities {
    pub(crate) fn new(params: &WorldParams) -> Self {
        let mut positions: Vec<Position> = TABLE.iter().map(|city| city.position).collect();
        let mut lists: BTreeMap<Country, Vec<(CityId, f64)>> = BTreeMap::new();
        for (index, city) in TABLE.iter().enumerate() {
            let list = lists.entry(city.country).or_default();
            list.push((CityId(index), city.weight));
        }
        let mut us_hosting = Vec::new();
        for &[latitude, longitude, share] in params.us_hosting_cities.values() {
            us_hosting.push((CityId(positions.len()), share));
            positions.push(Position::new(latitude, longitude));
        }
        let us = Country::from_bytes(*b"US").expect("two letters");
        Self {
            positions,
            everywhere: lists
                .into_iter()
                .map(|(country, list)| (country, Weighted::new(list)))
                .collect(),
            hosting: BTreeMap::from([(us, Weighted::new(us_hosting))]),
        }
    }

    pub(crate) fn positions(&self) -> &[Position] {
        &self.positions
    }

    /// All cities of the country, where people live and where machines are rented out.
    pub(crate) fn of_country(&self, country: Country) -> impl Iterator<Item = CityId> {
        let hosting = self.hosting.get(&country).map_or(&[][..], Weighted::values);
        self.of_people(country)
            .values()
            .iter()
            .chain(hosting)
            .copied()
    }

    /// Where people of the country live.
    pub(crate) fn of_people(&self, country: Country) -> &Weighted<CityId> {
        self.everywhere
            .get(&country)
            .expect("the parameters were checked to name only known countries")
    }

    /// Where machines are rented out in the country.
    pub(crate) fn of_hosting(&self, country: Country) -> &Weighted<CityId> {
        self.hosting
            .get(&country)
            .unwrap_or_else(|| self.of_people(country))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_table_is_a_place_with_a_weight() {
        assert!(TABLE.len() > 900);
        for city in TABLE.iter() {
            assert!(city.position.is_valid() && city.weight > 0.0, "{city:?}");
        }
    }

    #[test]
    fn countries_stand_at_their_largest_city() {
        let position = |code: &str| country_position(code.parse().unwrap());
        let tokyo = Position::new(35.69, 139.69);
        assert!(position("JP").unwrap().distance_km(tokyo) < 10.0);
        assert_eq!(position("AQ"), None, "nobody lives there");
    }

    #[test]
    fn the_largest_city_of_a_country_comes_first() {
        for pair in TABLE.windows(2) {
            let sorted = pair[0].country < pair[1].country
                || pair[0].country == pair[1].country && pair[0].weight >= pair[1].weight;
            assert!(sorted, "{pair:?}");
        }
    }

    #[test]
    fn every_country_with_a_city_has_networks() {
        let book = crate::AddressBook::embedded();
        let without = TABLE.iter().filter(|city| !book.covers(city.country));
        assert_eq!(without.count(), 0);
    }

    #[test]
    fn american_machines_stand_where_the_parameters_say() {
        let params = WorldParams::builtin();
        let cities = Cities::new(&params);
        let us: Country = "US".parse().unwrap();
        let mut rng = crate::chance::stream(0, "cities");
        let id = cities.of_hosting(us).draw(&mut rng);
        let position = cities.positions()[id.0];
        assert!(
            params
                .us_hosting_cities
                .values()
                .any(|&[latitude, longitude, _]| Position::new(latitude, longitude) == position)
        );
    }
}
