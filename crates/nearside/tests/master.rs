//! `nearside master` with real game servers and foreign clients.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::time::Duration;

use common::foreign::program;
use common::master::Master;
use common::openarena::{OpenArena, free_port};
use common::web::{free_tcp_port, json};
use common::{Folder, LONG, process};

/// A master on loopback.
fn start(more: &[&str]) -> (String, Master) {
    let addr = format!("127.0.0.1:{}", free_port());
    let mut arguments = vec!["master", "--listen", &addr, "--lan"];
    arguments.extend(more);
    let master = Master::start(process::nearside(&arguments));
    (addr, master)
}

/// Addresses that `nearside browse` shows.
fn browsed(master: &str) -> Vec<String> {
    let arguments = [
        "browse",
        "--master",
        master,
        "--game",
        "openarena",
        "--lan",
        "--format",
        "ndjson",
        "--quiet",
    ];
    let finished = common::nearside(&arguments);
    let (rows, _) = common::ndjson(&finished.stdout);
    rows.iter().map(|row| row.addr.to_string()).collect()
}

#[test]
fn a_real_openarena_server_registers_itself_and_everybody_finds_it() {
    let test = "a_real_openarena_server_registers_itself_and_everybody_finds_it";
    let (addr, master) = start(&["--legacy", "20000", "--store", "none"]);
    let settings = [("dedicated", "2"), ("sv_master1", addr.as_str())];
    let Some(server) = OpenArena::start(test, &settings) else {
        return;
    };
    let line = master.wait_for("registered");
    assert!(line.contains(&format!("addr={}", server.addr)), "{line}");
    assert!(
        line.contains("map=\"oa_dm1\" name=\"Nearside test\""),
        "{line}"
    );
    assert_eq!(browsed(&addr), [server.addr.as_str()]);
    if let Some(mut quakestat) = program(test, "quakestat", "quakestat") {
        quakestat.0.args(["-raw", ",", "-openarenam", &addr]);
        let finished = quakestat.finish(b"", LONG).expect_code(0);
        let of_server = |line: &&str| line.contains(&server.addr);
        let found = finished.stdout.lines().find(of_server);
        assert!(
            found.is_some_and(|line| line.contains("oa_dm1")),
            "{finished}"
        );
    }
}

#[test]
fn without_a_budget_old_clients_get_nothing_and_ours_get_the_list() {
    let test = "without_a_budget_old_clients_get_nothing_and_ours_get_the_list";
    let (addr, master) = start(&["--store", "none"]);
    let settings = [("dedicated", "2"), ("sv_master1", addr.as_str())];
    let Some(server) = OpenArena::start(test, &settings) else {
        return;
    };
    master.wait_for("registered");
    assert_eq!(browsed(&addr), [server.addr.as_str()]);
    if let Some(mut quakestat) = program(test, "quakestat", "quakestat") {
        quakestat.0.args(["-raw", ",", "-openarenam", &addr]);
        let finished = quakestat.finish(b"", LONG);
        assert!(!finished.stdout.contains(&server.addr), "{finished}");
    }
}

#[test]
fn a_killed_master_knows_its_servers_again_and_interrupting_one_is_clean() {
    let test = "a_killed_master_knows_its_servers_again_and_interrupting_one_is_clean";
    let folder = Folder::new();
    let store = folder.join("master.redb");
    let (addr, mut master) = start(&["--store", &store]);
    let settings = [("dedicated", "2"), ("sv_master1", addr.as_str())];
    let Some(server) = OpenArena::start(test, &settings) else {
        return;
    };
    master.wait_for("registered");
    // Groups are written half a second apart.
    std::thread::sleep(Duration::from_secs(2));
    master.running.child.kill().unwrap();
    master.running.child.wait().unwrap();
    let http = format!("127.0.0.1:{}", free_tcp_port());
    let (again_addr, again) = start(&["--store", &store, "--http", &http]);
    let first = json(&http, "/servers");
    assert_eq!(first["servers"][0]["addr"], server.addr, "{first}");
    assert_eq!(browsed(&again_addr), [server.addr.as_str()]);
    again.running.interrupt();
    let finished = again.running.finish(LONG).expect_code(130);
    assert_eq!(finished.stdout, "");
}

