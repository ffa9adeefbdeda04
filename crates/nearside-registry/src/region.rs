//! Steam's regions, derived from where a server is instead of believed from what it says.

use nearside_types::Country;
use nearside_wire::steam::Region;

const SOUTH_AMERICA: &str = "AR BO BR CL CO EC FK GF GY PE PY SR UY VE \
    MX GT BZ SV HN NI CR PA CU HT DO JM PR TT BB BS AG DM GD KN LC VC AW CW SX BQ GP MQ MF BL VG VI \
    KY TC MS AI BM";
const EUROPE: &str = "AD AL AT AX BA BE BG BY CH CZ DE DK EE ES FI FO FR GB GG GI GR HR HU IE IM IS \
    IT JE LI LT LU LV MC MD ME MK MT NL NO PL PT RO RS RU SE SI SJ SK SM UA VA XK CY GE AM AZ GL EU";
const ASIA: &str = "AF BD BN BT CC CN CX HK ID IN IO JP KG KH KP KR KZ LA LK MM MN MO MV MY NP PH PK \
    SG TH TJ TL TM TW UZ VN";
const AUSTRALIA: &str =
    "AU NZ FJ PG SB VU NC PF WS TO TV KI NR FM MH PW CK NU TK NF PN WF AS GU MP UM";
const MIDDLE_EAST: &str = "AE BH IL IQ IR JO KW LB OM PS QA SA SY TR YE";

/// Whether a country belongs to a region. East and west of North America cannot be told apart by
/// country, so both have all of it; what no list names is Africa.
pub(crate) fn is_in(region: Region, country: Option<Country>) -> bool {
    match region {
        Region::All => true,
        Region::UsEast | Region::UsWest => region_of(country) == Some(Region::UsEast),
        _ => region_of(country) == Some(region),
    }
}

/// The region of a country; `None` if the country is not known. North America is
/// [`Region::UsEast`].
pub fn region_of(country: Option<Country>) -> Option<Region> {
    country.map(|country| REGIONS[place(country.as_bytes())])
}

const LETTERS: usize = 26;

/// The region of every pair of letters: a server's is asked for with each of its heartbeats that bring
/// news.
static REGIONS: [Region; LETTERS * LETTERS] = {
    let regions = [Region::Africa; LETTERS * LETTERS];
    let regions = with(regions, "US CA PM", Region::UsEast);
    let regions = with(regions, SOUTH_AMERICA, Region::SouthAmerica);
    let regions = with(regions, EUROPE, Region::Europe);
    let regions = with(regions, ASIA, Region::Asia);
    let regions = with(regions, AUSTRALIA, Region::Australia);
    with(regions, MIDDLE_EAST, Region::MiddleEast)
};

const fn place([first, second]: [u8; 2]) -> usize {
    (first - b'A') as usize * LETTERS + (second - b'A') as usize
}

/// The regions with a list of countries, one space between them.
const fn with(
    mut regions: [Region; LETTERS * LETTERS],
    countries: &str,
    region: Region,
) -> [Region; LETTERS * LETTERS] {
    let letters = countries.as_bytes();
    let mut at = 0;
    while at < letters.len() {
        regions[place([letters[at], letters[at + 1]])] = region;
        at += 3;
    }
    regions
}

#[cfg(test)]
mod tests {
    use super::*;

    fn country(code: &str) -> Option<Country> {
        Some(code.parse().unwrap())
    }

    #[test]
    fn countries_are_where_they_are() {
        for (code, region) in [
            ("US", Region::UsEast),
            ("BR", Region::SouthAmerica),
            ("DE", Region::Europe),
            ("JP", Region::Asia),
            ("NZ", Region::Australia),
            ("TR", Region::MiddleEast),
            ("ZA", Region::Africa),
        ] {
            assert_eq!(region_of(country(code)), Some(region), "{code}");
            assert!(is_in(region, country(code)) && is_in(Region::All, country(code)));
        }
        assert!(is_in(Region::UsWest, country("US")));
    }

    #[test]
    fn no_country_is_listed_twice_and_an_unknown_one_is_only_in_all() {
        let all = [SOUTH_AMERICA, EUROPE, ASIA, AUSTRALIA, MIDDLE_EAST].join(" ");
        let mut codes: Vec<&str> = all.split_ascii_whitespace().collect();
        let count = codes.len();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), count);
        assert!(!is_in(Region::Africa, None) && is_in(Region::All, None));
    }
}
