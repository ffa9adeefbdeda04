//! Which layer looks how, and the legend that says so.

use super::layout::{FINENESS, LINE, RIGHT, WIDTH, px, text_width};
use super::palette::{DASHES, INK, SERIES};
use crate::markup::Element;
use crate::model::{Layer, Shape};

/// Length of the sample before a label, and the room around a label.
const SAMPLE: f64 = 24.0;
const GAP: f64 = 7.0;
const APART: f64 = 18.0;
/// In steps of the drawing grid.
const LINE_WIDTH: f64 = 4.0;

/// How a layer is told from the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Look {
    colour: usize,
    dash: usize,
}

/// One look for each layer; `None` for straight lines across the chart, which are drawn in ink and
/// labelled where they stand. Layers of one label belong together, as a mean and the band around it
/// do, and look alike.
pub(super) fn looks(layers: &[Layer]) -> Vec<Option<Look>> {
    let (mut all, mut lines) = (Vec::new(), Vec::new());
    let mut looks = Vec::with_capacity(layers.len());
    for layer in layers {
        looks.push((!is_rule(layer)).then(|| Look {
            colour: place_of(layer, &mut all),
            // Dots have no dashes, and the first line beside them need not have any either.
            dash: match is_line(layer) {
                true => place_of(layer, &mut lines),
                false => 0,
            },
        }));
    }
    looks
}

/// The place of a layer's label among those seen before; a layer without label is always new.
fn place_of<'a>(layer: &'a Layer, seen: &mut Vec<&'a str>) -> usize {
    let label = layer.label.as_str();
    let known = seen
        .iter()
        .position(|known| *known == label && !label.is_empty());
    known.unwrap_or_else(|| {
        seen.push(label);
        seen.len() - 1
    })
}

pub(super) fn is_rule(layer: &Layer) -> bool {
    matches!(
        layer.shape,
        Shape::Vertical { .. } | Shape::Horizontal { .. }
    )
}

fn is_line(layer: &Layer) -> bool {
    matches!(layer.shape, Shape::Line(_) | Shape::Steps(_))
}

/// `path` in the look of its layer. Data are `mark`s, by which one can see whether there are any;
/// straight lines across the chart are none.
pub(super) fn styled(path: Element, shape: &Shape, look: Option<Look>) -> Element {
    let Some(look) = look else {
        return path
            .class("rule")
            .with("stroke", INK.light)
            .with("stroke-width", 2.4)
            .with("stroke-dasharray", "9 5")
            .with("fill", "none");
    };
    let path = match shape {
        Shape::Band(_) => filled(path, look),
        Shape::Points(points) => stroked(path, look, dot(points.len())).with("stroke-opacity", 0.8),
        _ => dashed(stroked(path, look, LINE_WIDTH), look).with("stroke-linejoin", "round"),
    };
    Element::new("g").class("mark").child(path)
}

/// How wide a dot is: many small ones show a cloud, a few large ones can be found.
fn dot(points: usize) -> f64 {
    match points {
        0..=200 => 9.0,
        201..=4_000 => 5.0,
        _ => 3.2,
    }
}

fn stroked(path: Element, look: Look, width: f64) -> Element {
    let place = look.colour % SERIES.len();
    path.class(format_args!("s{place}"))
        .with("stroke", SERIES[place].light)
        .with("stroke-width", width)
        .with("stroke-linecap", "round")
        .with("fill", "none")
}

fn dashed(path: Element, look: Look) -> Element {
    // After one round of colours the dashes move on, so that no two looks are the same.
    let place = (look.dash + look.colour / SERIES.len()) % DASHES.len();
    match DASHES[place] {
        "" => path,
        dash => path.with("stroke-dasharray", dash),
    }
}

fn filled(path: Element, look: Look) -> Element {
    let place = look.colour % SERIES.len();
    path.class(format_args!("f{place}"))
        .with("fill", SERIES[place].light)
        .with("fill-opacity", 0.22)
}

/// The legend's elements and how many lines it takes.
#[derive(Debug, Default)]
pub(super) struct Legend {
    pub(super) entries: Vec<Element>,
    pub(super) lines: usize,
}

