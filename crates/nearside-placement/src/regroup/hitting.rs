//! The smallest set that has somebody of every group.

use std::collections::BTreeSet;

use crate::{Budget, ClientId};

/// Decisions after which the search gives up; thousands of conflicts need a smarter one.
const PATIENCE: usize = 200_000;

/// Decisions between two looks at the clock.
const DECISIONS_PER_LOOK: usize = 64;

/// The fewest clients that hit every group, ascending; `None` when that takes too long.
pub(super) fn fewest(groups: &[&[ClientId]], budget: &Budget<'_>) -> Option<Vec<ClientId>> {
    let mut patience = Patience {
        left: PATIENCE,
        budget,
    };
    for size in disjoint(groups, &BTreeSet::new()).. {
        match hit(groups, &mut BTreeSet::new(), size, &mut patience) {
            Some(hitters) => return Some(hitters.into_iter().collect()),
            None if patience.left == 0 => return None,
            None => {}
        }
    }
    None
}

/// How long to go on.
struct Patience<'b> {
    left: usize,
    budget: &'b Budget<'b>,
}

impl Patience<'_> {
    /// One decision more, if there is time for it.
    fn decide(&mut self) -> Option<()> {
        let look = self.left.is_multiple_of(DECISIONS_PER_LOOK);
        if look && self.budget.time_is_up() {
            self.left = 0;
        }
        self.left = self.left.checked_sub(1)?;
        Some(())
    }
}

/// At most `left` more clients, so that everybody's group is hit. Branches on the smallest group not
/// hit yet: one of it must go.
fn hit(
    groups: &[&[ClientId]],
    chosen: &mut BTreeSet<ClientId>,
    left: usize,
    patience: &mut Patience<'_>,
) -> Option<BTreeSet<ClientId>> {
    patience.decide()?;
    let open = groups.iter().filter(|group| !is_hit(group, chosen));
    let Some(smallest) = open.min_by_key(|group| group.len()) else {
        return Some(chosen.clone());
    };
    if disjoint(groups, chosen) > left {
        return None;
    }
    for &client in *smallest {
        chosen.insert(client);
        let found = hit(groups, chosen, left - 1, patience);
        chosen.remove(&client);
        if found.is_some() {
            return found;
        }
    }
    None
}

fn is_hit(group: &[ClientId], chosen: &BTreeSet<ClientId>) -> bool {
    group.iter().any(|client| chosen.contains(client))
}

/// Groups without common members, picked one after the other: each needs somebody of its own.
fn disjoint(groups: &[&[ClientId]], chosen: &BTreeSet<ClientId>) -> usize {
    let mut seen = chosen.clone();
    let mut number = 0;
    for group in groups {
        if !is_hit(group, &seen) {
            seen.extend(group.iter().copied());
            number += 1;
        }
    }
    number
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups(numbers: &[&[usize]]) -> Vec<Vec<ClientId>> {
        let ids = |group: &&[usize]| group.iter().map(|&number| ClientId::new(number)).collect();
        numbers.iter().map(ids).collect()
    }

    fn fewest_of(numbers: &[&[usize]]) -> Vec<usize> {
        let groups = groups(numbers);
        let groups: Vec<&[ClientId]> = groups.iter().map(Vec::as_slice).collect();
        let fewest = fewest(&groups, &Budget::unlimited(1)).unwrap();
        fewest.into_iter().map(ClientId::index).collect()
    }

    #[test]
    fn nobody_hits_no_groups() {
        assert!(fewest_of(&[]).is_empty());
    }

    #[test]
    fn one_who_is_in_all_suffices() {
        assert_eq!(fewest_of(&[&[1, 2], &[2, 3], &[4, 2]]), [2]);
    }

    #[test]
    fn a_triangle_needs_two() {
        assert_eq!(fewest_of(&[&[1, 2], &[2, 3], &[1, 3]]).len(), 2);
    }

    #[test]
    fn separate_groups_need_one_each() {
        assert_eq!(fewest_of(&[&[5], &[1, 2], &[3, 4]]), [1, 3, 5]);
    }
}
