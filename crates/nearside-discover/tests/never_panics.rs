//! The bodies of the engines' fuzz targets, fed by proptest with sequences of events.

use nearside_discover::fuzzing;
use proptest::collection::vec;
use proptest::prelude::*;

/// A choice of engine, then events: what, who, when, and some bytes.
fn sequences() -> impl Strategy<Value = Vec<u8>> {
    let body = vec(prop_oneof![3 => 0u8..8, 1 => any::<u8>()], 0..24);
    let event =
        (any::<u8>(), any::<u8>(), any::<u8>(), body).prop_map(|(what, who, wait, body)| {
            let length = body.len() as u8;
            [vec![what, who, wait, length], body].concat()
        });
    (any::<u8>(), vec(event, 0..60))
        .prop_map(|(choice, events)| [vec![choice], events.concat()].concat())
}

fn config() -> ProptestConfig {
    ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(3_000)
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_sequence_of_events_leaves_the_probers_books_straight(bytes in sequences()) {
        fuzzing::prober(&bytes);
    }

    #[test]
    fn any_sequence_of_outcomes_brings_the_adaptive_planner_to_its_end(bytes in vec(any::<u8>(), 0..400)) {
        fuzzing::adaptive_planner(&bytes);
    }

    #[test]
    fn any_sequence_of_datagrams_brings_a_source_to_its_end(bytes in sequences()) {
        fuzzing::list_source(&bytes);
    }

    #[test]
    fn any_sequence_of_datagrams_brings_an_inspection_to_its_end(bytes in sequences()) {
        fuzzing::inspection(&bytes);
    }
}
