//! The little the hub knows of IP packets: where they go, and which of them belong together.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::net::IpAddr;

/// The destination; `None` for what is no IP packet.
pub(crate) fn destination(packet: &[u8]) -> Option<IpAddr> {
    match packet.first()? >> 4 {
        4 => address::<4>(packet, 16).map(IpAddr::from),
        6 => address::<16>(packet, 24).map(IpAddr::from),
        _ => None,
    }
}

/// The bytes at the offsets of RFC 791 section 3.1 and RFC 8200 section 3.
fn address<const LENGTH: usize>(packet: &[u8], offset: usize) -> Option<[u8; LENGTH]> {
    packet.get(offset..offset + LENGTH)?.try_into().ok()
}

/// A number between 0 and 1 that is the same for all packets of a flow: those with the same
/// addresses and ports. Fragments have no ports but in their first one, so theirs do not count.
pub(crate) fn share_of_flow(packet: &[u8], seed: u64) -> f64 {
    let mut hasher = DefaultHasher::new();
    (seed, addresses(packet), ports(packet)).hash(&mut hasher);
    // 53 bits are what a fraction has.
    (hasher.finish() >> 11) as f64 / (1_u64 << 53) as f64
}

fn addresses(packet: &[u8]) -> Option<&[u8]> {
    match packet.first()? >> 4 {
        4 => packet.get(12..20),
        6 => packet.get(8..40),
        _ => None,
    }
}

fn ports(packet: &[u8]) -> Option<&[u8]> {
    const UDP_AND_TCP: [u8; 2] = [17, 6];
    let first = *packet.first()?;
    let (protocol, start) = if first >> 4 == 6 {
        (*packet.get(6)?, 40)
    } else if is_fragment(packet)? {
        return None;
    } else {
        (*packet.get(9)?, usize::from(first & 0x0F) * 4)
    };
    let ports = packet.get(start..start + 4);
    ports.filter(|_| UDP_AND_TCP.contains(&protocol))
}

/// More fragments to come, or an offset (RFC 791: the flags and offset at byte 6).
fn is_fragment(packet: &[u8]) -> Option<bool> {
    let [high, low] = packet.get(6..8)? else {
        return None;
    };
    Some(u16::from_be_bytes([*high, *low]) & 0x3FFF != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn destinations_of_both_versions_are_found() {
        let mut four = [0; 20];
        four[0] = 0x45;
        four[16..].copy_from_slice(&[198, 18, 7, 1]);
        assert_eq!(destination(&four), Some(IpAddr::from([198, 18, 7, 1])));
        let mut six = [0; 40];
        six[0] = 0x60;
        six[39] = 1;
        assert_eq!(destination(&six), Some("::1".parse().unwrap()));
    }

    #[test]
    fn short_and_strange_packets_go_nowhere() {
        assert_eq!(destination(&[]), None);
        assert_eq!(destination(&[0x45; 19]), None);
        assert_eq!(destination(&[0x60; 39]), None);
        assert_eq!(destination(&[0x50; 40]), None);
    }

    /// UDP over IPv4 from port 4000 on, with some payload.
    fn datagram(from_port: u16, payload: u8) -> Vec<u8> {
        let mut packet = vec![0; 29];
        packet[0] = 0x45;
        packet[9] = 17;
        packet[20..22].copy_from_slice(&from_port.to_be_bytes());
        packet[28] = payload;
        packet
    }

    #[test]
    fn packets_of_a_flow_have_the_same_share_and_flows_differ() {
        let share = |port, payload| share_of_flow(&datagram(port, payload), 1);
        assert_eq!(share(4_000, 1), share(4_000, 2));
        let shares: Vec<f64> = (4_000..4_100).map(|port| share(port, 0)).collect();
        assert!(shares.iter().all(|share| (0.0..1.0).contains(share)));
        let low = shares.iter().filter(|share| **share < 0.5).count();
        assert!((25..=75).contains(&low), "{low} of 100 in the lower half");
    }

    #[test]
    fn fragments_stay_together() {
        let (mut first, mut second) = (datagram(4_000, 0), datagram(5_000, 0));
        first[6] = 0x20;
        second[7] = 0x01;
        assert_eq!(share_of_flow(&first, 1), share_of_flow(&second, 1));
        assert_eq!(share_of_flow(&[0x45], 1), share_of_flow(&[], 1));
    }
}
