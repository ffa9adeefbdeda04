//! The table of servers for people: aligned by display width, fitted to the terminal.

use std::time::Duration;

use nearside_discover::snapshot::Row;

use super::cells;
use super::colour::{Colours, Shade};
use super::numbers::ago;
use super::selection::Favourites;
use super::text::{self, Align};

/// How a table looks.
#[derive(Debug, Clone, Copy)]
pub struct Style<'a> {
    /// The columns there are; `None`: any number, nothing is cut.
    pub width: Option<usize>,
    /// Whether round-trip times are coloured.
    pub colours: Colours,
    /// The servers to mark with `*`.
    pub favourites: &'a Favourites,
}

/// A column: its heading, how it is set, and what its cells say.
struct Column {
    heading: &'static str,
    align: Align,
    presence: Presence,
    cell: fn(&Row) -> String,
}

enum Presence {
    Always,
    /// Left out where no row has a value, which leaves more room for names.
    WhenUsed(fn(&Row) -> bool),
}

/// In the order they are shown. Names come last: they are as long as they like, and a name that
/// runs from right to left cannot disturb a column after it.
const COLUMNS: [Column; 8] = [
    column("RTT ms", Align::Right, Presence::Always, cells::rtt),
    column("PLAYERS", Align::Right, Presence::Always, cells::players),
    column("MAP", Align::Left, Presence::Always, cells::map),
    column(
        "CC",
        Align::Left,
        Presence::WhenUsed(|row| row.country.is_some()),
        cells::country,
    ),
    column(
        "AS",
        Align::Left,
        Presence::WhenUsed(|row| row.asn.is_some()),
        cells::asn,
    ),
    column("ADDRESS", Align::Left, Presence::Always, cells::address),
    column(
        "PW",
        Align::Left,
        Presence::WhenUsed(|row| row.password == Some(true)),
        cells::password,
    ),
    column("NAME", Align::Left, Presence::Always, cells::name),
];

/// Places of the columns in [`COLUMNS`] that are treated apart.
const RTT: usize = 0;
const MAP: usize = 2;
const NAME: usize = 7;

/// Below these widths a name or a map says nothing any more; then the line is cut at its end.
const LEAST_NAME: usize = 8;
const LEAST_MAP: usize = 6;

/// What the `?` before a round-trip time means, where the last run was so long ago.
pub(super) fn remembered(age: Option<Duration>) -> String {
    let when = age.map_or(String::new(), |age| format!(", {}", ago(age)));
    format!("? from the last run{when}: not confirmed yet")
}

/// Columns between two cells.
const GAP: usize = 2;

const fn column(
    heading: &'static str,
    align: Align,
    presence: Presence,
    cell: fn(&Row) -> String,
) -> Column {
    Column {
        heading,
        align,
        presence,
        cell,
    }
}

/// A heading and one line for each row, none wider than the style's width.
pub fn lines(rows: &[Row], style: Style<'_>) -> Vec<String> {
    let grid = Grid::new(rows, style);
    let heading = grid.line(
        "",
        &COLUMNS.each_ref().map(|column| column.heading.to_owned()),
        None,
    );
    let body = rows.iter().zip(&grid.cells).map(|(row, cells)| {
        let mark = if style.favourites.contains(&row.addr) {
            "*"
        } else {
            ""
        };
        grid.line(mark, cells, Some(Shade::of_rtt(row.rtt_ms)))
    });
    std::iter::once(heading).chain(body).collect()
}

/// What the marks in the table of `rows` mean, one line for each mark it has.
pub fn notes(rows: &[Row], favourites: &Favourites) -> Vec<String> {
    let mut notes = Vec::new();
    if rows.iter().any(cells::is_doubtful) {
        notes.push("~ not exact: the reply cannot be attributed to one request".to_owned());
    }
    if rows.iter().any(cells::is_remembered) {
        notes.push(remembered(None));
    }
    if rows.iter().any(|row| favourites.contains(&row.addr)) {
        notes.push("* favourite".to_owned());
    }
    notes
}

/// The cells of a table and the widths of its columns.
struct Grid<'a> {
    style: Style<'a>,
    marked: bool,
    cells: Vec<[String; COLUMNS.len()]>,
    /// `None` for a column that is left out.
    widths: [Option<usize>; COLUMNS.len()],
}

