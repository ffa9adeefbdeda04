//! On a terminal: a live view that fills near first, then the final table and the summary, without
//! garbage and without wrapped lines. The terminal is tmux, which shows what a user would see.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::time::{Duration, Instant};

use common::foreign::program;
use common::process::Finished;
use common::{Folder, LONG, nearside, one_lab_at_a_time};

/// A terminal of a given size that runs one command, on a tmux server of its own.
struct Terminal {
    socket: String,
}

/// tmux, unless the test may do without.
fn tmux(test: &str, socket: &str, arguments: &[&str]) -> Option<Finished> {
    let mut program = program(test, "tmux", "tmux")?;
    program.0.args(["-L", socket, "-f", "/dev/null"]);
    program.0.args(arguments).env("LC_ALL", "C.UTF-8");
    Some(program.finish(b"", Duration::from_secs(10)))
}

impl Terminal {
    /// Runs `nearside` below a prompt, with these arguments, and then says `exit CODE`.
    fn run(test: &str, columns: u16, lines: u16, arguments: &str) -> Option<Self> {
        let socket = format!("nearside-{}-{columns}x{lines}", std::process::id());
        let nearside = env!("CARGO_BIN_EXE_nearside");
        let command = format!("echo '$'; '{nearside}' {arguments}; echo \"exit $?\"; sleep 60");
        let (columns, lines) = (columns.to_string(), lines.to_string());
        let session = ["new-session", "-d", "-x", &columns, "-y", &lines, &command];
        let terminal = Self { socket };
        tmux(test, &terminal.socket, &session)?.expect_code(0);
        Some(terminal)
    }

    /// What stands on the screen and, above it, what has scrolled away.
    fn text(&self) -> String {
        let capture = ["capture-pane", "-p", "-S", "-1000"];
        let finished = tmux("", &self.socket, &capture).expect("it ran before");
        finished.stdout
    }