/// `poll` refuses more sockets than a process may have open: the engine's loop ends by an error.
#[cfg(target_os = "linux")]
#[test]
fn a_master_whose_engine_has_ended_ends_too_and_says_why() {
    let http = format!("127.0.0.1:{}", free_tcp_port());
    let (_, master) = start(&["--store", "none", "--http", &http]);
    master.running.may_open(1);
    master.wait_for("nearside: cannot wait for 2 UDP ports");
    master.running.finish(LONG).expect_code(3);
}

#[test]
fn a_store_in_a_folder_that_cannot_be_made_is_the_worlds_fault() {
    let folder = Folder::new();
    let file = folder.write("file", "");
    let store = format!("{file}/below/master.redb");
    let arguments = ["master", "--listen", "127.0.0.1:0", "--store", &store];
    let finished = common::nearside(&arguments).expect_code(3);
    finished.expect_stderr("cannot make");
}

#[test]
fn yes_and_no_in_the_environment_may_be_said_in_the_usual_ways() {
    let codes = ["1", "yes", "true", "0", "no", "false", "perhaps"].map(|word| {
        let arguments = [
            "master",
            "--listen",
            "127.0.0.1:0",
            "--store",
            "none",
            "--seconds",
            "0.1",
        ];
        let mut master = process::nearside(&arguments);
        master.0.env("NEARSIDE_MASTER_LAN", word);
        master.finish(b"", LONG).code
    });
    assert_eq!(codes, [0, 0, 0, 0, 0, 0, 2].map(Some));
}

#[test]
fn what_cannot_work_is_refused_with_a_next_step() {
    let folder = Folder::new();
    let file = folder.write(
        "nowhere.toml",
        "listen = []\n[http]\nlisten = [\"127.0.0.1:0\"]\n",
    );
    common::is_refused(
        &["master", "--config", &file, "--store", "none"],
        &["`listen` is empty", "0.0.0.0:27950"],
    );
    let file = folder.write("master.toml", "[registry]\ntimeout_s = 3\n");
    common::is_refused(&["master", "--config", &file], &["timeout_s is 3"]);
    let file = folder.write("typo.toml", "[registry]\ntimeout = 900\n");
    common::is_refused(&["master", "--config", &file], &["typo.toml", "timeout"]);
    let file = folder.write(
        "ban.toml",
        "[[ban]]\ntarget = \"everybody\"\nreason = \"\"\n",
    );
    common::is_refused(
        &["master", "--config", &file],
        &["ban.toml", "everybody", "AS64496"],
    );
    let file = folder.write(
        "ban.toml",
        "[[ban]]\ntarget = \"192.0.2.1\"\nreason = \"\"\nuntil = \"2027\"\n",
    );
    common::is_refused(
        &["master", "--config", &file],
        &["ban.toml", "unknown field `until`"],
    );
    for everybody in ["0.0.0.0/0", "::/0"] {
        common::is_refused(
            &["master", "--trusted-proxies", everybody],
            &[everybody, "everybody", "127.0.0.1/32"],
        );
    }
}

#[test]
fn the_printed_configuration_works() {
    let folder = Folder::new();
    let printed = common::nearside(&["master", "config"])
        .expect_code(0)
        .stdout;
    let file = folder.write("master.toml", printed);
    let addr = format!("127.0.0.1:{}", free_port());
    let arguments = [
        "master",
        "--config",
        &file,
        "--listen",
        &addr,
        "--store",
        "none",
        "--seconds",
        "0.5",
    ];
    let finished = common::nearside(&arguments).expect_code(0);
    assert!(
        finished.stderr.contains("0 servers; 0 registrations"),
        "{finished}"
    );
}
