//! One sample of every message, byte by byte as it is on the wire: captured where a real program was
//! at hand (OpenArena 0.8.8, quakestat), built by hand from the protocol documents otherwise.

use std::time::Duration;

use nearside_types::{Asn, Country, ServerAddr};
use nearside_wire::a2s::{self, Challenge, Dialect, Environment, Response, ServerType};
use nearside_wire::list::{Entry, ListPacket, OriginForm};
use nearside_wire::quake3::{self, InfoString, StatusPlayer, master};
use nearside_wire::steam::{self, Filter, ListRequest, Region};
use nearside_wire::{DecodeError, GameText};

/// Bytes from hexadecimal digits; spaces and everything behind `;` in a line are for the reader.
fn hex(text: &str) -> Vec<u8> {
    let code = text.lines().flat_map(|line| line.split(';').next());
    let digits: Vec<_> = code
        .flat_map(str::chars)
        .filter_map(|c| c.to_digit(16))
        .collect();
    assert!(digits.len().is_multiple_of(2), "an odd number of digits");
    digits
        .chunks(2)
        .map(|pair| (pair[0] * 16 + pair[1]) as u8)
        .collect()
}

fn info(message: &[u8]) -> a2s::Info {
    match Response::parse(message) {
        Ok(Response::Info(info)) => *info,
        other => panic!("{other:?}"),
    }
}

fn server(text: &str) -> Entry {
    Entry::Server {
        addr: text.parse().expect("a literal of ours"),
        country: None,
    }
}

fn server_in(text: &str, country: &[u8; 2]) -> Entry {
    Entry::Server {
        addr: text.parse().expect("a literal of ours"),
        country: Country::from_bytes(*country),
    }
}

#[test]
fn challenge_reply_of_9_bytes() {
    let bytes = hex("FFFFFFFF 41 0A085EEA");
    assert_eq!(bytes.len(), 9);
    let challenge = Response::Challenge(Challenge([0x0A, 0x08, 0x5E, 0xEA]));
    assert_eq!(Response::parse(&bytes), Ok(challenge.clone()));
    assert_eq!(challenge.emit(), bytes);
}

#[test]
fn info_request_with_challenge_of_29_bytes() {
    let bytes = hex("FFFFFFFF 54 536F7572636520456E67696E6520517565727900 0A085EEA");
    assert_eq!(bytes.len(), 29);
    let challenge = Some(Challenge([0x0A, 0x08, 0x5E, 0xEA]));
    assert_eq!(
        a2s::Request::parse(&bytes),
        Ok(a2s::Request::Info { challenge })
    );
}

/// Every extra data flag set, in the order of the wire and not of the bits.
const SOURCE_INFO: &str = "
    FFFFFFFF 49 11          ; header, type, protocol 17
    4E6F727468 00           ; North
    64655F6475737432 00     ; de_dust2
    63737472696B65 00       ; cstrike
    4353 00                 ; CS
    F000                    ; app id 240
    0C 20 02                ; 12 of 32 players, 2 bots
    64 6C 01 01             ; dedicated, Linux, password, VAC
    312E3000                ; version 1.0
    F1                      ; EDF: port, spectator, keywords, Steam id, game id
    8769                    ; port 27015
    0100000000004001        ; Steam id
    8C69 5456 00            ; spectators: port 27020, TV
    706C61696E 00           ; keywords: plain
    F000000000000000        ; game id 240
";

#[test]
fn info_reply_with_every_extra_field() {
    let bytes = hex(SOURCE_INFO);
    let info = info(&bytes);
    assert_eq!(
        (info.protocol, info.name.to_string()),
        (17, "North".to_owned())
    );
    assert_eq!(info.map, GameText::from("de_dust2"));
    assert_eq!((info.players, info.max_players, info.bots), (12, 32, 2));
    assert_eq!(
        (info.server_type, info.environment),
        (ServerType::Dedicated, Environment::Linux)
    );
    assert!(info.password && info.vac);
    let Dialect::Source(source) = &info.dialect else {
        panic!("{info:?}");
    };
    let spectator = a2s::Spectator {
        port: 27020,
        name: "TV".into(),
    };
    assert_eq!((source.app_id, source.port), (240, Some(27015)));
    assert_eq!(source.steam_id, Some(0x0140_0000_0000_0001));
    assert_eq!(source.spectator, Some(spectator));
    assert_eq!(source.keywords, Some(GameText::from("plain")));
    assert_eq!(info.true_app_id(), Some(240));
    assert_eq!(Response::Info(Box::new(info)).emit(), bytes);
}

