use crate::builder::Rules;
use crate::compact::{self, About};

/// Bytes as an operator's file: refused with its name, or a table that survives the compact format.
pub fn origin_file(bytes: &[u8]) {
    match super::read("fuzzed", bytes, Rules::default()) {
        Ok(loaded) => {
            let file = compact::encode(&loaded.table, &About::default());
            let again = compact::decode(&file).expect("it was just written");
            assert_eq!(again.table, loaded.table);
        }
        Err(error) => assert!(error.to_string().starts_with("fuzzed")),
    }
}
