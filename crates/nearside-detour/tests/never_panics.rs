//! The bodies of the fuzz targets on random bytes.

use nearside_detour::fuzzing;
use proptest::collection::vec;
use proptest::prelude::*;

proptest! {
    #[test]
    fn directory(bytes in vec(any::<u8>(), 0..3_000)) {
        fuzzing::directory(&bytes);
    }

    #[test]
    fn path_session(bytes in vec(any::<u8>(), 0..3_000)) {
        fuzzing::path_session(&bytes);
    }

    #[test]
    fn client(bytes in vec(any::<u8>(), 0..3_000)) {
        fuzzing::client(&bytes);
    }
}
