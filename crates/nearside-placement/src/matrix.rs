use thiserror::Error;

use crate::Delay;

/// A table of one-way or round-trip delays; what cannot be reached is [`Delay::UNREACHABLE`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DelayMatrix {
    rows: usize,
    columns: usize,
    cells: Vec<Delay>,
}

/// Why numbers are not a matrix of delays, and where. Rows and columns count from 0, as in JSON.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum MatrixError {
    /// A cell is negative, not finite or absurdly long.
    #[error(
        "[{row}][{column}]: {millis} is not a delay (write milliseconds from 0 to 1e9, or null where there is no path)"
    )]
    Cell {
        /// The row of the cell.
        row: usize,
        /// Its column.
        column: usize,
        /// What stands there.
        millis: f64,
    },
    /// A row is longer or shorter than the first.
    #[error("[{row}] has {found} cells where row 0 has {expected}")]
    Ragged {
        /// The row.
        row: usize,
        /// Cells of the first row.
        expected: usize,
        /// Cells of this row.
        found: usize,
    },
}

impl DelayMatrix {
    /// A matrix of milliseconds, `None` where there is no path.
    ///
    /// # Errors
    /// When a cell is no delay, or rows differ in length.
    pub fn from_millis<Row>(rows: impl IntoIterator<Item = Row>) -> Result<Self, MatrixError>
    where
        Row: IntoIterator<Item = Option<f64>>,
    {
        let mut builder = MatrixBuilder::default();
        for row in rows {
            for cell in row {
                builder.push(cell)?;
            }
            builder.end_row()?;
        }
        Ok(builder.finish())
    }

    /// A matrix whose cells are computed.
    pub fn from_fn(
        rows: usize,
        columns: usize,
        mut cell: impl FnMut(usize, usize) -> Delay,
    ) -> Self {
        let mut cells = Vec::with_capacity(rows * columns);
        for row in 0..rows {
            cells.extend((0..columns).map(|column| cell(row, column)));
        }
        Self {
            rows,
            columns,
            cells,
        }
    }

    /// How many rows.
    pub const fn rows(&self) -> usize {
        self.rows
    }

    /// How many columns.
    pub const fn columns(&self) -> usize {
        self.columns
    }

    /// One cell.
    ///
    /// # Panics
    /// Outside the matrix.
    pub fn get(&self, row: usize, column: usize) -> Delay {
        self.row(row)[column]
    }

    /// One row.
    ///
    /// # Panics
    /// Outside the matrix.
    pub fn row(&self, row: usize) -> &[Delay] {
        &self.cells[row * self.columns..][..self.columns]
    }

    /// Overwrites one cell.
    pub(crate) fn set(&mut self, row: usize, column: usize, delay: Delay) {
        self.cells[row * self.columns + column] = delay;
    }

    /// Adds a row at the end.
    pub(crate) fn push_row(&mut self, row: &[Delay]) {
        debug_assert_eq!(row.len(), self.columns);
        self.cells.extend_from_slice(row);
        self.rows += 1;
    }

    /// Removes a row; those below move up.
    pub(crate) fn remove_row(&mut self, row: usize) {
        self.cells
            .drain(row * self.columns..(row + 1) * self.columns);
        self.rows -= 1;
    }

    /// Changes every cell in place.
    pub(crate) fn map(&mut self, change: impl Fn(Delay) -> Delay) {
        for cell in &mut self.cells {
            *cell = change(*cell);
        }
    }
}

/// Takes a matrix cell by cell, so that a large file needs no second copy of itself.
#[derive(Debug, Default)]
pub(crate) struct MatrixBuilder {
    rows: usize,
    columns: Option<usize>,
    cells: Vec<Delay>,
}

impl MatrixBuilder {
    /// The row being filled, and the column that comes next.
    pub(crate) fn position(&self) -> (usize, usize) {
        (self.rows, self.cells.len() - self.row_start())
    }

    fn row_start(&self) -> usize {
        self.rows * self.columns.unwrap_or(0)
    }

    pub(crate) fn push(&mut self, millis: Option<f64>) -> Result<(), MatrixError> {
        let delay = match millis {
            None => Delay::UNREACHABLE,
            Some(millis) => Delay::from_millis(millis).ok_or_else(|| {
                let (row, column) = self.position();
                MatrixError::Cell {
                    row,
                    column,
                    millis,
                }
            })?,
        };
        self.cells.push(delay);
        Ok(())
    }

    pub(crate) fn end_row(&mut self) -> Result<(), MatrixError> {
        let (row, found) = self.position();
        let expected = *self.columns.get_or_insert(found);
        if found != expected {
            return Err(MatrixError::Ragged {
                row,
                expected,
                found,
            });
        }
        self.rows += 1;
        Ok(())
    }

    pub(crate) fn finish(self) -> DelayMatrix {
        DelayMatrix {
            rows: self.rows,
            columns: self.columns.unwrap_or(0),
            cells: self.cells,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(rows: &[&[Option<f64>]]) -> Result<DelayMatrix, MatrixError> {
        DelayMatrix::from_millis(rows.iter().map(|row| row.iter().copied()))
    }

    #[test]
    fn cells_keep_their_places_and_gaps() {
        let matrix = read(&[&[Some(1.0), None, Some(3.0)], &[Some(4.0); 3]]).unwrap();
        assert_eq!((matrix.rows(), matrix.columns()), (2, 3));
        assert_eq!(matrix.get(0, 1), Delay::UNREACHABLE);
        assert_eq!(matrix.get(1, 2).as_millis(), 4.0);
    }

    #[test]
    fn a_bad_cell_is_named() {
        let error = read(&[&[Some(1.0), Some(2.0)], &[Some(3.0), Some(-4.0)]]).unwrap_err();
        assert!(error.to_string().starts_with("[1][1]: -4 "), "{error}");
        let error = read(&[&[Some(f64::NAN)]]).unwrap_err();
        assert!(matches!(
            error,
            MatrixError::Cell {
                row: 0,
                column: 0,
                ..
            }
        ));
    }

    #[test]
    fn a_row_of_another_length_is_named() {
        let error = read(&[&[Some(1.0), None], &[None]]).unwrap_err();
        let ragged = MatrixError::Ragged {
            row: 1,
            expected: 2,
            found: 1,
        };
        assert_eq!(error, ragged);
    }
}
