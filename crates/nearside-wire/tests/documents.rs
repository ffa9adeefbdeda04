//! The hexadecimal examples in `docs/wire/` are messages this crate reads, and writes the same.

use nearside_wire::a2s::{self, Assembled, Reassembler};
use nearside_wire::claim::ClaimChallenge;
use nearside_wire::compact::CompactList;
use nearside_wire::list::OriginForm;
use nearside_wire::quake3::{self, master};
use nearside_wire::steam;

const DOCUMENTS: [&str; 4] = [
    include_str!("../../../docs/wire/a2s.md"),
    include_str!("../../../docs/wire/quake3.md"),
    include_str!("../../../docs/wire/master-lists.md"),
    include_str!("../../../docs/wire/master-http.md"),
];

/// A fenced block: the word behind `hex`, and its lines without remarks as bytes.
struct Example {
    kind: String,
    lines: Vec<Vec<u8>>,
}

fn examples() -> Vec<Example> {
    let blocks = DOCUMENTS
        .iter()
        .flat_map(|document| document.split("```hex ").skip(1));
    let example = |block: &str| {
        let (kind, rest) = block.split_once('\n').expect("a block has lines");
        let (code, _) = rest.split_once("```").expect("a block is closed");
        Example {
            kind: kind.to_owned(),
            lines: code.lines().map(bytes).collect(),
        }
    };
    blocks.map(example).collect()
}

fn bytes(line: &str) -> Vec<u8> {
    let code = line.split(';').next().unwrap_or_default();
    let digits: Vec<_> = code.chars().filter(|c| !c.is_whitespace()).collect();
    let digit = |c: char| {
        c.to_digit(16)
            .expect("hexadecimal digits before the remark") as u8
    };
    assert!(
        digits.len().is_multiple_of(2),
        "an odd number of digits: {line}"
    );
    digits
        .chunks(2)
        .map(|pair| digit(pair[0]) << 4 | digit(pair[1]))
        .collect()
}

/// What comes out when an example is read and written again.
fn rewritten(kind: &str, message: &[u8]) -> Vec<u8> {
    let asked = match kind.rsplit('-').next() {
        Some("as") => Some(OriginForm::As),
        Some("country") => Some(OriginForm::Country),
        _ => None,
    };
    match kind {
        "a2s-request" => a2s::Request::parse(message)
            .expect("an example reads")
            .emit(),
        "a2s-response" => a2s::Response::parse(message)
            .expect("an example reads")
            .emit(),
        "quake3-request" => quake3::Request::parse(message)
            .expect("an example reads")
            .emit(),
        "quake3-response" => quake3::Response::parse(message)
            .expect("an example reads")
            .emit(),
        "claim-challenge" => ClaimChallenge::parse(message)
            .expect("an example reads")
            .emit(),
        "compact-list" => CompactList::parse(message)
            .expect("an example reads")
            .emit(),
        "steam-request" => steam::ListRequest::parse(message)
            .expect("an example reads")
            .emit(),
        _ if kind.starts_with("steam-reply") => steam::ListReply::parse(message, asked)
            .expect("an example reads")
            .emit(),
        _ if kind.starts_with("quake3-list") => {
            let extended = message.starts_with(b"\xFF\xFF\xFF\xFFgetserversExt");
            let form = master::ReplyForm {
                extended,
                origin: asked,
            };
            master::ListReply::parse(message, asked)
                .expect("an example reads")
                .emit(form)
        }
        other => panic!("no parser for examples of kind `{other}`"),
    }
}

#[test]
fn every_example_reads_and_is_written_the_same() {
    let whole = examples()
        .into_iter()
        .filter(|example| example.kind != "a2s-fragments");
    let mut count = 0;
    for example in whole {
        let message = example.lines.concat();
        assert_eq!(
            rewritten(&example.kind, &message),
            message,
            "{}",
            example.kind
        );
        count += 1;
    }
    assert!(count >= 15, "only {count} examples found in the documents");
}

#[test]
fn the_example_of_fragments_joins_to_the_example_of_rules() {
    let examples = examples();
    let fragments = examples
        .iter()
        .find(|example| example.kind == "a2s-fragments")
        .unwrap();
    let mut reassembler = Reassembler::new();
    let outcomes: Vec<_> = fragments
        .lines
        .iter()
        .map(|line| reassembler.push(line))
        .collect();
    let [Ok(Assembled::Pending), Ok(Assembled::Whole(message))] = &outcomes[..] else {
        panic!("{outcomes:?}");
    };
    assert!(
        examples
            .iter()
            .any(|example| example.lines.concat() == *message)
    );
}
