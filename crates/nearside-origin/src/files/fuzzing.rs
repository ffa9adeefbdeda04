use crate::builder::{AsnRule, Rules, TableBuilder};
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

/// Bytes as an asmap, whatever else they might be: refused within them, or networks that make a table.
pub fn asmap(bytes: &[u8]) {
    let rules = Rules {
        asns: AsnRule::Any,
        longest: None,
    };
    let mut builder = TableBuilder::new(rules);
    match super::asmap::read(bytes, &mut builder) {
        Ok(()) => {
            let (table, cleaned) = builder.finish();
            let (v4, v6) = table.known_ranges();
            // Neighbours of one AS become one range, and a default route none.
            assert!(v4 + v6 <= cleaned.taken);
        }
        Err((place, _)) => match place {
            super::Place::Byte(at) => assert!(at <= bytes.len()),
            other => panic!("{other:?} is no place in an asmap"),
        },
    }
}
