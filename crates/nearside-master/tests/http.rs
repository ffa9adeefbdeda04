//! The web side over real sockets: lists, registration, the operator's side.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::io::Read;
use std::net::UdpSocket;
use std::sync::atomic::Ordering;

use common::servers::{Recorder, server};
use common::{Scene, admin, ask, challenge, get, post, wait_for};
use nearside_master::http::{Limits, ServerRow};
use nearside_registry::Settings;
use nearside_wire::compact::CompactList;
use serde_json::{Value, json};

fn socket(addr: &str) -> UdpSocket {
    UdpSocket::bind(addr).unwrap()
}

fn addresses(scene: &Scene, query: &str) -> Vec<String> {
    let answer = get(scene.public, &format!("/servers{query}"));
    assert_eq!(answer.status, 200, "{answer:?}");
    let document = answer.json();
    let servers = document["servers"].as_array().unwrap().iter();
    servers
        .map(|server| {
            let row: ServerRow<'_> = serde_json::from_value(server.clone()).unwrap();
            row.addr.to_string()
        })
        .collect()
}

#[test]
fn a_server_proves_its_port_and_is_listed_in_both_forms_on_both_families() {
    let scene = Scene::start(Limits::default());
    let (v4, v6) = (socket("127.0.0.1:0"), socket("[::1]:0"));
    let facts = json!({ "map": "castle", "players": 3, "name": "^1Keep \"it\"", "protocol": 5 });
    for socket in [&v4, &v6] {
        let answer = scene.register(socket, &facts);
        assert_eq!(answer.status, 200, "{answer:?}");
        assert_eq!(answer.json()["state"], "registered");
        assert_eq!(answer.json()["seconds"], 900);
    }
    let (home, six) = (
        v4.local_addr().unwrap().to_string(),
        v6.local_addr().unwrap().to_string(),
    );
    wait_for("both", || {
        addresses(&scene, "") == [home.clone(), six.clone()]
    });
    assert_eq!(addresses(&scene, "?ipv6=1&map=CAS*&as=64496"), [six]);
    assert_eq!(addresses(&scene, "?game=other"), [""; 0]);
    let server = get(scene.public, "/servers?ipv6=0").json()["servers"][0].clone();
    for (key, value) in [
        ("family", json!("other")),
        ("standing", json!("verified")),
        ("country", json!("DE")),
        ("name", json!("^1Keep \"it\"")),
        ("places", json!(8)),
    ] {
        assert_eq!(server[key], value, "{key}");
    }
    let body = get(scene.public, "/servers.bin?ipv6=0").body;
    let list = CompactList::parse(&body).unwrap();
    assert_eq!(list.entries.len(), 1);
    assert_eq!(list.entries[0].listed.addr.to_string(), home);
    assert_eq!(list.games, ["mygame".into()]);
}

#[test]
fn a_list_that_has_not_changed_is_not_sent_again_and_gzip_is_the_same_list() {
    let scene = Scene::start(Limits::default());
    let home = socket("127.0.0.1:0");
    scene.register(&home, &json!({}));
    let first = get(scene.public, "/servers");
    let etag = first.header("etag").unwrap().to_owned();
    let known = format!("If-None-Match: {etag}");
    let again = ask(scene.public, "GET", "/servers", &[&known], b"");
    assert_eq!((again.status, again.body.len()), (304, 0), "{again:?}");
    // Weakness makes no difference, and a tag may be one of several.
    let strong = etag.strip_prefix("W/").unwrap();
    let known_too = format!("If-None-Match: \"x\", {strong}");
    let again = ask(scene.public, "GET", "/servers", &[&known_too], b"");
    assert_eq!(again.status, 304, "{again:?}");
    let never = ["Accept-Encoding: gzip;q=0, identity"];
    let plain = ask(scene.public, "GET", "/servers", &never, b"");
    assert_eq!(plain.header("content-encoding"), None, "{plain:?}");
    let any = ask(scene.public, "GET", "/servers", &["If-None-Match: *"], b"");
    assert_eq!((any.status, any.body.len()), (304, 0), "{any:?}");
    let packed = ask(
        scene.public,
        "GET",
        "/servers",
        &["Accept-Encoding: br, gzip;q=0.5"],
        b"",
    );
    assert_eq!(packed.header("content-encoding"), Some("gzip"));
    let mut text = Vec::new();
    flate2::read::GzDecoder::new(&packed.body[..])
        .read_to_end(&mut text)
        .unwrap();
    assert_eq!(text, first.body);
    scene.register(&home, &json!({ "map": "another" }));
    wait_for("the new list", || {
        ask(scene.public, "GET", "/servers", &[&known], b"").status == 200
    });
}

