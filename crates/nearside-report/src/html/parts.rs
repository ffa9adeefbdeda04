//! Tables and figures as elements of the page.

use super::words::with_code;
use crate::markup::Element;
use crate::model::{Cell, Column, Evidence, Figure, Table};
use crate::numbers;
use crate::svg;

/// Where a part is.
pub(super) struct Place<'a> {
    /// Its anchor.
    pub(super) id: String,
    /// The name of its files without ending, if they lie beside the page.
    pub(super) stem: Option<&'a str>,
}

impl Place<'_> {
    fn links(&self, endings: &[&'static str]) -> Vec<Element> {
        let Some(stem) = self.stem else {
            return Vec::new();
        };
        let link = |ending: &&str| {
            let name = ending.to_ascii_uppercase();
            let file = format!("{stem}.{ending}");
            Element::of_text("a", name).class("file").with("href", file)
        };
        endings.iter().map(link).collect()
    }
}

/// In a box of its own that scrolls, since a table does not get narrower than its numbers. The
/// caption stands outside of the box: inside, a narrow table would squeeze it.
pub(super) fn table(table: &Table, place: &Place<'_>) -> Element {
    let name = format!("{}.caption", place.id);
    let words = if table.caption().is_empty() {
        table.name()
    } else {
        table.caption()
    };
    let caption = with_code("p", words).class("caption").with("id", &name);
    let scroll = Element::new("div")
        .class("scroll")
        .with("role", "region")
        .with("tabindex", 0)
        .with("aria-labelledby", &name);
    let note = numbers::has_spread(table).then(|| Element::of_text("p", numbers::SPREAD_NOTE));
    Element::new("div")
        .class("table")
        .with("id", &place.id)
        .child(caption.children(place.links(&["csv"])))
        .child(scroll.child(grid(table).with("aria-labelledby", &name)))
        .children(note.map(|note| note.class("note")))
}

fn grid(table: &Table) -> Element {
    let columns = table.columns().iter().enumerate();
    let headings = columns.map(|(place, column)| heading(table, place, column));
    let classes: Vec<&str> = (0..table.columns().len())
        .map(|place| class(table, place))
        .collect();
    let rows = table.rows().iter().map(|cells| row(cells, &classes));
    Element::new("table")
        .child(Element::new("thead").child(Element::new("tr").children(headings)))
        .child(Element::new("tbody").children(rows))
}

fn heading(table: &Table, place: usize, column: &Column) -> Element {
    let unit = column.unit.as_ref();
    let unit = unit.map(|unit| Element::of_text("span", unit).class("unit"));
    let class = if table.is_text(place) { "" } else { "n" };
    classed(Element::new("th").with("scope", "col"), class)
        .text(&column.heading)
        .children(unit.into_iter().chain(column.evidence.map(badge)))
}

fn row(cells: &[Cell], classes: &[&'static str]) -> Element {
    let cells = cells.iter().zip(classes).enumerate();
    Element::new("tr").children(cells.map(|(place, (content, class))| {
        // The first cell of a row names the row.
        let element = match place {
            0 => Element::new("th").with("scope", "row"),
            _ => Element::new("td"),
        };
        classed(element, class).text(numbers::shown(content))
    }))
}

/// Texts up to so many letters are kept on one line.
const SHORT: usize = 24;

/// How the cells of a column are set: numbers at the right, short words on one line.
fn class(table: &Table, place: usize) -> &'static str {
    let is_short = |cell: &Cell| match cell {
        Cell::Text(text) => text.chars().count() <= SHORT,
        _ => true,
    };
    match table.is_text(place) {
        false => "n",
        true if table.cells(place).all(is_short) => "short",
        true => "",
    }
}

fn classed(element: Element, class: &str) -> Element {
    if class.is_empty() {
        element
    } else {
        element.class(class)
    }
}

/// The picture and below it what it shows.
pub(super) fn figure(figure: &Figure, place: &Place<'_>) -> Element {
    let caption = with_code("figcaption", &figure.caption)
        .children(figure.evidence.map(badge))
        .children(place.links(&["svg", "csv"]));
    // On a narrow screen it scrolls, so that its labels stay readable.
    let window = Element::new("div").class("scroll").with("tabindex", 0);
    Element::new("figure")
        .with("id", &place.id)
        .child(window.child(svg::element(figure, &place.id, None)))
        .child(caption)
}

fn badge(evidence: Evidence) -> Element {
    let class = match evidence {
        Evidence::Published => "badge published",
        Evidence::Fitted => "badge fitted",
        Evidence::NotFitted => "badge free",
        Evidence::Assumed => "badge assumed",
    };
    Element::of_text("span", evidence.words()).class(class)
}
