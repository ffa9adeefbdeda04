//! The fuzz targets' bodies, fed by proptest: arbitrary bytes, and bytes that look enough like
//! messages to get past the headers.

use nearside_wire::fuzzing;
use proptest::collection::vec;
use proptest::prelude::*;

/// Any bytes, or any bytes behind one of these openings.
fn behind(openings: &'static [&'static [u8]]) -> impl Strategy<Value = Vec<u8>> {
    let opening = prop_oneof![1 => Just(&b""[..]), 6 => proptest::sample::select(openings)];
    (opening, vec(any::<u8>(), 0..300)).prop_map(|(opening, rest)| [opening, &rest].concat())
}

/// Text made of the characters that formats give a meaning to, and a few that they do not.
fn syntax(alphabet: &'static [u8]) -> impl Strategy<Value = Vec<u8>> {
    vec(proptest::sample::select(alphabet), 0..120)
}

fn datagrams() -> impl Strategy<Value = Vec<u8>> {
    let small = prop_oneof![3 => 0u8..6, 1 => any::<u8>()];
    let datagram = (any::<u8>(), vec(small, 0..20)).prop_map(|(start, body)| {
        let length = body.len() as u8;
        [vec![length, start], body].concat()
    });
    (any::<u8>(), vec(datagram, 0..40)).prop_map(|(form, all)| [vec![form], all.concat()].concat())
}

/// Many cases, since each takes microseconds; failing ones are printed and become samples by hand.
fn config() -> ProptestConfig {
    ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(20_000)
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a2s_replies_of_any_bytes_are_read_or_refused(
        bytes in behind(&[
            b"\xFF\xFF\xFF\xFFI",
            b"\xFF\xFF\xFF\xFFI\x11a\0b\0c\0d\0\x60\x09",
            b"\xFF\xFF\xFF\xFFI\x11a\0b\0c\0d\0\xF0\0\x01\x02\x03dl\0\x011\0",
            b"\xFF\xFF\xFF\xFFm",
            b"\xFF\xFF\xFF\xFFma\0b\0c\0d\0e\0\x01\x02\x03DL\0\x01",
            b"\xFF\xFF\xFF\xFFD",
            b"\xFF\xFF\xFF\xFFD\x01\0a\0\0\0\0\0\0\0\0\0",
            b"\xFF\xFF\xFF\xFFE",
            b"\xFF\xFF\xFF\xFFA",
        ])
    ) {
        fuzzing::a2s_response(&bytes);
    }

    #[test]
    fn a2s_requests_of_any_bytes_are_read_or_refused(
        bytes in behind(&[
            b"\xFF\xFF\xFF\xFFT",
            b"\xFF\xFF\xFF\xFFTSource Engine Query\0",
            b"\xFF\xFF\xFF\xFFU",
            b"\xFF\xFF\xFF\xFFV",
        ])
    ) {
        fuzzing::a2s_request(&bytes);
    }

    #[test]
    fn any_sequence_of_datagrams_stays_within_the_limits(bytes in datagrams()) {
        fuzzing::a2s_reassembler(&bytes);
    }

    #[test]
    fn quake3_messages_of_any_bytes_are_read_or_refused(
        bytes in behind(&[
            b"\xFF\xFF\xFF\xFFinfoResponse\n\\",
            b"\xFF\xFF\xFF\xFFstatusResponse\n\\",
            b"\xFF\xFF\xFF\xFFgetinfo ",
            b"\xFF\xFF\xFF\xFFgetstatus",
        ])
    ) {
        fuzzing::quake3_response(&bytes);
    }

    #[test]
    fn quake3_player_lines_of_any_syntax_are_read_or_left_out(text in syntax(b"01-\" \n\r\\a")) {
        fuzzing::quake3_response(&[b"\xFF\xFF\xFF\xFFstatusResponse\n", &text[..]].concat());
    }

    #[test]
    fn quake3_lists_of_any_bytes_are_read_or_refused(
        bytes in behind(&[
            b"\xFF\xFF\xFF\xFFgetserversResponse\\",
            b"\xFF\xFF\xFF\xFFgetserversExtResponse/",
            b"\xFF\xFF\xFF\xFFgetservers 84 ",
            b"\xFF\xFF\xFF\xFFgetserversExt et ",
            b"\xFF\xFF\xFF\xFFck ",
        ])
    ) {
        fuzzing::quake3_master(&bytes);
    }

    #[test]
    fn quake3_entries_of_any_syntax_are_read_or_refused(text in syntax(b"\\/EOT\0\x01AZ")) {
        let plain = [b"\xFF\xFF\xFF\xFFgetserversResponse", &text[..]].concat();
        fuzzing::quake3_master(&plain);
    }

    #[test]
    fn steam_lists_of_any_bytes_are_read_or_refused(
        bytes in behind(&[
            b"\xFF\xFF\xFF\xFFf\n",
            b"\xFF\xFF\xFF\xFFfC",
            b"\xFF\xFF\xFF\xFFA",
            b"1\xFF0.0.0.0:0\0\\",
        ])
    ) {
        fuzzing::steam_master(&bytes);
    }

    #[test]
    fn heartbeats_of_any_bytes_are_read_or_refused(
        bytes in behind(&[
            b"\xFF\xFF\xFF\xFFheartbeat ",
            b"\xFF\xFF\xFF\xFFs\n",
            b"0\n\\challenge\\",
            b"q",
        ])
    ) {
        fuzzing::heartbeat(&bytes);
    }

    #[test]
    fn filters_of_any_bytes_are_read_or_refused(bytes in behind(&[b"\\nor\\2\\", b"\\a\\b\\"])) {
        fuzzing::steam_filter(&bytes);
    }

    #[test]
    fn filters_of_any_syntax_are_read_or_refused(
        words in vec(proptest::sample::select(&["\\", "nor", "or", "1", "2", "a", "origin"][..]), 0..60)
    ) {
        fuzzing::steam_filter(words.concat().as_bytes());
    }

    #[test]
    fn no_text_disturbs_a_terminal(bytes in vec(any::<u8>(), 0..200)) {
        fuzzing::game_text(&bytes);
    }

    #[test]
    fn no_unicode_text_disturbs_a_terminal(
        chars in vec(
            prop_oneof![
                any::<char>(),
                proptest::sample::select(&['\u{1B}', '[', ']', '^', 'x', '\u{9B}', '7', '\u{200B}', '\u{202E}'][..]),
            ],
            0..60,
        )
    ) {
        fuzzing::game_text(chars.into_iter().collect::<String>().as_bytes());
    }

    #[test]
    fn detour_frames_of_any_bytes_are_read_or_refused(
        bytes in behind(&[
            b"\x91\x01\0\0", b"\x92\x01\0\0", b"\x93\x01\0\0", b"\x94\0\0\0", b"\x95\x01\0\0",
            b"\x96\x01\0\0", b"\x97\x01\0\0", b"\x98\0\0\0", b"\x99\x01\0\0", b"\x9A\x01\0\0",
        ])
    ) {
        fuzzing::detour_frame(&bytes);
    }

    #[test]
    fn compact_lists_of_any_bytes_are_read_or_refused(
        bytes in behind(&[b"NSL\x01", b"NSL\x01\0\x01\x01x\0\0\0\x01", b"NSL\x01\0\x01\x01x\0\0\0\x01\0\x7F\0\0\x01\0\x01"])
    ) {
        fuzzing::compact_list(&bytes);
    }
}
