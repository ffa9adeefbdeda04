//! The lines of a text file, plain or gzipped, taken apart into separated fields.
//!
//! Of our own because errors must name the line: the csv crate counts lines anew after blank lines
//! and `\r\n`. Quotes follow RFC 4180, except that a field never spans lines.

use std::io::{self, BufRead, BufReader, Read};

use flate2::read::MultiGzDecoder;
use thiserror::Error;

/// RFC 1952, section 2.3.1: two bytes of identity and deflate, the only method there is. All three,
/// since a binary matrix may well begin with the first two.
pub(crate) const GZIP_MAGIC: [u8; 3] = [0x1f, 0x8b, 0x08];

/// A population of a thousand clients has lines of ten kilobytes.
const MAX_LINE: u64 = 1 << 16;

/// Why a line cannot be taken apart into fields.
#[derive(Debug, Clone, Copy, Error, PartialEq, Eq)]
pub enum LineFault {
    /// Not UTF-8.
    #[error("not UTF-8 text")]
    NotText,
    /// A quoted field has no end, or something follows its end.
    #[error("a quoted field does not end before a separator or the end of the line")]
    Quotes,
    /// Longer than any line of the format.
    #[error("longer than {max} bytes: is this the right file?")]
    TooLong {
        /// The longest line that is read.
        max: u64,
    },
}

pub(crate) struct Lines<R> {
    source: BufReader<Unpacked<R>>,
    separator: char,
    buffer: Vec<u8>,
    /// The line read last, counted from 1.
    pub(crate) number: u64,
}

impl<R: Read> Lines<R> {
    pub(crate) fn new(source: R, separator: char) -> io::Result<Self> {
        Ok(Self {
            source: BufReader::new(Unpacked::new(source)?),
            separator,
            buffer: Vec::new(),
            number: 0,
        })
    }

    /// The fields of the next line that is not blank; `None` at the end.
    pub(crate) fn next_fields(&mut self) -> io::Result<Option<Result<Vec<String>, LineFault>>> {
        while self.read_line()? {
            if !self.buffer.trim_ascii().is_empty() {
                return Ok(Some(self.fields()));
            }
        }
        Ok(None)
    }

    fn read_line(&mut self) -> io::Result<bool> {
        self.buffer.clear();
        self.number += 1;
        let mut limited = self.source.by_ref().take(MAX_LINE);
        Ok(limited.read_until(b'\n', &mut self.buffer)? > 0)
    }

    fn fields(&self) -> Result<Vec<String>, LineFault> {
        if self.buffer.len() as u64 == MAX_LINE {
            return Err(LineFault::TooLong { max: MAX_LINE });
        }
        let text = std::str::from_utf8(&self.buffer).map_err(|_| LineFault::NotText)?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        split_fields(text.trim(), self.separator).ok_or(LineFault::Quotes)
    }
}

fn split_fields(line: &str, separator: char) -> Option<Vec<String>> {
    let mut fields = Vec::new();
    let mut rest = line;
    loop {
        let (field, after) = take_field(rest.trim_start(), separator)?;
        fields.push(field);
        match after.trim_start() {
            "" => return Some(fields),
            after => rest = after.strip_prefix(separator)?,
        }
    }
}

fn take_field(text: &str, separator: char) -> Option<(String, &str)> {
    let Some(mut inside) = text.strip_prefix('"') else {
        let (field, after) = text.split_at(text.find(separator).unwrap_or(text.len()));
        return Some((field.trim_end().to_owned(), after));
    };
    let mut field = String::new();
    loop {
        let (part, after) = inside.split_once('"')?;
        field.push_str(part);
        match after.strip_prefix('"') {
            None => return Some((field, after)),
            Some(next) => {
                field.push('"');
                inside = next;
            }
        }
    }
}

/// The bytes of a file, gunzipped if they start like gzip.
pub(crate) enum Unpacked<R> {
    Plain(Rewound<R>),
    Gzip(Box<MultiGzDecoder<Rewound<R>>>),
}

/// A source of which the first bytes were looked at already.
pub(crate) type Rewound<R> = io::Chain<io::Cursor<Vec<u8>>, R>;

impl<R: Read> Unpacked<R> {
    pub(crate) fn new(mut source: R) -> io::Result<Self> {
        let mut start = Vec::new();
        let length = GZIP_MAGIC.len() as u64;
        source.by_ref().take(length).read_to_end(&mut start)?;
        let is_gzip = start == GZIP_MAGIC;
        let rewound = io::Cursor::new(start).chain(source);
        Ok(match is_gzip {
            true => Self::Gzip(Box::new(MultiGzDecoder::new(rewound))),
            false => Self::Plain(rewound),
        })
    }
}

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(source) => source.read(buffer),
            Self::Gzip(source) => source.read(buffer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(line: &str) -> Vec<String> {
        split_fields(line, ',').unwrap()
    }

    #[test]
    fn fields_are_trimmed_and_may_be_quoted() {
        assert_eq!(fields("a, b ,,c"), ["a", "b", "", "c"]);
        assert_eq!(fields("a,"), ["a", ""]);
        assert_eq!(
            fields(r#""a,b" , "say ""hi""","""#),
            ["a,b", r#"say "hi""#, ""]
        );
    }

    #[test]
    fn quotes_must_end_where_the_field_does() {
        for bad in [r#""a"#, r#""a"b"#, r#"x,"a" b,c"#] {
            assert_eq!(split_fields(bad, ','), None, "{bad}");
        }
    }

    #[test]
    fn lines_are_counted_as_an_editor_does() {
        let mut lines = Lines::new(&b"\xef\xbb\xbfone\r\n\r\n\n two\r\nthree"[..], ',').unwrap();
        let mut seen = Vec::new();
        while let Some(fields) = lines.next_fields().unwrap() {
            seen.push((lines.number, fields.unwrap().concat()));
        }
        let expected = [(1, "one"), (4, "two"), (5, "three")];
        assert_eq!(seen, expected.map(|(line, text)| (line, text.to_owned())));
    }
}