impl<'a> Grid<'a> {
    fn new(rows: &[Row], style: Style<'a>) -> Self {
        let cells: Vec<_> = rows
            .iter()
            .map(|row| COLUMNS.each_ref().map(|column| (column.cell)(row)))
            .collect();
        let mut widths = [None; COLUMNS.len()];
        for (place, column) in COLUMNS.iter().enumerate() {
            widths[place] = column.is_present(rows).then(|| column.width(place, &cells));
        }
        let marked = rows.iter().any(|row| style.favourites.contains(&row.addr));
        let mut grid = Self {
            style,
            marked,
            cells,
            widths,
        };
        grid.fit();
        grid
    }

    /// Takes what is too much from the names, then from the maps.
    fn fit(&mut self) {
        let Some(room) = self.style.width else { return };
        for (place, least) in [(NAME, LEAST_NAME), (MAP, LEAST_MAP)] {
            let excess = self.total_width().saturating_sub(room);
            if let Some(width) = &mut self.widths[place] {
                *width = width.saturating_sub(excess).max(least.min(*width));
            }
        }
    }

    fn total_width(&self) -> usize {
        let present = self.widths.iter().flatten();
        let gaps = GAP * present.clone().count().saturating_sub(1);
        self.mark_width() + present.sum::<usize>() + gaps
    }

    fn mark_width(&self) -> usize {
        if self.marked { 2 } else { 0 }
    }

    /// One line; `shade` is the colour of its round-trip time.
    fn line(&self, mark: &str, cells: &[String], shade: Option<Shade>) -> String {
        let mut line = Line::new(self.style.width);
        line.push(mark, self.mark_width(), Align::Left, str::to_owned);
        for (place, column) in COLUMNS.iter().enumerate() {
            let Some(width) = self.widths[place] else {
                continue;
            };
            if place > RTT {
                line.push("", GAP, Align::Left, str::to_owned);
            }
            let shade = shade.filter(|_| place == RTT);
            let paint = |cell: &str| self.painted(cell, shade);
            line.push(&cells[place], width, column.align, paint);
        }
        line.text.trim_end().to_owned()
    }

    fn painted(&self, text: &str, shade: Option<Shade>) -> String {
        shade.map_or(text.to_owned(), |shade| {
            self.style.colours.paint(text, shade)
        })
    }
}

impl Column {
    fn is_present(&self, rows: &[Row]) -> bool {
        match self.presence {
            Presence::Always => true,
            Presence::WhenUsed(has_value) => rows.iter().any(has_value),
        }
    }

    fn width(&self, place: usize, cells: &[[String; COLUMNS.len()]]) -> usize {
        let widest = cells.iter().map(|row| text::columns(&row[place])).max();
        widest.unwrap_or(0).max(text::columns(self.heading))
    }
}

/// A line that never grows wider than the room it has.
struct Line {
    text: String,
    room: Option<usize>,
}

impl Line {
    const fn new(room: Option<usize>) -> Self {
        Self {
            text: String::new(),
            room,
        }
    }

    /// Appends a cell in `width` columns, or in those that are left. Paint comes after the cut, so
    /// that no code is ever cut in two.
    fn push(&mut self, cell: &str, width: usize, align: Align, paint: impl Fn(&str) -> String) {
        let width = self.room.map_or(width, |room| room.min(width));
        self.room = self.room.map(|room| room - width);
        let cell = text::pad(&text::cut(cell, width), width, align);
        self.text.push_str(&paint(&cell));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::colour::unpainted;
    use super::super::fixtures::{any_row, four_rows, full_row};
    use super::*;

    fn plain(favourites: &Favourites, width: Option<usize>) -> Style<'_> {
        Style {
            width,
            colours: Colours::Off,
            favourites,
        }
    }

    fn drawn(rows: &[Row], width: Option<usize>) -> String {
        lines(rows, plain(&Favourites::new(), width)).join("\n")
    }

