//! Who has a place when many come at once: meetings and links are bounded, altogether and for each /24
//! (/48), so that one house full of identities does not keep everybody else out.

use nearside_types::{Moment, Prefix};
use std::collections::BTreeMap;

use crate::messages::Introduction;

/// Meetings at once; for one more the oldest of the fullest network is given up.
pub(super) const MOST_MEETINGS: usize = 64;
/// Meetings at once with peers of one network.
const MOST_MEETINGS_OF_ONE: usize = 16;
/// Links at once: whoever comes beyond is not met.
pub(super) const MOST_LINKS: usize = 256;
/// Links at once with peers of one network.
pub(super) const MOST_LINKS_OF_ONE: usize = 64;

/// Where a peer is, by the address at which it has proven to the directory to receive.
pub(super) fn network(intro: &Introduction) -> Option<Prefix> {
    let ip = intro.addresses.first()?.ip();
    let length = if ip.is_ipv4() { 24 } else { 48 };
    Some(Prefix::new(ip, length))
}

/// A meeting that somebody else asked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) session: u64,
    pub(super) network: Option<Prefix>,
    pub(super) begun: Moment,
}

/// The meeting that is given up for one with a peer of a network, if one has to be.
pub(super) fn gives_way(meetings: &[Place], newcomer: Option<Prefix>) -> Option<u64> {
    let mut counts: BTreeMap<Option<Prefix>, usize> = BTreeMap::new();
    for place in meetings {
        *counts.entry(place.network).or_default() += 1;
    }
    let own = counts.get(&newcomer).copied().unwrap_or(0);
    let crowded = match own >= MOST_MEETINGS_OF_ONE {
        true => newcomer,
        false if meetings.len() < MOST_MEETINGS => return None,
        false => *counts.iter().max_by_key(|(_, count)| **count)?.0,
    };
    let of_it = meetings.iter().filter(|place| place.network == crowded);
    let oldest = of_it.min_by_key(|place| (place.begun, place.session))?;
    Some(oldest.session)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn place(session: u64, network: u8) -> Place {
        Place {
            session,
            network: Some(prefix(network)),
            begun: Moment::EPOCH + Duration::from_millis(session),
        }
    }

    fn prefix(network: u8) -> Prefix {
        Prefix::new([198, 51, network, 1].into(), 24)
    }

    #[test]
    fn one_network_has_some_places_and_the_fullest_gives_way_to_others() {
        let mut meetings: Vec<Place> = (0..16).map(|session| place(session, 1)).collect();
        assert_eq!(gives_way(&meetings, Some(prefix(1))), Some(0));
        assert_eq!(gives_way(&meetings, Some(prefix(2))), None);
        meetings.extend((16..64).map(|session| place(session, 100 + session as u8)));
        assert_eq!(gives_way(&meetings, Some(prefix(2))), Some(0));
        meetings.remove(0);
        assert_eq!(gives_way(&meetings, Some(prefix(2))), None);
    }
}
