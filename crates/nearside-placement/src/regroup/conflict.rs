use super::{Answer, Judge};
use crate::{ClientId, Delay};

/// Players who cannot be together within the bound, although any of them could go and the others
/// stay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// The players, ascending.
    pub clients: Vec<ClientId>,
    /// The smallest delay at which they could; `None` when there is no such delay (places are
    /// missing, or paths), or it was not found in time.
    pub delay: Option<Delay>,
}

/// Groups larger than this are not asked for their delay: the figure says little and costs much.
const LARGEST_TIMED: usize = 8;

/// One conflict among these clients, if they have one and it can be found.
pub(super) fn find(judge: &mut Judge<'_, '_>, clients: &[ClientId]) -> Option<Conflict> {
    if judge.can_be_together(clients) != Answer::No {
        return None;
    }
    let mut group = smallest_blame(judge, &[], clients);
    group.sort_unstable();
    let timed = group.len() <= LARGEST_TIMED;
    Some(Conflict {
        delay: timed.then(|| judge.delay_together(&group)).flatten(),
        clients: group,
    })
}

/// Conflicts that share nobody, until the rest can be together.
pub(super) fn find_several(judge: &mut Judge<'_, '_>, mut clients: Vec<ClientId>) -> Vec<Conflict> {
    let mut conflicts = Vec::new();
    while let Some(conflict) = find(judge, &clients) {
        clients.retain(|client| !conflict.clients.contains(client));
        conflicts.push(conflict);
    }
    conflicts
}

/// The part of `suspects` that is needed, beside `guilty`, to make the bound impossible; nobody in it
/// can be spared. Divides and conquers (Junker's QuickXplain, AAAI 2004): few questions when few are to
/// blame. Who might be together, for all that could be found out, counts as able to.
fn smallest_blame(
    judge: &mut Judge<'_, '_>,
    guilty: &[ClientId],
    suspects: &[ClientId],
) -> Vec<ClientId> {
    if suspects.len() <= 1 {
        return suspects.to_vec();
    }
    let (left, right) = suspects.split_at(suspects.len() / 2);
    let with_left = [guilty, left].concat();
    let from_right = match judge.can_be_together(&with_left) {
        Answer::No => Vec::new(),
        Answer::Yes | Answer::Unknown => smallest_blame(judge, &with_left, right),
    };
    let with_right = [guilty, &from_right].concat();
    let from_left = match judge.can_be_together(&with_right) {
        Answer::No => Vec::new(),
        Answer::Yes | Answer::Unknown => smallest_blame(judge, &with_right, left),
    };
    [from_left, from_right].concat()
}