    #[test]
    fn without_a_terminal_nothing_is_cut() {
        let favourites = Favourites::from([full_row().addr]);
        let drawn = lines(&four_rows(), plain(&favourites, None)).join("\n");
        let expected = "
  RTT ms  PLAYERS  MAP        CC  AS       ADDRESS              PW  NAME
*   12.3    12/32  de_dust2   DE  AS24940  192.0.2.7:27015          Night Owls
   ~45.1  3+5b/16  cs_office  DE  AS24940  198.51.100.20:27016  pw  Friends, \"only\"
   187.0     0/24  de_nuke    JP  -        203.0.113.5:27015        東京サーバー
    down        -  -          -   -        192.0.2.99:27015         -";
        assert_eq!(format!("\n{drawn}"), expected);
    }

    #[test]
    fn names_are_cut_first() {
        let expected = "
RTT ms  PLAYERS  MAP        CC  AS       ADDRESS              PW  NAME
  12.3    12/32  de_dust2   DE  AS24940  192.0.2.7:27015          Night Ow…
 ~45.1  3+5b/16  cs_office  DE  AS24940  198.51.100.20:27016  pw  Friends,…
 187.0     0/24  de_nuke    JP  -        203.0.113.5:27015        東京サー…
  down        -  -          -   -        192.0.2.99:27015         -";
        assert_eq!(format!("\n{}", drawn(&four_rows(), Some(75))), expected);
    }

    #[test]
    fn maps_are_cut_second_and_then_the_end_of_the_line() {
        let expected = "
RTT ms  PLAYERS  MAP     CC  AS       ADDRESS              PW  NAME
  12.3    12/32  de_du…  DE  AS24940  192.0.2.7:27015          Night…
 ~45.1  3+5b/16  cs_of…  DE  AS24940  198.51.100.20:27016  pw  Frien…
 187.0     0/24  de_nu…  JP  -        203.0.113.5:27015        東京…
  down        -  -       -   -        192.0.2.99:27015         -";
        assert_eq!(format!("\n{}", drawn(&four_rows(), Some(69))), expected);
    }

    #[test]
    fn columns_nobody_fills_are_left_out() {
        let row = Row {
            asn: None,
            country: None,
            ..full_row()
        };
        let expected = "
RTT ms  PLAYERS  MAP       ADDRESS          NAME
  12.3    12/32  de_dust2  192.0.2.7:27015  Night Owls";
        assert_eq!(format!("\n{}", drawn(&[row], Some(80))), expected);
    }

    #[test]
    fn only_the_ping_is_coloured() {
        let favourites = Favourites::new();
        let style = Style {
            colours: Colours::On,
            ..plain(&favourites, Some(79))
        };
        let coloured = lines(&four_rows(), style);
        assert!(
            coloured[1].starts_with("\x1b[32m  12.3\x1b[0m    12/32"),
            "{:?}",
            coloured[1]
        );
        assert!(
            coloured[4].starts_with("\x1b[2m  down\x1b[0m"),
            "{:?}",
            coloured[4]
        );
        let stripped: Vec<String> = coloured.iter().map(|line| unpainted(line)).collect();
        assert_eq!(stripped, lines(&four_rows(), plain(&favourites, Some(79))));
    }

    #[test]
    fn marks_are_explained_where_they_occur() {
        let favourites = Favourites::from([full_row().addr]);
        assert_eq!(notes(&four_rows(), &favourites).len(), 2);
        assert_eq!(
            notes(&[full_row()], &Favourites::new()),
            Vec::<String>::new()
        );
    }

    proptest! {
        #[test]
        fn no_row_disturbs_the_terminal(
            rows in proptest::collection::vec(any_row(), 0..6),
            width in proptest::option::of(0usize..150),
            coloured: bool,
        ) {
            let favourites: Favourites = rows.iter().take(1).map(|row| row.addr).collect();
            let colours = if coloured { Colours::On } else { Colours::Off };
            let lines = lines(&rows, Style { width, colours, favourites: &favourites });
            prop_assert_eq!(lines.len(), rows.len() + 1);
            for line in lines {
                let line = if coloured { unpainted(&line) } else { line };
                prop_assert!(!line.chars().any(char::is_control), "{line:?}");
                prop_assert!(!line.contains(['\u{202E}', '\u{2066}', '\u{2028}']), "{line:?}");
                prop_assert!(width.is_none_or(|most| text::columns(&line) <= most), "{line:?}");
            }
        }
    }
}
