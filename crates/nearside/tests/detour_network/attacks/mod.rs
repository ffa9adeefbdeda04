//! Attacks on real programs with forged, stolen, old and damaged packets: nothing is forwarded, nobody
//! gets more bytes than came in their name, memory stays bounded, and the game goes on.

mod captured;
mod members;
mod peers;
mod scene;
mod strangers;

use std::time::Duration;

use nearside_wire::detour::Kind;

use crate::one_at_a_time;
use crate::stage::Stage;
use crate::stream::Stream;
use captured::Wire;
use scene::Scene;
use strangers::Seen;

const PORT: u16 = 27_962;
/// Short, so that a test can wait for the end of one.
const TICKET_LIFE: Duration = Duration::from_secs(8);

#[test]
fn attackers_get_nothing_forwarded_or_amplified_and_the_game_goes_on() {
    let test = "attackers_get_nothing_forwarded_or_amplified_and_the_game_goes_on";
    if !nearside_testnet::ready(test) {
        return;
    }
    let _turn = one_at_a_time();
    let settings = format!("[tickets]\nlife_s = {}\n", TICKET_LIFE.as_secs());
    let mut stage = Stage::set(&settings, scene::hosts());
    let to_directory = Wire::tap(&stage.net, "alice", "directory");
    let to_relay = Wire::tap(&stage.net, "alice", "near");
    let from_peer = Wire::tap(&stage.net, "bob", "alice");
    let player = stage.connect(PORT);
    let hellos = to_directory.seen(Kind::Hello);
    let stream = Stream::play(stage.net.host("alice"), stage.net.host("bob"), PORT);
    stage.wait_for_detour(&player);
    let opens = to_relay.seen(Kind::Open);
    stream.after(stream.mark(), Duration::from_secs(1));
    let scene = Scene::new(stage, player, stream);
    let from_peer = from_peer.seen(Kind::Sealed);
    let seen = Seen {
        hello: hellos.last().expect("with a cookie").clone(),
        request: to_directory
            .seen(Kind::Sealed)
            .pop()
            .expect("one in a minute"),
        open: opens.last().expect("the relay was opened").clone(),
        carried: to_relay.seen(Kind::Carry),
        from_peer: from_peer.last().expect("bob answers probes").clone(),
    };
    strangers::attack_the_relay(&scene, &seen);
    strangers::attack_the_directory(&scene, &seen);
    strangers::attack_the_player(&scene, &seen);
    members::attack_with_tickets(&scene);
    peers::attack_a_peer(&scene);
    members::flood_with_connections(&scene);
}
