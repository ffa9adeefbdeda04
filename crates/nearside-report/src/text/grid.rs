//! A table as lines: columns as wide as their cells, headings broken over lines, long words of text
//! wrapped. A table that is still too wide is cut into several, each with the first column.

use super::wrap::{columns, wrapped};
use crate::escape;
use crate::model::{Cell, Column, Table};
use crate::numbers;

/// Between two columns.
const GAP: &str = "  ";

/// A heading is wrapped, but not into columns narrower than this, which would read like a ladder.
const LEAST_HEADING: usize = 11;

/// Columns of text are narrowed to this before a table is cut.
const LEAST_TEXT: usize = 16;

/// The lines of heading, rule and rows.
pub(super) fn lines(table: &Table, width: usize) -> Vec<String> {
    let mut strips: Vec<Strip> = (0..table.columns().len())
        .map(|place| Strip::new(table, place))
        .collect();
    narrow(&mut strips, width);
    let mut lines = Vec::new();
    for panel in panels(&strips, width) {
        if !lines.is_empty() {
            lines.push(String::new());
        }
        panel_lines(&panel, table.rows().len(), &mut lines);
    }
    lines
}

/// One column: its texts and how wide it is set.
struct Strip {
    heading: Vec<String>,
    cells: Vec<String>,
    side: Side,
    width: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Left,
    Right,
}

impl Strip {
    fn new(table: &Table, place: usize) -> Self {
        let column = &table.columns()[place];
        let cells: Vec<String> = table.cells(place).map(shown).collect();
        let widest = cells.iter().map(|cell| columns(cell)).max().unwrap_or(0);
        let heading = heading(column, widest.max(LEAST_HEADING));
        let widest_heading = heading.iter().map(|line| columns(line)).max().unwrap_or(0);
        Self {
            width: widest.max(widest_heading),
            side: side(table, place),
            heading,
            cells,
        }
    }

    /// The lines of a cell, without padding.
    fn wrapped(&self, row: usize) -> Vec<String> {
        match self.side {
            Side::Left => wrapped(&self.cells[row], self.width),
            // Numbers have no place to break.
            Side::Right => vec![self.cells[row].clone()],
        }
    }

    fn padded(&self, line: &str) -> String {
        let space = " ".repeat(self.width.saturating_sub(columns(line)));
        match self.side {
            Side::Left => format!("{line}{space}"),
            Side::Right => format!("{space}{line}"),
        }
    }
}

/// Words, unit and evidence of a heading; the evidence has a line of its own.
fn heading(column: &Column, width: usize) -> Vec<String> {
    let unit = column.unit.as_deref().unwrap_or_default();
    let words = escape::clean(&format!("{} {unit}", column.heading));
    let mut lines = wrapped(&words, width);
    lines.extend(column.evidence.map(|evidence| evidence.words().to_owned()));
    lines
}

fn shown(cell: &Cell) -> String {
    let text = escape::clean(&numbers::shown(cell));
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn side(table: &Table, place: usize) -> Side {
    if table.is_text(place) {
        Side::Left
    } else {
        Side::Right
    }
}

/// Takes width from the widest column of text until the table fits or none is left to take from.
fn narrow(strips: &mut [Strip], width: usize) {
    while total(strips.iter()) > width {
        let widest = strips
            .iter_mut()
            .filter(|strip| strip.side == Side::Left && strip.width > LEAST_TEXT)
            .max_by_key(|strip| strip.width);
        let Some(strip) = widest else { return };
        strip.width -= 1;
    }
}

fn total<'a>(strips: impl Iterator<Item = &'a Strip>) -> usize {
    let widths = strips.map(|strip| strip.width + GAP.len());
    widths.sum::<usize>().saturating_sub(GAP.len())
}

/// The columns in groups that fit, the first column in each.
fn panels(strips: &[Strip], width: usize) -> Vec<Vec<&Strip>> {
    let Some((first, others)) = strips.split_first() else {
        return Vec::new();
    };
    let mut panels = vec![vec![first]];
    for strip in others {
        let panel = panels.last_mut().expect("there is always one");
        let fits = total(panel.iter().copied().chain([strip])) <= width;
        if fits || panel.len() == 1 {
            panel.push(strip);
        } else {
            panels.push(vec![first, strip]);
        }
    }
    panels
}

fn panel_lines(panel: &[&Strip], rows: usize, lines: &mut Vec<String>) {
    let headings: Vec<_> = panel.iter().map(|strip| strip.heading.clone()).collect();
    lines.extend(side_by_side(panel, &headings));
    let rules = panel.iter().map(|strip| "─".repeat(strip.width));
    lines.push(rules.collect::<Vec<_>>().join(GAP));
    for row in 0..rows {
        let cells: Vec<_> = panel.iter().map(|strip| strip.wrapped(row)).collect();
        lines.extend(side_by_side(panel, &cells));
    }
}

/// Texts of several lines next to each other, all beginning at the top.
fn side_by_side(panel: &[&Strip], texts: &[Vec<String>]) -> Vec<String> {
    let height = texts.iter().map(Vec::len).max().unwrap_or(0);
    let line = |at: usize| {
        let parts = panel.iter().zip(texts).map(|(strip, text)| {
            let line = text.get(at).map_or("", String::as_str);
            strip.padded(line)
        });
        parts.collect::<Vec<_>>().join(GAP)
    };
    (0..height).map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wide_table() -> Table {
        let mut table = Table::new("wide", "").column(Column::new("client"));
        for number in 0..12 {
            table = table.column(Column::new(format!("value{number}")));
        }
        let cells = (0..12).map(|number| Cell::number(1e6 + f64::from(number), 2));
        table.row(std::iter::once("AU".into()).chain(cells))
    }

    #[test]
    fn a_wide_table_is_cut_into_panels_that_fit_and_begin_with_the_first_column() {
        let lines = lines(&wide_table(), 60);
        assert!(lines.iter().all(|line| columns(line) <= 60), "{lines:#?}");
        let rows = lines.iter().filter(|line| line.starts_with("AU")).count();
        assert_eq!(rows, 4, "{lines:#?}");
        let text = lines.join("\n");
        assert!((0..12).all(|number| text.contains(&format!("1,000,0{number:02}.00"))));
    }

    #[test]
    fn long_text_is_wrapped_in_its_column() {
        let table = Table::new("claims", "")
            .column(Column::new("claim"))
            .column(Column::new("holds"))
            .row([
                "AS clusters need fewer probes than country clusters".into(),
                "no".into(),
            ]);
        let lines = lines(&table, 40);
        assert!(lines.iter().all(|line| columns(line) <= 40), "{lines:#?}");
        assert!(
            lines[2].starts_with("AS clusters need fewer probes"),
            "{lines:#?}"
        );
        assert!(lines[2].trim_end().ends_with("no"), "{lines:#?}");
        assert_eq!(lines[3].trim(), "than country clusters");
    }

    #[test]
    fn a_table_without_columns_or_rows_is_still_a_table() {
        assert!(lines(&Table::new("none", ""), 80).is_empty());
        let headed = Table::new("none", "").column(Column::new("a"));
        assert_eq!(lines(&headed, 80), ["a", "─"]);
    }
}
