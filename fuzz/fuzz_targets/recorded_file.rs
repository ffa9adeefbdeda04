#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| nearside_world::fuzzing::recorded_file(bytes));
