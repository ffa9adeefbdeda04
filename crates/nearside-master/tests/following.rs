//! Masters that follow others, over real sockets.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::io::{Read, Write};
use std::net::{TcpListener, UdpSocket};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::{Scene, admin, get, wait_for};
use nearside_master::http::Limits;
use nearside_master::upstream::{Followers, Say, SteamKey, Upstream, fetch};
use nearside_registry::{Settings, Wholeness};
use serde_json::{Value, json};

fn settings() -> Settings {
    Settings {
        lan: true,
        claim_challenge_bytes_per_second: 1_000_000,
        legacy_bytes_per_second: 1_000_000,
        timeout_s: 10,
        ..Settings::default()
    }
}

fn scene(sources: &[&str]) -> Scene {
    let names = sources.iter().map(|name| (*name).to_owned());
    Scene::named(Limits::default(), settings(), names.collect())
}

fn follow(scene: &Scene, place: &str, key: Option<&str>) -> (Followers, Arc<Mutex<Vec<String>>>) {
    let upstream = Upstream {
        name: "other".to_owned(),
        place: place.parse().unwrap(),
        interval: Duration::from_millis(500),
        key: key.and_then(SteamKey::new),
    };
    let said: Arc<Mutex<Vec<String>>> = Arc::default();
    let log = Arc::clone(&said);
    let say: Say = Arc::new(move |line| log.lock().unwrap().push(line));
    let followers = Followers::start(vec![upstream], &scene.handle, &scene.stop, &say);
    (followers, said)
}

fn listed(scene: &Scene) -> Vec<Value> {
    let list = get(scene.public, "/servers").json();
    list["servers"].as_array().unwrap().clone()
}

#[test]
fn two_masters_follow_each_other_and_a_dead_server_leaves_both() {
    let (a, b) = (scene(&["other"]), scene(&["other"]));
    let (_of_a, _) = follow(&a, &format!("http://{}", b.public), None);
    let (_of_b, _) = follow(&b, &format!("http://{}", a.public), None);
    let home = UdpSocket::bind("127.0.0.1:0").unwrap();
    assert_eq!(a.register(&home, &json!({ "map": "castle" })).status, 200);
    wait_for("it on the other master", || {
        let rows = listed(&b);
        rows.len() == 1 && rows[0]["standing"] == "followed" && rows[0]["from"] == "other"
    });
    assert_eq!(listed(&b)[0]["map"], "castle");
    assert_eq!(
        listed(&a)[0]["standing"],
        "verified",
        "its own word counts more"
    );
    // Ten seconds of silence, then at most one more list.
    std::thread::sleep(Duration::from_secs(10));
    wait_for("the end", || listed(&a).is_empty() && listed(&b).is_empty());
}

#[test]
fn a_list_that_has_not_changed_is_not_sent_again_and_its_servers_stay() {
    let (upper, lower) = (Scene::start(Limits::default()), scene(&["other"]));
    let home = UdpSocket::bind("127.0.0.1:0").unwrap();
    assert_eq!(upper.register(&home, &json!({})).status, 200);
    let (_followers, _) = follow(&lower, &format!("http://{}", upper.public), None);
    wait_for("the server", || listed(&lower).len() == 1);
    let sent = |status: u16| -> u64 {
        let metrics = String::from_utf8(get(upper.admin, "/metrics").body).unwrap();
        let start = format!(
            "nearside_master_http_requests_total{{route=\"GET /servers\",status=\"{status}\"}} "
        );
        let line = metrics.lines().find_map(|line| line.strip_prefix(&start));
        line.map_or(0, |count| count.parse().unwrap())
    };
    let before = sent(200);
    // Longer than a list is believed without the next.
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!(listed(&lower).len(), 1);
    assert_eq!(sent(200), before, "no list was sent");
    assert!(sent(304) >= 4, "{}", sent(304));
    let another = UdpSocket::bind("127.0.0.1:0").unwrap();
    assert_eq!(upper.register(&another, &json!({})).status, 200);
    wait_for("the new server", || listed(&lower).len() == 2);
}

