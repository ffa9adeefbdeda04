//! Every hard case of A2S against what must come of it, as one table:
//! `cargo test -p nearside-wire --test matrix -- --nocapture`.
//!
//! Other libraries fail on parts of it: reordered fragments, bzip2, the GoldSource and 2006 forms.

use std::fmt::Write;

use nearside_wire::a2s::{
    Assembled, Challenge, Player, PlayerList, Reassembler, Response, Rule, RuleList, Split,
    SplitForm, split,
};
use nearside_wire::{DecodeError, GameText};

const FORMS: [SplitForm; 3] = [
    SplitForm::Source,
    SplitForm::Source2006,
    SplitForm::GoldSource,
];

/// How the network treats the fragments, as the order in which they arrive.
const DELIVERIES: [(&str, &[usize]); 7] = [
    ("in order", &[0, 1, 2, 3, 4]),
    ("reversed", &[4, 3, 2, 1, 0]),
    ("shuffled", &[2, 0, 4, 1, 3]),
    ("last two swapped", &[0, 1, 2, 4, 3]),
    ("duplicated", &[0, 0, 1, 1, 2, 2, 3, 3, 4, 4]),
    ("duplicated, reversed", &[4, 4, 3, 2, 3, 1, 1, 0, 0]),
    ("one lost", &[0, 1, 2, 4]),
];

/// Rules long enough for five fragments, also when compressed; the values look random.
fn rules() -> Response {
    let mut state = 1u32;
    let mut noise = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state
    };
    let rule = |at: usize| Rule {
        name: GameText::from(format!("sv_rule_{at}")),
        value: GameText::from(format!("{:08x}{:08x}", noise(), noise())),
    };
    Response::Rules(RuleList::complete((0..200).map(rule).collect()))
}

/// Exactly five fragments of the message.
fn five_fragments(message: &[u8], form: SplitForm, compressed: bool) -> Vec<Vec<u8>> {
    let in_one = Split {
        fragment_bytes: 1 << 20,
        compressed,
        ..Split::new(form, 0x0B)
    };
    let fragments = |how| split(message, how).expect("few fragments");
    let header_and_body = fragments(in_one)[0].len();
    let fragments = fragments(Split {
        fragment_bytes: header_and_body.div_ceil(5),
        ..in_one
    });
    assert_eq!(fragments.len(), 5);
    fragments
}

/// The messages that came out, in order, with errors by their label.
fn deliver(reassembler: &mut Reassembler, datagrams: &[Vec<u8>]) -> Vec<Result<Vec<u8>, String>> {
    let outcomes = datagrams.iter().map(|datagram| reassembler.push(datagram));
    let told = outcomes.filter_map(|outcome| match outcome {
        Ok(Assembled::Pending) => None,
        Ok(Assembled::Whole(message)) => Some(Ok(message)),
        Err(error) => Some(Err(error.label().to_owned())),
    });
    told.collect()
}

struct Table {
    text: String,
    failures: usize,
}

impl Table {
    fn new() -> Self {
        let text = format!("\n{:<52} {:<28} {}\n", "case", "result", "verdict");
        Self { text, failures: 0 }
    }

    fn row(&mut self, case: &str, result: &str, wanted: &str) {
        let right = result == wanted;
        let verdict = if right { "right" } else { "WRONG" };
        writeln!(self.text, "{case:<52} {result:<28} {verdict}").expect("a String takes all");
        self.failures += usize::from(!right);
    }
}

fn summary(outcomes: &[Result<Vec<u8>, String>], message: &[u8]) -> String {
    match outcomes {
        [] => "pending".to_owned(),
        [Ok(joined)] if joined == message => "whole once".to_owned(),
        [Ok(_)] => "another message".to_owned(),
        [Err(label)] => label.clone(),
        several => format!("{} outcomes", several.len()),
    }
}

fn splits(table: &mut Table) {
    let message = rules().emit();
    for (form, compressed) in FORMS
        .into_iter()
        .flat_map(|form| [(form, false), (form, true)])
    {
        if form == SplitForm::GoldSource && compressed {
            continue;
        }
        let fragments = five_fragments(&message, form, compressed);
        for (delivery, order) in DELIVERIES {
            let datagrams: Vec<_> = order.iter().map(|at| fragments[*at].clone()).collect();
            let wanted = if delivery == "one lost" {
                "pending"
            } else {
                "whole once"
            };
            for (who, hint) in [("detected", None), ("told", Some(form))] {
                let mut reassembler =
                    hint.map_or_else(Reassembler::new, |form| Reassembler::new().with_form(form));
                let outcomes = deliver(&mut reassembler, &datagrams);
                let packed = if compressed { "bzip2" } else { "plain" };
                let case = format!("{form:?}, {packed}, {delivery}, {who}");
                table.row(&case, &summary(&outcomes, &message), wanted);
            }
        }
    }
}

