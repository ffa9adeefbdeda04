//! The list engines against small masters: paging, cookies, markers, plain masters, loss.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::time::Duration;

use nearside_discover::planner::Listed;
use nearside_discover::sources::{
    Completeness, Quake3Query, Quake3Source, Source, SourceOutput, SourceReport, SteamQuery,
    SteamSource,
};
use nearside_types::{Asn, Moment, Origin, ServerAddr};
use nearside_wire::list::{self, OriginForm};
use nearside_wire::quake3::master as q3;
use nearside_wire::steam::{self, Filter, Region};
use proptest::prelude::*;

const LATENCY: Duration = Duration::from_millis(40);

fn server(index: usize) -> list::Listed {
    list::Listed {
        addr: format!("20.{}.{}.7:27015", index / 200, index % 200)
            .parse::<ServerAddr>()
            .unwrap(),
        origin: Origin {
            asn: Some(Asn(1 + index as u32 / 50)),
            country: "DE".parse().ok(),
        },
    }
}

/// Drives a source against `answer`, which gets each request and gives the datagrams to deliver.
fn drive(
    source: &mut dyn Source,
    mut answer: impl FnMut(&[u8]) -> Vec<Vec<u8>>,
) -> (Vec<Listed>, SourceReport, Moment) {
    let mut now = Moment::EPOCH;
    let mut servers = Vec::new();
    let mut mail: Vec<(Moment, Vec<u8>)> = Vec::new();
    loop {
        match source.poll_output(now) {
            SourceOutput::Transmit(request) => {
                mail.extend(
                    answer(&request)
                        .into_iter()
                        .map(|reply| (now + LATENCY, reply)),
                );
            }
            SourceOutput::Servers(more) => servers.extend(more),
            SourceOutput::Done(report) => return (servers, report, now),
            SourceOutput::Wait(until) => {
                assert!(until > now);
                if mail.first().is_some_and(|(at, _)| *at <= until) {
                    let (at, reply) = mail.remove(0);
                    now = at;
                    source.handle_datagram(now, &reply);
                } else {
                    now = until;
                }
            }
        }
    }
}

fn steam_query(origin: Option<OriginForm>) -> SteamQuery {
    let filter = Filter::new().with("gamedir", "cstrike");
    SteamQuery {
        region: Region::All,
        filter,
        origin,
        per_minute: None,
    }
}

/// A Steam master with `all` servers that knows the extensions or not.
fn steam_master(all: &[list::Listed], modern: bool) -> impl FnMut(&[u8]) -> Vec<Vec<u8>> {
    let all = all.to_vec();
    move |request| {
        let request = steam::ListRequest::parse(request).unwrap();
        let start = all
            .iter()
            .position(|listed| listed.addr.socket() == request.seed.into())
            .map_or(0, |at| at + 1);
        let form = request.filter.origin().filter(|_| modern);
        vec![steam::page(&all[start..], form).emit()]
    }
}

#[test]
fn steam_pages_are_followed_to_the_end() {
    let all: Vec<_> = (0..1000).map(server).collect();
    let mut source = SteamSource::new(steam_query(None));
    let (servers, report, _) = drive(&mut source, steam_master(&all, true));
    assert_eq!(servers.len(), 1000);
    assert_eq!(report.completeness, Completeness::Whole);
    assert_eq!(report.requests, 5);
    assert!(
        servers
            .iter()
            .all(|listed| listed.origin == Origin::default()),
        "nothing was asked"
    );
}

#[test]
fn markers_and_countries_arrive_when_asked_for() {
    let all: Vec<_> = (0..1000).map(server).collect();
    let mut source = SteamSource::new(steam_query(Some(OriginForm::As)));
    let (servers, report, _) = drive(&mut source, steam_master(&all, true));
    assert_eq!(report.origin, Some(OriginForm::As));
    assert!(
        servers
            .iter()
            .zip(&all)
            .all(|(got, sent)| got.origin.asn == sent.origin.asn)
    );
    let mut source = SteamSource::new(steam_query(Some(OriginForm::Country)));
    let (servers, _, _) = drive(&mut source, steam_master(&all, true));
    assert_eq!(servers.len(), 1000);
    assert!(
        servers
            .iter()
            .all(|listed| listed.origin.country == "DE".parse().ok())
    );
}

