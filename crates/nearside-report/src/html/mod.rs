//! One page with everything: no server, no scripts, nothing loaded from elsewhere. Browsers read it
//! as HTML and XML parsers as XML, which is how tests look into it.

mod parts;
mod words;

use crate::markup::Element;
use crate::model::{Chapter, Data, Page, Part, Report};
use crate::names::Names;
use crate::{files, svg};
use parts::Place;

/// The page as one file.
pub fn render(page: &Page) -> String {
    let entries = entries(page);
    let html = Element::new("html")
        .with("lang", "en")
        .with("xmlns", "http://www.w3.org/1999/xhtml")
        .child(head(page))
        .child(body(page, &entries));
    format!("<!DOCTYPE html>\n{}\n", html.render())
}

fn head(page: &Page) -> Element {
    let viewport = Element::new("meta").with("name", "viewport");
    let schemes = Element::new("meta").with("name", "color-scheme");
    Element::new("head")
        .child(Element::new("meta").with("charset", "utf-8"))
        .child(viewport.with("content", "width=device-width, initial-scale=1"))
        .child(schemes.with("content", "light dark"))
        .child(Element::of_text("title", &page.title))
        .child(Element::style(style()))
}

fn style() -> String {
    let colours = svg::page_colours();
    format!(
        "{colours}{}{}",
        include_str!("style.css"),
        svg::dark_style()
    )
}

/// The anchor of everything below the table of contents.
const RESULTS: &str = "results";

/// A chapter and the anchors of itself and of its reports.
struct Entry<'a> {
    chapter: &'a Chapter,
    id: String,
    reports: Vec<(&'a Report, String)>,
}

fn entries(page: &Page) -> Vec<Entry<'_>> {
    let mut names = Names::default();
    let _reserved = names.take(RESULTS);
    let entry = |chapter| Entry::new(chapter, &mut names);
    page.chapters.iter().map(entry).collect()
}

impl<'a> Entry<'a> {
    fn new(chapter: &'a Chapter, names: &mut Names) -> Self {
        let id = names.take(&chapter.title);
        let anchored = |report: &'a Report| (report, names.take(&report.name));
        Self {
            chapter,
            id,
            reports: chapter.reports.iter().map(anchored).collect(),
        }
    }
}

fn body(page: &Page, entries: &[Entry<'_>]) -> Element {
    let skip = Element::of_text("a", "Skip to the results");
    let header = Element::new("header")
        .child(Element::of_text("h1", &page.title))
        .children(contents(&page.lead, &[], ""));
    let chapters = entries.iter().map(|entry| chapter(entry, page.data));
    let main = Element::new("main").with("id", RESULTS);
    let footer = words::with_code("footer", &page.footer);
    Element::new("body")
        .child(skip.class("skip").with("href", format_args!("#{RESULTS}")))
        .child(table_of_contents(entries))
        .child(
            Element::new("div")
                .class("sheet")
                .child(header)
                .child(main.children(chapters))
                .child(footer),
        )
}

fn table_of_contents(entries: &[Entry<'_>]) -> Element {
    let items = entries.iter().map(|entry| {
        let reports = entry
            .reports
            .iter()
            .map(|(report, id)| item(&report.title, id));
        let list = Element::new("ol").children(reports);
        item(&entry.chapter.title, &entry.id).child(list)
    });
    Element::new("nav")
        .with("aria-label", "Contents")
        .child(Element::of_text("h2", "Contents"))
        .child(Element::new("ol").children(items))
}

fn item(title: &str, id: &str) -> Element {
    let link = Element::of_text("a", title).with("href", format_args!("#{id}"));
    Element::new("li").child(link)
}

fn chapter(entry: &Entry<'_>, data: Data) -> Element {
    let lead = contents(&entry.chapter.lead, &[], &entry.id);
    let reports = entry
        .reports
        .iter()
        .map(|(report, id)| article(report, id, data));
    Element::new("section")
        .with("id", &entry.id)
        .child(Element::of_text("h2", &entry.chapter.title))
        .children(lead)
        .children(reports)
}

fn article(report: &Report, id: &str, data: Data) -> Element {
    let stems = match data {
        Data::Beside => files::stems(report),
        Data::Absent => Vec::new(),
    };
    Element::new("article")
        .with("id", id)
        .child(Element::of_text("h3", &report.title))
        .children(provenance(report))
        .children(contents(&report.parts, &stems, id))
}

/// How to make it again.
fn provenance(report: &Report) -> Option<Element> {
    let field = |name: &str, value: Element| {
        let name = Element::of_text("dt", name);
        [name, Element::new("dd").child(value)]
    };
    let command = Element::of_text("code", &report.command);
    let command = (!report.command.is_empty()).then(|| field("command", command));
    let seeds = Element::of_text("span", &report.seeds);
    let seeds = (!report.seeds.is_empty()).then(|| field("seeds", seeds));
    let fields: Vec<Element> = command.into_iter().chain(seeds).flatten().collect();
    (!fields.is_empty()).then(|| Element::new("dl").class("made").children(fields))
}

/// `stems` are the names of the parts' files, as far as there are files. Anchors of parts begin with
/// the unique `anchor` and two points, which no other anchor has.
fn contents(parts: &[Part], stems: &[String], anchor: &str) -> Vec<Element> {
    let mut names = Names::default();
    let mut elements = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        let name = names.take(part.name().unwrap_or_default());
        let place = Place {
            id: format!("{anchor}..{name}"),
            stem: stems.get(at).map(String::as_str),
        };
        match part {
            Part::Text(text) => elements.extend(words::blocks(text)),
            Part::Table(table) => elements.push(parts::table(table, &place)),
            Part::Figure(figure) => elements.push(parts::figure(figure, &place)),
        }
    }
    elements
}