fn damaged_compression(table: &mut Table) {
    let message = rules().emit();
    let whole = five_fragments(&message, SplitForm::Source, true);
    let mut damage = |case: &str, at: usize, bytes: &[u8], wanted: &str| {
        let mut fragments = whole.clone();
        fragments[0][at..at + bytes.len()].copy_from_slice(bytes);
        let outcomes = deliver(&mut Reassembler::new(), &fragments);
        table.row(case, &summary(&outcomes, &message), wanted);
    };
    damage("bzip2 with a bad CRC", 16, &[1, 2, 3, 4], "mismatch");
    damage(
        "bzip2 that announces too little",
        12,
        &[10, 0, 0, 0],
        "mismatch",
    );
    damage("bzip2 that announces too much", 14, &[1], "mismatch");
    damage(
        "bzip2 that announces 2 GiB",
        12,
        &[0xFF, 0xFF, 0xFF, 0x7F],
        "too-long",
    );
    damage("bzip2 with a damaged stream", 40, &[0, 0, 0, 0], "bzip2");
}

/// 16 MiB of zeros in some hundred bytes, announced truthfully and not.
fn bombs(table: &mut Table) {
    let mut bomb = vec![0u8; 16 << 20];
    bomb[..5].copy_from_slice(b"\xFF\xFF\xFF\xFFE");
    let how = Split {
        compressed: true,
        ..Split::new(SplitForm::Source, 1)
    };
    let mut fragments = split(&bomb, how).expect("it is small once compressed");
    let outcomes = deliver(&mut Reassembler::new(), &fragments);
    table.row(
        "bzip2 bomb of 16 MiB",
        &summary(&outcomes, &bomb),
        "too-long",
    );
    fragments[0][12..16].copy_from_slice(&1000u32.to_le_bytes());
    let outcomes = deliver(&mut Reassembler::new(), &fragments);
    table.row(
        "bzip2 bomb that announces 1000 bytes",
        &summary(&outcomes, &bomb),
        "mismatch",
    );
}

fn single_datagrams(table: &mut Table) {
    for (case, length, wanted) in [
        ("single datagram of 65,507 bytes", 65_507, "whole once"),
        ("single datagram of 64 KiB", 65_535, "whole once"),
        ("more than UDP can carry", 65_536, "too-long"),
    ] {
        let mut message = rules().emit();
        message.resize(length, b'x');
        let outcomes = deliver(&mut Reassembler::new(), std::slice::from_ref(&message));
        table.row(case, &summary(&outcomes, &message), wanted);
    }
}

fn player(name: &[u8]) -> Player {
    Player {
        name: GameText::from(name),
        score: 7,
        ..Player::default()
    }
}

fn parsed_players(message: &[u8]) -> String {
    match Response::parse(message) {
        Ok(Response::Players(list)) => {
            let partial = if list.partial { ", partial" } else { "" };
            format!("{} of {}{partial}", list.players.len(), list.announced)
        }
        Ok(_) => "another message".to_owned(),
        Err(error) => error.label().to_owned(),
    }
}

fn player_lists(table: &mut Table) {
    let players = vec![player(b"first"), player(b"second"), player(b"third")];
    let whole = Response::Players(PlayerList::complete(players)).emit();
    table.row("three players", &parsed_players(&whole), "3 of 3");
    let entry = 1 + "third\0".len() + 8;
    let without_third = &whole[..whole.len() - entry];
    table.row(
        "players, last entry missing",
        &parsed_players(without_third),
        "2 of 3, partial",
    );
    let cut_name = &whole[..whole.len() - entry + 3];
    table.row(
        "players, cut inside a name",
        &parsed_players(cut_name),
        "2 of 3, partial",
    );
    let cut_time = &whole[..whole.len() - 2];
    table.row(
        "players, cut inside a time",
        &parsed_players(cut_time),
        "2 of 3, partial",
    );
    table.row(
        "players, nothing but the count",
        &parsed_players(&whole[..6]),
        "0 of 3, partial",
    );
    table.row(
        "players, not even the count",
        &parsed_players(&whole[..5]),
        "truncated",
    );
}

fn names(table: &mut Table) {
    let shown = |bytes: &[u8]| {
        let message = Response::Players(PlayerList::complete(vec![player(bytes)])).emit();
        match Response::parse(&message) {
            Ok(Response::Players(list)) if list.players[0].name.as_bytes() == bytes => {
                list.players[0].name.to_string()
            }
            other => format!("{other:?}"),
        }
    };
    table.row("name in Latin-1", &shown(b"M\xFCller"), "M\u{FFFD}ller");
    table.row(
        "name that clears the screen",
        &shown(b"\x1B[2Jboo\x07"),
        "boo",
    );
    table.row(
        "name that turns the line around",
        &shown("a\u{202E}b".as_bytes()),
        "ab",
    );
    table.row("name of two lines", &shown(b"one\r\ntwo"), "onetwo");
}