#[test]
fn the_list_is_written_at_most_once_a_second() {
    let scene = Scene::start(Limits::default());
    let home = socket("127.0.0.1:0");
    let mut versions = std::collections::BTreeSet::new();
    let began = std::time::Instant::now();
    for round in 0..12 {
        scene.register(&home, &json!({ "players": round }));
        versions.insert(
            get(scene.public, "/servers")
                .header("etag")
                .unwrap()
                .to_owned(),
        );
    }
    let seconds = began.elapsed().as_secs() as usize;
    assert!(
        versions.len() <= seconds + 2,
        "{} lists in {seconds} s",
        versions.len()
    );
}

#[test]
fn what_was_refused_is_told_at_once_and_with_the_next_request() {
    let scene = Scene::start(Limits::default());
    let home = socket("127.0.0.1:0");
    assert_eq!(scene.register(&home, &json!({})).status, 200);
    let ban = json!({ "target": "127.0.0.1", "reason": "fake players" });
    assert_eq!(
        admin(&scene, "POST", "/bans", ban.to_string().as_bytes()).status,
        201
    );
    wait_for("the ban", || addresses(&scene, "").is_empty());
    let refused = scene.register(&home, &json!({}));
    assert_eq!(refused.status, 403);
    let why = "banned by this master's operator: fake players";
    assert_eq!(refused.json()["error"], why);
    let body = json!({ "address": home.local_addr().unwrap().to_string(), "game": "mygame" });
    let later = post(scene.public, &body);
    assert_eq!(
        (later.status, later.json()["earlier"].as_str()),
        (202, Some(why))
    );
    challenge(&home);
    assert_eq!(
        admin(&scene, "DELETE", "/bans?target=127.0.0.1", b"").status,
        204
    );
    assert_eq!(
        admin(&scene, "DELETE", "/bans?target=127.0.0.1", b"").status,
        404
    );
    wait_for("the end of the ban", || {
        scene.register(&home, &json!({})).status == 200
    });
}

#[test]
fn requests_without_sense_are_refused_with_the_place() {
    let scene = Scene::start(Limits::default());
    for (body, words) in [
        (json!({}), "`address` or `port`"),
        (json!({ "port": 0, "game": "x" }), "`port` is 0"),
        (json!({ "port": 5 }), "`game`"),
        (json!({ "address": "here", "game": "x" }), "not an address"),
        (json!({ "port": 5, "game": "x", "plaers": 3 }), "plaers"),
        (json!({ "port": 5, "game": "x", "family": "q2" }), "q2"),
    ] {
        let answer = post(scene.public, &body);
        assert_eq!(answer.status, 400, "{answer:?}");
        let error = answer.json()["error"].as_str().unwrap().to_owned();
        assert!(error.contains(words), "{error}");
    }
    for path in [
        "/servers?mapp=x",
        "/servers?as=many",
        "/servers.bin?country=Germany",
    ] {
        assert_eq!(get(scene.public, path).status, 400, "{path}");
    }
    assert_eq!(get(scene.public, "/nothing").status, 404);
    assert_eq!(ask(scene.public, "PUT", "/servers", &[], b"").status, 405);
    let unlisted = post(
        scene.public,
        &json!({ "address": "0.0.0.1:5", "game": "x" }),
    );
    assert_eq!(
        (unlisted.status, &unlisted.json()["state"]),
        (403, &Value::from("refused"))
    );
}

