use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// The forms the result can take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// A table for people, live on a terminal.
    Table,
    /// One JSON document at the end.
    Json,
    /// One JSON object a line as servers are found, the summary last.
    Ndjson,
    /// Comma-separated rows at the end, the summary in words on standard error.
    Csv,
}

/// Why a text is not a format.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("`{0}` is not an output format (choose table, json, ndjson or csv)")]
pub struct UnknownFormat(String);

impl Format {
    /// Every format, in the order help texts name them.
    pub const ALL: [Self; 4] = [Self::Table, Self::Json, Self::Ndjson, Self::Csv];

    /// The word users choose it by.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::Json => "json",
            Self::Ndjson => "ndjson",
            Self::Csv => "csv",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|format| format.name() == text)
            .ok_or_else(|| UnknownFormat(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_reads_back_from_its_name() {
        for format in Format::ALL {
            assert_eq!(format.to_string().parse(), Ok(format));
        }
        let message = "xml".parse::<Format>().unwrap_err().to_string();
        for format in Format::ALL {
            assert!(message.contains(format.name()), "{message} lacks {format}");
        }
    }
}
