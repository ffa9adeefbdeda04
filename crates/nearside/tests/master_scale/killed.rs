//! `kill -9` of a master with the embedded store.

use std::time::{Duration, Instant};

use crate::common::Folder;
use crate::driver::Driver;
use crate::front_end::{FrontEnd, settings};
use crate::seen::Player;
use crate::{one_at_a_time, say};

const SERVERS: u32 = 100_000;

#[test]
fn a_killed_master_lists_all_that_registered_a_second_before_and_is_back_within_one() {
    let _machine = one_at_a_time();
    let folder = Folder::new();
    let store = format!("store = \"{}\"", folder.join("master.redb"));
    let mut master = FrontEnd::start(&folder, "killed", &store, &settings(900));
    let driver = Driver::start(SERVERS, Duration::from_secs(20), vec![master.addr]);
    let mut player = Player::of(master.addr);
    let all: Vec<u32> = (0..SERVERS).collect();
    let began = Instant::now();
    // A server has registered when the master says so, not when it has sent its answer.
    while player.missing(&all) != Some(0) {
        assert!(
            began.elapsed() < Duration::from_secs(300),
            "not all could register"
        );
        std::thread::sleep(Duration::from_millis(500));
    }
    // Groups are at most a second apart; on a machine that is held up, one may take longer.
    let listed_at = Instant::now();
    std::thread::sleep(Duration::from_secs(1));
    master.wait_until_all_is_written();
    let written = listed_at.elapsed();
    // Right in the middle of a round of heartbeats.
    master.kill();
    drop(driver);
    let restarted_at = Instant::now();
    master.start_again();
    player.wait_until_it_answers();
    let answers = restarted_at.elapsed();
    let in_line = master.stood_in_line();
    let lost = player.missing(&all).expect("it answers");
    say(&format!(
        "kill -9 with {SERVERS} servers in the embedded store, {:.3} s after the last was listed: the \
         restarted master answers after {:.3} s ({:.3} s of them in line for a processor), has sent \
         all lists after {:.3} s, {lost} lost",
        written.as_secs_f64(),
        answers.as_secs_f64(),
        in_line.as_secs_f64(),
        restarted_at.elapsed().as_secs_f64()
    ));
    assert_eq!(lost, 0);
    // The second is meant for what operators run (docs/master.md has the figure); a debug build
    // reads its file some times slower. Whoever else uses the machine is not the master's fault.
    let limit = if cfg!(debug_assertions) { 4 } else { 1 };
    let own = answers.saturating_sub(in_line);
    assert!(own < Duration::from_secs(limit), "back after {own:?}");
}
