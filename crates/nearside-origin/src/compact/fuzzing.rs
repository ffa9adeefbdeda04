use super::{decode, encode, seal};

/// Bytes as a whole file and as the body of one: refused, or a table that reads back.
pub fn compact_table(bytes: &[u8]) {
    for file in [bytes.to_vec(), seal(bytes)] {
        if let Ok(compact) = decode(&file) {
            let again = encode(&compact.table, &compact.about);
            assert_eq!(decode(&again), Ok(compact));
        }
    }
}
