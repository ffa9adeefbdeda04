//! A tree of elements, written so that XML parsers and HTML browsers read the same from it.

use std::fmt::{Display, Write as _};

use crate::escape::clean;

/// Written as `<path/>`; all others with an end tag, since browsers take `<p/>` for `<p>`.
const ALWAYS_EMPTY: [&str; 7] = ["br", "circle", "hr", "line", "meta", "path", "rect"];

/// An element with attributes and contents. Names are constants of the program; values and text may
/// be anything and are escaped.
#[derive(Debug, Clone)]
pub(crate) struct Element {
    name: &'static str,
    attributes: Vec<(&'static str, String)>,
    contents: Vec<Node>,
}

#[derive(Debug, Clone)]
enum Node {
    Element(Element),
    Text(String),
    /// Our own style sheets, which have nothing to escape.
    Style(String),
}

impl Element {
    pub(crate) fn new(name: &'static str) -> Self {
        Self {
            name,
            attributes: Vec::new(),
            contents: Vec::new(),
        }
    }

    /// An element with text in it.
    pub(crate) fn of_text(name: &'static str, text: impl AsRef<str>) -> Self {
        Self::new(name).text(text)
    }

    /// A style sheet. Must not have `<` or `&`, which HTML and XML would read differently.
    pub(crate) fn style(sheet: String) -> Self {
        debug_assert!(!sheet.contains(['<', '&']), "HTML and XML disagree on it");
        let mut style = Self::new("style");
        style.contents.push(Node::Style(sheet));
        style
    }

    pub(crate) fn with(mut self, attribute: &'static str, value: impl Display) -> Self {
        self.attributes.push((attribute, value.to_string()));
        self
    }

    pub(crate) fn class(self, class: impl Display) -> Self {
        self.with("class", class)
    }

    pub(crate) fn text(mut self, text: impl AsRef<str>) -> Self {
        self.contents.push(Node::Text(clean(text.as_ref())));
        self
    }

    pub(crate) fn child(mut self, child: Self) -> Self {
        self.push(child);
        self
    }

    pub(crate) fn children(mut self, children: impl IntoIterator<Item = Self>) -> Self {
        self.contents
            .extend(children.into_iter().map(Node::Element));
        self
    }

    pub(crate) fn push(&mut self, child: Self) {
        self.contents.push(Node::Element(child));
    }

    /// The element and everything in it.
    pub(crate) fn render(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }

    fn write(&self, out: &mut String) {
        out.push('<');
        out.push_str(self.name);
        for (name, value) in &self.attributes {
            out.push(' ');
            out.push_str(name);
            out.push_str("=\"");
            escape_into(out, &clean(value));
            out.push('"');
        }
        if self.contents.is_empty() && ALWAYS_EMPTY.contains(&self.name) {
            out.push_str("/>");
            return;
        }
        out.push('>');
        for node in &self.contents {
            node.write(out);
        }
        write!(out, "</{}>", self.name).expect("strings take all");
    }
}

impl Node {
    fn write(&self, out: &mut String) {
        match self {
            Self::Element(element) => element.write(out),
            Self::Text(text) => escape_into(out, text),
            Self::Style(sheet) => out.push_str(sheet),
        }
    }
}

/// The five characters that mean something to XML, as references that HTML knows as well.
fn escape_into(out: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            _ => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_values_cannot_end_their_element() {
        let element = Element::of_text("p", "</p><script>&").with("title", "\"'>\u{0}");
        let expected = "<p title=\"&quot;&#39;&gt;\">&lt;/p&gt;&lt;script&gt;&amp;</p>";
        assert_eq!(element.render(), expected);
    }

    #[test]
    fn only_elements_that_are_never_filled_are_closed_at_once() {
        let group = Element::new("g").child(Element::new("path").with("d", "m0 0h0"));
        assert_eq!(group.render(), "<g><path d=\"m0 0h0\"/></g>");
        assert_eq!(Element::new("td").render(), "<td></td>");
    }
}
