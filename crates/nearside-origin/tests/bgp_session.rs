//! The life of one session: greeting, timers and end.

mod bgp_support;

use std::net::Ipv4Addr;
use std::time::Duration;

use bgp_support::*;
use nearside_origin::bgp::{CloseReason, Event, Family, Notification};
use nearside_types::Moment;

fn closed(done: &Done) -> &CloseReason {
    match done.events.last() {
        Some(Event::Closed { reason }) => reason,
        other => panic!("not closed but {other:?}"),
    }
}

/// The codes of the NOTIFICATION we sent last.
fn sent_codes(done: &Done) -> (u8, u8) {
    let message = done.sent.last().expect("a message before the end");
    assert_eq!(message[18], 3, "{message:?}");
    assert!(matches!(closed(done), CloseReason::Sent(_)));
    (message[19], message[20])
}

#[test]
fn speaks_first_and_offers_what_the_issue_asks_for() {
    let done = drain(&mut session());
    let capabilities = [
        CAPABILITY_V4,
        CAPABILITY_V6,
        &[2, 0],
        &[64, 2, 0, 0],
        &[65, 4, 0, 0, 0xFB, 0xF6],
    ]
    .concat();
    let fixed = [4, 0xFB, 0xF6, 0, 240, 10, 0, 0, 2];
    let length = capabilities.len() as u8;
    let body = [&fixed, [length + 2, 2, length].as_slice(), &capabilities].concat();
    assert_eq!(done.sent, [message(1, &body)]);
    assert_eq!(done.wait, Some(Moment::EPOCH + Duration::from_secs(240)));
}

#[test]
fn is_established_by_open_and_keep_alive_and_announces_nothing() {
    let mut session = session();
    drain(&mut session);
    assert_eq!(feed(&mut session, &full_open()).sent, [keep_alive()]);
    let done = feed(&mut session, &keep_alive());
    // The two End-of-RIB markers, which carry no route.
    assert_eq!(done.sent, [end_of_rib_v4(), end_of_rib_v6()]);
    let [Event::Established(established)] = done.events.as_slice() else {
        panic!("{:?}", done.events);
    };
    assert_eq!(established.peer_id, Ipv4Addr::new(10, 0, 0, 1));
    assert_eq!(established.hold_time, Some(Duration::from_secs(240)));
    assert_eq!(established.families, [Family::V4, Family::V6]);
    assert!(established.sends_end_of_rib);
}

#[test]
fn a_neighbour_without_capabilities_speaks_ipv4() {
    let mut session = session();
    feed(&mut session, &open(90, &[]));
    let done = feed(&mut session, &keep_alive());
    let [Event::Established(established)] = done.events.as_slice() else {
        panic!("{:?}", done.events);
    };
    assert_eq!(established.families, [Family::V4]);
    assert!(!established.sends_end_of_rib);
}

#[test]
fn keeps_alive_three_times_in_a_hold_time() {
    let mut session = session();
    feed(&mut session, &open(90, &[]));
    let at = |seconds: u64| Moment::EPOCH + Duration::from_secs(seconds);
    session.handle_timeout(at(29));
    assert_eq!(drain(&mut session).sent, Vec::<Vec<u8>>::new());
    session.handle_timeout(at(30));
    let done = drain(&mut session);
    assert_eq!(done.sent, [keep_alive()]);
    assert_eq!(done.wait, Some(at(60)));
}

#[test]
fn silence_ends_the_session_and_any_message_breaks_it() {
    let at = |seconds: u64| Moment::EPOCH + Duration::from_secs(seconds);
    let mut session = session();
    feed(&mut session, &open(90, &[]));
    session.handle_bytes(at(80), &keep_alive());
    session.handle_bytes(at(160), &announce(&["192.0.2.0/24"], &[1]));
    session.handle_timeout(at(249));
    assert!(session.is_established());
    session.handle_timeout(at(250));
    let done = drain(&mut session);
    assert_eq!(sent_codes(&done), (4, 0));
    assert_eq!(done.wait, None);
}

#[test]
fn a_hold_time_of_zero_switches_timers_off() {
    let mut session = session();
    feed(&mut session, &open(0, &[]));
    let done = feed(&mut session, &keep_alive());
    assert_eq!(done.wait, None);
}

#[test]
fn another_as_than_configured_is_refused() {
    let mut session = session();
    let other = [65, 4, 0, 0, 0xFB, 0xF4];
    let done = feed(&mut session, &open(240, &[&other]));
    assert_eq!(sent_codes(&done), (2, 2));
}

#[test]
fn messages_out_of_order_are_answered_by_state() {
    let mut too_early = session();
    let done = feed(&mut too_early, &keep_alive());
    assert_eq!(sent_codes(&done), (5, 1));
    let mut unconfirmed = session();
    feed(&mut unconfirmed, &full_open());
    let done = feed(&mut unconfirmed, &withdraw(&["192.0.2.0/24"]));
    assert_eq!(sent_codes(&done), (5, 2));
    let done = feed(&mut established(), &full_open());
    assert_eq!(sent_codes(&done), (5, 3));
}

#[test]
fn a_notification_ends_the_session_without_an_answer() {
    let done = feed(&mut established(), &notification(6, 4));
    assert_eq!(done.sent, Vec::<Vec<u8>>::new());
    let reason = closed(&done).to_string();
    assert!(reason.contains("administrative reset"), "{reason}");
}

#[test]
fn after_the_end_nothing_happens() {
    let mut session = established();
    session.close(Notification::SHUTDOWN);
    assert_eq!(sent_codes(&drain(&mut session)), (6, 2));
    session.handle_disconnect();
    session.handle_timeout(Moment::EPOCH + Duration::from_secs(10_000));
    let done = feed(&mut session, &announce(&["192.0.2.0/24"], &[1]));
    assert_eq!(done, Done::default());
}

#[test]
fn requests_for_routes_are_heard_and_not_answered() {
    let mut session = established();
    let done = feed(&mut session, &message(5, &[0, 1, 0, 1]));
    assert_eq!((done.sent.len(), done.events.len()), (0, 0));
    assert!(session.is_established());
}

#[test]
fn garbage_is_answered_and_ends_the_session() {
    let done = feed(&mut established(), b"GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_eq!(sent_codes(&done), (1, 1));
}
