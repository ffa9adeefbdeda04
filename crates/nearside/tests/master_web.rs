//! `nearside master` as its operator, its web page and other masters see it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../../nearside-report/tests/chromium/mod.rs"]
mod chromium;
mod common;

use std::net::UdpSocket;
use std::path::Path;
use std::time::{Duration, Instant};

use chromium::{Chromium, Scheme};
use common::master::Master;
use common::openarena::{OpenArena, free_port};
use common::process::{Program, Running};
use common::web::{ask, free_tcp_port, json, wait_for};
use common::{Folder, LONG, foreign, is_refused, process};
use serde_json::{Value, json as value};

const TOKEN: &str = "0123456789abcdef0123";

/// A master with a configuration and a web side.
struct Scene {
    folder: Folder,
    config: String,
    udp: String,
    http: String,
    admin: String,
    master: Master,
}

impl Scene {
    /// `more` is the rest of the configuration.
    fn start(more: &str) -> Self {
        Self::start_in(Folder::new(), more)
    }

    fn start_in(folder: Folder, more: &str) -> Self {
        let store = folder.join("master.redb");
        Self::start_with(folder, more, &store)
    }

    fn keeping_nothing() -> Self {
        Self::start_with(Folder::new(), "", "none")
    }

    fn start_with(folder: Folder, more: &str, store: &str) -> Self {
        let udp = format!("127.0.0.1:{}", free_port());
        let http = format!("127.0.0.1:{}", free_tcp_port());
        let admin = format!("127.0.0.1:{}", free_tcp_port());
        folder.write("token", TOKEN);
        let config = folder.write("master.toml", more);
        let arguments = [
            "master", "--config", &config, "--listen", &udp, "--lan", "--http", &http, "--admin",
            &admin,
        ];
        let mut master = process::nearside(&arguments);
        master.0.args([
            "--admin-token-file",
            &folder.join("token"),
            "--store",
            store,
        ]);
        let master = Master::start(master);
        Self {
            folder,
            config,
            udp,
            http,
            admin,
            master,
        }
    }

    fn wait_for(&self, words: &str) -> String {
        self.master.wait_for(words)
    }

    fn operator(&self, method: &str, path: &str, body: &str) -> (u16, String) {
        let token = format!("Authorization: Bearer {TOKEN}\r\n");
        ask(&self.admin, method, path, &token, body).expect("the operator's side answers")
    }

    fn servers(&self) -> Vec<Value> {
        json(&self.http, "/servers")["servers"]
            .as_array()
            .unwrap()
            .clone()
    }

    /// Registers over HTTP as a game would; gives the last status and answer.
    fn register(&self, socket: &UdpSocket) -> (u16, Value) {
        let addr = socket.local_addr().unwrap().to_string();
        let mut body = value!({ "address": addr, "game": "mygame", "map": "castle", "places": 8 });
        let post = |body: &Value| {
            let answer = ask(&self.http, "POST", "/servers", "", &body.to_string()).unwrap();
            (answer.0, serde_json::from_str::<Value>(&answer.1).unwrap())
        };
        assert_eq!(post(&body).0, 202);
        socket.set_read_timeout(Some(LONG)).unwrap();
        let mut buffer = [0; 64];
        let length = socket.recv(&mut buffer).unwrap();
        body["challenge"] = String::from_utf8(buffer[13..length].to_vec())
            .unwrap()
            .into();
        post(&body)
    }
}

