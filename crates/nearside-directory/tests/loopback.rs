//! A directory over real sockets: two ports, a store that outlives it, and HTTP for lobbies.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use common::{Folder, Player, Running, wait_until};
use nearside_directory::http::{Http, HttpConfig, HttpError, Token};
use nearside_directory::store::{Embedded, Memory};
use nearside_net::Stop;
use nearside_tunnel::messages::{Ask, Join, Measured, Tell};
use nearside_types::Rtt;
use serde_json::Value;

#[test]
fn both_ports_answer_from_where_they_were_asked() {
    let running = Running::start(Memory);
    let mut player = Player::join(running.address(), 1, Join::default());
    let own = player.socket.local_addr().unwrap();
    assert_eq!(player.ask(Ask::Observe), Tell::Observed(own));
    let second = running.handle.addresses()[1];
    assert_ne!(second.port(), running.address().port());
    assert_eq!(running.handle.second_port(), Some(second.port()));
    assert_eq!(player.ask_at(second, Ask::Observe), Tell::Observed(own));
}

/// Hundredths of a second of a core that the calling thread has used.
#[cfg(target_os = "linux")]
fn processor_time() -> u64 {
    let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
    let (_, numbers) = stat.rsplit_once(')').unwrap();
    let times = numbers.split_whitespace().skip(11).take(2);
    times.map(|ticks| ticks.parse::<u64>().unwrap()).sum()
}

#[test]
#[cfg(target_os = "linux")]
fn a_directory_with_nothing_to_do_sleeps() {
    let server = common::server(Memory);
    let handle = server.handle();
    let thread = std::thread::spawn(move || {
        let before = processor_time();
        server.run().unwrap();
        processor_time() - before
    });
    let _one = Player::join(handle.addresses()[0], 1, Join::default());
    let _two = Player::join(handle.addresses()[0], 2, Join::default());
    std::thread::sleep(std::time::Duration::from_secs(4));
    handle.stop();
    let used = thread.join().unwrap();
    assert!(used < 20, "{used} hundredths of a second in four seconds");
}

#[test]
fn a_restart_forgets_no_client_no_leg_and_no_session() {
    let folder = Folder::new("restart");
    let path = folder.0.join("directory.redb");
    let running = Running::start(Embedded::open(&path).unwrap());
    let mut one = Player::join(running.address(), 1, Join::default());
    let two = Player::join(running.address(), 2, Join::default());
    let leg = (two.identity.id(), Rtt::from_micros(20_000));
    let report = Measured {
        legs: vec![leg],
        ..Measured::default()
    };
    assert_eq!(one.ask(Ask::Report(report)), Tell::Done);
    let told = one.ask(Ask::Connect(two.identity.public()));
    let Tell::Introduce(introduction) = told else {
        panic!("{told:?}");
    };
    running.end();
    assert_eq!(one.told(|tell| *tell == Tell::Rejoin), Tell::Rejoin);

    let mut store = Embedded::open(&path).unwrap();
    let loaded = nearside_directory::store::Store::load(&mut store).unwrap();
    assert_eq!(loaded.unreadable, 0);
    assert_eq!(loaded.state.sessions.len(), 1);
    assert!(loaded.state.sessions.contains_key(&introduction.session));
    let state = &loaded.state.directory;
    let node = |player: &Player| state.node(player.identity.id()).unwrap();
    let measured = state.measured(node(&one), node(&two)).unwrap();
    assert_eq!(measured.rtt, leg.1);

    let running = Running::start(store);
    wait_until("both are known", || running.handle.snapshot().clients == 2);
    let mut again = Player::join(running.address(), 1, Join::default());
    let relays = Ask::Relays {
        session: introduction.session,
        most: 3,
        known: vec![],
    };
    let refused = again.ask(relays);
    assert!(matches!(refused, Tell::Relays { .. }), "{refused:?}");
}

#[test]
#[cfg(unix)]
fn the_store_is_made_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new("mode");
    let path = folder.0.join("directory.redb");
    drop(Embedded::open(&path).unwrap());
    let mode = || std::fs::metadata(&path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(), 0o600);
    let shared = std::fs::Permissions::from_mode(0o640);
    std::fs::set_permissions(&path, shared).unwrap();
    drop(Embedded::open(&path).unwrap());
    assert_eq!(mode(), 0o640, "what the operator made of it stays");
}

#[test]
fn who_leaves_is_gone_from_the_store() {
    let folder = Folder::new("leave");
    let path = folder.0.join("directory.redb");
    let running = Running::start(Embedded::open(&path).unwrap());
    let mut one = Player::join(running.address(), 1, Join::default());
    let _two = Player::join(running.address(), 2, Join::default());
    assert_eq!(one.ask(Ask::Leave), Tell::Done);
    running.end();
    let mut store = Embedded::open(&path).unwrap();
    let loaded = nearside_directory::store::Store::load(&mut store).unwrap();
    assert_eq!(loaded.state.directory.len(), 1);
}

const ADMIN: &str = "the operator's token";
const LOBBY: &str = "the token of a lobby";

