//! The bodies of the fuzz targets in `fuzz/`, also called by the property tests in
//! `tests/never_panics.rs`. Each takes any bytes and checks something of what comes out.

use crate::compact::CompactList;
use crate::detour;
use crate::list::OriginForm;
use crate::quake3::{self, master};
use crate::{CONNECTIONLESS, GameText, a2s, steam};

/// A reply that parses is the same after being sent again.
pub fn a2s_response(bytes: &[u8]) {
    if let Ok(response) = a2s::Response::parse(bytes) {
        assert_eq!(a2s::Response::parse(&response.emit()), Ok(response));
    }
}

/// A request that parses is the same after being sent again, and no longer than it was.
pub fn a2s_request(bytes: &[u8]) {
    if let Ok(request) = a2s::Request::parse(bytes) {
        assert!(request.emit().len() <= bytes.len());
        assert_eq!(a2s::Request::parse(&request.emit()), Ok(request));
    }
}

/// Any sequence of datagrams stays within the limits. The first byte chooses the split form; then
/// each datagram has two bytes: its length, and how it starts (raw, or as a fragment of one of a
/// few messages, so that fragments meet).
pub fn a2s_reassembler(bytes: &[u8]) {
    let limits = a2s::Limits {
        message_bytes: 4096,
        messages: 3,
    };
    let [form, rest @ ..] = bytes else { return };
    let mut reassembler = reassembler(*form).with_limits(limits);
    let mut rest = rest;
    while let [length, start, tail @ ..] = rest {
        let (body, remaining) = tail.split_at(usize::from(*length).min(tail.len()));
        rest = remaining;
        let datagram = [datagram_start(*start), body.to_vec()].concat();
        let single = datagram.starts_with(&CONNECTIONLESS);
        if let Ok(a2s::Assembled::Whole(message)) = reassembler.push(&datagram) {
            let prefix = CONNECTIONLESS.len();
            assert!(message.starts_with(&CONNECTIONLESS));
            assert!(single || message.len() <= limits.message_bytes + prefix);
            a2s_response(&message);
        }
        assert!(reassembler.in_progress() <= limits.messages);
        assert!(reassembler.held_bytes() <= limits.messages * limits.message_bytes);
    }
    reassembler.clear();
    assert_eq!(reassembler.held_bytes(), 0);
}

fn reassembler(form: u8) -> a2s::Reassembler {
    let reassembler = a2s::Reassembler::new();
    match form % 4 {
        0 => reassembler,
        1 => reassembler.with_form(a2s::SplitForm::Source),
        2 => reassembler.with_form(a2s::SplitForm::Source2006),
        _ => reassembler.with_form(a2s::SplitForm::GoldSource),
    }
}

fn datagram_start(choice: u8) -> Vec<u8> {
    match choice {
        0..=63 => Vec::new(),
        // The low bits are the id, bit 3 says compressed.
        _ => vec![0xFE, 0xFF, 0xFF, 0xFF, choice & 7, 0, 0, (choice & 8) << 4],
    }
}

/// Requests and replies of the Quake 3 family that parse are the same after being sent again.
pub fn quake3_response(bytes: &[u8]) {
    if let Ok(response) = quake3::Response::parse(bytes) {
        assert_eq!(quake3::Response::parse(&response.emit()), Ok(response));
    }
    if let Ok(request) = quake3::Request::parse(bytes) {
        assert_eq!(quake3::Request::parse(&request.emit()), Ok(request));
    }
}

/// Requests and replies of Quake 3 masters that parse are the same after being sent again, and
/// nobody sees a marker who did not ask for one.
pub fn quake3_master(bytes: &[u8]) {
    if let Ok(request) = master::ListRequest::parse(bytes) {
        assert_eq!(master::ListRequest::parse(&request.emit()), Ok(request));
    }
    for origin in [None, Some(OriginForm::As), Some(OriginForm::Country)] {
        let Ok(reply) = master::ListReply::parse(bytes, origin) else {
            continue;
        };
        if let master::ListReply::List(packet) = &reply {
            assert!(origin == Some(OriginForm::As) || !packet.entries.iter().any(is_marker));
        }
        let form = master::ReplyForm {
            extended: true,
            origin,
        };
        assert_eq!(
            master::ListReply::parse(&reply.emit(form), origin),
            Ok(reply)
        );
    }
}

