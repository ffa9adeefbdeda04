use nearside_types::Rtt;

/// How a node moves in the coordinate space. The defaults are the papers' where they give one.
#[derive(Debug, Clone, PartialEq)]
pub struct VivaldiConfig {
    /// Dimensions of the plane beside the height; all nodes of a system must agree. Default 4: on
    /// PlanetLab 2 to 7 differ by less than a point of median error, 4 is best.
    pub dimensions: usize,
    /// `cc` of the Vivaldi paper, section 4.5: the share of the weighted miss a node moves by.
    /// Default 0.25.
    pub step_gain: f64,
    /// `ce` of the same section: how quickly a node's error follows its misses. Default 0.25.
    pub error_gain: f64,
    /// Errors below this count as this when two nodes' errors are weighed, so that a neighbour that
    /// claims none cannot take all the weight. Default 0.05.
    pub least_error: f64,
    /// No height sinks below this: the first mile takes some time. Default 0.1 ms.
    pub least_height: Rtt,
    /// No measurement moves a node further, in plane and height together and gravity included: bounds
    /// what one liar can do at once. Default 100 ms.
    pub longest_step: Rtt,
    /// Round trips above this are not believed. Default 5 s.
    pub longest_rtt: Rtt,
    /// Samples of the per-neighbour filter (Ledlie et al., section 3). Default 4.
    pub filter_window: usize,
    /// The percentile the filter gives, 0 to 1. Default 0.25, as Ledlie et al. chose.
    pub filter_percentile: f64,
    /// Whether the first round trip to a neighbour is thrown away. Default `true`; simulators that
    /// replay clean matrices turn it off.
    pub skip_first: bool,
    /// Samples whose misses make the adjustment (Lee et al. 2006), 0 for none. Default 0: it made no
    /// estimate better on the worlds we tried, where heights already take what is common to all legs.
    pub adjustment_window: usize,
    /// ρ of the gravity (Ledlie et al., section 5), 0 for none: at this distance from the origin a
    /// measurement also pulls a node back by 1 ms. Default 1 s: far outside the real Internet.
    pub gravity_radius: Rtt,
}

impl Default for VivaldiConfig {
    fn default() -> Self {
        Self {
            dimensions: 4,
            step_gain: 0.25,
            error_gain: 0.25,
            least_error: 0.05,
            least_height: Rtt::from_micros(100),
            longest_step: Rtt::from_micros(100_000),
            longest_rtt: Rtt::from_micros(5_000_000),
            filter_window: 4,
            filter_percentile: 0.25,
            skip_first: true,
            adjustment_window: 0,
            gravity_radius: Rtt::from_micros(1_000_000),
        }
    }
}

impl VivaldiConfig {
    /// For recorded matrices: every value is already a median, so nothing is filtered or skipped.
    pub fn for_matrices() -> Self {
        Self {
            filter_window: 1,
            skip_first: false,
            ..Self::default()
        }
    }
}
