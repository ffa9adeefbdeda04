//! What is looked at, and that nothing is missed.

use std::collections::BTreeSet;

use nearside_types::{Asn, Moment, Origin, ServerAddr};
use nearside_wire::list::{Listed, as_order};
use nearside_wire::quake3::master::ListRequest;
use nearside_wire::steam;
use proptest::prelude::*;

use super::*;
use crate::cookie::Secret;
use crate::selection::Selection;
use crate::server::{Facts, Flags, Standing};

fn shelf() -> Shelf {
    Shelf::new(Secret([7; 16]))
}

fn server(number: u32, game: &str, map: &str) -> Server {
    let ip = std::net::Ipv4Addr::from_bits(0x0B00_0000 + number);
    Server {
        addr: ServerAddr::new(ip.into(), 27015).unwrap(),
        family: Family::Steam,
        standing: Standing::Verified,
        origin: Origin {
            asn: Some(Asn(number % 7)),
            country: "DE".parse().ok(),
        },
        expires: Moment::EPOCH,
        facts: Facts {
            app_id: 10,
            protocol: 48,
            players: 3,
            places: 8,
            ..Facts::of_texts(&[(Text::Game, game.as_bytes()), (Text::Map, map.as_bytes())])
        },
    }
}

fn of_steam(region: u8, filter: &str) -> Question {
    let mut request = steam::ListRequest::new(filter.parse().unwrap());
    request.region = steam::Region::from_byte(region);
    Selection::of_steam(&request).question()
}

fn of_quake3(game: Option<&str>, protocol: u32, words: &[&str]) -> Question {
    let mut request = ListRequest::new(game, protocol);
    (request.empty, request.full) = (words.contains(&"empty"), words.contains(&"full"));
    request.extended = words.contains(&"ext");
    request.other = words.iter().map(|&word| word.to_owned()).collect();
    Selection::of_quake3(&request).question()
}

/// How many servers a question looks at, and how many it selects.
fn looked_at(shelf: &Shelf, question: &Question) -> (usize, usize) {
    let candidates = Candidates::of(question, shelf, &mut |_| true).unwrap();
    let met: Vec<_> = candidates.servers(question, shelf).collect();
    assert!(met.len() <= candidates.count, "more than was paid for");
    let selected = met.iter().filter(|server| question.selects(server));
    (met.len(), selected.count())
}

/// Ten servers that questions are about among `others`, of the same game and of others.
fn ten_among(others: u32) -> Shelf {
    let mut shelf = shelf();
    for number in 0..others {
        let game = ["cstrike", "valve", "tf"][number as usize % 3];
        let mut other = server(1_000 + number, game, &format!("map{}", number % 100));
        if number % 2 == 0 {
            other.family = Family::Quake3;
        }
        shelf.put(other);
    }
    for number in 0..10 {
        let mut one = server(number, "cstrike", "rare");
        one.facts.flags.password = true;
        one.origin.country = "JP".parse().ok();
        shelf.put(one.clone());
        one.addr = ServerAddr::new([11, 9, 9, 9].into(), 1_000 + number as u16).unwrap();
        one.family = Family::Quake3;
        one.facts = Facts {
            flags: Flags::default(),
            ..one.facts.clone()
        };
        let texts = [
            (Text::Game, &b"cstrike"[..]),
            (Text::Mode, b"9"),
            (Text::Map, b"rarer"),
        ];
        one.facts.texts = Facts::of_texts(&texts).texts;
        shelf.put(one);
    }
    shelf
}

