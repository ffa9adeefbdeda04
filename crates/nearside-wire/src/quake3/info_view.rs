use crate::CONNECTIONLESS;
use crate::steam;

/// The pairs of a server's answer where they lie, in its datagram. A master reads each of them once
/// and keeps little, so it copies nothing; clients take an [`InfoString`](super::InfoString).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InfoView<'a> {
    line: &'a [u8],
}

const INFO_RESPONSE: &[u8] = b"infoResponse";

impl<'a> InfoView<'a> {
    /// The first line of an `infoResponse`; `None` for any other datagram.
    pub fn of_response(datagram: &'a [u8]) -> Option<Self> {
        let command = datagram.strip_prefix(&CONNECTIONLESS)?;
        let rest = command.strip_prefix(INFO_RESPONSE)?;
        let line = match rest {
            [] => rest,
            [b'\n' | b' ', line @ ..] => line,
            _ => return None,
        };
        let end = line.iter().position(|byte| matches!(byte, b'\n' | 0));
        Some(Self {
            line: &line[..end.unwrap_or(line.len())],
        })
    }

    /// The pairs of a GoldSource server's join; `None` for any other datagram.
    pub fn of_join(datagram: &'a [u8]) -> Option<Self> {
        let line = datagram.strip_prefix(steam::JOIN)?;
        let ends = |byte: &u8| matches!(byte, b'\n' | b'\r' | 0);
        let length = line
            .iter()
            .rposition(|byte| !ends(byte))
            .map_or(0, |at| at + 1);
        Some(Self {
            line: &line[..length],
        })
    }

    /// Keys and values in the server's order; a last value may be missing.
    pub fn pairs(self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> {
        let line = self.line.strip_prefix(b"\\").unwrap_or(self.line);
        let mut parts = line.split(|byte| *byte == b'\\');
        std::iter::from_fn(move || Some((parts.next()?, parts.next().unwrap_or_default())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quake3::{InfoString, Response};
    use proptest::prelude::*;

    #[test]
    fn only_answers_and_joins_have_pairs() {
        let pairs = |view: Option<InfoView<'_>>| {
            let view = view.expect("such a datagram");
            view.pairs()
                .map(|(key, value)| (key.to_vec(), value.to_vec()))
                .collect::<Vec<_>>()
        };
        let expected = [(b"a".to_vec(), b"1".to_vec()), (b"b".to_vec(), vec![])];
        let answer = b"\xFF\xFF\xFF\xFFinfoResponse\n\\a\\1\\b\nmore";
        assert_eq!(pairs(InfoView::of_response(answer)), expected);
        assert_eq!(pairs(InfoView::of_join(b"0\n\\a\\1\\b\n")), expected);
        for other in [
            &b"\xFF\xFF\xFF\xFFinfoResponses\n\\a\\1"[..],
            b"\xFF\xFF\xFF\xFFstatusResponse\n\\a\\1",
            b"infoResponse\n\\a\\1",
        ] {
            assert_eq!(InfoView::of_response(other), None);
        }
        assert_eq!(InfoView::of_join(b"q"), None);
    }

    proptest! {
        #[test]
        fn a_view_shows_what_an_info_string_holds(
            pairs in prop::collection::vec(("[a-z_]{1,8}", "[ -\\[\\]-~]{0,12}"), 1..8)
        ) {
            let mut info = InfoString::new();
            pairs.iter().for_each(|(key, value)| info.push(key.as_str(), value.as_str()));
            let datagram = Response::Info(info.clone()).emit();
            let view = InfoView::of_response(&datagram).expect("an answer");
            let shown: Vec<_> = view.pairs().collect();
            let held: Vec<_> =
                info.pairs().iter().map(|(key, value)| (key.as_bytes(), value.as_bytes())).collect();
            prop_assert_eq!(shown, held);
        }
    }
}
