//! The live view: a line of progress and the best servers so far, drawn in place.

use std::io::{self, Write};
use std::time::Duration;

use nearside_discover::snapshot::{Progress, Row};
use nearside_types::ServerAddr;

use super::cells;
use super::goal::{Goal, Nearness};
use super::numbers::{seconds, thousands};
use super::rate::RecentRate;
use super::screen::Screen;
use super::selection::Selection;
use super::sort::SortKey;
use super::table::{self, Style};
use super::terminal::{Size, Terminal};
use super::text;

/// Rows at most: more than a glance takes in only moves under the reader's eyes.
const MOST_ROWS: usize = 20;

/// Lines of the terminal that stay free of rows: progress, what is expected, a gap, the heading, the
/// cursor's line, and two of what was there before.
const OTHER_LINES: usize = 7;

/// Answers from which on the planner's expectation is of this list.
const SOME_ANSWERS: usize = 20;

/// Seconds between two frames: eight a second look smooth and cost nothing.
const FRAME_SECONDS: f64 = 0.125;

/// Said to who saves nothing by waiting.
const NEAR_EVERYTHING: &str = "nearly everything is near you; --best 10 spares you a full scan";

/// What the lines above the rows say.
#[derive(Debug, Clone, Copy)]
pub struct Headline<'a> {
    /// How far the run is.
    pub progress: &'a Progress,
    /// How fast it is.
    pub probes_per_second: f64,
    /// What it looks for.
    pub goal: Goal,
    /// Whether nearly everything is near.
    pub near_everything: bool,
    /// How long ago the last run was, of which rows may be remembered.
    pub last_run: Option<Duration>,
}

/// The lines of one frame: none wider than the style's width, all together lower than the terminal.
pub fn render(
    headline: Headline<'_>,
    rows: &[Row],
    height: usize,
    style: Style<'_>,
) -> Vec<String> {
    let mut lines = vec![fitted(&headline.progress_line(), style)];
    let room = height.saturating_sub(OTHER_LINES).min(MOST_ROWS);
    // A line of its own: behind the figures it would be the first to be cut off.
    let expectation = headline.expectation().filter(|_| height > TOO_LOW_FOR_TWO);
    lines.extend(expectation.map(|words| fitted(&words, style)));
    if headline.near_everything && room > 0 {
        lines.push(fitted(NEAR_EVERYTHING, style));
    }
    let best = &rows[..rows.len().min(room)];
    if !best.is_empty() {
        lines.push(String::new());
        lines.extend(table::lines(best, style));
    }
    if best.iter().any(cells::is_remembered) {
        lines.push(fitted(&table::remembered(headline.last_run), style));
    }
    lines
}

/// A terminal this low has room for one line and the cursor's.
const TOO_LOW_FOR_TWO: usize = 2;

fn fitted(line: &str, style: Style<'_>) -> String {
    let width = style.width.unwrap_or(usize::MAX);
    text::cut(line, width)
}

impl Headline<'_> {
    fn progress_line(&self) -> String {
        let progress = self.progress;
        let number = |count: usize| thousands(count as u64);
        format!(
            "{} {}/{} probed · {} answered · {} playable · {}/s · {}",
            progress.activity,
            number(progress.probed),
            number(progress.listed),
            number(progress.answered),
            number(progress.playable),
            thousands(self.probes_per_second.round() as u64),
            seconds(progress.seconds),
        )
    }

    /// What the planner still expects: playable servers, and of those the ones that would be among
    /// the best; where the best alone are looked for, only those. Before it has found ten, nearly all
    /// would be: that many is no news, and no number. And before some have answered, it expects what
    /// it would of any list.
    fn expectation(&self) -> Option<String> {
        if self.progress.answered < SOME_ANSWERS {
            return None;
        }
        let missed = self.progress.expected_missed?;
        let better = self.progress.expected_better.unwrap_or(0.0).round() as u64;
        Some(match (self.goal.only_best, better) {
            (true, 0) => "hardly a better one to find".to_owned(),
            (true, some @ 1..=MANY) => format!("about {some} better to find"),
            (true, _) => "many better to find".to_owned(),
            (false, _) => {
                let missed = match missed.round() as u64 {
                    0 => "hardly any".to_owned(),
                    some => format!("about {}", thousands(some)),
                };
                format!("{missed} playable to find{}", among_the_best(better))
            }
        })
    }
}

fn among_the_best(better: u64) -> String {
    match better {
        0 => String::new(),
        some @ 1..=MANY => format!(" ({some} among the best)"),
        _ => " (many among the best)".to_owned(),
    }
}

