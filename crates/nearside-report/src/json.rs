//! A report for scripts: the fields of [`Report`], table rows as objects, points as pairs. What is
//! not a finite number is `null`.

use crate::model::Report;

/// The report in one line, with a line end: a figure of 27,000 points would fill as many lines.
pub fn render(report: &Report) -> String {
    let mut text =
        serde_json::to_string(report).expect("reports have string keys and write to memory");
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::model::{Axis, Better, Cell, Column, Figure, Layer, Point, Table};

    fn parsed(report: &Report) -> Value {
        serde_json::from_str(&render(report)).unwrap()
    }

    #[test]
    fn rows_are_objects_and_spreads_have_three_fields() {
        let table = Table::new("t", "")
            .column(Column::new("client"))
            .column(Column::new("auto_stop").unit("%").not_fitted())
            .row(["AU".into(), Cell::spread(&[14.0, 16.0], Better::Low, 1)])
            .row(["JP".into(), Cell::number(f64::NAN, 1)]);
        let report = parsed(&Report::new("r", "", "", "").with(table));
        let table = &report["parts"][0]["table"];
        let spread = json!({"mean": 15.0, "deviation": 2f64.sqrt(), "worst": 16.0});
        assert_eq!(
            table["rows"][0],
            json!({"client": "AU", "auto_stop": spread})
        );
        assert_eq!(table["rows"][1]["auto_stop"], Value::Null);
        assert_eq!(table["columns"][1]["evidence"], "not_fitted");
    }

    #[test]
    fn points_are_pairs() {
        let (x, y) = (Axis::linear("t"), Axis::log("rtt").range(1.0, 300.0));
        let points = [(1.0, 2.5), (2.0, f64::INFINITY)].map(Point::from);
        let figure = Figure::chart("f", "", x, y).layer(Layer::points("us", points));
        let report = parsed(&Report::new("r", "", "", "").with(figure));
        let chart = &report["parts"][0]["figure"]["plot"]["chart"];
        assert_eq!(chart["y"]["range"], json!([1.0, 300.0]));
        let shape = json!({"points": [[1.0, 2.5], [2.0, null]]});
        assert_eq!(chart["layers"][0]["shape"], shape);
    }
}
