//! Three front ends on one Redis Cluster, and what may fail.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::cluster::Cluster;
use crate::common::Folder;
use crate::driver::Driver;
use crate::front_end::{FrontEnd, settings};
use crate::newcomers::Newcomers;
use crate::seen::Player;
use crate::{one_at_a_time, say};

const SERVERS: u32 = 100_000;
/// Redis hears of a server every second heartbeat, and is away for half a minute when it has to find
/// its primaries again: 28 s and 30 s are less than this.
const TIMEOUT: Duration = Duration::from_secs(80);
const INTERVAL: Duration = Duration::from_secs(14);
/// What one front end has heard, all list within this: the half minute of above, and the changes of
/// that time. Less than the time after which it would be taken off again.
const CROSSING: Duration = Duration::from_secs(60);

/// The front ends with a player at each.
struct World {
    front_ends: Vec<FrontEnd>,
    players: Vec<Player>,
    driver: Driver,
    newcomers: Newcomers,
    /// The fewest servers that any look could ask for: all of them on a machine that keeps up.
    fewest: usize,
}

impl World {
    /// How many servers a front end's lists lack of those that it has heard; `None` if it does not
    /// answer.
    fn missing(&mut self, front_end: usize) -> Option<usize> {
        let owed = self.driver.proofs.owed(front_end, TIMEOUT);
        self.fewest = self.fewest.min(owed.len());
        self.players[front_end].missing(&owed)
    }

    /// Whether all servers are on the lists of all front ends.
    fn is_complete(&mut self) -> bool {
        let all: Vec<u32> = (0..SERVERS).collect();
        let mut players = self.players.iter_mut();
        players.all(|player| player.missing(&all) == Some(0))
    }

    /// Servers register with one front end each, and are on the lists of all.
    fn cross(&mut self, what: &str) {
        let registered = self.register_newcomers();
        self.expect_everywhere(what, &registered);
    }

    fn register_newcomers(&mut self) -> Vec<u32> {
        let addresses: Vec<_> = self.front_ends.iter().map(|end| end.addr).collect();
        self.newcomers.register(&addresses)
    }

    fn expect_everywhere(&mut self, what: &str, newcomers: &[u32]) {
        let began = Instant::now();
        for front_end in 0..self.players.len() {
            while self.players[front_end].missing(newcomers) != Some(0) {
                assert!(
                    began.elapsed() < CROSSING,
                    "{what}: front end {front_end} has not heard of those that came to others"
                );
                std::thread::sleep(Duration::from_millis(200));
            }
        }
        say(&format!(
            "{what}: {} new servers, each registered with one front end, on the lists of all after {:.1} s",
            newcomers.len(),
            began.elapsed().as_secs_f64()
        ));
    }

    /// Looks again and again; every front end that is not away must list everybody each time.
    fn watch(&mut self, what: &str, lasting: Duration, away: Option<usize>) {
        let began = Instant::now();
        let mut looks = 0;
        self.fewest = SERVERS as usize;
        let there: Vec<usize> = (0..3).filter(|number| away != Some(*number)).collect();
        while began.elapsed() < lasting {
            for front_end in &there {
                let missing = self.missing(*front_end);
                assert!(
                    missing == Some(0),
                    "{what}, after {:?}: front end {front_end} lacks {missing:?} of its servers",
                    began.elapsed()
                );
            }
            looks += 1;
            std::thread::sleep(Duration::from_millis(500));
        }
        say(&format!(
            "{what}: {looks} looks at {} front ends in {:.0} s, none of {} servers missing",
            there.len(),
            began.elapsed().as_secs_f64(),
            self.fewest
        ));
        assert!(
            self.fewest > SERVERS as usize / 10,
            "this machine is too slow for {SERVERS} servers: {} of them got through",
            self.fewest
        );
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
    let start = |name: &&str| FrontEnd::start(&folder, name, &store, &settings(TIMEOUT.as_secs()));
    let front_ends: Vec<FrontEnd> = ["a", "b", "c"].iter().map(start).collect();
    let addresses: Vec<_> = front_ends.iter().map(|front_end| front_end.addr).collect();
    let mut players: Vec<Player> = addresses.iter().copied().map(Player::of).collect();
    players.iter_mut().for_each(Player::wait_until_it_answers);
    let began = Instant::now();
    let mut world = World {
        front_ends,
        players,
        driver: Driver::start(SERVERS, INTERVAL, addresses),
        newcomers: Newcomers::from(2 * SERVERS),
        fewest: SERVERS as usize,
    };
    while !world.is_complete() {
        assert!(
            began.elapsed() < Duration::from_secs(300),
            "{} answered, and not all are listed",
            world.driver.proofs.answers.load(Ordering::Relaxed)
        );
        std::thread::sleep(Duration::from_millis(500));
    }
    world.driver.proofs.all_know_all();
    say(&format!(
        "{SERVERS} servers on all three front ends {:.1} s after the first heartbeat",
        began.elapsed().as_secs_f64()
    ));

    world.cross("all well");

    cluster.kill_a_primary();
    let registered = world.register_newcomers();
    world.watch("a primary killed", Duration::from_secs(12), None);
    world.expect_everywhere("registered when a primary was killed", &registered);
    world.cross("a primary killed");

    world.front_ends[1].kill();
    world.watch("a front end killed", Duration::from_secs(3), Some(1));
    let again = Instant::now();
    world.front_ends[1].start_again();
    world.players[1].wait_until_it_answers();
    while world.missing(1) != Some(0) {
        assert!(
            again.elapsed() < Duration::from_secs(60),
            "it does not come back"
        );
    }
    say(&format!(
        "the front end lists everybody {:.2} s after its restart",
        again.elapsed().as_secs_f64()
    ));
    world.watch("the front end back", Duration::from_secs(5), None);
    world.cross("the front end back");

    cluster.freeze();
    world.watch("Redis stopped", Duration::from_secs(15), None);
    let registered = world.register_newcomers();
    world.watch("Redis still stopped", Duration::from_secs(5), None);
    cluster.thaw();
    world.expect_everywhere("registered while Redis was stopped", &registered);
    // What is lost now would be missed when its time is up.
    world.watch("Redis back", TIMEOUT + Duration::from_secs(5), None);
    world.cross("Redis back");
    let memory: Vec<String> = world
        .front_ends
        .iter()
        .map(|front_end| format!("{:.0}", front_end.memory_mib()))
        .collect();
    say(&format!(
        "{} heartbeats, {} answers; front ends have {} MiB",
        world.driver.proofs.heartbeats.load(Ordering::Relaxed),
        world.driver.proofs.answers.load(Ordering::Relaxed),
        memory.join(", ")
    ));
}
