//! Addresses of one family as numbers, so that tables are written once for both.

use std::fmt::Debug;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use nearside_types::Prefix;

/// `u32` for IPv4, `u128` for IPv6.
pub(crate) trait Key: Copy + Ord + Debug + Default + From<u16> + 'static {
    /// Bits of an address.
    const BITS: u32;
    /// The last address; the first is `Self::default()`.
    const LAST: Self;

    /// The first bits, at most 64: as many as tables keep in every row.
    type Head: Head;

    fn head(self) -> Self::Head;
    /// The bits behind the head.
    fn tail(self) -> u64;
    fn join(head: Self::Head, tail: u64) -> Self;
    fn to_ip(self) -> IpAddr;
    fn to_wide(self) -> u128;
    /// `None` when the number has more bits than the family.
    fn from_wide(wide: u128) -> Option<Self>;
    /// How many leading bits the two have in common.
    fn common_bits(self, other: Self) -> u32;
    /// `self + other`, or `None` beyond the last address.
    fn checked_add(self, other: Self) -> Option<Self>;
    /// `self - other` for `other <= self`.
    fn distance_from(self, other: Self) -> Self;
    /// `odd * 2 ^ shift`, or `None` beyond the last address.
    fn from_odd(odd: Self, shift: u32) -> Option<Self>;
    fn next(self) -> Option<Self>;
    fn previous(self) -> Option<Self>;
}

macro_rules! key {
    ($number:ty, $address:ty, $variant:ident, $head:ty, $split:expr, $join:expr) => {
        impl Key for $number {
            const BITS: u32 = <$number>::BITS;
            const LAST: Self = <$number>::MAX;

            type Head = $head;

            #[inline]
            fn head(self) -> $head {
                $split(self).0
            }

            #[inline]
            fn tail(self) -> u64 {
                $split(self).1
            }

            #[inline]
            fn join(head: $head, tail: u64) -> Self {
                $join(head, tail)
            }

            fn to_ip(self) -> IpAddr {
                IpAddr::$variant(<$address>::from_bits(self))
            }

            fn to_wide(self) -> u128 {
                self.into()
            }

            fn from_wide(wide: u128) -> Option<Self> {
                Self::try_from(wide).ok()
            }

            fn common_bits(self, other: Self) -> u32 {
                (self ^ other).leading_zeros()
            }

            fn checked_add(self, other: Self) -> Option<Self> {
                <$number>::checked_add(self, other)
            }

            fn distance_from(self, other: Self) -> Self {
                self - other
            }

            #[inline]
            fn from_odd(odd: Self, shift: u32) -> Option<Self> {
                let fits = odd != 0 && shift <= odd.leading_zeros();
                fits.then(|| odd << shift)
            }

            fn next(self) -> Option<Self> {
                <$number>::checked_add(self, 1)
            }

            fn previous(self) -> Option<Self> {
                self.checked_sub(1)
            }
        }
    };
}

key!(u32, Ipv4Addr, V4, Self, |key| (key, 0), |head, _tail| head);
key!(u128, Ipv6Addr, V6, u64, halves, whole);

/// The high and the low 64 bits.
#[inline]
fn halves(number: u128) -> (u64, u64) {
    let low = u64::try_from(number & u128::from(u64::MAX)).expect("64 bits were kept");
    let high = u64::try_from(number >> 64).expect("64 bits are left");
    (high, low)
}

#[inline]
fn whole(high: u64, low: u64) -> u128 {
    u128::from(high) << 64 | u128::from(low)
}

/// The part of an address by which rows are searched.
pub(crate) trait Head: Copy + Ord + Debug + 'static {
    /// The highest.
    const LAST: Self;

    /// The first 16 bits.
    fn bucket(self) -> usize;
}

impl Head for u32 {
    const LAST: Self = Self::MAX;

    #[inline]
    fn bucket(self) -> usize {
        (self >> 16) as usize
    }
}

impl Head for u64 {
    const LAST: Self = Self::MAX;

    #[inline]
    fn bucket(self) -> usize {
        (self >> 48) as usize
    }
}

/// The largest network that has `key` in it and lies inside `first..=last`.
pub(crate) fn network_within<K: Key>(key: K, first: K, last: K) -> Prefix {
    // A network reaches the address before `first` exactly when it is no longer than what the two
    // addresses have in common; the same goes for the address after `last`.
    let beyond = |neighbour: Option<K>| neighbour.map_or(0, |other| key.common_bits(other) + 1);
    let length = beyond(first.previous()).max(beyond(last.next()));
    let length = u8::try_from(length).expect("at most the bits of an address");
    Prefix::new(key.to_ip(), length)
}

