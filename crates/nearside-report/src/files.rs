//! What `--out DIR` receives: names and contents, to be written by whoever has a disk.

use crate::model::{Part, Report};
use crate::names::{Names, slug};
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
    let mut files = vec![File {
        name: format!("{}.json", slug(&report.name)),
        contents: json::render(report),
    }];
    for (part, stem) in report.parts.iter().zip(stems(report)) {
        let file = |ending: &str, contents| File {
            name: format!("{stem}.{ending}"),
            contents,
        };
        match part {
            Part::Text(_) => {}
            Part::Table(table) => files.push(file("csv", csv::table(table))),
            Part::Figure(figure) => {
                files.push(file("csv", csv::figure(figure)));
                files.push(file("svg", svg::render(figure)));
            }
        }
    }
    files
}

/// For each part what its files are called, without their endings; words have no files.
pub(crate) fn stems(report: &Report) -> Vec<String> {
    let mut names = Names::default();
    let report_name = slug(&report.name);
    let stem = |part: &Part| {
        let name = part.name().map(|name| names.take(name));
        name.map_or_else(String::new, |name| format!("{report_name}-{name}"))
    };
    report.parts.iter().map(stem).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Axis, Figure, Table};

    #[test]
    fn files_are_named_by_report_and_part_and_stay_in_their_folder() {
        let (x, y) = (Axis::linear("x"), Axis::linear("y"));
        let report = Report::new("../armitage-as", "", "", "")
            .with("words")
            .with(Table::new("table2", ""))
            .with(Figure::chart("Figure 5", "", x, y))
            .with(Table::new("table2", ""));
        let names: Vec<String> = of(&report).into_iter().map(|file| file.name).collect();
        let expected = [
            "armitage-as.json",
            "armitage-as-table2.csv",
            "armitage-as-figure-5.csv",
            "armitage-as-figure-5.svg",
            "armitage-as-table2-2.csv",
        ];
        assert_eq!(names, expected);
    }
}