fn challenges(table: &mut Table) {
    let challenge = |value: u8| Response::Challenge(Challenge([value; 4])).emit();
    let told: Vec<_> = [1, 2, 2, 3].map(challenge).to_vec();
    let outcomes = deliver(&mut Reassembler::new(), &told);
    let read: Vec<_> = outcomes
        .iter()
        .flatten()
        .map(|message| Response::parse(message))
        .collect();
    let wanted = [1, 2, 2, 3].map(|value| Ok(Response::Challenge(Challenge([value; 4]))));
    let result = if read == wanted {
        "each one told"
    } else {
        "lost"
    };
    table.row("challenge repeated four times", result, "each one told");
}

fn confusion(table: &mut Table) {
    let message = rules().emit();
    let first = five_fragments(&message, SplitForm::Source, false);
    let mut other_total = first.clone();
    other_total[2][8] = 6;
    let outcomes = deliver(&mut Reassembler::new(), &other_total);
    table.row(
        "a fragment with another total",
        &summary(&outcomes, &message),
        "fragment-conflict",
    );
    let mut beyond = first.clone();
    beyond[2][9] = 5;
    let outcomes = deliver(&mut Reassembler::new(), &beyond);
    table.row(
        "a fragment beyond the total",
        &summary(&outcomes, &message),
        "fragment-conflict",
    );
    let mut forged = vec![first[0].clone(), first[1].clone(), first[1].clone()];
    forged[2][20] ^= 1;
    forged.extend_from_slice(&first[2..]);
    let outcomes = deliver(&mut Reassembler::new(), &forged);
    let result = match &outcomes[..] {
        [Err(label), Ok(joined)] if *joined == message => format!("{label}, then whole"),
        other => format!("{} outcomes", other.len()),
    };
    table.row(
        "a forged copy among real ones",
        &result,
        "fragment-conflict, then whole",
    );
}

#[test]
fn every_hard_case_of_a2s_ends_as_it_should() {
    let mut table = Table::new();
    splits(&mut table);
    damaged_compression(&mut table);
    bombs(&mut table);
    single_datagrams(&mut table);
    player_lists(&mut table);
    names(&mut table);
    challenges(&mut table);
    confusion(&mut table);
    println!("{}", table.text);
    assert_eq!(table.failures, 0, "{}", table.text);
}

#[test]
fn interleaved_messages_do_not_mix() {
    let rules = rules().emit();
    let players = Response::Players(PlayerList::complete(vec![player(b"x"); 255])).emit();
    let mut datagrams = Vec::new();
    let first = five_fragments(&rules, SplitForm::Source, false);
    let mut second = five_fragments(&players, SplitForm::Source, false);
    second.iter_mut().for_each(|fragment| fragment[4] = 0x0C);
    for (one, other) in first.into_iter().zip(second) {
        datagrams.extend([one, other]);
    }
    let outcomes = deliver(&mut Reassembler::new(), &datagrams);
    assert_eq!(outcomes, [Ok(rules), Ok(players)]);
}

#[test]
fn a_flood_of_ids_drops_the_oldest_and_nothing_else() {
    let message = rules().emit();
    let wanted = five_fragments(&message, SplitForm::Source, false);
    let mut reassembler = Reassembler::new();
    for id in 100..=255 {
        let mut stray = wanted[0].clone();
        stray[4] = id;
        assert_eq!(reassembler.push(&stray), Ok(Assembled::Pending));
        assert!(reassembler.in_progress() <= 4);
    }
    let outcomes = deliver(&mut reassembler, &wanted);
    assert_eq!(outcomes, [Ok(message)]);
}

#[test]
fn a_message_beyond_the_limit_is_refused_before_it_is_held() {
    let mut reassembler = Reassembler::new();
    let mut refused = None;
    for number in 0..=u8::MAX - 1 {
        let mut fragment = b"\xFE\xFF\xFF\xFF\x01\0\0\0\xFF\0\xE0\x04".to_vec();
        fragment[9] = number;
        fragment.resize(60_000, b'x');
        refused = refused.or(reassembler.push(&fragment).err());
        assert!(reassembler.held_bytes() <= 1 << 20);
    }
    let Some(DecodeError::TooLong { field, max, .. }) = refused else {
        panic!("15 MiB of fragments were taken");
    };
    assert_eq!((field, max), ("split message", 1 << 20));
}
