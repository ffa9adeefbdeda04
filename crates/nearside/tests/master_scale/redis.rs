//! Three front ends on one Redis Cluster, and what may fail.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::cluster::Cluster;
use crate::common::Folder;
use crate::driver::Driver;
use crate::front_end::{FrontEnd, settings};
use crate::seen::{Player, missing};
use crate::{one_at_a_time, say};

const SERVERS: u32 = 100_000;
/// Redis hears of a server every second heartbeat, and is away for half a minute when it has to find
/// its primaries again: 28 s and 30 s are less than this.
const TIMEOUT_S: u32 = 70;
const INTERVAL: Duration = Duration::from_secs(14);

/// The front ends with a player at each.
struct World {
    front_ends: Vec<FrontEnd>,
    players: Vec<Player>,
    all: Vec<u32>,
}

impl World {
    /// How many servers each front end's lists lack; `None` where it does not answer.
    fn missing(&mut self) -> Vec<Option<usize>> {
        let all = &self.all;
        let players = self.players.iter_mut();
        players
            .map(|player| Some(missing(&player.see(SERVERS)?, all)))
            .collect()
    }

    /// Looks again and again; every front end that must answer must list everybody each time.
    fn watch(&mut self, what: &str, lasting: Duration, may_be_away: Option<usize>) {
        let began = Instant::now();
        let mut looks = 0;
        while began.elapsed() < lasting {
            let missing = self.missing();
            looks += 1;
            for (front_end, missing) in missing.iter().enumerate() {
                let excused = missing.is_none() && may_be_away == Some(front_end);
                assert!(
                    excused || *missing == Some(0),
                    "{what}, after {:?}: front end {front_end} lacks {missing:?} servers",
                    began.elapsed()
                );
            }
            std::thread::sleep(Duration::from_millis(500));
        }
        say(&format!(
            "{what}: {looks} looks at three front ends in {:.0} s, no server of {SERVERS} missing",
            began.elapsed().as_secs_f64()
        ));
    }
}

#[test]
fn no_server_leaves_any_list_when_redis_or_a_front_end_fails() {
    let test = "no_server_leaves_any_list_when_redis_or_a_front_end_fails";
    let _machine = one_at_a_time();
    let folder = Folder::new();
    let Some(mut cluster) = Cluster::start(test, &folder) else {
        return;
    };
    let nodes = cluster.addresses().join("\", \"");
    let store = format!("store = \"redis\"\nredis = [\"{nodes}\"]");
    let start = |name: &&str| FrontEnd::start(&folder, name, &store, &settings(TIMEOUT_S));
    let front_ends: Vec<FrontEnd> = ["a", "b", "c"].iter().map(start).collect();
    let addresses: Vec<_> = front_ends.iter().map(|front_end| front_end.addr).collect();
    std::thread::sleep(Duration::from_secs(2));
    let began = Instant::now();
    let driver = Driver::start(SERVERS, INTERVAL, addresses.clone());
    let mut world = World {
        front_ends,
        players: addresses.into_iter().map(Player::of).collect(),
        all: (0..SERVERS).collect(),
    };
    while world.missing().iter().any(|missing| *missing != Some(0)) {
        assert!(
            began.elapsed() < Duration::from_secs(60),
            "{:?} missing, {} answered",
            world.missing(),
            driver.proofs.answers.load(Ordering::Relaxed)
        );
        std::thread::sleep(Duration::from_millis(500));
    }
    say(&format!(
        "{SERVERS} servers on all three front ends {:.1} s after the first heartbeat",
        began.elapsed().as_secs_f64()
    ));

    cluster.kill_a_primary();
    world.watch("a primary killed", Duration::from_secs(12), None);

    world.front_ends[1].kill();
    world.watch("a front end killed", Duration::from_secs(3), Some(1));
    let again = Instant::now();
    world.front_ends[1].start_again();
    world.players[1].wait_until_it_answers();
    while world.missing()[1] != Some(0) {
        assert!(
            again.elapsed() < Duration::from_secs(10),
            "it does not come back"
        );
    }
    say(&format!(
        "the front end lists everybody {:.2} s after its restart",
        again.elapsed().as_secs_f64()
    ));
    world.watch("the front end back", Duration::from_secs(5), None);

    cluster.freeze();
    world.watch("Redis stopped", Duration::from_secs(20), None);
    cluster.thaw();
    // What is lost now would be missed when its time is up.
    let rest = Duration::from_secs(u64::from(TIMEOUT_S) + 5);
    world.watch("Redis back", rest, None);
    let memory: Vec<String> = world
        .front_ends
        .iter()
        .map(|front_end| format!("{:.0}", front_end.memory_mib()))
        .collect();
    say(&format!(
        "{} heartbeats, {} answers; front ends have {} MiB",
        driver.proofs.heartbeats.load(Ordering::Relaxed),
        driver.proofs.answers.load(Ordering::Relaxed),
        memory.join(", ")
    ));
}
