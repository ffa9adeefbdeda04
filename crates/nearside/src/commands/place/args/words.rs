//! Values as users write them.

use std::str::FromStr;

use nearside_placement::Latency;
use nearside_placement::distributed::NodeId;

use crate::cli::positive;

/// Bounds as users write them: `24`, or `20-42/2`.
#[derive(Debug, Clone, PartialEq)]
pub struct Bounds(pub Vec<f64>);

impl FromStr for Bounds {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || format!("`{text}`: write milliseconds, or a range such as 20-42/2");
        let number = |part: &str| not_negative(part).map_err(|_| wrong());
        let Some((range, step)) = text.split_once('/') else {
            return Ok(Self(vec![number(text)?]));
        };
        let (from, to) = range.split_once('-').ok_or_else(wrong)?;
        let (from, to, step) = (
            number(from)?,
            number(to)?,
            positive(step).map_err(|_| wrong())?,
        );
        let steps = ((to - from) / step + 1e-9).floor();
        match (0.0..10_000.0).contains(&steps) {
            true => Ok(Self(
                (0..=steps as u32)
                    .map(|n| from + f64::from(n) * step)
                    .collect(),
            )),
            false => Err(wrong()),
        }
    }
}

/// A node as users write it: `s3` or `c7`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeArg(pub NodeId);

impl FromStr for NodeArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong =
            || format!("`{text}`: write s and a server's number, or c and a player's, from 0");
        let number = text
            .get(1..)
            .and_then(|digits| digits.parse().ok())
            .ok_or_else(wrong)?;
        match text.as_bytes()[0] {
            b's' => Ok(Self(NodeId::Server(number))),
            b'c' => Ok(Self(NodeId::Client(number))),
            _ => Err(wrong()),
        }
    }
}

/// A crash as users write it: `tokyo@2`.
#[derive(Debug, Clone, PartialEq)]
pub struct CrashArg {
    /// The name of a server or player.
    pub name: String,
    /// After how many seconds.
    pub after: f64,
}

impl FromStr for CrashArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, after) = text
            .rsplit_once('@')
            .ok_or_else(|| format!("`{text}`: write NAME@SECONDS, such as tokyo@2"))?;
        Ok(Self {
            name: name.to_owned(),
            after: not_negative(after)?,
        })
    }
}

pub(super) fn not_negative(text: &str) -> Result<f64, String> {
    text.parse::<f64>()
        .ok()
        .filter(|number| (0.0..=1e9).contains(number))
        .ok_or_else(|| "write a number from 0 to 1e9".to_owned())
}

pub(super) fn latency(text: &str) -> Result<Latency, String> {
    match text {
        "one-way" | "one_way" => Ok(Latency::OneWay),
        "round-trip" | "round_trip" => Ok(Latency::RoundTrip),
        _ => Err("write one-way or round-trip".to_owned()),
    }
}
