//! What a row of a table says, in four bytes.

use nearside_types::{Asn, Country, Origin};

/// The AS and the country of a row as numbers; 0 where there is none. Nobody may announce AS 0
/// (RFC 7607).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Known {
    pub(crate) asn: u32,
    pub(crate) country: CountryCode,
}

impl Known {
    /// `None` where nothing is known.
    pub(crate) fn origin(self) -> Option<Origin> {
        let origin = Origin {
            asn: (self.asn != 0).then_some(Asn(self.asn)),
            country: self.country.country(),
        };
        (self != Self::default()).then_some(origin)
    }
}

/// The two letters as a number, 0 where there are none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct CountryCode(pub(crate) u16);

impl From<Option<Country>> for CountryCode {
    fn from(country: Option<Country>) -> Self {
        Self(country.map_or(0, |country| u16::from_be_bytes(country.as_bytes())))
    }
}

impl CountryCode {
    pub(crate) fn country(self) -> Option<Country> {
        Country::from_bytes(self.0.to_be_bytes())
    }

    /// Five bits for each letter: in ASCII the low five of `A` are 1, those of `Z` 26.
    fn to_ten_bits(self) -> u32 {
        let [first, second] = self.0.to_be_bytes().map(|letter| u32::from(letter & 0x1f));
        first << 5 | second
    }

    fn from_ten_bits(bits: u32) -> Self {
        let letters = (bits & 0x3e0) << 3 | bits & 0x1f;
        let upper_case = if letters == 0 { 0 } else { 0x4040 };
        Self((letters | upper_case) as u16)
    }
}

/// A [`Known`] packed: the AS in 20 bits, which has room for every number that is allocated, and the
/// country in ten. What does not fit stands in a list beside the rows, and the cell has its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Cell(u32);

const ASN_BITS: u32 = 20;
const IS_ELSEWHERE: u32 = 1 << 31;
const HAS_TAIL: u32 = 1 << 30;

impl Cell {
    /// `others` takes what does not fit into the cell.
    pub(crate) fn pack(known: Known, others: &mut Vec<Known>) -> Self {
        if known.asn >> ASN_BITS == 0 {
            return Self(known.country.to_ten_bits() << ASN_BITS | known.asn);
        }
        let place = u32::try_from(others.len()).expect("a table has less than 2^30 rows");
        others.push(known);
        Self(IS_ELSEWHERE | place)
    }

    #[inline]
    pub(crate) fn unpack(self, others: &[Known]) -> Known {
        let bits = self.0 & !HAS_TAIL;
        if bits & IS_ELSEWHERE != 0 {
            return others[(bits & !IS_ELSEWHERE) as usize];
        }
        Known {
            asn: bits & ((1 << ASN_BITS) - 1),
            country: CountryCode::from_ten_bits(bits >> ASN_BITS),
        }
    }

    /// The same with a note that the row starts within what its head can tell, see `rows`.
    pub(crate) fn with_tail(self) -> Self {
        Self(self.0 | HAS_TAIL)
    }

    pub(crate) fn has_tail(self) -> bool {
        self.0 & HAS_TAIL != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn round_trip(asn: u32, country: Option<Country>) -> (Known, Known, usize) {
        let known = Known {
            asn,
            country: country.into(),
        };
        let mut others = vec![Known::default()];
        let cell = Cell::pack(known, &mut others);
        assert_eq!(cell.unpack(&others), cell.with_tail().unpack(&others));
        (known, cell.unpack(&others), others.len() - 1)
    }

    #[test]
    fn allocated_numbers_fit_and_private_ones_stand_elsewhere() {
        let germany = Country::from_bytes(*b"DE");
        let fits = round_trip(402_640, germany);
        assert_eq!((fits.0, fits.2), (fits.1, 0));
        let private = round_trip(4_200_000_000, germany);
        assert_eq!((private.0, private.2), (private.1, 1));
    }

    #[test]
    fn nothing_known_is_no_origin() {
        assert_eq!(Known::default().origin(), None);
        assert_eq!(round_trip(0, None).1, Known::default());
    }

    proptest! {
        #[test]
        fn whatever_is_known_comes_back(asn: u32, shift in 0u32..32, letters in "[A-Z]{2}", named: bool) {
            let country = letters.parse().ok().filter(|_| named);
            let (known, unpacked, _) = round_trip(asn >> shift, country);
            prop_assert_eq!(known, unpacked);
        }
    }
}
