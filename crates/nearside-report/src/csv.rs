//! Tables and the data of figures for spreadsheets and scripts, by RFC 4180 with plain line ends.
//! Numbers have their full precision; what is missing or no finite number is empty.

use crate::escape;
use crate::model::{Cell, Chart, Figure, Heat, Plot, Point, Shape, Table};

/// The rows of a table below the names of its columns. A column that has a spread becomes three:
/// `name` with the mean, `name_deviation` and `name_worst`.
pub fn table(table: &Table) -> String {
    let mut sheet = Sheet::new();
    let widths: Vec<Width> = (0..table.columns().len())
        .map(|place| Width::of(table, place))
        .collect();
    let columns = table.columns().iter().zip(&widths);
    sheet.row(columns.flat_map(|(column, width)| width.names(&column.name)));
    for row in table.rows() {
        let cells = row.iter().zip(&widths);
        sheet.row(cells.flat_map(|(cell, width)| width.fields(cell)));
    }
    sheet.finish()
}

/// What a figure draws. Of a chart, one line for each point: `layer,mark,x,y,y_high`, where `y_high`
/// is the upper end of a band and `y` its lower end. Of a heat map: `row,column,value`.
pub fn figure(figure: &Figure) -> String {
    match &figure.plot {
        Plot::Chart(plot) => chart(plot),
        Plot::Heat(plot) => heat(plot),
    }
}

fn chart(chart: &Chart) -> String {
    let mut sheet = Sheet::new();
    sheet.row(["layer", "mark", "x", "y", "y_high"].map(str::to_owned));
    for layer in &chart.layers {
        let label = text(&layer.label);
        for (mark, [x, y, high]) in marks(&layer.shape) {
            sheet.row([label.clone(), mark.to_owned(), x, y, high]);
        }
    }
    sheet.finish()
}

/// The fields of each mark of a shape; the coordinate that a straight line does not have is empty.
fn marks(shape: &Shape) -> Vec<(&'static str, [String; 3])> {
    let points = |mark, points: &[Point]| {
        let fields = |point: &Point| (mark, [number(point.x), number(point.y), String::new()]);
        points.iter().map(fields).collect()
    };
    match shape {
        Shape::Points(all) => points("point", all),
        Shape::Line(all) => points("line", all),
        Shape::Steps(all) => points("step", all),
        Shape::Band(spans) => {
            let fields = spans.iter().map(|span| [span.x, span.low, span.high]);
            fields.map(|all| ("band", all.map(number))).collect()
        }
        Shape::Vertical { at } => {
            vec![("vertical", [number(*at), String::new(), String::new()])]
        }
        Shape::Horizontal { at } => {
            vec![("horizontal", [String::new(), number(*at), String::new()])]
        }
    }
}

fn heat(heat: &Heat) -> String {
    let mut sheet = Sheet::new();
    sheet.row(["row", "column", "value"].map(str::to_owned));
    for (row, values) in heat.rows.iter().zip(&heat.values) {
        for (column, value) in heat.columns.iter().zip(values) {
            sheet.row([text(row), text(column), number(*value)]);
        }
    }
    sheet.finish()
}

/// How many fields a column of a table takes.
#[derive(Debug, Clone, Copy)]
enum Width {
    One,
    Three,
}

impl Width {
    fn of(table: &Table, place: usize) -> Self {
        let has_spread = table
            .cells(place)
            .any(|cell| matches!(cell, Cell::Spread(_)));
        if has_spread { Self::Three } else { Self::One }
    }

    fn names(self, name: &str) -> Vec<String> {
        match self {
            Self::One => vec![text(name)],
            Self::Three => ["", "_deviation", "_worst"]
                .map(|ending| text(&format!("{name}{ending}")))
                .to_vec(),
        }
    }

