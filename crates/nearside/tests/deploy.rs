//! The files of `deploy/` say what systemd, compose and this program understand.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::io::Write as _;
use std::path::PathBuf;
use std::process::Command;

use common::Folder;

fn file(name: &str) -> String {
    let deploy = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../deploy");
    std::fs::read_to_string(deploy.join(name)).unwrap()
}

/// No part of the toolkit needs these programs, so nobody is made to install them.
fn is_there(test: &str, program: &str, arguments: &[&str]) -> bool {
    let ran = Command::new(program).args(arguments).output();
    let there = ran.is_ok_and(|output| output.status.success());
    if !there {
        let line = format!("SKIPPED {test}: {program} is missing");
        let _closed = writeln!(std::io::stderr(), "{line}");
    }
    there
}

#[test]
fn systemd_understands_the_unit() {
    let test = "systemd_understands_the_unit";
    if !is_there(test, "systemd-analyze", &["--version"]) {
        return;
    }
    let unit = file("nearside-master.service");
    let installed = "/usr/local/bin/nearside";
    assert!(unit.contains(installed));
    let folder = Folder::new();
    let unit = unit.replace(installed, env!("CARGO_BIN_EXE_nearside"));
    let path = folder.write("nearside-master.service", unit);
    let mut verify = Command::new("systemd-analyze");
    let said = verify.args(["verify", &path]).output().unwrap();
    let said = String::from_utf8_lossy(&said.stderr).into_owned();
    let about_us: Vec<&str> = said
        .lines()
        .filter(|line| line.contains("nearside-master"))
        .collect();
    assert!(about_us.is_empty(), "{said}");
}

/// A flag or a variable would come before `store = "redis"` of the operator's file.
#[test]
fn where_servers_are_kept_by_default_is_below_what_the_configuration_says() {
    let usual = "XDG_DATA_HOME=/var/lib\n";
    for name in ["nearside-master.service", "Dockerfile"] {
        let text = file(name);
        assert!(text.contains(usual), "{name}");
        for first in ["--store", "NEARSIDE_MASTER_STORE"] {
            assert!(!text.contains(first), "{name} has {first}");
        }
    }
    let folder = Folder::new();
    let config = folder.write(
        "master.toml",
        "listen = [\"127.0.0.1:0\"]\nstore = \"none\"\n",
    );
    let run = |arguments: &[&str]| {
        let mut master = common::process::nearside(arguments);
        master.0.env("XDG_DATA_HOME", folder.join("data"));
        master.finish(b"", common::LONG).expect_code(0);
        PathBuf::from(folder.join("data/nearside/master.redb")).exists()
    };
    assert!(!run(&["master", "--config", &config, "--seconds", "0.1"]));
    assert!(run(&[
        "master",
        "--listen",
        "127.0.0.1:0",
        "--seconds",
        "0.1"
    ]));
}

#[test]
fn the_compose_file_is_yaml_and_has_a_master_and_six_nodes() {
    let test = "the_compose_file_is_yaml_and_has_a_master_and_six_nodes";
    if !is_there(test, "python3", &["-c", "import yaml"]) {
        return;
    }
    let script = "import json, sys, yaml; print(json.dumps(yaml.safe_load(sys.stdin.read())))";
    let mut python = Command::new("python3");
    python.args(["-c", script]);
    let finished = common::process::Program(python)
        .finish(file("compose.yaml").as_bytes(), common::LONG)
        .expect_code(0);
    let compose: serde_json::Value = serde_json::from_str(&finished.stdout).unwrap();
    let services = compose["services"].as_object().unwrap();
    let mut nodes = Vec::new();
    for number in 1..=6 {
        let node = &services[&format!("redis-{number}")];
        assert!(
            node["command"].to_string().contains("--cluster-enabled"),
            "{node}"
        );
        let addr = node["networks"]["registry"]["ipv4_address"].as_str();
        let addr = addr.expect("a cluster remembers its nodes by address");
        assert!(
            services["join"]["command"].to_string().contains(addr),
            "{addr} joins"
        );
        nodes.push(format!("{addr}:6379"));
    }
    let words: Vec<&str> = services["master"]["command"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|word| word.as_str())
        .collect();
    let after = |flag: &str| {
        let pairs = words.windows(2).filter(|pair| pair[0] == flag);
        pairs.map(|pair| pair[1].to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(
        (words[0], after("--store")),
        ("master", vec!["redis".to_owned()])
    );
    for node in after("--redis")[0].split(',') {
        assert!(nodes.iter().any(|known| known == node), "{node}");
    }
    let ports = services["master"]["ports"].to_string();
    for listen in [after("--listen"), after("--http")].concat() {
        let (_, port) = listen.rsplit_once(':').unwrap();
        assert!(
            ports.contains(&format!(":{port}:{port}/")),
            "{listen} is published"
        );
    }
}

#[test]
fn flags_and_variables_of_the_files_are_those_of_the_program() {
    let help = common::nearside(&["master", "--help"])
        .expect_code(0)
        .stdout;
    let files = ["nearside-master.service", "Dockerfile", "compose.yaml"].map(file);
    let text = files.join("\n");
    let separator = |c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '-');
    let words: Vec<&str> = text.split(separator).collect();
    let variables = words.iter().filter(|word| word.starts_with("NEARSIDE_"));
    for variable in variables {
        assert!(help.contains(variable), "{variable}");
    }
    for flag in ["--config", "--store", "--redis"] {
        assert!(words.contains(&flag) && help.contains(flag), "{flag}");
    }
}
