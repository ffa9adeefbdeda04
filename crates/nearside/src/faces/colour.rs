//! Colour on terminals: three shades for round-trip times, in ANSI codes that every theme maps to
//! colours of its own.

/// Whether output is coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colours {
    /// With ANSI codes.
    On,
    /// Plain text.
    Off,
}

/// The shade of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shade {
    Good,
    Fair,
    Poor,
    Faint,
}

/// Rules of thumb, for the eye only: below 60 ms players of fast games rarely complain, from 120 ms
/// on they usually do. Nothing is decided by them.
const FAIR_FROM_MS: f64 = 60.0;
const POOR_FROM_MS: f64 = 120.0;

impl Shade {
    /// The shade of a round-trip time; faint for a server that did not answer.
    pub(crate) fn of_rtt(rtt_ms: Option<f64>) -> Self {
        match rtt_ms {
            None => Self::Faint,
            Some(rtt) if rtt < FAIR_FROM_MS => Self::Good,
            Some(rtt) if rtt < POOR_FROM_MS => Self::Fair,
            Some(_) => Self::Poor,
        }
    }

    /// "Select graphic rendition" parameters of ECMA-48, section 8.3.117.
    const fn code(self) -> u8 {
        match self {
            Self::Good => 32,
            Self::Fair => 33,
            Self::Poor => 31,
            Self::Faint => 2,
        }
    }
}

impl Colours {
    /// `text` in a shade, if colours are on.
    pub(crate) fn paint(self, text: &str, shade: Shade) -> String {
        match self {
            Self::On => format!("\x1b[{}m{text}\x1b[0m", shade.code()),
            Self::Off => text.to_owned(),
        }
    }
}

/// A line without the codes of [`Colours::paint`], to count its columns.
pub(crate) fn unpainted(line: &str) -> String {
    let mut plain = line.to_owned();
    for code in ["\x1b[32m", "\x1b[33m", "\x1b[31m", "\x1b[2m", "\x1b[0m"] {
        plain = plain.replace(code, "");
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shades_change_at_their_thresholds() {
        assert_eq!(Shade::of_rtt(Some(59.9)), Shade::Good);
        assert_eq!(Shade::of_rtt(Some(60.0)), Shade::Fair);
        assert_eq!(Shade::of_rtt(Some(120.0)), Shade::Poor);
        assert_eq!(Shade::of_rtt(None), Shade::Faint);
    }

    #[test]
    fn paint_comes_off_again() {
        for shade in [Shade::Good, Shade::Fair, Shade::Poor, Shade::Faint] {
            let painted = Colours::On.paint("12.3", shade);
            assert!(painted.len() > 4, "{painted:?}");
            assert_eq!(unpainted(&painted), "12.3");
        }
        assert_eq!(Colours::Off.paint("12.3", Shade::Good), "12.3");
    }
}