/// More better servers than a player chooses from.
const MANY: u64 = 10;

/// The live view of one run. Keeps the best rows so far, and redraws at most eight times a second
/// of the run's own time, however often it is told of progress.
#[derive(Debug)]
pub(crate) struct Live {
    terminal: Terminal,
    /// In the order that decides which are kept, at most `room`.
    best: Vec<Row>,
    order: SortKey,
    room: usize,
    goal: Goal,
    /// Once it is said it stays, so that the rows below do not jump.
    near_everything: bool,
    last_run: Option<Duration>,
    rate: RecentRate,
    drawn_at: Option<f64>,
    screen: Screen,
}

impl Live {
    pub(crate) fn new(terminal: Terminal, selection: &Selection, goal: Goal) -> Self {
        Self {
            terminal,
            best: Vec::with_capacity(MOST_ROWS + 1),
            order: selection.keeping_order(),
            // Which of the nearest are drawn is known only when all of them are sorted.
            room: selection.best.unwrap_or(0).max(MOST_ROWS),
            goal,
            near_everything: false,
            last_run: None,
            rate: RecentRate::default(),
            drawn_at: None,
            screen: Screen::default(),
        }
    }

    /// Takes in a row, in the place of an earlier one of the same server.
    pub(crate) fn row(&mut self, row: &Row) {
        self.best.retain(|known| known.addr != row.addr);
        let before = |known: &Row| self.order.compare(known, row).is_lt();
        let place = self.best.partition_point(before);
        if place < self.room {
            self.best.insert(place, row.clone());
            self.best.truncate(self.room);
        }
    }

    /// Takes in a row of the last run, which was so long ago.
    pub(crate) fn remembered(&mut self, row: &Row, age: Duration) {
        self.last_run = Some(age);
        self.row(&cells::remembered(row));
    }

    /// Takes out what is only remembered of a server that does not answer any more.
    pub(crate) fn gone(&mut self, server: ServerAddr) {
        self.retain_remembered(&|remembered| remembered != server);
    }

    /// Takes out what is only remembered of servers that are not there any more.
    pub(crate) fn retain_remembered(&mut self, is_there: &dyn Fn(ServerAddr) -> bool) {
        self.best
            .retain(|row| !cells::is_remembered(row) || is_there(row.addr));
    }

    /// Draws a frame if it is time for one.
    pub(crate) fn progress(
        &mut self,
        out: &mut dyn Write,
        progress: &Progress,
        selection: &Selection,
    ) -> io::Result<()> {
        let is_early = |at: f64| progress.seconds - at < FRAME_SECONDS;
        if self.drawn_at.is_some_and(is_early) {
            return Ok(());
        }
        self.drawn_at = Some(progress.seconds);
        self.rate.record(progress.seconds, progress.probes_sent);
        let is_near = Nearness::from(progress).nearly_all().is_some();
        self.near_everything |= is_near && !self.goal.only_best;
        let size = self.terminal.size();
        let frame = self.frame(progress, size, selection);
        self.screen.draw(out, &frame, size.width)
    }

    fn frame(&self, progress: &Progress, size: Size, selection: &Selection) -> Vec<String> {
        let style = Style {
            width: Some(size.room()),
            colours: self.terminal.colours(),
            favourites: &selection.favourites,
        };
        let headline = Headline {
            progress,
            probes_per_second: self.rate.per_second(),
            goal: self.goal,
            near_everything: self.near_everything,
            last_run: self.last_run,
        };
        let picked = selection.pick(&self.best).into_iter();
        let best: Vec<Row> = picked.take(MOST_ROWS).cloned().collect();
        render(headline, &best, size.height, style)
    }

    /// Makes room for the final table.
    pub(crate) fn clear(&mut self, out: &mut dyn Write) -> io::Result<()> {
        self.screen.clear(out, self.terminal.size().width)
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;

    use proptest::prelude::*;

    use super::super::colour::{Colours, unpainted};
    use super::super::fixtures::{GOAL, any_row, four_rows, full_row, progress};
    use super::super::selection::Favourites;
    use super::*;

    fn frame(rows: &[Row], width: usize, height: usize) -> Vec<String> {
        let style = Style {
            width: Some(width),
            colours: Colours::Off,
            favourites: &Favourites::new(),
        };
        render(headline(&progress()), rows, height, style)
    }

    fn headline(progress: &Progress) -> Headline<'_> {
        Headline {
            progress,
            probes_per_second: 138.6,
            goal: GOAL,
            near_everything: false,
            last_run: None,
        }
    }

