//! The bodies of the fuzz targets, fed by proptest with texts that are nearly right.

use nearside_placement::fuzzing;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

const FILE: &str = r#"{"delay_bound_ms": 9, "latency": "one_way", "processing_ms": 0.5,
"clients": ["x", "y", "z"], "servers": [{"name": "a"}, {"name": "b", "capacity": 2}, {"name": "c", "cost": 2.5}],
"client_server_ms": [[1, 3, 5.5], [5, null, 1], [2, 2, 2]],
"server_server_ms": [[0, 1, 2], [1, 0, 1], [2, 1, 0]], "server_links": [["a", "b"], ["b", "c"]]}"#;

const LOG: &str = r#"{"delay_bound_ms": 20, "steps": 300, "servers": [{"name": "a"}, {"name": "b", "capacity": 1}], "server_server_ms": [[0, 3], [3, 0]]}
{"event": "join", "client": "x", "latencies_ms": {"a": 1, "b": 4}}
{"event": "join", "client": "y", "latencies_ms": {"b": 2, "a": null}}
{"event": "latency", "client": "x", "server": "a", "ms": 9}
{"event": "server_down", "server": "b"}
{"event": "bound", "ms": 7}
{"event": "server_up", "server": "b"}
{"event": "consolidate", "max_moves": 2}
{"event": "leave", "client": "x"}"#;

const SNAPSHOT: &str = r#"{"setup": "{\"delay_bound_ms\": 20, \"steps\": 300, \"servers\": [{\"name\": \"a\"}, {\"name\": \"b\"}], \"server_server_ms\": [[0, 3], [3, 0]]}",
"events": 3, "bound": 20000000000, "between": [[0, 3000000000], [3000000000, 0]], "down": [1],
"clients": [{"name": "x", "access": [4, 2000000000000000000], "contact": 0}, {"name": "y", "access": [1, 2], "contact": null}]}"#;

/// Pieces of either text and of numbers, cut and put together anew.
fn near_misses(text: &'static str) -> impl Strategy<Value = Vec<u8>> {
    let pieces = select(vec![
        "0", "-1", "null", "1e9", "1e308", "0.001", "\"a\"", "[]", "{}", ",", "]", "\n", "3", "40",
    ]);
    let edit = (any::<Index>(), 0..12usize, pieces);
    vec(edit, 0..6).prop_map(move |edits| {
        let mut bytes = text.as_bytes().to_vec();
        for (at, length, piece) in edits {
            let at = at.index(bytes.len());
            let end = (at + length).min(bytes.len());
            bytes.splice(at..end, piece.bytes());
        }
        bytes
    })
}

/// Messages of every kind with fields that often fit: small numbers, and few of them.
fn sequences() -> impl Strategy<Value = Vec<u8>> {
    let fields = vec(
        prop_oneof![6 => Just(0u8), 3 => 1u8..4, 1 => any::<u8>()],
        0..48,
    );
    let step = (any::<u8>(), any::<u8>(), 0u8..32, 0u8..16, fields);
    let step = step.prop_map(|(who, wait, kind, epoch, fields)| {
        let length = fields.len() as u8;
        [vec![who, wait, kind, epoch, length], fields].concat()
    });
    vec(step, 0..60).prop_map(|steps| steps.concat())
}

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(cases)
    }
}

proptest! {
    #![proptest_config(config(3_000))]

    #[test]
    fn any_text_is_an_instance_or_an_error(bytes in near_misses(FILE)) {
        fuzzing::placement_file(&bytes);
    }

    #[test]
    fn any_lines_leave_a_session_that_keeps_its_word(bytes in near_misses(LOG)) {
        fuzzing::session(&bytes);
    }

    #[test]
    fn any_snapshot_is_restored_or_refused(bytes in near_misses(SNAPSHOT)) {
        fuzzing::session(&bytes);
    }

    #[test]
    fn any_sequence_of_messages_leaves_a_node_at_work(bytes in sequences()) {
        fuzzing::distributed(&bytes);
    }

    #[test]
    fn any_bytes_are_taken_without_a_panic(bytes in vec(any::<u8>(), 0..200)) {
        fuzzing::placement_file(&bytes);
        fuzzing::session(&bytes);
        fuzzing::distributed(&bytes);
    }
}