#[test]
fn the_operators_side_wants_its_token_and_no_web_page() {
    let scene = Scene::start(Limits::default());
    for path in ["/servers", "/bans", "/sources", "/origins", "/status.json"] {
        assert_eq!(get(scene.admin, path).status, 401, "{path}");
        assert_eq!(admin(&scene, "GET", path, b"").status, 200, "{path}");
        let wrong = ["Authorization: Bearer another token 123"];
        assert_eq!(
            ask(scene.admin, "GET", path, &wrong, b"").status,
            401,
            "{path}"
        );
    }
    let token = format!("Authorization: Bearer {}", common::TOKEN);
    let page = ask(
        scene.admin,
        "GET",
        "/bans",
        &[&token, "Origin: http://evil"],
        b"",
    );
    assert_eq!(page.status, 403);
    assert_eq!(get(scene.admin, "/health").status, 200);
    assert_eq!(
        get(scene.public, "/bans").status,
        404,
        "not on the public side"
    );
    let changes = admin(&scene, "POST", "/reload", b"").json();
    assert_eq!(changes["changes"][0], "nothing");
    let home = socket("127.0.0.1:0");
    scene.register(&home, &json!({}));
    wait_for("the server", || {
        let servers = admin(&scene, "GET", "/servers?own=1", b"").json();
        servers["servers"][0]["seconds"]
            .as_u64()
            .is_some_and(|left| left > 890)
    });
    let metrics = || String::from_utf8(get(scene.admin, "/metrics").body).unwrap();
    let has = |line: &str| metrics().lines().any(|found| found == line);
    wait_for("the claims", || has("nearside_master_claims_total 2"));
    let first = "nearside_master_http_requests_total{route=\"POST /servers\",status=\"202\"} 1";
    assert!(has(first), "{}", metrics());
    let metrics = metrics();
    let families = metrics
        .lines()
        .filter(|line| line.starts_with("# TYPE"))
        .count();
    assert!(families > 20, "{metrics}");
}

#[test]
fn a_store_that_fails_is_told_and_lists_go_on() {
    let store = Recorder::default();
    let settings = Settings {
        lan: true,
        claim_challenge_bytes_per_second: 1_000_000,
        ..Settings::default()
    };
    let scene = Scene::keeping(Limits::default(), settings, Vec::new(), store.clone());
    let health = |addr| String::from_utf8(get(addr, "/health").body).unwrap();
    assert_eq!(health(scene.public), "ok\n");
    store.away.store(true, Ordering::SeqCst);
    let home = socket("127.0.0.1:0");
    assert_eq!(scene.register(&home, &json!({})).status, 200);
    wait_for("the trouble", || {
        health(scene.admin).starts_with("degraded")
    });
    let told = health(scene.admin);
    assert!(
        told.contains("recorder") && told.contains("1 changes wait"),
        "{told}"
    );
    let public = health(scene.public);
    assert!(
        public.contains("1 changes wait") && !public.contains("recorder"),
        "{public}"
    );
    assert_eq!(
        get(scene.public, "/health").status,
        200,
        "no reason to end it"
    );
    let status = get(scene.public, "/status.json").json();
    assert_eq!(status["store"]["waiting"], 1);
    assert_eq!(status["store"]["error"], "the store takes no changes");
    wait_for("the list", || addresses(&scene, "").len() == 1);
    let metrics = String::from_utf8(get(scene.admin, "/metrics").body).unwrap();
    assert!(
        metrics.contains("nearside_master_store_failing 1"),
        "{metrics}"
    );
    store.away.store(false, Ordering::SeqCst);
    wait_for("its end", || health(scene.admin) == "ok\n");
    assert_eq!(
        get(scene.public, "/status.json").json()["store"]["error"],
        Value::Null
    );
}

#[test]
fn an_old_challenge_is_told_with_the_next_one() {
    let scene = Scene::start(Limits::default());
    let home = socket("127.0.0.1:0");
    let addr = home.local_addr().unwrap().to_string();
    let body = json!({ "address": addr, "game": "mygame", "challenge": "notthisone" });
    let answer = post(scene.public, &body);
    assert_eq!(
        (answer.status, &answer.json()["state"]),
        (202, &json!("challenged"))
    );
    let earlier = answer.json()["earlier"].as_str().unwrap().to_owned();
    assert!(earlier.contains("challenge is missing, old"), "{earlier}");
}

#[test]
fn the_status_figures_count_games_countries_and_systems() {
    let scene = Scene::start(Limits::default());
    let (a, b) = (socket("127.0.0.1:0"), socket("127.0.0.1:0"));
    scene.register(&a, &json!({ "players": 3, "bots": 1 }));
    scene.register(&b, &json!({ "game": "<b>other</b>" }));
    wait_for("both", || {
        get(scene.public, "/status.json").json()["servers"] == 2
    });
    let status = get(scene.public, "/status.json").json();
    assert_eq!(
        status["countries"],
        json!([{ "name": "DE", "servers": 2, "players": 2 }])
    );
    assert_eq!(status["systems"][0]["name"], "AS64496");
    assert_eq!(status["games"].as_array().unwrap().len(), 2);
    assert_eq!(
        (&status["verified"], &status["followed"]),
        (&json!(2), &json!(0))
    );
    let page = get(scene.public, "/");
    assert!(
        page.header("content-type")
            .unwrap()
            .starts_with("text/html")
    );
    let text = String::from_utf8(page.body).unwrap();
    assert!(
        !text.contains("http://") && !text.contains("https://"),
        "nothing from elsewhere"
    );
}

