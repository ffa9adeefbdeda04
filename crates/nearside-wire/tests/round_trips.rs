//! `parse(emit(x)) == x` for every message of every protocol.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddrV4};

use nearside_types::{Asn, Country, ServerAddr};
use nearside_wire::list::{Entry, ListPacket, OriginForm};
use nearside_wire::quake3::{self, InfoString, StatusPlayer, master};
use nearside_wire::{GameText, a2s, steam};
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;

/// Any bytes but NUL and those in `without`.
fn text_without(without: &'static [u8]) -> impl Strategy<Value = GameText> {
    vec(1u8..=255, 0..24).prop_map(|mut bytes| {
        bytes.retain(|byte| !without.contains(byte));
        GameText::new(bytes)
    })
}

fn text() -> impl Strategy<Value = GameText> {
    text_without(b"")
}

fn source() -> impl Strategy<Value = a2s::Dialect> {
    let ship = (any::<u8>(), any::<u8>(), any::<u8>());
    let app_id = prop_oneof![any::<u16>(), Just(a2s::SourceInfo::THE_SHIP)];
    let spectator = (any::<u16>(), text()).prop_map(|(port, name)| a2s::Spectator { port, name });
    let extra = (
        of(any::<u16>()),
        of(any::<u64>()),
        of(spectator),
        of(text()),
        of(any::<u64>()),
    );
    (app_id, ship, text(), extra).prop_map(
        |(app_id, (mode, witnesses, duration), version, extra)| {
            let is_ship = app_id == a2s::SourceInfo::THE_SHIP;
            let (port, steam_id, spectator, keywords, game_id) = extra;
            a2s::Dialect::Source(a2s::SourceInfo {
                app_id,
                ship: is_ship.then_some(a2s::ShipMode {
                    mode,
                    witnesses,
                    duration,
                }),
                version,
                port,
                steam_id,
                spectator,
                keywords,
                game_id,
            })
        },
    )
}

fn goldsource() -> impl Strategy<Value = a2s::Dialect> {
    let numbers = (any::<i32>(), any::<i32>(), any::<bool>(), any::<bool>());
    let modification = (text(), text(), numbers).prop_map(|(link, download, numbers)| {
        let (version, size, multiplayer_only, own_library) = numbers;
        a2s::Modification {
            link,
            download,
            version,
            size,
            multiplayer_only,
            own_library,
        }
    });
    (text(), of(modification)).prop_map(|(address, modification)| {
        a2s::Dialect::GoldSource(a2s::GoldSourceInfo {
            address,
            modification,
        })
    })
}

fn info() -> impl Strategy<Value = a2s::Response> {
    let names = (text(), text(), text(), text());
    let numbers = any::<[u8; 6]>();
    let flags = any::<(bool, bool)>();
    let dialect = prop_oneof![source(), goldsource()];
    (names, numbers, flags, dialect).prop_map(|(names, numbers, (password, vac), dialect)| {
        let (name, map, folder, game) = names;
        let [
            protocol,
            players,
            max_players,
            bots,
            server_type,
            environment,
        ] = numbers;
        a2s::Response::Info(Box::new(a2s::Info {
            protocol,
            name,
            map,
            folder,
            game,
            players,
            max_players,
            bots,
            server_type: a2s::ServerType::from_byte(server_type),
            environment: a2s::Environment::from_byte(environment),
            password,
            vac,
            dialect,
        }))
    })
}

/// Whole lists, lists of The Ship, and lists that announce more than they have.
fn players() -> impl Strategy<Value = a2s::Response> {
    let scores = (any::<i32>(), any::<i32>());
    let player = (any::<u8>(), text(), any::<i32>(), any::<u32>(), scores);
    (vec(player, 0..20), any::<bool>(), 0u8..5).prop_map(|(players, is_ship, missing)| {
        let partial = missing > 0;
        let player = |(index, name, score, seconds, (deaths, money))| a2s::Player {
            index,
            name,
            score,
            connected: a2s::Connected::from_secs(f32::from_bits(seconds)),
            ship: (is_ship && !partial).then_some(a2s::ShipScore { deaths, money }),
        };
        let players: Vec<_> = players.into_iter().map(player).collect();
        let announced = players.len() as u8 + missing;
        a2s::Response::Players(a2s::PlayerList {
            players,
            announced,
            partial,
        })
    })
}

fn rules() -> impl Strategy<Value = a2s::Response> {
    let rule = (text(), text()).prop_map(|(name, value)| a2s::Rule { name, value });
    (vec(rule, 0..20), 0u16..5).prop_map(|(rules, missing)| {
        let announced = rules.len() as u16 + missing;
        a2s::Response::Rules(a2s::RuleList {
            rules,
            announced,
            partial: missing > 0,
        })
    })
}

fn challenge() -> impl Strategy<Value = a2s::Challenge> {
    any::<[u8; 4]>().prop_map(a2s::Challenge)
}

