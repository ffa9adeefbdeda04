use serde::Serialize;

use super::Evidence;

/// A picture of numbers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Figure {
    /// A short name of small letters, digits and hyphens; no other part of the report has it. The
    /// SVG and CSV files are named by it.
    pub name: String,
    /// What the figure shows and what to look for, in a sentence or two.
    pub caption: String,
    /// How much it proves; `None` where nothing is measured.
    pub evidence: Option<Evidence>,
    /// What is drawn.
    pub plot: Plot,
}

/// The two forms of figures.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Plot {
    /// Points, lines and bands over two axes.
    Chart(Chart),
    /// A grid of coloured cells.
    Heat(Heat),
}

/// Layers over two axes; the first layer lies at the bottom.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Chart {
    /// From left to right.
    pub x: Axis,
    /// From bottom to top.
    pub y: Axis,
    /// The same height in other units, written at the right; its range is the height of the plane.
    pub right: Option<Axis>,
    /// In drawing order, which is also the order of the legend and of the colours.
    pub layers: Vec<Layer>,
}

/// What a direction means.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Axis {
    /// With the unit: `time (s)`.
    pub label: String,
    /// How values become distances.
    pub scale: Scale,
    /// What is shown; `None`: all the data. Data outside are not drawn.
    pub range: Option<(f64, f64)>,
}

/// How values become distances.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// Equal differences are equally far apart.
    Linear,
    /// Equal ratios are equally far apart. Zero and below cannot be shown and are left out.
    Log,
}

/// One thing drawn, and its line in the legend.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Layer {
    /// For the legend; empty for a layer that needs no explanation.
    pub label: String,
    /// What is drawn.
    pub shape: Shape,
}

/// What a layer draws. Points with a coordinate that is no number are gaps.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// A dot for each.
    Points(Vec<Point>),
    /// Straight lines from one to the next; in the order given.
    Line(Vec<Point>),
    /// Level until the next point, then straight up or down: distributions, running values.
    Steps(Vec<Point>),
    /// The area between two curves.
    Band(Vec<Span>),
    /// A line from bottom to top: the moment of the stop.
    Vertical {
        /// Where on the x axis.
        at: f64,
    },
    /// A line from left to right: a bound.
    Horizontal {
        /// Where on the y axis.
        at: f64,
    },
}

/// A place in a chart. In JSON, a pair.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(into = "(f64, f64)")]
pub struct Point {
    /// From left to right.
    pub x: f64,
    /// From bottom to top.
    pub y: f64,
}

/// A vertical slice of a band. In JSON, three numbers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(into = "(f64, f64, f64)")]
pub struct Span {
    /// Where on the x axis.
    pub x: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// A grid of coloured cells: one parameter across, one down, the result as colour and number.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Heat {
    /// What the columns are: `split prefix`.
    pub x: String,
    /// What the rows are: `calibration samples`.
    pub y: String,
    /// What the colour means, with its unit: `probes (% of a full scan)`.
    pub value: String,
    /// Names of the columns, from left to right.
    pub columns: Vec<String>,
    /// Names of the rows, from top to bottom.
    pub rows: Vec<String>,
    /// Row by row. What is missing or no number is drawn as an empty cell.
    pub values: Vec<Vec<f64>>,
    /// How many decimals of the values mean something to a reader.
    pub decimals: u8,
}

impl Figure {
    /// A chart without layers, to be filled with [`layer`](Self::layer).
    pub fn chart(name: impl Into<String>, caption: impl Into<String>, x: Axis, y: Axis) -> Self {
        let layers = Vec::new();
        Self::new(
            name,
            caption,
            Plot::Chart(Chart {
                x,
                y,
                right: None,
                layers,
            }),
        )
    }

    /// A heat map.
    pub fn heat(name: impl Into<String>, caption: impl Into<String>, heat: Heat) -> Self {
        Self::new(name, caption, Plot::Heat(heat))
    }

    fn new(name: impl Into<String>, caption: impl Into<String>, plot: Plot) -> Self {
        Self {
            name: name.into(),
            caption: caption.into(),
            evidence: None,
            plot,
        }
    }