#[test]
fn values_that_mean_nothing_are_refused_with_those_that_do() {
    let scene = Scene::start(Limits::default());
    for (query, words) in [
        ("empty=2", "write 0 or 1"),
        ("full=yes", "write 0 or 1"),
        ("own=-1", "write 0 or 1"),
        ("region=9", "255 for the world"),
    ] {
        for path in ["/servers", "/servers.bin"] {
            let answer = get(scene.public, &format!("{path}?{query}"));
            let error = answer.json()["error"].as_str().unwrap().to_owned();
            assert_eq!(answer.status, 400, "{query}");
            assert!(error.contains(words), "{error}");
            let name = query.split('=').next().unwrap();
            assert!(error.contains(name), "{error}");
        }
    }
    for query in ["empty=0&full=1", "region=7", "region=255"] {
        assert_eq!(get(scene.public, &format!("/servers?{query}")).status, 200);
    }
}

#[test]
fn the_first_list_after_a_restart_has_whom_the_store_remembers() {
    let now = std::time::SystemTime::now();
    let now = now.duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    let store = Recorder {
        known: vec![server(1, now + 600), server(2, now + 600)],
        ..Recorder::default()
    };
    for path in ["/servers", "/servers?own=1"] {
        let store = store.clone();
        let scene = Scene::keeping(Limits::default(), Settings::default(), Vec::new(), store);
        let first = get(scene.public, path);
        assert_eq!(first.status, 200, "{first:?}");
        let servers = first.json()["servers"].as_array().unwrap().clone();
        assert_eq!(servers.len(), 2, "{first:?}");
        assert_eq!(servers[0]["standing"], "remembered");
        assert_eq!(get(scene.public, "/status.json").json()["servers"], 2);
    }
}

#[test]
fn an_engine_that_is_no_more_is_not_well_and_has_no_empty_list() {
    let (public, stop, http) = Scene::without_engine();
    let list = get(public, "/servers");
    assert_eq!(list.status, 503, "{list:?}");
    wait_for("the silence", || get(public, "/health").status == 503);
    stop.stop();
    drop(http);
}

#[test]
fn an_empty_list_has_a_time_too() {
    let before = std::time::SystemTime::now();
    let scene = Scene::start(Limits::default());
    let at = get(scene.public, "/servers").json()["at"].as_u64().unwrap();
    let earliest = before.duration_since(std::time::UNIX_EPOCH).unwrap();
    assert!(
        (earliest.as_secs()..earliest.as_secs() + 60).contains(&at),
        "{at}"
    );
}

#[test]
fn registrations_and_bans_that_cannot_be_meant_say_what_is_wrong() {
    let scene = Scene::start(Limits::default());
    let register = |more: serde_json::Value| {
        let mut body = json!({ "game": "mygame" });
        for (key, value) in more.as_object().unwrap() {
            body[key] = value.clone();
        }
        post(scene.public, &body)
    };
    let both = json!({ "address": "127.0.0.1:1", "port": 1 });
    for (body, words) in [
        (json!({ "port": 0 }), "`port` is 0"),
        (both, "leave one of them out"),
        (json!({}), "is missing"),
    ] {
        let answer = register(body);
        assert_eq!(answer.status, 400);
        let error = answer.json()["error"].as_str().unwrap().to_owned();
        assert!(error.contains(words), "{error}");
    }
    for (ban, words) in [
        (
            json!({ "target": "192.0.2.1:0", "reason": "x" }),
            "write 192.0.2.1",
        ),
        (
            json!({ "target": "192.0.2.300:0", "reason": "x" }),
            "no address, network or AS",
        ),
        (
            json!({ "target": "192.0.2.1", "reason": " " }),
            "`reason` is empty",
        ),
    ] {
        let answer = admin(&scene, "POST", "/bans", ban.to_string().as_bytes());
        assert_eq!(answer.status, 400);
        let error = answer.json()["error"].as_str().unwrap().to_owned();
        assert!(error.contains(words), "{error}");
    }
}