fn serve(running: &Running) -> (Http, Stop) {
    let config = HttpConfig {
        listen: SocketAddr::from(([127, 0, 0, 1], 0)),
        admin: Token::new(ADMIN).unwrap(),
        lobby: Token::new(LOBBY),
    };
    let stop = Stop::new().unwrap();
    let http = Http::start(config, running.handle.clone(), stop.clone());
    (http.unwrap(), stop)
}

/// Status and body of an answer.
fn request(http: &Http, line: &str, token: Option<&str>, body: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(http.address).unwrap();
    let token = token.map_or(String::new(), |t| format!("Authorization: Bearer {t}\r\n"));
    let length = body.len();
    let request = format!(
        "{line} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{token}Content-Length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, body.to_owned())
}

#[test]
fn a_lobby_introduces_players_and_never_sees_their_relays() {
    let running = Running::start(Memory);
    let (http, stop) = serve(&running);
    let mut source = Player::join(running.address(), 1, Join::default());
    let mut target = Player::join(running.address(), 2, Join::default());
    let key = source.identity.public();
    let id = target.identity.id().0;
    let body = format!(r#"{{ "source": "{key}", "target": "{id}" }}"#);
    let (status, answer) = request(&http, "POST /v1/sessions", Some(LOBBY), &body);
    assert_eq!(status, 201, "{answer}");
    let answer: Value = serde_json::from_str(&answer).unwrap();
    let session = answer["session"].as_str().unwrap();
    for (player, leads) in [(&mut source, true), (&mut target, false)] {
        let told = player.told(|tell| matches!(tell, Tell::Introduce(_)));
        let Tell::Introduce(introduction) = told else {
            panic!("{told:?}");
        };
        assert_eq!(introduction.session.to_string(), session);
        assert_eq!(introduction.leads, leads);
    }
    let line = format!("POST /v1/sessions/{session}/relays");
    let (status, answer) = request(&http, &line, Some(LOBBY), r#"{ "most": 4 }"#);
    assert_eq!((status, answer.as_str()), (200, r#"{"offered":0}"#));
    for (line, body, expected) in [
        (
            "POST /v1/sessions",
            r#"{ "source": "1", "target": "2" }"#,
            404,
        ),
        (
            "POST /v1/sessions",
            r#"{ "source": "x", "target": "2" }"#,
            400,
        ),
        ("POST /v1/sessions", "{", 400),
        ("POST /v1/sessions/1/relays", "", 404),
        ("POST /v1/sessions/x/relays", "", 400),
        ("GET /v1/clients", "", 401),
        ("GET /v1/sessions", "", 401),
        ("GET /nothing", "", 401),
    ] {
        let (status, answer) = request(&http, line, Some(LOBBY), body);
        assert_eq!(status, expected, "{line} {body}: {answer}");
    }
    let told = |line: &str, body: &str| request(&http, line, Some(LOBBY), body).1;
    let players = told("POST /v1/sessions", r#"{ "source": "1", "target": "2" }"#);
    assert!(players.contains("no player with this number"), "{players}");
    let session = told("POST /v1/sessions/77/relays", "");
    assert!(session.contains("no session 77"), "{session}");
    stop.stop();
}

#[test]
fn the_operator_sees_everything_and_strangers_only_how_it_is() {
    let running = Running::start(Memory);
    let (http, stop) = serve(&running);
    let _player = Player::join(running.address(), 1, Join::default());
    let get = |path: &str, token| request(&http, &format!("GET {path}"), token, "");
    let (status, clients) = get("/v1/clients", Some(ADMIN));
    assert_eq!(status, 200);
    let clients: Value = serde_json::from_str(&clients).unwrap();
    assert_eq!(clients[0]["nat"], "unknown");
    for path in ["/v1/sessions", "/v1/relays"] {
        assert_eq!(get(path, Some(ADMIN)), (200, "[]".to_owned()), "{path}");
    }
    assert_eq!(get("/v1/status", Some(ADMIN)).0, 200);
    assert_eq!(get("/nothing", Some(ADMIN)).0, 404);
    for path in ["/v1/clients", "/v1/sessions", "/v1/relays", "/v1/status"] {
        assert_eq!(get(path, None).0, 401, "{path}");
        assert_eq!(get(path, Some("something else here")).0, 401, "{path}");
    }
    assert_eq!(get("/health", None), (200, "ok\n".to_owned()));
    wait_until("the figures follow", || {
        let (_, text) = get("/metrics", None);
        text.contains("\nnearside_directory_clients 1\n")
    });
    let (_, document) = get("/openapi.json", None);
    let document: Value = serde_json::from_str(&document).unwrap();
    assert_eq!(document["openapi"], "3.1.0");
    stop.stop();
    let elsewhere = HttpConfig {
        listen: "0.0.0.0:0".parse().unwrap(),
        admin: Token::new(ADMIN).unwrap(),
        lobby: None,
    };
    let refused = Http::start(elsewhere, running.handle.clone(), Stop::new().unwrap());
    assert!(matches!(refused, Err(HttpError::NotLoopback(_))));
}
