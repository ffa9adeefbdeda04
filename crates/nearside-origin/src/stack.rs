//! Several sources as one: the most trusted is asked first, the others fill what it leaves open.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use crate::info::{OriginInfo, SourceKind};
use crate::snapshot::Snapshot;
use crate::timestamp::Timestamp;

/// Snapshots in the order of [`SourceKind`]: overrides, live BGP, MRT, files, embedded; of one kind,
/// in the order they were added. A value to share and to replace as a whole: cloning copies a few
/// pointers.
#[derive(Debug, Clone, Default)]
pub struct Stack {
    layers: Vec<Snapshot>,
}

impl Stack {
    /// A stack that knows nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same with one more source. One of the same kind and label is replaced: that is how a
    /// file that changed, or a newer live table, comes in.
    #[must_use]
    pub fn with(mut self, snapshot: Snapshot) -> Self {
        let same = |layer: &&mut Snapshot| {
            (layer.source(), layer.label()) == (snapshot.source(), snapshot.label())
        };
        if let Some(layer) = self.layers.iter_mut().find(same) {
            *layer = snapshot;
            return self;
        }
        let source = snapshot.source();
        let at = self
            .layers
            .partition_point(|layer| layer.source() <= source);
        self.layers.insert(at, snapshot);
        self
    }

    /// The same without the source of this kind and label, if it is there.
    #[must_use]
    pub fn without(mut self, source: SourceKind, label: &str) -> Self {
        self.layers
            .retain(|layer| (layer.source(), layer.label()) != (source, label));
        self
    }

    /// The sources, the first asked first.
    pub fn layers(&self) -> &[Snapshot] {
        &self.layers
    }

    /// What is known of `ip`. The AS and the country may come from two sources; prefix, source and
    /// age are those of the one that spoke for the AS.
    pub fn lookup(&self, ip: IpAddr, now: Timestamp) -> OriginInfo {
        let ip = ip.to_canonical();
        let mut known = OriginInfo::default();
        for layer in &self.layers {
            known = fill(known, layer.lookup(ip, now));
            if known.asn.is_some() && known.country.is_some() {
                break;
            }
        }
        known
    }

    /// The sources whose data is older than [`OLD`] at `now`.
    pub fn warnings(&self, now: Timestamp) -> Vec<AgeWarning> {
        let old = self.layers.iter().filter_map(|layer| {
            let age = layer.age(now).filter(|age| *age > OLD)?;
            Some(AgeWarning {
                source: layer.source(),
                label: layer.label().to_owned(),
                age,
            })
        });
        old.collect()
    }
}

/// 180 days. Networks change hands all the time, and hosters' new ranges, where game servers live,
/// are what an old table lacks first; docs/origin.md says how to get a newer one.
pub const OLD: Duration = Duration::from_secs(180 * 86_400);

/// Keeps what is known and takes what is missing; whoever brings the AS signs for the answer.
fn fill(known: OriginInfo, more: OriginInfo) -> OriginInfo {
    let signer = if known.asn.is_some() || (known.source.is_some() && more.asn.is_none()) {
        known
    } else {
        more
    };
    OriginInfo {
        asn: known.asn.or(more.asn),
        country: known.country.or(more.country),
        ..signer
    }
}

/// A source is old: a sentence with a next step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgeWarning {
    /// What kind of source.
    pub source: SourceKind,
    /// What it is called.
    pub label: String,
    /// How old its data is.
    pub age: Duration,
}

