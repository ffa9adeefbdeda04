//! Whatever an experiment puts into a report, every face writes something that others can read.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use nearside_report::{
    Axis, Cell, Chapter, Column, Data, Evidence, Figure, Heat, Layer, Page, Part, Point, Report,
    Span, Spread, Table, csv, files, html, json, svg, text,
};
use proptest::prelude::*;

/// Text that breaks things: tags, entities, quotes, formulas, controls, any script.
fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-z0-9 /%-]{0,12}",
        1 => r#"[<>&"'`=@+,;\n\t -]{0,8}"#,
        1 => any::<String>(),
        1 => Just("</svg></style><script>alert(1)</script>]]>".to_owned()),
        1 => Just("=1+1\u{0}\u{1B}[2J\u{202E}\u{FFFE}".to_owned()),
    ]
}

fn any_number() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => -1000.0..1000.0,
        2 => any::<f64>(),
        1 => prop::sample::select(vec![
            0.0, -0.0, 1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, f64::MIN,
            f64::MIN_POSITIVE, 5e-324,
        ]),
    ]
}

fn any_point() -> impl Strategy<Value = Point> {
    (any_number(), any_number()).prop_map(Point::from)
}

fn any_layer() -> impl Strategy<Value = Layer> {
    let points = || prop::collection::vec(any_point(), 0..6);
    let span = (any_number(), any_number(), any_number());
    let spans = prop::collection::vec(span.prop_map(|(x, low, high)| Span { x, low, high }), 0..6);
    prop_oneof![
        (any_text(), points()).prop_map(|(label, points)| Layer::points(label, points)),
        (any_text(), points()).prop_map(|(label, points)| Layer::line(label, points)),
        (any_text(), points()).prop_map(|(label, points)| Layer::steps(label, points)),
        (any_text(), spans).prop_map(|(label, spans)| Layer::band(label, spans)),
        (any_text(), any_number()).prop_map(|(label, at)| Layer::vertical(label, at)),
        (any_text(), any_number()).prop_map(|(label, at)| Layer::horizontal(label, at)),
    ]
}

fn any_axis() -> impl Strategy<Value = Axis> {
    let range = prop::option::of((any_number(), any_number()));
    (any_text(), any::<bool>(), range).prop_map(|(label, log, range)| {
        let axis = if log {
            Axis::log(label)
        } else {
            Axis::linear(label)
        };
        Axis { range, ..axis }
    })
}

fn any_evidence() -> impl Strategy<Value = Option<Evidence>> {
    let all = [Evidence::Published, Evidence::Fitted, Evidence::NotFitted];
    prop::option::of(prop::sample::select(all.to_vec()))
}

fn any_chart() -> impl Strategy<Value = Figure> {
    let layers = prop::collection::vec(any_layer(), 0..5);
    let words = (any_text(), any_text());
    (words, any_axis(), any_axis(), layers, any_evidence()).prop_map(
        |((name, caption), x, y, layers, evidence)| {
            let chart = Figure::chart(name, caption, x, y);
            let chart = layers.into_iter().fold(chart, Figure::layer);
            Figure { evidence, ..chart }
        },
    )
}

fn any_heat() -> impl Strategy<Value = Figure> {
    let names = || prop::collection::vec(any_text(), 0..5);
    let values = prop::collection::vec(prop::collection::vec(any_number(), 0..6), 0..6);
    (any_text(), names(), names(), values, any::<u8>()).prop_map(
        |(text, columns, rows, values, decimals)| {
            let heat = Heat {
                x: text.clone(),
                y: text.clone(),
                value: text.clone(),
                columns,
                rows,
                values,
                decimals,
            };
            Figure::heat(text.clone(), text, heat)
        },
    )
}

fn any_cell() -> impl Strategy<Value = Cell> {
    let spread = (any_number(), any_number(), any_number(), any::<u8>());
    prop_oneof![
        any_text().prop_map(Cell::Text),
        any::<u64>().prop_map(Cell::Count),
        (any_number(), any::<u8>()).prop_map(|(value, decimals)| Cell::number(value, decimals)),
        spread.prop_map(|(mean, deviation, worst, decimals)| {
            Cell::Spread(Spread {
                mean,
                deviation,
                worst,
                decimals,
            })
        }),
        Just(Cell::Missing),
    ]
}

fn any_table() -> impl Strategy<Value = Table> {
    let columns = prop::collection::vec((any_text(), any_text(), any_evidence()), 0..5);
    let cells = prop::collection::vec(any_cell(), 0..20);
    (any_text(), any_text(), columns, cells).prop_map(|(name, caption, columns, cells)| {
        let width = columns.len();
        let mut table = Table::new(name, caption);
        for (place, (heading, unit, evidence)) in columns.into_iter().enumerate() {
            let column = Column::new(format!("{place}{heading}"))
                .heading(heading)
                .unit(unit);
            table = table.column(Column { evidence, ..column });
        }
        if width > 0 {
            cells
                .chunks_exact(width)
                .for_each(|row| table.push(row.to_vec()));
        }
        table
    })
}

