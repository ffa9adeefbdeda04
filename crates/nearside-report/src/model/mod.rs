//! The parts of a report. They know what is shown, not how: each face decides that for itself.

mod cell;
mod figure;
mod page;
mod report;
mod table;

pub use cell::{Better, Cell, Spread};
pub use figure::{Axis, Chart, Figure, Heat, Layer, Plot, Point, Scale, Shape, Span};
pub use page::{Chapter, Data, Page};
pub use report::{Evidence, Part, Report};
pub use table::{Column, Table};
