//! Layers over two axes: grid, marks, ticks, labels and legend.

use super::Drawing;
use super::layout::{EDGE, FINENESS, LINE, RIGHT, WIDTH, cut, px, text_width};
use super::marks::Plane;
use super::palette::{GRID, INK, PAPER, SOFT};
use super::ruler::{Ruler, Tick};
use super::series::{self, is_rule};
use crate::markup::Element;
use crate::model::{Chart, Layer, Shape};

/// Pixels of the plane from top to bottom: about the shape of the papers' figures.
const HEIGHT: f64 = 320.0;
/// Around the plane, so that dots on its edge are not cut in half.
const MARGIN: f64 = 3.0;
/// Between the axis and the labels of its ticks.
const TICK_GAP: f64 = 8.0;

pub(super) fn draw(chart: &Chart) -> Drawing {
    let frame = Frame::new(chart);
    let height = frame.bottom() + 2.0 * LINE + 2.0 * EDGE;
    let contents = [
        frame.grid(),
        frame.axes(),
        frame.marks(&chart.layers),
        frame.tick_labels(),
        frame.rule_labels(&chart.layers),
        frame.axis_labels(chart),
        Element::new("g").children(frame.legend.entries),
    ];
    Drawing {
        height,
        contents: contents.into(),
    }
}

/// Where things are.
struct Frame {
    left: f64,
    top: f64,
    plane: Plane,
    across: Vec<Tick>,
    up: Vec<Tick>,
    /// Ticks of the second scale, at the right.
    down: Vec<Tick>,
    looks: Vec<Option<series::Look>>,
    legend: series::Legend,
}

impl Frame {
    fn new(chart: &Chart) -> Self {
        let x = Ruler::new(&chart.x, chart.layers.iter().flat_map(across));
        let y = Ruler::new(&chart.y, chart.layers.iter().flat_map(up));
        let up = y.ticks();
        let second = chart.right.as_ref();
        let down = second.map_or(Vec::new(), |axis| {
            Ruler::new(axis, std::iter::empty()).ticks()
        });
        let left = (EDGE + widest(&up) + TICK_GAP).round();
        let right = RIGHT.max(EDGE + widest(&down) + TICK_GAP);
        let looks = series::looks(&chart.layers);
        let legend = series::legend(&chart.layers, &looks, EDGE, EDGE + LINE / 2.0);
        let top = EDGE + (legend.lines + 1) as f64 * LINE + 2.0 * TICK_GAP;
        let plane = Plane {
            x,
            y,
            width: (FINENESS * (WIDTH - left - right)) as i32,
            height: (FINENESS * HEIGHT) as i32,
        };
        Self {
            left,
            top,
            plane,
            across: x.ticks(),
            up,
            down,
            looks,
            legend,
        }
    }

    fn width(&self) -> f64 {
        f64::from(self.plane.width) / FINENESS
    }

    fn bottom(&self) -> f64 {
        self.top + HEIGHT
    }

    fn right(&self) -> f64 {
        self.left + self.width()
    }

    /// Where a share of the x axis is.
    fn x(&self, share: f64) -> f64 {
        self.left + share * self.width()
    }

    /// Where a share of the y axis is.
    fn y(&self, share: f64) -> f64 {
        self.bottom() - share * HEIGHT
    }

    fn grid(&self) -> Element {
        let columns = self.across.iter().map(|tick| {
            let x = px(self.x(tick.share));
            format!("M{x} {}V{}", px(self.top), px(self.bottom()))
        });
        let rows = self.up.iter().map(|tick| {
            let y = px(self.y(tick.share));
            format!("M{} {y}H{}", px(self.left), px(self.right()))
        });
        outline(columns.chain(rows).collect(), "grid", GRID.light)
    }

    fn axes(&self) -> Element {
        let [left, right, top, bottom] = [self.left, self.right(), self.top, self.bottom()].map(px);
        outline(format!("M{left} {top}V{bottom}H{right}"), "axis", INK.light)
    }

    /// A figure within the figure: it cuts what leaves the plane and has a finer grid.
    fn marks(&self, layers: &[Layer]) -> Element {
        let margin = FINENESS * MARGIN;
        let [width, height] = [self.plane.width, self.plane.height].map(f64::from);
        let [wide, high] = [width, height].map(|size| size + 2.0 * margin);
        let window = Element::new("svg")
            .with("x", px(self.left - MARGIN))
            .with("y", px(self.top - MARGIN))
            .with("width", px(wide / FINENESS))
            .with("height", px(high / FINENESS))
            .with("viewBox", format_args!("-{margin} -{margin} {wide} {high}"));
        window.children(layers.iter().zip(&self.looks).filter_map(|(layer, look)| {
            let path = self.plane.path(&layer.shape);
            let drawn = Element::new("path").with("d", &path);
            (!path.is_empty()).then(|| series::styled(drawn, &layer.shape, *look))
        }))
    }