#[test]
fn a_plain_master_is_asked_again_plainly() {
    let all: Vec<_> = (0..300).map(server).collect();
    for form in [OriginForm::As, OriginForm::Country] {
        let mut source = SteamSource::new(steam_query(Some(form)));
        let (servers, report, _) = drive(&mut source, steam_master(&all, false));
        assert_eq!((servers.len(), report.origin), (300, None));
        assert_eq!(report.requests, 3, "one in vain, two pages");
    }
}

#[test]
fn a_master_that_ignores_unknown_filters_by_silence_is_asked_again_plainly() {
    let all: Vec<_> = (0..30).map(server).collect();
    let mut plain = steam_master(&all, false);
    let mut source = SteamSource::new(steam_query(Some(OriginForm::As)));
    let (servers, report, _) = drive(&mut source, |request| {
        let asked = steam::ListRequest::parse(request).unwrap().filter.origin();
        if asked.is_some() {
            Vec::new()
        } else {
            plain(request)
        }
    });
    assert_eq!(
        (servers.len(), report.completeness),
        (30, Completeness::Whole)
    );
}

#[test]
fn a_cookie_is_given_back_and_kept_for_the_pages_that_follow() {
    let all: Vec<_> = (0..1000).map(server).collect();
    let mut master = steam_master(&all, true);
    let mut source = SteamSource::new(steam_query(Some(OriginForm::As)));
    let (servers, report, _) = drive(&mut source, |request| {
        match steam::ListRequest::parse(request)
            .unwrap()
            .filter
            .challenge()
        {
            Some([1, 2, 3, 4]) => master(request),
            _ => vec![steam::ListReply::Cookie([1, 2, 3, 4]).emit()],
        }
    });
    assert_eq!(servers.len(), 1000);
    assert_eq!(report.completeness, Completeness::Whole);
}

#[test]
fn a_master_that_only_sends_cookies_is_given_up() {
    let mut source = SteamSource::new(steam_query(None));
    let (servers, report, _) = drive(&mut source, |_| {
        vec![steam::ListReply::Cookie([9; 4]).emit()]
    });
    assert!(servers.is_empty());
    assert!(report.requests < 12, "{report:?}");
    assert_ne!(report.completeness, Completeness::Whole);
}

#[test]
fn a_lost_page_is_asked_for_again_and_a_dead_master_gives_what_it_gave() {
    let all: Vec<_> = (0..1000).map(server).collect();
    let mut master = steam_master(&all, true);
    let mut count = 0;
    let mut source = SteamSource::new(steam_query(None));
    let (servers, report, _) = drive(&mut source, |request| {
        count += 1;
        if count == 3 {
            Vec::new()
        } else {
            master(request)
        }
    });
    assert_eq!(
        (servers.len(), report.completeness),
        (1000, Completeness::Whole)
    );

    let mut count = 0;
    let mut source = SteamSource::new(steam_query(None));
    let (servers, report, _) = drive(&mut source, |request| {
        count += 1;
        if count > 2 {
            Vec::new()
        } else {
            master(request)
        }
    });
    assert_eq!(
        (servers.len(), report.completeness),
        (462, Completeness::Truncated)
    );

    let mut source = SteamSource::new(steam_query(None));
    let (_, report, now) = drive(&mut source, |_| Vec::new());
    assert_eq!(report.completeness, Completeness::Silent);
    assert_eq!(now.since_epoch(), Duration::from_millis(1500 + 3000 + 6000));
}

#[test]
fn a_repeated_page_does_not_send_the_paging_back() {
    let all: Vec<_> = (0..1000).map(server).collect();
    let mut master = steam_master(&all, true);
    let mut source = SteamSource::new(steam_query(None));
    let (servers, report, _) = drive(&mut source, |request| {
        let mut replies = master(request);
        replies.push(replies[0].clone());
        replies
    });
    assert_eq!((servers.len(), report.requests), (1000, 5));
}

#[test]
fn requests_a_minute_are_kept() {
    let all: Vec<_> = (0..1000).map(server).collect();
    let mut query = steam_query(None);
    query.per_minute = Some(2);
    let mut source = SteamSource::new(query);
    let (servers, _, now) = drive(&mut source, steam_master(&all, true));
    assert_eq!(servers.len(), 1000);
    assert!(now.since_epoch() >= Duration::from_secs(120), "{now:?}");
}

fn q3_query(origin: Option<OriginForm>) -> Quake3Query {
    let mut query = q3::ListRequest::new(None, 84);
    query.origin = origin;
    query
}

