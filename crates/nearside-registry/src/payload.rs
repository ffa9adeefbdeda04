use std::ops::Deref;
use std::sync::Arc;

/// The bytes of a datagram to send. Challenges lie inside, so that answering a flood allocates
/// nothing; lists are shared by all who asked for the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payload(Bytes);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Bytes {
    Short { length: u8, bytes: [u8; SHORT] },
    Shared(Arc<[u8]>),
}

/// As many as any challenge has.
const SHORT: usize = 30;

impl Deref for Payload {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.0 {
            Bytes::Short { length, bytes } => &bytes[..usize::from(*length)],
            Bytes::Shared(bytes) => bytes,
        }
    }
}

impl From<&[u8]> for Payload {
    fn from(from: &[u8]) -> Self {
        let mut bytes = [0; SHORT];
        match bytes.get_mut(..from.len()) {
            Some(room) => {
                room.copy_from_slice(from);
                let length = from.len() as u8;
                Self(Bytes::Short { length, bytes })
            }
            None => Self(Bytes::Shared(from.into())),
        }
    }
}

impl From<Vec<u8>> for Payload {
    fn from(bytes: Vec<u8>) -> Self {
        Self::from(&bytes[..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_any_length_come_out_as_they_went_in() {
        for length in [0, 1, SHORT, SHORT + 1, 1400] {
            let bytes = vec![7; length];
            assert_eq!(&*Payload::from(bytes.clone()), &bytes[..], "{length}");
        }
    }
}
