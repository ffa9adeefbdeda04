//! `nearside origin ADDR…|-`: addresses in, origins out, as they come.

use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::net::{IpAddr, SocketAddr};

use anyhow::{Context, Result};
use nearside_origin::Timestamp;

use super::row::OriginRow;
use crate::cli::OriginArgs;
use crate::exit::Exit;
use crate::faces::{Format, Terminal, is_closed_pipe};
use crate::origins::{self, Origins};

/// Broken lines that are told one by one; the rest is counted.
const TOLD_ONE_BY_ONE: u64 = 10;

pub(super) fn run(args: &OriginArgs) -> Result<Exit> {
    let mut origins = Origins::open(&args.sources)?;
    for note in origins.notes() {
        writeln!(io::stderr(), "{note}")?;
    }
    let usual = match Terminal::stdout() {
        Some(_) => Format::Table,
        None => Format::Ndjson,
    };
    let out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    let mut answers = Answers::new(out, args.format.unwrap_or(usual));
    answers.make_room_for(&args.addresses);
    match answer_all(args, &mut answers, &mut origins) {
        Err(error) if is_closed_output(&error) => Ok(Exit::Done),
        Err(error) => Err(error),
        Ok(()) => Ok(answers.judge()),
    }
}

fn answer_all(
    args: &OriginArgs,
    answers: &mut Answers<impl Write>,
    origins: &mut Origins,
) -> Result<()> {
    answers.start()?;
    for text in &args.addresses {
        if text == "-" {
            answer_standard_input(answers, origins)?;
        } else {
            answers.answer("the command line", None, text, origins)?;
        }
    }
    answers.finish().context("cannot write the result")
}

fn is_closed_output(error: &anyhow::Error) -> bool {
    error.downcast_ref().is_some_and(is_closed_pipe)
}

/// No address is longer, with a port and what log files put behind it.
const LONGEST_LINE: u64 = 64 * 1024;

/// Answers line by line. What was said so far is shown whenever the next line has not come yet, so
/// that a slow writer gets its answers at once; files that change meanwhile are read again.
fn answer_standard_input(answers: &mut Answers<impl Write>, origins: &mut Origins) -> Result<()> {
    let mut input = BufReader::with_capacity(1 << 16, io::stdin().lock());
    let mut line = Vec::new();
    for number in 1_u64.. {
        if input.buffer().is_empty() {
            answers.out.flush()?;
            answers.refresh(origins);
        }
        if !read_line(&mut input, &mut line).context("cannot read standard input")? {
            break;
        }
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_start_matches('\u{FEFF}').trim();
        if !text.is_empty() && !text.starts_with('#') {
            answers.answer("standard input", Some(number), text, origins)?;
        }
    }
    Ok(())
}

/// The next line, or its beginning if it is too long to be meant; tells whether there was one.
fn read_line(input: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    input.by_ref().take(LONGEST_LINE).read_until(b'\n', line)?;
    if line.len() as u64 == LONGEST_LINE && !line.ends_with(b"\n") {
        input.skip_until(b'\n')?;
    }
    Ok(!line.is_empty())
}

/// Writes answers in one form.
struct Answers<W> {
    out: W,
    format: Format,
    /// Of the column of addresses in a table.
    width: usize,
    now: Timestamp,
    answered: u64,
    known: u64,
    refused: u64,
}

impl<W: Write> Answers<W> {
    fn new(out: W, format: Format) -> Self {
        Self {
            out,
            format,
            width: "255.255.255.255".len(),
            now: origins::now(),
            answered: 0,
            known: 0,
            refused: 0,
        }
    }

    /// IPv6 addresses are long, but rare: the table is as wide as what is known to come.
    fn make_room_for(&mut self, addresses: &[String]) {
        let length = |text: &String| Some(parse_address(text)?.to_canonical().to_string().len());
        let longest = addresses.iter().filter_map(length).max();
        self.width = self.width.max(longest.unwrap_or(0));
    }

    fn start(&mut self) -> io::Result<()> {
        match self.format {
            Format::Table => {
                let (address, prefix) = (self.width, self.width + PREFIX_LENGTH);
                writeln!(
                    self.out,
                    "{:<address$}  {:>10}  CC  {:<prefix$}  {:<8}  AGE",
                    "ADDRESS", "AS", "PREFIX", "SOURCE"
                )
            }
            Format::Csv => writeln!(self.out, "addr,asn,country,prefix,source,age_days"),
            Format::Json | Format::Ndjson => Ok(()),
        }
    }

    /// Answers one text; a broken one is told of and the rest goes on.
    fn answer(
        &mut self,
        place: &str,
        line: Option<u64>,
        text: &str,
        origins: &Origins,
    ) -> io::Result<()> {
        let Some(addr) = parse_address(text) else {
            self.refuse(place, line, text);
            return Ok(());
        };
        let row = OriginRow::of(addr, origins.stack(), self.now);
        self.known += u64::from(row.is_known());
        self.write(&row)?;
        self.answered += 1;
        Ok(())
    }