    fn live(width: usize, height: usize) -> Live {
        let size = Size { width, height };
        let terminal = Terminal::fixed(size, Colours::Off);
        Live::new(terminal, &Selection::default(), GOAL)
    }

    #[test]
    fn a_frame_is_progress_and_the_best_rows() {
        let expected = "
calibrating 1,204/27,640 probed · 312 answered · 41 playable · 139/s · 8.6 s

RTT ms  PLAYERS  MAP        CC  AS       ADDRESS              PW  NAME
  12.3    12/32  de_dust2   DE  AS24940  192.0.2.7:27015          Night Owls
 ~45.1  3+5b/16  cs_office  DE  AS24940  198.51.100.20:27016  pw  Friends, \"on…";
        let drawn = frame(&four_rows(), 79, 9).join("\n");
        assert_eq!(format!("\n{drawn}"), expected);
    }

    #[test]
    fn a_low_or_narrow_terminal_still_shows_progress() {
        assert_eq!(frame(&four_rows(), 20, 6), ["calibrating 1,204/2…"]);
        assert_eq!(frame(&[], 200, 50).len(), 1);
    }

    #[test]
    fn rows_stay_in_order_and_newer_ones_replace_their_elders() {
        let mut live = live(80, 24);
        for row in four_rows().iter().rev() {
            live.row(row);
        }
        assert_eq!(live.best, four_rows());
        live.row(&Row {
            rtt_ms: Some(50.0),
            ..full_row()
        });
        let pings: Vec<_> = live.best.iter().map(|row| row.rtt_ms).collect();
        assert_eq!(pings, [Some(45.1), Some(50.0), Some(187.0), None]);
    }

    #[test]
    fn before_some_have_answered_nothing_is_expected() {
        let shown = |answered| {
            let progress = Progress {
                answered,
                expected_missed: Some(16_221.0),
                ..progress()
            };
            let size = Size {
                width: 100,
                height: 24,
            };
            let frame = live(100, 24).frame(&progress, size, &Selection::default());
            frame.join("\n").contains("16,221 playable to find")
        };
        assert!(!shown(3) && shown(20));
    }

    #[test]
    fn what_is_remembered_is_marked_until_it_answers_or_is_gone() {
        let mut live = live(80, 24);
        for row in &four_rows()[..2] {
            live.remembered(row, Duration::from_secs(3 * 86_400));
        }
        let progress = Progress {
            expected_missed: Some(1_204.4),
            expected_better: Some(2.7),
            ..progress()
        };
        let size = Size {
            width: 200,
            height: 24,
        };
        let frame = live
            .frame(&progress, size, &Selection::default())
            .join("\n");
        for words in [
            "\nabout 1,204 playable to find (3 among the best)\n",
            "?12.3",
            "? from the last run, 3 days ago",
        ] {
            assert!(frame.contains(words), "no `{words}` in\n{frame}");
        }
        live.row(&four_rows()[0]);
        live.gone(four_rows()[1].addr);
        live.gone(four_rows()[0].addr);
        assert_eq!(live.best, four_rows()[..1], "an answer is not taken back");
    }

    #[test]
    fn who_looks_for_the_best_alone_hears_of_those() {
        let said = |expected_better| {
            let progress = Progress {
                expected_missed: Some(895.0),
                expected_better: Some(expected_better),
                ..progress()
            };
            let goal = Goal {
                only_best: true,
                ..GOAL
            };
            let headline = Headline {
                goal,
                ..headline(&progress)
            };
            headline.expectation().unwrap()
        };
        assert_eq!(said(2.7), "about 3 better to find");
        assert_eq!(said(300.0), "many better to find");
        assert_eq!(said(0.2), "hardly a better one to find");
    }

    #[test]
    fn nobody_is_told_of_zero_servers() {
        let progress = Progress {
            expected_missed: Some(0.4),
            expected_better: Some(0.1),
            ..progress()
        };
        let said = headline(&progress).expectation().unwrap();
        assert_eq!(said, "hardly any playable to find");
    }

    #[test]
    fn eighty_columns_have_room_for_what_is_expected_in_a_long_list() {
        let progress = Progress {
            listed: 1_027_640,
            probed: 1_011_204,
            answered: 1_000_312,
            playable: 100_041,
            seconds: 7_216.0,
            expected_missed: Some(151_012.0),
            expected_better: Some(2_000.0),
            ..progress()
        };
        let style = Style {
            width: Some(80),
            colours: Colours::Off,
            favourites: &Favourites::new(),
        };
        let drawn = |height| render(headline(&progress), &[], height, style);
        assert_eq!(
            drawn(24)[1..],
            ["about 151,012 playable to find (many among the best)"]
        );
        assert_eq!(drawn(2).len(), 1, "no room for it");
    }

