//! A report for a terminal: tables aligned by display width, words wrapped, figures named.

mod grid;
mod wrap;

use crate::escape;
use crate::model::{Cell, Column, Figure, Heat, Part, Plot, Report, Table};
use crate::numbers;
use crate::words::paragraphs;
use wrap::{columns, wrapped};

/// The whole report, no line wider than `width` columns unless a single word or number is.
pub fn render(report: &Report, width: usize) -> String {
    let mut lines = heading(&report.title);
    lines.extend(field("command", &report.command));
    lines.extend(field("seeds", &report.seeds));
    for part in &report.parts {
        lines.push(String::new());
        match part {
            Part::Text(text) => lines.extend(words(text, width)),
            Part::Table(table) => lines.extend(table_lines(table, width)),
            Part::Figure(figure) => lines.extend(figure_lines(figure, width)),
        }
    }
    joined(&lines)
}

/// One paragraph in lines of at most `width` columns, broken between words.
pub fn paragraph(text: &str, width: usize) -> String {
    wrapped(text, width).join("\n")
}

/// One table with its caption and notes.
pub fn table(table: &Table, width: usize) -> String {
    joined(&table_lines(table, width))
}

/// The title underlined, so that reports in a row can be told apart.
fn heading(title: &str) -> Vec<String> {
    let title = one_line(title);
    let line = "═".repeat(columns(&title));
    vec![title, line]
}

/// Not wrapped, so that a command can be copied.
fn field(name: &str, value: &str) -> Option<String> {
    let value = one_line(value);
    (!value.is_empty()).then(|| format!("{name:<8} {value}"))
}

/// Paragraphs apart, items of lists below each other.
fn words(text: &str, width: usize) -> Vec<String> {
    let paragraphs = paragraphs(&escape::clean(text)).into_iter().map(|blocks| {
        let lines = blocks.iter().flat_map(|block| {
            let indent = if block.starts_with("- ") { "  " } else { "" };
            wrap::hanging(block, width, indent)
        });
        lines.collect::<Vec<_>>()
    });
    paragraphs.collect::<Vec<_>>().join(&String::new())
}

fn table_lines(table: &Table, width: usize) -> Vec<String> {
    let mut lines = wrapped(&escape::clean(table.caption()), width);
    lines.extend(grid::lines(table, width));
    if numbers::has_spread(table) {
        lines.push(numbers::SPREAD_NOTE.to_owned());
    }
    lines
}

/// A heat map's numbers are a table; of charts a terminal shows the caption, SVG and CSV the rest.
fn figure_lines(figure: &Figure, width: usize) -> Vec<String> {
    let evidence = figure
        .evidence
        .map_or_else(String::new, |evidence| format!(" ({})", evidence.words()));
    let line = format!("Figure {}: {}{evidence}", figure.name, figure.caption);
    let mut lines = wrapped(&escape::clean(&line), width);
    if let Plot::Heat(heat) = &figure.plot {
        lines.extend(table_lines(&numbers_of(heat), width));
    }
    lines
}

/// The cells of a heat map below the names of its columns.
fn numbers_of(heat: &Heat) -> Table {
    let caption = format!("{}, by {} and {}", heat.value, heat.y, heat.x);
    let first = Column::new("row").heading(&heat.y);
    let columns = heat.columns.iter().enumerate();
    // Names of columns may repeat in a heat map, though not in a table.
    let columns = columns.map(|(place, name)| Column::new(place.to_string()).heading(name));
    let empty = Table::new("heat", caption).column(first);
    let mut table = columns.fold(empty, Table::column);
    for (row, name) in heat.rows.iter().enumerate() {
        let values = (0..heat.columns.len()).map(|column| {
            let value = heat.values.get(row).and_then(|values| values.get(column));
            Cell::number(value.copied().unwrap_or(f64::NAN), heat.decimals)
        });
        table.push(std::iter::once(Cell::from(name.as_str())).chain(values));
    }
    table
}

fn one_line(text: &str) -> String {
    let clean = escape::clean(text);
    clean.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn joined(lines: &[String]) -> String {
    lines
        .iter()
        .flat_map(|line| [line.trim_end(), "\n"])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Better;

    fn table2() -> Table {
        Table::new("table2", "Calibration and auto-stop.")
            .column(Column::new("client"))
            .column(
                Column::new("paper")
                    .heading("calibration probes")
                    .published(),
            )
            .column(Column::new("ours").heading("calibration probes").fitted())
            .column(
                Column::new("stop")
                    .heading("auto-stop")
                    .unit("%")
                    .not_fitted(),
            )
            .row([
                "AU".into(),
                3374_u64.into(),
                Cell::spread(&[3000.0, 3100.0], Better::Low, 0),
                Cell::number(14.8, 1),
            ])
            .row([
                "USA".into(),
                3190_u64.into(),
                Cell::Missing,
                Cell::number(99.1, 1),
            ])
    }

    #[test]
    fn a_report_reads_from_title_to_notes() {
        let report = Report::new("t2", "Table 2", "nearside sim armitage-as table2", "0–1")
            .with("Two sentences.\nIn one paragraph.\n\n- an item\n- another")
            .with(table2());
        let expected = "\
Table 2
═══════
command  nearside sim armitage-as table2
seeds    0–1

Two sentences. In one paragraph.

- an item
- another

Calibration and auto-stop.
client  calibration  calibration probes  auto-stop %
             probes              fitted   not fitted
              paper
──────  ───────────  ──────────────────  ───────────
AU            3,374  3,050 ± 71 (3,100)         14.8
USA           3,190                   –         99.1
mean ± standard deviation over seeds (worst seed)
";
        assert_eq!(render(&report, 100), expected);
    }

    #[test]
    fn a_heat_map_is_a_table_of_its_numbers() {
        let heat = Heat {
            x: "prefix".into(),
            y: "samples".into(),
            value: "probes (%)".into(),
            columns: vec!["/16".into(), "/16".into()],
            rows: vec!["1".into(), "√n".into()],
            values: vec![vec![12.34, 5.0], vec![f64::NAN]],
            decimals: 1,
        };
        let report = Report::new("r", "R", "", "").with(Figure::heat("map", "Costs.", heat));
        let expected = "\
R
═

Figure map: Costs.
probes (%), by samples and prefix
samples   /16  /16
───────  ────  ───
1        12.3  5.0
√n          –    –
";
        assert_eq!(render(&report, 80), expected);
    }
}
