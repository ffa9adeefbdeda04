//! From values to places along an axis, and the ticks that tell a reader the values again.

use crate::model::{Axis, Scale};
use crate::numbers;

/// How many ticks an axis aims at; round steps make it a few more or less.
const TICKS: f64 = 6.0;

/// An axis whose ends are known. Both ends are finite and differ.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ruler {
    scale: Scale,
    low: f64,
    high: f64,
}

/// A value worth a mark.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tick {
    /// Share of the axis' length from its beginning.
    pub(super) share: f64,
    pub(super) label: String,
}

impl Ruler {
    /// Long enough for the axis' own range, or else for all `values` with round ends.
    pub(super) fn new(axis: &Axis, values: impl Iterator<Item = f64>) -> Self {
        let fits = |value: &f64| value.is_finite() && (axis.scale == Scale::Linear || *value > 0.0);
        let given = axis
            .range
            .filter(|(low, high)| fits(low) && fits(high) && low < high);
        if let Some((low, high)) = given {
            let scale = axis.scale;
            return Self { scale, low, high }.apart();
        }
        let extent = values
            .filter(fits)
            .fold(None, |extent, value| match extent {
                None => Some((value, value)),
                Some((low, high)) => Some((value.min(low), value.max(high))),
            });
        match (axis.scale, extent) {
            (Scale::Linear, extent) => Self::linear_around(extent.unwrap_or((0.0, 1.0))),
            (Scale::Log, extent) => Self::log_around(extent.unwrap_or((1.0, 10.0))),
        }
    }

    pub(super) fn low(&self) -> f64 {
        self.low
    }

    /// Where `value` lies: 0 at the beginning, 1 at the end, beyond both outside; not a number where
    /// the scale has no place for it.
    pub(super) fn share(&self, value: f64) -> f64 {
        match self.scale {
            // Halves, since the difference of two huge ends may be infinite.
            Scale::Linear => (value / 2.0 - self.low / 2.0) / (self.high / 2.0 - self.low / 2.0),
            Scale::Log if value > 0.0 => {
                (value.ln() - self.low.ln()) / (self.high.ln() - self.low.ln())
            }
            Scale::Log => f64::NAN,
        }
    }

    /// In ascending order, none outside.
    pub(super) fn ticks(&self) -> Vec<Tick> {
        let mut values = match self.scale {
            Scale::Linear => self.multiples(),
            Scale::Log => self.round_ratios(),
        };
        // One or two ratios on a short logarithmic axis: differences tell more.
        if values.len() < 3 {
            values = self.multiples();
        }
        let decimals = decimals(&values);
        let tick = |value: f64| Tick {
            share: self.share(value),
            label: label(value, decimals),
        };
        let inside = |tick: &Tick| (0.0..=1.0).contains(&tick.share);
        values.into_iter().map(tick).filter(inside).collect()
    }

    /// From zero where that wastes no more than half of the axis.
    fn linear_around((low, high): (f64, f64)) -> Self {
        let low = if low > 0.0 && low <= high / 2.0 {
            0.0
        } else {
            low
        };
        let high = if high < 0.0 && high >= low / 2.0 {
            0.0
        } else {
            high
        };
        let scale = Scale::Linear;
        let bare = Self { scale, low, high }.apart();
        let step = bare.step();
        let (below, above) = ((bare.low / step).floor(), (bare.high / step).ceil());
        let round = Self {
            scale,
            low: below * step,
            high: above * step,
        };
        if round.is_usable() { round } else { bare }
    }

    fn log_around((low, high): (f64, f64)) -> Self {
        let scale = Scale::Log;
        let bare = Self { scale, low, high }.apart();
        let round = Self {
            scale,
            low: round_down(bare.low),
            high: round_up(bare.high),
        };
        if round.is_usable() { round } else { bare }
    }

    fn is_usable(&self) -> bool {
        let positive = self.scale == Scale::Linear || self.low > 0.0;
        self.low.is_finite() && self.high.is_finite() && self.low < self.high && positive
    }

