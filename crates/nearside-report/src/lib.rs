//! What an experiment shows: a [`Report`] of tables, figures and words, and its faces. Writes no
//! file and reads no clock: experiments fill a report, the binary decides where its bytes go.
//!
//! - [`text`]: tables for a terminal.
//! - [`csv`]: one file for each table, and the data of each figure.
//! - [`json`]: everything, for scripts.
//! - [`mod@svg`]: figures as pictures.
//! - [`html`]: one page with many reports.
//! - [`files`]: all of these with their file names.
//!
//! All faces show the same numbers under the same names, and the same report gives the same bytes.

pub mod csv;
mod escape;
pub mod files;
pub mod html;
pub mod json;
mod markup;
mod model;
mod names;
mod numbers;
pub mod svg;
pub mod text;
mod words;

pub use model::{
    Axis, Better, Cell, Chapter, Chart, Column, Data, Evidence, Figure, Heat, Layer, Page, Part,
    Plot, Point, Report, Scale, Shape, Span, Spread, Table,
};
