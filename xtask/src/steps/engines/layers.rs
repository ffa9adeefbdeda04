//! The layers of docs/ARCHITECTURE.md as a table. A crate may depend on lower layers only, not on
//! its neighbours: what two neighbours share belongs below them.

/// From the ground up; the order of the variants is the rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Layer {
    Vocabulary,
    Codecs,
    /// Mathematics that more than one engine may stand on.
    Models,
    Engines,
    /// Engines made of engines, and as pure.
    Assemblies,
    Worlds,
    Experiments,
    Shells,
    Services,
    Faces,
}

/// Crates that are planned are listed too, so that they are born into their place.
const TABLE: [(&str, Layer); 20] = [
    ("nearside", Layer::Faces),
    ("nearside-capi", Layer::Faces),
    ("nearside-net", Layer::Shells),
    ("nearside-master", Layer::Services),
    ("nearside-player", Layer::Services),
    ("nearside-directory", Layer::Services),
    ("nearside-sim", Layer::Experiments),
    ("nearside-world", Layer::Worlds),
    // Test support: networks of namespaces for the tests of shells and faces.
    ("nearside-testnet", Layer::Worlds),
    ("nearside-discover", Layer::Engines),
    ("nearside-origin", Layer::Engines),
    ("nearside-coords", Layer::Models),
    ("nearside-detour", Layer::Engines),
    ("nearside-placement", Layer::Engines),
    ("nearside-registry", Layer::Engines),
    ("nearside-tunnel", Layer::Assemblies),
    ("nearside-wire", Layer::Codecs),
    ("nearside-report", Layer::Codecs),
    ("nearside-origin-data", Layer::Vocabulary),
    ("nearside-types", Layer::Vocabulary),
];

impl Layer {
    /// `None` for crates that are not ours, or not in the table yet.
    pub(super) fn of(name: &str) -> Option<Self> {
        let entry = TABLE.iter().find(|(listed, _)| *listed == name);
        entry.map(|(_, layer)| *layer)
    }

    /// Pure crates have no I/O, no clock and no randomness of their own.
    pub(super) fn is_pure(self) -> bool {
        self <= Self::Assemblies
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engines_are_pure_and_what_drives_them_is_not() {
        assert!(Layer::of("nearside-types").is_some_and(Layer::is_pure));
        assert!(Layer::of("nearside-discover").is_some_and(Layer::is_pure));
        assert!(!Layer::of("nearside-world").is_some_and(Layer::is_pure));
        assert!(!Layer::of("nearside-net").is_some_and(Layer::is_pure));
    }

    #[test]
    fn foreign_crates_have_no_layer() {
        assert_eq!(Layer::of("serde"), None);
    }
}