    /// Both ends moved outwards if there is next to nothing between them.
    fn apart(self) -> Self {
        let size = self.low.abs().max(self.high.abs());
        if self.high / 2.0 - self.low / 2.0 > size * 1e-9 {
            return self;
        }
        match self.scale {
            Scale::Log => Self {
                // The smallest number has no half.
                low: Some(self.low / 2.0)
                    .filter(|half| *half > 0.0)
                    .unwrap_or(self.low),
                high: (self.high * 2.0).min(f64::MAX),
                ..self
            },
            Scale::Linear if size < 1e-300 => Self {
                low: self.low - 0.5,
                high: self.high + 0.5,
                ..self
            },
            Scale::Linear => Self {
                low: (self.low - size * 0.1).max(f64::MIN),
                high: (self.high + size * 0.1).min(f64::MAX),
                ..self
            },
        }
    }

    /// The round number nearest to the distance of two ticks.
    fn step(&self) -> f64 {
        let raw = (self.high / TICKS - self.low / TICKS).max(f64::MIN_POSITIVE);
        let magnitude = 10f64.powf(raw.log10().floor());
        let step = match raw / magnitude {
            part if part < 1.5 => magnitude,
            part if part < 3.2 => 2.0 * magnitude,
            part if part < 7.1 => 5.0 * magnitude,
            _ => 10.0 * magnitude,
        };
        if step.is_normal() { step } else { raw }
    }

    fn multiples(&self) -> Vec<f64> {
        let step = self.step();
        let first = (self.low / step).ceil();
        let values = (0..4 * TICKS as u32).map(|count| (first + f64::from(count)) * step);
        values.take_while(|value| *value <= self.high).collect()
    }

    /// Powers of ten, with their double and fivefold where there is room, or only every few powers
    /// where there is none.
    fn round_ratios(&self) -> Vec<f64> {
        let (first, last) = (
            self.low.log10().floor() as i32,
            self.high.log10().ceil() as i32,
        );
        let decades = last - first;
        let factors: &[f64] = if decades <= 3 {
            &[1.0, 2.0, 5.0]
        } else {
            &[1.0]
        };
        let stride = (f64::from(decades) / TICKS).ceil().max(1.0) as usize;
        let powers = (first..=last)
            .step_by(stride)
            .map(|power| 10f64.powi(power));
        let values = powers.flat_map(|power| factors.iter().map(move |factor| factor * power));
        values
            .filter(|value| (self.low..=self.high).contains(value))
            .collect()
    }
}

/// The next 1, 2 or 5 times a power of ten at or below `value`.
fn round_down(value: f64) -> f64 {
    let power = 10f64.powf(value.log10().floor());
    let ratio = value / power * (1.0 + 1e-9);
    let factor = [5.0, 2.0, 1.0].into_iter().find(|factor| *factor <= ratio);
    factor.unwrap_or(0.5) * power
}

/// The next 1, 2 or 5 times a power of ten at or above `value`.
fn round_up(value: f64) -> f64 {
    let power = 10f64.powf(value.log10().floor());
    let ratio = value / power * (1.0 - 1e-9);
    let factor = [1.0, 2.0, 5.0].into_iter().find(|factor| *factor >= ratio);
    factor.unwrap_or(10.0) * power
}

/// The fewest decimals that lose nothing of any tick; `None` where exponents are shorter.
fn decimals(values: &[f64]) -> Option<u8> {
    let largest = values
        .iter()
        .fold(0f64, |most, value| most.max(value.abs()));
    if largest >= 1e7 {
        return None;
    }
    let gaps = values.windows(2).map(|pair| pair[1] - pair[0]);
    let least = gaps.fold(f64::INFINITY, f64::min);
    let loss = |value: f64, decimals: u8| {
        let unit = 10f64.powi(-i32::from(decimals));
        (value - (value / unit).round() * unit).abs()
    };
    (0..=6).find(|&decimals| {
        values
            .iter()
            .all(|&value| loss(value, decimals) < least * 1e-3)
    })
}