fn a2s_request() -> impl Strategy<Value = a2s::Request> {
    prop_oneof![
        of(challenge()).prop_map(|challenge| a2s::Request::Info { challenge }),
        challenge().prop_map(|challenge| a2s::Request::Players { challenge }),
        challenge().prop_map(|challenge| a2s::Request::Rules { challenge }),
    ]
}

fn info_string() -> impl Strategy<Value = InfoString> {
    let pair = (text_without(b"\\\n"), text_without(b"\\\n"));
    vec(pair, 0..12).prop_map(|pairs| {
        let build = |info: InfoString, (key, value)| info.with(key, value);
        pairs.into_iter().fold(InfoString::new(), build)
    })
}

fn status_player() -> impl Strategy<Value = StatusPlayer> {
    let word = text_without(b" \t\r\n\"").prop_filter("a word", |word| !word.is_empty());
    (
        any::<i32>(),
        any::<i32>(),
        text_without(b"\n"),
        vec(word, 0..3),
    )
        .prop_map(|(score, ping_ms, name, extra)| StatusPlayer {
            score,
            ping_ms,
            name,
            extra,
        })
}

fn quake3_response() -> impl Strategy<Value = quake3::Response> {
    prop_oneof![
        info_string().prop_map(quake3::Response::Info),
        (info_string(), vec(status_player(), 0..9))
            .prop_map(|(info, players)| quake3::Response::Status { info, players }),
    ]
}

fn quake3_request() -> impl Strategy<Value = quake3::Request> {
    let challenge = of("[!#$&-.0-:<-\\[\\]-~]{1,128}").prop_map(|text| {
        text.map(|text| quake3::Challenge::new(text.as_bytes()).expect("allowed characters only"))
    });
    (challenge, any::<bool>()).prop_map(|(challenge, status)| match status {
        true => quake3::Request::GetStatus { challenge },
        false => quake3::Request::GetInfo { challenge },
    })
}

fn origin() -> impl Strategy<Value = Option<OriginForm>> {
    proptest::sample::select(&[None, Some(OriginForm::As), Some(OriginForm::Country)][..])
}

fn v4() -> impl Strategy<Value = IpAddr> {
    any::<u32>().prop_map(|bits| IpAddr::V4(Ipv4Addr::from_bits(bits)))
}

fn v6() -> impl Strategy<Value = IpAddr> {
    any::<u128>().prop_map(|bits| IpAddr::V6(Ipv6Addr::from_bits(bits)))
}

/// Entries of what a list in this form can hold.
fn packet(
    origin: Option<OriginForm>,
    ip: impl Strategy<Value = IpAddr>,
) -> impl Strategy<Value = ListPacket> {
    let marker = of(1u32..1_000_000).prop_map(|asn| Entry::Marker(asn.map(Asn)));
    let country = of("[A-Y][A-Z]").prop_map(|code| code.and_then(|code| code.parse().ok()));
    let server = (ip, 1u16.., country).prop_map(move |(ip, port, country)| Entry::Server {
        addr: ServerAddr::new(ip, port).expect("the port is not 0"),
        country: country.filter(|_: &Country| origin == Some(OriginForm::Country)),
    });
    let markers = if origin == Some(OriginForm::As) { 1 } else { 0 };
    let entry = prop_oneof![markers => marker, 3 => server];
    (vec(entry, 0..40), any::<bool>()).prop_map(|(entries, end)| ListPacket { entries, end })
}

fn list_request() -> impl Strategy<Value = master::ListRequest> {
    let words = (
        of("[A-Za-z][A-Za-z0-9_-]{0,12}"),
        vec("gametype=[a-z]{1,5}|ffa|ctf", 0..3),
    );
    let cookie = of("[!-~]{8}").prop_map(|text| {
        let bytes = text.and_then(|text| text.into_bytes().try_into().ok());
        bytes.and_then(master::ListCookie::new)
    });
    let flags = any::<[bool; 5]>();
    (words, any::<u32>(), flags, origin(), cookie).prop_map(
        |((game, other), protocol, flags, origin, challenge)| {
            let [extended, empty, full, ipv4, ipv6] = flags;
            master::ListRequest {
                extended,
                game,
                protocol,
                empty,
                full,
                ipv4,
                ipv6,
                origin,
                challenge,
                other,
            }
        },
    )
}

