//! A progress bar on standard error, if a person is there to see it.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use nearside_sim::Progress;

/// Counts runs.
pub(super) struct Bar(ProgressBar);

impl Bar {
    /// A bar that shows itself on a terminal only.
    pub(super) fn new() -> Self {
        let target = match std::io::stderr().is_terminal() {
            true => ProgressDrawTarget::stderr(),
            false => ProgressDrawTarget::hidden(),
        };
        let style = ProgressStyle::with_template("{wide_bar} {pos}/{len} runs, {eta} left");
        // Without a length it is not full before the first runs are announced.
        let bar = ProgressBar::with_draw_target(None, target);
        bar.set_style(style.expect("the template is fixed"));
        Self(bar)
    }
}

impl Progress for Bar {
    fn expect(&self, runs: usize) {
        let before = self.0.length().unwrap_or(0);
        self.0.set_length(before + runs as u64);
    }

    fn done(&self) {
        self.0.inc(1);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