    fn fields(self, cell: &Cell) -> Vec<String> {
        let [value, deviation, worst] = match cell {
            Cell::Text(words) => [text(words), String::new(), String::new()],
            Cell::Count(count) => [count.to_string(), String::new(), String::new()],
            Cell::Number { value, .. } => [number(*value), String::new(), String::new()],
            Cell::Spread(spread) => [spread.mean, spread.deviation, spread.worst].map(number),
            Cell::Missing => [const { String::new() }; 3],
        };
        match self {
            Self::One => vec![value],
            Self::Three => vec![value, deviation, worst],
        }
    }
}

fn number(value: f64) -> String {
    if value.is_finite() {
        // `+ 0.0` turns −0 into 0.
        (value + 0.0).to_string()
    } else {
        String::new()
    }
}

/// Text that a spreadsheet takes as text: one that begins like a formula gets an apostrophe.
fn text(text: &str) -> String {
    let text = escape::clean(text);
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\n', '＝', '＋', '－', '＠']);
    if is_formula { format!("'{text}") } else { text }
}

struct Sheet(::csv::Writer<Vec<u8>>);

impl Sheet {
    fn new() -> Self {
        Self(::csv::Writer::from_writer(Vec::new()))
    }

    fn row(&mut self, fields: impl IntoIterator<Item = String>) {
        self.0
            .write_record(fields)
            .expect("rows of one sheet have equal length, and memory takes all");
    }

    fn finish(self) -> String {
        let bytes = self.0.into_inner().expect("memory takes all");
        String::from_utf8(bytes).expect("only strings were written")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Axis, Better, Column, Layer, Span};

    #[test]
    fn a_spread_takes_three_fields_in_every_row() {
        let sheet = table(
            &Table::new("t", "")
                .column(Column::new("planner"))
                .column(Column::new("probes"))
                .row(["as".into(), Cell::spread(&[3.0, 5.0], Better::Low, 0)])
                .row(["oracle".into(), 2_u64.into()])
                .row(["none, \"at all\"".into(), Cell::Missing]),
        );
        let expected = "planner,probes,probes_deviation,probes_worst\n\
                        as,4,1.4142135623730951,5\n\
                        oracle,2,,\n\
                        \"none, \"\"at all\"\"\",,,\n";
        assert_eq!(sheet, expected);
    }

    #[test]
    fn text_that_looks_like_a_formula_stays_text_and_numbers_stay_numbers() {
        let sheet = table(
            &Table::new("t", "")
                .column(Column::new("name"))
                .column(Column::new("change"))
                .row(["=HYPERLINK(\"x\")".into(), Cell::number(-0.5, 1)])
                .row(["@sum".into(), Cell::number(f64::NAN, 1)]),
        );
        assert_eq!(
            sheet,
            "name,change\n\"'=HYPERLINK(\"\"x\"\")\",-0.5\n'@sum,\n"
        );
    }

    #[test]
    fn every_mark_of_a_chart_has_a_line() {
        let (x, y) = (Axis::linear("x"), Axis::linear("y"));
        let span = Span {
            x: 1.0,
            low: 2.0,
            high: 3.0,
        };
        let figure = Figure::chart("f", "", x, y)
            .layer(Layer::line("a", [(0.0, 0.5).into()]))
            .layer(Layer::band("b", [span]))
            .layer(Layer::vertical("stop", 7.0));
        let expected = "layer,mark,x,y,y_high\na,line,0,0.5,\nb,band,1,2,3\nstop,vertical,7,,\n";
        assert_eq!(super::figure(&figure), expected);
    }

    #[test]
    fn every_cell_of_a_heat_map_has_a_line() {
        let heat = Heat {
            x: "prefix".into(),
            y: "samples".into(),
            value: "probes".into(),
            columns: vec!["/16".into(), "/24".into()],
            rows: vec!["5".into()],
            values: vec![vec![1.0, f64::NAN]],
            decimals: 0,
        };
        let sheet = figure(&Figure::heat("f", "", heat));
        assert_eq!(sheet, "row,column,value\n5,/16,1\n5,/24,\n");
    }
}
