use super::{Answer, Judge};
use crate::{ClientId, Delay};

/// Players who cannot be together within the bound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// The players, ascending.
    pub clients: Vec<ClientId>,
    /// The smallest delay at which they could; `None` when there is no such delay (places are
    /// missing, or paths), the group is larger than [`Conflict::LARGEST_TIMED`], or it was not found
    /// in time.
    pub delay: Option<Delay>,
    /// Whether any of them could go and the others stay. Not so when the budget ended before that was
    /// found out: then some of them may have nothing to do with it.
    pub is_minimal: bool,
}

impl Conflict {
    /// Groups larger than this are not asked for their delay: the figure says little and costs much.
    pub const LARGEST_TIMED: usize = 8;
}

/// One conflict among these clients, if they have one and it can be found.
pub(super) fn find(judge: &mut Judge<'_, '_>, clients: &[ClientId]) -> Option<Conflict> {
    if judge.can_be_together(clients) != Answer::No {
        return None;
    }
    let undecided = judge.undecided;
    let mut group = smallest_blame(judge, &[], clients);
    let is_minimal = judge.undecided == undecided;
    group.sort_unstable();
    let timed = group.len() <= Conflict::LARGEST_TIMED;
    Some(Conflict {
        delay: timed.then(|| judge.delay_together(&group)).flatten(),
        clients: group,
        is_minimal,
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
/// blame. Who might be together, for all that could be found out, counts as able to; when the time is
/// over, nobody else is cleared.
fn smallest_blame(
    judge: &mut Judge<'_, '_>,
    guilty: &[ClientId],
    suspects: &[ClientId],
) -> Vec<ClientId> {
    if suspects.len() <= 1 || judge.is_late() {
        return suspects.to_vec();
    }
    let (left, right) = suspects.split_at(suspects.len() / 2);
    let from_right = blame_beside(judge, guilty, left, right);
    let from_left = blame_beside(judge, guilty, &from_right, left);
    [from_left, from_right].concat()
}

/// The same when more are guilty: nobody, if these suffice.
fn blame_beside(
    judge: &mut Judge<'_, '_>,
    guilty: &[ClientId],
    more: &[ClientId],
    suspects: &[ClientId],
) -> Vec<ClientId> {
    let guilty = [guilty, more].concat();
    match judge.can_be_together(&guilty) {
        Answer::No => Vec::new(),
        Answer::Yes | Answer::Unknown => smallest_blame(judge, &guilty, suspects),
    }
}
