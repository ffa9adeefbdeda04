//! A figure in words, for readers who do not see it.

use super::heat;
use crate::model::{Axis, Chart, Heat, Layer, Plot, Shape};
use crate::numbers;

pub(super) fn describe(plot: &Plot) -> String {
    match plot {
        Plot::Chart(chart) => describe_chart(chart),
        Plot::Heat(heat) => describe_heat(heat),
    }
}

fn describe_chart(chart: &Chart) -> String {
    let layers: Vec<String> = chart.layers.iter().map(describe_layer).collect();
    let shown = if layers.is_empty() {
        "nothing".to_owned()
    } else {
        layers.join("; ")
    };
    let second = chart.right.as_ref().map_or(String::new(), |axis| {
        format!(", with {} at the right", name(axis))
    });
    format!(
        "{} against {}{second}. Shown: {shown}.",
        name(&chart.y),
        name(&chart.x)
    )
}

fn name(axis: &Axis) -> &str {
    if axis.label.is_empty() {
        "values"
    } else {
        &axis.label
    }
}

fn describe_layer(layer: &Layer) -> String {
    let label = if layer.label.is_empty() {
        "unnamed"
    } else {
        &layer.label
    };
    match &layer.shape {
        Shape::Points(points) => format!("{label}, {}", count(points.len(), "point")),
        Shape::Line(points) => format!("{label}, line of {}", count(points.len(), "point")),
        Shape::Steps(points) => format!("{label}, steps of {}", count(points.len(), "point")),
        Shape::Band(spans) => format!("{label}, band of {}", count(spans.len(), "point")),
        Shape::Vertical { at } => format!("{label}, upright line at {}", numbers::brief(*at)),
        Shape::Horizontal { at } => format!("{label}, level line at {}", numbers::brief(*at)),
    }
}

fn describe_heat(map: &Heat) -> String {
    let (rows, columns) = (map.rows.len(), map.columns.len());
    let what = format!(
        "{} by {} ({rows} rows) and {} ({columns} columns).",
        map.value, map.y, map.x
    );
    match heat::extent(map) {
        None => format!("{what} No cell has a value."),
        Some((low, high)) => {
            let [low, high] = [low, high].map(|value| numbers::fixed(value, map.decimals));
            format!("{what} Lowest {low}, highest {high}.")
        }
    }
}

fn count(number: usize, noun: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{} {noun}{ending}", numbers::count(number as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Figure;

    #[test]
    fn a_chart_is_told_layer_by_layer() {
        let (x, y) = (Axis::linear("time (s)"), Axis::linear("RTT (ms)"));
        let figure = Figure::chart("f", "", x, y)
            .layer(Layer::points("probes", [(0.0, 1.0).into()]))
            .layer(Layer::vertical("auto-stop", 35.52));
        let expected = "RTT (ms) against time (s). \
                        Shown: probes, 1 point; auto-stop, upright line at 35.52.";
        assert_eq!(describe(&figure.plot), expected);
    }
}
