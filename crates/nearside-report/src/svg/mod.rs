//! Figures as SVG, in the form of the papers: RTTs against time with the bound and the stop, CDFs,
//! heat maps. Light and dark, told in words for readers who do not see them, and small: a layer is
//! one path, and what falls on the same place is drawn once.

mod chart;
mod describe;
mod heat;
mod layout;
mod marks;
mod palette;
mod path;
mod ruler;
mod series;

use crate::markup::Element;
use crate::model::{Figure, Plot};
use crate::names::slug;
use layout::{FONT, WIDTH, px};
use palette::{INK, PAPER};

/// A picture before it is framed: its parts and how high they are together.
struct Drawing {
    height: f64,
    contents: Vec<Element>,
}

/// A file of its own: valid XML, no scripts, nothing loaded from elsewhere.
pub fn render(figure: &Figure) -> String {
    let style = Element::style(dark_style());
    let svg = element(figure, &slug(&figure.name), Some(style));
    let mut text = svg.render();
    text.push('\n');
    text
}

/// The figure for a page that has [`dark_style`] among its styles. `id` must be unique there.
pub(crate) fn element(figure: &Figure, id: &str, style: Option<Element>) -> Element {
    let drawing = match &figure.plot {
        Plot::Chart(chart) => chart::draw(chart),
        Plot::Heat(heat) => heat::draw(heat),
    };
    let (width, height) = (px(WIDTH), px(drawing.height));
    let title = Element::of_text("title", title(figure));
    let words = Element::of_text("desc", describe::describe(&figure.plot));
    let paper = Element::new("rect")
        .class("paper")
        .with("fill", PAPER.light);
    Element::new("svg")
        .with("xmlns", "http://www.w3.org/2000/svg")
        .with("viewBox", format_args!("0 0 {width} {height}"))
        .with("width", &width)
        .with("height", &height)
        .class("nf ink")
        .with("role", "img")
        .with("aria-labelledby", format_args!("{id}.title {id}.desc"))
        .with(
            "font-family",
            "system-ui, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif",
        )
        .with("font-size", FONT)
        .with("fill", INK.light)
        .child(title.with("id", format_args!("{id}.title")))
        .child(words.with("id", format_args!("{id}.desc")))
        .children(style)
        .child(paper.with("width", &width).with("height", &height))
        .children(drawing.contents)
}

/// What turns the colours of all figures on dark paper.
pub(crate) fn dark_style() -> String {
    format!(
        "@media (prefers-color-scheme:dark){{{}}}",
        palette::dark_rules()
    )
}

/// The colours of figures for the page around them, as custom properties.
pub(crate) fn page_colours() -> String {
    let colours = |pick: fn(palette::Shade) -> &'static str| {
        let [paper, ink, soft, line, link, tint] = [
            PAPER,
            INK,
            palette::SOFT,
            palette::GRID,
            palette::LINK,
            palette::TINT,
        ]
        .map(pick);
        format!(
            ":root{{--paper:{paper};--ink:{ink};--soft:{soft};--line:{line};--link:{link};--tint:{tint}}}"
        )
    };
    let (light, dark) = (colours(|shade| shade.light), colours(|shade| shade.dark));
    format!("{light}@media (prefers-color-scheme:dark){{{dark}}}")
}

fn title(figure: &Figure) -> &str {
    if figure.caption.is_empty() {
        &figure.name
    } else {
        &figure.caption
    }
}