    fn write(&mut self, row: &OriginRow) -> io::Result<()> {
        match self.format {
            Format::Table => write_table_row(&mut self.out, self.width, row),
            Format::Csv => write_csv_row(&mut self.out, row),
            Format::Ndjson => {
                serde_json::to_writer(&mut self.out, row)?;
                self.out.write_all(b"\n")
            }
            Format::Json => {
                let before = if self.answered == 0 { "[" } else { ",\n " };
                self.out.write_all(before.as_bytes())?;
                Ok(serde_json::to_writer(&mut self.out, row)?)
            }
        }
    }

    fn refuse(&mut self, place: &str, line: Option<u64>, text: &str) {
        self.refused += 1;
        if self.refused > TOLD_ONE_BY_ONE {
            return;
        }
        let place = match line {
            Some(line) => format!("{place}, line {line}"),
            None => place.to_owned(),
        };
        // Shortened and escaped: it may be anything.
        let shown: String = text.chars().take(60).collect();
        // Who cannot be told still gets the answers.
        let _ = writeln!(
            io::stderr(),
            "nearside: {place}: {shown:?} is not an address (write 192.0.2.1 or 2001:db8::1; names are not looked up)"
        );
    }

    /// Once a second at most.
    fn refresh(&mut self, origins: &mut Origins) {
        let now = origins::now();
        if now == self.now {
            return;
        }
        self.now = now;
        for said in origins.refresh() {
            let _ = writeln!(io::stderr(), "{said}");
        }
    }

    fn finish(&mut self) -> io::Result<()> {
        if self.format == Format::Json {
            let end: &[u8] = if self.answered == 0 { b"[]\n" } else { b"]\n" };
            self.out.write_all(end)?;
        }
        let untold = self.refused.saturating_sub(TOLD_ONE_BY_ONE);
        if untold > 0 {
            let _ = writeln!(io::stderr(), "nearside: {untold} more lines like that");
        }
        self.out.flush()
    }

    fn judge(&self) -> Exit {
        match self {
            Self { refused: 1.., .. } => Exit::BadInput,
            Self { known: 0, .. } => Exit::Negative,
            _ => Exit::Done,
        }
    }
}

/// The first word of a line, with or without a port: lists of servers can be piped in as they are.
pub(super) fn parse_address(text: &str) -> Option<IpAddr> {
    let word = text.split_ascii_whitespace().next()?;
    let bare = |word: &str| word.parse::<IpAddr>().ok();
    let in_brackets = || bare(word.strip_prefix('[')?.strip_suffix(']')?);
    let with_port = || word.parse::<SocketAddr>().ok().map(|addr| addr.ip());
    bare(word).or_else(with_port).or_else(in_brackets)
}

/// A value, or a dash where there is none.
fn or_dash<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(|| "–".to_owned(), |value| value.to_string())
}

/// What a prefix is longer than an address: `/32`.
const PREFIX_LENGTH: usize = 3;

fn write_table_row(out: &mut impl Write, width: usize, row: &OriginRow) -> io::Result<()> {
    let prefix = width + PREFIX_LENGTH;
    let age = row.age_days.map(|days| format!("{days} d"));
    writeln!(
        out,
        "{:<width$}  {:>10}  {:<2}  {:<prefix$}  {:<8}  {}",
        row.addr.to_string(),
        or_dash(row.asn),
        or_dash(row.country),
        or_dash(row.prefix),
        or_dash(row.source),
        or_dash(age),
    )
}

/// Nothing here can hold a comma or a quote.
fn write_csv_row(out: &mut impl Write, row: &OriginRow) -> io::Result<()> {
    write!(out, "{},", row.addr)?;
    if let Some(asn) = row.asn {
        write!(out, "{}", asn.0)?;
    }
    out.write_all(b",")?;
    if let Some(country) = row.country {
        write!(out, "{country}")?;
    }
    out.write_all(b",")?;
    if let Some(prefix) = row.prefix {
        write!(out, "{prefix}")?;
    }
    out.write_all(b",")?;
    if let Some(source) = row.source {
        write!(out, "{source}")?;
    }
    match row.age_days {
        Some(days) => writeln!(out, ",{days}"),
        None => writeln!(out, ","),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_with_and_without_ports_and_followers() {
        let v4: IpAddr = [192, 0, 2, 1].into();
        let v6: IpAddr = "2001:db8::1".parse().unwrap();
        for (text, expected) in [
            ("192.0.2.1", v4),
            ("192.0.2.1:27015", v4),
            ("192.0.2.1 - - [15/Nov/2026]", v4),
            ("2001:db8::1", v6),
            ("[2001:db8::1]", v6),
            ("[2001:db8::1]:27960", v6),
        ] {
            assert_eq!(parse_address(text), Some(expected), "{text}");
        }
        for bad in ["", "dns.example", "192.0.2", "192.0.2.1/24", "[::1", "::1]"] {
            assert_eq!(parse_address(bad), None, "{bad}");
        }
    }
}