#[test]
fn a_steam_master_is_followed_by_udp_and_its_servers_are_served_on() {
    let (upper, lower) = (scene(&[]), scene(&["other"]));
    let home = UdpSocket::bind("127.0.0.1:0").unwrap();
    let facts = json!({ "family": "steam", "game": "cstrike", "map": "de_dust2" });
    assert_eq!(upper.register(&home, &facts).status, 200);
    let master = upper.handle.addresses()[0];
    let place = format!(r"steam://{master}/\gamedir\cstrike");
    let (followers, said) = follow(&lower, &place, None);
    wait_for("the server", || listed(&lower).len() == 1);
    assert_eq!(listed(&lower)[0]["game"], "cstrike");
    let through = lower.handle.addresses()[0];
    let again = |filter: &str| {
        let place = format!("steam://{through}/{filter}").parse().unwrap();
        fetch(&place, None).unwrap()
    };
    let fetched = again("");
    assert!(
        fetched.servers.is_empty(),
        "a master that follows gets no followed servers"
    );
    assert_eq!(fetched.wholeness, Wholeness::Whole);
    wait_for("the log", || !said.lock().unwrap().is_empty());
    assert!(said.lock().unwrap()[0].contains("servers=1 taken=1"));
    assert_eq!(followers.status()[0].error, None);
}

/// A server that says one thing to everybody, and what it was asked.
fn says(body: &'static str) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let asked: Arc<Mutex<Vec<String>>> = Arc::default();
    let log = Arc::clone(&asked);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut buffer = [0; 4096];
            let length = stream.read(&mut buffer).unwrap_or(0);
            let head = String::from_utf8_lossy(&buffer[..length]).into_owned();
            let refused = head.contains("key=wrong");
            log.lock().unwrap().push(head);
            let status = if refused { "403 Forbidden" } else { "200 OK" };
            let length = body.len();
            let _gone = write!(
                stream,
                "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
            );
        }
    });
    (url, asked)
}

const STEAM: &str = r#"{"response":{"servers":[
    {"addr":"127.0.0.1:27999","name":"Two Forts","appid":440,"gamedir":"tf","players":5,"max_players":24,"map":"ctf_2fort","os":"l"},
    {"addr":"169.254.7.7:27015","name":"relayed","appid":440,"gamedir":"tf"}]}}"#;

#[test]
fn steams_web_api_is_followed_with_a_key_that_is_never_shown() {
    let (url, asked) = says(STEAM);
    let lower = scene(&["steam"]);
    let place = format!(r"steam-web:\appid\440@{url}");
    let (_followers, said) = follow(&lower, &place, Some("SECRETKEY"));
    wait_for("the server", || listed(&lower).len() == 1);
    let row = &listed(&lower)[0];
    assert_eq!(
        (&row["name"], &row["linux"]),
        (&json!("Two Forts"), &json!(true))
    );
    let head = asked.lock().unwrap()[0].clone();
    assert!(
        head.contains("/IGameServersService/GetServerList/v1/?key=SECRETKEY"),
        "{head}"
    );
    assert!(head.contains("filter=%5Cappid%5C440"), "{head}");
    let refused = fetch(&place.parse().unwrap(), SteamKey::new("wrong").as_ref());
    let words = refused.unwrap_err().to_string();
    assert!(
        words.contains("is the key right") && !words.contains("wrong"),
        "{words}"
    );
    let gone = fetch(
        &r"steam-web:\appid\440@http://127.0.0.1:9".parse().unwrap(),
        SteamKey::new("SECRETKEY").as_ref(),
    );
    let words = gone.unwrap_err().to_string();
    assert!(!words.contains("SECRETKEY"), "{words}");
    let none = fetch(&place.parse().unwrap(), None)
        .unwrap_err()
        .to_string();
    assert!(none.contains("NEARSIDE_STEAM_KEY"), "{none}");
    assert!(
        !said
            .lock()
            .unwrap()
            .iter()
            .any(|line| line.contains("SECRETKEY"))
    );
    assert_eq!(
        admin(&lower, "GET", "/servers?own=1", b"").json()["servers"],
        json!([])
    );
}

