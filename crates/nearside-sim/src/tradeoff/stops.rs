//! The stops that are judged: Algorithm 2 with other windows, percentiles and thresholds, and the
//! smooth run that the country paper proposes.

use nearside_discover::planner::StopRule;
use nearside_types::Rtt;

use super::ordering::ms;
use crate::hindsight::Stop;

/// What both papers call playable.
pub(super) const PLAYABLE: Rtt = ms(200);

/// How much of this is judged: the whole matter for a few orders, the threshold for all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stops {
    /// The published rule at many thresholds.
    Thresholds,
    /// Also other windows, percentiles, smooth runs, and players who want nearer servers.
    Everything,
}

/// Answers looked at; the papers' W is 100.
pub(super) const WINDOWS: [usize; 6] = [10, 20, 50, 100, 200, 500];

/// Shares of the window that may lie below the threshold; the papers' is 2 %.
pub(super) const BOTTOMS: [f64; 5] = [0.0, 0.01, 0.02, 0.05, 0.1];

/// Lengths of a smooth run.
pub(super) const RUNS: [usize; 5] = [5, 10, 20, 50, 100];

/// How far P20 and P80 of a smooth run may be apart, in milliseconds.
pub(super) const SPREADS: [u32; 4] = [20, 40, 80, 160];

/// What players may want: RTT_stop and the playable RTT at once, in milliseconds.
pub(super) const WISHES: [u32; 9] = [50, 75, 100, 125, 150, 175, 200, 250, 300];

impl Stops {
    /// In an order that keeps stops of one rule together.
    pub(super) fn all(self) -> Vec<Stop> {
        let wishes = WISHES.map(|wish| Stop {
            rule: StopRule::PUBLISHED,
            at: ms(wish),
            playable: ms(wish),
        });
        let published = over_thresholds(StopRule::PUBLISHED);
        match self {
            Self::Thresholds => published,
            Self::Everything => {
                let others = windows()
                    .into_iter()
                    .flatten()
                    .chain(smooth_runs().into_iter().flatten());
                let others = others.filter(|rule| *rule != StopRule::PUBLISHED);
                let all = published.into_iter().chain(wishes);
                all.chain(others.flat_map(over_thresholds)).collect()
            }
        }
    }
}

/// A stop of those who call 200 ms playable.
pub(super) const fn stop(rule: StopRule, at: Rtt) -> Stop {
    let playable = PLAYABLE;
    Stop { rule, at, playable }
}

/// What the papers publish.
pub(super) const PUBLISHED: Stop = stop(StopRule::PUBLISHED, PLAYABLE);

/// One rule with thresholds from far below to far above what is playable, and without any.
pub(super) fn over_thresholds(rule: StopRule) -> Vec<Stop> {
    let thresholds = (60..=340).step_by(10).map(ms).chain([Stop::NEVER]);
    thresholds.map(|at| stop(rule, at)).collect()
}

/// Algorithm 2: windows from top to bottom, percentiles from left to right.
pub(super) fn windows() -> Vec<Vec<StopRule>> {
    let row = |window| BOTTOMS.map(|bottom| StopRule::Bottom { window, bottom });
    WINDOWS.map(|window| row(window).to_vec()).to_vec()
}

/// Smooth runs: lengths from top to bottom, spreads from left to right.
pub(super) fn smooth_runs() -> Vec<Vec<StopRule>> {
    let rule = |run, spread: u32| StopRule::SmoothRun {
        run,
        spread_ms: f64::from(spread),
    };
    let row = |run| SPREADS.map(|spread| rule(run, spread));
    RUNS.map(|run| row(run).to_vec()).to_vec()
}

/// A rule in a few words.
pub(super) fn rule_words(rule: StopRule) -> String {
    match rule {
        StopRule::Bottom {
            window,
            bottom: 0.0,
        } => format!("lowest of {window}"),
        StopRule::Bottom { window, bottom } => format!("{} % of {window}", 100.0 * bottom),
        StopRule::SmoothRun { run, spread_ms } => {
            format!("smooth run of {run} within {spread_ms} ms")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_stop_is_judged_and_no_stop_twice() {
        for stops in [Stops::Thresholds, Stops::Everything] {
            let all = stops.all();
            assert!(all.contains(&PUBLISHED));
            let mut seen = Vec::new();
            for stop in all {
                // A wish for 200 ms is the published stop itself.
                let is_wish = stop.at == stop.playable;
                assert!(is_wish || !seen.contains(&stop), "{stop:?}");
                seen.push(stop);
            }
        }
    }
}