    /// Waits until the text satisfies a condition, and returns it.
    fn wait_for(&self, what: &str, is_there: impl Fn(&str) -> bool) -> String {
        let deadline = Instant::now() + LONG;
        loop {
            let text = self.text();
            if is_there(&text) {
                return text;
            }
            assert!(Instant::now() < deadline, "never saw {what}:\n{text}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = tmux("", &self.socket, &["kill-server"]);
    }
}

const BROWSE: &str =
    "browse --lab JP --lab-servers 400 --pace 100 --timeout 500 --seed 3 --max-time 8";

/// RTTs of the table's rows, in order.
fn pings(text: &str) -> Vec<f64> {
    let table = text.lines().skip_while(|line| !line.starts_with("RTT ms"));
    table
        .skip(1)
        .map_while(|line| {
            line.split_whitespace()
                .next()?
                .trim_start_matches('~')
                .parse()
                .ok()
        })
        .collect()
}

fn is_clean(text: &str) -> bool {
    !text.chars().any(|c| c.is_control() && c != '\n')
        && !text.contains("[K")
        && !text.contains("[?")
}

#[test]
fn the_live_view_fills_near_first_and_gives_way_to_table_and_summary() {
    let test = "the_live_view_fills_near_first_and_gives_way_to_table_and_summary";
    let _alone = one_lab_at_a_time();
    let Some(terminal) = Terminal::run(test, 110, 30, BROWSE) else {
        return;
    };
    let live = terminal.wait_for("rows of the live view", |text| pings(text).len() >= 5);
    assert!(live.contains(" probed · "), "progress:\n{live}");
    assert!(live.contains("/s · "), "the rate:\n{live}");
    assert!(pings(&live).is_sorted(), "near first:\n{live}");
    assert!(is_clean(&live), "{live:?}");
    let last = terminal.wait_for("the end", |text| text.contains("\nexit "));
    assert!(last.contains("\nexit 0\n"), "{last}");
    assert!(
        !last.contains(" probed · "),
        "the live view is gone:\n{last}"
    );
    assert_eq!(last.matches("RTT ms").count(), 1, "one table:\n{last}");
    assert!(pings(&last).len() >= 20, "{last}");
    assert!(pings(&last).is_sorted(), "near first:\n{last}");
    assert!(
        last.contains("\nFound ") && last.contains("\nCost "),
        "{last}"
    );
    assert!(last.contains("\nseed 3\n"), "{last}");
    assert!(is_clean(&last), "{last:?}");
}

/// A wrapped row would put its end at the start of the next line, where a ping belongs.
#[test]
fn a_narrow_terminal_wraps_no_row() {
    let test = "a_narrow_terminal_wraps_no_row";
    let _alone = one_lab_at_a_time();
    let arguments = format!("{BROWSE} --top 30");
    let Some(terminal) = Terminal::run(test, 40, 24, &arguments) else {
        return;
    };
    let live = terminal.wait_for("rows, and what is expected", |text| {
        pings(text).len() >= 5 && text.contains("playable to find")
    });
    let rows = live.lines().filter(|line| !line.trim().is_empty()).count();
    assert_eq!(
        rows,
        4 + pings(&live).len(),
        "prompt, progress, what is expected, heading, rows:\n{live}"
    );
    let last = terminal.wait_for("the end", |text| text.contains("\nexit "));
    assert_eq!(pings(&last).len(), 30, "{last}");
    assert_eq!(last.matches("RTT ms").count(), 1, "one table:\n{last}");
    assert!(is_clean(&last), "{last:?}");
}

/// Rows that an earlier run has found and this one has not confirmed.
fn remembered(text: &str) -> usize {
    let ping = |line: &str| line.split_whitespace().next().map(str::to_owned);
    let is_remembered = |ping: &String| ping.starts_with('?') && ping.len() > 1;
    text.lines().filter_map(ping).filter(is_remembered).count()
}

#[test]
fn the_best_of_the_last_run_stand_there_at_once_until_they_are_confirmed() {
    let test = "the_best_of_the_last_run_stand_there_at_once_until_they_are_confirmed";
    let _alone = one_lab_at_a_time();
    let folder = Folder::new();
    let flags = format!("{BROWSE} --cache-dir {}", folder.path().display());
    let first: Vec<&str> = flags.split(' ').collect();
    nearside(&first).expect_code(0);
    // So slowly that the thirty of last time are asked for three seconds.
    let slowly = flags.replace("--pace 100", "--pace 10");
    let Some(terminal) = Terminal::run(test, 105, 30, &slowly) else {
        return;
    };
    let warm = terminal.wait_for("rows of the last run", |text| remembered(text) >= 10);
    assert!(warm.contains("? from the last run, just now"), "{warm}");
    assert!(is_clean(&warm), "{warm:?}");
    terminal.wait_for("a row that is confirmed", |text| {
        remembered(text) >= 1
            && text
                .lines()
                .any(|line| line.trim_start().starts_with(|c: char| c.is_ascii_digit()))
    });
    let last = terminal.wait_for("the end", |text| text.contains("\nexit "));
    assert_eq!(remembered(&last), 0, "{last}");
    assert!(pings(&last).len() >= 10, "{last}");
    assert!(
        last.contains("\nbegan with what the last run found, just now"),
        "{last}"
    );
}

#[test]
fn ctrl_c_leaves_table_and_summary_on_the_screen() {
    let test = "ctrl_c_leaves_table_and_summary_on_the_screen";
    let _alone = one_lab_at_a_time();
    let Some(terminal) = Terminal::run(test, 100, 24, BROWSE) else {
        return;
    };
    terminal.wait_for("rows of the live view", |text| pings(text).len() >= 5);
    tmux(test, &terminal.socket, &["send-keys", "C-c"]);
    let last = terminal.wait_for("the summary", |text| text.contains("\nseed 3\n"));
    assert!(pings(&last).len() >= 5, "{last}");
    assert!(last.contains("interrupted"), "{last}");
    assert!(is_clean(&last), "{last:?}");
}