fn any_report() -> impl Strategy<Value = Report> {
    let part = prop_oneof![
        any_text().prop_map(Part::from),
        any_table().prop_map(Part::from),
        any_chart().prop_map(Part::from),
        any_heat().prop_map(Part::from),
    ];
    let words = (any_text(), any_text(), any_text(), any_text());
    (words, prop::collection::vec(part, 0..5)).prop_map(|((name, title, command, seeds), parts)| {
        Report {
            parts,
            ..Report::new(name, title, command, seeds)
        }
    })
}

fn page_of(reports: Vec<Report>, data: Data) -> Page {
    Page {
        title: "any".to_owned(),
        lead: reports[0].parts.clone(),
        chapters: vec![Chapter {
            title: reports[0].title.clone(),
            lead: reports[0].parts.clone(),
            reports,
        }],
        footer: String::new(),
        data,
    }
}

fn records(sheet: &str) -> Result<Vec<::csv::StringRecord>, ::csv::Error> {
    // A reader that refuses rows of another length than the first.
    let mut reader = ::csv::ReaderBuilder::new()
        .has_headers(false)
        .from_reader(sheet.as_bytes());
    reader.records().collect()
}

proptest! {
    #[test]
    fn every_figure_is_valid_xml_with_title_and_description(
        figure in prop_oneof![any_chart(), any_heat()],
    ) {
        let image = svg::render(&figure);
        let document = roxmltree::Document::parse(&image);
        prop_assert!(document.is_ok(), "{document:?} {image}");
        let document = document.unwrap();
        let root = document.root_element();
        prop_assert!(root.has_tag_name(("http://www.w3.org/2000/svg", "svg")));
        let names: Vec<&str> = root.children().map(|child| child.tag_name().name()).collect();
        prop_assert_eq!(&names[..2], &["title", "desc"]);
        prop_assert!(!image.contains("NaN") || figure_says(&figure, "NaN"), "{}", image);
        prop_assert!(!root.descendants().any(|node| node.has_tag_name("script")));
    }

    #[test]
    fn every_page_is_valid_and_has_each_anchor_once(
        reports in prop::collection::vec(any_report(), 1..3),
        beside: bool,
    ) {
        let data = if beside { Data::Beside } else { Data::Absent };
        let page = html::render(&page_of(reports, data));
        let options = roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() };
        let document = roxmltree::Document::parse_with_options(&page, options);
        prop_assert!(document.is_ok(), "{document:?} {page}");
        let document = document.unwrap();
        let mut ids: Vec<&str> =
            document.descendants().filter_map(|node| node.attribute("id")).collect();
        let links = document.descendants().filter_map(|node| node.attribute("href"));
        for anchor in links.filter_map(|link| link.strip_prefix('#')) {
            prop_assert!(ids.contains(&anchor), "{anchor} leads nowhere");
        }
        let all = ids.len();
        ids.sort_unstable();
        ids.dedup();
        prop_assert_eq!(ids.len(), all);
        let scripts = document.descendants().filter(|node| node.tag_name().name() == "script");
        prop_assert_eq!(scripts.count(), 0);
    }

    #[test]
    fn every_table_and_figure_is_valid_csv_without_formulas(report in any_report()) {
        let tables = report.tables().map(csv::table);
        for sheet in tables.chain(report.figures().map(csv::figure)) {
            let records = records(&sheet);
            prop_assert!(records.is_ok(), "{records:?} {sheet}");
            for field in records.unwrap().iter().flatten() {
                let is_number = field.parse::<f64>().is_ok();
                prop_assert!(is_number || !field.starts_with(['=', '+', '-', '@']), "{field:?}");
            }
        }
    }

    #[test]
    fn every_report_is_valid_json(report in any_report()) {
        let value: serde_json::Value = serde_json::from_str(&json::render(&report)).unwrap();
        prop_assert_eq!(value["parts"].as_array().unwrap().len(), report.parts.len());
    }

    #[test]
    fn text_moves_no_cursor(report in any_report(), width in 0_usize..120) {
        let text = text::render(&report, width);
        let is_control = |c: char| c.is_control() && c != '\n';
        prop_assert!(!text.chars().any(is_control), "{text:?}");
    }

    #[test]
    fn files_have_different_harmless_names_and_the_same_bytes_again(report in any_report()) {
        let files = files::of(&report);
        prop_assert_eq!(&files, &files::of(&report));
        let mut names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
        let harmless = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-.".contains(c);
        prop_assert!(names.iter().all(|name| name.chars().all(harmless)), "{names:?}");
        names.sort_unstable();
        names.dedup();
        prop_assert_eq!(names.len(), files.len());
    }
}

/// Whether a text of the figure itself has the word.
fn figure_says(figure: &Figure, word: &str) -> bool {
    format!("{figure:?}").contains(word) && serde_json::to_string(figure).unwrap().contains(word)
}