#[test]
fn a_question_looks_at_what_it_returns_however_many_others_there_are() {
    for others in [1_000, 100_000] {
        let shelf = ten_among(others);
        for question in [
            of_steam(0xFF, r"\map\rare"),
            of_steam(0xFF, r"\gamedir\cstrike\map\RARE"),
            of_steam(0xFF, r"\password\1"),
            of_steam(0xFF, r"\appid\10\password\1"),
            of_steam(0xFF, r"\gamedir\cstrike\password\1\empty\1"),
            of_steam(0xFF, r"\nor\1\password\0"),
            of_steam(0xFF, r"\and\2\gamedir\cstrike\map\rare"),
            of_steam(0xFF, r"\or\2\map\rare\map\nobodys"),
            of_steam(4, ""),
            of_steam(4, r"\gamedir\cstrike"),
            of_steam(0xFF, r"\map\rare\name_match\*"),
            of_quake3(None, 48, &["empty", "full", "gametype=9"]),
            of_quake3(Some("cstrike"), 48, &["gametype=9"]),
        ] {
            assert_eq!(
                looked_at(&shelf, &question),
                (10, 10),
                "{others}: {question:?}"
            );
        }
        let one = |filter| looked_at(&shelf, &of_steam(0xFF, filter));
        assert_eq!(one(r"\gameaddr\11.0.0.3"), (1, 1));
        assert_eq!(one(r"\gameaddr\11.0.0.3:27015"), (1, 1));
        for nothing in [
            r"\map\nobodys",
            r"\map\rare\password\0",
            r"\empty\1\noplayers\1",
            r"\gamedir\nobodys",
            r"\gameaddr\11.0.0.3:1",
            r"\gameaddr\nowhere",
            r"\appid\none",
        ] {
            assert_eq!(one(nothing), (0, 0), "{others}: {nothing}");
        }
        assert_eq!(
            looked_at(&shelf, &of_steam(0x55, "")),
            (0, 0),
            "no such region"
        );
    }
}

#[test]
fn a_walk_over_the_games_of_others_is_paid_for_and_ends_with_the_money() {
    let mut shelf = shelf();
    for number in 0..2_000 {
        shelf.put(server(number, &format!("game{number}"), "map"));
    }
    let question = of_steam(0xFF, r"\name_match\*q*");
    let walk = |mut purse: usize| {
        let mut paid = 0;
        let found = Candidates::of(&question, &shelf, &mut |cost| {
            let granted = cost <= purse;
            purse -= if granted { cost } else { 0 };
            paid += if granted { cost } else { 0 };
            granted
        });
        (found.map(|found| found.count), paid)
    };
    let (count, paid) = walk(usize::MAX);
    assert_eq!(count, Some(2_000));
    assert!(paid >= (2_000 - STEPS_AT_ONCE) * STEP, "{paid}");
    assert_eq!(
        walk(0),
        (None, 0),
        "after what the question itself paid for"
    );
    assert_eq!(walk(paid / 2).0, None);
    // With an index of its own a question does not walk on when that is cheaper.
    let named = of_steam(0xFF, r"\map\nobodys\name_match\*q*");
    let found = Candidates::of(&named, &shelf, &mut |_| false);
    assert_eq!(found.map(|found| found.count), Some(0));
}

#[test]
fn a_long_map_is_found_by_all_of_its_name() {
    let mut shelf = shelf();
    let map = "workshop/3070923343/de_train_winter_night";
    shelf.put(server(1, "a_game_with_a_very_long_name_indeed", map));
    let filter = format!(r"\gamedir\a_game_with_a_very_long_name_indeed\map\{map}");
    assert_eq!(looked_at(&shelf, &of_steam(0xFF, &filter)), (1, 1));
}

#[test]
fn what_has_no_index_is_tested_on_what_the_others_leave() {
    let shelf = ten_among(1_000);
    let (met, selected) = looked_at(&shelf, &of_steam(0xFF, r"\map\rare\version_match\9"));
    assert_eq!((met, selected), (10, 0));
    let (met, _) = looked_at(&shelf, &of_steam(0xFF, r"\name_match\nobody"));
    assert_eq!(met, 510, "all of the family");
}

fn texts() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["", "a", "B", "a,b", "*a"])
}

fn servers() -> impl Strategy<Value = Server> {
    let families = vec![Family::Steam, Family::Steam, Family::Quake3, Family::Other];
    let standings = vec![Standing::Verified, Standing::Remembered, Standing::Followed];
    let countries = vec!["", "DE", "US", "JP", "ZA"];
    let who = (0..3_u8, 1..4_u16, any::<bool>(), 0..3_u32);
    let what = (
        prop::sample::select(families),
        prop::sample::select(standings),
        prop::sample::select(countries),
        0..3_u32,
        (0..3_u16, 0..2_u16, 0..3_u16),
        prop::array::uniform5(any::<bool>()),
        prop::array::uniform6(texts()),
    );
    (who, what).prop_map(|((host, port, v6, asn), what)| {
        let (family, standing, country, number, (players, bots, places), flags, texts) = what;
        let ip = match v6 {
            true => std::net::Ipv6Addr::from_bits(host.into()).into(),
            false => std::net::Ipv4Addr::new(11, 0, 0, host).into(),
        };
        let [password, dedicated, secure, linux, proxy] = flags;
        let pairs: Vec<(Text, &[u8])> = Text::ALL
            .into_iter()
            .zip(texts.map(str::as_bytes))
            .collect();
        Server {
            addr: ServerAddr::new(ip, port).unwrap(),
            family,
            standing,
            origin: Origin {
                asn: Some(Asn(asn)),
                country: country.parse().ok(),
            },
            expires: Moment::EPOCH,
            facts: Facts {
                protocol: number,
                app_id: number,
                players,
                bots,
                places,
                flags: Flags {
                    password,
                    dedicated,
                    secure,
                    linux,
                    proxy,
                },
                ..Facts::of_texts(&pairs)
            },
        }
    })
}