fn filter() -> impl Strategy<Value = steam::Filter> {
    let condition = ("[a-z_]{3,10}", text_without(b"\\")).prop_filter_map(
        "not the name of a group",
        |(key, value)| {
            (key != "nor" && key != "nand" && key != "and")
                .then(|| steam::Condition::is(key, value))
        },
    );
    let how = proptest::sample::select(
        &[
            steam::Combine::Nor,
            steam::Combine::Nand,
            steam::Combine::Or,
            steam::Combine::And,
        ][..],
    );
    let nested = condition.prop_recursive(3, 12, 4, move |inner| {
        (how.clone(), vec(inner, 0..4))
            .prop_map(|(how, conditions)| steam::Condition::Group { how, conditions })
    });
    let filters = vec(nested, 0..5).prop_map(|conditions| {
        let add = |filter: steam::Filter, condition| match condition {
            steam::Condition::Is { key, value } => filter.with(key, value),
            steam::Condition::Group { how, conditions } => filter.with_group(how, conditions),
        };
        conditions.into_iter().fold(steam::Filter::new(), add)
    });
    filters.prop_filter("no longer than is read", |filter| {
        let text = filter.emit();
        let backslashes = text.as_bytes().iter().filter(|byte| **byte == b'\\');
        text.as_bytes().len() <= steam::Filter::LONGEST
            && backslashes.count() <= 2 * steam::Filter::MOST_CONDITIONS
    })
}

/// Many cases, since each takes microseconds; failing ones are printed and become samples by hand.
fn config() -> ProptestConfig {
    ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(2_000)
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a2s_requests_read_back(request in a2s_request()) {
        prop_assert_eq!(a2s::Request::parse(&request.emit()), Ok(request));
    }

    #[test]
    fn a2s_replies_read_back(
        response in prop_oneof![
            info(),
            players(),
            rules(),
            challenge().prop_map(a2s::Response::Challenge),
        ]
    ) {
        prop_assert_eq!(a2s::Response::parse(&response.emit()), Ok(response));
    }

    #[test]
    fn a_player_list_cut_anywhere_keeps_its_whole_players(response in players(), cut in 6usize..400) {
        let message = response.emit();
        let cut = cut.min(message.len());
        let (a2s::Response::Players(whole), Ok(a2s::Response::Players(read))) =
            (response, a2s::Response::parse(&message[..cut]))
        else {
            return Err(TestCaseError::fail("a list that has its count is a list"));
        };
        prop_assert_eq!(read.announced, whole.announced);
        prop_assert_eq!(read.partial, read.players.len() < usize::from(whole.announced));
        for (read, whole) in read.players.iter().zip(&whole.players) {
            prop_assert_eq!((&read.name, read.score), (&whole.name, whole.score));
        }
    }

    #[test]
    fn quake3_requests_read_back(request in quake3_request()) {
        prop_assert_eq!(quake3::Request::parse(&request.emit()), Ok(request));
    }

    #[test]
    fn quake3_replies_read_back(response in quake3_response()) {
        prop_assert_eq!(quake3::Response::parse(&response.emit()), Ok(response));
    }

    #[test]
    fn quake3_list_requests_read_back(request in list_request()) {
        prop_assert_eq!(master::ListRequest::parse(&request.emit()), Ok(request));
    }

    #[test]
    fn quake3_plain_lists_read_back(
        (origin, packet) in origin().prop_flat_map(|origin| (Just(origin), packet(origin, v4())))
    ) {
        let form = master::ReplyForm { extended: false, origin };
        let reply = master::ListReply::List(packet);
        prop_assert_eq!(master::ListReply::parse(&reply.emit(form), origin), Ok(reply));
    }

    #[test]
    fn quake3_extended_lists_read_back(
        (origin, packet) in origin()
            .prop_flat_map(|origin| (Just(origin), packet(origin, prop_oneof![v4(), v6()])))
    ) {
        let form = master::ReplyForm { extended: true, origin };
        let reply = master::ListReply::List(packet);
        prop_assert_eq!(master::ListReply::parse(&reply.emit(form), origin), Ok(reply));
    }

    #[test]
    fn cookies_read_back(bits: u64, bytes: [u8; 4]) {
        let form = master::ListRequest::new(None, 84).reply_form();
        let reply = master::ListReply::Cookie(master::ListCookie::from_bits(bits));
        prop_assert_eq!(master::ListReply::parse(&reply.emit(form), None), Ok(reply));
        let reply = steam::ListReply::Cookie(bytes);
        prop_assert_eq!(steam::ListReply::parse(&reply.emit(), None), Ok(reply));
        let filter = steam::Filter::new().with_challenge(bytes);
        prop_assert_eq!(filter.challenge(), Some(bytes));
    }

    #[test]
    fn steam_requests_read_back(region: u8, seed: (u32, u16), filter in filter()) {
        let request = steam::ListRequest {
            region: steam::Region::from_byte(region),
            seed: SocketAddrV4::new(Ipv4Addr::from_bits(seed.0), seed.1),
            filter,
        };
        prop_assert_eq!(request.region.byte(), region);
        prop_assert_eq!(steam::ListRequest::parse(&request.emit()), Ok(request));
    }

    #[test]
    fn steam_lists_read_back(
        (origin, packet) in origin().prop_flat_map(|origin| (Just(origin), packet(origin, v4())))
    ) {
        let reply = match origin {
            Some(OriginForm::Country) => steam::ListReply::Countries(packet),
            _ => steam::ListReply::List(packet),
        };
        prop_assert_eq!(steam::ListReply::parse(&reply.emit(), origin), Ok(reply));
    }
}
