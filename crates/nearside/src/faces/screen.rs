use std::io::{self, Write};

use super::colour::unpainted;
use super::text;

/// Lines that are drawn again and again at the same place, with cursor movements only (ECMA-48
/// CUU, EL and ED): what stood above them stays, and so does the terminal's scrollback.
#[derive(Debug, Clone, Default)]
pub(crate) struct Screen {
    /// Columns of the lines drawn last; the cursor stands below them.
    drawn: Vec<usize>,
}

impl Screen {
    /// Replaces what was drawn by `lines`, on a terminal that is `width` columns wide now. One
    /// write for the whole frame, so that none is ever seen half drawn.
    pub(crate) fn draw(
        &mut self,
        out: &mut dyn Write,
        lines: &[String],
        width: usize,
    ) -> io::Result<()> {
        let mut frame = self.rewind(width);
        for line in lines {
            frame.push_str("\x1b[2K");
            frame.push_str(line);
            frame.push('\n');
        }
        frame.push_str("\x1b[J");
        self.drawn = lines
            .iter()
            .map(|line| text::columns(&unpainted(line)))
            .collect();
        out.write_all(frame.as_bytes())?;
        out.flush()
    }

    /// Removes what was drawn; the cursor stands where it began.
    pub(crate) fn clear(&mut self, out: &mut dyn Write, width: usize) -> io::Result<()> {
        if self.drawn.is_empty() {
            return Ok(());
        }
        self.draw(out, &[], width)
    }

    /// Moves to the first line drawn. A terminal that became narrower has wrapped the lines that no
    /// longer fit, which then take several rows each.
    fn rewind(&self, width: usize) -> String {
        let rows_of = |columns: &usize| columns.div_ceil(width.max(1)).max(1);
        match self.drawn.iter().map(rows_of).sum::<usize>() {
            0 => String::new(),
            rows => format!("\r\x1b[{rows}A"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draw(screen: &mut Screen, lines: &[&str], width: usize) -> String {
        let lines: Vec<String> = lines.iter().map(|line| String::from(*line)).collect();
        let mut out = Vec::new();
        screen.draw(&mut out, &lines, width).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_frame_is_drawn_over_the_one_before() {
        let mut screen = Screen::default();
        assert_eq!(
            draw(&mut screen, &["a", "b"], 80),
            "\x1b[2Ka\n\x1b[2Kb\n\x1b[J"
        );
        assert_eq!(draw(&mut screen, &["c"], 80), "\r\x1b[2A\x1b[2Kc\n\x1b[J");
        let mut out = Vec::new();
        screen.clear(&mut out, 80).unwrap();
        assert_eq!(out, b"\r\x1b[1A\x1b[J");
        screen.clear(&mut out, 80).unwrap();
        assert_eq!(out, b"\r\x1b[1A\x1b[J", "nothing is left to clear");
    }

    #[test]
    fn lines_that_wrapped_on_a_narrower_terminal_are_gone_over_too() {
        let mut screen = Screen::default();
        draw(&mut screen, &["0123456789", "", "\x1b[32m01234\x1b[0m"], 80);
        let frame = draw(&mut screen, &["x"], 4);
        assert!(frame.starts_with("\r\x1b[6A"), "3 + 1 + 2 rows: {frame:?}");
    }
}
