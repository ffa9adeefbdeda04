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
        let bar = ProgressBar::with_draw_target(Some(0), target);
        bar.set_style(style.expect("the template is fixed"));
        Self(bar)
    }
}

impl Progress for Bar {
    fn expect(&self, runs: usize) {
        self.0.inc_length(runs as u64);
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
