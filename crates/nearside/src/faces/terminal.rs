//! What there is to know of the terminal that output goes to.

use std::env;
use std::io::{self, IsTerminal};

use terminal_size::{Height, Width, terminal_size_of};

use super::colour::Colours;

/// The size of a terminal in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Columns.
    pub width: usize,
    /// Lines.
    pub height: usize,
}

/// What every terminal since the VT100 can show, for those that do not tell their size.
const USUAL: Size = Size {
    width: 80,
    height: 24,
};

impl Size {
    /// Columns a line may fill: one fewer than there are, since some terminals wrap a line as soon
    /// as its last column is written.
    pub(crate) const fn room(self) -> usize {
        self.width.saturating_sub(1)
    }
}

/// A terminal to draw on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terminal {
    /// `None`: ask standard output each time, as windows are resized.
    fixed: Option<Size>,
    colours: Colours,
}

impl Terminal {
    /// Standard output, if it is a terminal that understands cursor movements.
    ///
    /// Colours are on unless the environment has a non-empty `NO_COLOR` (<https://no-color.org>).
    pub fn stdout() -> Option<Self> {
        let can_move = env::var_os("TERM").is_none_or(|term| term != "dumb");
        let no_colour = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        (io::stdout().is_terminal() && can_move).then_some(Self {
            fixed: None,
            colours: if no_colour { Colours::Off } else { Colours::On },
        })
    }

    /// A terminal that never changes its size, for tests and recordings.
    pub const fn fixed(size: Size, colours: Colours) -> Self {
        Self {
            fixed: Some(size),
            colours,
        }
    }

    /// Its size now.
    pub fn size(self) -> Size {
        self.fixed.or_else(stdout_size).unwrap_or(USUAL)
    }

    /// Whether to colour what is drawn on it.
    pub const fn colours(self) -> Colours {
        self.colours
    }
}

/// Some pseudo-terminals claim 0 by 0, which means that they do not know.
fn stdout_size() -> Option<Size> {
    let (Width(width), Height(height)) = terminal_size_of(io::stdout())?;
    (width > 0 && height > 0).then_some(Size {
        width: width.into(),
        height: height.into(),
    })
}
