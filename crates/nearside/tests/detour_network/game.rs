//! A real game server through the sidecar, while the relay in use dies.

use std::ffi::OsStr;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::common::LONG;
use crate::common::foreign::program;
use crate::common::openarena::OpenArena;
use crate::common::process::Program;
use crate::stage::{Active, Stage};
use crate::{one_at_a_time, say};

const PORT: u16 = 27_961;
/// The server answers ten questions of one address at once and then one a second.
const PACE: Duration = Duration::from_millis(1_050);
const QUERIES: usize = 16;
/// Each asks once, so that no repetition covers up for a lost packet.
const ONCE: [&str; 4] = ["-retry", "1", "-interval", "2"];

/// What quakestat says of the server, by the port on the player's own machine.
fn ask(stage: &Stage, quakestat: &Command) -> String {
    let alice = stage.net.host("alice");
    let mut program = Program(alice.punctual_command(quakestat.get_program()));
    program.0.args(["-raw", "|"]).args(ONCE);
    program.0.args(["-q3s", &format!("127.0.0.1:{PORT}")]);
    program.finish(b"", LONG).expect_code(0).stdout
}

fn is_the_server(answer: &str) -> bool {
    ["Nearside test", "oa_dm1"]
        .iter()
        .all(|words| answer.contains(words))
}

/// What a player gets: a question after the other, the relay's process killed among them.
#[test]
fn a_real_game_server_answers_by_the_detour_while_its_relay_dies() {
    let test = "a_real_game_server_answers_by_the_detour_while_its_relay_dies";
    if !nearside_testnet::ready(test) {
        return;
    }
    let Some(Program(quakestat)) = program(test, "quakestat", "quakestat") else {
        return;
    };
    let _turn = one_at_a_time();
    let mut stage = Stage::set("", Vec::new());
    let bob = |program: &OsStr| stage.net.host("bob").command(program);
    let Some(_server) = OpenArena::start_on(test, bob, PORT, &[]) else {
        return;
    };
    let player = stage.connect(PORT);
    stage.wait_for_detour(&player);
    let before = stage.link(&player);
    assert!(is_the_server(&ask(&stage, &quakestat)), "by the detour");
    assert!(before["gain_us"].as_f64() > Some(60_000.0), "{before}");
    assert_eq!(before["switches"][0]["reason"], "quicker_detour");
    let switches = before["switches"].as_array().unwrap().len();

    let (mut unanswered, mut killed) = (Vec::new(), String::new());
    let started = Instant::now();
    for query in 0..QUERIES {
        let due = started + PACE * query as u32;
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        if query == QUERIES / 2 {
            killed = stage.relay_in_use(&player);
            stage.kill(&killed);
        }
        let answer = ask(&stage, &quakestat);
        if !is_the_server(&answer) {
            unanswered.push((query, answer));
        }
    }
    let (link, active) = (stage.link(&player), stage.active(&player));
    let after = link["switches"].as_array().unwrap();
    let since: Vec<&Value> = after[..after.len() - switches]
        .iter()
        .map(|switch| &switch["reason"])
        .collect();
    say(&format!(
        "a real game server: {} of {QUERIES} questions unanswered, the relay killed before one; now {active} ({since:?})",
        unanswered.len(),
    ));
    // The gap is shorter than the time between two questions; one more for a machine that has other
    // things to do.
    assert!(unanswered.len() <= 2, "{unanswered:?}");
    assert!(
        matches!(active, Active::Via(relay) if relay != killed),
        "another relay"
    );
    assert!(since.iter().any(|reason| *reason == "silent"), "{link}");
}