impl fmt::Display for AgeWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let days = self.age.as_secs() / 86_400;
        let (source, label) = (self.source, &self.label);
        write!(f, "origin data `{label}` ({source}) is {days} days old; ")?;
        match source {
            SourceKind::Embedded => write!(f, "update the program or install a newer table"),
            SourceKind::Bgp => write!(f, "check that the router still sends routes"),
            _ => write!(f, "replace it with a newer one"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder::TableBuilder;
    use nearside_types::{Asn, Origin, Prefix};

    const NOW: Timestamp = Timestamp::from_unix_seconds(1_000 * 86_400);

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    /// A source that knows one network.
    fn knows(source: SourceKind, network: &str, length: u8, asn: u32, country: &str) -> Snapshot {
        let mut builder = TableBuilder::default();
        let origin = Origin {
            asn: (asn != 0).then_some(Asn(asn)),
            country: country.parse().ok(),
        };
        builder.add_prefix(Prefix::new(ip(network), length), origin);
        Snapshot::new(source, network, builder.finish().0)
    }

    fn days_ago(days: u64) -> Timestamp {
        Timestamp::from_unix_seconds(NOW.unix_seconds() - days * 86_400)
    }

    #[test]
    fn sources_are_asked_in_the_order_of_trust_however_they_came() {
        use SourceKind::{Bgp, Embedded, File, Mrt, Override};
        let stack = [Embedded, File, Override, Mrt, Bgp]
            .into_iter()
            .fold(Stack::new(), |stack, kind| {
                stack.with(knows(kind, "5.9.0.0", 16, 1, "DE"))
            });
        let kinds: Vec<SourceKind> = stack.layers().iter().map(Snapshot::source).collect();
        assert_eq!(kinds, [Override, Bgp, Mrt, File, Embedded]);
        let source = |stack: &Stack| stack.lookup(ip("5.9.1.1"), NOW).source;
        assert_eq!(source(&stack), Some(Override));
        let stack = stack.without(Override, "5.9.0.0");
        assert_eq!(source(&stack), Some(Bgp));
    }

    #[test]
    fn a_later_source_fills_the_missing_half_and_the_as_names_the_source() {
        let live = knows(SourceKind::Bgp, "5.9.0.0", 16, 24940, "").with_date(days_ago(0));
        let table = knows(SourceKind::Embedded, "5.0.0.0", 8, 1, "DE").with_date(days_ago(90));
        let info = Stack::new()
            .with(table)
            .with(live)
            .lookup(ip("5.9.1.1"), NOW);
        assert_eq!(info.asn, Some(Asn(24940)));
        assert_eq!(info.country, "DE".parse().ok());
        assert_eq!(info.source, Some(SourceKind::Bgp));
        assert_eq!(info.age, Some(Duration::ZERO));
        assert_eq!(info.prefix, Some(Prefix::new(ip("5.9.0.0"), 16)));
    }

    #[test]
    fn an_override_of_the_country_leaves_the_as_to_the_table() {
        let own = knows(SourceKind::Override, "5.9.7.0", 24, 0, "FI");
        let table = knows(SourceKind::Embedded, "5.9.0.0", 16, 24940, "DE");
        let stack = Stack::new().with(table).with(own);
        let info = stack.lookup(ip("5.9.7.1"), NOW);
        assert_eq!(info.country, "FI".parse().ok());
        assert_eq!(info.asn, Some(Asn(24940)));
        assert_eq!(info.source, Some(SourceKind::Embedded));
    }

    #[test]
    fn who_knows_only_a_country_signs_when_nobody_knows_the_as() {
        let file = knows(SourceKind::File, "5.9.0.0", 16, 0, "DE");
        let info = Stack::new()
            .with(file)
            .with(knows(SourceKind::Embedded, "5.0.0.0", 8, 0, "FR"))
            .lookup(ip("5.9.0.1"), NOW);
        assert_eq!(info.source, Some(SourceKind::File));
        assert_eq!(info.country, "DE".parse().ok());
    }

    #[test]
    fn nothing_known_is_nothing_said() {
        let stack = Stack::new().with(knows(SourceKind::File, "5.9.0.0", 16, 1, "DE"));
        assert_eq!(stack.lookup(ip("9.9.9.9"), NOW), OriginInfo::default());
        assert_eq!(stack.lookup(ip("::1"), NOW), OriginInfo::default());
    }

    #[test]
    fn mapped_addresses_are_unmapped() {
        let stack = Stack::new().with(knows(SourceKind::File, "5.9.0.0", 16, 1, "DE"));
        let mapped = stack.lookup(ip("::ffff:5.9.1.1"), NOW);
        assert_eq!(mapped, stack.lookup(ip("5.9.1.1"), NOW));
        assert_eq!(mapped.asn, Some(Asn(1)));
    }

    #[test]
    fn a_newer_snapshot_takes_the_place_of_the_old_one() {
        let stack = Stack::new().with(knows(SourceKind::File, "5.9.0.0", 16, 1, "DE"));
        let reader = stack.clone();
        let stack = stack.with(knows(SourceKind::File, "5.9.0.0", 16, 2, "DE"));
        assert_eq!(stack.layers().len(), 1);
        assert_eq!(stack.lookup(ip("5.9.0.1"), NOW).asn, Some(Asn(2)));
        assert_eq!(reader.lookup(ip("5.9.0.1"), NOW).asn, Some(Asn(1)));
    }

    #[test]
    fn data_older_than_180_days_is_warned_of_with_a_next_step() {
        let dated = |days| {
            let table = knows(SourceKind::Embedded, "5.9.0.0", 16, 1, "DE");
            Stack::new().with(table.with_date(days_ago(days)))
        };
        assert_eq!(dated(180).warnings(NOW), []);
        let warnings = dated(181).warnings(NOW);
        let text = warnings[0].to_string();
        assert!(
            text.contains("181 days") && text.contains("newer"),
            "{text}"
        );
        let undated = Stack::new().with(knows(SourceKind::File, "5.9.0.0", 16, 1, ""));
        assert_eq!(undated.warnings(NOW), []);
    }
}