/// The last address of a network whose first address is `first`.
pub(crate) fn last_of<K: Key>(first: K, length: u8) -> K {
    let fixed = u32::from(length).min(K::BITS);
    let hosts = u128::MAX.checked_shr(128 - (K::BITS - fixed)).unwrap_or(0);
    K::from_wide(first.to_wide() | hosts).expect("host bits lie within the family's")
}

/// The first and last address of a network as somebody wrote it: host bits are cleared, and IPv4 in
/// IPv6 form is unwrapped together with its length (`::ffff:192.0.2.0/120` is `192.0.2.0/24`).
/// `None` when the length does not fit.
pub(crate) fn ends(network: IpAddr, length: u8) -> Option<(IpAddr, IpAddr)> {
    let bits = if network.is_ipv4() { 32 } else { 128 };
    let length = match network.to_canonical() {
        _ if length > bits => return None,
        IpAddr::V4(_) if bits == 128 => length.checked_sub(96)?,
        _ => length,
    };
    let prefix = Prefix::new(network, length);
    let last = match prefix.network() {
        IpAddr::V4(first) => last_of(first.to_bits(), length).to_ip(),
        IpAddr::V6(first) => last_of(first.to_bits(), length).to_ip(),
    };
    Some((prefix.network(), last))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn within(key: &str, first: &str, last: &str) -> String {
        let bits = |text: &str| text.parse::<Ipv4Addr>().unwrap().to_bits();
        network_within(bits(key), bits(first), bits(last)).to_string()
    }

    #[test]
    fn the_largest_network_in_a_range_is_found() {
        assert_eq!(within("10.0.0.5", "10.0.0.0", "10.0.0.255"), "10.0.0.0/24");
        assert_eq!(within("10.0.1.5", "10.0.0.0", "10.0.2.255"), "10.0.0.0/23");
        assert_eq!(within("10.0.2.5", "10.0.0.0", "10.0.2.255"), "10.0.2.0/24");
        assert_eq!(within("10.0.0.1", "10.0.0.1", "10.0.0.1"), "10.0.0.1/32");
        assert_eq!(within("1.2.3.4", "0.0.0.0", "255.255.255.255"), "0.0.0.0/0");
        assert_eq!(
            within("200.2.3.4", "128.0.0.0", "255.255.255.255"),
            "128.0.0.0/1"
        );
    }

    #[test]
    fn the_last_address_of_a_network_has_all_host_bits_set() {
        assert_eq!(last_of(0x0a00_0000_u32, 24), 0x0a00_00ff);
        assert_eq!(last_of(0x0a00_0001_u32, 32), 0x0a00_0001);
        assert_eq!(last_of(0_u32, 0), u32::MAX);
        assert_eq!(last_of(0_u128, 0), u128::MAX);
        assert_eq!(last_of(0x2001_u128 << 112, 16), (0x2002_u128 << 112) - 1);
    }

    #[test]
    fn networks_have_ends_in_whatever_form_they_are_written() {
        let ends_of = |network: &str, length| {
            let (first, last) = ends(network.parse().unwrap(), length)?;
            Some(format!("{first} {last}"))
        };
        let plain = Some("192.0.2.0 192.0.2.255".to_owned());
        assert_eq!(ends_of("192.0.2.7", 24), plain);
        assert_eq!(ends_of("::ffff:192.0.2.7", 120), plain);
        let v6 = Some("2001:db8:: 2001:db8:ffff:ffff:ffff:ffff:ffff:ffff".to_owned());
        assert_eq!(ends_of("2001:db8::", 32), v6);
        assert_eq!(ends_of("192.0.2.0", 33), None);
        assert_eq!(ends_of("2001:db8::", 129), None);
        assert_eq!(ends_of("::ffff:192.0.2.0", 24), None);
    }

    #[test]
    fn numbers_too_large_for_the_family_are_noticed() {
        assert_eq!(u32::from_odd(3, 30), Some(0xc000_0000));
        assert_eq!(u32::from_odd(3, 31), None);
        assert_eq!(u32::from_odd(1, 32), None);
        assert_eq!(u32::from_odd(0, 1), None);
        assert_eq!(u128::from_odd(1, 127), Some(1 << 127));
        assert_eq!(u128::from_odd(1, 128), None);
    }
}