#[test]
fn bans_and_settings_change_by_request_by_signal_and_by_file_and_survive() {
    let scene = Scene::start("[registry]\ntimeout_s = 600\n");
    let home = UdpSocket::bind("127.0.0.1:0").unwrap();
    assert_eq!(scene.register(&home).1["state"], "registered");
    scene.wait_for("registered addr=127.0.0.1");
    wait_for("the list", || scene.servers().len() == 1);

    let ban = r#"{"target":"127.0.0.0/8","reason":"trial"}"#;
    assert_eq!(scene.operator("POST", "/bans", ban).0, 201);
    wait_for("the empty list", || scene.servers().is_empty());
    let (status, answer) = scene.register(&home);
    assert_eq!(status, 403);
    assert!(
        answer["error"].as_str().unwrap().contains("trial"),
        "{answer}"
    );
    let kept = std::fs::read_to_string(scene.folder.join("bans.toml")).unwrap();
    assert!(
        kept.contains("127.0.0.0/8") && kept.contains("trial"),
        "{kept}"
    );

    // Another process knows the ban; lifting it is kept too.
    let Scene { folder, master, .. } = scene;
    master.running.interrupt();
    master.running.finish(LONG).expect_code(130);
    let scene = Scene::start_in(folder, "");
    let bans = scene.operator("GET", "/bans", "").1;
    assert!(bans.contains("\"place\":\"ban_file\""), "{bans}");
    assert_eq!(scene.register(&home).0, 403);
    let lifted = scene.operator("DELETE", "/bans?target=127.0.0.0/8", "");
    assert_eq!(lifted.0, 204, "{}", lifted.1);
    wait_for("the end of the ban", || scene.register(&home).0 == 200);

    // By signal, from the configuration.
    let config = "[[ban]]\ntarget = \"127.0.0.1\"\nreason = \"by hand\"\n";
    std::fs::write(&scene.config, config).unwrap();
    scene.master.running.hang_up();
    let line = scene.wait_for("reloaded changes");
    assert!(line.contains("bans: 1 now"), "{line}");
    assert_eq!(scene.register(&home).0, 403);
    let fixed = scene.operator("DELETE", "/bans?target=127.0.0.1", "");
    assert_eq!(fixed.0, 409, "{}", fixed.1);

    // By itself, and a file that is wrong changes nothing.
    std::fs::write(&scene.config, "[registry]\ntimeout_s = 3\n").unwrap();
    let line = scene.wait_for("not reloaded");
    assert!(line.contains("timeout_s is 3"), "{line}");
    assert_eq!(scene.register(&home).0, 403);
    std::fs::write(
        &scene.config,
        "listen = [\"127.0.0.1:1\"]\n[registry]\ntimeout_s = 60\n",
    )
    .unwrap();
    let line = scene.wait_for("settings of the registry");
    assert!(line.contains("bans: 0 now"), "{line}");
    let (status, answer) = scene.register(&home);
    assert_eq!((status, &answer["seconds"]), (200, &value!(60)), "{answer}");
    let metrics = ask(&scene.admin, "GET", "/metrics", "", "").unwrap().1;
    assert!(metrics.contains("nearside_master_bans 0"), "{metrics}");
}

#[test]
fn comments_in_the_file_of_bans_outlive_bans_by_request() {
    let folder = Folder::new();
    let by_hand = "# Ask Kim before lifting any.\n\n[[ban]]\ntarget = \"192.0.2.0/24\" # the whole block\nreason = \"fake players\"\n";
    folder.write("bans.toml", by_hand);
    let scene = Scene::start_in(folder, "");
    let filed = || std::fs::read_to_string(scene.folder.join("bans.toml")).unwrap();
    let ban = r#"{"target":"198.51.100.0/24","reason":"trial"}"#;
    assert_eq!(scene.operator("POST", "/bans", ban).0, 201);
    let added = filed();
    assert!(
        added.starts_with(by_hand) && added.contains("198.51.100.0/24"),
        "{added}"
    );
    let lifted = scene.operator("DELETE", "/bans?target=198.51.100.0/24", "");
    assert_eq!((lifted.0, filed().as_str()), (204, by_hand));
}