    fn tick_labels(&self) -> Element {
        let below = px(self.bottom() + LINE);
        let across = self.across.iter().map(|tick| {
            let label = Element::of_text("text", &tick.label);
            label.with("x", px(self.x(tick.share))).with("y", &below)
        });
        let beside = px(self.left - TICK_GAP);
        let up = self.up.iter().map(|tick| {
            Element::of_text("text", &tick.label)
                .with("x", &beside)
                .with("y", px(self.y(tick.share)))
                .with("dy", "0.35em")
        });
        let beyond = px(self.right() + TICK_GAP);
        let down = self.down.iter().map(|tick| {
            Element::of_text("text", &tick.label)
                .with("x", &beyond)
                .with("y", px(self.y(tick.share)))
                .with("dy", "0.35em")
        });
        let group = |anchor| {
            let group = Element::new("g").class("soft").with("fill", SOFT.light);
            group.with("text-anchor", anchor)
        };
        let across = group("middle").children(across);
        Element::new("g")
            .child(across)
            .child(group("end").children(up))
            .children((!self.down.is_empty()).then(|| group("start").children(down)))
    }

    /// The name of the y axis stands above it, where it need not be read with a tilted head.
    fn axis_labels(&self, chart: &Chart) -> Element {
        let x = Element::of_text("text", cut(&chart.x.label, self.width()))
            .with("x", px(self.x(0.5)))
            .with("y", px(self.bottom() + 2.0 * LINE + TICK_GAP / 2.0))
            .with("text-anchor", "middle");
        let above = px(self.top - 2.0 * TICK_GAP);
        let y = Element::of_text("text", cut(&chart.y.label, WIDTH - 2.0 * EDGE))
            .with("x", px(EDGE))
            .with("y", &above);
        let second = chart.right.as_ref().map(|axis| {
            Element::of_text("text", cut(&axis.label, WIDTH / 2.0))
                .with("x", px(WIDTH - EDGE))
                .with("y", &above)
                .with("text-anchor", "end")
        });
        let names = Element::new("g").class("ink").child(x).child(y);
        names.children(second)
    }

    /// Labels of straight lines stand beside them, those of upright ones below each other.
    fn rule_labels(&self, layers: &[Layer]) -> Element {
        let mut group = Element::new("g");
        let mut line = 0.0;
        for layer in layers.iter().filter(|layer| is_rule(layer)) {
            let label = match layer.shape {
                Shape::Vertical { at } => {
                    line += 1.0;
                    self.beside_vertical(&layer.label, self.plane.x.share(at), line)
                }
                Shape::Horizontal { at } => {
                    self.above_horizontal(&layer.label, self.plane.y.share(at))
                }
                _ => None,
            };
            group = group.children(label);
        }
        group
    }

    fn beside_vertical(&self, label: &str, share: f64, line: f64) -> Option<Element> {
        let (dx, anchor) = if share > 0.6 {
            (-6.0, "end")
        } else {
            (6.0, "start")
        };
        let y = self.top + line * LINE - 4.0;
        let label = halo(label, self.x(share) + dx, y, self.width() * 0.55);
        is_inside(share).then(|| label.with("text-anchor", anchor))
    }

    fn above_horizontal(&self, label: &str, share: f64) -> Option<Element> {
        let y = self.y(share);
        let y = if y - LINE < self.top {
            y + LINE - 3.0
        } else {
            y - 6.0
        };
        let label = halo(label, self.right() - 4.0, y, self.width());
        is_inside(share).then(|| label.with("text-anchor", "end"))
    }
}

fn widest(ticks: &[Tick]) -> f64 {
    let widths = ticks.iter().map(|tick| text_width(&tick.label));
    widths.fold(0.0, f64::max)
}

fn is_inside(share: f64) -> bool {
    (0.0..=1.0).contains(&share)
}

fn outline(path: String, class: &'static str, colour: &'static str) -> Element {
    Element::new("path")
        .class(class)
        .with("d", path)
        .with("stroke", colour)
        .with("fill", "none")
}

/// Text that can be read on top of marks.
fn halo(label: &str, x: f64, y: f64, room: f64) -> Element {
    Element::of_text("text", cut(label, room))
        .class("ink halo")
        .with("x", px(x))
        .with("y", px(y))
        .with("stroke", PAPER.light)
        .with("stroke-width", 4)
        .with("stroke-linejoin", "round")
        .with("paint-order", "stroke")
}

/// All values that a layer has on the x axis.
fn across(layer: &Layer) -> Vec<f64> {
    match &layer.shape {
        Shape::Points(points) | Shape::Line(points) | Shape::Steps(points) => {
            points.iter().map(|point| point.x).collect()
        }
        Shape::Band(spans) => spans.iter().map(|span| span.x).collect(),
        Shape::Vertical { at } => vec![*at],
        Shape::Horizontal { .. } => Vec::new(),
    }
}

/// All values that a layer has on the y axis.
fn up(layer: &Layer) -> Vec<f64> {
    match &layer.shape {
        Shape::Points(points) | Shape::Line(points) | Shape::Steps(points) => {
            points.iter().map(|point| point.y).collect()
        }
        Shape::Band(spans) => spans
            .iter()
            .flat_map(|span| [span.low, span.high])
            .collect(),
        Shape::Horizontal { at } => vec![*at],
        Shape::Vertical { .. } => Vec::new(),
    }
}
