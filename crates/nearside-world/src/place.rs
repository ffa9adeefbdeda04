/// A point on the globe.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Position {
    /// Degrees north of the equator.
    pub latitude: f64,
    /// Degrees east of Greenwich.
    pub longitude: f64,
}

/// Mean radius of the Earth (IUGG).
const EARTH_RADIUS_KM: f64 = 6371.0;

impl Position {
    /// The point at so many degrees north and east.
    pub const fn new(latitude: f64, longitude: f64) -> Self {
        Self {
            latitude,
            longitude,
        }
    }

    /// Whether the degrees are those of a place on Earth.
    pub fn is_valid(self) -> bool {
        (-90.0..=90.0).contains(&self.latitude) && (-180.0..=180.0).contains(&self.longitude)
    }

    /// Great-circle distance by the haversine formula, which stays exact for small distances.
    pub fn distance_km(self, other: Self) -> f64 {
        let (from, to) = (self.latitude.to_radians(), other.latitude.to_radians());
        let half_height = (to - from) / 2.0;
        let half_width = (other.longitude - self.longitude).to_radians() / 2.0;
        let chord = half_height.sin().powi(2) + from.cos() * to.cos() * half_width.sin().powi(2);
        2.0 * EARTH_RADIUS_KM * chord.sqrt().min(1.0).asin()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_distances_come_out_within_a_percent() {
        let london = Position::new(51.5, -0.1);
        let sydney = Position::new(-33.9, 151.2);
        let new_york = Position::new(40.7, -74.0);
        assert!((london.distance_km(new_york) - 5570.0).abs() < 50.0);
        assert!((london.distance_km(sydney) - 16_990.0).abs() < 100.0);
        assert_eq!(sydney.distance_km(sydney), 0.0);
    }

    #[test]
    fn the_date_line_is_no_barrier() {
        let east = Position::new(0.0, 179.5);
        let west = Position::new(0.0, -179.5);
        assert!((east.distance_km(west) - 111.2).abs() < 0.5);
    }
}