#[test]
fn secrets_in_the_address_of_a_list_are_shown_to_nobody() {
    let dead = free_tcp_port();
    let folder = Folder::new();
    folder.write("mine.json", r#"["9.9.9.9:5000"]"#);
    let config = format!(
        "[[follow]]\nfrom = \"http://user:pa55@127.0.0.1:{dead}/x.json?token=T0K\"\n\
         [[follow]]\nfrom = \"mine.json\"\n"
    );
    let scene = Scene::start_in(folder, &config);
    let missed = scene.wait_for("missed source");
    let shown = format!("source=\"http://127.0.0.1:{dead}/x.json\"");
    assert!(missed.contains(&shown), "{missed}");
    wait_for("the other list", || scene.servers().len() == 1);
    assert_eq!(scene.servers()[0]["from"], "mine.json");
    let status = ask(&scene.http, "GET", "/status.json", "", "").unwrap().1;
    let sources = scene.operator("GET", "/sources", "").1;
    let folder = scene.folder.path().display().to_string();
    for told in [missed, status, sources] {
        let secrets = ["user", "pa55", "T0K", folder.as_str()];
        let leaked = secrets.iter().find(|secret| told.contains(**secret));
        assert_eq!(leaked, None, "{told}");
    }
}

#[test]
fn both_families_may_have_the_same_port() {
    let (udp, port) = (free_port(), free_tcp_port());
    let both = |port: u16| format!("0.0.0.0:{port},[::]:{port}");
    let arguments = [
        "master",
        "--listen",
        &both(udp),
        "--http",
        &both(port),
        "--store",
        "none",
    ];
    let _master = Master::start(process::nearside(&arguments));
    for addr in [format!("127.0.0.1:{port}"), format!("[::1]:{port}")] {
        assert_eq!(json(&addr, "/servers")["servers"], value!([]), "{addr}");
    }
}

#[test]
fn bans_of_a_master_without_a_store_outlive_a_reload() {
    let scene = Scene::keeping_nothing();
    let ban = r#"{"target":"192.0.2.0/24","reason":"trial"}"#;
    assert_eq!(scene.operator("POST", "/bans", ban).0, 201);
    let reloaded = scene.operator("POST", "/reload", "");
    assert_eq!(reloaded.0, 200, "{}", reloaded.1);
    let bans = scene.operator("GET", "/bans", "").1;
    assert!(bans.contains("192.0.2.0/24"), "{bans}");
}

/// BIRD with one route for 9.9.9.0/24 that ends in this AS.
fn bird_config(folder: &Folder, bgp: u16, own: u16, asn: u32) {
    folder.write(
        "bird.conf",
        format!(
            "router id 127.0.0.2;\nprotocol device {{ }}\n\
             protocol static {{ ipv4; route 9.9.9.0/24 blackhole {{ bgp_path.prepend({asn}); }}; }}\n\
             protocol bgp feed {{ local 127.0.0.2 port {own} as 64501;\n\
               neighbor 127.0.0.1 port {bgp} as 64512; strict bind yes; multihop;\n\
               connect delay time 1; ipv4 {{ import none; export all; }}; }}\n",
        ),
    );
}

#[test]
fn a_prefix_that_moves_to_another_as_regroups_the_list_within_four_seconds() {
    let test = "a_prefix_that_moves_to_another_as_regroups_the_list_within_four_seconds";
    let (Some(mut bird), Some(mut birdc)) = (
        foreign::program(test, "bird", "bird"),
        foreign::program(test, "bird", "birdc"),
    ) else {
        return;
    };
    let folder = Folder::new();
    // Servers of a game with a protocol of its own are listed and never asked: no packet leaves.
    let list =
        r#"{"servers":[{"addr":"9.9.9.9:5000"},{"addr":"8.8.8.8:5000"},{"addr":"1.1.1.1:5000"}]}"#;
    folder.write("list.json", list);
    folder.write(
        "own.csv",
        "8.8.8.0/24,15169,US\n1.1.1.0/24,13335,AU\n9.9.9.0/24,,CH\n",
    );
    let (bgp, own) = (free_tcp_port(), free_tcp_port());
    bird_config(&folder, bgp, own, 3356);
    let config = format!(
        "[origins]\noverrides = [\"own.csv\"]\nfolders = false\nembedded = false\n\
         [bgp]\nlisten = \"127.0.0.1:{bgp}\"\n\
         [[bgp.neighbour]]\naddr = \"127.0.0.2\"\nasn = 64501\n\
         [[follow]]\nfrom = \"list.json\"\nname = \"the file\"\ninterval_s = 1\n"
    );
    let scene = Scene::start_in(folder, &config);
    bird.0.current_dir(scene.folder.path()).args([
        "-f",
        "-c",
        "bird.conf",
        "-s",
        "bird.ctl",
        "-P",
        "bird.pid",
    ]);
    let _bird = bird.start();
    let order = || -> Vec<u64> {
        let servers = scene.servers();
        servers
            .iter()
            .map(|server| server["as"].as_u64().unwrap_or(u64::from(u32::MAX)))
            .collect()
    };
    wait_for("the feed's AS", || order() == [3356, 13335, 15169]);
    assert_eq!(scene.servers()[0]["from"], "the file");
    bird_config(&scene.folder, bgp, own, 20940);
    birdc
        .0
        .current_dir(scene.folder.path())
        .args(["-s", "bird.ctl", "configure"]);
    let moved = Instant::now();
    birdc.finish(b"", LONG).expect_code(0);
    while order() != [13335, 15169, 20940] {
        assert!(moved.elapsed() < Duration::from_secs(4), "{:?}", order());
        std::thread::sleep(Duration::from_millis(50));
    }
    let took = moved.elapsed();
    let _ = std::io::Write::write_fmt(
        &mut std::io::stderr(),
        format_args!("regrouped after {:.2} s\n", took.as_secs_f64()),
    );
    let feed = scene.operator("GET", "/origins", "").1;
    assert!(
        feed.contains("\"up\":1") && feed.contains("live BGP"),
        "{feed}"
    );
    let metrics = ask(&scene.admin, "GET", "/metrics", "", "").unwrap().1;
    assert!(metrics.contains("nearside_master_feed_up 1"), "{metrics}");
}

#[test]
fn the_status_page_shows_games_countries_and_systems_in_a_real_browser() {
    let test = "the_status_page_shows_games_countries_and_systems_in_a_real_browser";
    let Some(browser) = Chromium::find(test, Path::new(env!("CARGO_TARGET_TMPDIR"))) else {
        return;
    };
    let folder = Folder::new();
    let server = |number: u32| {
        let game = ["mygame", "<b>bold</b>", "Quake3Arena"][number as usize % 3];
        value!({ "addr": format!("9.{}.9.9:{}", number % 7, 5000 + number), "game": game, "players": number % 9, "places": 16 })
    };
    let servers: Vec<Value> = (0..60).map(server).collect();
    folder.write("list.json", value!({ "servers": servers }).to_string());
    let own: String = (0..7)
        .map(|number| {
            let country = ["DE", "US", "FI", "JP"][number % 4];
            format!("9.{number}.0.0/16,{},{country}\n", 64496 + number)
        })
        .collect();
    folder.write("own.csv", own);
    let config = "[origins]\noverrides = [\"own.csv\"]\nfolders = false\nembedded = false\n\
         [[follow]]\nfrom = \"list.json\"\nname = \"a list\"\n\
         [[follow]]\nfrom = \"gone.json\"\nname = \"gone\"\n";
    let scene = Scene::start_in(folder, config);
    wait_for("the servers", || scene.servers().len() == 60);
    let url = format!("http://{}/", scene.http);
    let page = browser.visit(&url);
    assert!(page.contains("data-ready=\"yes\""), "{page}");
    for words in [
        "mygame",
        "&lt;b&gt;bold&lt;/b&gt;",
        "DE",
        "AS64496",
        "a list",
        "no list lately",
    ] {
        assert!(page.contains(words), "no `{words}` in {page}");
    }
    assert!(!page.contains("><b>bold"), "names are text");
    for scheme in [Scheme::Light, Scheme::Dark] {
        let picture = browser.photograph_visit(&url, scheme, 1100);
        assert!(std::fs::read(picture).unwrap().starts_with(b"\x89PNG"));
    }
}

#[test]
fn a_second_master_follows_the_first_and_browse_reads_its_web_list() {
    let test = "a_second_master_follows_the_first_and_browse_reads_its_web_list";
    let upper = Scene::start("");
    let settings = [("dedicated", "2"), ("sv_master1", upper.udp.as_str())];
    let Some(server) = OpenArena::start(test, &settings) else {
        return;
    };
    upper.wait_for("registered");
    let lower = Scene::start(&format!(
        "[[follow]]\nfrom = \"quake3://{}/Quake3Arena/71\"\nname = \"upper\"\ninterval_s = 1\n",
        upper.udp
    ));
    lower.wait_for("followed source=\"upper\" servers=1 taken=1");
    wait_for("the server", || lower.servers().len() == 1);
    assert_eq!(lower.servers()[0]["standing"], "followed");
    // Lists are written once a second at most, and the first one may be older than the server.
    wait_for("the server above", || upper.servers().len() == 1);
    for from in [
        format!("http://{}", upper.http),
        format!("http://{}/servers", lower.http),
    ] {
        let arguments = [
            "browse",
            "--from",
            &from,
            "--game",
            "openarena",
            "--lan",
            "--format",
            "ndjson",
            "--quiet",
        ];
        let finished = common::nearside(&arguments).expect_code(0);
        let (rows, _) = common::ndjson(&finished.stdout);
        assert_eq!(rows.len(), 1, "{finished}");
        assert_eq!(rows[0].addr.to_string(), server.addr);
    }
    wait_for("its facts", || lower.servers()[0]["map"] == "oa_dm1");
}

#[test]
fn a_nexuiz_server_registers_itself_and_browse_finds_it() {
    let test = "a_nexuiz_server_registers_itself_and_browse_finds_it";
    let scene = Scene::start("");
    let Some(nexuiz) = nexuiz(test, &scene) else {
        return;
    };
    let line = scene.wait_for("registered");
    assert!(line.contains("game=\"Nexuiz\""), "{line}");
    let arguments = [
        "browse", "--master", &scene.udp, "--game", "nexuiz", "--lan", "--format", "ndjson",
        "--quiet",
    ];
    let finished = common::nearside(&arguments).expect_code(0);
    let (rows, _) = common::ndjson(&finished.stdout);
    assert_eq!(rows.len(), 1, "{finished}");
    drop(nexuiz);
}

fn nexuiz(test: &str, scene: &Scene) -> Option<Running> {
    let Program(mut command) = foreign::program(test, "nexuiz", "nexuiz-server")?;
    command.env("HOME", scene.folder.path());
    command.current_dir(scene.folder.path());
    let port = free_port().to_string();
    command.args([
        "+sv_public",
        "1",
        "+sv_masterextra1",
        "",
        "+sv_masterextra2",
        "",
        "+sv_masterextra3",
        "",
        "+sv_masterextra4",
        "",
        "+sv_master1",
        &scene.udp,
        "+net_address",
        "127.0.0.1",
        "+port",
        &port,
        "+sv_heartbeatperiod",
        "10",
        "+hostname",
        "Nearside test",
        "+map",
        "aggressor",
    ]);
    command.stdout(std::process::Stdio::null());
    let mut running = Program(command).start();
    // Nobody reads its chatter, which would fill a pipe.
    for pipe in [
        running.child.stdout.take().map(std::process::Stdio::from),
        running.child.stderr.take().map(std::process::Stdio::from),
    ] {
        let mut cat = std::process::Command::new("cat");
        let cat = cat.stdin(pipe.unwrap()).stdout(std::process::Stdio::null());
        let cat = cat.spawn();
        std::thread::spawn(move || cat.unwrap().wait());
    }
    Some(running)
}

#[test]
fn a_foreign_client_pages_the_steam_list_and_sees_servers_only() {
    let test = "a_foreign_client_pages_the_steam_list_and_sees_servers_only";
    let scene = Scene::start(
        "[registry]\nuncapped = [\"127.0.0.0/8\"]\njoin_challenge_bytes_per_second = 1000000\n\
         legacy_bytes_per_second = 1000000\n",
    );
    let mut expected: Vec<String> = (0..500).map(|number| join(&scene.udp, number)).collect();
    wait_for("all of them", || scene.servers().len() == expected.len());
    let (Some(modules), Some(mut node)) = (
        foreign::node_module(test, "steam-server-query"),
        foreign::program(test, "steam-server-query", "node"),
    ) else {
        return;
    };
    let script = "const { queryMasterServer, REGIONS } = require('steam-server-query');\n\
        queryMasterServer(process.argv[1], REGIONS.ALL, { gamedir: 'cstrike' }, 3000)\n\
        .then(hosts => console.log(hosts.join('\\n')), error => { console.error(error); process.exit(1); });";
    node.0
        .env("NODE_PATH", modules)
        .args(["-e", script, &scene.udp]);
    let finished = node.finish(b"", LONG).expect_code(0);
    let mut found: Vec<String> = finished.stdout.lines().map(str::to_owned).collect();
    found.sort_unstable();
    expected.sort_unstable();
    assert_eq!(found, expected, "every server once, and no marker");
}

/// A GoldSource server on an address of its own; what lists should say of it.
fn join(master: &str, number: u32) -> String {
    let home = format!("127.7.{}.{}:29015", number / 200, 1 + number % 200);
    let socket = UdpSocket::bind(&home).unwrap();
    socket.set_read_timeout(Some(LONG)).unwrap();
    socket.send_to(b"q", master).unwrap();
    let mut buffer = [0; 64];
    let length = socket.recv(&mut buffer).unwrap();
    let challenge = u32::from_le_bytes(buffer[6..length].try_into().unwrap());
    let info = format!(
        "0\n\\protocol\\48\\challenge\\{challenge}\\players\\3\\max\\16\\gamedir\\cstrike\\map\\de_dust2\\type\\d"
    );
    socket.send_to(info.as_bytes(), master).unwrap();
    home
}

#[test]
fn what_cannot_work_on_the_web_side_is_refused_with_a_next_step() {
    let folder = Folder::new();
    let short = folder.write("short", "123");
    let good = folder.write("token", TOKEN);
    let admin = [
        "master",
        "--store",
        "none",
        "--listen",
        "127.0.0.1:0",
        "--admin",
    ];
    let with = |more: &[&'static str]| [&admin[..], more].concat();
    is_refused(
        &with(&["127.0.0.1:0"]),
        &["needs a token", "--admin-token-file"],
    );
    is_refused(
        &[&with(&["127.0.0.1:0", "--admin-token-file"])[..], &[&short]].concat(),
        &["16 characters"],
    );
    is_refused(
        &[&with(&["0.0.0.0:0", "--admin-token-file"])[..], &[&good]].concat(),
        &["0.0.0.0", "loopback"],
    );
    is_refused(
        &["master", "--follow", "gopher://x"],
        &["gopher://x", "names no list"],
    );
    is_refused(
        &[
            "master",
            "--store",
            "none",
            "--follow",
            r"steam-web:\appid\440",
        ],
        &["NEARSIDE_STEAM_KEY"],
    );
}
