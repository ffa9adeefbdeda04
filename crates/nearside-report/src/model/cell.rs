use serde::{Serialize, Serializer};

/// One place of a table.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// A word or a sentence.
    Text(String),
    /// Something counted.
    Count(u64),
    /// Something measured. Not a number at all is shown like [`Cell::Missing`].
    Number {
        /// The value at full precision; CSV and JSON have all of it.
        value: f64,
        /// How many decimals mean something to a reader.
        decimals: u8,
    },
    /// The same measurement over several seeds.
    Spread(Spread),
    /// Not known, or senseless here.
    Missing,
}

/// A measurement over several seeds: mean ± standard deviation, and the worst seed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// The arithmetic mean.
    pub mean: f64,
    /// The standard deviation of the sample (divided by n − 1); 0 for a single value.
    pub deviation: f64,
    /// The value of the seed that did worst.
    pub worst: f64,
    /// How many decimals mean something to a reader.
    pub decimals: u8,
}

/// Which way a measurement improves; the worst seed lies the other way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// Less is better: probes, seconds, bytes.
    Low,
    /// More is better: recall, share of the oracle's gain.
    High,
}

impl Cell {
    /// A measured value and how many of its decimals mean something.
    pub fn number(value: f64, decimals: u8) -> Self {
        Self::Number { value, decimals }
    }

    /// Mean, deviation and worst of one value for each seed; [`Cell::Missing`] without any.
    pub fn spread(values: &[f64], better: Better, decimals: u8) -> Self {
        Spread::of(values, better, decimals).map_or(Self::Missing, Self::Spread)
    }
}

impl Spread {
    /// `None` if there are no values.
    pub fn of(values: &[f64], better: Better, decimals: u8) -> Option<Self> {
        let worst = match better {
            Better::Low => values.iter().copied().reduce(f64::max)?,
            Better::High => values.iter().copied().reduce(f64::min)?,
        };
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        Some(Self {
            mean,
            deviation: deviation(values, mean),
            worst,
            decimals,
        })
    }
}

fn deviation(values: &[f64], mean: f64) -> f64 {
    if values.len() < 2 {
        return 0.0;
    }
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (squares / (values.len() - 1) as f64).sqrt()
}

/// For scripts: text is a string, a number a number (`null` when it is none), and a spread an object
/// of `mean`, `deviation` and `worst`. How many decimals a reader sees is no matter of theirs.
impl Serialize for Cell {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => serializer.serialize_str(text),
            Self::Count(count) => serializer.serialize_u64(*count),
            Self::Number { value, .. } => serializer.serialize_f64(*value),
            Self::Spread(spread) => spread.serialize(serializer),
            Self::Missing => serializer.serialize_unit(),
        }
    }
}

impl Serialize for Spread {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct as _;
        let mut fields = serializer.serialize_struct("Spread", 3)?;
        fields.serialize_field("mean", &self.mean)?;
        fields.serialize_field("deviation", &self.deviation)?;
        fields.serialize_field("worst", &self.worst)?;
        fields.end()
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<u64> for Cell {
    fn from(count: u64) -> Self {
        Self::Count(count)
    }
}

impl From<usize> for Cell {
    fn from(count: usize) -> Self {
        Self::Count(count as u64)
    }
}

impl From<Spread> for Cell {
    fn from(spread: Spread) -> Self {
        Self::Spread(spread)
    }
}

/// What is not known is missing.
impl<T: Into<Self>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Missing, Into::into)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_has_mean_sample_deviation_and_the_worst_seed() {
        let spread = Spread::of(&[2.0, 4.0, 9.0], Better::Low, 1).unwrap();
        assert_eq!(spread.mean, 5.0);
        assert!((spread.deviation - 13f64.sqrt()).abs() < 1e-12);
        assert_eq!(spread.worst, 9.0);
        let recall = Spread::of(&[0.97, 0.75, 0.99], Better::High, 2).unwrap();
        assert_eq!(recall.worst, 0.75);
    }

    #[test]
    fn one_seed_has_no_deviation_and_no_seed_no_spread() {
        assert_eq!(Spread::of(&[3.0], Better::Low, 0).unwrap().deviation, 0.0);
        assert_eq!(Cell::spread(&[], Better::Low, 0), Cell::Missing);
    }

    #[test]
    fn what_is_not_known_is_missing() {
        assert_eq!(Cell::from(None::<u64>), Cell::Missing);
        assert_eq!(Cell::from(Some(7_u64)), Cell::Count(7));
    }
}
