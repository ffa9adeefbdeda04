//! Who originated a route: the far end of its AS_PATH (RFC 4271 section 4.3, RFC 6793).

use nearside_types::Asn;

use super::cursor::Cursor;

/// How wide AS numbers are in an AS_PATH: two octets from speakers that predate RFC 6793.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AsWidth {
    Two,
    Four,
}

impl AsWidth {
    pub(crate) fn read(self, cursor: &mut Cursor<'_>) -> Option<u32> {
        match self {
            Self::Two => cursor.u16().map(u32::from),
            Self::Four => cursor.u32(),
        }
    }

    fn octets(self) -> usize {
        match self {
            Self::Two => 2,
            Self::Four => 4,
        }
    }
}

/// What an AS_PATH says about the origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PathOrigin {
    /// No AS is named: the route was born in the AS of the speaker itself.
    Local,
    /// The last AS of the path, or the only member of a set at its end.
    As(Asn),
    /// A set of several: an aggregate, whose origin nobody can tell (RFC 9774 deprecates it).
    Several,
}

/// An AS_PATH reduced to what origin lookup needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AsPath {
    pub(crate) origin: PathOrigin,
    /// Length as RFC 4271 section 9.1.2.2 counts it: a set is one, a confederation none.
    pub(crate) hops: usize,
}

const AS_SET: u8 = 1;
const AS_SEQUENCE: u8 = 2;
const AS_CONFED_SEQUENCE: u8 = 3;
const AS_CONFED_SET: u8 = 4;

impl AsPath {
    /// `None` for what RFC 7606 section 7.2 calls malformed: an unknown segment type, an empty
    /// segment, one that runs past the end; and for AS 0, which RFC 7607 adds.
    pub(crate) fn parse(bytes: &[u8], width: AsWidth) -> Option<Self> {
        let mut path = Self {
            origin: PathOrigin::Local,
            hops: 0,
        };
        let mut cursor = Cursor::new(bytes);
        while !cursor.is_empty() {
            path.add_segment(&mut cursor, width)?;
        }
        Some(path)
    }

    fn add_segment(&mut self, cursor: &mut Cursor<'_>, width: AsWidth) -> Option<()> {
        let kind = cursor.u8()?;
        let count = usize::from(cursor.u8()?);
        let mut members = Cursor::new(cursor.take(count * width.octets())?);
        let mut segment = Segment::default();
        while let Some(asn) = width.read(&mut members) {
            segment.add(asn)?;
        }
        let last = Asn(segment.last?);
        match kind {
            AS_SEQUENCE => (self.origin, self.hops) = (PathOrigin::As(last), self.hops + count),
            AS_SET if segment.uniform => {
                (self.origin, self.hops) = (PathOrigin::As(last), self.hops + 1);
            }
            AS_SET => (self.origin, self.hops) = (PathOrigin::Several, self.hops + 1),
            // Inside a confederation: not on the public path (RFC 5065 section 5.3).
            AS_CONFED_SEQUENCE | AS_CONFED_SET => {}
            _ => return None,
        }
        Some(())
    }

    /// The true path of a route that came through a two-octet speaker: AS4_PATH replaces the tail of
    /// AS_PATH, unless it is longer and so cannot belong to it (RFC 6793 section 4.2.3).
    pub(crate) fn with_as4(self, as4: Self) -> Self {
        if as4.hops == 0 || self.hops < as4.hops {
            return self;
        }
        let origin = as4.origin;
        Self { origin, ..self }
    }
}

/// The members of a segment, as far as they matter.
#[derive(Default)]
struct Segment {
    last: Option<u32>,
    uniform: bool,
}

impl Segment {
    fn add(&mut self, asn: u32) -> Option<()> {
        if asn == 0 {
            return None;
        }
        self.uniform = self.last.is_none_or(|last| self.uniform && last == asn);
        self.last = Some(asn);
        Some(())
    }
}

/// Stands for an AS number that does not fit in two octets (RFC 6793 section 9).
pub(crate) const AS_TRANS: u16 = 23_456;

#[cfg(test)]
mod tests {
    use super::*;

    fn four(segments: &[(u8, &[u32])]) -> Vec<u8> {
        let segment = |(kind, members): &(u8, &[u32])| {
            let octets = members.iter().flat_map(|asn| asn.to_be_bytes());
            [*kind, members.len() as u8]
                .into_iter()
                .chain(octets)
                .collect::<Vec<_>>()
        };
        segments.iter().flat_map(segment).collect()
    }

    fn origin(segments: &[(u8, &[u32])]) -> Option<PathOrigin> {
        AsPath::parse(&four(segments), AsWidth::Four).map(|path| path.origin)
    }

    #[test]
    fn the_origin_is_the_last_as_of_a_sequence() {
        let path = origin(&[(AS_SEQUENCE, &[174, 3356, 24_940])]);
        assert_eq!(path, Some(PathOrigin::As(Asn(24_940))));
        let path = origin(&[(AS_CONFED_SEQUENCE, &[65_001]), (AS_SEQUENCE, &[174])]);
        assert_eq!(path, Some(PathOrigin::As(Asn(174))));
        assert_eq!(origin(&[]), Some(PathOrigin::Local));
        let inside = origin(&[(AS_CONFED_SEQUENCE, &[65_001])]);
        assert_eq!(inside, Some(PathOrigin::Local));
    }

    #[test]
    fn a_set_has_an_origin_only_with_a_single_member() {
        let several = origin(&[(AS_SEQUENCE, &[174]), (AS_SET, &[1, 2])]);
        assert_eq!(several, Some(PathOrigin::Several));
        let single = origin(&[(AS_SEQUENCE, &[174]), (AS_SET, &[7])]);
        assert_eq!(single, Some(PathOrigin::As(Asn(7))));
        let repeated = origin(&[(AS_SET, &[7, 7, 7])]);
        assert_eq!(repeated, Some(PathOrigin::As(Asn(7))));
        let mixed = origin(&[(AS_SET, &[7, 8, 8])]);
        assert_eq!(mixed, Some(PathOrigin::Several));
    }

    #[test]
    fn broken_paths_have_no_origin_at_all() {
        assert_eq!(AsPath::parse(&[2, 2, 0, 0, 0, 1], AsWidth::Four), None);
        assert_eq!(AsPath::parse(&[2, 0], AsWidth::Four), None);
        assert_eq!(AsPath::parse(&[9, 1, 0, 0, 0, 1], AsWidth::Four), None);
        assert_eq!(AsPath::parse(&[2], AsWidth::Two), None);
        assert_eq!(origin(&[(AS_SEQUENCE, &[174, 0])]), None);
    }

    #[test]
    fn as4_path_speaks_only_when_it_fits_behind_the_short_path() {
        let short = [2, 3, 0, 174, 0x5B, 0xA0, 0x5B, 0xA0];
        let short = AsPath::parse(&short, AsWidth::Two).unwrap();
        assert_eq!(short.origin, PathOrigin::As(Asn(u32::from(AS_TRANS))));
        let fits = four(&[(AS_SEQUENCE, &[200_000, 210_000])]);
        let fits = AsPath::parse(&fits, AsWidth::Four).unwrap();
        assert_eq!(short.with_as4(fits).origin, PathOrigin::As(Asn(210_000)));
        let longer = four(&[(AS_SEQUENCE, &[1, 2, 3, 4])]);
        let longer = AsPath::parse(&longer, AsWidth::Four).unwrap();
        assert_eq!(short.with_as4(longer), short);
    }
}
