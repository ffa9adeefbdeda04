//! The little markup of [`Part::Text`](crate::Part::Text): paragraphs, lists, code.

use crate::escape::clean;
use crate::markup::Element;
use crate::words;

/// Paragraphs and lists in reading order.
pub(super) fn blocks(text: &str) -> Vec<Element> {
    let mut elements: Vec<Element> = Vec::new();
    for paragraph in words::paragraphs(&clean(text)) {
        for run in paragraph.chunk_by(|one, next| is_item(one) == is_item(next)) {
            elements.push(block(run));
        }
    }
    elements
}

fn block(run: &[String]) -> Element {
    if run.first().is_some_and(|block| is_item(block)) {
        let items = run.iter().map(|block| with_code("li", &block[2..]));
        return Element::new("ul").children(items);
    }
    with_code("p", &run.join(" "))
}

fn is_item(block: &str) -> bool {
    block.starts_with("- ")
}

/// Every second piece between backticks is code; a lone backtick stays one.
pub(super) fn with_code(name: &'static str, text: &str) -> Element {
    let pieces: Vec<&str> = text.split('`').collect();
    let closed = pieces.len() % 2 == 1;
    let mut element = Element::new(name);
    for (place, piece) in pieces.iter().enumerate() {
        element = match place % 2 {
            0 => element.text(piece),
            _ if closed || place + 1 < pieces.len() => {
                element.child(Element::of_text("code", piece))
            }
            _ => element.text(format!("`{piece}")),
        };
    }
    element
}

#[cfg(test)]
mod tests {
    use super::*;

    fn html(text: &str) -> String {
        blocks(text).iter().map(Element::render).collect()
    }

    #[test]
    fn paragraphs_lists_and_code() {
        let text = "As `nearside sim` says:\n- one\n- `two`\n\nThe <end>.";
        let expected = "<p>As <code>nearside sim</code> says:</p>\
                        <ul><li>one</li><li><code>two</code></li></ul>\
                        <p>The &lt;end&gt;.</p>";
        assert_eq!(html(text), expected);
    }

    #[test]
    fn a_lone_backtick_is_a_backtick() {
        assert_eq!(html("a `b` c ` d"), "<p>a <code>b</code> c ` d</p>");
    }
}
