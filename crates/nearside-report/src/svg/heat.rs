//! A grid of coloured cells with their numbers, and the scale of colours above it.

use super::Drawing;
use super::layout::{EDGE, LINE, RIGHT, WIDTH, cut, px, text_width};
use super::palette::{self, GRID, INK, SOFT};
use crate::markup::Element;
use crate::model::Heat;
use crate::numbers;

/// Names of rows get at most so many pixels.
const WIDEST_NAME: f64 = 220.0;
const TALLEST_CELL: f64 = 32.0;
const LOWEST_CELL: f64 = 12.0;
/// Cells of a few columns are not drawn across the whole figure.
const WIDEST_CELL: f64 = 110.0;
/// What the grid should not be higher than, if it has many rows.
const HIGHEST_GRID: f64 = 520.0;
/// Between the grid and the names around it.
const GAP: f64 = 8.0;
/// The scale of colours: its length and how many steps it is made of.
const SCALE: f64 = 140.0;
const STEPS: u32 = 28;

pub(super) fn draw(heat: &Heat) -> Drawing {
    let frame = Frame::new(heat);
    let height = frame.bottom() + frame.foot + LINE + 2.0 * EDGE;
    let contents = [
        frame.scale(),
        frame.names_of_axes(),
        frame.names_of_rows(),
        frame.names_of_columns(),
        frame.cells(),
    ];
    Drawing {
        height,
        contents: contents.into(),
    }
}

/// Where things are.
struct Frame<'a> {
    heat: &'a Heat,
    left: f64,
    top: f64,
    cell: (f64, f64),
    /// Room for the names of the columns.
    foot: f64,
    extent: Option<(f64, f64)>,
}

impl<'a> Frame<'a> {
    fn new(heat: &'a Heat) -> Self {
        let left = EDGE + widest(&heat.rows).min(WIDEST_NAME) + GAP;
        let columns = heat.columns.len().max(1) as f64;
        let rows = heat.rows.len().max(1) as f64;
        let width = ((WIDTH - left - RIGHT) / columns).min(WIDEST_CELL);
        let height = (HIGHEST_GRID / rows).clamp(LOWEST_CELL, TALLEST_CELL);
        let names = widest(&heat.columns);
        let tilted = names > width - 4.0;
        Self {
            heat,
            left,
            top: EDGE + 2.0 * LINE + GAP,
            cell: (width, height),
            foot: if tilted {
                names.min(WIDEST_NAME) * 0.64 + LINE
            } else {
                LINE
            },
            extent: extent(heat),
        }
    }

    fn bottom(&self) -> f64 {
        self.top + self.heat.rows.len() as f64 * self.cell.1
    }

    fn middle_of_column(&self, column: usize) -> f64 {
        self.left + (column as f64 + 0.5) * self.cell.0
    }

    fn middle_of_row(&self, row: usize) -> f64 {
        self.top + (row as f64 + 0.5) * self.cell.1
    }

    /// `None` for a cell without a number.
    fn value(&self, row: usize, column: usize) -> Option<f64> {
        let value = self.heat.values.get(row)?.get(column)?;
        value.is_finite().then_some(*value)
    }

    fn share(&self, value: f64) -> f64 {
        match self.extent {
            // Halves, since the difference of two huge ends may be infinite.
            Some((low, high)) if low < high => (value / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0),
            _ => 0.5,
        }
    }

    fn shown(&self, value: f64) -> String {
        numbers::fixed(value, self.heat.decimals)
    }

    fn cells(&self) -> Element {
        let mut group = Element::new("g").with("text-anchor", "middle");
        for row in 0..self.heat.rows.len() {
            for column in 0..self.heat.columns.len() {
                match self.value(row, column) {
                    Some(value) => group.push(self.cell(row, column, value)),
                    None => group.push(self.empty_cell(row, column)),
                }
            }
        }
        group
    }

    fn cell(&self, row: usize, column: usize, value: f64) -> Element {
        let colour = palette::ramp(self.share(value));
        let shown = self.shown(value);
        let fits = text_width(&shown) < self.cell.0 - 4.0 && self.cell.1 >= LINE - 3.0;
        let number = Element::of_text("text", &shown)
            .with("x", px(self.middle_of_column(column)))
            .with("y", px(self.middle_of_row(row)))
            .with("dy", "0.35em")
            .with("fill", palette::text_on(colour));
        let (x, y) = (&self.heat.columns[column], &self.heat.rows[row]);
        let words = format!("{} {y}, {} {x}: {shown}", self.heat.y, self.heat.x);
        Element::new("g")
            .child(Element::of_text("title", words))
            .child(
                self.rectangle(row, column)
                    .class("mark")
                    .with("fill", palette::hex(colour)),
            )
            .children(fits.then_some(number))
    }