#[test]
fn info_reply_cut_anywhere_is_refused_except_where_old_servers_end() {
    let bytes = hex(SOURCE_INFO);
    let vac = 41;
    let version = vac + 4;
    for length in 0..bytes.len() {
        let parsed = Response::parse(&bytes[..length]);
        let whole = [vac, version].contains(&length);
        assert_eq!(parsed.is_ok(), whole, "cut at {length}: {parsed:?}");
    }
}

#[test]
fn app_ids_above_16_bits_and_counts_above_8_come_from_the_extra_fields() {
    let bytes = hex("
        FFFFFFFF 49 11 52 00 50 00 72757374 00 52757374 00  ; R, P, rust, Rust
        0000 FF FF 00 64 77 00 01 32333934 00               ; app id 0, 255 of 255
        21                                                  ; EDF: keywords, game id
        6D703330302C63703238372C7170302C76323339 34 00      ; mp300,cp287,qp0,v2394
        4ADA030000000000                                    ; game id 252490
    ");
    let info = info(&bytes);
    assert_eq!(info.true_app_id(), Some(252_490));
    assert_eq!(info.environment, Environment::Windows);
    assert_eq!(
        info.counts(),
        a2s::Counts {
            players: 287,
            max_players: 300
        }
    );
}

#[test]
fn info_reply_of_the_ship() {
    let bytes = hex("
        FFFFFFFF 49 07 53 00 62 00 73686970 00 5468652053686970 00
        6009 01 05 00 6C 77 00 00   ; app id 2400, 1 of 5 players
        01 03 3C                    ; elimination, 3 witnesses, 60 s
        312E30 00 00                ; version 1.0, no extra data
    ");
    let info = info(&bytes);
    let Dialect::Source(source) = &info.dialect else {
        panic!("{info:?}");
    };
    let ship = a2s::ShipMode {
        mode: 1,
        witnesses: 3,
        duration: 60,
    };
    assert_eq!(
        (source.ship, source.version.to_string()),
        (Some(ship), "1.0".to_owned())
    );
    assert_eq!(Response::Info(Box::new(info)).emit(), bytes);
}

#[test]
fn info_reply_of_goldsource_with_a_mod() {
    let bytes = hex("
        FFFFFFFF 6D
        3139322E302E322E373A3237303135 00   ; 192.0.2.7:27015
        4F6C64 00 6465 00 63 00 43 00       ; Old, de, c, C
        05 10 2F 64 6C 00                   ; 5 of 16, protocol 47, dedicated, Linux, open
        01                                  ; a mod follows
        77 00 64 00 00                      ; link w, download d, NUL
        01000000 00000A00 01 00             ; version 1, 655,360 bytes, multiplayer, no library
        01 02                               ; VAC, 2 bots
    ");
    let info = info(&bytes);
    assert_eq!((info.protocol, info.players, info.bots), (47, 5, 2));
    assert!(info.vac && !info.password);
    assert_eq!(info.true_app_id(), None);
    let Dialect::GoldSource(gold) = &info.dialect else {
        panic!("{info:?}");
    };
    let modification = gold.modification.as_ref().unwrap();
    assert_eq!((modification.version, modification.size), (1, 655_360));
    assert!(modification.multiplayer_only && !modification.own_library);
    assert_eq!(Response::Info(Box::new(info)).emit(), bytes);
}

#[test]
fn player_reply_and_its_times() {
    let bytes = hex("
        FFFFFFFF 44 02
        00 416C00 0E000000 B2C48942 ; Al, 14, 68.88 s
        00 00 FFFFFFFF 000080BF     ; a name hidden, -1, -1 s
    ");
    let Ok(Response::Players(list)) = Response::parse(&bytes) else {
        panic!("not a player list");
    };
    assert_eq!((list.announced, list.partial), (2, false));
    assert_eq!(
        (list.players[0].name.to_string(), list.players[0].score),
        ("Al".to_owned(), 14)
    );
    let connected = list.players[0].connected.duration().unwrap();
    assert!(connected.abs_diff(Duration::from_millis(68_884)) < Duration::from_millis(1));
    assert_eq!(
        (list.players[1].score, list.players[1].connected.duration()),
        (-1, None)
    );
    assert_eq!(Response::Players(list).emit(), bytes);
}

#[test]
fn player_reply_of_the_ship() {
    let bytes = hex("
        FFFFFFFF 44 01
        00 416C00 0E000000 00000000
        03000000 F4010000           ; 3 deaths, 500 money
    ");
    let Ok(Response::Players(list)) = Response::parse(&bytes) else {
        panic!("not a player list");
    };
    assert_eq!(
        list.players[0].ship,
        Some(a2s::ShipScore {
            deaths: 3,
            money: 500
        })
    );
    assert_eq!(Response::Players(list).emit(), bytes);
}

#[test]
fn a_partial_list_of_the_ship_is_sent_without_its_scores() {
    let player = a2s::Player {
        ship: Some(a2s::ShipScore::default()),
        ..a2s::Player::default()
    };
    let list = a2s::PlayerList {
        players: vec![player],
        announced: 2,
        partial: true,
    };
    let entry = 1 + 1 + 4 + 4;
    assert_eq!(Response::Players(list).emit().len(), 6 + entry);
}

#[test]
fn rules_reply_is_kept_when_cut_and_safe_with_binary() {
    let bytes = hex("FFFFFFFF 45 0300 6100 3100 01FF00 FE0102 00 6300 32");
    let Ok(Response::Rules(list)) = Response::parse(&bytes) else {
        panic!("not a list of rules");
    };
    assert_eq!(
        (list.announced, list.partial, list.rules.len()),
        (3, true, 2)
    );
    assert_eq!(list.rules[1].name.as_bytes(), [0x01, 0xFF]);
    assert_eq!(list.rules[1].value.as_bytes(), [0xFE, 0x01, 0x02]);
    assert_eq!(list.rules[1].value.to_safe_string(), "\u{FFFD}");
}

/// Captured from OpenArena 0.8.8 (ioquake3 1.36).
const OPENARENA_INFO: &[u8] = b"\xFF\xFF\xFF\xFFinfoResponse\n\\voip\\opus\\g_needpass\\0\\pure\\1\
    \\gametype\\0\\sv_maxclients\\8\\g_humanplayers\\0\\clients\\0\\mapname\\oa_dm1\
    \\hostname\\noname\\protocol\\71\\gamename\\Quake3Arena\\challenge\\A_ch4Lleng3";

#[test]
fn info_reply_of_openarena() {
    let response = quake3::Response::parse(OPENARENA_INFO).unwrap();
    assert_eq!(response.challenge(), Some(&b"A_ch4Lleng3"[..]));
    assert_eq!(response.emit(), OPENARENA_INFO);
    let quake3::Response::Info(info) = response else {
        panic!("{response:?}");
    };
    assert_eq!(info.pairs().len(), 12);
    assert_eq!(info.hostname(), Some(&GameText::from("noname")));
    assert_eq!(info.mapname(), Some(&GameText::from("oa_dm1")));
    assert_eq!(info.gamename(), Some(&GameText::from("Quake3Arena")));
    assert_eq!(
        (info.clients(), info.max_clients(), info.bots()),
        (Some(0), Some(8), Some(0))
    );
    assert_eq!(
        (info.protocol(), info.needs_password()),
        (Some(71), Some(false))
    );
}

#[test]
fn status_reply_with_the_player_lines_of_several_games() {
    let bytes = b"\xFF\xFF\xFF\xFFstatusResponse\n\\sv_hostname\\^2ET\\challenge\\xyz\n\
        12 48 \"^1Ann\"\n-3 0 \"[BOT] a \"b\" c\"\n7 999 2 \"dp\"\n5 20 \"warsow\" 3\nbroken line\n";
    let Ok(quake3::Response::Status { info, players }) = quake3::Response::parse(bytes) else {
        panic!("not a status");
    };
    let player = |score, ping_ms, name: &str, extra: &[&str]| StatusPlayer {
        score,
        ping_ms,
        name: name.into(),
        extra: extra.iter().map(|word| GameText::from(*word)).collect(),
    };
    let expected = [
        player(12, 48, "^1Ann", &[]),
        player(-3, 0, "[BOT] a \"b\" c", &[]),
        player(7, 999, "dp", &["2"]),
        player(5, 20, "warsow", &["3"]),
    ];
    assert_eq!(players, expected);
    assert_eq!(players[0].name.plain(), "Ann");
    assert_eq!(info.hostname().unwrap().plain(), "ET");
}

#[test]
fn quake3_requests_have_the_sizes_of_the_protocol_document() {
    let challenge = Some(quake3::Challenge::new(b"xxx").unwrap());
    let request = quake3::Request::GetInfo { challenge };
    assert_eq!(request.emit(), b"\xFF\xFF\xFF\xFFgetinfo xxx");
    assert_eq!(request.emit().len(), 15);
    assert_eq!(
        quake3::Request::GetInfo { challenge: None }.emit().len(),
        11
    );
    assert_eq!(
        quake3::Request::GetStatus { challenge: None }.emit().len(),
        13
    );
}

#[test]
fn quake3_requests_may_end_in_a_newline_or_a_nul() {
    for datagram in [
        &b"\xFF\xFF\xFF\xFFgetstatus\n"[..],
        b"\xFF\xFF\xFF\xFFgetstatus\0",
    ] {
        let expected = Ok(quake3::Request::GetStatus { challenge: None });
        assert_eq!(quake3::Request::parse(datagram), expected);
    }
}

#[test]
fn info_replies_of_other_messages_are_not_recognised() {
    for datagram in [
        &b"\xFF\xFF\xFF\xFFinfoResponsible\n"[..],
        b"\xFF\xFF\xFF\xFFprint\nno",
        b"",
    ] {
        assert_eq!(
            quake3::Response::parse(datagram).unwrap_err().label(),
            "unrecognised"
        );
    }
    let empty = quake3::Response::parse(b"\xFF\xFF\xFF\xFFinfoResponse\n");
    assert_eq!(empty, Ok(quake3::Response::Info(InfoString::new())));
}

#[test]
fn list_requests_of_quakestat_with_and_without_newline() {
    let expected = master::ListRequest::new(None, 68);
    for datagram in [
        &b"\xFF\xFF\xFF\xFFgetservers 68 empty full"[..],
        b"\xFF\xFF\xFF\xFFgetservers 68 empty full\n",
    ] {
        assert_eq!(master::ListRequest::parse(datagram), Ok(expected.clone()));
    }
    assert_eq!(expected.emit().len(), 28);
    let short = master::ListRequest {
        protocol: 84,
        ..master::ListRequest::default()
    };
    assert_eq!(short.emit(), b"\xFF\xFF\xFF\xFFgetservers 84");
    assert_eq!(short.emit().len(), 17);
}

#[test]
fn extended_list_request_with_origin_and_cookie() {
    let datagram = b"\xFF\xFF\xFF\xFFgetserversExt et 84 ipv6 empty full gametype=2 \
        origin=as challenge=k3j-9_Qz";
    let request = master::ListRequest::parse(datagram).unwrap();
    assert_eq!(request.game.as_deref(), Some("et"));
    assert_eq!(
        (request.ipv4, request.ipv6, request.extended),
        (false, true, true)
    );
    assert_eq!(request.origin, Some(OriginForm::As));
    assert_eq!(request.challenge, master::ListCookie::new(*b"k3j-9_Qz"));
    assert_eq!(request.other, ["gametype=2"]);
    assert_eq!(request.emit(), datagram);
}

#[test]
fn list_requests_without_a_protocol_say_what_is_missing() {
    let error = master::ListRequest::parse(b"\xFF\xFF\xFF\xFFgetservers et").unwrap_err();
    assert!(error.to_string().contains("getservers 84"), "{error}");
    let error = master::ListRequest::parse(b"\xFF\xFF\xFF\xFFgetservers 84 \xE4").unwrap_err();
    assert_eq!(error.label(), "bad-value");
}

#[test]
fn a_cookie_is_not_longer_than_the_shortest_request() {
    let cookie = master::ListReply::Cookie(master::ListCookie::new(*b"k3j-9_Qz").unwrap());
    let request = master::ListRequest {
        protocol: 84,
        ..master::ListRequest::default()
    };
    let bytes = cookie.emit(request.reply_form());
    assert_eq!(bytes, b"\xFF\xFF\xFF\xFFck k3j-9_Qz");
    assert!(bytes.len() <= request.emit().len());
    let shortest = ListRequest::new(Filter::new());
    assert!(steam::ListReply::Cookie([0; 4]).emit().len() <= shortest.emit().len());
}

/// `getserversResponse`, a marker of AS 24940, one server, a marker of an unknown AS, one server.
const MARKED_LIST: &str = "
    FFFFFFFF 67657473657276657273526573706F6E7365
    5C 0000616C 0000        ; AS 24940
    5C C0000207 6D38        ; 192.0.2.7:27960
    5C FFFFFFFF 0000        ; origin unknown
    5C C6336401 6D39        ; 198.51.100.1:27961
    5C 454F5400 0000        ; EOT
";

#[test]
fn markers_are_seen_by_those_who_asked_and_by_nobody_else() {
    let bytes = hex(MARKED_LIST);
    let asked = Some(OriginForm::As);
    let marked = ListPacket {
        entries: vec![
            Entry::Marker(Some(Asn(24940))),
            server("192.0.2.7:27960"),
            Entry::Marker(None),
            server("198.51.100.1:27961"),
        ],
        end: true,
    };
    let reply = master::ListReply::List(marked.clone());
    assert_eq!(master::ListReply::parse(&bytes, asked), Ok(reply.clone()));
    assert_eq!(
        reply.emit(master::ReplyForm {
            extended: false,
            origin: asked
        }),
        bytes
    );
    let origins: Vec<_> = marked.servers().map(|listed| listed.origin.asn).collect();
    assert_eq!(origins, [Some(Asn(24940)), None]);
    for asked in [None, Some(OriginForm::Country)] {
        let Ok(master::ListReply::List(plain)) = master::ListReply::parse(&bytes, asked) else {
            panic!("not a list");
        };
        assert_eq!(
            plain.entries,
            [server("192.0.2.7:27960"), server("198.51.100.1:27961")]
        );
        assert!(plain.end && !plain.starts_with_marker());
    }
    let unmarked = reply.emit(master::ReplyForm {
        extended: false,
        origin: None,
    });
    assert_eq!(unmarked.len(), 22 + 3 * 7);
}

#[test]
fn the_as_that_reads_as_the_end_mark_is_sent_as_unknown() {
    let packet = |asn| {
        master::ListReply::List(ListPacket {
            entries: vec![Entry::Marker(asn), server("192.0.2.7:27960")],
            end: false,
        })
    };
    let form = master::ReplyForm {
        extended: true,
        origin: Some(OriginForm::As),
    };
    let bytes = packet(Some(Asn(1_162_826_752))).emit(form);
    assert_eq!(
        master::ListReply::parse(&bytes, form.origin),
        Ok(packet(None))
    );
}

#[test]
fn as_0_is_sent_as_unknown_and_never_ends_a_steam_list() {
    let packet = |asn| {
        steam::ListReply::List(ListPacket {
            entries: vec![Entry::Marker(asn), server("192.0.2.7:27015")],
            end: false,
        })
    };
    let asked = Some(OriginForm::As);
    let zero = packet(Some(Asn(0))).emit();
    assert_eq!(steam::ListReply::parse(&zero, asked), Ok(packet(None)));
    let eot = packet(Some(Asn(1_162_826_752)));
    assert_eq!(steam::ListReply::parse(&eot.emit(), asked), Ok(eot));
}

#[test]
fn extended_list_of_both_families_with_countries() {
    let bytes = hex("
        FFFFFFFF 676574736572766572734578745265 73706F6E7365
        5C C0000207 6D38 4445                                   ; 192.0.2.7:27960 DE
        2F 20010DB8000000000000000000000001 6D38 5A5A           ; [2001:db8::1]:27960 ZZ
        5C 454F5400 0000
    ");
    let asked = Some(OriginForm::Country);
    let expected = master::ListReply::List(ListPacket {
        entries: vec![
            server_in("192.0.2.7:27960", b"DE"),
            server("[2001:db8::1]:27960"),
        ],
        end: true,
    });
    assert_eq!(
        master::ListReply::parse(&bytes, asked),
        Ok(expected.clone())
    );
    assert_eq!(
        expected.emit(master::ReplyForm {
            extended: true,
            origin: asked
        }),
        bytes
    );
    let error = master::ListReply::parse(&bytes, None).unwrap_err();
    assert!(
        matches!(
            error,
            DecodeError::BadValue {
                field: "separator",
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn a_master_without_the_country_extension_is_still_understood() {
    let plain = master::ListReply::List(ListPacket {
        entries: vec![server("65.66.67.68:17475"), server("[4142:4344::1]:16962")],
        end: true,
    });
    let bytes = plain.emit(master::ReplyForm {
        extended: true,
        origin: None,
    });
    assert_eq!(
        master::ListReply::parse(&bytes, Some(OriginForm::Country)),
        Ok(plain)
    );
}

#[test]
fn ends_of_lists_as_old_masters_write_them() {
    let list = |tail: &[u8]| {
        let entry = b"\xFF\xFF\xFF\xFFgetserversResponse\\\xC0\0\x02\x07\x6D\x38";
        master::ListReply::parse(&[&entry[..], tail].concat(), None)
    };
    let packet = |end| {
        Ok(master::ListReply::List(ListPacket {
            entries: vec![server("192.0.2.7:27960")],
            end,
        }))
    };
    assert_eq!(list(b""), packet(false));
    assert_eq!(list(b"\\"), packet(false));
    assert_eq!(list(b"\\EOT"), packet(true));
    assert_eq!(list(b"\\EOT\0\0\0"), packet(true));
    assert_eq!(list(b"\\EOT\0\0\0\\\x01\x02\x03\x04\0\x09"), packet(true));
    let error = list(b"\\\x01\x02").unwrap_err();
    assert_eq!(
        error,
        DecodeError::Truncated {
            field: "IPv4 entry",
            offset: 30
        }
    );
}

#[test]
fn mapped_addresses_are_listed_as_what_they_are() {
    let mut bytes = b"\xFF\xFF\xFF\xFFgetserversExtResponse/".to_vec();
    bytes.extend(hex("00000000000000000000FFFFC0000207 6D38"));
    let expected = master::ListReply::List(ListPacket {
        entries: vec![server("192.0.2.7:27960")],
        end: false,
    });
    assert_eq!(master::ListReply::parse(&bytes, None), Ok(expected));
}

#[test]
fn lists_have_the_sizes_of_the_protocol_document() {
    let entries = |text: &str, count| vec![server(text); count];
    let list = |entries| {
        master::ListReply::List(ListPacket {
            entries,
            end: false,
        })
    };
    let plain = master::ReplyForm {
        extended: false,
        origin: None,
    };
    let extended = master::ReplyForm {
        extended: true,
        origin: None,
    };
    let v4 = "192.0.2.7:27960";
    // One byte more than the document says: a closing backslash, for qstat's sake.
    assert_eq!(list(entries(v4, 196)).emit(plain).len(), 22 + 7 * 196 + 1);
    assert!(list(entries(v4, 196)).emit(extended).len() <= 1400);
    assert_eq!(
        list(entries("[2001:db8::1]:9", 72)).emit(extended).len(),
        25 + 19 * 72 + 1
    );
    let steam = steam::ListReply::List(ListPacket {
        entries: entries(v4, 231),
        end: false,
    });
    assert_eq!(steam.emit().len(), 1392);
}

#[test]
fn steam_request_for_the_first_page() {
    let bytes = hex("
        31 FF 302E302E302E303A30 00                 ; all regions, 0.0.0.0:0
        5C67616D656469725C6373747269 6B65 00        ; \\gamedir\\cstrike
    ");
    assert_eq!(bytes.len(), 29);
    let request = ListRequest::new(Filter::new().with("gamedir", "cstrike"));
    assert_eq!(ListRequest::parse(&bytes), Ok(request.clone()));
    assert_eq!(request.emit(), bytes);
    assert_eq!(request.region, Region::All);
    let error = ListRequest::parse(b"1\x030.0.0.0\0\0").unwrap_err();
    assert!(
        error.to_string().contains("0.0.0.0:0 for the first page"),
        "{error}"
    );
}

#[test]
fn steam_list_with_markers_for_those_who_asked() {
    let bytes = hex("
        FFFFFFFF 660A
        0000616C 0000           ; AS 24940
        C0000207 6987           ; 192.0.2.7:27015
        00000000 0000           ; end of list
    ");
    let packet = |entries| Ok(steam::ListReply::List(ListPacket { entries, end: true }));
    let marker = Entry::Marker(Some(Asn(24940)));
    let marked = packet(vec![marker, server("192.0.2.7:27015")]);
    assert_eq!(
        steam::ListReply::parse(&bytes, Some(OriginForm::As)),
        marked
    );
    assert_eq!(
        steam::ListReply::parse(&bytes, None),
        packet(vec![server("192.0.2.7:27015")])
    );
    assert_eq!(marked.unwrap().emit(), bytes);
    let error = steam::ListReply::parse(&bytes[..bytes.len() - 1], None).unwrap_err();
    assert_eq!(
        error,
        DecodeError::Truncated {
            field: "entry",
            offset: 18
        }
    );
}

#[test]
fn steam_list_with_countries() {
    let bytes = hex("
        FFFFFFFF 6643
        C0000207 6987 4445      ; 192.0.2.7:27015 DE
        C6336401 6988 5A5A      ; 198.51.100.1:27016, unknown
        00000000 0000 5A5A      ; end of list
    ");
    let expected = steam::ListReply::Countries(ListPacket {
        entries: vec![
            server_in("192.0.2.7:27015", b"DE"),
            server("198.51.100.1:27016"),
        ],
        end: true,
    });
    assert_eq!(
        steam::ListReply::parse(&bytes, Some(OriginForm::Country)),
        Ok(expected.clone())
    );
    assert_eq!(expected.emit(), bytes);
}

#[test]
fn steam_cookie_and_the_request_that_repeats_it() {
    let bytes = hex("FFFFFFFF 41 0A085EEA");
    let cookie = [0x0A, 0x08, 0x5E, 0xEA];
    assert_eq!(
        steam::ListReply::parse(&bytes, None),
        Ok(steam::ListReply::Cookie(cookie))
    );
    let filter = Filter::new()
        .with("gamedir", "cstrike")
        .with_challenge(cookie);
    assert_eq!(
        filter.to_string(),
        "\\gamedir\\cstrike\\challenge\\0a085eea"
    );
    let replaced = filter.with_challenge([1, 2, 3, 4]);
    assert_eq!(
        replaced.to_string(),
        "\\gamedir\\cstrike\\challenge\\01020304"
    );
}

#[test]
fn steam_pages_follow_the_last_server() {
    let request = ListRequest::new(Filter::new());
    let packet = |end| ListPacket {
        entries: vec![
            server("192.0.2.7:27015"),
            Entry::Marker(None),
            server("192.0.2.9:27016"),
        ],
        end,
    };
    let next = request.next_page(&packet(false)).unwrap();
    assert_eq!(next.seed.to_string(), "192.0.2.9:27016");
    assert_eq!(request.next_page(&packet(true)), None);
    assert_eq!(request.next_page(&ListPacket::default()), None);
    let last: ServerAddr = "192.0.2.9:27016".parse().unwrap();
    assert_eq!(packet(false).last_server(), Some(last));
}