/// The same for Steam masters.
pub fn steam_master(bytes: &[u8]) {
    if let Ok(request) = steam::ListRequest::parse(bytes) {
        assert_eq!(steam::ListRequest::parse(&request.emit()), Ok(request));
    }
    for origin in [None, Some(OriginForm::As), Some(OriginForm::Country)] {
        let Ok(reply) = steam::ListReply::parse(bytes, origin) else {
            continue;
        };
        if let steam::ListReply::List(packet) = &reply {
            assert!(origin == Some(OriginForm::As) || !packet.entries.iter().any(is_marker));
        }
        assert_eq!(steam::ListReply::parse(&reply.emit(), origin), Ok(reply));
    }
}

fn is_marker(entry: &crate::list::Entry) -> bool {
    matches!(entry, crate::list::Entry::Marker(_))
}

/// What game servers tell their masters reads back as it was sent.
pub fn heartbeat(bytes: &[u8]) {
    if let Ok(heartbeat) = quake3::Heartbeat::parse(bytes) {
        assert_eq!(quake3::Heartbeat::parse(&heartbeat.emit()), Ok(heartbeat));
    }
    if let Ok(heartbeat) = steam::Heartbeat::parse(bytes) {
        let _any = heartbeat.challenge();
        assert_eq!(steam::Heartbeat::parse(&heartbeat.emit()), Ok(heartbeat));
    }
    if let Ok(challenge) = steam::JoinChallenge::parse(bytes) {
        assert_eq!(
            steam::JoinChallenge::parse(&challenge.emit()),
            Ok(challenge)
        );
    }
}

/// A filter that parses is the same after being written again, and takes its cookie and origin.
pub fn steam_filter(bytes: &[u8]) {
    let text = GameText::from(bytes);
    let Ok(filter) = steam::Filter::parse(text.as_bytes()) else {
        return;
    };
    assert_eq!(
        steam::Filter::parse(filter.emit().as_bytes()),
        Ok(filter.clone())
    );
    let asking = filter
        .with_origin(OriginForm::As)
        .with_challenge([1, 2, 3, 0xFF]);
    assert_eq!(asking.origin(), Some(OriginForm::As));
    assert_eq!(asking.challenge(), Some([1, 2, 3, 0xFF]));
}

/// Nothing that is shown contains a control, a line end or a change of direction; and removing
/// twice removes no more.
pub fn game_text(bytes: &[u8]) {
    let text = GameText::from(bytes);
    for shown in [text.to_safe_string(), text.plain()] {
        assert!(!shown.chars().any(char::is_control), "{shown:?}");
        assert!(!shown.chars().any(is_layout), "{shown:?}");
        assert_eq!(GameText::from(shown.as_str()).to_safe_string(), shown);
    }
    assert_eq!(format!("{text}"), text.to_safe_string());
}

/// The characters that matter most, written down a second time and independently of the filter.
fn is_layout(c: char) -> bool {
    let bidirectional = "\u{61C}\u{200E}\u{200F}\u{202A}\u{202B}\u{202C}\u{202D}\u{202E}\u{2066}\u{2067}\u{2068}\u{2069}";
    let invisible = "\u{200B}\u{200C}\u{200D}\u{2060}\u{FEFF}\u{2028}\u{2029}\u{AD}";
    bidirectional.contains(c) || invisible.contains(c)
}

/// A compact list that parses is the same after being written again.
pub fn compact_list(bytes: &[u8]) {
    if let Ok(list) = CompactList::parse(bytes) {
        assert_eq!(CompactList::parse(&list.emit()), Ok(list));
    }
}

/// A detour frame that parses is the same after being sent again.
pub fn detour_frame(bytes: &[u8]) {
    if let Ok(frame) = detour::Frame::parse(bytes) {
        assert_eq!(detour::Frame::parse(&frame.emit()), Ok(frame));
    }
}
