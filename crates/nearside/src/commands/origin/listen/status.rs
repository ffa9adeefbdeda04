//! The line that says how the feed is doing: redrawn in place on a terminal, and only what happened
//! elsewhere.

use std::io::{self, IsTerminal, Write};

use super::live::{Live, State};

pub(super) struct Line {
    on_terminal: bool,
    drawn: bool,
}

impl Line {
    pub(super) fn new() -> Self {
        Self {
            on_terminal: io::stderr().is_terminal(),
            drawn: false,
        }
    }

    /// What happened since the last time, and on a terminal the state below it.
    pub(super) fn show(&mut self, live: &Live) {
        let (messages, state) = {
            let mut state = live.state();
            (state.take_messages(), words(&state))
        };
        let mut err = io::stderr().lock();
        for message in messages {
            let clear = if self.drawn { "\r\x1b[K" } else { "" };
            self.drawn = false;
            // Standard error that went away leaves nobody to tell.
            let _ = writeln!(err, "{clear}{message}");
        }
        if self.on_terminal {
            let state: String = state.chars().take(width()).collect();
            let _ = write!(err, "\r\x1b[K{state}");
            let _ = err.flush();
            self.drawn = true;
        }
    }

    /// Leaves the cursor on a line of its own.
    pub(super) fn end(&mut self) {
        if self.drawn {
            let _ = writeln!(io::stderr());
            self.drawn = false;
        }
    }
}

/// What happened since the line was last drawn, when it will not be drawn again.
pub(super) fn last_words(live: &Live) {
    for message in live.state().take_messages() {
        let _ = writeln!(io::stderr(), "{message}");
    }
}

/// Columns a line may fill: one that wraps could not be redrawn in place.
fn width() -> usize {
    let size = terminal_size::terminal_size_of(io::stderr());
    size.map_or(79, |(width, _)| usize::from(width.0).saturating_sub(1))
}

fn words(state: &State) -> String {
    let up = state.neighbours.iter().filter(|entry| entry.up).count();
    let (v4, v6) = state
        .live()
        .map_or((0, 0), |live| live.table().known_ranges());
    format!(
        "{up} of {} neighbours up · {v4} ranges of IPv4, {v6} of IPv6 · published {} times · {} look-ups",
        state.neighbours.len(),
        state.publications,
        state.lookups
    )
}