    #[test]
    fn who_has_everything_nearby_need_not_wait_for_the_end_to_hear_so() {
        let size = Size {
            width: 200,
            height: 24,
        };
        let mut live = live(size.width, size.height);
        let near = Progress {
            probed: 400,
            answered: 380,
            playable: 375,
            expected_missed: Some(25_000.0),
            ..progress()
        };
        let mut says = |progress: &Progress| {
            live.progress(&mut Vec::new(), progress, &Selection::default())
                .unwrap();
            let frame = live.frame(progress, size, &Selection::default());
            frame.contains(&NEAR_EVERYTHING.to_owned())
        };
        assert!(!says(&progress()));
        let later = |seconds, progress: Progress| Progress {
            seconds,
            ..progress
        };
        assert!(says(&later(20.0, near)));
        assert!(says(&later(21.0, progress())), "it stays");
    }

    #[test]
    fn no_more_rows_are_drawn_than_were_asked_for() {
        let mut live = live(80, 24);
        for row in &four_rows() {
            live.row(row);
        }
        let size = Size {
            width: 80,
            height: 24,
        };
        let two = Selection {
            top: NonZeroUsize::new(2),
            ..Selection::default()
        };
        let lines = |selection| live.frame(&progress(), size, selection).len();
        assert_eq!(lines(&Selection::default()) - lines(&two), 2);
    }

    #[test]
    fn the_nearest_are_drawn_in_the_order_asked_for() {
        let nearest = Selection {
            best: Some(30),
            sort: Some(SortKey::Players),
            top: NonZeroUsize::new(2),
            ..Selection::default()
        };
        let size = Size {
            width: 80,
            height: 24,
        };
        let terminal = Terminal::fixed(size, Colours::Off);
        let mut live = Live::new(terminal, &nearest, GOAL);
        for place in 1..=40u8 {
            live.row(&Row {
                addr: format!("192.0.2.{place}:27015").parse().unwrap(),
                rtt_ms: Some(place.into()),
                players: Some(place.into()),
                ..full_row()
            });
        }
        let frame = live.frame(&progress(), size, &nearest);
        let drawn: Vec<&str> = frame[3..].iter().map(|line| line[..8].trim()).collect();
        assert_eq!(drawn, ["30.0", "29.0"], "{frame:?}");
    }

    #[test]
    fn only_the_best_are_kept() {
        let mut live = live(80, 24);
        for last in (1..=200u8).rev() {
            let addr = format!("192.0.2.{last}:27015").parse().unwrap();
            live.row(&Row {
                addr,
                rtt_ms: Some(last.into()),
                ..full_row()
            });
        }
        assert_eq!(live.best.len(), MOST_ROWS);
        assert_eq!(live.best[19].rtt_ms, Some(20.0));
    }

    #[test]
    fn frames_come_at_most_eight_times_a_second() {
        let mut live = live(80, 24);
        let mut frames = 0;
        for step in 0..1_000u32 {
            let mut out = Vec::new();
            let now = Progress {
                seconds: f64::from(step) / 500.0,
                ..progress()
            };
            live.progress(&mut out, &now, &Selection::default())
                .unwrap();
            frames += usize::from(!out.is_empty());
        }
        assert!(
            (14..=16).contains(&frames),
            "{frames} frames in two seconds"
        );
    }

    proptest! {
        #[test]
        fn no_frame_is_wider_or_higher_than_the_terminal(
            rows in proptest::collection::vec(any_row(), 0..30),
            width in 0usize..200,
            height in 2usize..60,
            near_everything: bool,
            expected_missed in proptest::option::of(0.0f64..2e6),
        ) {
            let style = Style {
                width: Some(width),
                colours: Colours::On,
                favourites: &Favourites::new(),
            };
            let progress = Progress {
                expected_missed,
                ..progress()
            };
            let headline = Headline {
                near_everything,
                ..headline(&progress)
            };
            let lines = render(headline, &rows, height, style);
            prop_assert!(lines.len() < height);
            for line in lines.iter().map(|line| unpainted(line)) {
                prop_assert!(text::columns(&line) <= width, "{line:?}");
                prop_assert!(!line.chars().any(char::is_control), "{line:?}");
            }
        }
    }
}
