use super::inflate::{Announced, deflate};
use crate::EncodeError;

/// Opens every fragment: -2 as a little-endian `i32`.
pub(super) const SPLIT: [u8; 4] = [0xFE, 0xFF, 0xFF, 0xFF];

/// Bit 31 of the id says that the message is compressed.
pub(super) const COMPRESSED: u32 = 0x8000_0000;

/// The three layouts of a fragment behind `FE FF FF FF` and the id. Nothing on the wire says which
/// one is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SplitForm {
    /// Total, number, and the size at which the server splits (16 bits).
    Source,
    /// Total and number only: Source engine games of 2006 (application ids 215, 17550, 17700, and
    /// 240 while it spoke protocol 7).
    Source2006,
    /// One byte: number in the high half, total in the low half.
    GoldSource,
}

impl SplitForm {
    /// How many fragments the form can number.
    pub const fn max_fragments(self) -> usize {
        match self {
            Self::Source | Self::Source2006 => 255,
            Self::GoldSource => 15,
        }
    }
}

/// How a message is to be split.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Split {
    /// The layout.
    pub form: SplitForm,
    /// Shared by the fragments of a message; its top bit belongs to `compressed` except in
    /// GoldSource.
    pub id: u32,
    /// Payload bytes in each fragment but the last. Servers use 1248.
    pub fragment_bytes: usize,
    /// Whether to compress with bzip2 first, as Source servers do with long rules.
    pub compressed: bool,
}

impl Split {
    /// A split as most servers do it: 1248 bytes a fragment, not compressed.
    pub const fn new(form: SplitForm, id: u32) -> Self {
        Self {
            form,
            id,
            fragment_bytes: 1248,
            compressed: false,
        }
    }
}

/// Cuts a whole message into fragments, in order.
pub fn split(message: &[u8], how: Split) -> Result<Vec<Vec<u8>>, EncodeError> {
    if how.fragment_bytes == 0 {
        return Err(EncodeError::EmptyFragments);
    }
    if how.compressed && how.form == SplitForm::GoldSource {
        return Err(EncodeError::GoldSourceCompression);
    }
    let announced = how.compressed.then(|| Announced::of(message));
    let body = match how.compressed {
        true => deflate(message),
        false => message.to_vec(),
    };
    let total = count_fragments(&body, how)?;
    let fragments = body.chunks(how.fragment_bytes).enumerate();
    Ok(fragments
        .map(|(number, payload)| emit_fragment(how, total, number as u8, announced, payload))
        .collect())
}

fn count_fragments(body: &[u8], how: Split) -> Result<u8, EncodeError> {
    let needed = body.len().div_ceil(how.fragment_bytes);
    let max = how.form.max_fragments();
    match u8::try_from(needed) {
        Ok(total) if needed <= max => Ok(total),
        _ => Err(EncodeError::TooManyFragments { needed, max }),
    }
}

fn emit_fragment(
    how: Split,
    total: u8,
    number: u8,
    announced: Option<Announced>,
    payload: &[u8],
) -> Vec<u8> {
    let mut out = SPLIT.to_vec();
    out.extend(wire_id(how).to_le_bytes());
    match how.form {
        SplitForm::Source => {
            let size = u16::try_from(how.fragment_bytes).unwrap_or(u16::MAX);
            out.extend([total, number]);
            out.extend(size.to_le_bytes());
        }
        SplitForm::Source2006 => out.extend([total, number]),
        SplitForm::GoldSource => out.push(number << 4 | total),
    }
    if let Some(announced) = announced.filter(|_| number == 0) {
        out.extend(announced.size.to_le_bytes());
        out.extend(announced.crc32.to_le_bytes());
    }
    out.extend_from_slice(payload);
    out
}

fn wire_id(how: Split) -> u32 {
    match (how.form, how.compressed) {
        (SplitForm::GoldSource, _) => how.id,
        (_, true) => how.id | COMPRESSED,
        (_, false) => how.id & !COMPRESSED,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fragments_have_the_documented_headers() {
        let how = |form| Split {
            fragment_bytes: 4,
            ..Split::new(form, 0x0403_0201)
        };
        let second = |form| split(b"\xFF\xFF\xFF\xFFE", how(form)).unwrap().remove(1);
        let source = b"\xFE\xFF\xFF\xFF\x01\x02\x03\x04\x02\x01\x04\x00E";
        assert_eq!(second(SplitForm::Source), source);
        let source_2006 = b"\xFE\xFF\xFF\xFF\x01\x02\x03\x04\x02\x01E";
        assert_eq!(second(SplitForm::Source2006), source_2006);
        let goldsource = b"\xFE\xFF\xFF\xFF\x01\x02\x03\x04\x12E";
        assert_eq!(second(SplitForm::GoldSource), goldsource);
    }

    #[test]
    fn what_a_form_cannot_express_is_refused() {
        let message = vec![0xFF; 1600];
        let small = Split {
            fragment_bytes: 100,
            ..Split::new(SplitForm::GoldSource, 1)
        };
        let error = split(&message, small).unwrap_err();
        assert_eq!(
            error,
            EncodeError::TooManyFragments {
                needed: 16,
                max: 15
            }
        );
        let compressed = Split {
            compressed: true,
            ..small
        };
        let error = split(&message, compressed).unwrap_err();
        assert_eq!(error, EncodeError::GoldSourceCompression);
        let empty = Split {
            fragment_bytes: 0,
            ..small
        };
        assert_eq!(split(&message, empty), Err(EncodeError::EmptyFragments));
    }
}
