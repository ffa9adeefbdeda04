//! The simulated network of the paper's section 4, and what is varied on it.

use nearside_placement::network::NetworkParams;
use nearside_placement::{Delay, Instance};

use crate::experiment::Size;

/// What the paper varies, apart from the bound.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Setting {
    /// Delays between servers as a share of the network's.
    pub(super) factor: f64,
    /// Clients that a server takes; `None` for any number.
    pub(super) capacity: Option<u32>,
}

/// Shares of the network's delay between servers. The paper shows 0.25 and says that its findings
/// hold for any.
pub(super) const FACTORS: [f64; 4] = [0.1, 0.25, 0.5, 1.0];

/// The one the paper shows.
pub(super) const PUBLISHED_FACTOR: f64 = 0.25;

/// Clients of a server in Figure 3(b).
pub(super) const PLACES: u32 = 10;

/// The bounds of the paper's horizontal axes.
pub(super) fn bounds() -> Vec<Delay> {
    let millis = (20..=42).step_by(2);
    let delay = |ms: i32| Delay::from_millis(f64::from(ms)).expect("a small number");
    millis.map(delay).collect()
}

impl Setting {
    /// Any number of clients on a server, at this share.
    pub(super) const fn unbounded(factor: f64) -> Self {
        Self {
            factor,
            capacity: None,
        }
    }

    /// The same network at another share.
    pub(super) const fn at(self, factor: f64) -> Self {
        Self { factor, ..self }
    }

    /// An instance of this setting. All settings of one seed are on the same network.
    pub(super) fn instance(self, size: Size, seed: u64) -> Instance {
        let published = NetworkParams {
            server_factor: self.factor,
            ..NetworkParams::default()
        };
        let params = match size {
            Size::Full => published,
            Size::Quick => NetworkParams {
                routers: 20,
                servers: 24,
                clients: 12,
                ..published
            },
        };
        let instance = params.generate(seed);
        match self.capacity {
            Some(places) => instance.with_capacity(places),
            None => instance,
        }
    }
}
