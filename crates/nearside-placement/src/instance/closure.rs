//! Shortest paths between servers, by Floyd and Warshall: n³ steps, a second for 1,000 servers.

use crate::{Delay, DelayMatrix};

/// Replaces every delay by that of the shortest path over any servers.
pub(super) fn close(between: &mut DelayMatrix) {
    for over in 0..between.rows() {
        let onward = between.row(over).to_vec();
        for from in 0..between.rows() {
            let first_leg = between.get(from, over);
            if first_leg.is_usable() {
                shorten(between, from, first_leg, &onward);
            }
        }
    }
}

/// Offers the row of `from` a path that begins with `first_leg`.
fn shorten(between: &mut DelayMatrix, from: usize, first_leg: Delay, onward: &[Delay]) {
    for (to, &second_leg) in onward.iter().enumerate() {
        let path = first_leg + second_leg;
        if second_leg.is_usable() && path < between.get(from, to) {
            between.set(from, to, path);
        }
    }
}

pub(super) fn is_closed(between: &DelayMatrix) -> bool {
    let mut closed = between.clone();
    close(&mut closed);
    closed == *between
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix(rows: [[Option<f64>; 3]; 3]) -> DelayMatrix {
        DelayMatrix::from_millis(rows).unwrap()
    }

    #[test]
    fn a_path_over_a_third_server_replaces_a_longer_or_unknown_one() {
        let mut between = matrix([
            [Some(0.0), Some(1.0), Some(9.0)],
            [Some(1.0), Some(0.0), Some(2.0)],
            [None, Some(2.0), Some(0.0)],
        ]);
        assert!(!is_closed(&between));
        close(&mut between);
        assert_eq!(between.get(0, 2).as_millis(), 3.0);
        assert_eq!(between.get(2, 0).as_millis(), 3.0);
        assert!(is_closed(&between));
    }

    #[test]
    fn what_no_path_reaches_stays_unreachable() {
        let mut between = matrix([
            [Some(0.0), Some(1.0), None],
            [Some(1.0), Some(0.0), None],
            [None, None, Some(0.0)],
        ]);
        close(&mut between);
        assert_eq!(between.get(0, 2), Delay::UNREACHABLE);
    }
}
