use serde::{Deserialize, Serialize};

use crate::{Origin, ServerAddr};

/// A server as a list gives it, with what is known of its origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listed {
    /// Where it answers.
    pub addr: ServerAddr,
    /// Its AS and country, as far as known.
    pub origin: Origin,
}

impl Listed {
    /// A server of unknown origin.
    pub fn unknown(addr: ServerAddr) -> Self {
        Self {
            addr,
            origin: Origin::default(),
        }
    }
}
