//! From cases to a verdict.

use crate::tradeoff::outcome::Difference;

/// What becomes of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Holds,
    InPart,
    Fails,
    Open,
}

impl Verdict {
    /// As tables show it.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::InPart => "holds in part",
            Self::Fails => "does not hold",
            Self::Open => "undecided",
        }
    }

    /// Of several cases; undecided if none is clear.
    pub(super) fn of(cases: impl IntoIterator<Item = Case>) -> Self {
        let cases: Vec<Case> = cases.into_iter().collect();
        let count = |case| cases.iter().filter(|other| **other == case).count();
        match (count(Case::Yes), count(Case::No)) {
            (0, 0) => Self::Open,
            (0, _) => Self::Fails,
            (yes, _) if yes == cases.len() => Self::Holds,
            _ => Self::InPart,
        }
    }
}

/// Whether a claim is true in one case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Case {
    Yes,
    No,
    /// It may be chance.
    Unclear,
}

impl Case {
    /// That the first of two is lower.
    pub(super) fn lower(difference: Option<Difference>) -> Self {
        match difference {
            Some(difference) if difference.is_lower() => Self::Yes,
            Some(difference) if difference.is_higher() => Self::No,
            _ => Self::Unclear,
        }
    }

    /// That the first of two is higher.
    pub(super) fn higher(difference: Option<Difference>) -> Self {
        match Self::lower(difference) {
            Self::Yes => Self::No,
            Self::No => Self::Yes,
            Self::Unclear => Self::Unclear,
        }
    }
}

impl From<bool> for Case {
    fn from(is_true: bool) -> Self {
        if is_true { Self::Yes } else { Self::No }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_needs_every_case_or_says_in_part() {
        use Case::{No, Unclear, Yes};
        assert_eq!(Verdict::of([Yes, Yes]), Verdict::Holds);
        assert_eq!(Verdict::of([Yes, Unclear]), Verdict::InPart);
        assert_eq!(Verdict::of([Yes, No]), Verdict::InPart);
        assert_eq!(Verdict::of([No, Unclear]), Verdict::Fails);
        assert_eq!(Verdict::of([Unclear, Unclear]), Verdict::Open);
        assert_eq!(Verdict::of([]), Verdict::Open);
    }
}
