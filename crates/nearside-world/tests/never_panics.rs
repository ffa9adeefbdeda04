//! The bodies of the fuzz targets, fed by proptest with bytes that come near to real files.

use nearside_world::fuzzing;
use proptest::collection::vec;
use proptest::prelude::*;

/// Lines of fields, of which most are what the formats have.
fn tables(header: &'static str, fields: &'static [&'static str]) -> impl Strategy<Value = Vec<u8>> {
    let field = prop_oneof![
        8 => proptest::sample::select(fields).prop_map(str::to_owned),
        1 => "[ -~]{0,6}",
    ];
    let separator = prop_oneof![6 => Just(","), 3 => Just("\n"), 1 => Just(";")];
    let body = vec((field, separator), 0..40);
    (any::<bool>(), body).prop_map(move |(headed, body)| {
        let start = if headed { header } else { "" };
        let rest: String = body
            .into_iter()
            .flat_map(|(field, end)| [field, end.to_owned()])
            .collect();
        [start.as_bytes(), rest.as_bytes()].concat()
    })
}

fn config() -> ProptestConfig {
    ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(2_000)
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_bytes_are_a_population_or_are_refused(
        bytes in tables(
            "addr,port,asn,country,rtt_ms:A\n",
            &["9.1.2.3", "27015", "64500", "DE", "12.5", "", "\"x\""],
        ),
        noise: Vec<u8>,
    ) {
        fuzzing::population_file(&bytes);
        fuzzing::population_file(&noise);
    }

    #[test]
    fn any_bytes_are_recorded_latencies_or_are_refused(
        choice: u8,
        bytes in tables(
            "time_s,src,dst,rtt_ms\n",
            &["0", "1.5", "", "a", "b", "-1", "14/11/2016 23:55", "60000"],
        ),
        noise: Vec<u8>,
    ) {
        fuzzing::recorded_file(&[&[choice], &bytes[..]].concat());
        fuzzing::recorded_file(&[&[choice], &noise[..]].concat());
    }

    #[test]
    fn a_farm_takes_any_datagram(choice: u8, payload in vec(any::<u8>(), 0..80)) {
        let start = [0xffu8, 0xff, 0xff, 0xff];
        fuzzing::farm(&[&[choice], &payload[..]].concat());
        fuzzing::farm(&[&[choice], &start[..], &payload[..]].concat());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..config() })]

    #[test]
    fn any_text_is_a_world_or_is_refused(
        section in "(population|rtt|weather|clients|prefixes|editions)",
        key in "(answering|ases|loss|model|AU|hop_ms|drift_hours|x)",
        value in "(-?[0-9]{1,3}(\\.[0-9])?|nan|inf|\"hub\"|\\[1, 2, 3\\]|\\{\\})",
        noise in "[ -~]{0,20}",
    ) {
        fuzzing::world_file(format!("[{section}]\n{key} = {value}\n").as_bytes());
        fuzzing::world_file(noise.as_bytes());
    }
}
