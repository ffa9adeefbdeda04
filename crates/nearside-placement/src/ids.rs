use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $letter:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(u32);

        impl $name {
            /// The id of the place `index` in the instance's list.
            ///
            /// # Panics
            /// Beyond 2³² − 1, which no instance reaches.
            pub fn new(index: usize) -> Self {
                Self(u32::try_from(index).expect("instances have fewer than 2³² members"))
            }

            /// The place in the instance's list.
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($letter, "{}"), self.0)
            }
        }
    };
}

id! {
    /// A client of an instance, by its place in the list of clients.
    ClientId, "c"
}

id! {
    /// A server of an instance, by its place in the list of servers. Ties go to the lower id.
    ServerId, "s"
}
