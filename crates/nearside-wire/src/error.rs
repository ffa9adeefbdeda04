use thiserror::Error;

/// Why bytes from the network are not the message they should be. The sender is at fault in all
/// cases but [`DecodeError::TooLong`], where a limit of ours was met.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum DecodeError {
    /// The message ends before a field that it must have.
    #[error("message ends inside `{field}`, which starts at byte {offset}")]
    Truncated {
        /// The field that is not whole.
        field: &'static str,
        /// Where in the message the field starts.
        offset: usize,
    },
    /// The first bytes belong to no message that was expected here.
    #[error("not {expected}: starts with `{found}`")]
    Unrecognised {
        /// What was looked for.
        expected: &'static str,
        /// The first bytes found, escaped to plain ASCII.
        found: String,
    },
    /// A field holds something its format does not allow.
    #[error("`{found}` is no valid {field}: {expected}")]
    BadValue {
        /// The field.
        field: &'static str,
        /// What it holds, escaped to plain ASCII and cut short.
        found: String,
        /// What would have been right.
        expected: &'static str,
    },
    /// Something exceeds a limit that keeps memory and work bounded.
    #[error("{field}: {actual} exceeds the limit of {max}")]
    TooLong {
        /// What is too long, too many or too deep.
        field: &'static str,
        /// How much was sent or announced.
        actual: usize,
        /// How much is allowed.
        max: usize,
    },
    /// A fragment contradicts those already held under its id.
    #[error("fragment of split message {id:#010x} contradicts the earlier ones (number or total)")]
    FragmentConflict {
        /// The id the fragments share.
        id: u32,
    },
    /// A reassembled message is not what its first fragment announced.
    #[error("decompressed message has {field} {actual:#x}, announced was {announced:#x}")]
    Mismatch {
        /// `length` or `CRC32`.
        field: &'static str,
        /// What the first fragment announced.
        announced: u32,
        /// What came out.
        actual: u32,
    },
    /// A fragment set is complete but its bzip2 stream is damaged.
    #[error("bzip2 stream is damaged: {reason}")]
    Bzip2 {
        /// What the decompressor says.
        reason: String,
    },
}

impl DecodeError {
    /// A short, stable name of the kind of error, for metrics and logs.
    pub const fn label(&self) -> &'static str {
        match self {
            Self::Truncated { .. } => "truncated",
            Self::Unrecognised { .. } => "unrecognised",
            Self::BadValue { .. } => "bad-value",
            Self::TooLong { .. } => "too-long",
            Self::FragmentConflict { .. } => "fragment-conflict",
            Self::Mismatch { .. } => "mismatch",
            Self::Bzip2 { .. } => "bzip2",
        }
    }

    pub(crate) fn unrecognised(expected: &'static str, bytes: &[u8]) -> Self {
        Self::Unrecognised {
            expected,
            found: excerpt(bytes),
        }
    }

    pub(crate) fn bad_value(field: &'static str, bytes: &[u8], expected: &'static str) -> Self {
        Self::BadValue {
            field,
            found: excerpt(bytes),
            expected,
        }
    }
}

/// At most this much of an offending message is quoted: enough to recognise a protocol by.
const EXCERPT_BYTES: usize = 24;

fn excerpt(bytes: &[u8]) -> String {
    let head = &bytes[..bytes.len().min(EXCERPT_BYTES)];
    let ellipsis = if head.len() < bytes.len() { "…" } else { "" };
    format!("{}{ellipsis}", head.escape_ascii())
}

/// Why a message cannot be put on the wire; the caller is at fault.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum EncodeError {
    /// The format's counter cannot number so many fragments.
    #[error(
        "{needed} fragments are needed, but this form numbers at most {max}: raise fragment_bytes"
    )]
    TooManyFragments {
        /// How many the message needs at the chosen size.
        needed: usize,
        /// How many the form can number.
        max: usize,
    },
    /// A fragment of no bytes would never end.
    #[error("fragment_bytes is 0: choose at least 1 (servers use 1248)")]
    EmptyFragments,
    /// The GoldSource form has no place for the size and checksum that compression needs.
    #[error("GoldSource splits cannot be compressed: choose SplitForm::Source")]
    GoldSourceCompression,
}
