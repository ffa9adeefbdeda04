#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| nearside_tunnel::fuzzing::relay(bytes));