fn label(value: f64, decimals: Option<u8>) -> String {
    match decimals {
        Some(decimals) => numbers::fixed(value, decimals),
        None if value == 0.0 => "0".to_owned(),
        None => {
            let text = format!("{value:.2e}");
            let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
            let digits = digits.trim_end_matches('0').trim_end_matches('.');
            format!("{digits}e{power}").replace('-', "−")
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn labels(axis: &Axis, values: &[f64]) -> Vec<String> {
        let ruler = Ruler::new(axis, values.iter().copied());
        ruler.ticks().into_iter().map(|tick| tick.label).collect()
    }

    #[test]
    fn ticks_are_round_and_reach_both_ends() {
        let axis = Axis::linear("");
        assert_eq!(
            labels(&axis, &[3.0, 230.0]),
            ["0", "50", "100", "150", "200", "250"]
        );
        assert_eq!(
            labels(&axis, &[0.1, 0.52]),
            ["0.0", "0.1", "0.2", "0.3", "0.4", "0.5", "0.6"]
        );
        assert_eq!(
            labels(&axis, &[-5.0, 5.0]),
            ["−6", "−4", "−2", "0", "2", "4", "6"]
        );
        assert_eq!(labels(&axis, &[2000.0, 30_110.0])[1], "5,000");
        assert_eq!(labels(&axis, &[96.0, 99.0])[0], "96.0");
    }

    #[test]
    fn a_given_range_is_kept() {
        let ruler = Ruler::new(&Axis::linear("").range(0.0, 42.0), [700.0].into_iter());
        assert_eq!((ruler.low(), ruler.high), (0.0, 42.0));
        let senseless = Ruler::new(&Axis::log("").range(0.0, 42.0), [700.0].into_iter());
        assert!(senseless.low() > 0.0 && senseless.high >= 700.0);
    }

    #[test]
    fn logarithmic_ticks_are_round_ratios() {
        let axis = Axis::log("");
        let few = ["1", "2", "5", "10", "20", "50", "100", "200", "500"];
        assert_eq!(labels(&axis, &[1.5, 400.0]), few);
        let many = labels(&axis, &[1.0, 1e6]);
        assert_eq!(
            many,
            ["1", "10", "100", "1,000", "10,000", "100,000", "1,000,000"]
        );
    }

    #[test]
    fn large_and_tiny_values_have_exponents() {
        assert_eq!(
            labels(&Axis::linear(""), &[0.0, 2e9]),
            ["0", "5e8", "1e9", "1.5e9", "2e9"]
        );
        assert_eq!(labels(&Axis::linear(""), &[0.0, 2e-9])[1], "5e−10");
    }

    proptest! {
        #[test]
        fn any_data_give_a_ruler_with_its_values_inside(
            values in prop::collection::vec(any::<f64>(), 0..6),
            log: bool,
        ) {
            let axis = if log { Axis::log("") } else { Axis::linear("") };
            let ruler = Ruler::new(&axis, values.iter().copied());
            prop_assert!(ruler.is_usable(), "{ruler:?}");
            let ticks = ruler.ticks();
            prop_assert!(ticks.len() <= 30);
            prop_assert!(ticks.iter().all(|tick| (0.0..=1.0).contains(&tick.share)));
            for value in values.into_iter().filter(|v| v.is_finite() && (!log || *v > 0.0)) {
                let share = ruler.share(value);
                prop_assert!((-1e-9..=1.0 + 1e-9).contains(&share), "{value} at {share}");
            }
        }

        #[test]
        fn ordinary_data_have_between_three_and_fifteen_ticks(
            low in -1e6f64..1e6,
            length in 1e-3f64..1e6,
            log: bool,
        ) {
            let axis = if log { Axis::log("") } else { Axis::linear("") };
            let low = if log { low.abs() + 1.0 } else { low };
            let ticks = labels(&axis, &[low, low + length]);
            prop_assert!((3..=15).contains(&ticks.len()), "{ticks:?}");
        }
    }
}
