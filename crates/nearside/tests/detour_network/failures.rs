//! Whatever happens to relays and the directory, the game goes on.

use std::time::Duration;

use nearside_testnet::Share;

use crate::stage::{Active, Stage};
use crate::stream::{Stream, Stretch};
use crate::{one_at_a_time, say};

const PORT: u16 = 27_960;
/// Silence is noticed and answered within this (docs/detour-play.md).
const SWITCH: Duration = Duration::from_millis(300);
/// For machines that have other things to do.
const LOAD: u32 = 2;

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// A player with a stream under way.
struct Play {
    stream: Stream,
    player: String,
    stage: Stage,
}

/// What became of a game after something happened.
struct Aftermath {
    what: String,
    before: Active,
    now: Active,
    stretch: Stretch,
}

impl Play {
    /// Does something to the path in use, and looks how the game goes on.
    fn endure(&mut self, what: &str, harm: impl FnOnce(&mut Stage, &str)) -> Aftermath {
        let relay = self.stage.relay_in_use(&self.player);
        let mark = self.stream.mark();
        harm(&mut self.stage, &relay);
        let stretch = self.stream.after(mark, ms(5_000));
        let now = self.stage.active(&self.player);
        let reason = self.stage.link(&self.player)["switches"][0]["reason"].clone();
        say(&format!(
            "{what} ({relay}): now {now} ({reason}), {} of {} packets lost, nothing for {:.0?} at the server \
             and {:.0?} at the player, then {:.1} ms round trip",
            stretch.lost,
            stretch.sent,
            stretch.gap_at_server,
            stretch.gap_at_player,
            stretch.round_trip_ms
        ));
        assert!(stretch.sent > 250, "{what}: 60 packets a second");
        self.is_as_quick_as_the_hub_says(what, &stretch);
        Aftermath {
            what: what.to_owned(),
            before: Active::Via(relay),
            now,
            stretch,
        }
    }

    /// The path in use takes what its parts take by the hub. Looks again if it has just changed.
    fn is_as_quick_as_the_hub_says(&self, what: &str, stretch: &Stretch) {
        let mut took = stretch.path_ms;
        for _ in 0..5 {
            let active = self.stage.active(&self.player);
            let expected = active.round_trip_ms();
            if (expected - 1.0..expected + 20.0).contains(&took) {
                return;
            }
            say(&format!(
                "{what}: {took:.1} ms {active}, {expected} by the hub"
            ));
            took = self.stream.after(self.stream.mark(), ms(1_600)).path_ms;
        }
        panic!("{what}: {took} ms {}", self.stage.active(&self.player));
    }
}

impl Aftermath {
    /// How long nothing may come when another path is taken: 300 ms and the way by the new one, as often
    /// as a loaded machine needs, and as long as that itself stood still.
    fn allowed(&self) -> Duration {
        (SWITCH + self.now.one_way() + self.stretch.stall) * LOAD
    }

    /// The game went on after a gap at most.
    fn went_on(self) -> Self {
        let (what, allowed) = (&self.what, self.allowed());
        for gap in [self.stretch.gap_at_server, self.stretch.gap_at_player] {
            assert!(gap <= allowed, "{what}: {gap:?}, at most {allowed:?}");
        }
        self
    }

    /// No more was lost than the packets of the gap.
    fn lost_the_gap(self) -> Self {
        let most = (self.allowed().as_secs_f64() * 60.0) as usize;
        let lost = self.stretch.lost;
        assert!(lost <= most, "{}: {lost} lost, at most {most}", self.what);
        self
    }

    /// Another path is used.
    fn left_the_relay(self) -> Self {
        assert_ne!(self.now, self.before, "{}", self.what);
        self
    }
}

#[test]
fn the_game_goes_on_whatever_happens_to_relays_and_the_directory() {
    let test = "the_game_goes_on_whatever_happens_to_relays_and_the_directory";
    if !nearside_testnet::ready(test) {
        return;
    }
    let _turn = one_at_a_time();
    let mut stage = Stage::set("", Vec::new());
    let player = stage.connect(PORT);
    let (alice, bob) = (stage.net.host("alice"), stage.net.host("bob"));
    let stream = Stream::play(alice, bob, PORT);
    let directly = stream.after(stream.mark(), ms(2_000));
    stage.wait_for_detour(&player);
    let detoured = stream.after(stream.mark(), ms(3_000));
    let mut play = Play {
        stream,
        player,
        stage,
    };
    found_used_and_quicker(&play, &directly, &detoured);

    let killed = play.endure("the relay's process is killed", Stage::kill);
    killed.went_on().lost_the_gap().left_the_relay();
    let frozen = play.endure("the relay's process is frozen", |stage, relay| {
        stage.process(relay).freeze().unwrap();
    });
    frozen.went_on().lost_the_gap().left_the_relay();
    let late = play.endure("the relay's line is 60 ms longer", |stage, relay| {
        stage.net.change_line(relay, |path| path.delay += ms(60));
    });
    late.went_on().lost_the_gap().left_the_relay();
    let headless = play.endure("the directory's process is killed", |stage, _| {
        stage.kill("directory");
    });
    headless.went_on().lost_the_gap();
    let lossy = play.endure(
        "the relay's line loses a quarter each way",
        |stage, relay| {
            stage.net.change_line(relay, |path| path.loss = Share(0.25));
        },
    );
    let lossy = lossy.went_on().left_the_relay();
    // Seven of sixteen round trips, for a second of five.
    assert!(lossy.stretch.lost * 3 < lossy.stretch.sent, "it is noticed");
    let killed = play.endure("a relay is killed, the directory gone", Stage::kill);
    killed.went_on().lost_the_gap().left_the_relay();
}

/// What `status` and the stream itself say of the detour.
fn found_used_and_quicker(play: &Play, directly: &Stretch, detoured: &Stretch) {
    let (before, after) = (directly.round_trip_ms, detoured.round_trip_ms);
    say(&format!(
        "round trip {before:.1} ms directly, {after:.1} ms by the detour"
    ));
    let expected = Active::Direct.round_trip_ms();
    let allowed = expected - 1.0..expected + 20.0;
    assert!(
        allowed.contains(&directly.path_ms),
        "directly: {directly:?}"
    );
    play.is_as_quick_as_the_hub_says("the detour", detoured);
    let link = play.stage.link(&play.player);
    let gain_ms = link["gain_us"].as_f64().unwrap() / 1e3;
    assert!(
        (60.0..120.0).contains(&gain_ms),
        "status says {gain_ms} ms, 90 by the hub"
    );
    assert_eq!(link["switches"][0]["reason"], "quicker_detour");
}
