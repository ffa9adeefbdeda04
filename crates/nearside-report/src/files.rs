//! What `--out DIR` receives: names and contents, to be written by whoever has a disk.

use crate::escape::slug;
use crate::model::{Figure, Report, Table};
use crate::{csv, json, svg};

/// A file to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Without folders: small letters, digits, hyphens and an ending.
    pub name: String,
    /// All of it.
    pub contents: String,
}

/// `NAME.json` with everything, for each table and figure `NAME-PART.csv`, and for each figure
/// `NAME-PART.svg`.
pub fn of(report: &Report) -> Vec<File> {
    let whole = File {
        name: format!("{}.json", slug(&report.name)),
        contents: json::render(report),
    };
    let tables = report.tables().map(|table| sheet(report, table));
    let figures = report
        .figures()
        .flat_map(|figure| [data(report, figure), picture(report, figure)]);
    std::iter::once(whole)
        .chain(tables)
        .chain(figures)
        .collect()
}

fn sheet(report: &Report, table: &Table) -> File {
    File {
        name: part_name(report, table.name(), "csv"),
        contents: csv::table(table),
    }
}

fn data(report: &Report, figure: &Figure) -> File {
    File {
        name: part_name(report, &figure.name, "csv"),
        contents: csv::figure(figure),
    }
}

fn picture(report: &Report, figure: &Figure) -> File {
    File {
        name: part_name(report, &figure.name, "svg"),
        contents: svg::render(figure),
    }
}

pub(crate) fn part_name(report: &Report, part: &str, ending: &str) -> String {
    format!("{}-{}.{ending}", slug(&report.name), slug(part))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Axis;

    #[test]
    fn files_are_named_by_report_and_part_and_stay_in_their_folder() {
        let (x, y) = (Axis::linear("x"), Axis::linear("y"));
        let report = Report::new("../armitage-as", "", "", "")
            .with(Table::new("table2", ""))
            .with(Figure::chart("Figure 5", "", x, y));
        let names: Vec<String> = of(&report).into_iter().map(|file| file.name).collect();
        let expected = [
            "armitage-as.json",
            "armitage-as-table2.csv",
            "armitage-as-figure-5.csv",
            "armitage-as-figure-5.svg",
        ];
        assert_eq!(names, expected);
    }
}