/// Labels with samples in lines from `left`, the first line centred on `top`. A label that several
/// layers have stands once, with a sample of each.
pub(super) fn legend(layers: &[Layer], looks: &[Option<Look>], left: f64, top: f64) -> Legend {
    let mut legend = Legend::default();
    let mut x = left;
    for (label, samples) in entries(layers, looks) {
        let length = SAMPLE + GAP + text_width(label);
        if legend.lines == 0 || x + length > WIDTH - RIGHT {
            (x, legend.lines) = (left, legend.lines + 1);
        }
        let y = top + (legend.lines - 1) as f64 * LINE;
        legend.entries.push(entry(label, &samples, x, y));
        x += length + APART;
    }
    legend
}

type Sample<'a> = (&'a Shape, Look);

fn entries<'a>(layers: &'a [Layer], looks: &[Option<Look>]) -> Vec<(&'a str, Vec<Sample<'a>>)> {
    let mut entries: Vec<(&str, Vec<Sample<'_>>)> = Vec::new();
    for (layer, look) in layers.iter().zip(looks) {
        let Some(look) = *look else { continue };
        let label = layer.label.as_str();
        match entries.iter_mut().find(|(known, _)| *known == label) {
            _ if label.is_empty() => {}
            Some((_, samples)) => samples.push((&layer.shape, look)),
            None => entries.push((label, vec![(&layer.shape, look)])),
        }
    }
    entries
}

fn entry(label: &str, samples: &[Sample<'_>], x: f64, y: f64) -> Element {
    let text = Element::of_text("text", label)
        .class("ink")
        .with("x", px(SAMPLE + GAP))
        .with("dy", "0.35em");
    Element::new("g")
        .with("transform", format_args!("translate({} {})", px(x), px(y)))
        .children(samples.iter().map(|&(shape, look)| sample(shape, look)))
        .child(text)
}

/// A small piece of the layer on the drawing grid, so that dots and dashes have their true size.
fn sample(shape: &Shape, look: Look) -> Element {
    let path = Element::new("path");
    let piece = match shape {
        Shape::Band(_) => filled(path.with("d", "m0-12h48v24h-48z"), look),
        Shape::Points(_) => stroked(path.with("d", "m24 0h0"), look, 10.0),
        _ => dashed(stroked(path.with("d", "m0 0h48"), look, LINE_WIDTH), look),
    };
    Element::new("g")
        .with("transform", format_args!("scale({})", 1.0 / FINENESS))
        .child(piece)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(label: &str) -> Layer {
        Layer::line(label, [])
    }

    #[test]
    fn layers_of_one_label_look_alike_and_stand_in_the_legend_once() {
        let layers = [
            Layer::band("ours", []),
            line("ours"),
            line("paper"),
            Layer::vertical("stop", 1.0),
        ];
        let looks = looks(&layers);
        assert_eq!(
            looks[0].map(|look| look.colour),
            looks[1].map(|look| look.colour)
        );
        assert_ne!(looks[1], looks[2]);
        assert_eq!(looks[3], None);
        let legend = legend(&layers, &looks, 0.0, 0.0);
        assert_eq!((legend.entries.len(), legend.lines), (2, 1));
    }

    #[test]
    fn thirty_six_lines_can_be_told_apart() {
        let layers: Vec<Layer> = (0..36).map(|n| line(&format!("line {n}"))).collect();
        let strokes: std::collections::BTreeSet<String> = looks(&layers)
            .into_iter()
            .zip(&layers)
            .map(|(look, layer)| styled(Element::new("path"), &layer.shape, look).render())
            .collect();
        assert_eq!(strokes.len(), 36);
    }

    #[test]
    fn a_long_legend_continues_on_the_next_line() {
        let layers: Vec<Layer> = (0..12)
            .map(|n| line(&format!("client number {n}")))
            .collect();
        let legend = legend(&layers, &looks(&layers), 60.0, 10.0);
        assert_eq!(legend.entries.len(), 12);
        assert!((3..=4).contains(&legend.lines), "{}", legend.lines);
    }
}