#[test]
fn a_file_is_followed_as_it_changes_and_errors_leave_the_last_list() {
    let lower = scene(&["file"]);
    let path = std::env::temp_dir().join(format!("nearside-follow-{}.json", std::process::id()));
    std::fs::write(&path, r#"["127.0.0.1:1001","127.0.0.1:1002"]"#).unwrap();
    let (followers, _) = follow(&lower, &path.display().to_string(), None);
    wait_for("both", || listed(&lower).len() == 2);
    std::fs::write(&path, "<html>").unwrap();
    wait_for("the error", || followers.status()[0].error.is_some());
    assert_eq!(listed(&lower).len(), 2);
    std::fs::write(&path, r#"["127.0.0.1:1001"]"#).unwrap();
    wait_for("one", || listed(&lower).len() == 1);
    std::fs::remove_file(&path).unwrap();
    wait_for("the end of its time", || listed(&lower).is_empty());
}

#[test]
fn an_empty_list_takes_nobody_off_before_their_time() {
    let lower = scene(&["file"]);
    let path = std::env::temp_dir().join(format!("nearside-begun-{}.json", std::process::id()));
    std::fs::write(&path, r#"{"servers":[{"addr":"127.0.0.1:1001"}]}"#).unwrap();
    let upstream = Upstream {
        name: "other".to_owned(),
        place: path.display().to_string().parse().unwrap(),
        interval: Duration::from_secs(1),
        key: None,
    };
    let say: Say = Arc::new(|_| {});
    let followers = Followers::start(vec![upstream], &lower.handle, &lower.stop, &say);
    wait_for("the server", || listed(&lower).len() == 1);
    // As a master lists that has just begun, and has no store.
    std::fs::write(&path, r#"{"servers":[]}"#).unwrap();
    wait_for("the empty list", || followers.status()[0].servers == 0);
    std::thread::sleep(Duration::from_millis(1100));
    assert_eq!(listed(&lower).len(), 1, "three intervals are left to it");
    wait_for("the end of its time", || listed(&lower).is_empty());
    std::fs::remove_file(&path).unwrap();
}

/// A list of Steam's that may have been cut.
fn steam_list(servers: usize) -> String {
    let row = |number: usize| {
        let (high, low) = (number / 250, number % 250 + 1);
        format!(r#"{{"addr":"127.3.{high}.{low}:27015","appid":440,"gamedir":"tf"}}"#)
    };
    let rows: Vec<String> = (0..servers).map(row).collect();
    format!(r#"{{"response":{{"servers":[{}]}}}}"#, rows.join(","))
}

#[test]
fn a_list_as_long_as_steam_gives_does_not_count_as_whole_and_is_said_to_be_cut_once() {
    let (url, asked) = says(Box::leak(steam_list(20_000).into_boxed_str()));
    let lower = scene(&["steam"]);
    let place = format!("steam-web:@{url}");
    let (_followers, said) = follow(&lower, &place, Some("SECRETKEY"));
    wait_for("three lists", || asked.lock().unwrap().len() >= 3);
    let cut: Vec<String> = {
        let said = said.lock().unwrap();
        let cut = said.iter().filter(|line| line.starts_with("cut "));
        cut.cloned().collect()
    };
    assert_eq!(cut.len(), 1, "{cut:?}");
    assert!(cut[0].contains("narrow the filter"), "{cut:?}");
    let key = SteamKey::new("SECRETKEY");
    let wholeness = |servers| {
        let (url, _) = says(Box::leak(steam_list(servers).into_boxed_str()));
        let place = format!("steam-web:@{url}").parse().unwrap();
        fetch(&place, key.as_ref()).unwrap().wholeness
    };
    assert_eq!(wholeness(20_000), Wholeness::Partial);
    assert_eq!(wholeness(19_999), Wholeness::Whole);
}
