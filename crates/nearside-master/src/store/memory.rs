use super::{Change, Loaded, Store, StoreError};

/// Keeps nothing: a restart begins with an empty list.
#[derive(Debug, Clone, Copy)]
pub struct Memory;

impl Store for Memory {
    fn load(&mut self) -> Result<Loaded, StoreError> {
        Ok(Loaded::default())
    }

    fn write(&mut self, _changes: &[Change]) -> Result<(), StoreError> {
        Ok(())
    }
}