    /// The same chart with one more layer on top; a heat map has no layers and stays as it is.
    #[must_use]
    pub fn layer(mut self, layer: Layer) -> Self {
        if let Plot::Chart(chart) = &mut self.plot {
            chart.layers.push(layer);
        }
        self
    }

    /// The same chart with a second scale at the right. Layers are drawn by the left one: values of
    /// the right one have to be converted.
    #[must_use]
    pub fn right_axis(mut self, axis: Axis) -> Self {
        if let Plot::Chart(chart) = &mut self.plot {
            chart.right = Some(axis);
        }
        self
    }

    /// How much the figure proves.
    #[must_use]
    pub fn evidence(mut self, evidence: Evidence) -> Self {
        self.evidence = Some(evidence);
        self
    }
}

impl Axis {
    /// A linear axis that shows all the data.
    pub fn linear(label: impl Into<String>) -> Self {
        Self {
            label: label.into(),
            scale: Scale::Linear,
            range: None,
        }
    }

    /// A logarithmic axis that shows all the data above zero.
    pub fn log(label: impl Into<String>) -> Self {
        let scale = Scale::Log;
        Self {
            scale,
            ..Self::linear(label)
        }
    }

    /// The same axis from `low` to `high`.
    #[must_use]
    pub fn range(mut self, low: f64, high: f64) -> Self {
        self.range = Some((low, high));
        self
    }
}

impl Layer {
    /// A dot for each point.
    pub fn points(label: impl Into<String>, points: impl IntoIterator<Item = Point>) -> Self {
        Self::new(label, Shape::Points(points.into_iter().collect()))
    }

    /// Straight lines from point to point.
    pub fn line(label: impl Into<String>, points: impl IntoIterator<Item = Point>) -> Self {
        Self::new(label, Shape::Line(points.into_iter().collect()))
    }

    /// Level until the next point.
    pub fn steps(label: impl Into<String>, points: impl IntoIterator<Item = Point>) -> Self {
        Self::new(label, Shape::Steps(points.into_iter().collect()))
    }

    /// The area between two curves.
    pub fn band(label: impl Into<String>, spans: impl IntoIterator<Item = Span>) -> Self {
        Self::new(label, Shape::Band(spans.into_iter().collect()))
    }

    /// A line from bottom to top.
    pub fn vertical(label: impl Into<String>, at: f64) -> Self {
        Self::new(label, Shape::Vertical { at })
    }

    /// A line from left to right.
    pub fn horizontal(label: impl Into<String>, at: f64) -> Self {
        Self::new(label, Shape::Horizontal { at })
    }

    /// The distribution of `values` as steps from 0 to 100 %; what is no number is left out.
    pub fn distribution(label: impl Into<String>, values: &[f64]) -> Self {
        let mut sorted: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        let percent = |rank: usize| 100.0 * rank as f64 / sorted.len() as f64;
        let start = sorted.first().map(|&x| Point { x, y: 0.0 });
        let steps = sorted.iter().enumerate().map(|(place, &x)| Point {
            x,
            y: percent(place + 1),
        });
        Self::steps(label, start.into_iter().chain(steps))
    }

    fn new(label: impl Into<String>, shape: Shape) -> Self {
        let label = label.into();
        Self { label, shape }
    }
}

impl From<(f64, f64)> for Point {
    fn from((x, y): (f64, f64)) -> Self {
        Self { x, y }
    }
}

impl From<Point> for (f64, f64) {
    fn from(Point { x, y }: Point) -> Self {
        (x, y)
    }
}

impl From<Span> for (f64, f64, f64) {
    fn from(Span { x, low, high }: Span) -> Self {
        (x, low, high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distribution_climbs_from_0_to_100_percent() {
        let layer = Layer::distribution("", &[30.0, f64::NAN, 10.0, 20.0, 20.0]);
        let Shape::Steps(points) = layer.shape else {
            panic!("steps expected")
        };
        let pairs: Vec<(f64, f64)> = points.into_iter().map(Into::into).collect();
        let expected = [
            (10.0, 0.0),
            (10.0, 25.0),
            (20.0, 50.0),
            (20.0, 75.0),
            (30.0, 100.0),
        ];
        assert_eq!(pairs, expected);
    }
}
