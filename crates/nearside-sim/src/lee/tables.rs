//! Tables and curves over the bound, and over the shares of the network's delay between servers.

use nearside_report::{Axis, Better, Cell, Column, Evidence, Figure, Layer, Point, Table};

use super::method::{Method, Run};
use super::sweep::Sweep;

/// What is shown of runs.
pub(super) struct Measure {
    /// The table's name.
    pub(super) name: &'static str,
    /// The vertical axis: `servers`.
    pub(super) axis: &'static str,
    /// From a run.
    pub(super) of: fn(&Run) -> f64,
}

/// A curve for each of `methods`, means over the instances that can be compared.
pub(super) fn curves(
    name: &str,
    caption: String,
    sweep: &Sweep,
    methods: &[Method],
    measure: &Measure,
) -> Figure {
    let x = Axis::linear("delay bound (ms)");
    let y = Axis::linear(measure.axis);
    let curve = |&method: &Method| {
        let points = sweep
            .bounds
            .iter()
            .enumerate()
            .filter_map(|(place, bound)| {
                let x = bound.as_millis();
                let y = mean(&sweep.compared(place, method, measure.of))?;
                Some(Point { x, y })
            });
        Layer::line(method.label(), points)
    };
    let chart = Figure::chart(name, caption, x, y).evidence(Evidence::NotFitted);
    methods.iter().map(curve).fold(chart, Figure::layer)
}

/// A row for each bound, a column for each method.
pub(super) fn by_bound(caption: String, sweep: &Sweep, measure: &Measure) -> Table {
    let table = Table::new(measure.name, caption)
        .column(Column::new("bound").heading("delay bound").unit("ms"))
        .column(Column::new("compared").heading("instances").not_fitted());
    let mut table = with_methods(table, &sweep.methods);
    for (place, bound) in sweep.bounds.iter().enumerate() {
        let values = |method: &Method| sweep.compared(place, *method, measure.of);
        let compared = values(&sweep.methods[0]).len();
        let cells = sweep.methods.iter().map(|method| {
            let values = values(method);
            Cell::spread(&values, Better::Low, 2)
        });
        let start = [Cell::number(bound.as_millis(), 0), compared.into()];
        table.push(start.into_iter().chain(cells));
    }
    table
}

/// At each bound, instances that have a solution, and those on which each method found one.
pub(super) fn feasible(sweep: &Sweep) -> Table {
    let instances = sweep.instances();
    let caption = format!(
        "Instances of {instances} on which each method keeps the bound. Where the optimum does and \
         step 1 (nearest) does not, the paper's algorithm gives up although a solution exists"
    );
    let table = Table::new("feasible", caption)
        .column(Column::new("bound").heading("delay bound").unit("ms"))
        .column(Column::new("proven").heading("optimum or its absence proven"));
    let mut table = with_methods(table, &sweep.methods);
    for (place, bound) in sweep.bounds.iter().enumerate() {
        let found = |method: &Method| Cell::from(sweep.found(place, *method));
        let proven = sweep.proven(place, Method::Optimum);
        let start = [Cell::number(bound.as_millis(), 0), proven.into()];
        table.push(start.into_iter().chain(sweep.methods.iter().map(found)));
    }
    table
}

/// A row for each share of the network's delay between servers: servers over those of the optimum.
pub(super) fn by_factor(sweeps: &[Sweep]) -> Table {
    let caption = "Servers over those of the optimum, summed over all bounds of an instance; by the \
                   share of the network's delay that is left between servers";
    let table = Table::new("factors", caption).column(Column::new("factor"));
    let methods: Vec<Method> = sweeps[0].methods.clone();
    let methods: Vec<Method> = methods
        .into_iter()
        .filter(|&method| method != Method::Optimum)
        .collect();
    let mut table = with_methods(table, &methods);
    for sweep in sweeps {
        let ratios = |&method: &Method| {
            let ratios = sweep.ratios(method, Method::Optimum);
            Cell::spread(&ratios, Better::Low, 3)
        };
        let start = [Cell::number(sweep.setting.factor, 2)];
        table.push(start.into_iter().chain(methods.iter().map(ratios)));
    }
    table
}

/// The table with a column for each method.
pub(super) fn with_methods(table: Table, methods: &[Method]) -> Table {
    methods.iter().fold(table, |table, method| {
        let column = Column::new(method.column()).heading(method.label());
        table.column(column.not_fitted())
    })
}

/// `None` without values.
pub(super) fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}
