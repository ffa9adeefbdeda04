//! Which AS numbers can be the origin of a route on the open Internet.

use nearside_types::Asn;

/// What an AS number is, by the registries.
///
/// Origin tables contain all of these: leaked private numbers, typing errors, and numbers that
/// stand for nobody. Two such networks have nothing in common, so a planner that put them into one
/// cluster would be wrong; only [`AsnClass::Public`] says where an address comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AsnClass {
    /// May be announced by somebody.
    Public,
    /// Never an origin: 0 (RFC 7607), 23456, which stands for any number that an old router cannot
    /// write (RFC 6793), 65535 and 4294967295 (RFC 7300), and 65552–131071, held back by IANA.
    Reserved,
    /// For use inside a network: 64512–65534 and 4200000000–4294967294 (RFC 6996).
    Private,
    /// For examples: 64496–64511 and 65536–65551 (RFC 5398).
    Documentation,
    /// Not yet given to anybody: above 500,000, see the source for the bound.
    Unallocated,
}

/// A round number well above those in use, which reached 402,640 in the routing tables of June 2026
/// and grow by one or two thousand a year (IANA's table "Autonomous System (AS) Numbers" has the
/// blocks). A closer bound would catch one more typing error or two today, and real networks in a
/// few years.
const LARGEST_ALLOCATED: u32 = 500_000;

impl AsnClass {
    /// The class of a number.
    pub const fn of(asn: Asn) -> Self {
        match asn.0 {
            0 | 23_456 | 65_535 | 65_552..=131_071 | u32::MAX => Self::Reserved,
            64_512..=65_534 | 4_200_000_000..=4_294_967_294 => Self::Private,
            64_496..=64_511 | 65_536..=65_551 => Self::Documentation,
            number if number > LARGEST_ALLOCATED => Self::Unallocated,
            _ => Self::Public,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn classes(numbers: &[u32]) -> Vec<AsnClass> {
        numbers.iter().map(|&n| AsnClass::of(Asn(n))).collect()
    }

    #[test]
    fn numbers_that_networks_use_are_public() {
        for number in [1, 112, 15_169, 23_455, 23_457, 64_495, 131_072, 402_332] {
            assert_eq!(AsnClass::of(Asn(number)), AsnClass::Public, "{number}");
        }
    }

    #[test]
    fn reserved_numbers_are_those_of_the_documents() {
        use AsnClass::{Documentation, Private, Reserved};
        assert_eq!(
            classes(&[0, 23_456, 65_535, 65_552, 131_071, u32::MAX]),
            [Reserved; 6]
        );
        assert_eq!(
            classes(&[64_512, 65_534, 4_200_000_000, 4_294_967_294]),
            [Private; 4]
        );
        assert_eq!(
            classes(&[64_496, 64_511, 65_536, 65_551]),
            [Documentation; 4]
        );
    }

    #[test]
    fn numbers_nobody_was_given_are_unallocated() {
        assert_eq!(
            classes(&[500_001, 4_199_999_999]),
            [AsnClass::Unallocated; 2]
        );
    }
}