fn conditions() -> impl Strategy<Value = String> {
    let keys = vec![
        "gamedir",
        "map",
        "appid",
        "napp",
        "dedicated",
        "type",
        "secure",
        "linux",
        "proxy",
        "password",
        "empty",
        "full",
        "noplayers",
        "gametype",
        "gamedata",
        "gamedataor",
        "name_match",
        "version_match",
        "gameaddr",
        "own",
        "collapse",
        "nobody",
    ];
    let values = vec![
        "0",
        "1",
        "2",
        "d",
        "a",
        "A",
        "b",
        "",
        "a,b",
        "*a",
        "11.0.0.1",
        "11.0.0.1:2",
        "+1",
    ];
    let pair = (prop::sample::select(keys), prop::sample::select(values));
    let pair = pair
        .prop_map(|(key, value)| format!(r"\{key}\{value}"))
        .boxed();
    pair.prop_recursive(2, 8, 4, |inner| {
        let how = prop::sample::select(vec!["and", "or", "nor", "nand"]);
        (how, prop::collection::vec(inner, 1..4))
            .prop_map(|(how, inner)| format!(r"\{how}\{}{}", inner.len(), inner.concat()))
    })
}

fn questions() -> impl Strategy<Value = Question> {
    let regions = prop::sample::select(vec![0xFF, 0xFF, 0, 1, 3, 4, 7, 0x55]);
    let filter = prop::collection::vec(conditions(), 0..4);
    let steam = (regions, filter)
        .prop_filter("written as it is read", |(_, filter)| {
            steam::Filter::parse(filter.concat().as_bytes()).is_ok()
        })
        .prop_map(|(region, filter)| of_steam(region, &filter.concat()));
    let words = vec![
        "empty",
        "full",
        "own",
        "ext",
        "gametype=a",
        "gametype=",
        "ctf",
    ];
    let words = prop::sample::subsequence(words, 0..5);
    let game = prop::sample::select(vec![None, Some("a"), Some("b"), Some("")]);
    let quake3 =
        (game, 0..3_u32, words).prop_map(|(game, number, words)| of_quake3(game, number, &words));
    prop_oneof![steam, quake3]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn an_index_finds_what_a_look_at_everybody_finds(
        steps in prop::collection::vec((servers(), prop::bool::weighted(0.2)), 1..80),
        questions in prop::collection::vec(questions(), 8),
    ) {
        let mut shelf = shelf();
        for (server, goes) in steps {
            match goes {
                true => drop(shelf.remove(server.addr)),
                false => drop(shelf.put(server)),
            }
        }
        for question in questions {
            let place = |server: &Server| as_order(&Listed {
                addr: server.addr,
                origin: server.origin,
            });
            let all = shelf.iter().filter(|server| question.selects(server));
            let candidates = Candidates::of(&question, &shelf, &mut |_| true).unwrap();
            let met: Vec<&Server> = candidates.servers(&question, &shelf).collect();
            prop_assert!(met.len() <= candidates.count);
            let found = met.into_iter().filter(|server| question.selects(server));
            let (all, found): (BTreeSet<_>, BTreeSet<_>) = (all.map(place).collect(), found.map(place).collect());
            prop_assert_eq!(all, found, "{:?}", question);
        }
        let everybody: Vec<ServerAddr> = shelf.iter().map(|server| server.addr).collect();
        for addr in everybody {
            shelf.remove(addr);
        }
        prop_assert!(shelf.groups.is_empty() && shelf.marks.is_empty());
    }
}
