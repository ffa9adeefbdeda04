//! The bodies of the fuzz targets on random bytes.

use nearside_tunnel::fuzzing;
use proptest::collection::vec;
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn service(bytes in vec(any::<u8>(), 0..2_000)) {
        fuzzing::service(&bytes);
    }

    #[test]
    fn link(bytes in vec(any::<u8>(), 0..2_000)) {
        fuzzing::link(&bytes);
    }

    #[test]
    fn relay(bytes in vec(any::<u8>(), 0..4_000)) {
        fuzzing::relay(&bytes);
    }

    #[test]
    fn node(bytes in vec(any::<u8>(), 0..1_500)) {
        fuzzing::node(&bytes);
    }
}