    fn empty_cell(&self, row: usize, column: usize) -> Element {
        let dash = Element::of_text("text", numbers::MISSING)
            .class("soft")
            .with("x", px(self.middle_of_column(column)))
            .with("y", px(self.middle_of_row(row)))
            .with("dy", "0.35em")
            .with("fill", SOFT.light);
        let frame = self
            .rectangle(row, column)
            .class("grid")
            .with("fill", "none");
        let frame = frame.with("stroke", GRID.light);
        Element::new("g").child(frame).child(dash)
    }

    fn rectangle(&self, row: usize, column: usize) -> Element {
        let (width, height) = self.cell;
        Element::new("rect")
            .with("x", px(self.left + column as f64 * width + 0.5))
            .with("y", px(self.top + row as f64 * height + 0.5))
            .with("width", px(width - 1.0))
            .with("height", px(height - 1.0))
    }

    fn names_of_rows(&self) -> Element {
        let names = self.heat.rows.iter().enumerate().map(|(row, name)| {
            Element::of_text("text", cut(name, WIDEST_NAME))
                .with("x", px(self.left - GAP))
                .with("y", px(self.middle_of_row(row)))
                .with("dy", "0.35em")
        });
        soft("end").children(names)
    }

    /// Level where they fit, else tilted.
    fn names_of_columns(&self) -> Element {
        let y = self.bottom() + LINE - 2.0;
        let is_level = self.foot <= LINE;
        let names = self.heat.columns.iter().enumerate().map(|(column, name)| {
            let x = px(self.middle_of_column(column));
            let label = Element::of_text("text", cut(name, WIDEST_NAME));
            let label = label.with("x", &x).with("y", px(y));
            if is_level {
                label
            } else {
                label.with("transform", format_args!("rotate(-38 {x} {})", px(y)))
            }
        });
        soft(if is_level { "middle" } else { "end" }).children(names)
    }

    fn names_of_axes(&self) -> Element {
        let middle = self.left + self.heat.columns.len() as f64 * self.cell.0 / 2.0;
        let x = Element::of_text("text", cut(&self.heat.x, WIDTH - self.left))
            .with("x", px(middle))
            .with("y", px(self.bottom() + self.foot + LINE))
            .with("text-anchor", "middle");
        let y = Element::of_text("text", cut(&self.heat.y, WIDTH - 2.0 * EDGE))
            .with("x", px(EDGE))
            .with("y", px(self.top - GAP));
        Element::new("g").class("ink").child(x).child(y)
    }

    /// What the colours mean, from the lowest value to the highest.
    fn scale(&self) -> Element {
        let meaning = cut(&self.heat.value, WIDTH - SCALE - 200.0);
        let Some((low, high)) = self.extent else {
            return label(&meaning, EDGE);
        };
        let (low, high) = (self.shown(low), self.shown(high));
        let from = EDGE + text_width(&meaning) + 2.0 * GAP;
        let begin = from + text_width(&low) + GAP;
        let steps = (0..STEPS).map(|step| {
            let share = f64::from(step) / f64::from(STEPS - 1);
            let width = SCALE / f64::from(STEPS);
            Element::new("rect")
                .with("x", px(begin + f64::from(step) * width))
                .with("y", px(EDGE + 2.0))
                .with("width", px(width + 0.5))
                .with("height", px(LINE - 5.0))
                .with("fill", palette::hex(palette::ramp(share)))
        });
        Element::new("g")
            .child(label(&meaning, EDGE))
            .child(label(&low, from))
            .children(steps)
            .child(label(&high, begin + SCALE + GAP))
    }
}

fn label(text: &str, x: f64) -> Element {
    Element::of_text("text", text)
        .class("ink")
        .with("x", px(x))
        .with("y", px(EDGE + LINE / 2.0))
        .with("dy", "0.35em")
        .with("fill", INK.light)
}

fn soft(anchor: &'static str) -> Element {
    Element::new("g")
        .class("soft")
        .with("fill", SOFT.light)
        .with("text-anchor", anchor)
}

fn widest(names: &[String]) -> f64 {
    names
        .iter()
        .map(|name| text_width(name))
        .fold(0.0, f64::max)
}

/// The lowest and highest number, if there is any.
pub(super) fn extent(heat: &Heat) -> Option<(f64, f64)> {
    let cells = heat.values.iter().take(heat.rows.len());
    let values = cells.flat_map(|row| row.iter().take(heat.columns.len()).copied());
    values
        .filter(|value| value.is_finite())
        .fold(None, |extent, value| match extent {
            None => Some((value, value)),
            Some((low, high)) => Some((value.min(low), value.max(high))),
        })
}