fn q3_master(all: &[list::Listed], modern: bool) -> impl FnMut(&[u8]) -> Vec<Vec<u8>> {
    let all = all.to_vec();
    move |request| {
        let mut request = q3::ListRequest::parse(request).unwrap();
        if !modern {
            request.origin = None;
        }
        let form = request.reply_form();
        q3::paginate(&all, form)
            .into_iter()
            .map(|packet| q3::ListReply::List(packet).emit(form))
            .collect()
    }
}

#[test]
fn quake3_lists_are_collected_in_any_order_until_it_is_quiet() {
    let all: Vec<_> = (0..700).map(server).collect();
    let mut master = q3_master(&all, true);
    let mut source = Quake3Source::new(q3_query(Some(OriginForm::As)));
    let (servers, report, _) = drive(&mut source, |request| {
        let mut packets = master(request);
        packets.reverse();
        packets
    });
    assert_eq!(servers.len(), 700);
    assert_eq!(
        (report.requests, report.completeness),
        (1, Completeness::Whole)
    );
    assert!(servers.iter().all(|listed| listed.origin.asn.is_some()));
}

#[test]
fn a_plain_quake3_master_is_asked_again_plainly_and_shows_no_marker() {
    let all: Vec<_> = (0..300).map(server).collect();
    let mut source = Quake3Source::new(q3_query(Some(OriginForm::As)));
    let (servers, report, _) = drive(&mut source, q3_master(&all, false));
    let mut unique: Vec<_> = servers.iter().map(|listed| listed.addr).collect();
    unique.sort_unstable();
    unique.dedup();
    assert_eq!((unique.len(), report.origin), (300, None));
}

#[test]
fn quake3_cookies_truncation_and_silence() {
    let all: Vec<_> = (0..700).map(server).collect();
    let mut master = q3_master(&all, true);
    let cookie = q3::ListCookie::new(*b"abcdefgh").unwrap();
    let mut source = Quake3Source::new(q3_query(None));
    let (servers, _, _) = drive(&mut source, |request| {
        let request_form = q3::ListRequest::parse(request).unwrap();
        if request_form.challenge == Some(cookie) {
            master(request)
        } else {
            vec![q3::ListReply::Cookie(cookie).emit(request_form.reply_form())]
        }
    });
    assert_eq!(servers.len(), 700);

    let mut source = Quake3Source::new(q3_query(None));
    let (servers, report, _) = drive(&mut source, |request| {
        let mut packets = master(request);
        packets.pop();
        packets
    });
    assert_eq!(report.requests, 3, "a lost packet is worth asking again");
    assert!(servers.len() < 3 * 700);
    assert_eq!(report.completeness, Completeness::Truncated);

    let mut source = Quake3Source::new(q3_query(None));
    let (_, report, _) = drive(&mut source, |_| Vec::new());
    assert_eq!(report.completeness, Completeness::Silent);
}

#[test]
fn a_closed_port_ends_it_at_once() {
    let mut sources: [Box<dyn Source>; 2] = [
        Box::new(SteamSource::new(steam_query(Some(OriginForm::As)))),
        Box::new(Quake3Source::new(q3_query(Some(OriginForm::As)))),
    ];
    for source in &mut sources {
        let now = Moment::EPOCH;
        assert!(matches!(source.poll_output(now), SourceOutput::Transmit(_)));
        source.handle_unreachable();
        let SourceOutput::Done(report) = source.poll_output(now) else {
            panic!("goes on asking a closed port");
        };
        assert_eq!(report.completeness, Completeness::Silent);
    }
}

proptest! {
    #[test]
    fn any_replies_end_in_a_report(
        replies in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..60), 0..40),
        kinds in proptest::collection::vec(0u8..4, 40),
        steam: bool,
    ) {
        let mut replies = replies.into_iter().zip(kinds).map(|(mut bytes, kind)| {
            let head: &[u8] = match kind {
                0 => b"\xff\xff\xff\xff\x66\x0a",
                1 => b"\xff\xff\xff\xffgetserversResponse",
                2 => b"\xff\xff\xff\xff\x41",
                _ => b"",
            };
            bytes.splice(0..0, head.iter().copied());
            bytes
        });
        let mut source: Box<dyn Source> = if steam {
            Box::new(SteamSource::new(steam_query(Some(OriginForm::As))))
        } else {
            Box::new(Quake3Source::new(q3_query(Some(OriginForm::As))))
        };
        let (servers, report, _) = drive(source.as_mut(), |_| replies.by_ref().take(2).collect());
        prop_assert_eq!(servers.len(), report.servers);
        prop_assert!(report.requests <= 60);
    }
}
