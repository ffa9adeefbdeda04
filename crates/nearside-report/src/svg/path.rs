//! Path data with whole numbers and relative moves: 27,000 points in less than 200 kB.

use std::fmt::Write as _;

/// A place on the drawing grid, which has two steps for each pixel of the figure.
pub(super) type Place = (i32, i32);

/// Builds the `d` of a path, as the path grammar of SVG 1.1 (section 8.3) has it.
#[derive(Debug, Default)]
pub(super) struct Path {
    data: String,
    at: Place,
    /// The command that further numbers would continue.
    command: Option<char>,
}

impl Path {
    /// A dot: a line of no length, which round caps make visible.
    pub(super) fn dot(&mut self, place: Place) {
        self.move_to(place);
        self.one('h', 0);
    }

    pub(super) fn move_to(&mut self, place: Place) {
        let (x, y) = (place.0 - self.at.0, place.1 - self.at.1);
        self.data.push('m');
        self.number(x, true);
        self.number(y, false);
        // Numbers after a move are lines, which would be a trap here.
        self.command = None;
        self.at = place;
    }

    pub(super) fn line_to(&mut self, place: Place) {
        match (place.0 - self.at.0, place.1 - self.at.1) {
            (0, 0) => {}
            (x, 0) => self.one('h', x),
            (0, y) => self.one('v', y),
            (x, y) => {
                let is_new = self.switch('l');
                self.number(x, is_new);
                self.number(y, false);
            }
        }
        self.at = place;
    }

    pub(super) fn close(&mut self) {
        self.data.push('z');
        self.command = None;
    }

    /// The path data; empty if nothing was drawn.
    pub(super) fn finish(self) -> String {
        self.data
    }

    fn one(&mut self, command: char, distance: i32) {
        let is_new = self.switch(command);
        self.number(distance, is_new);
    }

    fn switch(&mut self, command: char) -> bool {
        let is_new = self.command != Some(command);
        if is_new {
            self.data.push(command);
            self.command = Some(command);
        }
        is_new
    }

    /// A minus sign parts numbers as well as a space does.
    fn number(&mut self, number: i32, first: bool) {
        let space = if first || number < 0 { "" } else { " " };
        write!(self.data, "{space}{number}").expect("strings take all");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moves_are_relative_and_numbers_packed() {
        let mut path = Path::default();
        path.dot((10, 20));
        path.dot((10, 15));
        assert_eq!(path.finish(), "m10 20h0m0-5h0");
    }

    #[test]
    fn straight_lines_have_one_number_and_repeated_commands_one_letter() {
        let mut path = Path::default();
        path.move_to((0, 0));
        for place in [(3, 0), (5, 0), (5, -2), (7, -3), (6, 0), (6, 0)] {
            path.line_to(place);
        }
        path.close();
        assert_eq!(path.finish(), "m0 0h3 2v-2l2-1-1 3z");
    }
}
