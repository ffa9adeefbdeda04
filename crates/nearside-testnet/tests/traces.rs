//! Programs on hosts, and that a network leaves nothing behind.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Instant;

use nearside_testnet::{HostSpec, Nat, Running, Testnet, ready};
use support::{PATIENCE, ms};

/// Namespaces whose names begin like this.
fn namespaces(prefix: &str) -> Vec<String> {
    let entries = std::fs::read_dir("/run/netns").unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with(prefix)).collect()
}

/// What the names of one network have in common.
fn prefix(net: &Testnet) -> String {
    let host = &net.hosts()[0];
    let name = host.namespace();
    name.strip_suffix(host.name()).unwrap().to_owned()
}

fn lives(pid: u32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < end, "{what}");
        thread::sleep(ms(10));
    }
}

fn network() -> Testnet {
    let home = HostSpec::new("home")
        .behind(Nat::Symmetric)
        .behind(Nat::FullCone);
    Testnet::builder().host("open").host(home).build().unwrap()
}

#[test]
fn nothing_is_left_when_a_network_is_dropped() {
    if !ready("nothing_is_left_when_a_network_is_dropped") {
        return;
    }
    let net = network();
    let prefix = prefix(&net);
    assert_eq!(namespaces(&prefix).len(), 4, "two hosts and two boxes");
    // Started without a wrapper that would end it.
    let mut forgotten = net.host("home").command("sleep").arg("60").spawn().unwrap();
    drop(net);
    assert_eq!(namespaces(&prefix), Vec::<String>::new());
    let status = forgotten.wait().unwrap();
    assert!(
        !status.success(),
        "it was killed, so we need not wait a minute"
    );
}

#[test]
fn nothing_is_left_when_a_test_panics() {
    if !ready("nothing_is_left_when_a_test_panics") {
        return;
    }
    let mut began = None;
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let net = network();
        began = Some(prefix(&net));
        net.host("open").run(|| panic!("on purpose, inside a host"));
    }));
    assert!(panicked.is_err());
    assert_eq!(namespaces(&began.unwrap()), Vec::<String>::new());
}

#[test]
fn what_a_killed_process_left_is_removed_by_the_next() {
    if !ready("what_a_killed_process_left_is_removed_by_the_next") {
        return;
    }
    // A process that has ended: nobody else has its id now.
    let mut ended = Command::new("true").spawn().unwrap();
    ended.wait().unwrap();
    let name = format!("nearside-{}-0-leftover", ended.id());
    let ip = |arguments: &[&str]| Command::new("ip").args(arguments).spawn().unwrap();
    assert!(ip(&["netns", "add", &name]).wait().unwrap().success());
    let mut inside = ip(&["netns", "exec", &name, "sleep", "60"]);
    eventually("sleep runs inside", || {
        let pids = Command::new("ip").args(["netns", "pids", &name]).output();
        !pids.unwrap().stdout.is_empty()
    });
    let _net = Testnet::builder().host("a").build().unwrap();
    assert_eq!(namespaces(&name), Vec::<String>::new());
    assert!(!inside.wait().unwrap().success(), "killed");
}

#[test]
fn programs_run_on_their_host_and_end_with_the_test() {
    if !ready("programs_run_on_their_host_and_end_with_the_test") {
        return;
    }
    let net = network();
    let home = net.host("home");
    let shown = home
        .command("ip")
        .args(["-4", "addr", "show", "dev", "wan"])
        .output()
        .unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.contains("192.168.1.2"), "{shown}");

    let mut command = home.command("sleep");
    let program = Running::start(command.arg("60").stdout(Stdio::null())).unwrap();
    let pid = program.id();
    let state = || std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    eventually("it became the program itself", || {
        state().contains("(sleep)")
    });
    program.freeze().unwrap();
    eventually("frozen", || state().contains(") T "));
    program.thaw().unwrap();
    eventually("thawed", || state().contains(") S "));
    drop(program);
    assert!(!lives(pid));
}

#[test]
fn plans_that_make_no_sense_are_refused_by_name() {
    let refusal = |spec: HostSpec| {
        let plan = Testnet::builder().host(spec);
        plan.build().unwrap_err().to_string()
    };
    let deep = (0..3).fold(HostSpec::new("deep"), |spec, _| spec.behind(Nat::FullCone));
    assert!(refusal(deep).contains("\"deep\""));
    assert!(refusal(HostSpec::new("a b")).contains("\"a b\""));
}

#[test]
fn networks_live_side_by_side() {
    if !ready("networks_live_side_by_side") {
        return;
    }
    let (one, two) = (network(), network());
    assert_eq!(one.host("open").address(), two.host("open").address());
    let sockets = (
        one.host("open").udp(4_000).unwrap(),
        two.host("open").udp(4_000).unwrap(),
    );
    let to = (one.host("open").address(), 4_000);
    let home = one.host("home").udp(0).unwrap();
    assert!(support::passes(&home, &sockets.0, to, PATIENCE).is_some());
    assert_eq!(
        support::passes(&home, &sockets.1, to, support::SILENCE),
        None
    );
}
